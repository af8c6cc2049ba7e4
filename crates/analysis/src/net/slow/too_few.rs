//! Why nothing, or not all, can be called slow: a machine has too few pairs, or pairs have too few visits.

use linerate_record::units::percent;

use super::super::streams::MATTERS;
use super::median_polish::NetCell;
use crate::median::median;
use crate::outlier::LEAST;
use crate::student;

/// Fewest visits with figures by which a pair, or a machine, can be called slow: what slows a single one may have been
/// anything that went on just then, of which its own intervals know nothing.
pub(super) const VISITS_LEAST: usize = 2;

/// Visits that are advised where there are too few: of two, an interval is 12.7 standard errors.
pub(super) const VISITS_USUAL: usize = 3;

/// Most visits that can be asked for.
const VISITS_MOST: usize = 1_000;

/// Half the width of an interval, of logarithms, from which on a pair that gives half is not outside of it.
const BLUNT: f64 = std::f64::consts::LN_2;

/// Why nothing, or not all, can be called; empty where all can.
pub(super) fn lacking(nodes: usize, compared: [usize; 2], cells: &[NetCell]) -> String {
    let of_machines = of_machines(nodes, compared);
    let Some(why) = of_pairs(cells) else { return of_machines.to_owned() };
    let what = if compared == [0, 0] { "nothing" } else { "no pair" };
    let alongside = if of_machines.is_empty() { String::new() } else { format!("; {of_machines}") };
    format!("{what} can be called slow: {why}{alongside}")
}

/// How many pairs can be called.
pub(super) fn callable(cells: &[NetCell]) -> usize {
    if of_pairs(cells).is_some() { 0 } else { repeated(cells).count() }
}

fn repeated(cells: &[NetCell]) -> impl Iterator<Item = &NetCell> {
    cells.iter().filter(|cell| cell.visits.len() >= VISITS_LEAST)
}

fn of_machines(nodes: usize, compared: [usize; 2]) -> &'static str {
    match compared {
        [0, 0] if nodes >= LEAST => "machines are not compared: too few of them have two pairs or more",
        [0, 0] => "machines are not compared: that needs three",
        [0, _] => "senders are not compared: too few of them have two pairs or more",
        [_, 0] => "receivers are not compared: too few of them have two pairs or more",
        _ => "",
    }
}

/// Why no pair can be called; `None` where one can.
fn of_pairs(cells: &[NetCell]) -> Option<String> {
    let repeated = || repeated(cells);
    if repeated().next().is_none() {
        return Some(format!(
            "each has figures of one visit, and one may be slow for anything that went on just then: \
             --visits {VISITS_USUAL} says more, and {VISITS_LEAST} are the least"
        ));
    }
    let half = median(repeated().filter_map(|cell| cell.half).collect()).filter(|half| *half >= BLUNT)?;
    let visits = median(repeated().map(|cell| cell.visits.len() as f64).collect())? as usize;
    let known = format!(
        "with {visits} visits the median pair is known to {} above its mean, and one that gives half may be chance",
        percent(half.exp_m1())
    );
    Some(match needed(half, visits) {
        Some(more) => format!("{known}: a tenth needs about --visits {more}, or fewer that are longer"),
        None => format!("{known}: longer visits are needed, --duration"),
    })
}

/// How many visits make an interval as narrow as what matters, where so many have this half of one.
fn needed(half: f64, visits: usize) -> Option<usize> {
    let half_width = |count: usize| student::quantile(0.975, (count - 1) as f64) / (count as f64).sqrt();
    let scatter = half / half_width(visits);
    let least = -(1.0 - MATTERS).ln();
    (visits + 1..=VISITS_MOST).find(|count| scatter * half_width(*count) <= least)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cell(visits: usize, half: Option<f64>) -> NetCell {
        NetCell { from: 0, to: 1, value: 0.0, visits: (0..visits).map(|place| (place, 0.0)).collect(), half }
    }

    #[test]
    fn pairs_of_one_visit_or_of_wide_intervals_are_told_with_what_is_needed() {
        let cases: [(&str, [usize; 2], NetCell, &str); 6] = [
            ("one visit", [4, 4], cell(1, Some(0.01)), "no pair can be called slow: each has figures of one visit"),
            ("one short visit", [4, 4], cell(1, None), "--visits 3 says more, and 2 are the least"),
            ("one round", [0, 0], cell(1, None), "nothing can be called slow: each"),
            ("wide", [4, 4], cell(2, Some(1.0)), "with 2 visits the median pair is known to 172 % above its mean"),
            // Scatter of 1 / 12.706 × √2 = 0.1113, which 7 visits know by 0.103 and 6 by 0.117.
            ("how many", [4, 4], cell(2, Some(1.0)), "a tenth needs about --visits 7"),
            ("hopeless", [4, 4], cell(100, Some(1.0)), "longer visits are needed"),
        ];
        for (case, compared, cell, part) in cases {
            let said = lacking(4, compared, &[cell]);
            assert!(said.contains(part), "{case}: {said}");
        }
    }

    #[test]
    fn what_is_measured_well_lacks_nothing() {
        assert_eq!(lacking(4, [4, 4], &[cell(2, Some(0.3)), cell(1, None)]), "");
        assert_eq!(lacking(2, [0, 0], &[cell(3, Some(0.1))]), "machines are not compared: that needs three");
    }
}
