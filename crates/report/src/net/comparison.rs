//! Two runs of links as text, JSON and CSV.

use linerate_analysis::net::comparison::{NetComparison, NetPairRatio};
use linerate_analysis::net::view::rate_in_words;

use crate::colour::Colour;
use crate::csv::{cell, push_row};
use crate::phrases::{ABSENT, change, plural};
use crate::terminal::{TextStyle, clean, cut, hanging_in, width};

/// Columns before what a line says, and those of a machine's name.
const LEAD: usize = 12;
const NAME_MOST: usize = 20;

/// Pairs that the text lists: those that fell most.
const PAIRS_SHOWN: usize = 20;

/// What intervals of one run with another do not know.
const CAVEAT: &str = "intervals are of what visits of one run differ by; two runs of the same links, minutes apart, \
                      differ too: what matters is a pair that changed where others did not";

/// What those of several runs know.
const BLOCKS: &str = "intervals are of what blocks differ by; that of one pair does not count how many pairs there \
                      are: what matters is all pairs together, or a pair that changed where others did not";

/// The comparison as pretty JSON, with a line feed at its end.
///
/// # Panics
/// Never: a comparison has text keys only, which is all that JSON asks.
#[must_use]
pub fn comparison_json(found: &NetComparison) -> String {
    crate::json::pretty(found).expect("a comparison has text keys only")
}

/// One row per pair and number of streams. A figure that is not known is empty.
#[must_use]
pub fn comparison_csv(found: &NetComparison) -> String {
    let mut text = String::from("from,to,streams,a_per_s,b_per_s,ratio,ratio_low_95,ratio_high_95,a_visits,b_visits");
    let has_classes = found.pairs.iter().any(|pair| pair.class.is_some());
    text.push_str(if has_classes { ",class\n" } else { "\n" });
    let number = |value: Option<f64>| value.map_or_else(String::new, |value| cell(&value));
    for pair in &found.pairs {
        let mut row = vec![
            pair.from.clone(),
            pair.to.clone(),
            pair.streams.to_string(),
            cell(&pair.a_per_s),
            cell(&pair.b_per_s),
            cell(&pair.ratio.mean),
            number(pair.ratio.low),
            number(pair.ratio.high),
            pair.visits[0].to_string(),
            pair.visits[1].to_string(),
        ];
        row.extend(has_classes.then(|| pair.class.map_or_else(String::new, |class| class.to_string())));
        push_row(&mut text, &row);
    }
    text
}

/// The answer, and the pairs that fell most.
#[must_use]
pub fn comparison_text(found: &NetComparison, look: TextStyle) -> String {
    let mut text = String::new();
    for warning in &found.warnings {
        text.push_str(&hanging_in(Colour::Yellow, " warning", LEAD, warning, look));
    }
    let has_classes = found.streams.iter().any(|of| of.class.is_some());
    let of_each = found.streams.iter().map(|of| of.said.as_str());
    let said: Vec<&str> = if has_classes { of_each.collect() } else { vec![found.answer.as_str()] };
    for (place, said) in said.into_iter().enumerate() {
        text.push_str(&hanging_in(Colour::Green, if place == 0 { " ▸" } else { "" }, LEAD, said, look));
    }
    let caveat = if found.blocks.is_some() { BLOCKS } else { CAVEAT };
    text.push_str(&hanging_in(Colour::Dim, " chance", LEAD, caveat, look));
    let shown = &found.pairs[..found.pairs.len().min(PAIRS_SHOWN)];
    let names = shown.iter().map(|pair| width(&name(pair))).max().unwrap_or(0).max("pairs".len());
    let row = |first: &str, streams: &str, [a, b, change, interval]: [&str; 4]| {
        let row = format!("  {first:<names$} {streams:>7} {a:>20} {b:>20} {change:>9}  {interval}");
        format!("{}\n", row.trim_end())
    };
    text.push_str(&format!("\n{}", row("pairs", "streams", ["A", "B", "change", "95 %"])));
    for pair in shown {
        let rate = |per_s: f64| rate_in_words(found.op, per_s);
        let interval = match (pair.ratio.low, pair.ratio.high) {
            (Some(low), Some(high)) => format!("{} to {}", change(low - 1.0), change(high - 1.0)),
            _ => ABSENT.to_owned(),
        };
        let (a, b) = (rate(pair.a_per_s), rate(pair.b_per_s));
        let changed = change(pair.ratio.mean - 1.0);
        text.push_str(&row(&name(pair), &pair.streams.to_string(), [&a, &b, &changed, &interval]));
    }
    let left = found.pairs.len() - shown.len();
    if left > 0 {
        text.push_str(&format!(
            "  {} that fell less or rose: --format csv has all\n",
            plural(left as u64, "more pair")
        ));
    }
    text
}

fn name(pair: &NetPairRatio) -> String {
    format!("{} → {}", cut(&clean(&pair.from), NAME_MOST), cut(&clean(&pair.to), NAME_MOST))
}
