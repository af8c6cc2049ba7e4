//! Which families of causes totals leave. One or two totals fit many hypotheses, so that they name no cause: what they
//! tell is which families have none that fits, and by how much the best of each misses.

use linerate_record::explanation::{CauseFamily, Deviation, FamilyStanding, Hypothesis, Quantity, Residual};

use super::likelihood::EXPLAINED_LOSS;
use super::score::{CURVE_ERROR, ObservedFigures, Score};

/// A family remains while its best hypothesis misses no total by more standard errors than this.
pub(super) const RULED_OUT_SIGMAS: f64 = 3.0;

/// The family of a deviation. What the site does not state, such as counts and sizes, is in none of its own.
pub(super) fn family(id: &str) -> CauseFamily {
    match id {
        "bond-members-in-use"
        | "bond-mode"
        | "link-speed"
        | "mtu"
        | "encapsulation"
        | "timestamps"
        | "plane-shared"
        | "plane-separate" => CauseFamily::Links,
        "slow-node-link" => CauseFamily::NodeLink,
        "slow-node-cpu" => CauseFamily::NodeProcessors,
        "slow-rack" | "slow-rack-uplinks" | "rack-uplinks" => CauseFamily::Fabric,
        "cpu" | "engine-cryptography" => CauseFamily::Processors,
        "slow-drive" | "drives" | "drives-read" | "drives-write" => CauseFamily::Drives,
        "clients-active" | "clients-ports" | "clients-speed" | "clients-on" => CauseFamily::Clients,
        "entry" | "one-node-asked" => CauseFamily::Entry,
        "layout" | "local-shards" => CauseFamily::Layout,
        _ => CauseFamily::Other,
    }
}

/// That of a hypothesis: two causes that are of different families are of none.
fn family_of_all(deviations: &[Deviation]) -> CauseFamily {
    let Some((first, others)) = deviations.split_first() else { return CauseFamily::AsDescribed };
    let of_first = family(&first.id);
    if others.iter().all(|other| family(&other.id) == of_first) { of_first } else { CauseFamily::Other }
}

/// A hypothesis without a deviation or with one, and by how many standard errors it misses each total: that of reads and
/// that of writes.
#[derive(Clone, Debug)]
pub(super) struct Misses {
    family: CauseFamily,
    sigmas: [Option<f64>; 2],
}

/// By how much each of these hypotheses misses totals, by the id of its deviation. Empty where figures of nodes are
/// there: they tell more than totals do.
pub(super) fn misses<'a>(
    evidence: &ObservedFigures,
    described: &Score,
    singles: impl Iterator<Item = (&'a str, &'a Score)>,
) -> Vec<Misses> {
    if evidence.totals.is_empty() || !evidence.get.nodes.is_empty() || !evidence.put.nodes.is_empty() {
        return Vec::new();
    }
    let of_described = Misses { family: CauseFamily::AsDescribed, sigmas: sigmas(evidence, described) };
    let of_single = |(id, score): (&str, &Score)| Misses { family: family(id), sigmas: sigmas(evidence, score) };
    std::iter::once(of_described).chain(singles.map(of_single)).collect()
}

/// Standings of the families that have such a hypothesis: those that remain first, by the weight of their survivors,
/// then the others by how far they are off. A total that no survivor explains is held against none; where that is so of
/// all totals, none remains.
pub(super) fn standings(all: &[Misses], survivors: &[Hypothesis], unexplained: &[Residual]) -> Vec<FamilyStanding> {
    let is_held = [Quantity::Get, Quantity::Put].map(|of| unexplained.iter().all(|residual| residual.what != of));
    let is_any_held =
        (0..2).any(|operation| is_held[operation] && all.iter().any(|one| one.sigmas[operation].is_some()));
    let mut found: Vec<FamilyStanding> = Vec::new();
    for one in all {
        let counted = (0..2).filter(|operation| is_held[*operation] || !is_any_held);
        let furthest = counted.filter_map(|operation| Some((one.sigmas[operation]?, operation)));
        let Some((misses_sigmas, operation)) = furthest.max_by(|a, b| a.0.total_cmp(&b.0)) else { continue };
        let of_family = survivors.iter().filter(|survivor| family_of_all(&survivor.deviations) == one.family);
        let standing = FamilyStanding {
            family: one.family,
            remains: is_any_held && misses_sigmas <= RULED_OUT_SIGMAS,
            weight: of_family.map(|survivor| survivor.weight).sum(),
            misses_sigmas,
            misses: if operation == 0 { Quantity::Get } else { Quantity::Put },
        };
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

/// Whether totals leave causes of several families, and not that nothing is wrong.
pub(super) fn are_open(standings: &[FamilyStanding]) -> bool {
    let remaining = || standings.iter().filter(|one| one.remains);
    remaining().count() > 1 && remaining().all(|one| one.family != CauseFamily::AsDescribed)
}

/// By how many standard errors a total is above what is allowed, or below what is predicted less the usual loss. The
/// error of the curve counts where requests in flight are known.
fn sigmas(evidence: &ObservedFigures, score: &Score) -> [Option<f64>; 2] {
    [true, false].map(|reads| {
        let (observed, sigma) = evidence.total(reads)?;
        let operation = usize::from(!reads);
        let (most, nearest) = (score.most[operation]?, score.nearest[operation]?);
        let is_of_curve = evidence.in_flight[operation].is_some();
        let below = sigma.hypot(if is_of_curve { CURVE_ERROR } else { 0.0 });
        Some(if observed > most {
            (observed / most - 1.0) / sigma
        } else {
            ((1.0 - EXPLAINED_LOSS - observed / nearest) / below).max(0.0)
        })
    })
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
                assert_eq!(family(variant.id) == CauseFamily::Other, is_unstated, "{}", variant.id);
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
        // Half of the ceiling is 0.35 beyond what systems lose: 17.5 errors of 2 %.
        let half = explained(&site, &[(Quantity::Get, 0.5 * ceiling)]).families;
        let described = half.iter().find(|one| one.family == CauseFamily::AsDescribed).unwrap();
        assert!((described.misses_sigmas - 17.5).abs() < 0.1 && described.misses == Quantity::Get, "{described:?}");
    }

    /// 56 nodes of which PUT is below all that a likely cause predicts: GET alone is held against families.
    #[test]
    fn a_total_that_no_survivor_explains_rules_no_family_out() {
        let site = example(include_str!("../../../../examples/source-000-56.yaml"));
        let gib = f64::from(1 << 30);
        let both = explained(&site, &[(Quantity::Get, 152.0 * gib), (Quantity::Put, 81.0 * gib)]);
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
