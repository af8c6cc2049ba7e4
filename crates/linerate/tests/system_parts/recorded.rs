//! A real Prometheus that scrapes four real MinIO and a node_exporter in the namespace of each: what `linerate explain
//! --prometheus` says of a healthy cluster, and of one with a link that is planted.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use libtest_mimic::Failed;
use linerate_record::diagnosis::{Cause, Diagnosis, OddKind};
use linerate_record::readings::ReadMeasure;
use tempfile::tempdir;

use super::cluster::{Cluster, Parts, Way};
use crate::running::{eventually_within, linerate, shown};

const NODES: u32 = 4;

/// Of each node's link, each way.
const RATE_BITS_PER_S: u64 = 200_000_000;

/// Where the server listens, in the client's namespace.
const SERVER: &str = "127.0.0.1:9090";

/// The folder with Debian's `prometheus` and `prometheus-node-exporter`, where they are unpacked.
pub(crate) fn unpacked() -> Option<PathBuf> {
    let has_both = |folder: &PathBuf| {
        ["prometheus", "prometheus-node-exporter"].iter().all(|name| folder.join("usr/bin").join(name).is_file())
    };
    std::env::var_os("PROMETHEUS").map(PathBuf::from).filter(has_both)
}

/// Processes that end with the value.
struct Running(Vec<Child>);

impl Drop for Running {
    fn drop(&mut self) {
        for child in &mut self.0 {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// An exporter at each node, and the server that scrapes them and MinIO each second. All namespaces share the machine's
/// processors: those are no node's own, and are not read.
fn watch(cluster: &Cluster, folder: &Path) -> Result<Running, Failed> {
    let programs = unpacked().ok_or("PROMETHEUS names no folder with both: make test-system unpacks it")?;
    let quiet = |mut command: Command| {
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        command.spawn()
    };
    let mut running = Running(Vec::new());
    for node in 1..=NODES {
        let mut exporter = Command::new(programs.join("usr/bin/prometheus-node-exporter"));
        exporter.args(["--web.listen-address=:9100", "--no-collector.cpu", "--no-collector.pressure"]);
        running.0.push(quiet(cluster.within(&format!("node{node}"), &exporter))?);
    }
    let targets = |port: u32| -> String {
        let one = |node| format!("  - targets: ['10.231.78.{node}:{port}']\n    labels: {{instance: node{node}}}\n");
        (1..=NODES).map(one).collect()
    };
    let config = folder.join("prometheus.yml");
    let text = format!(
        "global: {{scrape_interval: 1s, scrape_timeout: 1s}}\nscrape_configs:\n- job_name: node\n  static_configs:\n{}\
         - job_name: minio\n  metrics_path: /minio/metrics/v3/api/requests\n  static_configs:\n{}",
        targets(9100),
        targets(9000)
    );
    fs::write(&config, text)?;
    let mut server = Command::new(programs.join("usr/bin/prometheus"));
    server.arg(format!("--config.file={}", config.display()));
    server.arg(format!("--storage.tsdb.path={}", folder.join("data").display()));
    server.args([&format!("--web.listen-address={SERVER}"), "--log.level=error"]);
    running.0.push(quiet(cluster.within("client", &server))?);
    let is_up = || {
        let mut curl = Command::new("curl");
        let query = "query=count(up==1)";
        curl.args(["--silent", "--max-time", "2", "--data-urlencode", query, &format!("http://{SERVER}/api/v1/query")]);
        let all = format!("\"{}\"", 2 * NODES);
        cluster.within("client", &curl).output().is_ok_and(|output| shown(&output).contains(&all))
    };
    eventually_within(Duration::from_secs(30), "Prometheus to scrape all", is_up);
    Ok(running)
}

fn describe(folder: &Path) -> Result<PathBuf, Failed> {
    // A token bucket counts the Ethernet header and what is behind it; a link's speed is told of all on the wire.
    let speed = RATE_BITS_PER_S as f64 * 1538.0 / 1514.0 / 1e6;
    let text = format!(
        "nodes:
  name: node
  count: {NODES}
  sockets: 1
  cores: 2
  memory: 8GiB
  drives: {{count: 1, capacity: 2560MiB, read: 4GB/s, write: 2GB/s, lanes: 0}}
  nics: {{name: eth0, speed: {speed:.3}Mb/s}}
planes:
  public: {{link: eth0, mtu: 1500}}
clients: {{count: 1, speed: 10Gb/s}}
entry: client-side
engine: {{product: minio, protection: EC:2, tls: false, internal_tls: false}}
data: {{object_size: 4MiB}}
"
    );
    let path = folder.join("site.yaml");
    fs::write(&path, text)?;
    Ok(path)
}

/// A load of GET, and what was recorded of it: judged at once, and again from the file that was kept.
fn diagnosed(cluster: &Cluster, folder: &Path, name: &str) -> Result<Diagnosis, Failed> {
    let now = || SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
    let begin = now();
    let flags = "--op get --obj.size 4MiB --bucket seeded --prefix seed/ --list-existing --precision none --warmup 1s \
                 --concurrent 16 --duration 17s";
    cluster.bench(&folder.join(name), &format!("--host {} {flags}", cluster.hosts()))?;
    let (site, kept) = (describe(folder)?, folder.join(format!("{name}.json")));
    let mut asked = linerate();
    asked.arg("explain").arg(&site).args(["--prometheus", &format!("http://{SERVER}"), "--json"]);
    asked.args(["--from", &begin.to_string(), "--to", &now().to_string()]).arg("--record").arg(&kept);
    let output = cluster.within("client", &asked).output()?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let diagnosis: Diagnosis = serde_json::from_str(&text).map_err(|_| shown(&output))?;
    let replayed = linerate().arg("explain").arg(&site).arg("--json").arg("--replay").arg(&kept).output()?;
    if String::from_utf8_lossy(&replayed.stdout) != text {
        return Err(format!("replayed: {}\nand not: {text}", shown(&replayed)).into());
    }
    let said = linerate().arg("explain").arg(&site).arg("--replay").arg(&kept).output()?;
    println!("{name}:\n{}", shown(&said));
    Ok(diagnosis)
}

/// A healthy cluster is at its links' ceiling, and no node of it is odd beyond what a load does; a link that sends at
/// half of its speed is named first, from what was recorded alone.
pub(crate) fn a_slow_link_is_named() -> Result<(), Failed> {
    let cluster = Cluster::start(Parts { nodes: NODES, drives: 1, parity: Some(2), disk_mib: None });
    let folder = tempdir()?;
    let _running = watch(&cluster, folder.path())?;
    let seed = "--op get --obj.size 4MiB --objects 240 --noclear --concurrent 8 --duration 1s --warmup 200ms --bucket \
                seeded --prefix seed/";
    cluster.bench(&folder.path().join("seed"), &format!("--host {} {seed}", cluster.hosts()))?;
    cluster.shape_all(RATE_BITS_PER_S);
    let healthy = diagnosed(&cluster, folder.path(), "healthy")?;
    let names: Vec<&str> = healthy.nodes.iter().map(|node| node.name.as_str()).collect();
    if names != ["node1", "node2", "node3", "node4"] || healthy.unheard != 0 {
        return Err(format!("nodes: {names:?}").into());
    }
    if let Some(named) = healthy.suspects.iter().find(|suspect| suspect.node.is_some()) {
        return Err(format!("a healthy cluster has a suspect: {named:?}").into());
    }
    cluster.shape("node3", &[Way::Sending], RATE_BITS_PER_S / 2);
    let planted = diagnosed(&cluster, folder.path(), "planted")?;
    let first = planted.suspects.first().ok_or("no suspect at all")?;
    let is_steady =
        planted.odd.iter().any(|odd| odd.of == OddKind::Steadiness(ReadMeasure::LinkSent) && odd.node == "node3");
    if first.cause != Cause::SlowLinkSending || first.node.as_deref() != Some("node3") || !is_steady {
        return Err(format!("planted at node3, and named: {first:?}").into());
    }
    Ok(())
}
