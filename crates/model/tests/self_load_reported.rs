//! What plans and explanations say of sites whose clients run on the storage nodes.

use linerate_model::explain::explain;
use linerate_model::plan::{PlanRequest, plan};
use linerate_record::explanation::{Explanation, Observations, Observed, Quantity};
use linerate_record::plan::{Plan, PlanFindingKind, Resource};
use linerate_record::site::Site;
use linerate_site::read;

const GIB: f64 = 1_073_741_824.0;

/// Nodes of 8 drives and the given NICs and planes, with clients on them unless `rest` says otherwise.
fn site(nodes: u32, nics: &str, rest: &str) -> Site {
    let text = format!(
        "nodes:\n  count: {nodes}\n  drives: {{count: 8, capacity: 7.68TB, read: 6.5GB/s, write: 3GB/s}}\n  nics: \
         {nics}\n{rest}\n"
    );
    read(&text, "site.yaml").unwrap_or_else(|error| panic!("{error}\n{text}"))
}

const ONE: &str = "{ports: 1, speed: 100Gb/s}";
const TWO: &str = "{ports: 2, speed: 100Gb/s}";
const SHARED: &str = "planes: {public: {mtu: 9000}}";

fn on_nodes(nodes: u32, nics: &str, planes: &str, engine: &str, entry: &str) -> Site {
    site(nodes, nics, &format!("{planes}\nengine: {engine}\nentry: {entry}\nclients: {{on: nodes, connections: 64}}"))
}

fn planned(site: &Site) -> Plan {
    plan(site, &PlanRequest::default()).expect("the engine runs")
}

/// The evidence and the remedy of findings of a kind.
fn found(plan: &Plan, kind: PlanFindingKind) -> Vec<(&str, &str)> {
    let of_kind = plan.findings.iter().filter(|finding| finding.kind == kind);
    of_kind.map(|finding| (finding.evidence.as_str(), finding.remedy.as_str())).collect()
}

/// Of each of the first nodes the same rate of reads.
fn explained(site: &Site, nodes: u32, gib_per_s: f64, nodes_alone: bool) -> Explanation {
    let observed_node = |node: u32| Observed {
        what: Quantity::NodeGet { node: format!("n{node}") },
        bytes_per_s: gib_per_s * GIB,
        error_share: None,
        in_flight: None,
    };
    let figures = (1..=nodes).map(observed_node).collect();
    explain(site, &Observations { figures, error_share: 0.02, nodes_alone }).expect("the figures can be")
}

/// A port of 100 Gb/s is 11.6 GiB/s. Of what a node reads of MinIO 1 - 1/N crosses it where it asks itself, and of
/// Garage's three copies on three nodes nothing.
#[test]
fn figures_of_nodes_are_held_against_what_crosses_their_ports() {
    let minio = "{product: minio, protection: EC:4}";
    for (nodes, nics, engine, most, alone) in [
        (4, ONE, minio, 15.4, false),
        (8, ONE, minio, 13.2, false),
        (2, ONE, "minio", 23.0, false),
        (1, ONE, "minio", 45.0, false),
        (3, "{ports: 1, speed: 25Gb/s}", "garage", 14.0, true),
    ] {
        let site = on_nodes(nodes, nics, SHARED, engine, "local");
        let reported = explained(&site, nodes, 0.97 * most, alone);
        let described = reported.survivors.iter().any(|one| one.id == "as-described");
        assert!(described, "{nodes} {engine}: {:?}", reported.caveats);
    }
    // 16 of 4 nodes need 12 GiB/s into each; 15 need 11.2. Nodes that ask all others are held to 11.6 / 0.75 too.
    for (gib_per_s, possible) in [(15.0, true), (18.0, false)] {
        let site = on_nodes(4, ONE, SHARED, minio, "local");
        let reported = explained(&site, 2, gib_per_s, true);
        assert_eq!(!reported.survivors.is_empty(), possible, "{gib_per_s}: {:#?}", reported.survivors);
    }
}

#[test]
fn planes_that_share_a_link_are_told_with_what_crosses_it_and_parted_where_that_gives_more() {
    let minio = "{product: minio, protection: 10+4}";
    let reported = |entry: &str| planned(&on_nodes(56, TWO, SHARED, minio, entry));
    let spread = reported("client-side");
    let spread = found(&spread, PlanFindingKind::SharedPlane);
    assert!(spread[0].0.contains("leaves a node 1.96 times: 0.98 times to clients, 0.98 times"), "{spread:?}");
    assert!(spread[0].1.starts_with("give the traffic among nodes its own link"), "{spread:?}");
    // Each node asks itself: no client's byte is on the link, and parting its ports would halve what shards have.
    let local = reported("local");
    assert_eq!(found(&local, PlanFindingKind::SharedPlane), []);
    // Clients that are the limit get nothing of another link.
    let few = site(56, TWO, &format!("{SHARED}\nengine: {minio}\nclients: {{count: 2, speed: 100Gb/s}}"));
    let few = planned(&few);
    let few = found(&few, PlanFindingKind::SharedPlane);
    assert!(few[0].1.starts_with("none needed"), "{few:?}");
}

#[test]
fn a_way_in_that_nobody_stated_is_named_where_it_decides() {
    let rest = format!("{SHARED}\nengine: {{product: minio, protection: 10+4}}\n");
    let ceiling_of = |more: &str| {
        let plan = planned(&site(56, ONE, &format!("{rest}{more}")));
        let ceiling = plan.works[0].ceilings[0].clone();
        assert!(matches!(ceiling.resource, Resource::PublicEgress | Resource::PublicIngress), "{more}");
        ceiling
    };
    for (more, path) in [
        ("clients: {on: nodes}", "entry"),
        ("clients: {on: nodes}\nentry: {assumed: local}", "entry"),
        ("clients: {on: {assumed: nodes}}\nentry: local", "clients.on"),
        ("entry: {assumed: bgp}", "entry"),
    ] {
        let ceiling = ceiling_of(more);
        let assumed = ceiling.inputs.iter().filter(|input| input.assumed).filter_map(|input| input.path.as_deref());
        assert!(assumed.clone().any(|known| known == path), "{more}: {:?}", assumed.collect::<Vec<_>>());
    }
    for more in ["clients: {on: nodes}\nentry: local", "entry: client-side", ""] {
        let ceiling = ceiling_of(more);
        assert!(!ceiling.inputs.iter().any(|input| input.assumed), "{more}: {:?}", ceiling.inputs);
    }
}

#[test]
fn a_client_that_asks_its_own_node_against_the_description_corrects_it() {
    let site = on_nodes(8, ONE, SHARED, "{product: minio, protection: EC:4}", "client-side");
    let reported = explained(&site, 8, 13.1, false);
    let own = reported.survivors.iter().find(|one| one.id == "entry(own node)");
    let remedy = &own.unwrap_or_else(|| panic!("{:#?}", reported.survivors)).remedy;
    assert!(remedy.change.starts_with("correct the site: entry: local"), "{remedy:?}");
    assert!(remedy.gives.contains("faster than described"), "{remedy:?}");
}

#[test]
fn links_that_nothing_crosses_are_not_spoken_of() {
    let layer2 = |site: &mut Site| {
        site.groups[0]
            .bonds
            .iter_mut()
            .for_each(|bond| bond.transmit_hash = linerate_record::site::TransmitHash::Layer2)
    };
    let mut one = on_nodes(1, TWO, SHARED, "minio", "local");
    let mut copies = on_nodes(3, TWO, SHARED, "garage", "local");
    let bonds = "[{name: a, ports: 2, speed: 25Gb/s}, {name: b, ports: 2, speed: 25Gb/s}]\n  bonds: [{name: pub, nics: \
                 a}, {name: pri, nics: b}]";
    let planes = "planes: {public: {mtu: 9000, link: pub}, private: {mtu: 9000, link: pri}}";
    let mut parted = on_nodes(56, bonds, planes, "{product: minio, protection: 10+4}", "local");
    [&mut one, &mut copies, &mut parted].into_iter().for_each(layer2);
    let of_public = |plan: &Plan, work: usize| {
        let public = [Resource::PublicEgress, Resource::PublicIngress];
        plan.works[work].spread.iter().filter(|spread| public.contains(&spread.resource)).count()
    };
    for (name, site) in [("one", &one), ("parted", &parted)] {
        let plan = planned(site);
        assert_eq!((of_public(&plan, 0), of_public(&plan, 1)), (0, 0), "{name}");
        let bonds = found(&plan, PlanFindingKind::BondHash);
        assert!(bonds.iter().all(|(evidence, _)| !evidence.starts_with("public")), "{name}: {bonds:?}");
        assert_eq!(found(&plan, PlanFindingKind::NicAgainstDrives), [], "{name}");
        let orders: Vec<_> = plan.findings.iter().filter(|of| of.kind == PlanFindingKind::Reordering).collect();
        assert!(orders.iter().all(|finding| !finding.claim.contains("\"pub\"")), "{name}: {orders:?}");
    }
    let plan = planned(&copies);
    assert!(of_public(&plan, 0) == 0 && of_public(&plan, 1) > 0, "{:?}", plan.works[0].spread);
}

#[test]
fn uplinks_of_racks_have_the_flows_of_shards_where_clients_cross_none() {
    let flows = |entry: &str| {
        let rest = format!(
            "  racks: 4\n{SHARED}\nengine: {{product: minio, protection: 10+4}}\nentry: {entry}\nclients: {{on: nodes, \
             connections: 1}}\nfabric: {{rack_uplinks: 1600Gb/s, spines: 16}}"
        );
        let plan = planned(&site(56, ONE, &rest));
        plan.works[0].spread.iter().find(|spread| spread.resource == Resource::RackUp).unwrap().flows
    };
    // 14 nodes with one request each, of 13 shards elsewhere; at the least one flow to each of 55 others, 42 of them in
    // other racks.
    assert_eq!((flows("client-side"), flows("local")), (14, 14 * 42));
}

#[test]
fn a_fall_where_shards_begin_to_cross_links_is_told_as_such() {
    let requested = PlanRequest { nodes: Some(1..=8), ..PlanRequest::default() };
    for (engine, from, to) in [("minio", "at 1 node: ", 2), ("garage", "at 3 nodes: ", 4)] {
        let plan = plan(&on_nodes(3, "{ports: 1, speed: 25Gb/s}", SHARED, engine, "local"), &requested).unwrap();
        let bends = plan.scaling.unwrap().bends;
        let fall = bends.iter().find(|bend| bend.nodes == to && bend.why.starts_with("GET falls"));
        let why = &fall.unwrap_or_else(|| panic!("{engine}: {bends:#?}")).why;
        assert!(why.contains(from) && why.contains("cross links"), "{engine}: {why}");
        assert!(!why.contains("the layout changes"), "{engine}: {why}");
    }
}

#[test]
fn a_figure_above_its_ceiling_has_clients_on_the_nodes_for_an_explanation() {
    let elsewhere = |gib_per_s: f64, clients: &str| {
        let site = site(8, ONE, &format!("{SHARED}\nengine: {{product: minio, protection: EC:4}}\n{clients}"));
        let what = Quantity::Get;
        let figure = Observed { what, bytes_per_s: gib_per_s * GIB, error_share: None, in_flight: None };
        let observed = Observations { figures: vec![figure], error_share: 0.02, nodes_alone: false };
        explain(&site, &observed).unwrap()
    };
    // 8 × 11.53 / 1.875 = 49.2 elsewhere, 8 × 11.53 / 0.875 = 105 where each asks itself.
    for (clients, against) in [("", 0), ("clients: {count: 16, speed: 100Gb/s}", 1)] {
        let first = elsewhere(95.0, clients).survivors.swap_remove(0);
        assert_eq!((first.id.as_str(), first.deviations[0].contradicts.len()), ("clients-on(nodes)", against));
        let residual = &first.residuals[0];
        assert!(residual.explained && (residual.predicted_bytes_per_s / GIB - 105.4).abs() < 1.0, "{residual:?}");
        let correct = "correct the site file if that is the case: clients.on: nodes, entry: local";
        assert_eq!(first.remedy.change, correct);
    }
    let least = |gib_per_s: f64| {
        let found = elsewhere(gib_per_s, "").survivors;
        found.iter().filter(|one| one.id.contains("clients-on")).map(|one| one.weight).sum::<f64>()
    };
    assert!(least(40.0) < 0.01 && least(150.0) < 0.01, "{} {}", least(40.0), least(150.0));
}

#[test]
fn clients_are_spoken_of_where_throughput_is_needed() {
    let site = on_nodes(4, ONE, SHARED, "{product: minio, protection: EC:4}", "local");
    for (need, expected) in [("usable=5PB", false), ("usable=5PB,put=1GiB/s", true)] {
        let requested = PlanRequest { need: need.parse().ok(), ..PlanRequest::default() };
        let sizing = plan(&site, &requested).unwrap().sizing.unwrap();
        assert_eq!(sizing.why.contains("a client runs on each node"), expected, "{}", sizing.why);
    }
}
