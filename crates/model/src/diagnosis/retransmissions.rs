//! TCP segments that each node sends again, by the kernel's own counters: shown where that is much, whatever it tells.

use linerate_record::diagnosis::{Cause, RetransmittingNode};
use linerate_record::readings::ReadMeasure;
use linerate_record::units::percent;

use super::readings_grid::{Grid, quantile};
use super::suspects::{LOSSY, ScoredCause};

/// Most nodes of a list: of thousands that lose alike, a few say it.
const LISTED: usize = 16;

/// The mean share of each node that was read.
fn shares(grid: &Grid<'_>) -> Vec<(usize, f64)> {
    let of_node = |node: usize| Some((node, grid.mean(grid.whole(ReadMeasure::Retransmitted, node)?)?));
    (0..grid.nodes.len()).filter_map(of_node).collect()
}

fn middle(shares: &[(usize, f64)], without: Option<usize>) -> Option<f64> {
    let others = shares.iter().filter(|(node, _)| Some(*node) != without);
    quantile(&mut others.map(|(_, share)| *share).collect::<Vec<f64>>(), 0.5)
}

/// What the middle node sends again.
pub(super) fn at_middle(grid: &Grid<'_>) -> Option<f64> {
    middle(&shares(grid), None)
}

/// Nodes that send much again, those with the most first.
pub(super) fn sent_again(grid: &Grid<'_>) -> Vec<RetransmittingNode> {
    let all = shares(grid);
    let mut much: Vec<(usize, f64)> = all.iter().copied().filter(|(_, share)| *share >= LOSSY).collect();
    much.sort_by(|a, b| b.1.total_cmp(&a.1));
    let reported = |(node, share): (usize, f64)| RetransmittingNode {
        node: grid.nodes[node].name.clone(),
        share,
        others_share: middle(&all, Some(node)),
    };
    much.into_iter().take(LISTED).map(reported).collect()
}

/// Adds what nodes send again to what shows that their link loses packets, where that is more than what others do and
/// nothing of it is there yet.
pub(super) fn shown(all: &mut [ScoredCause], grid: &Grid<'_>) {
    let shares = shares(grid);
    for one in all.iter_mut().filter(|one| one.suspect.cause == Cause::LossyLink) {
        let Some(place) = one.suspect.node.as_deref().and_then(|node| grid.place(node)) else { continue };
        let own = shares.iter().find(|(node, _)| *node == place).zip(middle(&shares, Some(place)));
        let Some(((_, share), others)) = own.filter(|((_, share), others)| share > others) else { continue };
        let is_reported = one.suspect.evidence.iter().any(|shown| shown.contains(ReadMeasure::Retransmitted.name()));
        if !is_reported {
            let name = &grid.nodes[place].name;
            one.suspect.evidence.push(format!(
                "{name}: {}: {}, the middle one of the others {}",
                ReadMeasure::Retransmitted.name(),
                percent(*share),
                percent(others)
            ));
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use linerate_record::readings::{ReadSeries, Readings};

    use super::super::machines::ReadMachine;
    use super::*;

    fn readings(shares: &[f64]) -> (Readings, Vec<ReadMachine>) {
        let name = |node: usize| format!("n{node}");
        let series = shares.iter().enumerate().map(|(node, share)| ReadSeries {
            of: ReadMeasure::Retransmitted,
            machine: name(node),
            part: String::new(),
            values: vec![Some(*share); 4],
        });
        let readings = Readings { step_ms: 1_000, steps: 4, series: series.collect(), ..Readings::default() };
        let read_machine = |node: usize| ReadMachine { name: name(node), group: 0, keys: BTreeSet::from([name(node)]) };
        (readings, (0..shares.len()).map(read_machine).collect())
    }

    #[test]
    fn nodes_that_send_much_again_are_listed_and_stand_beside_what_is_said_of_their_link() {
        let (readings, nodes) = readings(&[0.001, 0.03, 0.002, 0.012]);
        let grid = Grid::new(&readings, &nodes);
        let listed = sent_again(&grid);
        let names: Vec<(&str, f64, Option<f64>)> =
            listed.iter().map(|one| (one.node.as_str(), one.share, one.others_share)).collect();
        assert_eq!(names, [("n1", 0.03, Some(0.002)), ("n3", 0.012, Some(0.002))]);
        let lossy =
            |node: &str| ScoredCause::new(Cause::LossyLink, Some(node.to_owned()), "", "it loses".to_owned(), 5.0);
        let mut all = [lossy("n1"), lossy("n9"), lossy("n0")];
        shown(&mut all, &grid);
        shown(&mut all, &grid);
        let expected = "n1: TCP segments sent again: 3.00 %, the middle one of the others 0.200 %";
        assert_eq!(all[0].suspect.evidence, ["it loses", expected], "told once");
        assert_eq!(all[1].suspect.evidence, ["it loses"], "a node that was not read");
        assert_eq!(all[2].suspect.evidence, ["it loses"], "one that sends less again than others");
    }

    #[test]
    fn of_one_node_alone_nothing_is_said_of_others() {
        let (readings, nodes) = readings(&[0.03]);
        let listed = sent_again(&Grid::new(&readings, &nodes));
        assert_eq!(listed.iter().map(|one| one.others_share).collect::<Vec<_>>(), [None]);
    }

    #[test]
    fn where_all_send_little_again_there_is_nothing_to_list() {
        let (readings, nodes) = readings(&[0.001, 0.009, 0.002]);
        let grid = Grid::new(&readings, &nodes);
        assert_eq!(sent_again(&grid), []);
        assert_eq!(at_middle(&grid), Some(0.002));
    }
}
