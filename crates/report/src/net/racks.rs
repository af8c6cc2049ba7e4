//! What racks carry at once, as tables: each rack, and each way in which racks were halved.

use linerate_analysis::net::view::{NetBisection, NetInterval, NetRackSide, NetSplitFigures, NetView};

use crate::phrases::net::{halves, plus_minus, rate};
use crate::phrases::{ABSENT, plural};
use crate::terminal::{clean, cut, width};

/// Columns that the name of a rack may take.
const NAME_MOST: usize = 20;

/// Racks that are listed, those that carry least.
const RACKS_SHOWN: usize = 8;

/// Nothing where racks were not measured; all racks, halves and numbers of streams with `all`.
pub(super) fn table(view: &NetView, all: bool) -> String {
    let is_shown = |of: &&NetBisection| all || Some(of.streams) == view.compared_streams;
    view.bisection.iter().filter(is_shown).map(|of| one(view, of, all)).collect()
}

fn one(view: &NetView, of: &NetBisection, all: bool) -> String {
    let mut racks: Vec<_> = of.racks.iter().collect();
    let least = |sides: [&NetRackSide; 2]| {
        let ratios = sides.into_iter().filter_map(|side| side.ratio);
        ratios.map(|of| of.ratio.mean).fold(f64::INFINITY, f64::min)
    };
    racks.sort_by(|a, b| least([&a.sends, &a.receives]).total_cmp(&least([&b.sends, &b.receives])));
    let count = racks.len();
    racks.truncate(if all { count } else { RACKS_SHOWN });
    let name = |name: &str| cut(&clean(name), NAME_MOST);
    let head = format!("racks, {}", plural(of.streams.into(), "stream"));
    let names = racks.iter().map(|rack| width(&name(&rack.name))).max().unwrap_or(0).max(width(&head));
    let row = |cells: [&str; 8]| {
        let [first, machines, sends, within, share, receives, of_within, of_share] = cells;
        let row = format!(
            "  {first:<names$} {machines:>8} {sends:>11} {within:>11} {share:>6} {receives:>11} {of_within:>11} \
             {of_share:>6}"
        );
        format!("{}\n", row.trim_end())
    };
    let heads = [head.as_str(), "machines", "sends", "within", "ratio", "receives", "within", "ratio"];
    let mut text = format!("\n{}", row(heads));
    for rack in &racks {
        let [sends, receives] = [&rack.sends, &rack.receives].map(|side| cells(view, side));
        let (first, machines) = (name(&rack.name), rack.machines.to_string());
        text.push_str(&row([
            &first,
            &machines,
            &sends[0],
            &sends[1],
            &sends[2],
            &receives[0],
            &receives[1],
            &receives[2],
        ]));
    }
    if count > racks.len() {
        let left = plural((count - racks.len()) as u64, "more rack");
        text.push_str(&format!("  {left} that carry more: --all shows them\n"));
    }
    if let Some(all) = view.load.sampled_of_rounds {
        let (met, ways) = (of.splits.len(), halves(all));
        text.push_str(&format!("  {met} of {ways} ways to halve the racks, drawn by --seed {}\n", view.seed));
    }
    if all { text + &splits(view, of) } else { text }
}

/// What a rack carries across and within, and the first by the second.
fn cells(view: &NetView, side: &NetRackSide) -> [String; 3] {
    let shown = |of: Option<NetInterval>| of.map_or_else(|| ABSENT.to_owned(), |of| rate(view, of.mean));
    let ratio = side.ratio.map_or_else(|| ABSENT.to_owned(), |of| format!("{:.2}", of.ratio.mean));
    [shown(side.across_per_s), shown(side.within_per_s), ratio]
}

/// Each round across: what one half sends, and what comes back.
fn splits(view: &NetView, of: &NetBisection) -> String {
    let one = |split: &NetSplitFigures| {
        let first = split.first.iter().filter_map(|rack| of.racks.get(*rack as usize)).map(|rack| clean(&rack.name));
        let shown = |of: Option<NetInterval>| match of {
            Some(of) => format!("{} {}", rate(view, of.mean), plus_minus(of)),
            None => ABSENT.to_owned(),
        };
        format!(
            "  {} and the others, {} at once: {} there, {} back\n",
            first.collect::<Vec<String>>().join(", "),
            plural(split.pairs.into(), "pair"),
            shown(split.there_per_s),
            shown(split.back_per_s)
        )
    };
    of.splits.iter().map(one).collect()
}
