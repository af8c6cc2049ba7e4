//! A client that is reached by SSH over a link that goes down in the middle of a point, while its own link to the
//! target stays: its load ends with its lease, its figures end with the last whole interval, and nothing of it is left.

use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use libtest_mimic::Failed;
use linerate_record::finding::{Finding, FindingKind};
use linerate_record::run::{Interval, Manifest, PointLine, Purpose};
use serde::de::DeserializeOwned;
use tempfile::tempdir;

use super::reached::Place;
use crate::running::{ACCESS_KEY, SECRET_KEY, files_below, linerate, shown, words};

pub(super) const NEEDS: &[&str] = &["root", "sshd", "ssh", "ssh-keygen", "ip"];

/// Where the target and the far client's sshd are.
const TARGET: &str = "10.231.78.1:9000";
const FAR: &str = "10.231.79.2";

/// How long a point is, and how soon an agent has to be gone that hears nothing more: its lease, and a second.
const POINT: Duration = Duration::from_secs(7);
const GONE_WITHIN: Duration = Duration::from_secs(3);

/// Three namespaces: of the target, of the coordinator with a client of its own, and of a client far away. Two links
/// lead to the target, and one from the coordinator to the far client. Gone with the value.
struct Spaces([String; 3]);

impl Spaces {
    fn make() -> Spaces {
        let name = |what: &str| format!("lr{what}{}", std::process::id() % 100_000);
        let spaces = Spaces(["t", "k", "f"].map(name));
        let [target, near, far] = &spaces.0;
        for space in &spaces.0 {
            ip(&format!("netns add {space}"));
            ip(&format!("-n {space} link set lo up"));
        }
        for (one, other, link, address) in [
            (target, near, "near", "10.231.78.1/30"),
            (target, far, "wide", "10.231.78.5/30"),
            (near, far, "line", "10.231.79.1/30"),
        ] {
            ip(&format!("-n {one} link add {link} type veth peer name {link} netns {other}"));
            let next = address.replace(".1/", ".2/").replace(".5/", ".6/");
            for (space, address) in [(one, address), (other, next.as_str())] {
                ip(&format!("-n {space} address add {address} dev {link}"));
                ip(&format!("-n {space} link set {link} up"));
            }
        }
        ip(&format!("-n {far} route add 10.231.78.1 via 10.231.78.5"));
        spaces
    }

    /// A command in the namespace of one; the program comes next.
    fn within(&self, space: usize) -> Command {
        let mut command = Command::new("ip");
        command.args(["netns", "exec", &self.0[space]]);
        command
    }
}

impl Drop for Spaces {
    fn drop(&mut self) {
        for space in &self.0 {
            let _ = Command::new("ip").args(["netns", "delete", space]).status();
        }
    }
}

fn ip(arguments: &str) {
    let output = Command::new("ip").args(words(arguments)).output().expect("ip runs");
    assert!(output.status.success(), "ip {arguments}: {}", shown(&output));
}

/// A process that ends when its input does, and at the latest with the value.
struct Served(Child);

impl Drop for Served {
    fn drop(&mut self) {
        drop(self.0.stdin.take());
        let _ = self.0.wait();
    }
}

fn with_keys(mut command: Command) -> Command {
    command.env("AWS_ACCESS_KEY_ID", ACCESS_KEY).env("AWS_SECRET_ACCESS_KEY", SECRET_KEY);
    command
}

/// Lines of a file, but for one that is not written to its end yet.
fn lines<T: DeserializeOwned>(path: &Path) -> Vec<T> {
    let text = fs::read_to_string(path).unwrap_or_default();
    text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
}

/// Intervals of a client in the point that is measured.
fn of_client(folder: &Path, client: u32) -> Vec<Interval> {
    let points: Vec<PointLine> = lines(&folder.join("points.jsonl"));
    let measured = points.iter().find_map(|line| match line {
        PointLine::Begin(begin) if begin.purpose == Purpose::Measure => Some(begin.point),
        _ => None,
    });
    let intervals: Vec<Interval> = lines(&folder.join("intervals.jsonl"));
    intervals.into_iter().filter(|one| Some(one.point) == measured && one.client == client).collect()
}

/// How many agents run from the cache of the far client.
fn far_agents(place: &Place) -> usize {
    let cache = place.path("cache-far");
    let processes = fs::read_dir("/proc").into_iter().flatten().flatten();
    processes
        .filter_map(|process| fs::read_link(process.path().join("exe")).ok())
        .filter(|exe| exe.starts_with(&cache))
        .count()
}

pub(super) fn ends() -> Result<(), Failed> {
    let (spaces, drive, mut place) = (Spaces::make(), tempdir()?, Place::make());
    let mut command = with_keys(spaces.within(0));
    command.arg(linerate().get_program()).args(["target", "embedded", "--listen", TARGET, "--drive"]).arg(drive.path());
    let _target = Served(command.stdin(Stdio::piped()).stdout(Stdio::null()).spawn()?);
    // Objects are files below the one folder that the target makes.
    let objects = || -> usize {
        let root = fs::read_dir(drive.path()).into_iter().flatten().flatten().next().expect("the target's folder");
        files_below(&root.path()).into_iter().filter(|name| name.contains("linerate-")).count()
    };

    let (keys, cache) = (place.path("client.pub"), place.path("cache-far"));
    let server = format!("AuthorizedKeysFile {}\nSetEnv XDG_CACHE_HOME={}\n", keys.display(), cache.display());
    let mut sshd = spaces.within(2);
    sshd.arg("/usr/sbin/sshd");
    let port = place.serve_at("far", FAR, &server, sshd, Some("host"));
    place.node_with("near", "here", "");
    place.node_with("far", &format!("ssh://root@{FAR}:{port}"), "");
    let folder = place.path("run");
    let flags = format!(
        "--op put --obj.size 4KiB --concurrent 2 --duration {}s --warmup 0s --threads 1 --no-ceiling \
         --noclear --yes-load",
        POINT.as_secs()
    );
    let mut bench = with_keys(spaces.within(1));
    bench.env("PATH", place.search_path()).env("LINERATE_STATE", place.path("state"));
    bench.arg(linerate().get_program()).args(["bench", "--host", TARGET]).args(words(&flags));
    bench.arg("--fleet").arg(place.fleet()).arg("-o").arg(&folder);
    let bench = bench.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?;

    let until = Instant::now() + Duration::from_secs(40);
    while of_client(&folder, 1).iter().map(Interval::length_ms).sum::<u64>() < 500 {
        assert!(Instant::now() < until, "the far client does not load: {}", shown(&bench.wait_with_output()?));
        std::thread::sleep(Duration::from_millis(50));
    }
    assert_eq!(far_agents(&place), 1, "it loads");
    ip(&format!("-n {} link set line down", spaces.0[1]));
    let (cut, cut_at) = (Instant::now(), SystemTime::now());
    while far_agents(&place) > 0 {
        assert!(cut.elapsed() < GONE_WITHIN, "the client that is cut off loads on");
        std::thread::sleep(Duration::from_millis(20));
    }
    println!("gone {:?} after the cut", cut.elapsed());
    let output = bench.wait_with_output()?;
    assert!(output.status.success(), "{}", shown(&output));
    is_reported(&folder, &shown(&output), cut_at)?;

    assert!(objects() > 0, "--noclear leaves what each wrote");
    let mut clean = with_keys(spaces.within(1));
    clean.env("LINERATE_STATE", place.path("state")).arg(linerate().get_program());
    let output = clean.arg("clean").arg(&folder).arg("--yes-load").output()?;
    assert!(output.status.success(), "{}", shown(&output));
    assert_eq!(objects(), 0, "what the client wrote that was cut off is gone too: {}", shown(&output));
    Ok(())
}

/// The finding says who was lost and when, and figures of that client end there.
fn is_reported(folder: &Path, text: &str, cut_at: SystemTime) -> Result<(), Failed> {
    let findings: Vec<Finding> = lines(&folder.join("findings.jsonl"));
    let lost: Vec<&Finding> = findings.iter().filter(|found| found.kind == FindingKind::ClientLost).collect();
    let [lost] = &lost[..] else { return Err(format!("one client is lost: {findings:?}").into()) };
    assert!(lost.claim == "client far was lost" && text.contains("client far was lost"), "{lost:?}: {text}");
    let said = lost.evidence.split_once(" s after the run began: ").ok_or_else(|| lost.evidence.clone())?;
    let (at_s, why): (f64, &str) = (said.0.parse()?, said.1);
    assert!(why.contains("the agent froze"), "{why}");
    let (near, far) = (of_client(folder, 0), of_client(folder, 1));
    let long = |all: &[Interval]| all.iter().map(Interval::length_ms).sum::<u64>();
    let last = far.iter().map(|one| one.to_ms).max().ok_or("some of its intervals came")?;
    let run: Manifest = serde_json::from_slice(&fs::read(folder.join("run.json"))?)?;
    let cut_s = cut_at.duration_since(UNIX_EPOCH)?.as_secs_f64() - run.started_unix_ms as f64 / 1e3;
    let (near_ms, far_ms) = (long(&near), long(&far));
    println!("near {near_ms} ms, far {far_ms} ms up to {last} ms, cut at {cut_s:.1} s, lost at {at_s} s");
    assert!(near_ms >= POINT.as_millis() as u64 - 100, "{near:?}");
    assert!((500..6_000).contains(&far_ms), "{far:?}");
    // It was lost when a question of at most half a second later had no answer for two seconds, and nothing that it
    // told of comes after the cut. Intervals may come long behind what they are of: their room in the stream is small.
    assert!((1.8..3.5).contains(&(at_s - cut_s)), "{cut_s} {at_s}");
    assert!(last as f64 / 1e3 < cut_s, "{last} {cut_s}");
    // Whole ones: but for the last of a client that ends in time, all are of one length.
    let lengths: Vec<u64> = far.iter().map(Interval::length_ms).collect();
    assert!(lengths.iter().all(|length| length.abs_diff(lengths[0]) <= 60), "{lengths:?}");
    Ok(())
}
