//! Clusters with a slow node, moved piece by piece by a simulation that knows nothing of the model: what `explain`
//! makes of the total and the figures of nodes of one load, whichever way clients spread it.

use linerate_model::explain::{explain, singles};
use linerate_record::explanation::{Explanation, Observations, Observed, Quantity};
use linerate_record::site::{Protection, Site};
use linerate_worlds::{ClientPlacement, Cluster, Operation, SlowNode, objects_of_nodes};

use crate::explained_sites::{nic, plane};
use crate::one_port::one_port;

const NODES: usize = 8;
/// Of an object, two of which are parity.
const SHARDS: usize = 8;
const SLOW: usize = 2;
/// What a link of the simulation does not reach of what the model has it carry: framing is the model's alone.
const ERROR: f64 = 0.02;

fn eight() -> Site {
    let mut site = one_port(NODES as u32);
    site.engine.protection = Protection::Sets { set_drives: Some(SHARDS as u32), parity: Some(2) };
    site
}

/// A total and the figures of nodes, as shares of the ceiling without a slow node.
struct Shares {
    total: f64,
    nodes: Vec<f64>,
}

fn simulated(clients: ClientPlacement, slow: Option<f64>, requested: Operation, in_flight: usize) -> Shares {
    let cluster = Cluster { nodes: NODES, shards: SHARDS, data: SHARDS - 2, pieces: 8, rounds: 0, clients };
    let slow = slow.map(|share| SlowNode { node: SLOW, share });
    let rates = objects_of_nodes(cluster, slow, requested, in_flight, 40_000, 7);
    let others = 1.0 - 1.0 / NODES as f64;
    let moved = if requested == Operation::Get { 1.0 } else { SHARDS as f64 / (SHARDS - 2) as f64 };
    let each = 1.0 / (1.0 + others * moved);
    let nodes: Vec<f64> = rates.iter().map(|rate| rate / each).collect();
    Shares { total: nodes.iter().sum::<f64>() / NODES as f64, nodes }
}

fn explained(site: &Site, reads: bool, shares: &Shares, in_flight: Option<u64>) -> Explanation {
    let none = Observations { figures: Vec::new(), error_share: ERROR, nodes_alone: false };
    let described = &singles(site, &none).expect("the site runs")[0];
    let ceiling = if reads { described.get } else { described.put }.even_bytes_per_s;
    let observed = |what: Quantity, bytes_per_s: f64| Observed { what, bytes_per_s, error_share: None, in_flight };
    let of_node = |(place, share): (usize, &f64)| {
        let node = format!("node{}", place + 1);
        let what = if reads { Quantity::NodeGet { node } } else { Quantity::NodePut { node } };
        observed(what, share * ceiling / NODES as f64)
    };
    let total = observed(if reads { Quantity::Get } else { Quantity::Put }, shares.total * ceiling);
    let figures = std::iter::once(total).chain(shares.nodes.iter().enumerate().map(of_node)).collect();
    explain(site, &Observations { figures, error_share: ERROR, nodes_alone: false }).expect("the site runs")
}

fn leaders(explanation: &Explanation) -> String {
    let weight_lines = explanation.survivors.iter().take(6).map(|one| format!("{} {:.3}\n", one.id, one.weight));
    format!("{}none of these {:.3}", weight_lines.collect::<String>(), explanation.none_of_these)
}

/// Reads show a slow node where as many are kept at each. Writes do not, for all nodes send their shards there, nor
/// does a load over any node, which waits for the slowest.
const SHOWN: [(Operation, ClientPlacement, bool); 4] = [
    (Operation::Get, ClientPlacement::Elsewhere, false),
    (Operation::Get, ClientPlacement::ElsewhereAtEach, true),
    (Operation::Put, ClientPlacement::Elsewhere, false),
    (Operation::Put, ClientPlacement::ElsewhereAtEach, false),
];

#[test]
fn a_slow_node_is_named_where_its_figure_shows_it_and_no_other_node_ever() {
    let site = eight();
    for (requested, clients, is_shown) in SHOWN {
        for slow in [0.25, 0.5] {
            let shares = simulated(clients, Some(slow), requested, 512);
            let explanation = explained(&site, requested == Operation::Get, &shares, None);
            let ratio = shares.nodes[SLOW] / shares.nodes[0];
            let leaders = leaders(&explanation);
            let reported =
                format!("{requested:?} {clients:?} {slow}: {:.3}, ratio {ratio:.3}\n{leaders}", shares.total);
            assert_eq!(ratio < 0.9, is_shown, "{reported}");
            let first = &explanation.survivors[0];
            if is_shown {
                assert!(first.id.starts_with("slow-node-link(node3: ") && first.weight > 0.8, "{reported}");
                assert!(first.residuals.iter().all(|of| of.explained), "{reported}");
            }
            let is_link =
                |id: &str| id.starts_with("slow-node-link(one node: ") || id.starts_with("slow-node-link(node3: ");
            assert!(explanation.survivors.iter().any(|one| is_link(&one.id)), "{reported}");
            let of_another = explanation.survivors.iter().filter(|one| one.id.contains("node") && !is_link(&one.id));
            let of_another = of_another.filter(|one| !one.id.contains("one node") && !one.id.contains("node3"));
            assert!(of_another.map(|one| one.weight).sum::<f64>() < 0.1, "{reported}");
        }
    }
}

/// Without figures of nodes nobody knows which load gave a total: one in turn, which the slow node holds to its pace,
/// or one beside which the others run on.
#[test]
fn a_total_alone_does_not_refute_a_slow_node_whichever_way_clients_spread_their_requests() {
    let site = eight();
    let ways = [ClientPlacement::Elsewhere, ClientPlacement::ElsewhereAtEach, ClientPlacement::ElsewhereInTurn];
    for requested in [Operation::Get, Operation::Put] {
        for (clients, slow) in ways.into_iter().flat_map(|clients| [0.25, 0.5].map(|slow| (clients, slow))) {
            let shares = Shares { nodes: Vec::new(), ..simulated(clients, Some(slow), requested, 512) };
            let explanation = explained(&site, requested == Operation::Get, &shares, None);
            let leaders = leaders(&explanation);
            let reported = format!("{requested:?} {clients:?} {slow}: {:.3}\n{leaders}", shares.total);
            let of_link = explanation.survivors.iter().find(|one| one.id.starts_with("slow-node-link(one node: "));
            let of_link = of_link.unwrap_or_else(|| panic!("{reported}"));
            // With as many at each, a port that has shards too gives something between what the two loads give.
            let off = if clients == ClientPlacement::ElsewhereAtEach { 0.15 } else { 0.0 };
            let of_total = &of_link.residuals[0];
            assert!(of_total.explained || of_total.residual_share.abs() < off, "{of_total:#?}\n{reported}");
        }
    }
}

/// The slow node may be one of those that have no figure: then nothing says which load it was.
#[test]
fn a_slow_node_may_be_among_those_without_figures() {
    // Of as many requests at each, each of seven nodes gives half of a port beside one that has half of one, of which
    // their objects take seven sixteenths; without it, each gives eight fifteenths.
    let each = 0.97 * 0.5 * 15.0 / 8.0;
    let shares = Shares { total: each * (7.0 + 1.0 / 8.0) / 8.0, nodes: vec![each; 3] };
    let explanation = explained(&eight(), true, &shares, None);
    let reported = leaders(&explanation);
    let found = explanation.survivors.iter().find(|one| one.id.starts_with("slow-node-link(one node: "));
    let found = found.unwrap_or_else(|| panic!("{reported}"));
    assert!(found.residuals.iter().all(|of| of.explained), "{:#?}\n{reported}", found.residuals);
}

/// So many fill a site of eight nodes: what they reach of a ceiling is all of it.
const FILLING: u64 = 100_000;

/// Between the two loads there is none that gives anything, if they fill the site.
#[test]
fn a_total_between_what_either_load_gives_is_no_slow_node() {
    let mut site = eight();
    site.groups[0].nics.push(nic("eth1", 1, 50e9));
    site.planes.private = Some(plane("eth1", 9000));
    // A public port at 10 Gb/s: a fifth of the ceiling in turn, nine tenths with as many at each node.
    for (total, is_there) in [(0.195, true), (0.5, false), (0.892, true)] {
        let explanation = explained(&site, true, &Shares { total, nodes: Vec::new() }, Some(FILLING));
        let is_port = |id: &str| id.starts_with("slow-node-link(one node: ports of eth0 run at ");
        let ports = explanation.survivors.iter().filter(|one| one.deviations.len() == 1 && is_port(&one.id));
        let explains = ports.filter(|one| one.residuals[0].explained).map(|one| one.id.as_str()).collect::<Vec<_>>();
        let slow = explains.iter().any(|id| id.ends_with(" 10.0 Gb/s)"));
        assert_eq!(slow, is_there, "{total}: {explains:?}\n{}", leaders(&explanation));
    }
}

#[test]
fn nodes_that_are_alike_are_none_of_them_accused() {
    let site = eight();
    for (requested, clients, _) in SHOWN {
        let explanation =
            explained(&site, requested == Operation::Get, &simulated(clients, None, requested, 512), None);
        assert_eq!(explanation.survivors[0].id, "as-described", "{requested:?} {clients:?}\n{}", leaders(&explanation));
    }
}

/// Clients that ask nodes in turn meet less often than the curve has it, whose nodes are drawn at random: what they
/// give beyond the curve is no cause of its own.
#[test]
fn a_load_in_turn_that_gives_more_than_the_curve_is_as_described() {
    let site = eight();
    for (reads, requested) in [(true, Operation::Get), (false, Operation::Put)] {
        for in_flight in [16, 32, 64] {
            let [any, turn] = [ClientPlacement::Elsewhere, ClientPlacement::ElsewhereInTurn]
                .map(|clients| simulated(clients, None, requested, in_flight));
            let explanation = explained(&site, reads, &turn, Some(in_flight as u64));
            let leaders = leaders(&explanation);
            let reported =
                format!("{requested:?} at {in_flight}: {:.3}, in turn {:.3}\n{leaders}", any.total, turn.total);
            assert!(turn.total > any.total, "{reported}");
            let first = &explanation.survivors[0];
            assert!(first.id == "as-described" && first.weight > 0.5, "{reported}");
            // How long a write takes alone is of a real engine, and this one has no commit.
            assert!(first.residuals[0].explained || !reads, "{reported}");
        }
    }
}
