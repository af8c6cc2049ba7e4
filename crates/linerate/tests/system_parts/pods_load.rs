//! Clients in pods of a real Kubernetes load a MinIO behind a Service as one: their counts are MinIO's, one is deleted
//! in the middle, the API server is restarted in the middle, and nothing is left.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::thread;
use std::time::Duration;

use libtest_mimic::Failed;
use linerate_record::finding::{Finding, FindingKind};
use linerate_record::run::{Interval, Op};
use serde::de::DeserializeOwned;
use tempfile::tempdir;

use super::kubernetes::{Kubernetes, ServedMinio};
use super::minio::keys;
use super::pods::{Fleet, LONG_TIMEOUT, reached};
use crate::running::{bench_command, eventually_within, linerate, shown, view};

const CLIENTS: u32 = 3;

const OBJECT_BYTES: u64 = 64 << 10;

/// Objects are listed and deleted too: bytes of a call, and of each object in one.
const CALLS_BYTES: u64 = 64 << 10;
const LISTED_BYTES: u64 = 512;

/// What all runs have in common: figures need not be precise.
const LOAD: &str = "--obj.size 64KiB --objects 40 --concurrent 2 --warmup 500ms --no-ceiling \
                    --yes-load --quiet";

/// How long the API server is down, in seconds, beside the time that it takes to begin.
const DOWN_S: &str = "2";

/// A place to run benches from: the network of the Kubernetes, as its administrator.
struct Ground<'k> {
    kubernetes: &'k Kubernetes,
    fleet: Fleet<'k>,
    minio: ServedMinio<'k>,
    out: PathBuf,
}

/// One deployment for all of it: what takes time is to bring it up.
pub(crate) fn loads() -> Result<(), Failed> {
    Kubernetes::shared(|kubernetes| {
        let out = tempdir()?;
        let fleet = Fleet::up(kubernetes, "loads", "--clients 3")?;
        let pods = fleet.pods();
        let on = |node: &str| pods.iter().filter(|pod| pod.ends_with(node)).count();
        assert!(pods.len() == 3 && on("n1") >= 1 && on("n2") >= 1, "{pods:?}");
        let minio = kubernetes.begin_minio();
        let ground = Ground { kubernetes, fleet, minio, out: out.path().to_owned() };
        ground.counts_as_minio_counts()?;
        ground.goes_on_without_a_pod_that_is_deleted()?;
        ground.goes_on_while_the_api_server_is_restarted()?;
        ground.fleet.down()
    })
}

impl Ground<'_> {
    fn command(&self, name: &str, flags: &str) -> (Command, PathBuf) {
        let folder = self.out.join(name);
        let (address, fleet) = (&self.minio.address, self.fleet.path.display());
        let flags = format!("--host {address} --fleet {fleet} {LOAD} {flags}");
        (self.inside(&bench_command(&folder, &flags, &keys())), folder)
    }

    /// A plain run. All requests are those that MinIO counted; so are bytes, but for those of lists and of other calls,
    /// and for what MinIO had handed to its kernel of reads that were dropped.
    fn counts_as_minio_counts(&self) -> Result<(), Failed> {
        self.minio.make_bucket("counted");
        let (mut command, folder) = self.command("plain", "--bucket counted --op get,put --clients 1,3 --duration 2s");
        let output = command.output()?;
        assert!(output.status.success(), "{}", shown(&output));
        assert_eq!(self.objects(), Vec::<String>::new(), "the run cleared");
        let view = view(&folder);
        // Its counters are cached for ten seconds once they are asked for: this is the first time.
        let metrics = ["bucket", "cluster"].map(|of| self.minio.get(&format!("/minio/v2/metrics/{of}")));
        let metrics: String = metrics.into_iter().flatten().collect();
        let metric = |name: &str, label: &str| {
            let line = metrics.lines().find(|line| line.starts_with(name) && line.contains(label));
            line.and_then(|line| line.rsplit(' ').next()?.parse::<f64>().ok()).map_or(0, |value| value as u64)
        };
        let sent = |op: Op| view.sent.iter().find(|sent| sent.op == op).ok_or("no requests of it");
        let (gets, puts, bucket) = (sent(Op::Get)?, sent(Op::Put)?, "bucket=\"counted\"");
        let requests = |api: &str| metric("minio_s3_requests_total", api);
        let server = (requests("api=\"getobject\""), requests("api=\"putobject\""));
        let read = metric("minio_bucket_traffic_sent_bytes", bucket);
        let written = metric("minio_bucket_traffic_received_bytes", bucket);
        println!("{gets:?} {puts:?}; of MinIO: {server:?} requests, {read} bytes read, {written} written");
        assert!(gets.measured > 0 && puts.measured > 0 && gets.failed + puts.failed == 0);
        assert_eq!((gets.total, puts.total), server);
        assert_eq!((gets.bytes, puts.bytes), ((gets.total - gets.dropped) * OBJECT_BYTES, puts.total * OBJECT_BYTES));
        let alongside = CALLS_BYTES + puts.total * LISTED_BYTES;
        let least = gets.bytes + gets.dropped_bytes;
        assert!((least..=gets.bytes + gets.dropped * OBJECT_BYTES + alongside).contains(&read));
        assert!((puts.bytes..=puts.bytes + alongside).contains(&written));
        let points: Vec<_> = view.series.into_iter().flat_map(|series| series.points).collect();
        let driven: Vec<_> = points.iter().map(|point| (point.concurrency, point.driven_by)).collect();
        assert_eq!(driven, [(2, Some(1)), (6, Some(3)), (2, Some(1)), (6, Some(3))]);
        Ok(())
    }

    /// A pod that is deleted while it writes: the others go on, figures end where its last interval does, and what it
    /// wrote is found by `clean`.
    fn goes_on_without_a_pod_that_is_deleted(&self) -> Result<(), Failed> {
        let (command, folder) = self.command("deleted", "--op put --duration 8s --noclear");
        let (going, pods) = (Going::start(command)?, self.fleet.pods());
        let pod = pods[1].split(' ').next().ok_or("a name")?;
        self.until_loading(&folder, Duration::from_secs(4));
        self.kubernetes.kubectl(&["delete", "pod", "--namespace", "linerate", pod, "--wait=false"]);
        let output = going.end()?;
        assert!(output.status.success(), "{}", shown(&output));
        let findings: Vec<Finding> = lines(&folder.join("findings.jsonl"))?;
        let lost: Vec<&Finding> = findings.iter().filter(|found| found.kind == FindingKind::ClientLost).collect();
        let [lost] = &lost[..] else { return Err(format!("{findings:?}").into()) };
        println!("{}: {}", lost.claim, lost.evidence);
        let parts = [" s after the run began: ", "a signal ended the agent"];
        assert!(lost.claim == "client client1 was lost" && parts.iter().all(|part| lost.evidence.contains(part)));
        let intervals: Vec<Interval> = lines(&folder.join("intervals.jsonl"))?;
        let until = |client| intervals.iter().filter(|i| i.client == client).map(|i| i.to_ms).max().unwrap_or(0);
        let mut ends: Vec<u64> = (0..CLIENTS).map(until).collect();
        ends.sort_unstable();
        assert!(ends[1] >= ends[0] + 1_500 && ends[1].abs_diff(ends[2]) < 500, "one ends before the others: {ends:?}");
        let view = view(&folder);
        let point = &view.series[0].points[0];
        println!("measured for {} ms; the last intervals end at {ends:?} ms", point.measured_ms);
        assert_eq!(point.driven_by, Some(CLIENTS));
        assert!((2_500..6_500).contains(&point.measured_ms) && point.requests > 0, "{} ms", point.measured_ms);
        assert_ne!(self.objects(), Vec::<String>::new(), "the run was told to leave them");
        let mut clean = linerate();
        clean.envs(keys()).arg("clean").arg(&folder).arg("--yes-load");
        let output = self.inside(&clean).output()?;
        assert!(output.status.success(), "{}", shown(&output));
        assert_eq!(self.objects(), Vec::<String>::new(), "{}", shown(&output));
        Ok(())
    }

    /// All streams break and are attached again; nobody is lost, and of each client all is told.
    fn goes_on_while_the_api_server_is_restarted(&self) -> Result<(), Failed> {
        eventually_within(LONG_TIMEOUT, "the client that was deleted to be there again", || {
            thread::sleep(Duration::from_millis(500));
            self.fleet.check(None).is_ok_and(|found| reached(&found) == CLIENTS as usize)
        });
        let (command, folder) = self.command("restarted", "--op get --duration 12s");
        let going = Going::start(command)?;
        self.until_loading(&folder, Duration::from_secs(1));
        self.kubernetes.act(&["restart-api", DOWN_S]);
        let output = going.end()?;
        assert!(output.status.success(), "{}", shown(&output));
        let findings: Vec<Finding> = lines(&folder.join("findings.jsonl")).unwrap_or_default();
        assert!(findings.iter().all(|found| found.kind != FindingKind::ClientLost), "{findings:?}");
        let view = view(&folder);
        let point = &view.series[0].points[0];
        println!("measured for {} ms by {:?} of {CLIENTS}", point.measured_ms, point.driven_by);
        assert!(point.driven_by == Some(CLIENTS) && point.measured_ms >= 11_000, "{:?}", point.driven_by);
        assert_eq!(self.objects(), Vec::<String>::new(), "the run cleared");
        Ok(())
    }

    fn inside(&self, inner: &Command) -> Command {
        super::wrapped(self.kubernetes.inside(Path::new("env")), inner)
    }

    /// Waits until a point has been measured for so long.
    fn until_loading(&self, folder: &Path, length: Duration) {
        let begun = || fs::read_to_string(folder.join("points.jsonl")).is_ok_and(|text| text.contains("\"measure\""));
        eventually_within(LONG_TIMEOUT, "a point", begun);
        thread::sleep(length);
    }

    /// Objects in all buckets.
    fn objects(&self) -> Vec<String> {
        let buckets = self.minio.get("/").expect("MinIO answers");
        let of_bucket = |bucket: String| self.minio.get(&format!("/{bucket}?list-type=2")).expect("it lists");
        let listed = named(&buckets, "Name").into_iter().map(of_bucket);
        listed.flat_map(|listed| named(&listed, "Key")).collect()
    }
}

/// A run that goes on.
struct Going(Child);

impl Going {
    fn start(mut command: Command) -> Result<Going, Failed> {
        Ok(Going(command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?))
    }

    fn end(self) -> Result<Output, Failed> {
        Ok(self.0.wait_with_output()?)
    }
}

/// Contents of the elements of an XML document that have a name.
fn named(document: &str, name: &str) -> Vec<String> {
    let begin = format!("<{name}>");
    let parts = document.split(&begin).skip(1);
    parts.filter_map(|part| part.split('<').next()).map(str::to_owned).collect()
}

fn lines<T: DeserializeOwned>(path: &Path) -> Result<Vec<T>, Failed> {
    let text = fs::read_to_string(path)?;
    text.lines().map(|line| serde_json::from_str(line).map_err(|error| format!("{error}: {line}").into())).collect()
}
