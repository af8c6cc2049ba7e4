//! Links between pods and hosts, by `linerate net` in pods: every class of pairs, through Services too; and VXLAN
//! against native routing in blocks, held against what framing explains.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Output;

use libtest_mimic::Failed;
use linerate_analysis::net::comparison::{NetComparison, NetPairRatio};
use linerate_analysis::net::view::NetView;

use super::reach::Check;
use super::{Cluster, LONG_TIMEOUT, NODES, of_variant, parts};
use crate::running::{eventually_within, linerate, shown};

pub(crate) const CHECKS: [Check; 2] = [
    ("links_of_every_class_of_pods_and_hosts_through_services_too", "", || of_variant("client", of_every_class)),
    ("links_of_pods_by_vxlan_against_native_in_blocks", "vxlan", || of_variant("client", by_vxlan_against_native)),
];

/// Where agents take flows, which Services lead to.
const PORT: &str = "5301";

/// Of nodes, and of pods.
const NETWORKS: &str = "10.231.80.0/24,10.232.0.0/16";

/// What nodes send at: tbf counts 14 bytes beside each IP packet, and a wire 38.
const LINK_BITS_PER_S: u64 = 200_000_000 * 1_514 / 1_538;

/// Payload of 1,398 bytes in the place of 1,448, on wires with an MTU of 1,500.
const FRAMING: f64 = 1_398.0 / 1_448.0;

/// How far a ratio on full links may be from what framing explains.
const WITHIN: f64 = 0.03;

/// Blocks, two after another of one arm, so that what changes with time meets both alike.
const BLOCKS: [&str; 6] = ["native", "vxlan", "vxlan", "native", "native", "vxlan"];

/// How often a run is begun, and how it ends where machines were lost (`docs/exit-codes.md`).
const TRIES: u32 = 3;
const MACHINES_LOST: i32 = 3;

/// Clients in pods, which are gone with the value.
struct Linked<'c> {
    cluster: &'c Cluster,
    fleet: PathBuf,
}

/// linerate in the network of the cluster, as its administrator.
fn ended(cluster: &Cluster, words: &str) -> Output {
    cluster.linerate(words).output().expect("the script runs")
}

/// What it says, which must end well.
fn run(cluster: &Cluster, words: &str) -> Result<String, Failed> {
    let output = ended(cluster, words);
    assert!(output.status.success(), "{words}: {}", shown(&output));
    Ok(String::from_utf8(output.stdout)?)
}

impl<'c> Linked<'c> {
    /// Pods on each node, and an agent in the network of each.
    fn up(cluster: &'c Cluster, more: &str) -> Result<Self, Failed> {
        let fleet = Path::new(env!("CARGO_TARGET_TMPDIR")).join("links.yaml");
        let linked = Linked { cluster, fleet };
        // Of a check that was killed.
        linked.down();
        let small = "--image linerate.local/linerate:test --instance links --cpu 50m --memory 32Mi --wait 10m";
        let path = linked.fleet.display();
        run(cluster, &format!("fleet up {small} --host-clients {NODES} {more} -o {path}"))?;
        println!("{}", fs::read_to_string(&linked.fleet)?);
        // Routes to pods, and what leads to Services, come after pods are ready.
        let check = format!("net --fleet {path} {} --visits 1 --duration 100ms --warmup 0s", linked.flags());
        eventually_within(LONG_TIMEOUT, "all pairs to reach each other", || {
            let folder = linked.folder("tried");
            let output = ended(cluster, &format!("{check} --streams 1 --json -o {folder}"));
            let view = serde_json::from_slice::<NetView>(&output.stdout).ok();
            view.is_some_and(|view| view.classes.iter().all(|of| of.failed == 0 && of.pairs > 0))
        });
        Ok(linked)
    }

    fn flags(&self) -> String {
        format!("--port {PORT} --network {NETWORKS} --yes-load")
    }

    /// A folder that is not there.
    fn folder(&self, name: &str) -> String {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("links-{name}"));
        let _ = fs::remove_dir_all(&folder);
        folder.display().to_string()
    }

    /// What a run says, and its report on standard output. Where four nodes share a processor, an agent may not answer
    /// for as long as is waited for: then once more.
    fn measured(&self, name: &str, more: &str) -> Result<(NetView, String), Failed> {
        let (fleet, flags) = (self.fleet.display(), self.flags());
        let begun = |attempt: u32| {
            let folder = self.folder(&format!("{name}-{attempt}"));
            (ended(self.cluster, &format!("net --fleet {fleet} {flags} {more} --json -o {folder}")), folder)
        };
        let is_whole = |(output, _): &(Output, String)| output.status.code() != Some(MACHINES_LOST);
        let (output, folder) = (1..TRIES).map(begun).find(is_whole).unwrap_or_else(|| begun(TRIES));
        assert!(output.status.success(), "{name}: {}", shown(&output));
        println!("{name}:\n{}", run(self.cluster, &format!("report {folder} --all"))?);
        Ok((serde_json::from_slice(&output.stdout)?, folder))
    }

    fn down(&self) {
        let output = ended(self.cluster, "fleet down --instance links");
        assert!(output.status.success(), "nothing is left of it: {}", shown(&output));
    }
}

impl Drop for Linked<'_> {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            self.down();
        }
    }
}

/// What each node sends has to wait for its link; what stays on one does not.
fn shape(cluster: &Cluster) {
    let rate = format!("{LINK_BITS_PER_S}bit");
    for node in 1..=NODES {
        let of_node = node.to_string();
        let shape = ["tbf", "rate", &rate, "burst", "256kb", "latency", "50ms"];
        let before = ["on", &of_node, "tc", "qdisc", "replace", "dev", "eth0", "root"];
        cluster.act(&before.into_iter().chain(shape).collect::<Vec<_>>());
    }
}

/// Gives agents the rendered values and those of an arm.
fn route(cluster: &Cluster, arm: &str) {
    let values = [cluster.path("cilium/values.yaml"), parts("overlay.yaml"), parts(&format!("links_{arm}.yaml"))];
    cluster.act(&["cilium"].into_iter().chain(values.iter().map(String::as_str)).collect::<Vec<_>>());
}

fn of_every_class(cluster: &Cluster) -> Result<(), Failed> {
    cluster.give("linerate.local/linerate:test", linerate().get_program(), NODES);
    route(cluster, "native");
    shape(cluster);
    let linked = Linked::up(cluster, &format!("--clients {} --service-port {PORT}", 2 * NODES))?;
    let flags = "--streams 2 --duration 1s --warmup 300ms --visits 3";
    let (view, _) = linked.measured("classes", &format!("{flags} --compare other/pod-pod=other/host-host"))?;
    let pairs: BTreeMap<String, u32> = view.classes.iter().map(|of| (of.class.to_string(), of.pairs)).collect();
    let expected = [
        ("other/host-host", 2),
        ("other/host-pod", 4),
        ("other/host-pod/service", 4),
        ("other/pod-host", 4),
        ("other/pod-pod", 8),
        ("other/pod-pod/service", 8),
        ("same/host-pod", 4),
        ("same/host-pod/service", 4),
        ("same/pod-host", 4),
        ("same/pod-pod", 4),
        ("same/pod-pod/service", 4),
    ];
    assert_eq!(pairs, expected.map(|(class, pairs)| (class.to_owned(), pairs)).into());
    let class = |word: &str| view.classes.iter().find(|of| of.class.to_string() == word).expect("it was counted");
    assert!(view.classes.iter().all(|of| of.failed == 0), "{:?}", view.warnings);
    // With native routing, what is between nodes is what their links carry, whoever is at either end.
    for of in view.classes.iter().filter(|of| !of.class.is_same) {
        let rate = of.per_s.expect("it has figures").mean;
        let share = 8.0 * rate / (200e6 * 1_448.0 / 1_538.0);
        assert!((0.8..=1.05).contains(&share), "{}: {share}", of.class);
        if let Some(to_host) = of.to_host {
            assert!((0.9..=1.1).contains(&to_host.ratio.mean), "{}: {to_host:?}", of.class);
        }
    }
    let [here, there] = ["same/pod-pod", "other/pod-pod"].map(|word| class(word).per_s.expect("figures").mean);
    assert!(here > 1.5 * there, "what stays on a node uses no link: {here}, {there}");
    let [against] = view.against.as_slice() else { return Err("one comparison".into()) };
    assert_eq!((against.costs.overlay_bytes, against.pairs.len()), (Some([0, 0]), 2), "{}", against.said);
    // The path of packets, and that a Service has no port for datagrams.
    let (paths, _) = linked.measured("paths", "--op mtu --duration 1s --visits 1")?;
    assert!(paths.remarks.iter().any(|remark| remark.contains("through Services are left out")), "{:?}", paths.remarks);
    Ok(())
}

/// A pair of a comparison, by what its names begin with.
fn pair<'f>(found: &'f NetComparison, from: &str, to: &str) -> Result<&'f NetPairRatio, Failed> {
    let is_it = |pair: &&NetPairRatio| pair.from == from && pair.to == to;
    Ok(found.pairs.iter().find(is_it).ok_or_else(|| format!("{from} to {to}: {found:?}"))?)
}

fn by_vxlan_against_native(cluster: &Cluster) -> Result<(), Failed> {
    cluster.give("linerate.local/linerate:test", linerate().get_program(), NODES);
    shape(cluster);
    let mut folders: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    let mut current: Option<(&str, Linked<'_>)> = None;
    for (number, arm) in (1..).zip(BLOCKS) {
        if current.as_ref().is_none_or(|(of, _)| *of != arm) {
            // Pods learn the MTU of their routes as they begin.
            drop(current.take());
            route(cluster, arm);
            current = Some((arm, Linked::up(cluster, &format!("--clients {NODES}"))?));
        }
        let (_, linked) = current.as_ref().expect("it is up");
        let flags = "--streams 2 --duration 2s --warmup 500ms --visits 3 --compare other/pod-pod=other/host-host";
        let (view, folder) = linked.measured(&format!("block-{number}-{arm}"), flags)?;
        folders.entry(arm).or_default().push(folder);
        let against = view.against.first().ok_or("a comparison")?;
        println!("block {number}, {arm}: {}", against.said);
        let is_overlay = arm == "vxlan";
        let overlay = if is_overlay { [50, 0] } else { [0, 0] };
        assert_eq!(against.costs.overlay_bytes, Some(overlay), "{arm}: {:?}", against.costs);
        // Not by its verdict: of three runs in which both are alike, one calls more by chance in 7 % of cases.
        let ratio = against.ratio.ok_or("a ratio")?.ratio.mean;
        assert!(is_overlay || ratio < 1.0 + WITHIN, "pods do not outdo hosts: {}", against.said);
    }
    drop(current);
    let [native, vxlan] = ["native", "vxlan"].map(|arm| folders[arm].join(","));
    println!("{}", run(cluster, &format!("compare {native} {vxlan}"))?);
    let found: NetComparison = serde_json::from_str(&run(cluster, &format!("compare {native} {vxlan} --json"))?)?;
    assert_eq!(found.blocks, Some(3));
    let of_class = |word: &str| found.streams.iter().find(|of| of.class.is_some_and(|of| of.to_string() == word));
    let of_pods = of_class("other/pod-pod").ok_or("pods are taken together")?;
    let ratio = of_pods.by_blocks.ok_or("each block has pods")?.ratio.mean;
    assert!((ratio / FRAMING - 1.0).abs() < WITHIN, "{}", of_pods.said);
    for (from, to) in [("n1", "n2"), ("n2", "n1")] {
        let of_pods = pair(&found, &format!("{from}-pod0"), &format!("{to}-pod0"))?;
        let of_hosts = pair(&found, &format!("{from}-host0"), &format!("{to}-host0"))?;
        let (pods, hosts) = (of_pods.ratio.mean, of_hosts.ratio.mean);
        println!("{from} to {to}: pods {pods:.4}, hosts {hosts:.4}, framing {FRAMING:.4}, {:?}", of_pods.costs);
        assert!((pods / FRAMING - 1.0).abs() < WITHIN, "{from} to {to}: {pods}");
        assert!((hosts - 1.0).abs() < WITHIN, "hosts are not encapsulated: {from} to {to}: {hosts}");
        assert_eq!(of_pods.costs.segment_bytes, [Some(1_398), Some(1_448)]);
        let known = [of_pods.costs.sender_busy_s_per_gib, of_pods.costs.receiver_busy_s_per_gib];
        assert!(known.iter().flatten().all(Option::is_some), "processor time of both sides: {:?}", of_pods.costs);
    }
    Ok(())
}
