//! Racks of which all nodes are gone at the same instants, while others go on. Of nodes of which nothing is read, what
//! they share lost everything: the switch at the top of the rack, its power, or the way by which they are read. Nodes
//! that are read and carry nothing may as well be drained, or asked for nothing.

use std::collections::BTreeMap;

use linerate_record::diagnosis::{Cause, Suspect};
use linerate_record::readings::ReadMeasure;
use linerate_record::units::utc;

use super::super::readings_grid::{Grid, Values, quantile};
use super::super::suspects::{BELOW_LIMITS, ScoredCause};

/// A node whose links carry less than this of what they do under load is gone; what agents say is more.
const STILL: f64 = 0.01;

/// What links do under load: a quantile of the instants that count, which bursts do not decide, and which a node that
/// is gone for most of them still has.
const LOAD: f64 = 0.75;

/// One whose links carry so much of that goes on.
const GOES_ON: f64 = 0.1;

/// At fewer instants in a row than this, looks may have been late together.
const INSTANTS_LEAST: usize = 3;

/// Of one node, that it is gone is its own.
const NODES_LEAST: usize = 2;

/// What a rack is worth of which nothing is read, in log odds: nothing else takes all of its nodes at once.
const GONE: f64 = 9.0;

/// What one is worth that is read and carries nothing: others may have the load.
const IDLE: f64 = 5.0;

/// A rack that was gone for less than this of the window is told, and is worth less than any limit that is seen; what
/// its nodes do for the rest of the time is their own.
const LONG: f64 = 0.1;

/// A rack that was gone.
pub(super) struct LostRack {
    /// Nodes of which nothing is to be said but that.
    pub(super) nodes: Vec<String>,
    pub(super) suspect: ScoredCause,
}

/// What the links of a node carry at each instant as a share of what they do under load; nothing where they carry
/// nothing at any.
fn activity(grid: &Grid<'_>, node: usize) -> Option<Vec<Option<f64>>> {
    let ways = [ReadMeasure::LinkSent, ReadMeasure::LinkReceived];
    let parts: Vec<&Values> = ways.iter().flat_map(|of| grid.parts(*of, node)).map(|(_, values)| *values).collect();
    let at = |step: usize| {
        let read = parts.iter().filter_map(|values| values.get(step).copied().flatten());
        read.fold(None, |sum: Option<f64>, value| Some(sum.unwrap_or(0.0) + value))
    };
    let all: Vec<Option<f64>> = (0..grid.is_busy.len()).map(at).collect();
    let under_load = |are_judged: bool| {
        let at = all.iter().zip(&grid.is_busy).filter(|(_, busy)| **busy || !are_judged);
        let mut carried: Vec<f64> = at.filter_map(|(bytes, _)| bytes.filter(|bytes| *bytes > 0.0)).collect();
        quantile(&mut carried, LOAD)
    };
    let load = under_load(true).or_else(|| under_load(false))?;
    Some(all.into_iter().map(|bytes| bytes.map(|bytes| bytes / load)).collect())
}

/// Racks whose nodes were gone at once, with what that says. `racks` has the rack of each machine.
pub(super) fn racks(grid: &Grid<'_>, racks: &BTreeMap<&str, &str>) -> Vec<LostRack> {
    let active: Vec<Option<Vec<Option<f64>>>> = (0..grid.nodes.len()).map(|node| activity(grid, node)).collect();
    let mut of_racks: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    for (place, node) in grid.nodes.iter().enumerate().filter(|(place, _)| active[*place].is_some()) {
        if let Some(rack) = racks.get(node.name.as_str()) {
            of_racks.entry(*rack).or_default().push(place);
        }
    }
    let is_gone = |node: usize, step: usize| {
        let Some(of) = &active[node] else { return false };
        let was_read = of[..step].iter().any(Option::is_some);
        was_read && of[step].is_none_or(|share| share <= STILL)
    };
    let share = |node: usize, step: usize| active[node].as_ref().and_then(|of| of[step]);
    let goes_on = |node: usize, step: usize| share(node, step).is_some_and(|share| share >= GOES_ON);
    let mut found = Vec::new();
    for (rack, nodes) in of_racks.iter().filter(|(_, nodes)| nodes.len() >= NODES_LEAST) {
        let others: Vec<usize> =
            (0..active.len()).filter(|node| active[*node].is_some() && !nodes.contains(node)).collect();
        let is_it = |step: &usize| {
            let going = || others.iter().filter(|node| goes_on(**node, *step)).count();
            nodes.iter().all(|node| is_gone(*node, *step)) && 2 * going() >= others.len().max(1)
        };
        let all: Vec<usize> = (0..grid.is_busy.len()).filter(is_it).collect();
        let rows = all.chunk_by(|before, step| before + 1 == *step).filter(|row| row.len() >= INSTANTS_LEAST);
        let steps: Vec<usize> = rows.flatten().copied().collect();
        let read = steps.iter().filter(|step| nodes.iter().any(|node| share(*node, **step).is_some())).count();
        if !steps.is_empty() {
            found.push(reported(grid, rack, nodes, &steps, 2 * read >= steps.len()));
        }
    }
    found
}

fn reported(grid: &Grid<'_>, rack: &str, nodes: &[usize], steps: &[usize], is_read: bool) -> LostRack {
    let at = |step: Option<&usize>| {
        let unix_ms = step.map_or(0, |step| grid.readings.at_unix_ms(*step));
        utc(u64::try_from(unix_ms).unwrap_or(0))
    };
    let (all, is_long) = (grid.is_busy.len(), steps.len() as f64 >= LONG * grid.is_busy.len() as f64);
    let when = format!("at {} of {all} instants, from {} to {}", steps.len(), at(steps.first()), at(steps.last()));
    let claim = if is_read {
        format!(
            "rack {rack} carries nothing: {when}, the links of all of its {} nodes are idle while others go on: they \
             are cut off from what the load passes, drained, or asked for nothing",
            nodes.len()
        )
    } else {
        format!(
            "rack {rack} is gone: {when}, nothing is read of any of its {} nodes while others go on: the switch at its \
             top, its power, or what leads to whoever reads",
            nodes.len()
        )
    };
    let worth = if is_read { IDLE } else { GONE };
    let one =
        ScoredCause::new(Cause::RackUplinks, None, rack, claim, if is_long { worth } else { worth.min(BELOW_LIMITS) });
    let remedy = if is_read {
        format!(
            "whether its nodes were drained, or hold nothing of what was asked for (the engine's state of nodes and \
             pools); if not, the uplinks of the switch at the top of rack {rack}"
        )
    } else {
        format!(
            "the log, the power and the uplinks of the switch at the top of rack {rack}, and the rack's power; if all \
             were well, who restarted its nodes, and what else these share"
        )
    };
    let suspect = ScoredCause { suspect: Suspect { remedy, ..one.suspect }, ..one };
    let excused = nodes.iter().filter(|_| is_long).map(|node| grid.nodes[*node].name.clone());
    LostRack { nodes: excused.collect(), suspect }
}
