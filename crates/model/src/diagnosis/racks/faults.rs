//! Where segments are lost between racks: which of the ways from one rack to another lose, and what these share.

use std::collections::{BTreeMap, BTreeSet};

use super::super::sockets::{LOST, LOST_MORE};

/// From one rack to another.
pub(super) type RackWay<'r> = (&'r str, &'r str);

type Ways<'r> = BTreeMap<RackWay<'r>, f64>;

/// Of the ways that one cause explains, so many lose.
const NEARLY_ALL: f64 = 0.9;

/// More pairs of racks than this have no path each that loses: something that they share does.
const PATHS_MAX: usize = 2;

/// What is compared with where pairs within racks tell.
const WITHIN: &str = "within racks";

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum RackPlace<'r> {
    /// The uplinks of one rack.
    Uplinks(&'r str),
    /// What leads from one rack to another, while others lose nothing.
    Path(RackWay<'r>),
    /// What lies between the only two racks: uplinks of one or of the other, or what connects them.
    Between(RackWay<'r>),
    /// All that connects racks.
    All,
    /// Some of that: so many of so many ways.
    Some(usize, usize),
}

/// Something that loses between racks.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct RackFault<'r> {
    pub(super) place: RackPlace<'r>,
    /// Ways that lose by it, each with its share.
    pub(super) lossy: Ways<'r>,
    /// The share of the others, or within racks.
    pub(super) others: f64,
    /// What that is the share of.
    pub(super) compared: &'static str,
    /// Whether pairs within racks tell that nodes' own links lose nothing.
    pub(super) is_clean_within: bool,
    /// Whether it is of a rack of clients alone: many send to each of them at once.
    pub(super) is_of_clients: bool,
}

impl RackFault<'_> {
    /// The share of segments sent again on the ways that begin at a rack, or that end there.
    pub(super) fn at(&self, rack: &str, is_from: bool) -> Option<f64> {
        let touches = |way: &RackWay<'_>| if is_from { way.0 == rack } else { way.1 == rack };
        lower_middle(self.lossy.iter().filter(|(way, _)| touches(way)).map(|(_, lost)| *lost).collect())
    }

    /// The same of all ways that lose.
    pub(super) fn lost(&self) -> f64 {
        lower_middle(self.lossy.values().copied().collect()).unwrap_or(0.0)
    }

    /// Whether both directions lose.
    pub(super) fn is_both(&self) -> bool {
        self.lossy.keys().any(|(from, to)| self.lossy.contains_key(&(*to, *from)))
    }
}

/// The middle one, of an even number the lower of both: what half of them have is not what the middle has. So one node
/// of two decides nothing, nor does one pair.
pub(super) fn lower_middle(mut values: Vec<f64>) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    values.get(values.len().checked_sub(1)? / 2).copied()
}

/// What ways lose that are not lossy, at the middle.
pub(super) fn quiet(across: &Ways<'_>) -> Option<f64> {
    lower_middle(across.values().copied().filter(|lost| *lost < LOST).collect())
}

/// Ways that lose more than is usual, and than the nodes of either end do among themselves.
fn lossy<'r>(across: &Ways<'r>, within: &BTreeMap<&'r str, f64>, pooled: Option<f64>) -> Ways<'r> {
    // What all pairs lose, wherever they are, no rack does.
    let Some(usual) = pooled.or(quiet(across)) else { return Ways::new() };
    let own = |rack: &str| within.get(rack).copied().unwrap_or(0.0);
    let is_lossy = |(way, lost): &(&RackWay<'r>, &f64)| **lost >= least(usual.max(own(way.0)).max(own(way.1)));
    across.iter().filter(is_lossy).map(|(way, lost)| (*way, *lost)).collect()
}

/// All ways that lose as what a part of what connects racks does; nothing where pairs within racks do not tell.
pub(super) fn common_fault<'r>(
    across: &Ways<'r>,
    within: &BTreeMap<&'r str, f64>,
    pooled: Option<f64>,
) -> Option<RackFault<'r>> {
    let lossy = lossy(across, within, pooled);
    let place = RackPlace::Some(lossy.len(), across.len());
    let (others, compared) = (pooled?, WITHIN);
    let fault = RackFault { place, lossy, others, compared, is_clean_within: true, is_of_clients: false };
    Some(fault).filter(stands_out)
}

/// What loses between racks. `across` has the ways that tell, `within` each rack's own pairs, and `pooled` the middle
/// of all pairs within racks, where there are enough of them.
pub(super) fn faults<'r>(
    across: &Ways<'r>,
    within: &BTreeMap<&'r str, f64>,
    pooled: Option<f64>,
) -> Vec<RackFault<'r>> {
    let quiet = quiet(across);
    let lossy = lossy(across, within, pooled);
    let racks: BTreeSet<&str> = across.keys().flat_map(|(from, to)| [*from, *to]).collect();
    if lossy.is_empty() {
        return Vec::new();
    }
    let is_clean_within = pooled.is_some();
    let fault = |place, lossy: Ways<'r>, (others, compared)| {
        let is_of_clients = false;
        RackFault { place, lossy, others, compared, is_clean_within, is_of_clients }
    };
    let all = |place| -> Vec<RackFault<'r>> {
        let within_fault = pooled.map(|within| fault(place, lossy.clone(), (within, WITHIN)));
        within_fault.filter(stands_out).into_iter().collect()
    };
    if let (2, Some((a, b))) = (racks.len(), racks.first().zip(racks.last())) {
        let others = pooled.map_or((quiet.unwrap_or(0.0), "the other way"), |within| (within, WITHIN));
        let only = fault(RackPlace::Between((a, b)), lossy, others);
        return Some(only).filter(stands_out).into_iter().collect();
    }
    if is_nearly(lossy.len(), across.len()) {
        return all(RackPlace::All);
    }
    let clean = across.iter().filter(|(way, _)| !lossy.contains_key(*way)).map(|(_, lost)| *lost).collect();
    let others = (lower_middle(clean).unwrap_or(0.0), "on the other ways from rack to rack");
    let (mut left, mut found) = (lossy.clone(), Vec::new());
    while let Some((rack, of)) = of_one_rack(across, &lossy, &left) {
        left.retain(|way, _| !of.contains_key(way));
        found.push(fault(RackPlace::Uplinks(rack), of, others));
    }
    let mut paths: BTreeMap<RackWay<'r>, Ways<'r>> = BTreeMap::new();
    for (way, lost) in left {
        paths.entry(way.min((way.1, way.0))).or_default().insert(way, lost);
    }
    // Of three racks, two whose uplinks lose look like the third's and the path between the two.
    let most = if found.is_empty() { PATHS_MAX } else { usize::from(racks.len() > 3) };
    if paths.len() > most {
        return all(RackPlace::Some(lossy.len(), across.len()));
    }
    found.extend(paths.into_iter().map(|(way, of)| fault(RackPlace::Path(way), of, others)));
    found.retain(stands_out);
    found
}

/// What ways lose at the least that lose more than others do.
pub(super) fn least(others: f64) -> f64 {
    LOST_MORE * others.max(LOST / LOST_MORE)
}

fn stands_out(fault: &RackFault<'_>) -> bool {
    fault.lost() >= least(fault.others)
}

pub(super) fn is_nearly(some: usize, all: usize) -> bool {
    some as f64 >= NEARLY_ALL * all as f64
}

/// The rack whose uplinks explain most of the ways that are `left`, out of it or into it: nearly all of that direction
/// lose.
fn of_one_rack<'r>(across: &Ways<'r>, lossy: &Ways<'r>, left: &Ways<'r>) -> Option<(&'r str, Ways<'r>)> {
    let racks: BTreeSet<&'r str> = left.keys().flat_map(|(from, to)| [*from, *to]).collect();
    let mut best: Option<(&'r str, Ways<'r>)> = None;
    for rack in racks {
        let ways = [true, false].map(|is_from| -> Vec<&RackWay<'r>> {
            across.keys().filter(|way| if is_from { way.0 == rack } else { way.1 == rack }).collect()
        });
        let losing = |ways: &[&RackWay<'r>]| -> Ways<'r> {
            ways.iter().filter_map(|way| Some((**way, *lossy.get(*way)?))).collect()
        };
        let is_lost = |ways: &[&RackWay<'r>]| !ways.is_empty() && is_nearly(losing(ways).len(), ways.len());
        // Of one way that tells, as where clients send too little, uplinks that lose the other way tell.
        let is_it = ways.iter().any(|ways| ways.len() >= 2 && is_lost(ways));
        let lost = ways.iter().filter(|ways| is_it && is_lost(ways)).flat_map(|ways| losing(ways));
        let lossy_ways: Ways<'r> = lost.filter(|(way, _)| left.contains_key(way)).collect();
        if lossy_ways.len() >= 2 && best.as_ref().is_none_or(|(_, most)| lossy_ways.len() > most.len()) {
            best = Some((rack, lossy_ways));
        }
    }
    best
}
