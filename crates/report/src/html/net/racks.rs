//! What racks carry at once, as tables.

use linerate_analysis::net::view::{NetBisection, NetInterval, NetRackFigures, NetRackSide, NetSplitFigures, NetView};

use super::super::markup::table;
use super::super::page::{HtmlRow, named};
use super::known;
use crate::phrases::net::{halves, plus_minus, rate};
use crate::phrases::{ABSENT, plural};

/// Ways to halve the racks that are listed.
const SPLITS_SHOWN: usize = 40;

/// Nothing where racks were not measured.
pub(super) fn section(view: &NetView) -> String {
    view.bisection.iter().enumerate().map(|(place, of)| one(view, place, of)).collect()
}

fn one(view: &NetView, place: usize, of: &NetBisection) -> String {
    let rows: String = of.racks.iter().enumerate().map(|(number, rack)| row(view, place, number, rack)).collect();
    let heads = [
        "rack",
        "machines",
        "sends|What it sends to other racks, with all of its machines at once",
        "within|What its machines send each other",
        "ratio",
        "from",
        "to",
        "receives|What it receives from other racks, with all of its machines at once",
        "within|What its machines receive from each other",
        "ratio",
        "from",
        "to",
    ];
    let streams = plural(of.streams.into(), "stream");
    let said = named(&format!("With {streams}"), &of.said);
    let racks = if rows.is_empty() { rows } else { table(&format!("Racks, {streams}"), &heads, &rows) };
    let split = |(number, split): (usize, &NetSplitFigures)| split_row(view, place, number, of, split);
    let splits: String = of.splits.iter().enumerate().take(SPLITS_SHOWN).map(split).collect();
    let heads = ["one half", "pairs", "there", "95 %", "back", "95 %"];
    let splits = if splits.is_empty() { splits } else { table("Halves of the racks", &heads, &splits) };
    let sampled = match view.load.sampled_of_rounds {
        Some(all) => {
            let met = format!("{} of {}; --seed {} repeats them", of.splits.len(), halves(all), view.seed);
            named("Halves drawn", &met)
        }
        None => String::new(),
    };
    said + &racks + &splits + &sampled
}

fn row(view: &NetView, place: usize, number: usize, rack: &NetRackFigures) -> String {
    let at = |field: &str| format!("bisection.{place}.racks.{number}.{field}");
    let row = HtmlRow::default().name(&rack.name).figure(&at("machines"), rack.machines, &rack.machines.to_string());
    let row = side(row, view, &at("sends"), &rack.sends);
    side(row, view, &at("receives"), &rack.receives).whole()
}

fn side(row: HtmlRow, view: &NetView, at: &str, of: &NetRackSide) -> HtmlRow {
    let mean = |of: Option<NetInterval>| of.map(|of| of.mean);
    let ratio = of.ratio.map(|of| of.ratio);
    let shown = |ratio: f64| format!("{ratio:.3}");
    let row = known(row, &format!("{at}.across_per_s.mean"), mean(of.across_per_s), |per_s| rate(view, per_s));
    let row = known(row, &format!("{at}.within_per_s.mean"), mean(of.within_per_s), |per_s| rate(view, per_s));
    let row = known(row, &format!("{at}.ratio.ratio.mean"), mean(ratio), shown);
    let row = known(row, &format!("{at}.ratio.ratio.low"), ratio.and_then(|of| of.low), shown);
    known(row, &format!("{at}.ratio.ratio.high"), ratio.and_then(|of| of.high), shown)
}

fn split_row(view: &NetView, place: usize, number: usize, of: &NetBisection, split: &NetSplitFigures) -> String {
    let at = |field: &str| format!("bisection.{place}.splits.{number}.{field}");
    let first = split.first.iter().filter_map(|rack| of.racks.get(*rack as usize)).map(|rack| rack.name.as_str());
    let around = |of: Option<NetInterval>| of.map_or_else(|| ABSENT.to_owned(), plus_minus);
    let row = HtmlRow::default().name(&first.collect::<Vec<&str>>().join(", "));
    let row = row.figure(&at("pairs"), split.pairs, &split.pairs.to_string());
    let there = split.there_per_s.map(|of| of.mean);
    let row = known(row, &at("there_per_s.mean"), there, |per_s| rate(view, per_s)).number(&around(split.there_per_s));
    let back = split.back_per_s.map(|of| of.mean);
    known(row, &at("back_per_s.mean"), back, |per_s| rate(view, per_s)).number(&around(split.back_per_s)).whole()
}
