//! Sites of which a part is slow by some share: what `explain` makes of their figures.

use linerate_model::explain::{Single, explain, singles};
use linerate_record::explanation::{Explanation, Hypothesis, Observations, Observed, Quantity};
use linerate_record::site::Site;

use crate::explained_sites;
use crate::explained_sites::{drives, observed};
use crate::one_port::one_port;

const GIB: f64 = 1_073_741_824.0;

fn eight() -> Site {
    one_port(8)
}

/// GET of each node, of one load over all.
fn of_nodes(rates: &[f64]) -> Observations {
    let observed_node = |(i, rate): (usize, &f64)| Observed {
        what: Quantity::NodeGet { node: format!("node{}", i + 1) },
        bytes_per_s: rate * GIB,
        error_share: None,
        in_flight: None,
    };
    Observations { figures: rates.iter().enumerate().map(observed_node).collect(), ..observed(None, None, 0.02) }
}

fn leaders(explanation: &Explanation) -> String {
    let weight_lines = explanation.survivors.iter().take(6).map(|one| format!("{} {:.3}\n", one.id, one.weight));
    format!("{}none of these {:.3}", weight_lines.collect::<String>(), explanation.none_of_these)
}

/// One node at so much of what the others give.
fn one_slow(share: f64) -> Vec<f64> {
    (1..=8).map(|node| if node == 3 { 2.8 * share } else { 2.8 }).collect()
}

#[test]
fn what_is_said_to_be_wrong_with_a_node_leaves_as_much_as_it_gives() {
    for share in [0.9, 0.82, 0.64, 0.5] {
        let explanation = explain(&eight(), &of_nodes(&one_slow(share))).expect("the site runs");
        let first = &explanation.survivors[0];
        let reported = leaders(&explanation);
        assert!(first.deviations.len() == 1 && first.id.contains("node3"), "{share}:\n{reported}");
        for hypothesis in &explanation.survivors {
            let what = Quantity::NodeGet { node: "node3".to_owned() };
            let own = hypothesis.residuals.iter().find(|of| of.what == what).expect("it was observed");
            assert!(own.residual_share < 0.1, "{share}: {} has {own:?}\n{reported}", hypothesis.id);
        }
        // What it would give is told beside what was measured, and not beside what the slowest would hold all to.
        let measured = format!("instead of {:.1} GiB/s", 2.8 * (7.0 + share));
        assert!(first.remedy.gives.contains(&measured), "{share}: {}", first.remedy.gives);
    }
}

/// Which of two bonds of a node is at fault is not known where either explains all figures: neither has the weight of
/// both.
#[test]
fn two_links_of_a_node_are_two_rows_with_their_own_weights() {
    let site = explained_sites::site("two bonds", 8, 25e9, 9000);
    for share in [0.8, 0.5] {
        // Each by itself, so that no total tells of the bond that shards of others pass too.
        let rates: Vec<f64> = one_slow(share).iter().map(|rate| 2.0 * rate).collect();
        let alone = Observations { nodes_alone: true, ..of_nodes(&rates) };
        let explanation = explain(&site, &alone).expect("the site runs");
        let of_link = |link: &str| {
            let begins = |one: &&Hypothesis| one.id.starts_with("slow-node-link(node3: ") && one.id.contains(link);
            explanation.survivors.iter().find(begins).filter(|one| one.residuals.iter().all(|of| of.explained))
        };
        let reported = leaders(&explanation);
        let [public, private] = ["bond0", "bond1"].map(|link| of_link(link).map_or(0.0, |one| one.weight));
        assert!(public > 0.02 && private > 0.02 && public.max(private) < 0.9, "{share}:\n{reported}");
    }
}

#[test]
fn two_nodes_that_are_slow_alike_are_found_together_and_no_false_cause_is_ahead() {
    for share in [0.5, 0.75] {
        let mut rates = one_slow(share);
        rates[5] = rates[2];
        let sum = rates.iter().sum::<f64>() * GIB;
        let total = Observed { what: Quantity::Get, bytes_per_s: sum, error_share: None, in_flight: None };
        let (alone, mut with_total) = (of_nodes(&rates), of_nodes(&rates));
        with_total.figures.push(total);
        for observations in [alone, with_total] {
            let explanation = explain(&eight(), &observations).expect("the site runs");
            let (first, reported) = (&explanation.survivors[0], leaders(&explanation));
            let both = |value: &str| value.starts_with("node3 and node6: ");
            assert!(first.deviations.len() == 1 && both(&first.deviations[0].value), "{share}:\n{reported}");
            let of_both: f64 = explanation
                .survivors
                .iter()
                .filter(|one| one.deviations.iter().any(|of| both(&of.value)))
                .map(|one| one.weight)
                .sum();
            assert!(of_both > 0.9, "{share}:\n{reported}");
            // Whose figures they are is explained, and nobody else's is not.
            assert!(first.residuals.iter().all(|residual| residual.explained), "{share}: {:?}", first.residuals);
            let caveat = "2 nodes are slow at once (node3 and node6): ";
            assert!(
                explanation.caveats.iter().any(|reported| reported.starts_with(caveat)),
                "{:?}",
                explanation.caveats
            );
        }
    }
}

#[test]
fn of_three_slow_nodes_none_is_the_cause_alone_and_all_are_told() {
    let mut rates = one_slow(0.5);
    (rates[5], rates[0]) = (1.4, 1.4);
    let explanation = explain(&eight(), &of_nodes(&rates)).expect("the site runs");
    assert!(explanation.none_of_these > 0.5, "{}", leaders(&explanation));
    let caveat = "3 nodes are slow at once (node1, node3 and node6): ";
    assert!(explanation.caveats.iter().any(|reported| reported.starts_with(caveat)), "{:?}", explanation.caveats);
    // To mend one of them gives nothing as long as the others hold all.
    let of_node3 = explanation.survivors.iter().find(|one| one.id.contains("node3") && !one.id.contains("node6"));
    let gives = &of_node3.expect("it is among them").remedy.gives;
    assert!(gives.contains("; only once node") && gives.ends_with(" as fast as the others"), "{gives}");
}

#[test]
fn processors_of_few_cores_can_be_slow_by_a_share() {
    for cores in [1, 2] {
        let mut site = eight();
        site.groups[0].cores = cores;
        let single = singles(&site, &observed(None, None, 0.02)).expect("the site runs");
        let at = |value: &str| {
            let is = |of: &&Single| of.deviation.as_ref().is_some_and(|of| of.id == "cpu" && of.value == value);
            single.iter().find(is).expect("it is enumerated").get.even_bytes_per_s
        };
        let (share, of_described) = (at("40 %") / at("45 %"), at("40 %") / single[0].get.even_bytes_per_s);
        assert!((share - 40.0 / 45.0).abs() < 1e-9 && of_described < 0.99, "{cores} cores: {share} {of_described}");
    }
}

#[test]
fn drives_that_are_slow_both_ways_everywhere_are_not_read_as_one_bad_drive() {
    let mut site = eight();
    site.groups[0].drives = vec![drives(4, 0.25e9, 0.25e9)];
    let ceilings = &singles(&site, &observed(None, None, 0.02)).expect("the site runs")[0];
    let (get, put) = (ceilings.get.even_bytes_per_s * 0.58, ceilings.put.even_bytes_per_s * 0.58);
    let mut observations = observed(Some(get), Some(put), 0.02);
    observations.figures.extend((1..=8).map(|node| Observed {
        what: Quantity::NodeGet { node: format!("node{node}") },
        bytes_per_s: get / 8.0,
        error_share: None,
        in_flight: None,
    }));
    let explanation = explain(&site, &observations).expect("the site runs");
    let weight = |id: &str| {
        let single_cause =
            explanation.survivors.iter().find(|one| one.deviations.len() == 1 && one.deviations[0].id == id);
        single_cause.map_or(0.0, |one| one.weight)
    };
    let reported = leaders(&explanation);
    assert!(weight("drives") > 0.2 && weight("drives") >= 0.99 * weight("slow-drive"), "{reported}");
}

#[test]
fn a_uniform_slowdown_is_more_likely_something_unknown_than_a_way_in_that_nobody_stated() {
    let mut site = eight();
    site.assumed.insert("entry".to_owned(), "nothing is stated".to_owned());
    let ceilings = &singles(&site, &observed(None, None, 0.02)).expect("the site runs")[0];
    let explained_at = |share: f64| {
        let (get, put) = (ceilings.get.even_bytes_per_s * share, ceilings.put.even_bytes_per_s * share);
        explain(&site, &observed(Some(get), Some(put), 0.02)).expect("the site runs")
    };
    // No share at which a port of 50 Gb/s negotiates: that would be something known.
    for share in [0.7, 0.3] {
        let explanation = explained_at(share);
        let first = &explanation.survivors[0];
        assert!(first.weight < 0.9 && explanation.none_of_these > 0.1, "{share}:\n{}", leaders(&explanation));
        for entry in explanation.survivors.iter().flat_map(|one| &one.deviations).filter(|of| of.id == "entry") {
            assert!(entry.claim.contains("does not state \"entry.path\""), "{}", entry.claim);
        }
    }
    let healthy = explained_at(0.95);
    assert!(healthy.survivors[0].deviations.is_empty(), "{}", leaders(&healthy));
    assert!(healthy.none_of_these < 0.1, "{}", leaders(&healthy));
}

#[test]
fn what_few_in_flight_do_not_give_is_held_against_what_few_in_flight_can() {
    let mut site = eight();
    site.data.object_bytes = 8 << 20;
    let mut observations = observed(Some(0.2 * GIB), None, 0.02);
    observations.figures[0].in_flight = Some(1);
    let explanation = explain(&site, &observations).expect("the site runs");
    assert!(explanation.none_of_these > 0.1, "{}", leaders(&explanation));
}

/// A remedy asks for no more in flight where what is measured is the ceiling, whatever the curve reaches.
#[test]
fn what_is_measured_at_the_ceiling_needs_no_more_in_flight() {
    let mut site = eight();
    site.data.object_bytes = 8 << 20;
    let ceiling = singles(&site, &observed(None, None, 0.02)).expect("the site runs")[0].get.even_bytes_per_s;
    let change = |share: f64| {
        let mut observations = observed(Some(share * ceiling), None, 0.02);
        observations.figures[0].in_flight = Some(32);
        let explanation = explain(&site, &observations).expect("the site runs");
        let described = explanation.survivors.iter().find(|one| one.deviations.is_empty()).expect("it fits");
        described.remedy.change.clone()
    };
    assert!(change(0.85).contains("more in flight give more"), "{}", change(0.85));
    assert!(change(0.975).contains("it runs at its ceiling"), "{}", change(0.975));
}

/// Only writes are slow: what tells causes of that apart is read while writes run, though reads were measured too. Of a
/// byte 8 / 6 are written, to 64 drives of 180 MB/s: 3.2 GiB/s are 40 % of what they write.
#[test]
fn a_reading_is_taken_while_that_operation_runs_by_which_it_tells_most() {
    let site = linerate_site::read(
        "nodes:\n  count: 8\n  cores: 32\n  nics: {speed: 100Gb/s}\n  \
         drives: {count: 8, capacity: 16TB, read: 220MB/s, write: 180MB/s, lanes: 0, read_iops: 20k, write_iops: 20k}\n\
         planes:\n  public: {mtu: 9000}\nengine: {product: minio, protection: EC:2, set_drives: 8}\n\
         data: {object_size: 64MiB}\n",
        "tests",
    );
    let site = site.expect("a site");
    let found = explain(&site, &observed(Some(12.9 * GIB), Some(3.2 * GIB), 0.02)).expect("the site runs");
    let separator = found.separator.expect("drives tell");
    assert!(separator.how.starts_with("iostat") && separator.how.ends_with("while PUT runs"), "{separator:#?}");
    let busy: Vec<&str> = separator.expects.iter().map(|(_, seen)| seen.as_str()).collect();
    assert!(busy.contains(&"drives 40 % busy"), "{busy:?}");
    assert!(busy.iter().any(|seen| seen.ends_with("100 % busy") || seen.ends_with("9 % busy")), "{busy:?}");
}

/// Nodes with ports of 50 Gb/s and of 25 Gb/s, six shards of data and two of parity; one of the fast ones gives half by
/// itself. An even load is held by the slow kind either way, so that only one with as many requests at each node gains.
#[test]
fn a_remedy_tells_which_load_gains_where_an_even_one_gains_nothing() {
    let group = |name: &str, speed: &str| {
        format!(
            "  - name: {name}\n    count: 4\n    cores: 64\n    nics: {{ports: 1, speed: {speed}}}\n    \
             drives: {{count: 8, capacity: 7.68TB, read: 3GB/s, write: 1.5GB/s}}\n"
        )
    };
    let text = format!(
        "nodes:\n{}{}planes:\n  public: {{mtu: 9000}}\nengine: {{product: minio, protection: 6+2}}\n\
         data: {{object_size: 64MiB}}\n",
        group("big", "50Gb/s"),
        group("old", "25Gb/s")
    );
    let site = linerate_site::read(&text, "tests").expect("a site");
    let observed_node = |(node, rate): (String, f64)| Observed {
        what: Quantity::NodeGet { node },
        bytes_per_s: rate * GIB,
        error_share: None,
        in_flight: None,
    };
    let bigs = (1..=4).map(|node| (format!("big{node}"), if node == 4 { 2.8 } else { 5.6 }));
    let olds = (1..=4).map(|node| (format!("old{node}"), 2.8));
    let figures = bigs.chain(olds).map(observed_node).collect();
    let observations = Observations { figures, nodes_alone: true, ..observed(None, None, 0.02) };
    let found = explain(&site, &observations).expect("the site runs");
    let first = &found.survivors[0];
    assert!(first.id.contains("big4"), "{}", leaders(&found));
    let gain = first.remedy.gains.first().unwrap_or_else(|| panic!("{:#?}", first.remedy));
    assert!(gain.to_bytes_per_s > gain.from_bytes_per_s * 1.01, "{gain:#?}");
    let condition = first.remedy.condition.as_deref().unwrap_or_default();
    assert!(condition.starts_with("GET only with as many requests at each node: asked evenly"), "{:#?}", first.remedy);
}
