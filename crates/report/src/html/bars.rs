//! Ceilings as bars, the lowest first, with a goal and what was measured as lines across them.

use std::fmt::Write as _;

use linerate_record::units::bytes_per_s_iec;

use super::markup::escaped;
use super::page::exact;

/// Most bars of one picture; the ceilings above have a row in the table.
const BARS_MAX: usize = 10;

/// Where the highest ceiling is far away, the picture ends at so many times the highest that matters: the lowest
/// ceiling, or a line.
const BEYOND: f64 = 3.0;

pub(super) struct Bar {
    pub(super) name: String,
    pub(super) limit_bytes_per_s: f64,
    /// Where JSON has it.
    pub(super) field: String,
}

/// A line across all bars: what is wanted, or what was measured.
pub(super) struct ReferenceLine {
    /// `goal`, `measured`: also the class by which it is coloured.
    pub(super) name: &'static str,
    pub(super) bytes_per_s: f64,
    pub(super) field: String,
}

/// The picture; nothing where nothing limits. Bars are sorted, the lowest first.
pub(super) fn picture(title: &str, bars: &[Bar], lines: &[ReferenceLine]) -> String {
    let Some(lowest) = bars.first() else { return String::new() };
    let matters = lines.iter().map(|line| line.bytes_per_s).fold(lowest.limit_bytes_per_s, f64::max);
    let shown = &bars[..bars.len().min(BARS_MAX)];
    let highest = shown.last().map_or(matters, |bar| bar.limit_bytes_per_s).max(matters);
    let end = highest.min(BEYOND * matters) * 1.02;
    let at = |bytes_per_s: f64| (100.0 * bytes_per_s / end).clamp(0.0, 100.0);
    let marks: String = lines
        .iter()
        .map(|line| format!("<i class=\"{}\" style=\"left:{:.2}%\"></i>", line.name, at(line.bytes_per_s)))
        .collect();
    let mut rows = String::new();
    for (i, bar) in shown.iter().enumerate() {
        let limit = bar.limit_bytes_per_s;
        let class = match (i == 0, limit > end) {
            (true, _) => "lowest",
            (false, true) => "cut",
            (false, false) => "",
        };
        let _ = writeln!(
            rows,
            "<tr><th scope=\"row\">{}<td{}>{}<td class=\"track\"><b class=\"{class}\" style=\"--w:{:.2}%\"></b>{marks}",
            escaped(&bar.name),
            exact(&bar.field, limit),
            bytes_per_s_iec(limit),
            at(limit),
        );
    }
    for line in lines {
        let _ = writeln!(
            rows,
            "<tr class=\"{0}\"><th scope=\"row\">{0}<td{1}>{2}<td class=\"track\">{marks}",
            line.name,
            exact(&line.field, line.bytes_per_s),
            bytes_per_s_iec(line.bytes_per_s),
        );
    }
    let left_out = match bars.len() - shown.len() {
        0 => String::new(),
        n => format!("; {n} more lie above"),
    };
    format!(
        "<figure class=\"chart bars\"><figcaption>{} <small>client bytes per second at which each \
         resource is full, the lowest first{left_out}</small></figcaption>\n<table><tbody>\n{rows}</tbody></table>\
         </figure>\n",
        escaped(title)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bar(name: &str, limit_bytes_per_s: f64) -> Bar {
        Bar { name: name.to_owned(), limit_bytes_per_s, field: format!("ceilings.{name}") }
    }

    fn line(name: &'static str, bytes_per_s: f64) -> ReferenceLine {
        ReferenceLine { name, bytes_per_s, field: name.to_owned() }
    }

    #[test]
    fn bars_and_lines_share_a_scale_and_what_lies_far_above_is_cut() {
        let html = picture(
            "GET <4 MiB>",
            &[bar("links", 100.0), bar("drives", 200.0), bar("memory", 9e9)],
            &[line("goal", 150.0), line("measured", 50.0)],
        );
        // It ends at three times the goal, and a little more.
        let share = |bytes_per_s: f64| format!("{:.2}%", 100.0 * bytes_per_s / (450.0 * 1.02));
        assert!(html.contains("GET &lt;4 MiB&gt;") && html.contains("data-value=\"9000000000\""), "{html}");
        for (class, limit) in [("lowest", 100.0), ("", 200.0)] {
            assert!(html.contains(&format!("<b class=\"{class}\" style=\"--w:{}\">", share(limit))), "{html}");
        }
        assert!(html.contains("<b class=\"cut\" style=\"--w:100.00%\">"), "{html}");
        // Each line crosses three bars, and has a row with both.
        for (name, at) in [("goal", 150.0), ("measured", 50.0)] {
            let mark = format!("<i class=\"{name}\" style=\"left:{}\">", share(at));
            assert_eq!(html.matches(&mark).count(), 5, "{mark}: {html}");
        }
    }

    #[test]
    fn what_is_not_drawn_is_counted_and_nothing_draws_nothing() {
        let many: Vec<Bar> = (1..=13).map(|n| bar(&format!("r{n}"), f64::from(n))).collect();
        let html = picture("PUT", &many, &[]);
        assert!(html.contains("; 3 more lie above") && html.contains(">r10<") && !html.contains(">r11<"), "{html}");
        assert_eq!(picture("PUT", &[], &[line("goal", 1.0)]), "");
    }
}
