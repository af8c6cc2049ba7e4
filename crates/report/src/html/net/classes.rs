//! Classes of pairs, and one against another, as tables.

use linerate_analysis::net::view::{NetAgainst, NetAgainstPair, NetClassFigures, NetRatio, NetRatioVerdict, NetView};

use super::super::markup::table;
use super::super::page::{HtmlRow, named};
use super::known;
use crate::phrases::net::{plus_minus, rate};
use crate::phrases::{ABSENT, plural};

/// Pairs of hosts that are listed, those that fell most.
const PAIRS_SHOWN: usize = 40;

/// Nothing where there are no classes.
pub(super) fn section(view: &NetView) -> String {
    let rows: String = view.classes.iter().enumerate().map(|(place, of)| class(view, place, of)).collect();
    if rows.is_empty() {
        return rows;
    }
    let heads = [
        "class",
        "<pairs of",
        "streams",
        "pairs",
        "failed|Pairs without figures",
        "rate",
        "±",
        "by host|By the rate of pairs between the same hosts themselves",
        "from",
        "to",
        "<beyond chance",
        "over|Pairs of hosts",
        "sender|Processor seconds of its threads for each GiB",
        "receiver|Processor seconds of its threads for each GiB",
    ];
    let mut html = table("Classes of pairs", &heads, &rows);
    for (place, of) in view.against.iter().enumerate() {
        html.push_str(&named("Compared", &of.said));
        html.push_str(&against(view, place, of));
    }
    html
}

fn class(view: &NetView, place: usize, of: &NetClassFigures) -> String {
    let at = |field: &str| format!("classes.{place}.{field}");
    let row = HtmlRow::default()
        .name(&of.class.to_string())
        .words(&of.class.said())
        .figure(&at("streams"), of.streams, &of.streams.to_string())
        .figure(&at("pairs"), of.pairs, &of.pairs.to_string())
        .figure(&at("failed"), of.failed, &of.failed.to_string());
    let row = known(row, &at("per_s.mean"), of.per_s.map(|per_s| per_s.mean), |per_s| rate(view, per_s));
    let row = row.number(&of.per_s.map_or_else(|| ABSENT.to_owned(), plus_minus));
    let row = ratio(row, &at("to_host"), of.to_host.as_ref());
    let row = match of.to_host_over {
        Some(over) => row.figure(&at("to_host_over"), over, &over.to_string()),
        None => row.number(ABSENT),
    };
    let cpu = |seconds: f64| format!("{seconds:.3} s");
    let row = known(row, &at("sender_cpu_s_per_gib"), of.sender_cpu_s_per_gib, cpu);
    known(row, &at("receiver_cpu_s_per_gib"), of.receiver_cpu_s_per_gib, cpu).whole()
}

/// A ratio, its interval and what can be said of it.
fn ratio(row: HtmlRow, at: &str, of: Option<&NetRatio>) -> HtmlRow {
    let shown = |ratio: f64| format!("{ratio:.3}");
    let row = known(row, &format!("{at}.ratio.mean"), of.map(|of| of.ratio.mean), shown);
    let row = known(row, &format!("{at}.ratio.low"), of.and_then(|of| of.ratio.low), shown);
    let row = known(row, &format!("{at}.ratio.high"), of.and_then(|of| of.ratio.high), shown);
    let verdict = of.map(|of| of.verdict).filter(|verdict| *verdict != NetRatioVerdict::Untold);
    row.words(verdict.map_or(ABSENT, NetRatioVerdict::key))
}

fn against(view: &NetView, place: usize, of: &NetAgainst) -> String {
    let row = |(number, pair): (usize, &NetAgainstPair)| {
        let at = |field: &str| format!("against.{place}.pairs.{number}.{field}");
        let row = HtmlRow::default()
            .name(&format!("{} → {}", pair.from, pair.to))
            .figure(&at("per_s.0"), pair.per_s[0], &rate(view, pair.per_s[0]))
            .figure(&at("per_s.1"), pair.per_s[1], &rate(view, pair.per_s[1]));
        let row = ratio(row, &at("ratio"), Some(&pair.ratio));
        let row = known(row, &at("costs.framing_ratio"), pair.costs.framing_ratio, |ratio| format!("{ratio:.3}"));
        known(row, &at("costs.rest_ratio"), pair.costs.rest_ratio, |ratio| format!("{ratio:.3}")).whole()
    };
    let mut pairs: Vec<(usize, &NetAgainstPair)> = of.pairs.iter().enumerate().collect();
    pairs.sort_by(|a, b| a.1.ratio.ratio.mean.total_cmp(&b.1.ratio.ratio.mean));
    let left = pairs.len().saturating_sub(PAIRS_SHOWN);
    let rows: String = pairs.into_iter().take(PAIRS_SHOWN).map(row).collect();
    let (one, other) = (of.requested.class.to_string(), of.requested.base.to_string());
    let heads = [
        "hosts",
        one.as_str(),
        other.as_str(),
        "ratio",
        "from",
        "to",
        "<beyond chance",
        "framing|What it leaves of a full link, by the same of the other",
        "rest|The ratio by that",
    ];
    if rows.is_empty() {
        return rows;
    }
    let left = if left > 0 {
        named("Not listed", &format!("{} that fell less or rose", plural(left as u64, "pair")))
    } else {
        String::new()
    };
    table("Each pair of hosts", &heads, &rows) + &left
}
