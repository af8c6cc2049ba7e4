//! The engine as it was rendered, untouched: a real MinIO on drives with XFS, on four nodes whose links are shaped, and
//! a fifth node for a client and in the place of one that is lost. Pods are joined by a bridge of each node and the
//! routes of a gateway: what Cilium does for them is looked at by the other checks.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use libtest_mimic::Failed;
use linerate_analysis::view::View;
use serde_json::Value;

use super::objects::{Client, Read};
use super::{Cluster, LONG_TIMEOUT, has, missing, parts, render, script, shared};
use crate::running::{bench_command, eventually_within, linerate, shown, view};

const NODES: usize = 4;

/// The node that has no drives of the engine at first.
const SPARE: u32 = 5;

/// The node that is lost, which is in the second rack.
const LOST: u32 = 3;

/// What is left of the engine then, counted from 0.
const OTHERS: [usize; 3] = [0, 1, 3];

/// A link of the site, which two processors can fill beside other work. `tbf` counts 14 bytes beside each IP packet and
/// a wire 38: this rate is as fast as that wire.
const SHAPED_BITS_PER_S: u64 = 100_000_000 * 1514 / 1538;

/// Objects that are there from the beginning, and that are written while a node is lost.
const KEPT: usize = 48;
const WRITTEN: usize = 12;

/// Requests in flight, which the plan has a prediction for.
const IN_FLIGHT: u64 = 16;

/// How far from the prediction a figure may be, and how often it is measured on a machine that does something else.
const TOLERANCE: f64 = 0.10;
const ATTEMPTS: usize = 3;

/// How long a node stays away: another pod would be evicted meanwhile.
const AWAY: Duration = Duration::from_secs(30);

/// After this, reads by other nodes fail no more: on a quiet machine they notice within a second.
const NOTICED: Duration = Duration::from_secs(10);

/// MinIO asks for the names of other nodes every 30 s where it is in a Kubernetes (`runDNSCache` in
/// `cmd/common-main.go`): until then, they do not find a pod that has another address.
const NAMES_REQUESTED: Duration = Duration::from_secs(40);

const UIDS: &str = "jsonpath={.items[*].metadata.uid}";

type Check = fn() -> Result<(), Failed>;

/// In this order: the last one loses a node for good.
pub(crate) const CHECKS: [(&str, Check); 4] = [
    ("minio_comes_up_on_the_nodes_that_were_computed", || shared("minio", start, as_computed)),
    ("minio_moves_what_the_plan_predicts_for_a_client_in_a_pod", || shared("minio", start, as_planned)),
    ("minio_is_read_while_a_node_crashes_and_nothing_is_lost", || shared("minio", start, crashes)),
    ("minio_heals_on_the_machine_that_replaces_another", || shared("minio", start, is_replaced)),
];

/// What this machine lacks for them, by name.
pub(crate) fn missing_for_minio() -> Vec<&'static str> {
    let mut lacks = missing();
    let is_program = |variable: &str| std::env::var_os(variable).is_some_and(|path| Path::new(&path).is_file());
    let has_xfs = fs::read_to_string("/proc/filesystems").is_ok_and(|kinds| kinds.contains("\txfs\n"));
    for (name, is_there) in [
        ("a MinIO", is_program("MINIO")),
        ("a CoreDNS", is_program("COREDNS")),
        ("mkfs.xfs", has("XFS", "sbin/mkfs.xfs")),
        ("XFS in the kernel", has_xfs),
    ] {
        lacks.extend((!is_there).then_some(name));
    }
    lacks
}

fn start(name: &'static str) -> Result<Cluster, String> {
    let began = Instant::now();
    let reported = |what: &str| println!("{:6.1} s {what}", began.elapsed().as_secs_f64());
    let rendered = render(name, "client");
    let environment = [("DRIVES", "2"), ("NAMES", "10.233.0.10")];
    let cluster = Cluster::hold(&format!("cluster-{name}"), rendered, ["nodes", &SPARE.to_string()], &environment)?;
    reported("control plane and kubelets");
    for (image, variable) in [("minio", "MINIO"), ("coredns", "COREDNS")] {
        let program = std::env::var(variable).unwrap_or_default();
        cluster.give(&format!("linerate.local/{image}:test"), program, SPARE);
    }
    reported("images are on all nodes");
    // First, so that nothing else is on the spare node, whose processors it asks for.
    applied(&cluster, "--filename", "load/clients.yaml");
    applied(&cluster, "--filename", "dns/coredns.yaml");
    for folder in ["priority", "storage", "engine"] {
        applied(&cluster, "--kustomize", folder);
    }
    cluster.kubectl(&["apply", "--validate=strict", "--filename", &secret(&cluster).display().to_string()]);
    cluster.kubectl(&["rollout", "status", "deployment/coredns", "--namespace=kube-system", "--timeout=180s"]);
    for namespace in ["minio", "linerate"] {
        cluster.kubectl(&["wait", "--for=condition=Ready", "pod", "--all", "--timeout=180s", "--namespace", namespace]);
    }
    let client = client(&cluster);
    eventually_within(LONG_TIMEOUT, "every node to serve", || (0..NODES).all(|node| client.serves(node)));
    reported("every node serves");
    (1..=NODES).for_each(|node| shape(&cluster, node));
    for client in [&client, &Client { bucket: "load", ..client.clone() }] {
        client.make_bucket().map_err(|error| error.to_string())?;
    }
    client.write(0..KEPT, &[0, 1, 2, 3]).map_err(|error| error.to_string())?;
    reported("objects are written");
    Ok(cluster)
}

fn applied(cluster: &Cluster, how: &str, part: &str) {
    cluster.kubectl(&["apply", "--validate=strict", how, &cluster.path(part)]);
}

/// The first credentials, which are drawn once.
fn secret(cluster: &Cluster) -> PathBuf {
    let path = cluster.folder.join("credentials.yaml");
    if !path.exists() {
        let mut command = linerate();
        command.arg("render").arg(site()).arg("--init-secrets").arg(&path);
        let output = command.output().expect("linerate runs");
        assert!(output.status.success(), "{}", shown(&output));
    }
    path
}

fn site() -> String {
    parts("sites/minio.yaml")
}

/// A client in the network of the control plane, which asks every node by its port.
fn client(cluster: &Cluster) -> Client {
    let text = fs::read_to_string(secret(cluster)).expect("it was written");
    let yaml_value = |key: &str| {
        let value = text.lines().find_map(|line| line.trim().strip_prefix(key)?.strip_prefix(": "));
        value.map(|value| value.trim_matches('"').to_owned()).expect("a key")
    };
    let port = "jsonpath={.spec.ports[0].nodePort}";
    let port = cluster.kubectl(&["get", "service", "minio", "--namespace=minio", "--output", port]);
    let port: u16 = port.parse().expect("a port");
    let nodes = (1..=NODES).map(|node| ([10, 231, 80, 10 + node as u8], port).into()).collect();
    let network = cluster.first().join("ns/net");
    Client { network, nodes, user: yaml_value("user"), password: yaml_value("password"), bucket: "kept" }
}

/// Both ways of a node's link: what it sends at its end, and what it receives at the switch's.
fn shape(cluster: &Cluster, node: usize) {
    let shape = |mut command: Command, device: &str| {
        command.args(["qdisc", "add", "dev", device, "root", "tbf", "rate", &format!("{SHAPED_BITS_PER_S}bit")]);
        // A bucket of 20 ms: what a sender on a busy machine misses while it waits for a processor.
        let output = command.args(["burst", "256kb", "latency", "50ms"]).output().expect("it runs");
        assert!(output.status.success(), "{}", shown(&output));
    };
    let mut sending = script();
    sending.arg("on").arg(&cluster.folder).arg(node.to_string()).arg("tc");
    shape(sending, "eth0");
    shape(cluster.inside("tc"), &format!("to-n{node}"));
}

/// The machine of each ordinal, as pods are.
fn machines(cluster: &Cluster) -> Vec<String> {
    let path = "jsonpath={range .items[*]}{.metadata.name} {.spec.nodeName}{\"\\n\"}{end}";
    let said = cluster.kubectl(&["get", "pods", "--namespace=minio", "--output", path]);
    let mut pods: Vec<(&str, &str)> = said.lines().filter_map(|line| line.split_once(' ')).collect();
    pods.sort_unstable();
    pods.into_iter().map(|(_, machine)| machine.to_owned()).collect()
}

fn as_computed(cluster: &Cluster) -> Result<(), Failed> {
    // Consecutive ordinals are in racks in turn: of a set of eight drives, no rack has more than four.
    assert_eq!(machines(cluster), ["n1", "n3", "n2", "n4"]);
    let volumes: Value = serde_json::from_str(&cluster.kubectl(&["get", "pv", "--output=json"]))?;
    let volumes = volumes["items"].as_array().ok_or("volumes")?;
    assert_eq!(volumes.len(), 2 * NODES);
    for volume in volumes {
        let (name, claim) = (volume["metadata"]["name"].as_str(), volume["spec"]["claimRef"]["name"].as_str());
        println!("{} {} by {}", name.unwrap_or_default(), volume["status"]["phase"], claim.unwrap_or_default());
        assert_eq!(volume["status"]["phase"], "Bound");
        assert!(volume["spec"]["claimRef"]["uid"].is_string(), "{name:?}");
        // The name is that of the claim with the machine behind it.
        assert_eq!(name.and_then(|name| Some(name.rsplit_once('-')?.0)), claim);
    }
    Ok(())
}

/// Bytes a second that the plan predicts for GET and PUT.
fn predicted() -> Result<[f64; 2], Failed> {
    let output = linerate().arg("plan").arg(site()).arg("--json").output()?;
    let plan: Value = serde_json::from_slice(&output.stdout)?;
    let predicted_rate = |share: f64| {
        let works = plan["works"].as_array()?;
        let curve = &works.iter().find(|work| work["work"]["read_share"] == share)?["curve"];
        curve["points"].as_array()?.iter().find(|point| point["in_flight"] == IN_FLIGHT)?["bytes_per_s"].as_f64()
    };
    Ok([predicted_rate(1.0).ok_or("a prediction for GET")?, predicted_rate(0.0).ok_or("a prediction for PUT")?])
}

/// A bench by the rendered client, from its pod.
fn bench(cluster: &Cluster, folder: &Path) -> Result<View, Failed> {
    let client = client(cluster);
    let port = client.nodes[0].port();
    let flags = format!(
        "--fleet {} --host 10.231.80.{{11...{}}}:{port} --bucket load --op get,put --obj.size 4MiB --objects 30 \
         --concurrent {IN_FLIGHT} --warmup 4s --duration 20s --retries 3 --timeout 60s \
         --no-ceiling --yes-load --quiet",
        cluster.path("load/fleet.yaml"),
        10 + NODES
    );
    let keys = [("AWS_ACCESS_KEY_ID", client.user), ("AWS_SECRET_ACCESS_KEY", client.password)];
    let bench = bench_command(folder, &flags, &keys);
    let mut command = cluster.inside(bench.get_program());
    command.args(bench.get_args()).envs(keys);
    let output = command.output()?;
    if output.status.success() { Ok(view(folder)) } else { Err(shown(&output).into()) }
}

fn as_planned(cluster: &Cluster) -> Result<(), Failed> {
    let (predicted, out) = (predicted()?, tempfile::tempdir()?);
    let mut best = [f64::INFINITY; 2];
    for attempt in 0..ATTEMPTS {
        let view = match bench(cluster, &out.path().join(attempt.to_string())) {
            Ok(view) => view,
            Err(error) => {
                println!("{}", error.message().unwrap_or("a bench failed"));
                continue;
            }
        };
        assert_eq!(view.series.len(), 2);
        for (i, name) in ["GET", "PUT"].into_iter().enumerate() {
            let measured = view.series[i].points.first().ok_or("a point")?.bytes_per_s.mean;
            let ratio = measured / predicted[i];
            let (measured, predicted) = (measured / f64::from(1 << 20), predicted[i] / f64::from(1 << 20));
            println!("{name}: {measured:.1} MiB/s of {predicted:.1} MiB/s predicted ({:.0} %)", 100.0 * ratio);
            if (ratio - 1.0).abs() < (best[i] - 1.0).abs() {
                best[i] = ratio;
            }
        }
        if best.iter().all(|ratio| (ratio - 1.0).abs() <= TOLERANCE) {
            return Ok(());
        }
    }
    Err(format!("GET and PUT as shares of what is predicted, each the nearest of {ATTEMPTS}: {best:?}").into())
}

/// Ends reads however what is done meanwhile ends.
struct Enough<'a>(&'a AtomicBool);

impl Drop for Enough<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Reads by all nodes while something is done after two seconds, and for two seconds more.
fn read_during(client: &Client, act: impl FnOnce(Instant) -> Result<(), Failed>) -> Result<Vec<Read>, Failed> {
    let (began, is_enough) = (Instant::now(), AtomicBool::new(false));
    thread::scope(|scope| {
        let reading = scope.spawn(|| client.read_until(KEPT, began, &is_enough));
        let enough = Enough(&is_enough);
        thread::sleep(Duration::from_secs(2));
        act(began)?;
        thread::sleep(Duration::from_secs(2));
        drop(enough);
        Ok(reading.join().map_err(|_| "reads panicked")??)
    })
}

fn crashes(cluster: &Cluster) -> Result<(), Failed> {
    let (client, lost) = (client(cluster), LOST.to_string());
    let pods = |path: &str| cluster.kubectl(&["get", "pods", "--namespace=minio", "--output", path]);
    let before = pods(UIDS);
    let (mut crashed, mut back) = (Duration::ZERO, Duration::ZERO);
    let reads = read_during(&client, |began| {
        crashed = began.elapsed();
        cluster.act(&["crash", &lost]);
        thread::sleep(AWAY);
        // Six of eight drives are enough for writes too.
        client.write(KEPT..KEPT + WRITTEN, &OTHERS)?;
        cluster.act(&["boot", &lost]);
        eventually_within(LONG_TIMEOUT, "the node to serve again", || (0..NODES).all(|node| client.serves(node)));
        back = began.elapsed();
        Ok(())
    })?;
    assert_eq!(pods(UIDS), before, "no pod was evicted");
    println!("n{LOST} was away from {:.1} s to {:.1} s", crashed.as_secs_f64(), back.as_secs_f64());
    let by = |is_lost: bool| reads.iter().filter(move |read| (read.node + 1 == LOST as usize) == is_lost);
    for (who, is_lost) in [("itself", true), ("others", false)] {
        let failed: Vec<&Read> = by(is_lost).filter(|read| read.failed.is_some()).collect();
        let last = failed.last().map_or(0.0, |read| read.at.saturating_sub(crashed).as_secs_f64());
        println!(
            "reads by {who}: {} of {} failed, the last of them begun {last:.1} s after the crash",
            failed.len(),
            by(is_lost).count()
        );
    }
    for read in &reads {
        let Some(error) = &read.failed else { continue };
        let is_excused = crashed <= read.at + Duration::from_secs(10)
            && read.at <= if read.node + 1 == LOST as usize { back } else { crashed + NOTICED };
        assert!(is_excused, "node {} at {:?}: {error}", read.node + 1, read.at);
    }
    let wrong = client.lost(KEPT + WRITTEN, &[0, 1, 2, 3])?;
    assert_eq!(wrong, Vec::<String>::new(), "every object by every node");
    println!("{} objects by each of {NODES} nodes: all as written", KEPT + WRITTEN);
    Ok(())
}

/// Descriptions of objects that are on a drive of a node: one for each object that has a shard there.
fn on_drive(cluster: &Cluster, node: u32, drive: u32) -> usize {
    let folder = format!("/var/lib/drives/{drive}/kept");
    let found = cluster.acted(&["at", &node.to_string(), "find", &folder, "-name", "xl.meta"]);
    String::from_utf8_lossy(&found.stdout).lines().count()
}

/// Follows what `render` says, with another machine in the place of one that never comes back.
fn is_replaced(cluster: &Cluster) -> Result<(), Failed> {
    let mut client = client(cluster);
    cluster.act(&["crash", &LOST.to_string()]);
    let pair = format!("n{LOST}=n{SPARE}");
    let mut render = linerate();
    render.arg("render").arg(site()).arg("-o").arg(&cluster.rendered);
    let output = render.args(["--variant", "client", "--replace", &pair]).output()?;
    let said = shown(&output);
    assert!(output.status.success(), "{said}");
    let commands: Vec<&str> = said.lines().filter_map(|line| line.trim().strip_prefix("kubectl ")).collect();
    assert_eq!(commands.len(), 4, "{said}");
    let began = Instant::now();
    for command in commands {
        println!("{command}");
        cluster.kubectl(&command.split(' ').collect::<Vec<_>>());
    }
    eventually_within(LONG_TIMEOUT, "the pod to run on the other machine", || {
        thread::sleep(Duration::from_secs(1));
        machines(cluster) == ["n1", "n5", "n2", "n4"]
    });
    println!("{:6.1} s the pod is on n{SPARE}", began.elapsed().as_secs_f64());
    let moved = Instant::now();
    client.nodes[LOST as usize - 1].set_ip([10, 231, 80, 10 + SPARE as u8].into());
    eventually_within(LONG_TIMEOUT, "every node to serve", || (0..NODES).all(|node| client.serves(node)));
    eventually_within(LONG_TIMEOUT, "both drives to have all objects", || {
        thread::sleep(Duration::from_secs(1));
        (1..=2).all(|drive| on_drive(cluster, SPARE, drive) >= KEPT)
    });
    println!("{:6.1} s its drives have all objects", began.elapsed().as_secs_f64());
    let nobody = Vec::<String>::new();
    assert_eq!(client.lost(KEPT, &[0, 1, 2, 3])?, nobody, "every object by every node");
    thread::sleep(NAMES_REQUESTED.saturating_sub(moved.elapsed()));
    // Of four shards that are needed, the other rack has four, two of them on the new machine.
    for node in ["1", "2"] {
        cluster.act(&["crash", node]);
    }
    thread::sleep(NOTICED);
    // The other nodes of the engine are those of the second rack.
    assert_eq!(client.lost(KEPT, &[2, 3])?, nobody, "every object without the first rack");
    println!("{KEPT} objects are as written, by each node and without the first rack");
    Ok(())
}
