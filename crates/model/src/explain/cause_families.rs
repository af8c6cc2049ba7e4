//! Which families of causes totals leave. One or two totals fit many hypotheses, so that they name no cause: what they
//! tell is which families have none that fits, and by how much the best of each misses.

use linerate_record::explanation::{CauseFamily, Deviation, FamilyStanding, Hypothesis, Quantity};

use super::score::{ObservedFigures, Score};

/// A family remains while its best hypothesis misses no total by more standard errors than this.
const RULED_OUT_SIGMAS: f64 = 3.0;

/// A hypothesis of less weight does not show that a total can be explained.
const WEIGHT_LEAST: f64 = 0.01;

/// Between a site as described and each value of a deviation that is looked at, so many others are held against totals.
const VALUES_BETWEEN: u32 = 16;

/// Whether any share of a deviation may be there: so many of the clients, a link that carries a part of what it should.
/// A value that is not among those that are looked at is not ruled out by those that are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Extent {
    Gradual,
    Whole,
}

use Extent::{Gradual, Whole};

/// Each deviation by its id. What the site does not state, such as counts and sizes, has no row: it is in no family of
/// its own.
const DEVIATIONS: [(&str, CauseFamily, Extent); 27] = [
    ("bond-members-in-use", CauseFamily::Links, Gradual),
    ("link-speed", CauseFamily::Links, Gradual),
    ("bond-mode", CauseFamily::Links, Whole),
    ("mtu", CauseFamily::Links, Whole),
    ("encapsulation", CauseFamily::Links, Whole),
    ("timestamps", CauseFamily::Links, Whole),
    ("plane-shared", CauseFamily::Links, Whole),
    ("plane-separate", CauseFamily::Links, Whole),
    ("slow-node-link", CauseFamily::NodeLink, Gradual),
    ("slow-node-cpu", CauseFamily::NodeProcessors, Gradual),
    ("slow-rack", CauseFamily::Fabric, Gradual),
    ("slow-rack-uplinks", CauseFamily::Fabric, Gradual),
    ("rack-uplinks", CauseFamily::Fabric, Gradual),
    ("cpu", CauseFamily::Processors, Gradual),
    ("engine-cryptography", CauseFamily::Processors, Gradual),
    ("slow-drive", CauseFamily::Drives, Gradual),
    ("drives", CauseFamily::Drives, Gradual),
    ("drives-read", CauseFamily::Drives, Gradual),
    ("drives-write", CauseFamily::Drives, Gradual),
    ("clients-active", CauseFamily::Clients, Gradual),
    ("clients-ports", CauseFamily::Clients, Gradual),
    ("clients-speed", CauseFamily::Clients, Gradual),
    ("clients-on", CauseFamily::Clients, Whole),
    ("entry", CauseFamily::Entry, Whole),
    ("one-node-asked", CauseFamily::Entry, Whole),
    ("layout", CauseFamily::Layout, Whole),
    ("local-shards", CauseFamily::Layout, Whole),
];

fn row(id: &str) -> Option<&'static (&'static str, CauseFamily, Extent)> {
    DEVIATIONS.iter().find(|row| row.0 == id)
}

/// The family of a deviation, by its id.
#[must_use]
pub fn cause_family(id: &str) -> CauseFamily {
    row(id).map_or(CauseFamily::Other, |row| row.1)
}

/// That of a hypothesis; two causes of different families are of none.
fn family_of_all(deviations: &[Deviation]) -> Option<CauseFamily> {
    let Some((first, others)) = deviations.split_first() else { return Some(CauseFamily::AsDescribed) };
    let of_first = cause_family(&first.id);
    others.iter().all(|other| cause_family(&other.id) == of_first).then_some(of_first)
}

/// A hypothesis without a deviation or with one, and by how many standard errors it misses the total of reads and that
/// of writes, of those that count.
#[derive(Clone, Debug)]
pub(super) struct Misses {
    family: CauseFamily,
    sigmas: [Option<f64>; 2],
}

/// By how much each of these hypotheses misses totals, by the id of its deviation; none where figures of nodes are
/// there, which tell more than totals do. A total counts that a survivor comes near, of two causes too; survivors are
/// given with their weights.
pub(super) fn misses<'a>(
    evidence: &ObservedFigures,
    described: &Score,
    singles: impl Iterator<Item = (&'a str, &'a Score)>,
    survivors: impl Iterator<Item = (f64, &'a Score)>,
) -> Option<Vec<Misses>> {
    if evidence.totals.is_empty() || !evidence.get.nodes.is_empty() || !evidence.put.nodes.is_empty() {
        return None;
    }
    let heavy: Vec<&Score> = survivors.filter(|(weight, _)| *weight >= WEIGHT_LEAST).map(|(_, score)| score).collect();
    let comes_near =
        |score: &Score, operation: usize| score.totals[operation].is_some_and(|total| is_near(total.misses_sigmas()));
    let counts = [0, 1].map(|operation| heavy.iter().any(|score| comes_near(score, operation)));
    let of_share = |family: CauseFamily, score: &Score, share: f64| Misses {
        family,
        sigmas: [0, 1].map(|operation| {
            let (without, whole) = (described.totals[operation]?, score.totals[operation]?);
            counts[operation].then(|| without.towards(&whole, share).misses_sigmas())
        }),
    };
    let of_described = of_share(CauseFamily::AsDescribed, described, 1.0);
    let of_singles = singles.flat_map(|(id, score)| {
        let first = if row(id).is_some_and(|row| row.2 == Gradual) { 1 } else { VALUES_BETWEEN };
        let shares = (first..=VALUES_BETWEEN).map(|step| f64::from(step) / f64::from(VALUES_BETWEEN));
        shares.map(move |share| of_share(cause_family(id), score, share))
    });
    Some(std::iter::once(of_described).chain(of_singles).collect())
}

fn is_near(sigmas: f64) -> bool {
    sigmas <= RULED_OUT_SIGMAS
}

/// Standings of the families that have such a hypothesis: those that remain first, by the weight of their survivors,
/// then the others by how far they are off. There are no standings where no total counts.
pub(super) fn standings(all: &[Misses], survivors: &[Hypothesis]) -> Vec<FamilyStanding> {
    let weight = |family: CauseFamily| -> f64 {
        let of_family = survivors.iter().filter(|survivor| family_of_all(&survivor.deviations) == Some(family));
        // The sum of nothing is −0.
        of_family.map(|survivor| survivor.weight).fold(0.0, |sum, weight| sum + weight)
    };
    let mut found: Vec<FamilyStanding> = Vec::new();
    for one in all {
        let missed = [Quantity::Get, Quantity::Put].into_iter().zip(one.sigmas);
        let missed = missed.filter_map(|(what, sigmas)| Some((sigmas?, what)));
        let Some((misses_sigmas, misses)) = missed.max_by(|a, b| a.0.total_cmp(&b.0)) else { continue };
        let (weight, fits) = (weight(one.family), is_near(misses_sigmas));
        // What keeps some weight does so with something unknown that holds a total back.
        let remains = fits || weight >= WEIGHT_LEAST;
        let standing = FamilyStanding { family: one.family, remains, fits, weight, misses_sigmas, misses };
        match found.iter_mut().find(|known| known.family == one.family) {
            Some(known) if known.misses_sigmas <= misses_sigmas => {}
            Some(known) => *known = standing,
            None => found.push(standing),
        }
    }
    found.sort_by(|a, b| {
        let order = b.remains.cmp(&a.remains).then(b.weight.total_cmp(&a.weight));
        order.then(a.misses_sigmas.total_cmp(&b.misses_sigmas))
    });
    found
}

/// Whether totals name the first survivor: its family remains alone.
pub(super) fn are_of_first(standings: &[FamilyStanding], survivors: &[Hypothesis]) -> bool {
    let mut remaining = standings.iter().filter(|one| one.remains);
    let of_first = survivors.first().and_then(|first| family_of_all(&first.deviations));
    remaining.next().is_some_and(|one| Some(one.family) == of_first) && remaining.next().is_none()
}

/// Whether totals leave causes of several families, and not that nothing is wrong.
pub(super) fn are_open(standings: &[FamilyStanding]) -> bool {
    let remaining = || standings.iter().filter(|one| one.remains);
    remaining().count() > 1 && remaining().all(|one| one.family != CauseFamily::AsDescribed || !one.fits)
}

#[cfg(test)]
mod tests {
    use linerate_record::explanation::{Explanation, Observations, Observed};
    use linerate_record::site::Site;

    use super::*;
    use crate::explain::deviations;
    use crate::explain::explain;

    fn example(text: &str) -> Site {
        linerate_site::read(text, "example").unwrap()
    }

    /// Four nodes behind links of 200 Mb/s: at most 95 MiB/s of GET.
    fn namespaces() -> Site {
        example(include_str!("../../../../examples/namespaces-4.yaml"))
    }

    fn explained(site: &Site, figures: &[(Quantity, f64)]) -> Explanation {
        let figure = |(what, bytes_per_s): &(Quantity, f64)| Observed {
            what: what.clone(),
            bytes_per_s: *bytes_per_s,
            error_share: None,
            in_flight: None,
        };
        let figures = figures.iter().map(figure).collect();
        explain(site, &Observations { figures, error_share: 0.02, nodes_alone: false }).unwrap()
    }

    #[test]
    fn every_deviation_is_of_a_family_unless_it_is_a_value_that_nobody_stated() {
        let none = Observations { figures: Vec::new(), error_share: 0.02, nodes_alone: false };
        for text in [
            include_str!("../../../../examples/namespaces-4.yaml"),
            include_str!("../../../../examples/source-000-56.yaml"),
            include_str!("../../../../examples/ceph-rgw-12.yaml"),
        ] {
            for variant in deviations::all(&example(text), &none) {
                let is_unstated = ["assumed", "nodes", "object-size"].contains(&variant.id);
                assert_eq!(cause_family(variant.id) == CauseFamily::Other, is_unstated, "{}", variant.id);
            }
        }
    }

    #[test]
    fn a_total_at_its_ceiling_leaves_the_site_as_described_and_one_far_below_rules_it_out() {
        let site = namespaces();
        let ceiling = explained(&site, &[(Quantity::Get, 1e6)]).described[0].ceiling_bytes_per_s;
        for (share, is_described) in [(0.97, true), (0.85, true), (0.5, false)] {
            let families = explained(&site, &[(Quantity::Get, share * ceiling)]).families;
            let described = families.iter().find(|one| one.family == CauseFamily::AsDescribed).unwrap();
            assert_eq!(described.remains, is_described, "{share}: {families:?}");
            assert!(families.iter().any(|one| one.remains), "{share}: {families:?}");
            let split = families.iter().position(|one| !one.remains).unwrap_or(families.len());
            assert!(families[split..].iter().all(|one| !one.remains && one.misses_sigmas > RULED_OUT_SIGMAS));
        }
        // Half of the ceiling is 0.265 beyond what systems lose and too few requests leave: 13.25 errors of 2 %.
        let half = explained(&site, &[(Quantity::Get, 0.5 * ceiling)]).families;
        let described = half.iter().find(|one| one.family == CauseFamily::AsDescribed).unwrap();
        assert!((described.misses_sigmas - 13.25).abs() < 0.1 && described.misses == Quantity::Get, "{described:?}");
    }

    /// 13 of 16 clients give 13/16 of what all do, which is none of the numbers that hypotheses have.
    #[test]
    fn a_share_between_the_values_of_hypotheses_is_not_ruled_out() {
        let site = example(include_str!("../../../../examples/source-000-56.yaml"));
        let gib = f64::from(1 << 30);
        let ceilings = explained(&site, &[(Quantity::Get, gib), (Quantity::Put, gib)]).described;
        for share in (8..16).map(|sixteenths| 0.97 * f64::from(sixteenths) / 16.0) {
            let figures: Vec<_> = ceilings.iter().map(|of| (of.what.clone(), share * of.ceiling_bytes_per_s)).collect();
            let families = explained(&site, &figures).families;
            // There are none where no hypothesis comes near, so that nothing is ruled out.
            let mut links = families.iter().filter(|one| one.family == CauseFamily::Links);
            assert!(links.all(|links| links.remains && links.fits), "{share}: {families:?}");
        }
    }

    /// What a row of the answer has weight for is not called ruled out.
    #[test]
    fn a_family_with_weight_remains_and_says_what_it_does_not_explain() {
        let site = example(include_str!("../../../../examples/source-000-56.yaml"));
        let gib = f64::from(1 << 30);
        let ceilings = explained(&site, &[(Quantity::Get, gib), (Quantity::Put, gib)]).described;
        let figures = [0.97, 0.49].into_iter().zip(&ceilings);
        let figures: Vec<_> = figures.map(|(share, of)| (of.what.clone(), share * of.ceiling_bytes_per_s)).collect();
        let found = explained(&site, &figures);
        let described = found.families.iter().find(|one| one.family == CauseFamily::AsDescribed).unwrap();
        assert!(described.remains && !described.fits && described.misses == Quantity::Put, "{:?}", found.families);
        let is_there = |one: &FamilyStanding| one.remains && one.weight >= found.survivors[0].weight - 1e-9;
        assert!(found.families.iter().any(is_there), "{:?}", found.families);
    }

    /// 56 nodes of which PUT is below all that a likely cause predicts: GET alone is held against families.
    #[test]
    fn a_total_that_no_survivor_explains_rules_no_family_out() {
        let site = example(include_str!("../../../../examples/source-000-56.yaml"));
        let gib = f64::from(1 << 30);
        let both = explained(&site, &[(Quantity::Get, 152.0 * gib), (Quantity::Put, 60.0 * gib)]);
        assert!(both.unexplained.iter().any(|residual| residual.what == Quantity::Put), "{:?}", both.unexplained);
        let remains = |family: CauseFamily| both.families.iter().any(|one| one.family == family && one.remains);
        assert!(remains(CauseFamily::Links) && !remains(CauseFamily::AsDescribed), "{:?}", both.families);
        assert!(both.families.iter().all(|one| one.misses == Quantity::Get), "{:?}", both.families);
    }

    #[test]
    fn a_remedy_is_advised_only_if_totals_leave_one_family_and_figures_of_nodes_have_no_families() {
        let site = namespaces();
        let ceiling = explained(&site, &[(Quantity::Get, 1e6)]).described[0].ceiling_bytes_per_s;
        let half = explained(&site, &[(Quantity::Get, 0.5 * ceiling)]);
        assert!(half.families.iter().filter(|one| one.remains).count() > 1 && half.verdict.advised.is_none());
        let node = |n: u32, share: f64| (Quantity::NodeGet { node: format!("node{n}") }, share * ceiling / 4.0);
        let of_nodes = explained(&site, &[node(1, 0.9), node(2, 0.4), node(3, 0.9), node(4, 0.9)]);
        assert!(of_nodes.families.is_empty() && of_nodes.verdict.advised.is_some(), "{:?}", of_nodes.verdict);
    }
}
