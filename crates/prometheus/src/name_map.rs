//! Names that a Prometheus has of metrics and labels where it is relabelled or federated: `--map NAME=NEWNAME`.

use std::collections::BTreeMap;

/// Which names stand for which.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NameMap {
    renamed: BTreeMap<String, String>,
    /// Matchers that every selector gets besides, such as `cluster="a"`, without braces.
    selected: String,
}

fn is_name(text: &str) -> bool {
    let begins = text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_' || c == ':');
    begins && text.chars().all(in_name)
}

fn in_name(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_' || c == ':'
}

/// Reads `NAME=NEWNAME`.
///
/// # Errors
/// What is wrong with it.
pub fn pair(text: &str) -> Result<(String, String), String> {
    let fix = "write the name of an exporter's and the one that this Prometheus has, such as instance=kubernetes_node";
    let (from, to) = text.split_once('=').ok_or_else(|| format!("no = in {text:?}: {fix}"))?;
    let (from, to) = (from.trim(), to.trim());
    if !is_name(from) || !is_name(to) {
        return Err(format!("{text:?} has what is no name of a metric or a label: {fix}"));
    }
    Ok((from.to_owned(), to.to_owned()))
}

/// Reads matchers: `cluster="a",job=~"node.*"`, with or without braces.
///
/// # Errors
/// What is wrong with them.
pub fn matchers(text: &str) -> Result<String, String> {
    let inner = text.trim().trim_start_matches('{').trim_end_matches('}').trim().trim_end_matches(',');
    let fix = "write matchers of PromQL, such as cluster=\"a\",job=~\"node.*\"";
    if inner.is_empty() {
        return Err(format!("no matcher in {text:?}: {fix}"));
    }
    let mut rest = inner;
    loop {
        let at = rest.find(|c: char| !in_name(c)).ok_or_else(|| format!("no value in {text:?}: {fix}"))?;
        let (name, behind) = rest.split_at(at);
        let value = ["=~", "!~", "!=", "="].iter().find_map(|how| behind.trim_start().strip_prefix(how));
        let value = value.and_then(|value| value.trim_start().strip_prefix('"'));
        let (true, Some(value)) = (is_name(name), value) else {
            return Err(format!("{rest:?} of {text:?} is no matcher: {fix}"));
        };
        let end = end_of_quote(value).ok_or_else(|| format!("a quote in {text:?} does not end: {fix}"))?;
        let behind = value[end + 1..].trim_start();
        match behind.strip_prefix(',') {
            Some(more) => rest = more.trim_start(),
            None if behind.is_empty() => return Ok(inner.to_owned()),
            None => return Err(format!("no comma before {behind:?} in {text:?}: {fix}")),
        }
    }
}

/// Where a quote ends that has begun.
fn end_of_quote(text: &str) -> Option<usize> {
    let mut is_escaped = false;
    text.char_indices().find_map(|(at, c)| {
        let ends = c == '"' && !is_escaped;
        is_escaped = c == '\\' && !is_escaped;
        ends.then_some(at)
    })
}

impl NameMap {
    /// Pairs of [`pair`] and matchers of [`matchers`]; of two pairs for one name, the last counts.
    #[must_use]
    pub fn new(pairs: impl IntoIterator<Item = (String, String)>, selected: &[String]) -> NameMap {
        NameMap { renamed: pairs.into_iter().collect(), selected: selected.join(",") }
    }

    /// A name as this Prometheus has it.
    #[must_use]
    pub fn resolve<'n>(&'n self, name: &'n str) -> &'n str {
        self.renamed.get(name).map_or(name, String::as_str)
    }

    /// Whether matchers select some of the series.
    #[must_use]
    pub const fn is_selecting(&self) -> bool {
        !self.selected.is_empty()
    }

    /// Names that stand for none of what is asked for: they do nothing, and are probably misspelt.
    #[must_use]
    pub fn idle<'n>(&'n self, requested: &[&str]) -> Vec<&'n str> {
        let is_requested = |name: &str| requested.iter().any(|expression| words(expression).any(|word| word == name));
        self.renamed.keys().map(String::as_str).filter(|name| !is_requested(name)).collect()
    }

    /// An expression of the table with this Prometheus's names, `%S` replaced by what is selected and `%W` by `over`.
    #[must_use]
    pub fn expression(&self, template: &str, over: &str) -> String {
        let selected = if self.selected.is_empty() { String::new() } else { format!("{},", self.selected) };
        let mut out = String::with_capacity(template.len() * 2);
        let mut rest = template;
        while let Some(c) = rest.chars().next() {
            let length = if c == '"' {
                end_of_quote(&rest[1..]).map_or(rest.len(), |end| end + 2)
            } else if in_name(c) {
                rest.find(|c: char| !in_name(c)).unwrap_or(rest.len())
            } else if rest.starts_with("%S") || rest.starts_with("%W") {
                2
            } else {
                c.len_utf8()
            };
            let (word, behind) = rest.split_at(length);
            out += match word {
                "%S" => &selected,
                "%W" => over,
                word => self.resolve(word),
            };
            rest = behind;
        }
        out
    }
}

/// Names in an expression.
fn words(expression: &str) -> impl Iterator<Item = &str> {
    expression.split(|c: char| !in_name(c)).filter(|word| !word.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_metrics_and_labels_are_replaced_and_texts_are_not() {
        let pairs = ["instance=node", "up=is_up", "device=interface"].map(|text| pair(text).unwrap());
        let names = NameMap::new(pairs, &[matchers("{cluster=\"a\"}").unwrap()]);
        let found = names.expression("max by (instance) (rate(up{%Sdevice!~\"up|instance\"}[%W]))", "4s");
        assert_eq!(found, "max by (node) (rate(is_up{cluster=\"a\",interface!~\"up|instance\"}[4s]))");
        assert_eq!(NameMap::default().expression("up{%S}[%W]", "1m"), "up{}[1m]");
        assert_eq!(names.idle(&["up{device=\"a\"}"]), ["instance"]);
    }

    #[test]
    fn what_is_no_pair_or_matcher_is_refused() {
        for text in ["instance", "instance=", "=a", "a b=c", "a=b=c", "1a=b"] {
            assert!(pair(text).is_err(), "{text}");
        }
        for text in ["", "{}", "a", "a=b", "a=\"b", "a=\"b\" c=\"d\"", "a=\"b\"} or up{x=\"y", "1=\"b\"", "a==\"b\""] {
            assert!(matchers(text).is_err(), "{text}");
        }
        for text in ["a=\"b\"", "{a=~\"b|c\", d!=\"\\\"}\"}", "a=\"b\","] {
            assert!(matchers(text).is_ok(), "{text}");
        }
    }
}
