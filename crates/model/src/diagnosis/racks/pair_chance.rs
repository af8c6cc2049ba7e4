//! Whether what is taken for a fault between racks can as well be bursts that pairs of nodes have anywhere: of few
//! pairs, as in clusters of six nodes, some lie on one way by chance.

use std::collections::BTreeMap;

use super::super::sockets::{ALIKE, PAIRS_LEAST};
use super::RackTraffic;
use super::faults::{RackFault, RackPlace, RackWay};

/// A fault is told where pairs that lose lie on its ways by chance less often than this.
const BY_CHANCE: f64 = 0.03;

/// The same between two racks, where four pairs are all that there may be.
const BETWEEN_TWO: f64 = 0.08;

/// So many pairs do not lose by chance: more than half of those of each way do.
const MANY: usize = 36;

/// Pairs that lose, and all of them.
#[derive(Clone, Copy, Debug, Default)]
struct PairCount {
    losing: usize,
    all: usize,
}

/// Whether the pairs that lose as the fault does are as likely to lie where they lie if bursts drew them from all.
pub(super) fn is_by_chance(fault: &RackFault<'_>, lanes: &BTreeMap<RackWay<'_>, RackTraffic<'_>>) -> bool {
    let least = ALIKE * fault.lost();
    let count = |is_it: &dyn Fn(&RackWay<'_>) -> bool| {
        let lost = lanes.iter().filter(|(way, _)| is_it(way)).flat_map(|(_, lane)| &lane.lost);
        lost.fold(PairCount::default(), |PairCount { losing, all }, lost| PairCount {
            losing: losing + usize::from(*lost >= least),
            all: all + 1,
        })
    };
    let on_it = count(&|way| fault.lossy.contains_key(way));
    let within = count(&|way| way.0 == way.1);
    // Where sets lie across racks, nothing is sent within them.
    let others = if within.all >= PAIRS_LEAST { within } else { count(&|way| !fault.lossy.contains_key(way)) };
    if on_it.all >= MANY || others.all == 0 {
        return false;
    }
    let most = if matches!(fault.place, RackPlace::Between(_)) { BETWEEN_TWO } else { BY_CHANCE };
    chance(on_it, others) > most
}

/// The chance that so many or more of those that lose are on it, if they were drawn from all (Fisher's exact test, of
/// one side).
fn chance(on_it: PairCount, others: PairCount) -> f64 {
    let (all, losing) = (on_it.all + others.all, on_it.losing + others.losing);
    let most = losing.min(on_it.all);
    let probability = |on: usize| {
        let rest = on_it.all - on;
        (ln_choose(losing, on) + ln_choose(all - losing, rest) - ln_choose(all, on_it.all)).exp()
    };
    (on_it.losing..=most).map(probability).sum()
}

/// The logarithm of the number of ways to choose so many of all.
fn ln_choose(all: usize, chosen: usize) -> f64 {
    (0..chosen).map(|i| ((all - i) as f64 / (chosen - i) as f64).ln()).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chances_are_those_of_the_hypergeometric_distribution() {
        for (on_it, others, expected) in [
            ((4, 4), (0, 4), 1.0 / 70.0),
            ((3, 4), (0, 4), 4.0 / 56.0),
            ((8, 8), (0, 4), 1.0 / 495.0),
            ((6, 8), (0, 4), 28.0 / 924.0),
            ((3, 4), (1, 4), 17.0 / 70.0),
            ((0, 4), (2, 4), 1.0),
        ] {
            let pair_count = |(losing, all): (usize, usize)| PairCount { losing, all };
            let found = chance(pair_count(on_it), pair_count(others));
            assert!((found - expected).abs() < 1e-9, "{on_it:?} {others:?}: {found}");
        }
    }
}
