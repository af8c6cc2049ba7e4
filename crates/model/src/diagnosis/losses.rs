//! Segments that a node sends again where no socket was read: a node that loses packets does so at every instant, while
//! queues that overflow do so by turns.

use linerate_record::diagnosis::{Cause, ResourceUse, Suspect};
use linerate_record::readings::ReadMeasure;
use linerate_record::units::percent;

use super::outlier_rows::{APART_LEAST, apart};
use super::readings_grid::{Grid, quantile};
use super::suspects::{LOSSY, ScoredCause};

/// At each instant it has so many times the share of any other node at any instant. Of a link that loses both ways,
/// what each other node sends to it is lost as well: of four nodes that send half of their bytes to clients, a sixth.
const ABOVE: f64 = 3.0;

/// What this is worth, in log odds: as much as losses of one way that sockets show.
const WORTH: f64 = 5.0;

/// From so much on, and so many times the middle of the others, a node may lose packets.
const MAY: f64 = 0.005;
const MAY_ABOVE: f64 = 1.5;

/// Less weight than this, and a suspect is no alternative.
const ALTERNATIVE: f64 = 0.02;

/// What each node that was read sends again.
fn shares(grid: &Grid<'_>) -> Vec<(usize, Vec<f64>)> {
    let of_node = |node: usize| {
        let busy = grid.busy(grid.whole(ReadMeasure::Retransmitted, node)?);
        let judged = grid.is_busy.iter().filter(|busy| **busy).count();
        (busy.len() >= 2 && 2 * busy.len() >= judged).then_some((node, busy))
    };
    (0..grid.nodes.len()).filter_map(of_node).collect()
}

/// A node that loses packets all the time, which no other does at any. Extremes of a tenth of the instants do not
/// count.
pub(super) fn all_the_time(grid: &Grid<'_>) -> Option<ScoredCause> {
    let all = shares(grid);
    if all.len() < 3 || apart(grid) < APART_LEAST {
        return None;
    }
    let ends = |values: &[f64]| -> Option<[f64; 2]> {
        let mut sorted = values.to_vec();
        Some([quantile(&mut sorted, 0.1)?, quantile(&mut sorted, 0.9)?])
    };
    let ends: Vec<(usize, [f64; 2])> = all.iter().filter_map(|(node, values)| Some((*node, ends(values)?))).collect();
    let (node, [least, _]) = *ends.iter().max_by(|a, b| a.1[0].total_cmp(&b.1[0]))?;
    let others = ends.iter().filter(|(other, _)| *other != node).map(|(_, [_, most])| *most).fold(0.0, f64::max);
    if least < LOSSY || least < ABOVE * others {
        return None;
    }
    let name = &grid.nodes[node].name;
    let claim = format!(
        "the link of {name} loses packets: at every instant {} or more of its segments are sent again, of any other \
         node {} at the most",
        percent(least),
        percent(others)
    );
    Some(ScoredCause::new(Cause::LossyLink, Some(name.clone()), "", claim, WORTH))
}

/// What else a limit of links may be, or losses, where readings do not separate the two: a sentence, and what does.
pub(super) fn alike(grid: &Grid<'_>, suspects: &[Suspect], used: &[ResourceUse]) -> Option<[String; 2]> {
    if !grid.readings.sockets.is_empty() {
        return None;
    }
    let first = suspects.first()?;
    let is_lossy = |one: &Suspect| one.cause == Cause::LossyLink && one.node.is_some();
    let (node, share, others) = losing(grid)?;
    let name = &grid.nodes[node].name;
    let is_limit = |one: &Suspect| is_limit_of_links(one, used);
    let is_other = |one: &&Suspect| one.weight >= ALTERNATIVE && is_limit(one);
    let said = if is_lossy(first) && first.node.as_ref() == Some(name) {
        let limit = suspects.iter().find(is_other)?;
        format!("a limit of links looks alike in these readings ({})", limit.claim)
    } else if is_limit(first) && first.node.as_ref().is_none_or(|of| of == name) {
        format!(
            "losses at {name} look alike in these readings: it sends {} of its segments again, the middle one of the \
             others {}",
            percent(share),
            percent(others)
        )
    } else {
        return None;
    };
    let next = format!(
        "whether the link of {name} loses packets or links are full: linerate explain --live, which reads what is sent \
         again by whom it leads to; or ethtool -S of its ports and the counters of its switch port (crc, symbol, \
         discards)"
    );
    Some([said, next])
}

/// Links that carry all that they can, or that stay where they are.
fn is_limit_of_links(one: &Suspect, used: &[ResourceUse]) -> bool {
    let is_link = |used: &ResourceUse| used.resource.is_link() && used.part == one.part;
    (one.cause == Cause::Full && used.iter().any(is_link))
        || matches!(one.cause, Cause::SlowLinkSending | Cause::SlowLinkReceiving)
}

/// The node that sends most again, how much that is, and the middle of the others.
fn losing(grid: &Grid<'_>) -> Option<(usize, f64, f64)> {
    let middle = |(node, values): (usize, Vec<f64>)| {
        let mut values = values;
        Some((node, quantile(&mut values, 0.5)?))
    };
    let all: Vec<(usize, f64)> = shares(grid).into_iter().filter_map(middle).collect();
    let (node, share) = *all.iter().max_by(|a, b| a.1.total_cmp(&b.1))?;
    let mut others: Vec<f64> = all.iter().filter(|(other, _)| *other != node).map(|(_, share)| *share).collect();
    let others = quantile(&mut others, 0.5)?;
    (all.len() >= 3 && share >= MAY && share >= MAY_ABOVE * others).then_some((node, share, others))
}
