//! Published figures, explained.

use linerate_model::ceilings::limits;
use linerate_model::explain::{explain, singles};
use linerate_model::layout::geometries;
use linerate_record::explanation::{Explanation, Hypothesis, Observations, Observed, Quantity, Residual};
use linerate_record::plan::Work;
use linerate_record::site::{BondMode, Entry, NodeGroup, Product, Protection, Site};

use crate::explained_sites::{bond, drives, nic, observed, plane, site};
use crate::published::fifty_six;

/// Bytes of a GiB.
const GIB: f64 = 1_073_741_824.0;

/// Bytes of a MiB.
const MIB: f64 = 1_048_576.0;

fn explained(site: &Site, observations: &Observations) -> Explanation {
    let explanation = explain(site, observations).unwrap_or_else(|error| panic!("{}: {error}", site.name));
    let sum: f64 = explanation.survivors.iter().map(|hypothesis| hypothesis.weight).sum();
    let sum = sum + explanation.none_of_these;
    assert!((sum - 1.0).abs() < 1e-9, "{}: weights sum to {sum}", site.name);
    explanation
}

/// What survives, one line each: printed with assertions.
fn survivors_in_lines(explanation: &Explanation) -> String {
    let residual_in_words = |residual: &Residual| {
        let word = if residual.explained { "" } else { "un" };
        format!("{:?} {:+.1} % {word}explained", residual.what, residual.residual_share * 100.0)
    };
    let line = |hypothesis: &Hypothesis| {
        let residuals: Vec<String> = hypothesis.residuals.iter().map(residual_in_words).collect();
        format!("{:.3} {}: {}\n", hypothesis.weight, hypothesis.id, residuals.join(", "))
    };
    explanation.survivors.iter().map(line).collect()
}

fn survivor<'a>(explanation: &'a Explanation, id: &str) -> &'a Hypothesis {
    let found = explanation.survivors.iter().find(|hypothesis| hypothesis.id == id);
    found.unwrap_or_else(|| panic!("{id} does not survive:\n{}", survivors_in_lines(explanation)))
}

fn residual<'a>(hypothesis: &'a Hypothesis, what: &Quantity) -> &'a Residual {
    let found = hypothesis.residuals.iter().find(|residual| residual.what == *what);
    found.unwrap_or_else(|| panic!("{}: nothing of {what:?}", hypothesis.id))
}

#[test]
fn of_56_nodes_one_member_and_a_shared_plane_survive_and_put_stays_unexplained() {
    for error_share in [0.01, 0.02] {
        let explanation = explained(&fifty_six(), &observed(Some(152.0 * GIB), Some(81.0 * GIB), error_share));
        for id in ["bond-members-in-use(bond0: 1 of 2)", "plane-shared(bond0)"] {
            let hypothesis = survivor(&explanation, id);
            let get = residual(hypothesis, &Quantity::Get);
            assert!(get.explained && get.residual_share.abs() < 0.022, "{error_share} {id}: {get:?}");
            assert!(!residual(hypothesis, &Quantity::Put).explained, "{error_share} {id}");
            assert!(
                hypothesis.weight < 0.8,
                "{error_share}: one answer where two fit\n{}",
                survivors_in_lines(&explanation)
            );
        }
        let unexplained: Vec<&Quantity> = explanation.unexplained.iter().map(|residual| &residual.what).collect();
        assert_eq!(unexplained, [&Quantity::Put], "{error_share}:\n{}", survivors_in_lines(&explanation));
        let separator = explanation.separator.as_ref().expect("two fit");
        assert_eq!(
            separator.reading,
            "bytes per bond member, per node",
            "{error_share}:\n{}",
            survivors_in_lines(&explanation)
        );
        let expects = |id: &str| separator.expects.iter().find(|(of, _)| of == id).map(|(_, words)| words.as_str());
        let one = expects("bond-members-in-use(bond0: 1 of 2)").unwrap_or_default();
        assert!(one.contains("bond0 sends 24.4 Gb/s on 1 of 2 members, the others idle"), "{one}");
        let shared = expects("plane-shared(bond0)").unwrap_or_default();
        assert!(shared.contains("bond0 sends 24.2 Gb/s on each of 2 members and receives 12.0 Gb/s"), "{shared}");
        assert!(shared.ends_with("; nothing on bond1"), "{shared}");
    }
}

/// The curve of a load that fills the site has no error of its own: what is not explained without requests in flight is
/// not explained by their number either.
#[test]
fn of_56_nodes_put_stays_unexplained_where_the_curve_is_flat() {
    let mut figures = observed(Some(152.0 * GIB), Some(81.0 * GIB), 0.02);
    for (in_flight, reached) in [(1_120, 0.9..=0.999), (100_000, 0.999..=1.0)] {
        figures.figures.iter_mut().for_each(|figure| figure.in_flight = Some(in_flight));
        let explanation = explained(&fifty_six(), &figures);
        let member = survivor(&explanation, "bond-members-in-use(bond1: 1 of 2)");
        let put = residual(member, &Quantity::Put);
        assert!(!put.explained && put.residual_share < -0.25, "{in_flight}: {put:?}");
        // By the curve; nodes that are asked in turn give more.
        let reach = put.least_bytes_per_s.unwrap_or(put.predicted_bytes_per_s) / (111.6 * GIB);
        assert!(reached.contains(&reach), "{in_flight}: {reach}");
        let unexplained: Vec<&Quantity> = explanation.unexplained.iter().map(|residual| &residual.what).collect();
        assert_eq!(unexplained, [&Quantity::Put], "{in_flight}:\n{}", survivors_in_lines(&explanation));
    }
    let described = |in_flight| {
        let mut figures = figures.clone();
        figures.figures.iter_mut().for_each(|figure| figure.in_flight = Some(in_flight));
        explained(&fifty_six(), &figures).described[0].claim.clone()
    };
    assert!(
        described(100_000).contains("give 100 % of the ceiling, which is known to ± 0.1 %"),
        "{}",
        described(100_000)
    );
    assert!(described(4).contains("of the ceiling, which is known to ± 8.0 %"), "{}", described(4));
}

#[test]
fn members_and_active_backup_are_shown_as_indistinguishable() {
    let explanation = explained(&fifty_six(), &observed(Some(152.0 * GIB), Some(81.0 * GIB), 0.02));
    let one = survivor(&explanation, "bond-members-in-use(bond0: 1 of 2)");
    let backup = "bond-mode(bond0: active-backup)";
    assert!(one.indistinguishable.iter().any(|id| id == backup), "{:?}", one.indistinguishable);
    assert!(survivor(&explanation, backup).indistinguishable.contains(&one.id));
}

/// 32 i3en.24xlarge: one port of 100 GbE for both planes, eight drives of 23.98 and 12.94 GB/s together.
fn i3en(parity: u32) -> Site {
    let mut site = site("i3en", 32, 100e9, 9001);
    let group = &mut site.groups[0];
    group.nics = vec![nic("ens5", 1, 100e9)];
    group.bonds.clear();
    group.drives = vec![drives(8, 23.98e9 / 8.0, 12.94e9 / 8.0)];
    site.planes.public = plane("ens5", 9001);
    site.planes.private = None;
    site.engine.tls = false;
    site.engine.protection = Protection::Sets { set_drives: Some(16), parity: Some(parity) };
    site
}

#[test]
fn of_i3en_the_nic_holds_get_and_put_fits_a_parity_of_four_at_the_most() {
    // A published figure that states no error.
    let figures = observed(Some(183.2e9), Some(171.3e9), 0.03);
    let explanation = explained(&i3en(4), &figures);
    let described = survivor(&explanation, "as-described");
    for what in [Quantity::Get, Quantity::Put] {
        assert!(residual(described, &what).explained, "{what:?}\n{}", survivors_in_lines(&explanation));
    }
    assert_eq!(residual(described, &Quantity::Get).bottleneck, "public link, sending");
    assert_eq!(explanation.survivors[0].id, "as-described", "{}", survivors_in_lines(&explanation));

    let stated = explained(&i3en(8), &observed(Some(183.2e9), Some(171.3e9), 0.02));
    assert!(!stated.survivors.is_empty());
    for hypothesis in &stated.survivors {
        if hypothesis.id == "clients-on(nodes)" {
            // That allows twice the GET.
            let get = residual(hypothesis, &Quantity::Get);
            assert!(hypothesis.weight < 0.01 && get.residual_share < -0.5, "{get:?}");
            continue;
        }
        let layout = hypothesis.deviations.iter().find(|deviation| deviation.id == "layout");
        let cut = layout.unwrap_or_else(|| panic!("8+8 survives:\n{}", survivors_in_lines(&stated)));
        let (data, parity) = cut.value.split_once('+').expect("data+parity");
        let (data, parity): (f64, f64) = (data.parse().expect("data"), parity.parse().expect("parity"));
        // Three standard errors leave a little room above 16/12.
        assert!((data + parity) / data < 1.46, "{}", hypothesis.id);
        let put = residual(hypothesis, &Quantity::Put);
        assert!(!put.explained || (data + parity) / data < 1.4, "{}: {put:?}", hypothesis.id);
    }
}

#[test]
fn of_ceph_over_two_ports_the_bond_holds_get() {
    let mut site = site("ceph", 12, 100e9, 9000);
    site.engine.product = Product::CephRgw;
    site.engine.protection = Protection::Erasure { data: 2, parity: 2 };
    site.data.object_bytes = 32 << 20;
    site.groups[0].drives = vec![drives(24, 6.8e9, 4e9)];
    site.groups[0].nics = vec![nic("p0", 2, 100e9)];
    site.groups[0].bonds = vec![bond("bond0", "p0")];
    site.planes.private = None;
    let explanation = explained(&site, &observed(Some(111.0 * GIB), Some(65.8 * GIB), 0.02));
    let described = survivor(&explanation, "as-described");
    let get = residual(described, &Quantity::Get);
    assert!(get.explained && get.bottleneck == "public link, sending", "{get:?}");
    assert!((-0.05..0.0).contains(&get.residual_share), "{get:?}");
}

/// Seven clients whose ports are what holds native routing at the measured GET.
fn overlay(mtu_bytes: u32) -> Site {
    let mut site = site("overlay", 56, 100e9, mtu_bytes);
    let payload = f64::from(mtu_bytes - 52) / f64::from(mtu_bytes + 38);
    // The clients of that test are pods of a meshed cluster.
    site.entry = Entry::ClusterMesh;
    site.clients.count = 7;
    site.clients.mtu_bytes = mtu_bytes;
    site.clients.speed_bits_per_s = 22_954.0 * MIB * 8.0 / 7.0 / payload;
    site
}

#[test]
fn framing_alone_explains_neither_figure_of_the_overlay_exactly() {
    // Repeated runs differ by 0.02 % for GET and 1.6 % for PUT.
    let mut figures = observed(Some(22_287.0 * MIB), Some(12_522.0 * MIB), 0.016);
    figures.figures[0].error_share = Some(0.002);
    for (mtu_bytes, loss) in [(1500, 0.0345), (9000, 0.0056)] {
        let site = overlay(mtu_bytes);
        let all = singles(&site, &figures).expect("the site runs");
        let wrapped = all
            .iter()
            .find(|single| {
                single.deviation.as_ref().is_some_and(|of| of.id == "encapsulation" && of.value == "public: vxlan")
            })
            .expect("native routing is stated");
        assert!((wrapped.get.even_bytes_per_s / (22_954.0 * MIB) - (1.0 - loss)).abs() < 1e-4, "{:?}", wrapped.get);
        let miss = 22_287.0 * MIB / wrapped.get.even_bytes_per_s - 1.0;
        assert!(miss.abs() > 2.5 * 0.002, "{mtu_bytes}: framing explains GET: {miss}");
        let explanation = explained(&site, &figures);
        let framing = explanation.survivors.iter().filter(|hypothesis| {
            hypothesis.deviations.iter().all(|deviation| deviation.id == "encapsulation" || deviation.id == "mtu")
        });
        for hypothesis in framing {
            let put = residual(hypothesis, &Quantity::Put);
            assert!(!put.explained, "{mtu_bytes}: {}", survivors_in_lines(&explanation));
        }
    }
}

#[test]
fn a_node_whose_link_is_halved_is_named_by_figures_per_node() {
    let mut site = site("namespaces", 4, 200e6, 1500);
    site.groups[0].nics = vec![nic("eth0", 1, 200e6)];
    site.groups[0].bonds.clear();
    site.groups[0].drives = vec![drives(1, 2e9, 1e9)];
    site.planes.public = plane("eth0", 1500);
    site.planes.private = None;
    site.engine.protection = Protection::Sets { set_drives: Some(4), parity: Some(2) };
    site.data.object_bytes = 4 << 20;
    // Each node as fast as it can be: the three serve 0.61 of a link, the fourth, which also sends shards, 0.2 of it.
    let mut figures = observed(Some(44e6), None, 0.02);
    for (node, rate) in [("n1", 13.2e6), ("n2", 13.4e6), ("n3", 4.4e6), ("n4", 13.0e6)] {
        let what = Quantity::NodeGet { node: node.to_owned() };
        figures.figures.push(Observed { what, bytes_per_s: rate, error_share: None, in_flight: None });
    }
    let explanation = explained(&site, &figures);
    let first = &explanation.survivors[0];
    assert_eq!(first.deviations.len(), 1, "{}", survivors_in_lines(&explanation));
    assert!(first.deviations[0].id.starts_with("slow-node"), "{}", survivors_in_lines(&explanation));
    assert!(first.deviations[0].value.starts_with("n3:"), "{}", survivors_in_lines(&explanation));
}

#[test]
fn figures_that_are_none_are_refused_with_what_to_give() {
    let site = fifty_six();
    let rows = [
        (observed(None, None, 0.02), "no figures given"),
        (observed(Some(-1.0), None, 0.02), "-1 B/s"),
        (observed(Some(f64::NAN), None, 0.02), "NaN B/s"),
        (observed(Some(1e9), None, 0.0), "error of 0 %"),
        (observed(Some(1e9), None, 2.0), "error of 200 %"),
    ];
    for (figures, expected) in rows {
        let error = explain(&site, &figures).expect_err(expected).to_string();
        assert!(error.contains(expected), "{error}");
    }
}

/// Figures far below what the site allows refute nothing: that a cause is in no row is possible, and each hypothesis
/// allows all of them.
#[test]
fn figures_that_every_hypothesis_allows_and_none_accounts_for_may_have_an_unknown_cause() {
    let text = include_str!("../../../examples/namespaces-4.yaml");
    let site = linerate_site::read(text, "namespaces-4.yaml").expect("an example");
    let at = |get: f64, put: f64| explained(&site, &observed(Some(get), Some(put), 0.02));
    let says = |explanation: &Explanation, part: &str| explanation.caveats.iter().any(|caveat| caveat.contains(part));
    let low = at(5_378_193.0, 3_765_024.0);
    assert!(low.survivors.is_empty() && low.none_of_these > 0.999, "{}", survivors_in_lines(&low));
    assert!(says(&low, "no hypothesis survives") && says(&low, "an unknown cause"), "{:?}", low.caveats);
    assert!(!says(&low, "none allows all of them"), "{:?}", low.caveats);
    let high = at(1e12, 3_765_024.0);
    assert!(high.survivors.is_empty() && says(&high, "no hypothesis survives"), "{:?}", high.caveats);
    assert!(!says(&high, "an unknown cause"), "{:?}", high.caveats);
}

#[test]
fn a_figure_above_every_ceiling_leaves_no_survivor_and_says_so() {
    let explanation = explained(&fifty_six(), &observed(Some(9000.0 * GIB), None, 0.02));
    assert!(explanation.survivors.is_empty(), "{}", survivors_in_lines(&explanation));
    assert!(explanation.caveats.iter().any(|caveat| caveat.starts_with("no hypothesis survives")));
    // The one that allows most is told by what it says, and JSON has its name.
    let figure_row = &explanation.described[0];
    let most = figure_row.most.as_ref().expect("something allows most");
    assert!(most.id.contains('('), "{}", most.id);
    let (_, of_most) = figure_row.claim.split_once("the most that any hypothesis allows is ").expect("said");
    assert!(!figure_row.claim.contains(&most.id) && !of_most.contains("link-speed"), "{}", figure_row.claim);
    assert!(of_most.contains("GiB/s (") && of_most.contains("ports of bond0"), "{}", figure_row.claim);
}

/// What is better than described is to be described, and nothing of the cluster changed.
#[test]
fn the_remedy_of_a_site_that_is_faster_than_described_is_to_correct_its_file() {
    let mut site = fifty_six();
    site.groups[0].nics.iter_mut().for_each(|nic| nic.speed_bits_per_s = 10e9);
    site.assumed.insert("planes.public.mtu".to_owned(), "nobody stated it".to_owned());
    site.assumed.insert("planes.private.mtu".to_owned(), "nobody stated it".to_owned());
    let remedies = |figures: &Observations| -> Vec<(String, String)> {
        let survivors = explained(&site, figures).survivors;
        survivors.into_iter().map(|hypothesis| (hypothesis.id, hypothesis.remedy.change)).collect()
    };
    let faster = remedies(&observed(Some(300.0 * GIB), None, 0.02));
    let change = |id: &str| &faster.iter().find(|(known, _)| known == id).unwrap_or_else(|| panic!("{faster:?}")).1;
    assert_eq!(
        change("link-speed(bond0 and bond1: 25.0 Gb/s)"),
        "correct the site file if that is the case: nodes.storage.nics.0.speed: 25.0 Gb/s, nodes.storage.nics.1.speed: \
         25.0 Gb/s"
    );
    let jumbo = remedies(&observed(Some(127.0 * GIB), None, 0.01));
    for (id, change) in faster.iter().chain(&jumbo) {
        assert!(!change.contains("FEC") || id.contains("1.00 Gb/s"), "{id}: {change}");
        assert!(!change.contains("set the stated"), "{id}: {change}");
    }
    let larger = jumbo.iter().find(|(id, _)| id == "mtu(public: 9000)").unwrap_or_else(|| panic!("{jumbo:?}"));
    assert_eq!(larger.1, "correct the site file if that is the case: planes.public.mtu: 9000");
}

/// An explanation and a plan have the same clients: those of whom nothing else is stated take the packets of the public
/// plane, whatever these are.
#[test]
fn larger_packets_of_the_public_plane_are_those_of_clients_too_unless_theirs_are_stated() {
    let read = |clients: &str, planes: &str| {
        let text = format!(
            "nodes: {{count: 8, drives: {{count: 8, capacity: 7.68TB}}, nics: {{speed: 25Gb/s}}}}\nengine: minio\n\
             {planes}clients: {{count: 40, speed: 25Gb/s{clients}}}\n"
        );
        linerate_site::read(&text, "site.yaml").expect("a site")
    };
    let planned = |site: &Site| {
        let all = limits(site, &geometries(site).expect("a layout"), &Work { object_bytes: 64 << 20, read_share: 1.0 });
        all.iter().map(|limit| limit.limit_bytes_per_s).fold(f64::INFINITY, f64::min)
    };
    for (clients, follows) in [("", true), (", mtu: 1500", false), (", mtu: 9000", true)] {
        let (site, larger) = (read(clients, ""), read(clients, "planes: {public: {mtu: 9000}}\n"));
        let all = singles(&site, &observed(None, None, 0.02)).expect("the site runs");
        let of_larger = |single: &linerate_model::explain::Single| {
            single.deviation.as_ref().is_some_and(|of| of.id == "mtu" && of.value == "public: 9000")
        };
        let predicted = all.iter().find(|single| of_larger(single)).expect("enumerated").get.even_bytes_per_s;
        assert!((predicted / planned(&larger) - 1.0).abs() < 1e-9, "{clients}: {predicted} of {}", planned(&larger));
        // What nodes send each other is larger in any case.
        assert_eq!(predicted > 1.03 * planned(&site), follows, "{clients}");
        let explanation = explained(&site, &observed(Some(planned(&larger)), None, 0.01));
        let first = explanation.survivors.first().map(|hypothesis| hypothesis.id.as_str());
        assert_eq!(first, Some("mtu(public: 9000)"), "{clients}\n{}", survivors_in_lines(&explanation));
    }
}

/// The same of cryptography: nodes of MinIO speak among themselves as they do with clients, unless that is stated.
#[test]
fn what_a_site_with_tls_does_is_predicted_as_planned_whether_nodes_follow_clients_or_not() {
    let read = |engine: &str| {
        let text = format!(
            "nodes: {{count: 8, cores: 16, drives: {{count: 8, capacity: 7.68TB}}, nics: {{speed: 400Gb/s}}}}\n\
             engine: {{{engine}}}\n"
        );
        linerate_site::read(&text, "site.yaml").expect("a site")
    };
    for (stated, corrected, value) in [
        ("product: minio, tls: true", "product: minio, tls: false", "TLS with clients and among nodes: off"),
        ("product: rustfs", "product: rustfs, tls: true", "TLS with clients and among nodes: on"),
        (
            "product: minio, tls: true, internal_tls: true",
            "product: minio, tls: false, internal_tls: true",
            "TLS with clients: off",
        ),
        ("product: ceph-rgw", "product: ceph-rgw, tls: true", "TLS with clients: on"),
        ("product: minio, tls: true", "product: minio, tls: true, internal_tls: false", "TLS among nodes: off"),
    ] {
        let all = singles(&read(stated), &observed(None, None, 0.02)).expect("the site runs");
        let is_it = |single: &&linerate_model::explain::Single| {
            single.deviation.as_ref().is_some_and(|of| of.id == "engine-cryptography" && of.value == value)
        };
        let single = all.iter().find(is_it).unwrap_or_else(|| panic!("{stated}: no {value}"));
        let planned = singles(&read(corrected), &observed(None, None, 0.02)).expect("the site runs");
        let near = |a: f64, b: f64| (a / b - 1.0).abs() < 1e-9;
        assert!(near(single.put.even_bytes_per_s, planned[0].put.even_bytes_per_s), "{stated}: {value}");
        assert!(near(single.get.even_bytes_per_s, planned[0].get.even_bytes_per_s), "{stated}: {value}");
        assert!(!near(single.put.even_bytes_per_s, all[0].put.even_bytes_per_s), "{stated}: {value}");
    }
}

/// A site with faster ports would allow more than was described; none that is left may be above what it allows itself.
#[test]
fn nothing_that_is_left_is_three_standard_errors_above_its_own_ceiling() {
    let mut site = fifty_six();
    for path in ["planes.public.mtu", "planes.private.mtu", "nodes.storage.nics.0.speed", "nodes.storage.nics.1.speed"]
    {
        site.assumed.insert(path.to_owned(), "nobody stated it".to_owned());
    }
    for (get, put) in [(350.0, 200.0), (330.0, 210.0), (320.0, 235.0)] {
        let explanation = explained(&site, &observed(Some(get * GIB), Some(put * GIB), 0.02));
        assert_eq!(
            explanation.survivors.is_empty(),
            get > 340.0,
            "{get} and {put}\n{}",
            survivors_in_lines(&explanation)
        );
        for of in explanation.survivors.iter().flat_map(|hypothesis| &hypothesis.residuals) {
            assert!(of.above_sigmas.is_none_or(|sigmas| sigmas <= 3.0), "{of:?}\n{}", survivors_in_lines(&explanation));
        }
    }
}

#[test]
fn every_deviation_has_a_name_of_its_own_and_changes_the_site() {
    let mut assumed = fifty_six();
    assumed.clients.count = 7;
    assumed.clients.ports = 2;
    assumed.engine.product = Product::Rustfs;
    for path in ["cores", "sockets", "pcie.lanes", "pcie.generation", "drives.0.count", "drives.0.read"] {
        assumed.assumed.insert(format!("nodes.storage.{path}"), "nobody stated it".to_owned());
    }
    assumed.assumed.insert("planes.public.timestamps".to_owned(), "the kernel's default".to_owned());
    for site in [fifty_six(), i3en(4), overlay(9000), assumed] {
        let mut names = std::collections::BTreeSet::new();
        for single in singles(&site, &observed(None, None, 0.02)).expect("the site runs") {
            let Some(deviation) = single.deviation else { continue };
            let name = format!("{} {}", deviation.id, deviation.value);
            let changes = single.site != site || single.cpu_share < 1.0;
            assert!(changes, "{}: {name} changes nothing", site.name);
            assert!(deviation.cost > 0.0 && !deviation.shown_by.is_empty(), "{}: {deviation:?}", site.name);
            assert!(names.insert(name.clone()), "{}: {name} twice", site.name);
        }
        assert!(names.len() > 40, "{}: {}", site.name, names.len());
    }
}

/// What the ceilings give of a site under changes.
fn by_the_ceilings(site: &Site, change: impl Fn(&mut Site)) -> Observations {
    let mut changed = site.clone();
    change(&mut changed);
    let geometries = geometries(&changed).expect("the engine runs");
    let lowest_at = |read_share| {
        let work = Work { object_bytes: changed.data.object_bytes, read_share };
        limits(&changed, &geometries, &work).first().map(|limit| limit.limit_bytes_per_s)
    };
    observed(lowest_at(1.0), lowest_at(0.0), 0.01)
}

#[test]
fn two_causes_at_once_are_found_where_no_single_one_explains_both_figures() {
    let site = fifty_six();
    let figures = by_the_ceilings(&site, |site| {
        site.groups[0].bonds[0].mode = BondMode::ActiveBackup;
        site.planes.private = None;
    });
    let explanation = explained(&site, &figures);
    let pair = survivor(&explanation, "plane-shared(bond0) + bond-mode(bond0: active-backup)");
    assert!(pair.residuals.iter().all(|residual| residual.explained), "{}", survivors_in_lines(&explanation));
    assert_eq!(pair.deviations.len(), 2);
}

#[test]
fn what_is_in_no_row_stays_unexplained() {
    let site = fifty_six();
    let figures = by_the_ceilings(&site, |site| {
        site.groups[0].bonds[0].mode = BondMode::ActiveBackup;
        site.groups[0].drives[0].write_bytes_per_s *= 0.03;
    });
    let explanation = explained(&site, &figures);
    let unexplained: Vec<&Quantity> = explanation.unexplained.iter().map(|residual| &residual.what).collect();
    assert_eq!(unexplained, [&Quantity::Put], "drives at 3 % are in no row:\n{}", survivors_in_lines(&explanation));
}

#[test]
fn a_figure_above_the_ceiling_is_explained_by_an_assumed_value_that_is_higher() {
    let mut site = fifty_six();
    for nic in &mut site.groups[0].nics {
        nic.speed_bits_per_s = 10e9;
    }
    let explanation = explained(&site, &observed(Some(300.0 * GIB), None, 0.02));
    let faster = survivor(&explanation, "link-speed(bond0 and bond1: 25.0 Gb/s)");
    assert!(faster.residuals[0].explained, "{}", survivors_in_lines(&explanation));
    assert_eq!(faster.remedy.gives, "no more than now: the site is already faster than described");
    assert!(explanation.survivors.iter().all(|hypothesis| hypothesis.id != "as-described"));
}

#[test]
fn a_remedy_says_what_it_gives_and_what_binds_then() {
    let explanation = explained(&fifty_six(), &observed(Some(152.0 * GIB), Some(81.0 * GIB), 0.02));
    let remedy = &survivor(&explanation, "bond-members-in-use(bond0: 1 of 2)").remedy;
    assert!(
        remedy.gives.starts_with("GET up to 307 GiB/s instead of 152 GiB/s; bottleneck then: public link, "),
        "{remedy:?}"
    );
    assert!(remedy.risks.contains("fragments"), "{remedy:?}");
}

/// Nothing is said to be at its ceiling that is further below than systems are on average.
#[test]
fn a_site_as_described_is_said_to_run_at_its_ceiling_from_95_percent_on() {
    let site = fifty_six();
    let described = &singles(&site, &observed(None, None, 0.02)).expect("the site runs")[0];
    let remedy_at = |get: f64, put: f64| {
        let (get, put) = (get * described.get.even_bytes_per_s, put * described.put.even_bytes_per_s);
        let explanation = explained(&site, &observed(Some(get), Some(put), 0.02));
        survivor(&explanation, "as-described").remedy.change.clone()
    };
    for (get, put) in [(0.99, 0.96), (1.01, 0.951)] {
        let reported = remedy_at(get, put);
        assert!(reported.starts_with("none is needed: it runs at its ceiling; more needs"), "{get} {put}: {reported}");
    }
    for (get, put, expected) in [(0.86, 0.99, "GET is 86 % of"), (0.97, 0.94, "PUT is 94 % of")] {
        let reported = remedy_at(get, put);
        assert!(reported.contains(expected) && !reported.contains("at its ceiling"), "{get} {put}: {reported}");
        assert!(!reported.contains("needed"), "{reported}");
    }
}

/// A figure far below its ceiling lacks a cause, however well the description explains the other.
#[test]
fn a_figure_at_2_percent_beside_a_good_one_leaves_an_unknown_cause_as_likely_as_the_description() {
    let site = fifty_six();
    let described = &singles(&site, &observed(None, None, 0.02)).expect("the site runs")[0];
    for (get, put) in [(0.97, 0.02), (0.02, 0.97)] {
        let (get, put) = (get * described.get.even_bytes_per_s, put * described.put.even_bytes_per_s);
        let explanation = explained(&site, &observed(Some(get), Some(put), 0.02));
        // One node that takes every connection of 56 gives a PUT of 2 %, and explains both.
        let lacking = explanation.survivors.iter().filter(|one| one.residuals.iter().any(|of| !of.explained));
        let most = lacking.map(|one| one.weight).fold(0.0, f64::max);
        let reported = survivors_in_lines(&explanation);
        assert!(most > 0.0 && explanation.none_of_these >= most - 1e-9, "{}: {reported}", explanation.none_of_these);
    }
}

/// Each kind of nodes has ceilings of its own, so that what is looked at has to become less.
#[test]
fn many_kinds_of_nodes_are_explained_with_bounded_work() {
    let mut many = site("32 kinds", 8, 100e9, 9000);
    many.engine.product = Product::CephRgw;
    many.engine.protection = Protection::Replicas { copies: 3 };
    let first = many.groups[0].clone();
    many.groups = (0..32).map(|kind| NodeGroup { name: format!("kind{kind}"), ..first.clone() }).collect();
    let observations = observed(Some(100.0 * GIB), Some(50.0 * GIB), 0.02);
    let singles = singles(&many, &observations).unwrap().len() as u32;
    let explanation = explained(&many, &observations);
    assert!(explanation.considered <= singles + 100 + 2_000, "{} of {singles}", explanation.considered);
}
