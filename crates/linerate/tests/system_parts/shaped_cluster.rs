//! What a cluster with shaped links does is what follows from its links, and one slow link shows at its node.

use std::path::Path;

use libtest_mimic::Failed;
use tempfile::tempdir;

use super::cluster::{ALL_HOSTS, Cluster, NODES, host};
use crate::running::points;

/// As far as measured throughput may be from the expected.
const TOLERANCE: f64 = 0.1;

/// Objects to read, written while links are not shaped. Which nodes hold the data shards of an object follows from its
/// key: few objects would load nodes unevenly.
const SEED: &str = "--op get --obj.size 4MiB --objects 400 --bucket seeded --prefix seed/ --noclear --retries 20 \
                    --concurrent 8 --duration 1s --warmup 200ms";

/// Reads of those.
const READ: &str = "--op get --obj.size 4MiB --bucket seeded --prefix seed/ --list-existing --precision none";

/// Reads at all nodes. Each draws its nodes at random, so that with few in flight one link is full while another idles.
const READ_ALL: &str = "--concurrent 32 --warmup 4s --duration 14s";

/// Writes of new ones at all nodes, which are deleted when the point has ended. A write loads all nodes evenly.
const WRITE_ALL: &str = "--op put --obj.size 4MiB --precision none --concurrent 16 --warmup 3s --duration 12s";

/// Reads at one node, whose own link is what is full.
const READ_ONE: &str = "--concurrent 8 --warmup 2s --duration 6s";

/// Throughput in bytes per second at which the shaped links are full, for GET and PUT.
///
/// A token bucket counts the Ethernet header of a packet and what is behind it: 1,448 of 1,514 bytes are payload. Of
/// what a node answers it fetches 3/4 from others, each of which sends as much; of what it takes, two bytes for each
/// (two shards of data, two of parity) go to all nodes evenly, 3/4 of them over its link.
fn expected_bytes_per_s(rate_bits_per_s: u64) -> (f64, f64) {
    let nodes = f64::from(NODES);
    let link = rate_bits_per_s as f64 / 8.0 * 1448.0 / 1514.0;
    let remote = 1.0 - 1.0 / nodes;
    let written = 2.0;
    (nodes * link / (1.0 + remote), nodes * link / (1.0 + remote * written))
}

/// Throughput of one point.
fn measured(cluster: &Cluster, folder: &Path, flags: &str) -> Result<f64, Failed> {
    let view = cluster.bench(folder, flags)?;
    let point = points(&view)[0];
    assert!(point.requests > 0 && point.error_count() == 0, "{flags}: {:?}", point.errors);
    Ok(point.bytes_per_s.mean)
}

/// Measures one point within the tolerance of what is expected. Other work on the machine makes a cluster slower and
/// never faster: what is too slow is measured once more.
fn is_near(cluster: &Cluster, folder: &Path, flags: &str, expected: f64) -> Result<(), Failed> {
    let mut told = String::new();
    for visit in 1..=2 {
        let got = measured(cluster, &folder.join(format!("{visit}")), flags)?;
        let off = got / expected - 1.0;
        told = format!("{flags}: {:.1} MiB/s of {:.1} MiB/s, {:+.1} %", mib(got), mib(expected), off * 100.0);
        println!("{told}");
        assert!(off <= TOLERANCE, "{told}");
        if off >= -TOLERANCE {
            return Ok(());
        }
    }
    Err(format!("too slow twice: {told}").into())
}

pub(crate) fn links_hold_it() -> Result<(), Failed> {
    let (cluster, out) = (Cluster::start(), tempdir()?);
    measured(&cluster, &out.path().join("seed"), &format!("--host {ALL_HOSTS} {SEED}"))?;
    for rate in [200_000_000, 120_000_000] {
        cluster.shape_all(rate);
        let (get, put) = expected_bytes_per_s(rate);
        let folder = out.path().join(rate.to_string());
        is_near(&cluster, &folder.join("get"), &format!("--host {ALL_HOSTS} {READ} {READ_ALL}"), get)?;
        is_near(&cluster, &folder.join("put"), &format!("--host {ALL_HOSTS} {WRITE_ALL}"), put)?;
    }
    Ok(())
}

pub(crate) fn slow_link_shows() -> Result<(), Failed> {
    const RATE: u64 = 200_000_000;
    const SLOW: u32 = 3;
    let (cluster, out) = (Cluster::start(), tempdir()?);
    measured(&cluster, &out.path().join("seed"), &format!("--host {ALL_HOSTS} {SEED}"))?;
    cluster.shape_all(RATE);
    cluster.shape(SLOW, RATE / 2);
    let folder = out.path().join("all");
    let whole = measured(&cluster, &folder, &format!("--host {ALL_HOSTS} {READ} {READ_ALL}"))?;
    let get = |node: u32| {
        let folder = out.path().join(format!("node{node}"));
        measured(&cluster, &folder, &format!("--host {} {READ} {READ_ONE}", host(node)))
    };
    let nodes = (1..=NODES).map(get).collect::<Result<Vec<f64>, Failed>>()?;
    let told: Vec<f64> = nodes.iter().map(|&n| mib(n)).collect();
    println!("all: {:.1} MiB/s; each alone: {told:.1?} MiB/s", mib(whole));
    let (as_described, _) = expected_bytes_per_s(RATE);
    assert!(whole < 0.8 * as_described, "the slow link holds all: {whole}");
    let slow = nodes[SLOW as usize - 1];
    let others = (1..=NODES).filter(|&n| n != SLOW).map(|n| nodes[n as usize - 1]);
    assert!(others.clone().all(|other| other > 1.5 * slow), "node {SLOW}: {nodes:?}");
    Ok(())
}

fn mib(bytes: f64) -> f64 {
    bytes / f64::from(1 << 20)
}
