//! Clients ask one node only: it serves all bytes, and others move and keep shards for it.

use linerate_record::explanation::{Observations, Observed};
use linerate_record::site::{Entry, Site, TrafficPolicy};

use super::{place_apart, set_apart};
use crate::explain::deviation::{OutlierNodes, SiteParts, Variant};
use crate::explain::readings::ReadingId;
use crate::explain::score::is_of_nodes;

/// What it costs in log odds: as much as one node that takes every connection. How clients spread their requests is a
/// setting of theirs that no site states, so it contradicts nothing.
const COST: f64 = 4.0;

/// Nodes that give so much of what the first of them does have their part of the load. A judgement: clients that ask
/// one node may still list objects or look for buckets elsewhere.
const FAIR: f64 = 0.25;

/// What puts it right.
const REMEDY_TEXT: (&str, &str) = (
    "give clients the list of all hosts; check that DNS or the load balancer spreads connections over all of them",
    "requests reach nodes that had none before: what is wrong with these shows then",
);

/// One for each kind of nodes.
pub(super) fn variants(site: &Site, observations: &Observations) -> Vec<Variant> {
    if !could_ask_one(site) || is_spread(observations, |_| true) {
        return Vec::new();
    }
    let kinds: Vec<usize> = (0..site.groups.len()).filter(|&place| site.groups[place].count > 0).collect();
    // Which kind it is of is not known beforehand.
    let cost = COST + (kinds.len() as f64).ln();
    kinds.iter().map(|&place| new_variant(site, place, kinds.len() > 1).costing(cost)).collect()
}

/// Whether clients could, and nodes would not spread what they are asked for over others by themselves.
fn could_ask_one(site: &Site) -> bool {
    let serves_itself = match site.entry {
        Entry::ClientSide | Entry::ClusterMesh => true,
        Entry::Bgp { policy } | Entry::NodePort { policy } => policy == TrafficPolicy::Local,
        Entry::L2Announcement { .. } | Entry::Local => false,
    };
    serves_itself && site.nodes() > 1 && !site.has_clients_on_nodes()
}

/// Whether figures of nodes under one load, of those that count, show that several of them serve.
pub(super) fn is_spread(observations: &Observations, counts: impl Fn(&Observed) -> bool) -> bool {
    let is_of = |reads: bool| {
        let of_nodes = observations.figures.iter().filter(|figure| is_of_nodes(&figure.what, reads));
        let figures = of_nodes.filter(|figure| counts(figure));
        let rates: Vec<f64> = figures.map(|figure| figure.bytes_per_s).collect();
        let most = rates.iter().copied().fold(0.0, f64::max);
        rates.iter().filter(|rate| **rate >= FAIR * most).count() > 1
    };
    !observations.nodes_alone && (is_of(true) || is_of(false))
}

/// A node of a kind becomes a group of its own, so that the others' part of it is told.
fn new_variant(site: &Site, group: usize, is_of_several: bool) -> Variant {
    let value = if is_of_several { format!("one node of {}", site.groups[group].name) } else { "one node".to_owned() };
    let requested = place_apart(site, group, 1);
    let claim = format!("clients ask {value} only, which serves every request");
    let parts = SiteParts::ENTRY.and(SiteParts::NODE);
    let variant = Variant::new("one-node-asked", value, claim, 0.0, parts, move |site| {
        set_apart(site, group, 1);
    });
    let outlier = OutlierNodes {
        nodes: Vec::new(),
        rack: None,
        group: requested,
        hold: None,
        is_seen_there: false,
        is_requested_alone: true,
    };
    let variant = variant.shown_by(ReadingId::NodeSpread).cured_by(REMEDY_TEXT.0, REMEDY_TEXT.1);
    Variant { outlier: Some(outlier), ..variant }
}

#[cfg(test)]
mod tests {
    use linerate_record::explanation::{Explanation, Quantity, Residual};
    use linerate_record::site::ClientsOn;

    use super::*;
    use crate::explain::explain;
    use crate::explain::forecast::{OperationQuery, forecast, limits_alone, world};
    use crate::layout::geometries;
    use crate::test_site::site;

    fn figure(what: Quantity, bytes_per_s: f64, in_flight: Option<u64>) -> Observed {
        Observed { what, bytes_per_s, error_share: None, in_flight }
    }

    fn of_nodes(rates: &[f64], nodes_alone: bool) -> Observations {
        let node_figure =
            |(place, rate): (usize, &f64)| figure(Quantity::NodeGet { node: format!("n{place}") }, *rate, None);
        Observations { figures: rates.iter().enumerate().map(node_figure).collect(), error_share: 0.03, nodes_alone }
    }

    /// GET and PUT of what one node gives alone, at a share of it.
    fn of_one(site: &Site, share: f64) -> [f64; 2] {
        let world = world(site, &geometries(site).unwrap(), &[]).unwrap();
        [true, false].map(|reads| share * limits_alone(&world, 0, reads)[0].limit_bytes_per_s)
    }

    fn explained(site: &Site, [get, put]: [f64; 2], in_flight: Option<u64>, nodes: Vec<Observed>) -> Explanation {
        let totals = vec![figure(Quantity::Get, get, in_flight), figure(Quantity::Put, put, in_flight)];
        let nodes_alone = !nodes.is_empty();
        let figures = totals.into_iter().chain(nodes).collect();
        explain(site, &Observations { figures, error_share: 0.03, nodes_alone }).unwrap()
    }

    #[test]
    fn each_kind_has_one_where_clients_could_ask_one_node_and_no_figures_show_that_they_ask_more() {
        let nothing = of_nodes(&[], false);
        let values = |site: &Site, observed: &Observations| -> Vec<String> {
            variants(site, observed).into_iter().map(|variant| variant.value).collect()
        };
        let mut site = site();
        site.entry = Entry::ClientSide;
        assert_eq!(values(&site, &nothing), ["one node"]);
        for (rates, is_there) in [(&[9.0, 8.0][..], false), (&[9.0, 1.0, 1.0], true), (&[9.0], true)] {
            assert_eq!(values(&site, &of_nodes(rates, false)).is_empty(), !is_there, "{rates:?}");
            assert_eq!(values(&site, &of_nodes(rates, true)), ["one node"], "{rates:?}");
        }
        let mut kinds = site.clone();
        kinds.groups.push(kinds.groups[0].clone());
        kinds.groups[1].name = "large".to_owned();
        assert_eq!(values(&kinds, &nothing), ["one node of storage", "one node of large"]);
        let policy = TrafficPolicy::Cluster;
        for entry in [Entry::L2Announcement { dsr: true, policy }, Entry::NodePort { policy }, Entry::Bgp { policy }] {
            assert_eq!(values(&Site { entry, ..site.clone() }, &nothing), Vec::<String>::new(), "{entry:?}");
        }
        site.clients.on = ClientsOn::Nodes;
        assert_eq!(values(&site, &nothing), Vec::<String>::new());
    }

    #[test]
    fn totals_that_one_node_gives_alone_are_of_clients_that_ask_one_node() {
        let mut site = site();
        (site.entry, site.data.object_bytes) = (Entry::ClientSide, 4 << 20);
        for in_flight in [None, Some(64)] {
            let explanation = explained(&site, of_one(&site, 0.97), in_flight, Vec::new());
            let first = explanation.survivors.first().unwrap();
            assert_eq!(first.id, "one-node-asked(one node)", "{in_flight:?}: {:#?}", explanation.survivors);
            assert!(first.residuals.iter().all(|of| of.explained && of.bottleneck.ends_with(", of one node")));
            assert!(first.deviations[0].contradicts.is_empty() && first.deviations[0].shown_by.contains("per node"));
            // As much as the site gives with as many in flight.
            let requested = in_flight.map_or(OperationQuery::Ceiling, OperationQuery::At);
            let described = forecast(&world(&site, &geometries(&site).unwrap(), &[]).unwrap(), requested, requested);
            for gain in &first.remedy.gains {
                let then = described.ceiling_for(gain.what == Quantity::Get).unwrap();
                let (to, even) = (gain.to_bytes_per_s, then.even_bytes_per_s * then.reach);
                assert!((to / even - 1.0).abs() < 1e-9, "{in_flight:?}: {to} and {even}");
            }
            assert_eq!(first.remedy.gains.len(), 2, "{:?}", first.remedy);
            assert!(first.remedy.change.contains("list of all hosts"), "{:?}", first.remedy);
        }
    }

    #[test]
    fn what_each_node_gives_alone_is_not_changed_by_whom_clients_ask() {
        let mut site = site();
        (site.entry, site.data.object_bytes) = (Entry::ClientSide, 4 << 20);
        let [get, put] = of_one(&site, 0.97);
        let node = |place: usize| figure(Quantity::NodeGet { node: format!("n{place}") }, get, Some(8));
        let explanation = explained(&site, [get, put], Some(8), (0..4).map(node).collect());
        let residuals_by_id = |id: &str| -> Vec<Residual> {
            let found = explanation.survivors.iter().find(|one| one.id == id);
            let all = &found.unwrap_or_else(|| panic!("{id}: {:#?}", explanation.survivors)).residuals;
            all.iter().filter(|of| matches!(of.what, Quantity::NodeGet { .. })).cloned().collect()
        };
        let world = world(&site, &geometries(&site).unwrap(), &[]).unwrap();
        let described = forecast(&world, OperationQuery::At(8), OperationQuery::No);
        let reach = described.ceiling_for(true).unwrap().reach;
        let requested = residuals_by_id("one-node-asked(one node)");
        assert_eq!(requested.len(), 4);
        for residual in requested {
            let predicted = reach * get / 0.97;
            assert!((residual.predicted_bytes_per_s / predicted - 1.0).abs() < 1e-9, "{predicted}: {residual:?}");
        }
    }
}
