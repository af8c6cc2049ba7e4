//! The frame of every page, and what those of plans, explanations, audits and experiments share: sections, and rows
//! whose figures say where JSON has them.

use std::fmt::{Display, Write as _};

use linerate_record::finding::Severity;

use super::markup::{escaped, json_in_script};
use super::{PAGE_SCRIPT, STYLE, UPLOT, UPLOT_LICENSE, UPLOT_STYLE, filled};
use crate::phrases;

const FRAME: &str = include_str!("../../assets/frame.html");

/// What a page is made of. Texts are escaped here; `nav`, `header` and `main` are markup already.
pub(super) struct HtmlPage<'a> {
    pub(super) title: &'a str,
    /// Links to the sections.
    pub(super) nav: &'a str,
    pub(super) header: &'a str,
    pub(super) main: &'a str,
    /// Version of linerate that made it.
    pub(super) version: &'a str,
    /// JSON that the script draws.
    pub(super) view: &'a str,
    pub(super) script: &'a str,
}

/// The whole page.
pub(super) fn framed(page: &HtmlPage<'_>) -> String {
    filled(FRAME, |name| match name {
        "title" => escaped(&format!("{} · linerate", page.title)),
        "style" => [UPLOT_STYLE, "\n", STYLE].concat(),
        "nav" => page.nav.to_owned(),
        "header" => page.header.to_owned(),
        "main" => page.main.to_owned(),
        "version" => escaped(page.version),
        "view" => json_in_script(page.view),
        "uplot-license" => escaped(UPLOT_LICENSE),
        "uplot" => UPLOT.to_owned(),
        "script" => [PAGE_SCRIPT, page.script].concat(),
        _ => String::new(),
    })
}

/// A part of a page, under a heading.
pub(super) struct Section {
    pub(super) id: &'static str,
    pub(super) title: &'static str,
    pub(super) html: String,
}

/// A page of sections; those without content are left out. `view` is the JSON that the script draws.
pub(super) fn sheet(title: &str, header: &str, sections: &[Section], view: &str, script: &str) -> String {
    let reported = || sections.iter().filter(|section| !section.html.is_empty());
    let link = |s: &Section| format!("<a href=\"#{}\">{}</a>", s.id, escaped(s.title));
    let part =
        |s: &Section| format!("<section id=\"{}\"><h2>{}</h2>\n{}</section>\n\n", s.id, escaped(s.title), s.html);
    framed(&HtmlPage {
        title,
        nav: &reported().map(link).collect::<String>(),
        header,
        main: &reported().map(part).collect::<String>(),
        version: env!("CARGO_PKG_VERSION"),
        view,
        script,
    })
}

/// A finding in a list of them.
pub(super) struct FindingRow<'f> {
    pub(super) severity: Severity,
    /// What stands beside the severity: as HTML, with a blank before it.
    pub(super) alongside: String,
    pub(super) claim: &'f str,
    /// What is below the claim, as HTML.
    pub(super) below: String,
}

/// A list of findings; a word where there is none.
pub(super) fn findings<'f>(all: impl ExactSizeIterator<Item = FindingRow<'f>>) -> String {
    if all.len() == 0 {
        return "<p class=\"none\">None.</p>\n".to_owned();
    }
    let mut html = String::from("<ul class=\"findings\">\n");
    for FindingRow { severity, alongside, claim, below } in all {
        let (severity, claim) = (phrases::severity(severity), escaped(claim));
        let _ = writeln!(
            html,
            "<li class=\"{severity}\"><p class=\"rank\"><span class=\"tag {severity}\">{severity}</span>{alongside}</p>\
             <div><p class=\"claim\">{claim}</p>{below}</div></li>",
        );
    }
    html.push_str("</ul>\n");
    html
}

/// A heading with facts below it.
pub(super) fn header(title: &str, facts: &[(&str, String)]) -> String {
    let mut html = format!("<h1>{}</h1>\n<dl class=\"strip\">", escaped(title));
    for (name, value) in facts {
        let _ = write!(html, "<div><dt>{}</dt><dd>{}</dd></div>", escaped(name), escaped(value));
    }
    html.push_str("</dl>\n");
    html
}

/// Attributes by which a test finds a figure in JSON, by its dotted path; none for what JSON cannot hold.
pub(super) fn exact(field: &str, value: impl Display) -> String {
    let value = value.to_string();
    if value.parse::<f64>().is_ok_and(f64::is_finite) {
        format!(" data-field=\"{}\" data-value=\"{value}\"", escaped(field))
    } else {
        String::new()
    }
}

/// A row of a table.
#[derive(Default)]
pub(super) struct HtmlRow {
    html: String,
}

impl HtmlRow {
    /// The cell that names the row.
    pub(super) fn name(mut self, text: &str) -> Self {
        let _ = write!(self.html, "<th scope=\"row\">{}", escaped(text));
        self
    }

    /// The same for a row that names a number.
    pub(super) fn name_figure(mut self, field: &str, value: impl Display, text: &str) -> Self {
        let _ = write!(self.html, "<th scope=\"row\"{}>{}", exact(field, value), escaped(text));
        self
    }

    /// A cell that shows `text` for the figure which JSON has at `field`.
    pub(super) fn figure(mut self, field: &str, value: impl Display, text: &str) -> Self {
        let _ = write!(self.html, "<td{}>{}", exact(field, value), escaped(text));
        self
    }

    /// The same with a mark behind it, where nobody stated what it rests on.
    pub(super) fn marked(mut self, field: &str, value: impl Display, text: &str, assumed: bool) -> Self {
        let _ = write!(self.html, "<td{}>{}{}", exact(field, value), escaped(text), if assumed { ASSUMED } else { "" });
        self
    }

    /// A cell of a number that only follows from others.
    pub(super) fn number(mut self, text: &str) -> Self {
        let _ = write!(self.html, "<td>{}", escaped(text));
        self
    }

    /// The same with a bar behind it, `share` (0 to 1) of the cell wide.
    pub(super) fn bar(mut self, share: f64, text: &str) -> Self {
        let _ = write!(self.html, "<td style=\"--w:{:.1}%\">{}", 100.0 * share.clamp(0.0, 1.0), escaped(text));
        self
    }

    /// The same for the figure which JSON has at `field`.
    pub(super) fn figure_bar(mut self, field: &str, value: impl Display, share: f64, text: &str) -> Self {
        let (width, attributes) = (100.0 * share.clamp(0.0, 1.0), exact(field, value));
        let _ = write!(self.html, "<td{attributes} style=\"--w:{width:.1}%\">{}", escaped(text));
        self
    }

    /// A cell of words.
    pub(super) fn words(mut self, text: &str) -> Self {
        let _ = write!(self.html, "<td class=\"l\">{}", escaped(text));
        self
    }

    /// A cell of sentences, which may wrap.
    pub(super) fn sentence(mut self, text: &str) -> Self {
        let _ = write!(self.html, "<td class=\"l wide\">{}", escaped(text));
        self
    }

    pub(super) fn whole(self) -> String {
        format!("<tr>{}\n", self.html)
    }
}

/// The mark of what nobody stated.
pub(super) const ASSUMED: &str = "<abbr class=\"assumed\" title=\"depends on an assumed value\">*</abbr>";

/// A paragraph with a name before it; nothing for an empty text.
pub(super) fn named(name: &str, text: &str) -> String {
    if text.is_empty() {
        return String::new();
    }
    format!("<p><span class=\"k\">{}</span> {}</p>\n", escaped(name), escaped(text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_has_only_sections_with_content_and_links_to_each() {
        let section = |id, html: &str| Section { id, title: "T<", html: html.to_owned() };
        let page = sheet("a<b", "", &[section("one", "<p>x</p>"), section("two", "")], "{\"</script>\":1}", "");
        assert!(page.contains("<a href=\"#one\">T&lt;</a></nav>") && page.contains("<section id=\"one\">"));
        assert!(
            !page.contains("\"two\"") && !page.contains("#two") && page.contains("<title>a&lt;b · linerate</title>")
        );
        assert_eq!(page.matches("</script>").count(), 4);
    }

    #[test]
    fn the_frame_names_only_parts_that_exist() {
        let parts = ["{{title}}", "{{style}}", "{{nav}}", "{{header}}", "{{main}}", "{{version}}"];
        let scripts = ["{{uplot-license}}", "{{view}}", "{{uplot}}", "{{script}}"];
        let known = [&parts[..], &scripts[..]].concat();
        for part in &known {
            assert_eq!(FRAME.matches(part).count(), 1, "{part}");
        }
        assert_eq!(FRAME.matches("{{").count(), known.len());
    }

    #[test]
    fn what_json_cannot_hold_is_not_claimed() {
        assert_eq!(exact("a.0", 1.5), " data-field=\"a.0\" data-value=\"1.5\"");
        assert_eq!(exact("a.0", f64::INFINITY), "");
    }
}
