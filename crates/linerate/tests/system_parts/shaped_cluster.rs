//! What a cluster with shaped links does is what `linerate plan` says of it, and `linerate explain` names the node
//! whose link is slow.

use std::path::{Path, PathBuf};

use libtest_mimic::Failed;
use linerate_record::explanation::Explanation;
use linerate_record::plan::{Plan, Resource};
use tempfile::tempdir;

use super::cluster::{ALL_HOSTS, Cluster, NODES, host};
use crate::running::{linerate, points, shown};

/// As far as measured throughput may be from the plan.
const TOLERANCE: f64 = 0.1;

/// Objects to read, written while links are not shaped. Which nodes hold the data shards of an object follows from its
/// key: few objects would load nodes unevenly.
const SEED: &str = "--op get --obj.size 4MiB --objects 400 --bucket seeded --prefix seed/ --noclear --retries 20 \
                    --concurrent 8 --duration 1s --warmup 200ms";

/// Reads of those.
const READ: &str = "--op get --obj.size 4MiB --bucket seeded --prefix seed/ --list-existing --precision none";

/// Reads at all nodes. Each draws its nodes at random, so that with few in flight one link is full while another idles.
fn read_all(times: u32) -> String {
    format!("--concurrent 32 --warmup {}s --duration {}s", 4 * times, 14 * times)
}

/// Writes of new ones at all nodes, which are deleted when the point has ended. A write loads all nodes evenly.
fn write_all(times: u32) -> String {
    let (warmup, duration) = (3 * times, 12 * times);
    format!("--op put --obj.size 4MiB --precision none --concurrent 16 --warmup {warmup}s --duration {duration}s")
}

/// Reads at one node, whose own link is what is full.
const READ_ONE: &str = "--concurrent 8 --warmup 2s --duration 6s";

/// What one figure varies by: half a minute of requests that draw their nodes at random, on a machine with other work.
const ERROR: &str = "5%";

/// Describes the cluster in a file.
fn site(folder: &Path, rate_bits_per_s: u64) -> Result<PathBuf, Failed> {
    // A token bucket counts the Ethernet header of a packet and what is behind it. On a wire, a checksum, the preamble
    // and the gap come with each, and a link's speed is told of all that.
    let speed_bits_per_s = rate_bits_per_s as f64 * 1538.0 / 1514.0;
    let text = format!(
        "nodes:
  name: node
  count: {NODES}
  sockets: 1
  cores: 2
  memory: 8GiB
  drives: {{count: 1, capacity: 2GiB, read: 4GB/s, write: 2GB/s, lanes: 0}}
  nics: {{name: eth0, speed: {:.3}Mb/s}}
planes:
  public: {{link: eth0, mtu: 1500}}
engine: {{product: minio, tls: false, internal_tls: false}}
data: {{object_size: 4MiB}}
",
        speed_bits_per_s / 1e6
    );
    let path = folder.join(format!("{rate_bits_per_s}.yaml"));
    std::fs::write(&path, text)?;
    Ok(path)
}

/// The ceilings of GET and PUT in bytes per second, which are the links'.
fn planned_bytes_per_s(site: &Path) -> Result<(f64, f64), Failed> {
    let output = linerate().arg("plan").arg(site).args(["--format", "json"]).output()?;
    assert!(output.status.success(), "{}", shown(&output));
    let plan: Plan = serde_json::from_slice(&output.stdout)?;
    let lowest = |read_share: f64, binds: Resource| {
        let work = plan.works.iter().find(|planned| planned.work.read_share == read_share).ok_or("both are planned")?;
        let first = work.ceilings.first().ok_or("something binds")?;
        assert_eq!(first.resource, binds, "{}", first.formula);
        Ok::<f64, Failed>(first.limit_bytes_per_s)
    };
    Ok((lowest(1.0, Resource::PublicEgress)?, lowest(0.0, Resource::PublicIngress)?))
}

/// Throughput of one point.
fn measured(cluster: &Cluster, folder: &Path, flags: &str) -> Result<f64, Failed> {
    let view = cluster.bench(folder, flags)?;
    let point = points(&view)[0];
    assert!(point.requests > 0 && point.error_count() == 0, "{flags}: {:?}", point.errors);
    Ok(point.bytes_per_s.mean)
}

/// Whether one point comes to within the tolerance of its plan. Other work on the machine makes a cluster slower and
/// never faster: what is too slow is measured once more.
fn is_near(cluster: &Cluster, folder: &Path, flags: &str, planned: f64) -> Result<bool, Failed> {
    for visit in 1..=2 {
        let got = measured(cluster, &folder.join(format!("{visit}")), flags)?;
        let off = got / planned - 1.0;
        let told = format!("{flags}: {:.1} MiB/s of {:.1} MiB/s, {:+.1} %", mib(got), mib(planned), off * 100.0);
        println!("{told}");
        assert!(off <= TOLERANCE, "{told}");
        if off >= -TOLERANCE {
            return Ok(true);
        }
    }
    Ok(false)
}

/// The plan holds at two rates. Its premise is that links are what is full: on a machine whose processors are, at the
/// highest rate, two lower ones are left, and a plan that is wrong of links is wrong at all.
pub(crate) fn runs_as_planned() -> Result<(), Failed> {
    let (cluster, out) = (Cluster::start(), tempdir()?);
    measured(&cluster, &out.path().join("seed"), &format!("--host {ALL_HOSTS} {SEED}"))?;
    let mut held = Vec::new();
    for (rate, times) in [(200_000_000, 1), (120_000_000, 1), (60_000_000, 2)] {
        cluster.shape_all(rate);
        let (get, put) = planned_bytes_per_s(&site(out.path(), rate)?)?;
        let folder = out.path().join(rate.to_string());
        let read = format!("--host {ALL_HOSTS} {READ} {}", read_all(times));
        let write = format!("--host {ALL_HOSTS} {}", write_all(times));
        if is_near(&cluster, &folder.join("get"), &read, get)? && is_near(&cluster, &folder.join("put"), &write, put)? {
            held.push(rate);
        }
        if held.len() == 2 {
            return Ok(());
        }
    }
    Err(format!("the plan holds at {held:?} bit/s only").into())
}

pub(crate) fn slow_link_is_named() -> Result<(), Failed> {
    const RATE: u64 = 200_000_000;
    const SLOW: u32 = 3;
    let (cluster, out) = (Cluster::start(), tempdir()?);
    measured(&cluster, &out.path().join("seed"), &format!("--host {ALL_HOSTS} {SEED}"))?;
    cluster.shape_all(RATE);
    cluster.shape(SLOW, RATE / 2);
    let all =
        |what: &str, flags: &str| measured(&cluster, &out.path().join(what), &format!("--host {ALL_HOSTS} {flags}"));
    let mut figures = vec![
        ("get".to_owned(), all("get", &format!("{READ} {}", read_all(1)))?),
        ("put".to_owned(), all("put", &write_all(1))?),
    ];
    for node in 1..=NODES {
        let folder = out.path().join(format!("node{node}"));
        let got = measured(&cluster, &folder, &format!("--host {} {READ} {READ_ONE}", host(node)))?;
        figures.push((format!("get@node{node}"), got));
    }
    let told: Vec<String> = figures.iter().map(|(what, got)| format!("{what}={:.3}MiB/s", mib(*got))).collect();
    let told = told.join(",");
    println!("{told}");
    let mut command = linerate();
    command.arg("explain").arg("--site").arg(site(out.path(), RATE)?).args(["--observed", &told, "--error", ERROR]);
    let output = command.args(["--format", "json"]).output()?;
    assert!(output.status.success(), "{}", shown(&output));
    let explanation: Explanation = serde_json::from_slice(&output.stdout)?;
    let weights: Vec<_> = explanation.survivors.iter().map(|h| (&h.id, h.weight)).collect();
    let first = explanation.survivors.first().ok_or("something survives")?;
    let names = |id: &str, value: &str| id == "slow-node-link" && value.starts_with(&format!("node{SLOW}:"));
    assert!(first.deviations.iter().any(|d| names(&d.id, &d.value)), "{told}: {weights:?}");
    println!("{weights:?}");
    Ok(())
}

fn mib(bytes: f64) -> f64 {
    bytes / f64::from(1 << 20)
}
