//! Markup: escaping, and table cells that carry their exact figure.

use std::fmt::{Display, Write as _};

use linerate_record::sanitize;

use crate::phrases::ABSENT;

/// Text as HTML shows it, in content and in quoted attributes; what turns the order of signs around is spelled out.
pub(super) fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in sanitize::in_text(text).chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            _ => out.push(c),
        }
    }
    out
}

/// JSON that can stand within a `script` element: nothing in it can end the element.
pub(super) fn json_in_script(json: &str) -> String {
    sanitize::in_text(json).replace('<', "\\u003c")
}

/// Whether cells carry their exact figure. A table of thousands of rows goes without, for the page's size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ExactFigures {
    Carried,
    Left,
}

/// The figures of one point, as cells of a row.
pub(super) struct PointCells {
    point: u32,
    exact: ExactFigures,
    opens_series: bool,
    html: String,
}

impl PointCells {
    pub(super) const fn new(point: u32, exact: ExactFigures) -> Self {
        Self { point, exact, opens_series: false, html: String::new() }
    }

    /// Whether they carry their exact figure.
    pub(super) const fn is_exact(&self) -> bool {
        matches!(self.exact, ExactFigures::Carried)
    }

    /// A cell that shows `text` for the figure which JSON has at `field` of the point.
    pub(super) fn figure(&mut self, field: &str, value: impl Display, text: &str) -> &mut Self {
        let attributes = self.attributes(field, &value);
        self.push("td", &attributes, &escaped(text))
    }

    /// The same for a figure that may be absent.
    pub(super) fn figure_or_absent<T: Copy + Display>(
        &mut self,
        field: &str,
        value: Option<T>,
        text: impl FnOnce(T) -> String,
    ) -> &mut Self {
        match value {
            Some(value) => self.figure(field, value, &text(value)),
            None => self.push("td", "", ABSENT),
        }
    }

    /// The same with a bar behind it, `share` (0 to 1) of the cell wide.
    pub(super) fn bar(&mut self, field: &str, value: impl Display, share: f64, text: &str) -> &mut Self {
        let width = 100.0 * share.clamp(0.0, 1.0);
        let attributes = format!("{} style=\"--w:{width:.0}%\"", self.attributes(field, &value));
        self.push("td", &attributes, &escaped(text))
    }

    /// A cell of words.
    pub(super) fn words(&mut self, text: &str) -> &mut Self {
        self.push("td", " class=\"l\"", &escaped(text))
    }

    /// A cell whose content is markup already.
    pub(super) fn markup(&mut self, html: &str) -> &mut Self {
        self.push("td", " class=\"l\"", html)
    }

    /// The same where there is something to tell, as a rule there is not: a plain 0 takes less room on a large page.
    pub(super) fn markup_or_none(&mut self, html: &str) -> &mut Self {
        if html == "0" { self.push("td", "", html) } else { self.markup(html) }
    }

    /// The cell that names the row.
    pub(super) fn name(&mut self, text: &str) -> &mut Self {
        self.push("th", "", &escaped(text))
    }

    /// Draws a line above the row: another series begins.
    pub(super) const fn opening_series(mut self, opens: bool) -> Self {
        self.opens_series = opens;
        self
    }

    pub(super) fn into_row(self) -> String {
        format!("<tr{}>{}\n", if self.opens_series { " class=\"new\"" } else { "" }, self.html)
    }

    /// Attributes by which a test finds the figure in JSON; none for what JSON cannot hold.
    pub(super) fn attributes(&self, field: &str, value: &impl Display) -> String {
        let value = value.to_string();
        let is_number = value.parse::<f64>().is_ok_and(f64::is_finite);
        if self.exact == ExactFigures::Left || !is_number {
            return String::new();
        }
        format!(" data-point=\"{}\" data-field=\"{}\" data-value=\"{value}\"", self.point, escaped(field))
    }

    fn push(&mut self, tag: &str, attributes: &str, html: &str) -> &mut Self {
        // HTML closes cells and rows by itself, which saves a tenth of a large page. Writing to a String cannot fail.
        let _ = write!(self.html, "<{tag}{attributes}>{html}");
        self
    }
}

/// A table with its caption, for narrow screens in a box that scrolls. Heads may be written `name|title`, and
/// `<name` above words.
pub(super) fn table(caption: &str, heads: &[&str], rows: &str) -> String {
    let mut head = String::new();
    for text in heads {
        let (name, title) = text.split_once('|').unwrap_or((text, ""));
        let (name, class) = name.strip_prefix('<').map_or((name, ""), |name| (name, " class=\"l\""));
        let title = if title.is_empty() { String::new() } else { format!(" title=\"{}\"", escaped(title)) };
        let _ = write!(head, "<th scope=\"col\"{class}{title}>{}</th>", escaped(name));
    }
    format!(
        "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"{caption}\"><table>\
         <caption>{caption}</caption>\
         <thead><tr>{head}</tr></thead>\n<tbody>\n{rows}</tbody></table></div>\n",
        caption = escaped(caption)
    )
}

/// A list of facts. Values are escaped here.
pub(super) fn facts(facts: &[(&str, String)]) -> String {
    let mut html = String::from("<dl class=\"facts\">");
    for (name, value) in facts {
        let _ = write!(html, "<div><dt>{}</dt><dd>{}</dd></div>", escaped(name), escaped(value));
    }
    html.push_str("</dl>\n");
    html
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_escapes_an_attribute_or_an_element() {
        assert_eq!(escaped("</script><b a=\"'&"), "&lt;/script&gt;&lt;b a=&quot;&#39;&amp;");
        assert_eq!(escaped("a\u{202e}b\x1b"), "a\\u202eb\\u001b");
        assert_eq!(json_in_script("\"</script><!--\""), "\"\\u003c/script>\\u003c!--\"");
    }

    #[test]
    fn a_cell_carries_its_exact_figure_unless_told_not_to() {
        let mut carried = PointCells::new(3, ExactFigures::Carried);
        carried.figure("bytes_per_s.mean", 123.45, "123 B/s");
        assert_eq!(
            carried.into_row(),
            "<tr><td data-point=\"3\" data-field=\"bytes_per_s.mean\" data-value=\"123.45\">123 B/s\n"
        );
        let mut left = PointCells::new(3, ExactFigures::Left);
        left.figure("bytes_per_s.mean", 123.45, "123 B/s");
        assert_eq!(left.into_row(), "<tr><td>123 B/s\n");
    }

    #[test]
    fn what_json_cannot_hold_is_not_claimed() {
        let mut cells = PointCells::new(0, ExactFigures::Carried);
        cells.figure("x", f64::NAN, "NaN").figure_or_absent("y", None::<f64>, |_| "never".to_owned());
        assert_eq!(cells.into_row(), "<tr><td>NaN<td>–\n");
    }
}
