//! Pages of metrics as exporters serve them: Prometheus's text format, and OpenMetrics, of which counters are called
//! `…_total`. A page is read line by line and within bounds; a line that cannot be read leaves the others.
//!
//! No crate does it: of those that there are, one is under the LGPL, and another takes a comma or a brace in the value
//! of a label for its end; both keep all of a page.

use std::borrow::Cow;

use crate::http_call::beginning;

/// Longest line: labels of one series.
pub const LINE_BYTES_MAX: usize = 64 << 10;

/// Most samples that are kept of a page: of 1,000 servers, twenty of each.
pub const SAMPLES_MAX: usize = 20_000;

/// Names and values of labels.
type PageLabels<'p> = Vec<(&'p str, Cow<'p, str>)>;

/// One series of a page, with its value.
#[derive(Clone, Debug, PartialEq)]
pub struct PageSample<'p> {
    pub name: &'p str,
    /// Names and values of labels, as the page has them.
    pub labels: PageLabels<'p>,
    /// As it is: it may be infinite, negative or no number.
    pub value: f64,
}

impl PageSample<'_> {
    /// The value of a label that is there and not empty.
    #[must_use]
    pub fn label(&self, name: &str) -> Option<&str> {
        self.labels
            .iter()
            .find(|(label, _)| *label == name)
            .map(|(_, value)| &**value)
            .filter(|value| !value.is_empty())
    }
}

/// What a page says of the metrics that are wanted.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct MetricsPage<'p> {
    /// In the order of the page.
    pub samples: Vec<PageSample<'p>>,
    /// How many lines cannot be read, and the first of them, quoted.
    pub unreadable: Option<(u64, String)>,
    /// Whether there were more samples than are kept.
    pub is_cut: bool,
    /// Whether any line is a sample, wanted or not.
    pub has_any: bool,
}

/// Reads a page. Only metrics that `is_wanted` names are kept.
#[must_use]
pub fn page(bytes: &[u8], is_wanted: impl Fn(&str) -> bool) -> MetricsPage<'_> {
    let mut page = MetricsPage::default();
    let mut wrong = |line: &[u8]| {
        let (count, _) = page.unreadable.get_or_insert_with(|| (0, beginning(line)));
        *count += 1;
    };
    for line in bytes.split(|byte| *byte == b'\n') {
        let text = std::str::from_utf8(line).ok().filter(|_| line.len() <= LINE_BYTES_MAX);
        let Some(text) = text else {
            wrong(line);
            continue;
        };
        let text = text.trim();
        if text.is_empty() || text.starts_with('#') {
            continue;
        }
        let name = &text[..end_of_name(text)];
        if !name.is_empty() && !is_wanted(name) {
            page.has_any = true;
            continue;
        }
        match sample(text) {
            Some(_) if page.samples.len() >= SAMPLES_MAX => page.is_cut = true,
            Some(sample) => page.samples.push(sample),
            None => wrong(line),
        }
    }
    page.has_any |= !page.samples.is_empty();
    page
}

fn end_of_name(text: &str) -> usize {
    text.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_' || c == ':')).unwrap_or(text.len())
}

/// Reads `name{label="value",…} value`, with or without an instant and an exemplar behind it.
fn sample(text: &str) -> Option<PageSample<'_>> {
    let (name, rest) = text.split_at(end_of_name(text));
    if name.is_empty() || name.starts_with(|c: char| c.is_ascii_digit()) {
        return None;
    }
    let rest = rest.trim_start();
    let (labels, rest) = match rest.strip_prefix('{') {
        Some(inner) => labels(inner)?,
        None => (Vec::new(), rest),
    };
    let value = rest.split_whitespace().next()?;
    // Rust takes `infinity` and the like in any case, as exporters write them.
    Some(PageSample { name, labels, value: value.parse().ok()? })
}

/// Labels behind a brace, and what is behind the brace that ends them.
fn labels(text: &str) -> Option<(PageLabels<'_>, &str)> {
    let (mut labels, mut rest) = (Vec::new(), text.trim_start());
    loop {
        if let Some(behind) = rest.strip_prefix('}') {
            return Some((labels, behind));
        }
        let (name, behind) = rest.split_at(end_of_name(rest));
        let quoted = behind.trim_start().strip_prefix('=')?.trim_start().strip_prefix('"')?;
        if name.is_empty() {
            return None;
        }
        let (value, behind) = value(quoted)?;
        labels.push((name, value));
        let behind = behind.trim_start();
        rest = match behind.strip_prefix(',') {
            Some(more) => more.trim_start(),
            None if behind.starts_with('}') => behind,
            None => return None,
        };
    }
}

/// The value of a label behind a quote, and what is behind the quote that ends it.
fn value(text: &str) -> Option<(Cow<'_, str>, &str)> {
    let plain = text.find(['"', '\\'])?;
    if text[plain..].starts_with('"') {
        return Some((Cow::Borrowed(&text[..plain]), &text[plain + 1..]));
    }
    let mut value = text[..plain].to_owned();
    let mut characters = text[plain..].char_indices();
    while let Some((at, character)) = characters.next() {
        match character {
            '"' => return Some((Cow::Owned(value), &text[plain + at + 1..])),
            '\\' => match characters.next()?.1 {
                'n' => value.push('\n'),
                other => value.push(other),
            },
            other => value.push(other),
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The name, the labels and the value of a line.
    type MetricLine = (String, Vec<(String, String)>, f64);

    fn one(text: &str) -> Option<MetricLine> {
        let page = page(text.as_bytes(), |_| true);
        let sample = page.samples.first()?;
        let labels = sample.labels.iter().map(|(name, value)| ((*name).to_owned(), value.to_string()));
        Some((sample.name.to_owned(), labels.collect(), sample.value))
    }

    #[test]
    fn samples_are_read_as_exporters_write_them() {
        let labels = |pairs: &[(&str, &str)]| -> Vec<(String, String)> {
            pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
        };
        for (text, name, of, value) in [
            ("up 1", "up", labels(&[]), 1.0),
            ("up{} 1e3 1712000000000", "up", labels(&[]), 1000.0),
            ("a{b=\"c\"} +Inf", "a", labels(&[("b", "c")]), f64::INFINITY),
            (
                "a{b=\"c,d}\",e=\"\\\"\\\\\\n\",} 2 # {trace=\"x\"} 1",
                "a",
                labels(&[("b", "c,d}"), ("e", "\"\\\n")]),
                2.0,
            ),
            ("  a { b = \"c\" , d=\"é\" }\t-1\r", "a", labels(&[("b", "c"), ("d", "é")]), -1.0),
        ] {
            assert_eq!(one(text), Some((name.to_owned(), of, value)), "{text}");
        }
        assert!(one("a NaN").unwrap().2.is_nan());
    }

    #[test]
    fn lines_that_are_none_are_counted_and_the_first_is_quoted() {
        let long = format!("a{{b=\"{}\"}} 1", "x".repeat(10 << 20));
        for text in [
            "a",
            "a{",
            "a{b=\"c\" 1",
            "a{b=c} 1",
            "a{=\"c\"} 1",
            "1a 1",
            "a x",
            "{b=\"c\"} 1",
            "a{b=\"c\"d=\"e\"} 1",
            &long,
        ] {
            let whole = format!("# HELP a b\n\n{text}\nup 1\n");
            let page = page(whole.as_bytes(), |_| true);
            assert_eq!(page.samples.len(), 1, "{}", &text[..text.len().min(40)]);
            let (count, first) = page.unreadable.unwrap();
            assert!(count == 1 && first.len() < 1_000 && first.starts_with(&text[..1]), "{first}");
        }
        assert_eq!(page(b"a \xff\nb 1", |_| true).unreadable.unwrap().0, 1);
    }

    #[test]
    fn what_is_not_wanted_is_not_kept_and_no_page_is_kept_without_end() {
        let text = "other{x=\"y\"} 1\n".repeat(3) + &"a 1\n".repeat(SAMPLES_MAX + 1);
        let page = page(text.as_bytes(), |name| name == "a");
        assert!(page.samples.len() == SAMPLES_MAX && page.is_cut && page.has_any);
    }

    proptest! {
        #[test]
        fn what_is_written_is_read_again(
            name in "[a-z_:][a-z0-9_:]{0,12}",
            pairs in proptest::collection::vec(("[a-z_][a-z0-9_]{0,8}", ".{0,20}"), 0..5),
            value in -1e18_f64..1e18,
        ) {
            let escaped = |text: &str| text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n");
            let labels = pairs.iter().map(|(name, value)| format!("{name}=\"{}\"", escaped(value)));
            let inner: Vec<String> = labels.collect();
            let text = format!("{name}{{{}}} {value}", inner.join(","));
            prop_assert_eq!(one(&text), Some((name, pairs, value)));
        }

        #[test]
        fn no_bytes_are_more_than_their_lines(bytes in proptest::collection::vec(any::<u8>(), 0..2_000)) {
            let page = page(&bytes, |_| true);
            let lines = bytes.iter().filter(|byte| **byte == b'\n').count() + 1;
            prop_assert!(page.samples.len() + page.unreadable.map_or(0, |(count, _)| count as usize) <= lines);
        }

        #[test]
        fn a_page_cut_anywhere_is_read_as_far_as_it_goes(at in 0_usize..120) {
            let whole = "# TYPE a counter\na{b=\"c\\\"d\",e=\"f\"} 12 1712000000000\nb{c=\"{},\"} 0.5\nc 3\n";
            let page = page(&whole.as_bytes()[..at.min(whole.len())], |_| true);
            prop_assert!(page.samples.len() <= 3);
        }
    }
}
