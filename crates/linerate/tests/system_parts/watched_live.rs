//! Four real MinIO nodes in namespaces under load, watched by `linerate explain --live` and by a real Prometheus: a
//! healthy cluster, and causes that are planted one at a time.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread::{self, ScopedJoinHandle, sleep};
use std::time::Duration;

use libtest_mimic::Failed;
use linerate_record::diagnosis::{Cause, Diagnosis};
use tempfile::tempdir;

use super::cluster::{BOTH_WAYS, Cluster, Described, Parts, Way, described, host};
use super::recorded;
use crate::running::{linerate, shown};

const NODES: u32 = 4;

/// Of each node's link, each way.
const RATE_BITS_PER_S: u64 = 200_000_000;

/// Of the client's link as it is described.
const CLIENT_BITS_PER_S: u64 = 1_000_000_000;

/// What each visit makes.
const PARTS: Parts = Parts { nodes: NODES, drives: 1, parity: Some(2), disk_mib: None, layered: false };

/// The same with drives that can be slow.
const ON_DISKS: Parts = Parts { disk_mib: Some(2560), layered: true, ..PARTS };

/// What a slow one writes.
const SLOW_BYTES_PER_S: u64 = 4_000_000;

/// What the site says of it.
const SITE: Described = Described {
    parts: PARTS,
    rate_bits_per_s: RATE_BITS_PER_S,
    mtu: 1500,
    written_bytes_per_s: 2_000_000_000,
    clients: 1,
    client_bits_per_s: CLIENT_BITS_PER_S,
};

/// How long nodes are read, and how long the load goes on around that.
const READ_S: u32 = 10;
const LOAD_S: u32 = READ_S + 6;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Plant {
    Healthy,
    SendsSlowly,
    ReceivesSlowly,
    SmallWindow,
    Quota,
    SlowClient,
    SlowDrive,
    Losses,
    Mtu,
    OneNode,
    OtherTraffic,
    Healing,
}

/// One case: what is planted, under which load, and what has to be said first of what was read live. Of what Prometheus
/// recorded, the same has to be, or nothing that is wrong.
struct Case {
    plant: Plant,
    name: &'static str,
    load: &'static str,
    in_flight: u32,
    cause: Option<Cause>,
    node: Option<&'static str>,
}

const fn case(
    plant: Plant,
    name: &'static str,
    load: &'static str,
    in_flight: u32,
    (cause, node): (Option<Cause>, Option<&'static str>),
) -> Case {
    Case { plant, name, load, in_flight, cause, node }
}

const CASES: [Case; 12] = [
    case(Plant::Healthy, "healthy-get", "get", 16, (Some(Cause::Full), None)),
    case(Plant::Healthy, "healthy-put", "put", 16, (Some(Cause::Full), None)),
    case(Plant::SendsSlowly, "sends-slowly", "get", 16, (Some(Cause::SlowLinkSending), Some("node3"))),
    case(Plant::ReceivesSlowly, "receives-slowly", "put", 16, (Some(Cause::SlowLinkReceiving), Some("node3"))),
    case(Plant::SmallWindow, "small-window", "get", 4, (Some(Cause::ReceiveWindow), None)),
    case(Plant::Quota, "quota", "put", 16, (Some(Cause::Quota), Some("node3"))),
    case(Plant::SlowClient, "slow-client", "get", 16, (Some(Cause::ClientLimit), None)),
    case(Plant::Losses, "losses", "get", 16, (Some(Cause::LossyLink), Some("node3"))),
    case(Plant::Mtu, "mtu", "get", 16, (Some(Cause::Mtu), Some("node3"))),
    case(Plant::OneNode, "one-node", "get", 16, (Some(Cause::UnevenLoad), Some("node1"))),
    case(Plant::OtherTraffic, "other-traffic", "get", 4, (Some(Cause::OtherWork), Some("node3"))),
    // The last: MinIO fills the drive anew for as long as it takes.
    case(Plant::Healing, "healing", "get", 4, (Some(Cause::OtherWork), Some("node3"))),
];

/// Of clusters on disks.
const CASES_ON_DISKS: [Case; 1] =
    [case(Plant::SlowDrive, "slow-drive", "put", 16, (Some(Cause::SlowDrive), Some("node3")))];

/// A cluster with its objects, and where files are put.
struct Lab<'a> {
    cluster: &'a Cluster,
    folder: &'a Path,
}

impl Lab<'_> {
    fn begin(&self) -> Result<(), Failed> {
        let seed = "--op get --obj.size 4MiB --objects 240 --noclear --concurrent 8 --duration 1s --warmup 200ms \
                    --bucket seeded --prefix seed/";
        self.cluster.bench(&self.folder.join("seed"), &format!("--host {} {seed}", self.cluster.hosts()))?;
        self.cluster.shape_all(RATE_BITS_PER_S);
        self.cluster.shape("client", &BOTH_WAYS, CLIENT_BITS_PER_S);
        // `ip netns exec` would mount a /sys without control groups.
        let agent = format!("{} agent", env!("CARGO_BIN_EXE_linerate"));
        let text = format!(
            "nodes:
  - {{name: 'node{{1...4}}', role: storage, reach: 'exec:nsenter --net=/run/netns/node{{1...4}} {agent}'}}
  - {{name: client, role: client, reach: 'exec:nsenter --net=/run/netns/client {agent}'}}
"
        );
        fs::write(self.folder.join("fleet.yaml"), text)?;
        Ok(fs::write(self.folder.join("site.yaml"), described(&SITE))?)
    }

    fn ip(&self, who: &str, words: &str) -> Result<(), Failed> {
        let mut ip = Command::new("ip");
        ip.args(words.split(' '));
        let output = self.cluster.within(who, &ip).output()?;
        if output.status.success() { Ok(()) } else { Err(format!("ip {words}: {}", shown(&output)).into()) }
    }

    fn window(&self, bytes: &str) -> Result<(), Failed> {
        let mut shell = Command::new("sh");
        shell.args(["-c", &format!("echo '{bytes}' > /proc/sys/net/ipv4/tcp_rmem")]);
        let output = self.cluster.within("client", &shell).output()?;
        if output.status.success() { Ok(()) } else { Err(shown(&output).into()) }
    }

    /// Takes all of node 3's drive away. MinIO looks for such drives each ten seconds, and fills them anew.
    fn empty_drive(&self) -> Result<(), Failed> {
        let mut shell = Command::new("sh");
        shell.args(["-c", "rm -rf /run/node3/drive1/* /run/node3/drive1/.minio.sys"]);
        let output = self.cluster.alongside(&shell).output()?;
        sleep(Duration::from_secs(10));
        if output.status.success() { Ok(()) } else { Err(shown(&output).into()) }
    }

    /// Plants a cause, or lifts it.
    fn plant(&self, plant: Plant, is_on: bool) -> Result<(), Failed> {
        let node3 = |way: Way| {
            let rate = if is_on { RATE_BITS_PER_S / 2 } else { RATE_BITS_PER_S };
            self.cluster.shape("node3", &[way], rate);
        };
        match plant {
            Plant::Healthy | Plant::OneNode | Plant::OtherTraffic => {}
            Plant::Healing if is_on => self.empty_drive()?,
            Plant::Healing => {}
            Plant::SendsSlowly => node3(Way::Sending),
            Plant::ReceivesSlowly => node3(Way::Receiving),
            Plant::SmallWindow => self.window(if is_on { "4096 4096 4096" } else { "4096 131072 6291456" })?,
            Plant::Quota => self.cluster.hold_cpu(3, is_on.then_some(0.04)),
            Plant::SlowClient => {
                let rate = if is_on { CLIENT_BITS_PER_S / 10 } else { CLIENT_BITS_PER_S };
                self.cluster.shape("client", &BOTH_WAYS, rate);
            }
            Plant::SlowDrive => self.cluster.hold_drive(3, is_on.then_some(SLOW_BYTES_PER_S)),
            Plant::Losses => self.cluster.lose("node3", if is_on { 0.03 } else { 0.0 }),
            Plant::Mtu => self.ip("node3", &format!("link set eth0 mtu {}", if is_on { 1280 } else { 1500 }))?,
        }
        Ok(())
    }

    /// What is said while a load goes on: live, and of what was recorded meanwhile.
    fn judged(&self, case: &Case, visit: u32) -> Result<[Diagnosis; 2], Failed> {
        self.plant(case.plant, true)?;
        let other = (case.plant == Plant::OtherTraffic).then(|| self.other_traffic()).transpose()?;
        let name = format!("{}-{visit}", case.name);
        let said = thread::scope(|scope| {
            let load: ScopedJoinHandle<'_, Result<(), Failed>> = scope.spawn(|| self.load(case, &name));
            let begin = recorded::now();
            sleep(Duration::from_secs(3));
            let said = self.watched(case, &name);
            let loaded = load.join().unwrap_or_else(|_| Err("the load failed".into()));
            loaded.and(said).map(|said| (said, [begin, recorded::now()]))
        });
        drop(other);
        self.plant(case.plant, false)?;
        let (said, window) = said?;
        let kept = self.folder.join(format!("{name}.recorded.json"));
        Ok([said, recorded::diagnosed(self.cluster, &self.folder.join("site.yaml"), &kept, window)?])
    }

    /// Keeps what was read and recorded.
    fn keep(&self, into: &Path, name: &str) -> Result<(), Failed> {
        fs::create_dir_all(into)?;
        fs::copy(self.folder.join("site.yaml"), into.join("site.yaml"))?;
        for kept in [format!("{name}.json"), format!("{name}.recorded.json")] {
            fs::copy(self.folder.join(&kept), into.join(&kept))?;
        }
        Ok(())
    }

    fn load(&self, case: &Case, name: &str) -> Result<(), Failed> {
        let hosts = if case.plant == Plant::OneNode { host(1) } else { self.cluster.hosts() };
        let what = match case.load {
            "get" => "--op get --bucket seeded --prefix seed/ --list-existing",
            _ => "--op put",
        };
        let flags = format!(
            "--host {hosts} {what} --obj.size 4MiB --warmup 1s --concurrent {} --duration {LOAD_S}s",
            case.in_flight
        );
        self.cluster.bench(&self.folder.join(name), &flags).map(drop)
    }

    /// Reads and judges, and judges again what was kept.
    fn watched(&self, case: &Case, name: &str) -> Result<Diagnosis, Failed> {
        let (site, kept) = (self.folder.join("site.yaml"), self.folder.join(format!("{name}.json")));
        // In the client's network, which reaches MinIO's metrics, and with this machine's /sys.
        let mut requested = Command::new("nsenter");
        requested
            .args(["--net=/run/netns/client", env!("CARGO_BIN_EXE_linerate"), "explain"])
            .arg(&site)
            .arg("--live")
            .arg("--fleet")
            .arg(self.folder.join("fleet.yaml"));
        requested.args(["--yes-exec", "--for", &format!("{READ_S}s"), "--json", "--record"]).arg(&kept);
        if case.name == ENGINES_METRICS {
            for node in 1..=NODES {
                requested.arg("--engine-metrics").arg(format!("http://{}/minio/metrics/v3/api/requests", host(node)));
            }
        }
        let output = self.cluster.alongside(&requested).output()?;
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let diagnosis: Diagnosis = serde_json::from_str(&text).map_err(|_| shown(&output))?;
        if case.name == ENGINES_METRICS {
            metrics_are_read(case, &diagnosis)?;
        }
        let replayed = linerate().arg("explain").arg(&site).arg("--json").arg("--replay").arg(&kept).output()?;
        if String::from_utf8_lossy(&replayed.stdout) != text {
            return Err(format!("replayed: {}\nand not: {text}", shown(&replayed)).into());
        }
        Ok(diagnosis)
    }

    /// A program at node 3 that sends to another machine than the clients, and who takes it.
    fn other_traffic(&self) -> Result<Vec<Other>, Failed> {
        let mut target = linerate();
        target.args(["target", "null", "--listen", "10.231.78.3:9999", "--threads", "1"]);
        let mut target = self.cluster.within("node3", &target);
        let target = target.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null()).spawn()?;
        sleep(Duration::from_secs(1));
        let mut load = linerate();
        let flags = format!(
            "bench --host 10.231.78.3:9999 --bucket other --op get --obj.size 1MiB --objects 4 --concurrent 8 \
             --warmup 0s --duration {}s --yes-load --no-ceiling --max-rate 12MB/s -o",
            LOAD_S + 4
        );
        load.args(flags.split(' ')).arg(self.folder.join(format!("other-{}", std::process::id())));
        load.env("AWS_ACCESS_KEY_ID", "other").env("AWS_SECRET_ACCESS_KEY", "other-secret");
        let mut load = self.cluster.within("c1", &load);
        let load = load.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn()?;
        Ok(vec![Other(load), Other(target)])
    }
}

/// A process that ends with the value.
struct Other(Child);

impl Drop for Other {
    fn drop(&mut self) {
        drop(self.0.stdin.take());
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// The case in which the engine's own metrics are read besides.
const ENGINES_METRICS: &str = "healthy-get";

/// Bytes and requests in flight come from the engine, of all nodes together.
fn metrics_are_read(case: &Case, diagnosis: &Diagnosis) -> Result<(), Failed> {
    let load = &diagnosis.load;
    let (get, in_flight) = (load.get_bytes_per_s.unwrap_or(0.0), load.in_flight.unwrap_or(0.0));
    let is_read = get > 0.3 * load.sent_bytes_per_s && get < load.sent_bytes_per_s && in_flight > 0.0;
    let is_less = in_flight <= f64::from(case.in_flight) + 1.0;
    let lacks = diagnosis.absent.iter().any(|absent| absent.metric.contains("inflight"));
    println!("by the engine's metrics: GET {get:.0} B/s, {in_flight:.2} requests in flight");
    if is_read && is_less && !lacks { Ok(()) } else { Err(format!("{load:?}, {:?}", diagnosis.caveats).into()) }
}

/// What is wrong with an answer; nothing where the planted one leads. What was recorded may not show it, and then has
/// to say that nothing does.
fn wrong(case: &Case, diagnosis: &Diagnosis, is_recorded: bool) -> Option<String> {
    let names: Vec<&str> = diagnosis.nodes.iter().map(|node| node.name.as_str()).collect();
    let clients: &[&str] = if is_recorded { &[] } else { &["client"] };
    if names != ["node1", "node2", "node3", "node4"] || diagnosis.clients != clients {
        return Some(format!("nodes {names:?}, clients {:?}", diagnosis.clients));
    }
    let first = diagnosis.suspects.first().filter(|first| first.weight > diagnosis.none_of_these);
    // What a scrape averages away does not show; that a link stays at a limit does.
    if is_recorded && first.is_none() && case.plant != Plant::SendsSlowly {
        return None;
    }
    let is_that =
        first.map(|first| first.cause) == case.cause && first.and_then(|first| first.node.as_deref()) == case.node;
    (!is_that).then(|| {
        let mut text = String::new();
        for suspect in &diagnosis.suspects {
            let _ = write!(text, "\n  {:.2} {:?} {}", suspect.weight, suspect.cause, suspect.claim);
        }
        format!("none of these {:.2}{text}", diagnosis.none_of_these)
    })
}

/// Causes with this in their names alone, how often each is planted, and where readings are kept.
struct Keeping {
    only: String,
    visits: u32,
    /// The number of the first.
    first: u32,
    folder: Option<PathBuf>,
}

fn keeping() -> Keeping {
    let number = |name: &str| std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(1);
    let folder = std::env::var_os("LINERATE_LIVE_OUT").map(PathBuf::from);
    Keeping {
        only: std::env::var("LINERATE_LIVE_ONLY").unwrap_or_default(),
        visits: number("LINERATE_LIVE_VISITS"),
        first: number("LINERATE_LIVE_FIRST"),
        folder,
    }
}

/// Of 26 answers of one visit, so many may be wrong: what others do on this machine may hide a cause. How many are, of
/// visits that are kept: `runs/live-2026-11-26`.
const MISSED_MOST: usize = 3;

/// What is planted leads what `explain --live` says; a healthy cluster is at its links' ceiling and has no odd node.
pub(crate) fn planted() -> Result<(), Failed> {
    let keeping = keeping();
    let (mut missed, mut answers) = (Vec::new(), 0);
    for visit in keeping.first..keeping.first + keeping.visits {
        let (more, wrong) = visited(&keeping, visit)?;
        answers += more;
        missed.extend(wrong);
    }
    println!("{} of {answers} answers are right", answers - missed.len());
    if missed.len() <= MISSED_MOST * keeping.visits as usize { Ok(()) } else { Err(missed.join("\n").into()) }
}

/// All causes in clusters of their own: how many answers there were, and which of them are wrong.
fn visited(keeping: &Keeping, visit: u32) -> Result<(usize, Vec<String>), Failed> {
    let (mut missed, mut answers) = (Vec::new(), 0);
    for (parts, cases) in [(PARTS, &CASES[..]), (ON_DISKS, &CASES_ON_DISKS)] {
        let cases: Vec<&Case> = cases.iter().filter(|case| case.name.contains(&keeping.only)).collect();
        if cases.is_empty() {
            continue;
        }
        let folder = tempdir()?;
        let cluster = Cluster::start_with(parts, 1);
        let lab = Lab { cluster: &cluster, folder: folder.path() };
        let _running = recorded::watch(&cluster, folder.path())?;
        lab.begin()?;
        // What is recorded of the first seconds of a window reaches back: into nothing here, and not into the seeding.
        sleep(Duration::from_secs(5));
        for case in cases {
            for (diagnosis, way) in lab.judged(case, visit)?.iter().zip(["live", "recorded"]) {
                answers += 1;
                let said = wrong(case, diagnosis, way == "recorded");
                if case.plant == Plant::SlowDrive && way == "live" {
                    // Nothing else on this machine can hide what a drive took.
                    said.clone().map_or(Ok(()), Err)?;
                }
                println!("{} {visit}, {way}: {}", case.name, said.as_deref().unwrap_or(&diagnosis.answer));
                missed.extend(said.map(|said| format!("{} {visit}, {way}: {said}", case.name)));
            }
            keeping.folder.iter().try_for_each(|into| lab.keep(into, &format!("{}-{visit}", case.name)))?;
        }
    }
    Ok((answers, missed))
}
