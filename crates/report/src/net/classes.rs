//! Classes of pairs as a table, and what was asked of one against another.

use linerate_analysis::net::view::{NetAgainst, NetClassFigures, NetRatio, NetRatioVerdict, NetView};

use super::LEAD;
use crate::colour::Colour;
use crate::phrases::net::{counted, plus_minus, rate};
use crate::phrases::{ABSENT, plural};
use crate::terminal::{TextStyle, clean, cut, hanging_in, width};

/// Columns that the name of a host may take.
const NAME_MOST: usize = 20;

/// Pairs of hosts that are listed, those that fell most.
const PAIRS_SHOWN: usize = 8;

/// Nothing where there are no classes; all numbers of streams with `all`, else the one that is compared.
pub(super) fn tables(view: &NetView, look: TextStyle, all: bool) -> String {
    let is_shown = |streams: u32| all || Some(streams) == view.compared_streams || view.compared_streams.is_none();
    let rows: Vec<&NetClassFigures> = view.classes.iter().filter(|of| is_shown(of.streams)).collect();
    let mut text = if rows.is_empty() { String::new() } else { table(view, &rows) };
    for of in view.against.iter().filter(|of| is_shown(of.streams)) {
        text.push_str(&format!("\n{}", hanging_in(Colour::Green, " compared", LEAD, &of.said, look)));
        text.push_str(&pairs(view, of, all));
    }
    text
}

/// A row of each class.
fn table(view: &NetView, rows: &[&NetClassFigures]) -> String {
    let names = rows.iter().map(|of| of.class.to_string().len()).max().unwrap_or(0).max("class".len());
    let row = |first: &str, cells: [&str; 7]| {
        let [streams, pairs, shown, around, ratio, interval, cpu] = cells;
        let row = format!(
            "  {first:<names$} {streams:>7} {pairs:>5} {shown:>12} {around:>8} {ratio:>7}  {interval:<22} {cpu}"
        );
        format!("{}\n", row.trim_end())
    };
    let heads = ["streams", "pairs", counted(view), "", "by host", "95 %", "s/GiB of both"];
    let mut text = format!("\n{}", row("class", heads));
    for of in rows {
        let shown = of.per_s.map_or_else(|| "failed".to_owned(), |per_s| rate(view, per_s.mean));
        let around = of.per_s.map_or_else(String::new, plus_minus);
        let (by_host, interval) = match &of.to_host {
            Some(ratio) => (format!("{:.3}", ratio.ratio.mean), ratio_interval(ratio)),
            None => (ABSENT.to_owned(), String::new()),
        };
        let failed = if of.failed > 0 { format!("{}!", of.pairs) } else { of.pairs.to_string() };
        let cpu = match (of.sender_cpu_s_per_gib, of.receiver_cpu_s_per_gib) {
            (Some(sender), Some(receiver)) => format!("{sender:.3} {receiver:.3}"),
            _ => String::new(),
        };
        let cells = [&of.streams.to_string(), &failed, &shown, &around, &by_host, &interval, &cpu];
        text.push_str(&row(&of.class.to_string(), cells.map(String::as_str)));
    }
    text
}

/// Each pair of hosts of one class against another.
fn pairs(view: &NetView, of: &NetAgainst, all: bool) -> String {
    let mut pairs: Vec<_> = of.pairs.iter().collect();
    pairs.sort_by(|a, b| a.ratio.ratio.mean.total_cmp(&b.ratio.ratio.mean));
    let count = pairs.len();
    pairs.truncate(if all { count } else { PAIRS_SHOWN });
    let name = |host: &str| cut(&clean(host), NAME_MOST);
    let both = |from: &str, to: &str| format!("{} → {}", name(from), name(to));
    let names = pairs.iter().map(|pair| width(&both(&pair.from, &pair.to))).max().unwrap_or(0);
    let mut text = String::new();
    for pair in &pairs {
        let [one, other] = pair.per_s.map(|per_s| rate(view, per_s));
        let (ratio, framing) = (pair.ratio.ratio.mean, pair.costs.framing_ratio);
        let framing = framing.map_or_else(String::new, |framing| format!("; framing {framing:.3}"));
        let interval = ratio_interval(&pair.ratio);
        let first = both(&pair.from, &pair.to);
        text.push_str(&format!("  {first:<names$} {one:>12} {other:>12} {ratio:>7.3}  {interval}{framing}\n"));
    }
    if count > pairs.len() {
        let left = plural((count - pairs.len()) as u64, "more pair");
        text.push_str(&format!("  {left} of hosts: --all shows them\n"));
    }
    text
}

/// `0.961 to 0.971 less`; a verdict where there is one.
fn ratio_interval(of: &NetRatio) -> String {
    let (Some(low), Some(high)) = (of.ratio.low, of.ratio.high) else { return ABSENT.to_owned() };
    let verdict = match of.verdict {
        NetRatioVerdict::Untold => "",
        reported => reported.key(),
    };
    format!("{low:.3} to {high:.3} {verdict}").trim_end().to_owned()
}
