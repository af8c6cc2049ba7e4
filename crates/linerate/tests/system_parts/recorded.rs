//! A real Prometheus that scrapes four real MinIO and a node_exporter in the namespace of each, and what `linerate
//! explain --prometheus` says of what it recorded.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use libtest_mimic::Failed;
use linerate_record::diagnosis::Diagnosis;

use super::cluster::Cluster;
use crate::running::{eventually_within, linerate, shown};

const NODES: u32 = 4;

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
pub(crate) struct Running(pub(super) Vec<Child>);

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
pub(crate) fn watch(cluster: &Cluster, folder: &Path) -> Result<Running, Failed> {
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

/// Now, in seconds since 1970, as `--from` and `--to` take it.
pub(crate) fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}

/// What was recorded of a window, judged at once, and again from the file that was kept: both have to say the same.
pub(crate) fn diagnosed(cluster: &Cluster, site: &Path, kept: &Path, window: [u64; 2]) -> Result<Diagnosis, Failed> {
    let mut requested = linerate();
    requested.arg("explain").arg(site).args(["--prometheus", &format!("http://{SERVER}"), "--json"]);
    requested.args(["--from", &window[0].to_string(), "--to", &window[1].to_string()]).arg("--record").arg(kept);
    let output = cluster.within("client", &requested).output()?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let diagnosis: Diagnosis = serde_json::from_str(&text).map_err(|_| shown(&output))?;
    let replayed = linerate().arg("explain").arg(site).arg("--json").arg("--replay").arg(kept).output()?;
    if String::from_utf8_lossy(&replayed.stdout) != text {
        return Err(format!("replayed: {}\nand not: {text}", shown(&replayed)).into());
    }
    Ok(diagnosis)
}
