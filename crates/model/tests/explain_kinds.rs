//! Sites of two kinds of nodes: each node is held against what nodes of its kind carry of the load that was there.

use linerate_model::explain::explain;
use linerate_record::explanation::{Explanation, Observations, Observed, Quantity};
use linerate_record::site::{Product, Protection, Site};

use crate::explained_sites::{nic, observed, plane, site};

/// Payload of a port of 10 Gb/s with packets of 1500 bytes and timestamps.
const PORT: f64 = 10e9 / 8.0 * 1448.0 / 1538.0;

/// Ceph's gateways on four nodes of 25 Gb/s and four of 10 Gb/s, on one link each.
fn kinds() -> Site {
    let mut site = site("two kinds", 4, 25e9, 1500);
    let group = &mut site.groups[0];
    (group.name, group.cores, group.memory_bytes_per_s) = ("big".to_owned(), 256, 4e12);
    group.nics = vec![nic("eth0", 1, 25e9)];
    group.bonds.clear();
    let mut small = group.clone();
    small.name = "small".to_owned();
    small.nics = vec![nic("eth0", 1, 10e9)];
    site.groups.push(small);
    site.planes.public = plane("eth0", 1500);
    site.planes.private = None;
    (site.engine.product, site.engine.tls) = (Product::CephRgw, false);
    site.engine.protection = Protection::Replicas { copies: 3 };
    site
}

fn names() -> impl Iterator<Item = String> {
    ["big", "small"].into_iter().flat_map(|kind| (1..=4).map(move |n| format!("{kind}{n}")))
}

/// GET of each node, in the order of [`names`].
fn of_nodes(rates: impl IntoIterator<Item = f64>) -> Observations {
    let observed_node = |(node, bytes_per_s)| Observed {
        what: Quantity::NodeGet { node },
        bytes_per_s,
        error_share: None,
        in_flight: None,
    };
    Observations { figures: names().zip(rates).map(observed_node).collect(), ..observed(None, None, 0.02) }
}

fn rates(big: f64, small: f64) -> Vec<f64> {
    [big, big, big, big, small, small, small, small].map(|of| of * PORT).to_vec()
}

fn explained(observations: &Observations) -> Explanation {
    explain(&kinds(), observations).expect("the site runs")
}

/// Of a byte of its own clients a node sends all, of one of any other node's an eighth: the small ones are full where
/// each gives 0.4 of its port and each big one twice as much: 0.4 + (4 · 0.8 + 3 · 0.4) / 8 = 0.95.
#[test]
fn nodes_of_each_kind_are_held_against_what_their_kind_carries() {
    let healthy = explained(&of_nodes(rates(0.8, 0.4)));
    let first = &healthy.survivors[0];
    assert_eq!(first.id, "as-described", "{:#?}", healthy.survivors.iter().map(|one| &one.id).collect::<Vec<_>>());
    assert!(first.residuals.iter().all(|of| of.explained), "{first:#?}");
    let total = &healthy.described[0];
    assert!((total.share - 0.95).abs() < 0.005 && total.above_sigmas.is_none(), "{total:#?}");
    assert!(total.needs.contains("out of each node of small"), "{}", total.needs);
    assert!(total.claim.contains("spread over nodes as their figures show"), "{}", total.claim);
    // More than the small ones carry of that is refuted.
    let above = explained(&of_nodes(rates(0.94, 0.47)));
    assert!(above.survivors.iter().all(|one| one.id != "as-described"), "{:#?}", above.described);
    assert!(above.described[0].above_sigmas.is_some(), "{:#?}", above.described);
}

/// A total of which no figure says how it is spread may be of a load with as many requests at each node.
#[test]
fn a_total_is_of_either_load_where_nodes_of_a_kind_give_more() {
    let even = 8.0 * PORT / (1.0 + 7.0 / 8.0);
    let at = |total: f64| explained(&observed(Some(total), None, 0.02));
    for (share, spread) in [(0.95, ""), (1.2, "as many requests at each node")] {
        let found = at(share * even);
        assert_eq!(found.survivors[0].id, "as-described", "{share}: {:#?}", found.described);
        assert!(found.described[0].above_sigmas.is_none(), "{share}: {:#?}", found.described);
        assert!(found.described[0].claim.contains(spread), "{share}: {:#?}", found.described);
    }
    // At the small ones, requests of their own clients stand for a byte and three eighths, others' for four eighths:
    // they give 4/11 of what big ones do, and are full where that is a port.
    let many = 4.0 * (1.0 + 4.0 / 11.0) * PORT;
    let residual = &at(even).survivors[0].residuals[0];
    let instead = residual.instead_bytes_per_s.expect("both loads are told");
    assert!((instead / many - 1.0).abs() < 1e-3, "{instead} {many}");
    assert!(at(1.2 * many).survivors.iter().all(|one| one.id != "as-described"));
}

#[test]
fn a_slow_node_is_held_against_those_of_its_kind() {
    // As many requests at each: small2, at half of its port, holds all others, and serves an eighth of what they get.
    let at = 0.97 * 0.5 / (1.0 / 8.0 + 7.0 / 8.0);
    let mut slow = rates(at, at);
    slow[5] = at / 8.0 * PORT;
    let found = explained(&of_nodes(slow));
    let first = &found.survivors[0];
    assert!(first.id.starts_with("slow-node-link(small2: "), "{first:#?}");
    // A big one at the speed of the small ones gives what they do: 5/12 of what the other big ones give, and five nodes
    // are full where that is 5/12 of a port.
    let mut slow = rates(0.97, 0.97 * 5.0 / 12.0);
    slow[1] = slow[5];
    let found = explained(&of_nodes(slow));
    let first = &found.survivors[0];
    assert_eq!(first.id, "slow-node-link(big2: ports of eth0 run at 10.0 Gb/s)", "{first:#?}");
    assert!(first.residuals.iter().all(|of| of.explained), "{first:#?}");
}

/// What is measured by itself is held by itself, whatever is wrong elsewhere.
#[test]
fn a_node_by_itself_has_its_own_ceiling_and_bottleneck() {
    let mut alone = rates(0.97 * 2.5, 0.97);
    alone[5] *= 0.5;
    let found = explained(&Observations { nodes_alone: true, ..of_nodes(alone) });
    let first = &found.survivors[0];
    assert!(first.id.starts_with("slow-node-link(small2: "), "{first:#?}");
    for residual in &first.residuals {
        let Quantity::NodeGet { node } = &residual.what else { panic!("{residual:?}") };
        assert!(residual.explained && residual.least_bytes_per_s.is_none(), "{residual:#?}");
        let of_port = if node == "small2" {
            0.5
        } else if node.starts_with("small") {
            1.0
        } else {
            2.5
        };
        assert!((residual.predicted_bytes_per_s / (of_port * PORT) - 1.0).abs() < 0.05, "{residual:#?}");
        assert_eq!(residual.bottleneck.contains("small2"), node == "small2", "{residual:#?}");
    }
    // Nobody measured what all give together.
    let gain = &first.remedy.gains[0];
    assert!(gain.is_predicted && gain.from_least_bytes_per_s.is_some(), "{gain:#?}");
    assert!(first.remedy.gives.contains("instead of the predicted "), "{}", first.remedy.gives);
}

/// Where some nodes of each kind have figures and no total tells, the small ones give less than an even share of what
/// they carry, since the big ones ask more of them.
#[test]
fn a_small_node_that_gives_less_than_an_even_share_is_explained() {
    let some = [0, 1, 4, 5].map(|place| (place, rates(0.77, 0.385)[place]));
    let mut observations = of_nodes(rates(0.77, 0.385));
    observations.figures = some.iter().map(|(place, _)| observations.figures[*place].clone()).collect();
    let found = explained(&observations);
    assert_eq!(found.survivors[0].id, "as-described", "{:#?}", found.survivors[0]);
    assert!(found.survivors[0].residuals.iter().all(|of| of.explained), "{:#?}", found.survivors[0]);
}

/// Of two nodes of a kind the middle is neither: the slow one is held against the other, which is not above anything.
#[test]
fn of_two_nodes_of_a_kind_the_slow_one_is_held_against_the_other() {
    let at = 0.97 * 0.5 / (1.0 / 8.0 + 7.0 / 8.0);
    let mut slow = rates(at, at);
    slow[5] = at / 8.0 * PORT;
    let mut observations = of_nodes(slow);
    observations.figures = [0, 1, 2, 4, 5].map(|place| observations.figures[place].clone()).to_vec();
    let found = explained(&observations);
    let first = &found.survivors[0];
    assert_eq!(first.id, "slow-node-link(small2: ports of eth0 run at 5.00 Gb/s)", "{first:#?}");
    assert!(first.residuals.iter().all(|of| of.explained), "{first:#?}");
    assert!(found.of_nodes[0].starts_with("small2 gives 12 % of the other node of its kind"), "{:?}", found.of_nodes);
    assert_eq!(found.of_nodes.len(), 1, "{:?}", found.of_nodes);
}

/// A node that is asked alone writes copies to all others, the slowest of which may be what holds it.
#[test]
fn a_node_by_itself_is_held_by_what_others_take_of_its_writes() {
    let mut site = kinds();
    site.groups[1].nics = vec![nic("eth0", 1, 1e9)];
    // Of a byte three eighths go to each other node; of its own clients' a small one takes all, and two eighths again.
    let (big, small) = (0.97 * 0.1 * PORT / (3.0 / 8.0), 0.97 * 0.1 * PORT / 1.25);
    let observed_node = |(place, node): (usize, String)| Observed {
        what: Quantity::NodePut { node },
        bytes_per_s: if place < 4 { big } else { small },
        error_share: None,
        in_flight: None,
    };
    let figures = names().enumerate().map(observed_node).collect();
    let observations = Observations { figures, nodes_alone: true, ..observed(None, None, 0.02) };
    let found = explain(&site, &observations).expect("the site runs");
    let first = &found.survivors[0];
    assert_eq!(first.id, "as-described", "{first:#?}");
    assert!(first.residuals.iter().all(|of| of.explained && of.bottleneck.ends_with("of small")), "{first:#?}");
}

/// A node that is slow by itself is found, though a load over all nodes does not fill it.
#[test]
fn a_node_that_is_slow_by_itself_is_found_though_no_load_over_all_fills_it() {
    let mut site = kinds();
    site.groups[0].nics = vec![nic("eth0", 1, 100e9)];
    // Of a byte that a big one reads for its clients, each small one sends an eighth: 8 ports.
    let mut alone = rates(0.97 * 8.0, 0.97);
    alone[1] *= 0.5;
    let found = explain(&site, &Observations { nodes_alone: true, ..of_nodes(alone) }).expect("the site runs");
    let first = &found.survivors[0];
    assert!(first.id.starts_with("slow-node-link(big2: "), "{first:#?}");
    assert!(first.residuals.iter().all(|of| of.explained), "{first:#?}");
}

/// What is mended is of the load that was there: with as many requests at each node, more than of an even one.
#[test]
fn a_remedy_gives_what_the_load_that_was_there_gives() {
    // Half of the small ones' links: as the site, of which all big ones are five times as fast.
    let found = explained(&observed(Some(0.96 * 8.0 * 0.5 * PORT * 0.65), None, 0.02));
    let even = 8.0 * PORT / (1.0 + 7.0 / 8.0);
    let as_many = 4.0 * (0.8 + 0.4) * PORT / 0.95;
    for one in &found.survivors {
        let instead = one.residuals[0].instead_bytes_per_s.unwrap_or(0.0);
        let is_as_many = (instead / one.residuals[0].observed_bytes_per_s).ln().abs()
            < (one.residuals[0].predicted_bytes_per_s / one.residuals[0].observed_bytes_per_s).ln().abs();
        for gain in &one.remedy.gains {
            let expected = if is_as_many && instead > 0.0 { as_many } else { even };
            assert!((gain.to_bytes_per_s / expected - 1.0).abs() < 0.02, "{} {is_as_many}: {gain:#?}", one.id);
        }
    }
    assert!(found.survivors.iter().any(|one| !one.remedy.gains.is_empty()), "{:#?}", found.survivors);
}

/// What is assumed of every kind is told once, and what is assumed of one under its name.
#[test]
fn values_that_are_assumed_of_all_kinds_are_told_once() {
    let mut site = kinds();
    let assumed = ["nodes.big.memory", "nodes.small.memory", "nodes.small.racks", "fabric.path_hash"];
    site.assumed = assumed.map(|path| (path.to_owned(), String::new())).into_iter().collect();
    let found = explain(&site, &of_nodes(rates(0.8, 0.4))).expect("the site runs");
    let reported = found.caveats.iter().find_map(|reported| reported.strip_prefix("assumed, and not varied: "));
    assert_eq!(reported, Some("fabric.path_hash, nodes.*.memory, nodes.small.racks"));
}
