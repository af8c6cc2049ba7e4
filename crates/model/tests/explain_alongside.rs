//! What one slow node, or the uplinks of one rack, leaves the others: these have the more for their own clients, the
//! less it asks of them and sends them. Figures are worked out by hand from links and shares alone.

use linerate_model::explain::{Single, explain, singles};
use linerate_record::explanation::{Explanation, Observations, Observed, Quantity};
use linerate_record::site::Site;

const GIB: f64 = 1_073_741_824.0;

/// Nodes with one bond of two ports, and drives and processors in plenty.
fn site(nodes: &str, ports: &str, mtu: u32, rest: &str) -> Site {
    let text = format!(
        "nodes:\n  {nodes}\n  cores: 64\n  \
         drives: {{count: 12, capacity: 7.68TB, read: 3GB/s, write: 1.5GB/s}}\n  \
         nics: {{ports: 2, speed: {ports}}}\n  bonds: {{mode: 802.3ad, transmit_hash: layer3+4}}\n\
         planes:\n  public: {{mtu: {mtu}}}\n{rest}\n"
    );
    linerate_site::read(&text, "tests").expect("a site")
}

/// Four nodes of MinIO that cut objects into two shards of data and two of parity.
fn four() -> Site {
    site("count: 4", "25Gb/s", 9000, "engine: {product: minio, protection: 2+2}\ndata: {object_size: 64MiB}")
}

/// Three racks of four nodes, eight shards of data and four of parity.
fn racks() -> Site {
    let rest = "fabric: {rack_uplinks: 300Gb/s}\nengine: {product: minio, protection: EC:4}\n\
                data: {object_size: 64MiB}";
    site("count: 12\n  racks: 3", "25Gb/s", 9000, rest)
}

/// Six nodes of Garage, each of which has half of the objects.
fn garage() -> Site {
    site("count: 6", "10Gb/s", 1500, "engine: garage\ndata: {object_size: 16MiB}")
}

fn observed(figures: impl IntoIterator<Item = (Quantity, f64)>) -> Observations {
    let figure =
        |(what, gib): (Quantity, f64)| Observed { what, bytes_per_s: gib * GIB, error_share: None, in_flight: None };
    Observations { figures: figures.into_iter().map(figure).collect(), error_share: 0.02, nodes_alone: false }
}

/// Figures of all nodes, and the total that they make if `is_whole`.
fn of_nodes(rates: &[f64], reads: bool, is_whole: bool) -> Observations {
    let observed_node = |(place, rate): (usize, &f64)| {
        let node = format!("storage{:02}", place + 1);
        (if reads { Quantity::NodeGet { node } } else { Quantity::NodePut { node } }, *rate)
    };
    let total = is_whole.then(|| (if reads { Quantity::Get } else { Quantity::Put }, rates.iter().sum()));
    observed(total.into_iter().chain(rates.iter().enumerate().map(observed_node)))
}

fn leaders(explanation: &Explanation) -> String {
    let weight_lines = explanation.survivors.iter().take(6).map(|one| format!("{} {:.3}\n", one.id, one.weight));
    format!("{}none of these {:.3}", weight_lines.collect::<String>(), explanation.none_of_these)
}

/// The deviation of that name whose value says so, and names no node.
fn single(site: &Site, id: &str, holds: &str) -> Single {
    let none = Observations { figures: Vec::new(), error_share: 0.02, nodes_alone: false };
    let all = singles(site, &none).expect("the site runs");
    let is_it = |one: &Single| {
        one.deviation.as_ref().is_some_and(|of| of.id == id && of.value.contains(holds)) && one.nodes.is_empty()
    };
    all.into_iter().find(is_it).expect("it is looked at")
}

fn is_near(found: f64, expected: f64) -> bool {
    (found / GIB / expected - 1.0).abs() < 0.004
}

/// Of a byte of PUT three quarters of two bytes leave the node, and half a byte goes to each other: what storage4 sends
/// at a quarter of 5.763 GiB/s is 0.960 of its clients, and the others take in their own and half of all others':
/// x + (2 x + 0.960) / 2 = 5.763.
#[test]
fn a_node_that_sends_less_leaves_the_others_more_of_what_they_take_in() {
    let found = single(&four(), "slow-node-link", "sends at 25 %").put.own_bytes_per_s;
    assert!(is_near(found, 3.0 * 2.641 + 0.960), "{}", found / GIB);
    let rates = [2.641, 2.641, 2.641, 0.960].map(|rate| 0.97 * rate);
    for is_whole in [true, false] {
        let explanation = explain(&four(), &of_nodes(&rates, false, is_whole)).expect("the site runs");
        let first = &explanation.survivors[0];
        let reported = leaders(&explanation);
        assert!(first.id.contains("storage04") && first.weight > 0.25, "{is_whole}: {reported}");
        assert!(explanation.none_of_these < 0.1, "{is_whole}: {reported}");
        assert!(first.residuals.iter().all(|of| of.explained), "{is_whole}: {first:#?}");
    }
}

/// Of a byte of GET three quarters come from the others, a quarter from each: a node that receives a quarter of 5.763
/// gives 1.921, and the others send their own and a quarter of all others': x + (2 x + 1.921) / 4 = 5.763.
#[test]
fn a_node_that_receives_less_leaves_the_others_more_of_what_they_send() {
    let found = single(&four(), "slow-node-link", "receives at 25 %").get.own_bytes_per_s;
    assert!(is_near(found, 3.0 * 3.522 + 1.921), "{}", found / GIB);
    let rates = [3.5217, 3.5217, 3.5217, 1.9209];
    let explanation = explain(&four(), &of_nodes(&rates, true, true)).expect("the site runs");
    let (first, reported) = (&explanation.survivors[0], leaders(&explanation));
    assert!(first.id.contains("storage04") && explanation.none_of_these < 0.1, "{reported}");
    assert!(first.residuals.iter().all(|of| of.explained), "{first:#?}");
}

/// Over the uplinks of a rack goes all of what its clients get, and a third of what those of the other racks do: 13.83
/// at 40 %, 4 y + 8 x / 3. The others' ports send x + (7 x + 4 y) / 12 = 5.763.
#[test]
fn uplinks_that_are_slow_leave_other_racks_what_their_own_clients_do_not_ask_for() {
    let found = single(&racks(), "slow-rack-uplinks", "carry 40 %").get.own_bytes_per_s;
    assert!(is_near(found, 8.0 * 3.368 + 4.0 * 1.213), "{}", found / GIB);
    let rates: Vec<f64> = (0..12).map(|node| if (4..8).contains(&node) { 1.2126 } else { 3.3677 }).collect();
    for is_whole in [true, false] {
        let explanation = explain(&racks(), &of_nodes(&rates, true, is_whole)).expect("the site runs");
        let reported = leaders(&explanation);
        let uplinks = explanation.survivors.iter().find(|one| one.id.starts_with("slow-rack-uplinks(rack 2"));
        let uplinks = uplinks.unwrap_or_else(|| panic!("{reported}"));
        assert!(uplinks.weight > 0.1 && uplinks.residuals.iter().all(|of| of.explained), "{uplinks:#?}");
        assert!(explanation.none_of_these < 0.2, "{reported}");
    }
}

/// Where no figure names a node, as many requests at each leave as much. Of a byte of Garage a node has half from
/// others, a tenth from each: one that sends half of 2.192 GiB/s has y + 5 x / 10 = 1.096, and the others
/// x + (4 x + y) / 10 = 2.192. Uplinks at half: 4 y + 8 x / 3 = 17.29 and x + (7 x + 4 y) / 12 = 5.763.
#[test]
fn totals_of_as_many_requests_at_each_node_are_as_high_as_what_is_left_of_the_others() {
    let found = single(&garage(), "slow-node-link", "sends at 50 %").get.own_bytes_per_s;
    assert!(is_near(found, 5.0 * 1.5425 + 0.3248), "{}", found / GIB);
    let found = single(&racks(), "slow-rack-uplinks", "carry 50 %").get.own_bytes_per_s;
    assert!(is_near(found, 8.0 * 3.1756 + 4.0 * 2.2054), "{}", found / GIB);
}
