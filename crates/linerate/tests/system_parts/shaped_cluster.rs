//! Clusters with shaped links do what `linerate plan` says of them, and `linerate explain` names what was planted.
//!
//! Each shape and each cause once in a test run, shapes two at a time: their links are far slower than the machine.
//! `make shapes` does them several times, one at a time, and keeps the figures.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::thread::{self, sleep};
use std::time::Duration;

use libtest_mimic::Failed;
use tempfile::{TempDir, tempdir};

use super::cluster::{BOTH_WAYS, Cluster, Described, Parts, Way, described, host};
use crate::judged::{Cause, ERROR_SHARE, Figure, Visit, explained, file_name, leaders, over_curves, rank, summary};
use crate::running::points;

/// As far as measured throughput may be from the curve.
const TOLERANCE: f64 = 0.1;

/// Objects to read, written while links are not shaped. Which nodes hold the data shards of an object follows from its
/// key: few objects would load nodes unevenly. No write is made again: a MinIO that has just started may refuse one and
/// undo it later, when what was written in its place is gone too.
const SEED: &str = "--op get --obj.size 4MiB --objects 240 --noclear --concurrent 8 --duration 1s --warmup 200ms";

/// How often objects are written until none was refused or lost.
const SEEDS_MAX: u32 = 3;

const READ: &str = "--op get --obj.size 4MiB --list-existing";

const WRITE: &str = "--op put --obj.size 4MiB";

/// What all figures of nodes are measured with, at one node each.
const AT_ONE_NODE: u32 = 8;

/// A cluster that nothing is wrong with.
#[derive(Clone, Copy)]
struct Shape {
    name: &'static str,
    parts: Parts,
    /// Of the link of each node, in each direction.
    rate_bits_per_s: u64,
    /// Of the client's, where it is shaped.
    client_bits_per_s: Option<u64>,
    /// What each node's drive writes, where it is held back.
    drive_bytes_per_s: Option<u64>,
    /// As it is described.
    mtu: u32,
}

const fn shape(name: &'static str, nodes: u32, drives: u32, parity: u32, rate_mbit_per_s: u64) -> Shape {
    let parts = Parts { nodes, drives, parity: Some(parity), disk_mib: None, layered: false };
    let rate_bits_per_s = rate_mbit_per_s * 1_000_000;
    Shape { name, parts, rate_bits_per_s, client_bits_per_s: None, drive_bytes_per_s: None, mtu: 1500 }
}

/// Shapes as MinIO makes them by itself, and others.
const HEALTHY: [Shape; 6] = [
    shape("4 nodes, 2+2", 4, 1, 2, 200),
    shape("6 nodes, 3+3", 6, 1, 3, 150),
    shape("2 nodes of 2 drives, 2+2", 2, 2, 2, 200),
    shape("4 nodes, 3+1", 4, 1, 1, 200),
    shape("5 nodes, 3+2", 5, 1, 2, 150),
    shape("4 nodes of 2 drives, 5+3", 4, 2, 3, 150),
];

/// What has causes planted: drives are devices, and the client has a link of its own.
const PLANTED: Shape = Shape {
    parts: Parts { nodes: 4, drives: 1, parity: Some(2), disk_mib: Some(2560), layered: false },
    client_bits_per_s: Some(1_000_000_000),
    ..shape("4 nodes on disks, 2+2", 4, 1, 2, 200)
};

/// The description of a cluster, in a file.
fn describe(shape: &Shape, folder: &Path) -> Result<PathBuf, Failed> {
    let text = described(&Described {
        parts: shape.parts,
        rate_bits_per_s: shape.rate_bits_per_s,
        mtu: shape.mtu,
        written_bytes_per_s: shape.drive_bytes_per_s.unwrap_or(2_000_000_000),
        clients: 1,
        client_bits_per_s: shape.client_bits_per_s.unwrap_or(10_000_000_000),
    });
    fs::create_dir_all(folder)?;
    let path = folder.join(format!("{}.yaml", file_name(shape.name)));
    fs::write(&path, text)?;
    Ok(path)
}

/// Seconds of warm-up, and those measured.
#[derive(Clone, Copy)]
struct Pace {
    of_node_s: (u32, u32),
    /// At all nodes, beside what each request in flight adds.
    of_all_s: (u32, u32),
}

/// For figures that are kept.
const LONG: Pace = Pace { of_node_s: (2, 5), of_all_s: (2, 8) };

/// For a test run.
const SHORT: Pace = Pace { of_node_s: (1, 2), of_all_s: (1, 1) };

/// A cluster with its objects, and a folder for what is measured.
struct Lab {
    shape: Shape,
    pace: Pace,
    cluster: Cluster,
    out: TempDir,
    /// Where the objects to read are.
    seeded: String,
    measured: u32,
}

impl Lab {
    fn start(shape: Shape, pace: Pace) -> Result<Lab, Failed> {
        let (cluster, out) = (Cluster::start(shape.parts), tempdir()?);
        let mut lab = Lab { shape, pace, cluster, out, seeded: String::new(), measured: 0 };
        lab.seed()?;
        lab.cluster.shape_all(shape.rate_bits_per_s);
        if let Some(rate) = shape.client_bits_per_s {
            lab.cluster.shape("client", &BOTH_WAYS, rate);
        }
        Ok(lab)
    }

    /// Writes the objects to read, and reads them for a second.
    fn seed(&mut self) -> Result<(), Failed> {
        let mut why = Vec::new();
        for nth in 1..=SEEDS_MAX {
            self.seeded = format!("--bucket seeded --prefix seed{nth}/");
            match self.bench(&self.cluster.hosts(), &format!("{SEED} {}", self.seeded)) {
                Ok(_) => return Ok(()),
                Err(failed) => why.push(failed.message().unwrap_or_default().to_owned()),
            }
            sleep(Duration::from_secs(5));
        }
        Err(why.join("\n").into())
    }

    /// Throughput of one point.
    fn bench(&mut self, hosts: &str, flags: &str) -> Result<f64, Failed> {
        self.measured += 1;
        let folder = self.out.path().join(self.measured.to_string());
        let view = self.cluster.bench(&folder, &format!("--host {hosts} {flags}"))?;
        let point = points(&view)[0];
        // Bytes count as they move: a slow node may end no request in a few seconds.
        if point.bytes_per_s.mean > 0.0 && point.error_count() == 0 {
            Ok(point.bytes_per_s.mean)
        } else {
            Err(format!("{flags}: {:.0} B/s, {:?}", point.bytes_per_s.mean, point.errors).into())
        }
    }

    /// One figure at some nodes. All requests in flight have ended once before it is measured.
    fn figure(&mut self, what: &str, hosts: &str, in_flight: u32) -> Result<Figure, Failed> {
        let load = if what.starts_with("get") { format!("{READ} {}", self.seeded) } else { WRITE.to_owned() };
        let Pace { of_node_s, of_all_s } = self.pace;
        let (warmup_s, duration_s) =
            if what.contains('@') { of_node_s } else { (of_all_s.0 + in_flight / 8, of_all_s.1 + in_flight / 4) };
        let mut measured = |duration_s| {
            self.bench(hosts, &format!("{load} --concurrent {in_flight} --warmup {warmup_s}s --duration {duration_s}s"))
        };
        // A node under a quota may take a while for its first bytes.
        let bytes_per_s = measured(duration_s).or_else(|_| measured(4 * duration_s))?;
        Ok(Figure { what: what.to_owned(), in_flight, bytes_per_s })
    }

    fn totals(&mut self, flights: &[u32]) -> Result<Vec<Figure>, Failed> {
        let hosts = self.cluster.hosts();
        let mut figures = Vec::new();
        for &in_flight in flights {
            for what in ["get", "put"] {
                figures.push(self.figure(what, &hosts, in_flight)?);
            }
        }
        Ok(figures)
    }

    fn of_nodes(&mut self) -> Result<Vec<Figure>, Failed> {
        let mut figures = Vec::new();
        for node in 1..=self.shape.parts.nodes {
            for what in ["get", "put"] {
                figures.push(self.figure(&format!("{what}@node{node}"), &host(node), AT_ONE_NODE)?);
            }
        }
        Ok(figures)
    }
}

/// How often, and where figures are kept.
struct Keeping {
    visits: u32,
    /// Shapes and causes with this in their names alone.
    only: String,
    folder: Option<PathBuf>,
}

impl Keeping {
    fn requested() -> Result<Keeping, Failed> {
        let visits = std::env::var("LINERATE_SHAPES").ok().map(|text| text.parse()).transpose()?;
        let folder = std::env::var_os("LINERATE_SHAPES_OUT").map(PathBuf::from);
        let only = std::env::var("LINERATE_SHAPES_ONLY").unwrap_or_default();
        Ok(Keeping { visits: visits.unwrap_or(1), only, folder })
    }

    /// Shapes that are measured at a time. With causes planted, what a second cluster takes is too much like one.
    fn at_a_time(&self) -> usize {
        if self.folder.is_some() { 1 } else { 2 }
    }

    fn pace(&self) -> Pace {
        if self.folder.is_some() { LONG } else { SHORT }
    }

    fn sites(&self, otherwise: &Path) -> PathBuf {
        self.folder.as_deref().unwrap_or(otherwise).join("sites")
    }

    /// What came of it so far.
    fn summarise(&self) -> Result<(), Failed> {
        let Some(folder) = &self.folder else { return Ok(()) };
        Ok(fs::write(folder.join("summary.md"), summary(folder, |site, visit| explained(site, visit, 16))?)?)
    }

    fn keep(&self, visit: &Visit) -> Result<(), Failed> {
        use std::io::Write as _;
        let Some(folder) = &self.folder else { return Ok(()) };
        let path = folder.join("figures.jsonl");
        let mut file = fs::OpenOptions::new().append(true).create(true).open(path)?;
        writeln!(file, "{}", serde_json::to_string(visit)?)?;
        Ok(())
    }
}

/// Every shape that nothing is wrong with is explained as it is described, and runs as the curve says.
pub(crate) fn healthy() -> Result<(), Failed> {
    let keeping = Keeping::requested()?;
    let flights: &[u32] = if keeping.folder.is_some() { &[4, 16, 64] } else { &[16] };
    let mut wrong = Vec::new();
    for visit in 1..=keeping.visits {
        let shapes = Mutex::new(HEALTHY.into_iter().filter(|shape| shape.name.contains(&keeping.only)));
        wrong.extend(side_by_side(keeping.at_a_time(), || {
            let mut wrong = Vec::new();
            while let Some(shape) = next_of(&shapes) {
                wrong.extend(runs_by_the_curve(shape, visit, flights, &keeping)?);
            }
            Ok(wrong)
        })?);
    }
    keeping.summarise()?;
    if wrong.is_empty() { Ok(()) } else { Err(wrong.join("\n").into()) }
}

/// What is wrong with a visit to a shape, measured and kept.
fn runs_by_the_curve(shape: Shape, visit: u32, flights: &[u32], keeping: &Keeping) -> Result<Vec<String>, Failed> {
    let (mut lab, mut figures) = measured(shape, keeping.pace(), flights).or_else(|failed| {
        again(shape.name, &failed);
        measured(shape, keeping.pace(), flights)
    })?;
    let site = describe(&shape, &keeping.sites(lab.out.path()))?;
    let as_visit = |figures| Visit { shape: shape.name.to_owned(), planted: String::new(), visit, figures };
    let mut off = judged_alone(&site, &as_visit(figures.clone()))?;
    if keeping.folder.is_none() && !off.is_empty() {
        // What a busy machine does to one visit, it rarely does to most of three.
        figures = medians(&[figures, lab.totals(flights)?, lab.totals(flights)?]);
        off = judged_alone(&site, &as_visit(figures.clone()))?;
    }
    keeping.keep(&as_visit(figures))?;
    Ok(off)
}

/// What is wrong, of so many that work at a time.
fn side_by_side(many: usize, work: impl Fn() -> Result<Vec<String>, Failed> + Sync) -> Result<Vec<String>, Failed> {
    let ended: Vec<Result<Vec<String>, Failed>> = thread::scope(|scope| {
        let workers: Vec<_> = (0..many).map(|_| scope.spawn(&work)).collect();
        workers.into_iter().map(|worker| worker.join().unwrap_or_else(|_| Err("it panicked".into()))).collect()
    });
    Ok(ended.into_iter().collect::<Result<Vec<_>, Failed>>()?.concat())
}

/// Who works takes what comes next.
fn next_of<T>(all: &Mutex<impl Iterator<Item = T>>) -> Option<T> {
    all.lock().unwrap_or_else(std::sync::PoisonError::into_inner).next()
}

fn measured(shape: Shape, pace: Pace, flights: &[u32]) -> Result<(Lab, Vec<Figure>), Failed> {
    let mut lab = Lab::start(shape, pace)?;
    let figures = lab.totals(flights)?;
    Ok((lab, figures))
}

/// Says why a visit has no figures: it is made once more, since hours of others would be lost with it.
fn again(what: &str, failed: &Failed) {
    println!("{what}: measured again, after {}", failed.message().unwrap_or("no reason"));
}

/// What is wrong with a visit to a cluster that nothing is wrong with.
fn judged_alone(site: &Path, visit: &Visit) -> Result<Vec<String>, Failed> {
    let explanation = explained(site, visit, 16)?;
    let reported = format!("{}: {}", visit.name(), leaders(&explanation));
    let mut wrong = off_the_curve((site.to_owned(), visit.clone()))?;
    println!("{reported}");
    if rank(&explanation, None) != Some(1) {
        wrong.push(reported);
    }
    Ok(wrong)
}

/// The middle of each figure over an odd number of times that all were measured.
fn medians(times: &[Vec<Figure>]) -> Vec<Figure> {
    let middle = |at: usize, figure: &Figure| {
        let mut each: Vec<f64> = times.iter().map(|figures| figures[at].bytes_per_s).collect();
        each.sort_by(f64::total_cmp);
        Figure { bytes_per_s: each[each.len() / 2], ..figure.clone() }
    };
    times[0].iter().enumerate().map(|(at, figure)| middle(at, figure)).collect()
}

fn off_the_curve(kept: (PathBuf, Visit)) -> Result<Vec<String>, Failed> {
    let mut off = Vec::new();
    for row in over_curves(std::slice::from_ref(&kept))? {
        let (share, over) = (row.mean(), row.mean() / row.curve);
        let reported = format!(
            "{}: {} at {}: {share:.2} of the ceiling, {:+.1} % of the curve",
            kept.1.name(),
            row.what,
            row.in_flight,
            (over - 1.0) * 100.0
        );
        println!("{reported}");
        if (over - 1.0).abs() > TOLERANCE + ERROR_SHARE {
            off.push(reported);
        }
    }
    Ok(off)
}

/// Of what single visits to planted causes may come late: of eight in the kept runs one, the MTU (the test `shapes`); a
/// noisy machine may hide three others.
const LATE: u32 = 4;

/// Planted causes lead or are second, all but four of eight; of those that are kept, all but one.
pub(crate) fn planted() -> Result<(), Failed> {
    let keeping = Keeping::requested()?;
    let mut late = Vec::new();
    for visit in 1..=keeping.visits {
        let mut lab = Lab::start(PLANTED, keeping.pace())?;
        for cause in Cause::ALL.into_iter().filter(|cause| cause.name().contains(&keeping.only)) {
            late.extend(comes_late(cause, visit, &mut lab, &keeping)?);
        }
    }
    keeping.summarise()?;
    if late.len() as u32 <= LATE * keeping.visits { Ok(()) } else { Err(late.join("\n").into()) }
}

/// Says so where a planted cause neither leads nor is second.
fn comes_late(cause: Cause, visit: u32, lab: &mut Lab, keeping: &Keeping) -> Result<Option<String>, Failed> {
    let (site, visit) = with(cause, visit, lab, keeping).or_else(|failed| {
        again(cause.name(), &failed);
        *lab = Lab::start(PLANTED, keeping.pace())?;
        with(cause, visit, lab, keeping)
    })?;
    let explanation = explained(&site, &visit, 16)?;
    let place = rank(&explanation, Some(cause));
    let reported = format!("{}: {place:?} of {}", visit.name(), leaders(&explanation));
    println!("{reported}");
    Ok(place.is_none_or(|place| place > 2).then_some(reported))
}

/// Plants a cause, measures and lifts it.
fn with(cause: Cause, visit: u32, lab: &mut Lab, keeping: &Keeping) -> Result<(PathBuf, Visit), Failed> {
    let rate = lab.shape.rate_bits_per_s;
    let mut shape = lab.shape;
    let node3 = |lab: &Lab, ways: &[Way], rate| lab.cluster.shape("node3", ways, rate);
    let hold_drives = |lab: &Lab, third: Option<u64>, others: Option<u64>| {
        (1..=4).for_each(|node| lab.cluster.hold_drive(node, if node == 3 { third } else { others }));
    };
    match cause {
        Cause::SendsSlowly => node3(lab, &[Way::Sending], rate / 2),
        Cause::ReceivesSlowly => node3(lab, &[Way::Receiving], rate / 2),
        Cause::SlowDrive => {
            (shape.name, shape.drive_bytes_per_s) = ("4 nodes on slow disks, 2+2", Some(25_000_000));
            hold_drives(lab, Some(10_000_000), shape.drive_bytes_per_s);
        }
        Cause::Quota => lab.cluster.hold_cpu(3, Some(QUOTA_CORES)),
        Cause::Losses => lab.cluster.lose("node3", LOST),
        Cause::Mtu => (shape.name, shape.mtu) = ("4 nodes on disks and jumbo frames, 2+2", 9000),
        Cause::SlowClient => lab.cluster.shape("client", &BOTH_WAYS, 100_000_000),
        Cause::OneNode => {}
    }
    let site = describe(&shape, &keeping.sites(lab.out.path()))?;
    let all = if cause == Cause::OneNode { host(1) } else { lab.cluster.hosts() };
    let mut figures = vec![lab.figure("get", &all, 16)?, lab.figure("put", &all, 16)?];
    figures.extend(lab.of_nodes()?);
    let visit = Visit { shape: shape.name.to_owned(), planted: cause.name().to_owned(), visit, figures };
    keeping.keep(&visit)?;
    for figure in &visit.figures {
        println!("{}: {} at {}: {:.2} MB/s", cause.name(), figure.what, figure.in_flight, figure.bytes_per_s / 1e6);
    }
    match cause {
        Cause::SendsSlowly | Cause::ReceivesSlowly => node3(lab, &BOTH_WAYS, rate),
        Cause::SlowDrive => hold_drives(lab, None, None),
        Cause::Quota => lab.cluster.hold_cpu(3, None),
        Cause::Losses => lab.cluster.lose("node3", 0.0),
        Cause::SlowClient => lab.cluster.shape("client", &BOTH_WAYS, lab.shape.client_bits_per_s.ok_or("a rate")?),
        Cause::Mtu | Cause::OneNode => {}
    }
    Ok((site, visit))
}

/// What node 3 has of one processor under its quota.
const QUOTA_CORES: f64 = 0.04;

/// The share of packets that is lost on node 3's link.
const LOST: f64 = 0.05;
