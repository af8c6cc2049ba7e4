//! Eight clients with links of their own load a cluster of four nodes as one: throughput grows with them as `linerate
//! plan` says until the nodes' links are full, every request is MinIO's too, and who is slow is seen.

use std::fs;
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::Duration;

use libtest_mimic::Failed;
use linerate_analysis::view::{Point, View};
use linerate_record::run::Op;
use tempfile::tempdir;

use super::cluster::{BOTH_WAYS, Cluster, Described, Parts, described};
use crate::judged::{ERROR_SHARE, Figure, Visit, over_curves};
use crate::running::{shown, view};

/// Clients, and numbers of them from which each point is driven.
const CLIENTS: u32 = 8;
const COUNTS: [u32; 4] = [1, 2, 4, 8];

const NODES: u32 = 4;
const PARTS: Parts = Parts { nodes: NODES, drives: 1, parity: Some(2), disk_mib: None, layered: false };

/// Of a node's link and of a client's: four clients have less than the nodes can send, and eight have more.
const NODE_BITS_PER_S: u64 = 200_000_000;
const CLIENT_BITS_PER_S: u64 = 100_000_000;

/// Requests in flight of each client.
const EACH: u32 = 8;

/// As far as measured throughput may be from the curve, beside what a figure varies by.
const TOLERANCE: f64 = 0.1;

const OBJECT_BYTES: u64 = 4 << 20;

const OBJECTS: u64 = 120;

/// The cluster with so many clients, in a file.
fn describe(folder: &Path, clients: u32) -> Result<PathBuf, Failed> {
    let text = described(&Described {
        parts: PARTS,
        rate_bits_per_s: NODE_BITS_PER_S,
        mtu: 1500,
        written_bytes_per_s: 2_000_000_000,
        clients,
        client_bits_per_s: CLIENT_BITS_PER_S,
    });
    let path = folder.join(format!("site{clients}.yaml"));
    fs::write(&path, text)?;
    Ok(path)
}

fn fleet(folder: &Path) -> Result<String, Failed> {
    let path = folder.join("fleet.yaml");
    fs::write(&path, format!("nodes:\n  - {{name: 'c{{1...{CLIENTS}}}', role: client, reach: 'netns://{{name}}'}}\n"))?;
    Ok(path.display().to_string())
}

/// A run from the clients that must end well.
fn run(cluster: &Cluster, folder: &Path, fleet: &str, flags: &str) -> Result<View, Failed> {
    let hosts = cluster.hosts();
    let flags = format!("--host {hosts} --fleet {fleet} --yes-load --no-ceiling {flags}");
    let output = cluster.bench_of(folder, &flags)?;
    if output.status.success() { Ok(view(folder)) } else { Err(format!("{flags}: {}", shown(&output)).into()) }
}

/// Bytes per second of a client in a point.
fn of_client(point: &Point, name: &str) -> Result<f64, Failed> {
    let own = point.clients.iter().find(|client| client.client == name);
    Ok(own.ok_or_else(|| format!("{name} is not in {:?}", point.clients))?.bytes_per_s)
}

/// Points from 1, 2, 4 and 8 clients, their sums against the plan; then one client's link at a third.
pub(crate) fn as_one() -> Result<(), Failed> {
    let (cluster, out) = (Cluster::start_with(PARTS, CLIENTS), tempdir()?);
    let fleet = fleet(out.path())?;
    cluster.shape_all(NODE_BITS_PER_S);
    (1..=CLIENTS).for_each(|n| cluster.shape(&format!("c{n}"), &BOTH_WAYS, CLIENT_BITS_PER_S));
    let flags = format!("--op get --obj.size 4MiB --objects {OBJECTS} --concurrent {EACH} --warmup 3s --duration 5s");
    let before = requests_of_the_cluster(&cluster)?;
    let grown = run(&cluster, &out.path().join("grown"), &fleet, &format!("{flags} --clients 1,2,4,8"))?;
    let after = requests_of_the_cluster(&cluster)?;
    equal_the_servers_counters(&grown, before, after);
    let points: Vec<&Point> = grown.series.iter().flat_map(|series| &series.points).collect();
    let mut wrong = Vec::new();
    for (point, clients) in points.iter().zip(COUNTS) {
        assert_eq!(point.concurrency, EACH * clients, "one point for each number of clients, in order");
        let figure = Figure { what: "get".to_owned(), in_flight: EACH * clients, bytes_per_s: point.bytes_per_s.mean };
        let visit =
            Visit { shape: format!("{clients} clients"), planted: String::new(), visit: 1, figures: vec![figure] };
        for row in over_curves(&[(describe(out.path(), clients)?, visit)])? {
            let over = row.mean() / row.curve;
            println!("{clients} clients: {:.1} MB/s, {over:.3} of the plan", point.bytes_per_s.mean / 1e6);
            if (over - 1.0).abs() > TOLERANCE + ERROR_SHARE {
                wrong.push(format!("{clients} clients: {over:.3} of the plan"));
            }
        }
    }
    let mean = |at: usize| points[at].bytes_per_s.mean;
    // Client links bind first, then those of the nodes.
    assert!((1.8..2.2).contains(&(mean(1) / mean(0))), "{} {}", mean(0), mean(1));
    assert!((1.7..2.2).contains(&(mean(2) / mean(1))), "{} {}", mean(1), mean(2));
    assert!(mean(3) / mean(2) < 1.7, "{} {}", mean(2), mean(3));

    cluster.shape("c3", &BOTH_WAYS, CLIENT_BITS_PER_S / 3);
    let slow = run(&cluster, &out.path().join("slow"), &fleet, &format!("{flags} --clients 4"))?;
    let point = slow.series.iter().flat_map(|series| &series.points).next().ok_or("a point")?;
    let third = of_client(point, "c3")?;
    for name in ["c1", "c2", "c4"] {
        let other = of_client(point, name)?;
        assert!((0.25..0.45).contains(&(third / other)), "{name}: {other}, c3: {third}");
    }
    if wrong.is_empty() { Ok(()) } else { Err(wrong.join("\n").into()) }
}

/// GETs and PUTs that all nodes counted, once their counters stand still: MinIO keeps them for ten seconds.
fn requests_of_the_cluster(cluster: &Cluster) -> Result<(u64, u64), Failed> {
    let requests_of_api = |text: &str, api: &str| -> u64 {
        let lines = text.lines().filter(|line| line.starts_with("minio_s3_requests_total") && line.contains(api));
        lines.filter_map(|line| line.rsplit(' ').next()?.parse::<f64>().ok()).sum::<f64>() as u64
    };
    let (mut before, mut same) = (None, 0);
    for _ in 0..120 {
        let text = cluster.requested(1, "/minio/v2/metrics/cluster")?;
        let now = (requests_of_api(&text, "api=\"getobject\""), requests_of_api(&text, "api=\"putobject\""));
        same = if before == Some(now) && text.contains("minio_") { same + 1 } else { 0 };
        before = Some(now);
        if same >= 24 {
            return Ok(now);
        }
        sleep(Duration::from_millis(500));
    }
    Err("MinIO's counters do not stand still".into())
}

/// What the run counts in all is exactly what the nodes counted: in intervals, beforehand, behind the last interval,
/// and given up in flight when a point ended.
fn equal_the_servers_counters(view: &View, before: (u64, u64), after: (u64, u64)) {
    let sent_by_op = |op: Op| *view.sent.iter().find(|sent| sent.op == op).expect("requests of it");
    let (gets, puts) = (sent_by_op(Op::Get), sent_by_op(Op::Put));
    println!("GETs: {gets:?}, {} of MinIO; PUTs: {puts:?}, {} of MinIO", after.0 - before.0, after.1 - before.1);
    assert_eq!((gets.failed, puts.failed, puts.dropped), (0, 0, 0));
    assert!(gets.dropped > 0, "reads are in flight when a point ends");
    assert_eq!(gets.total, after.0 - before.0, "GETs");
    assert_eq!(puts.total, after.1 - before.1, "PUTs");
    assert_eq!(gets.bytes, (gets.total - gets.dropped) * OBJECT_BYTES, "every byte of each request");
    assert_eq!((puts.alongside, puts.bytes), (OBJECTS, OBJECTS * OBJECT_BYTES), "each written once, by one client");
}
