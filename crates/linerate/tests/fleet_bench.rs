//! `linerate bench --fleet`, end to end: several agents of this machine load one target, are killed, stopped and
//! interrupted, and nothing is left of them or of what they wrote.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::Mutex;
use std::time::{Duration, Instant};

use linerate_record::finding::{Finding, FindingKind};
use linerate_record::reading::Reading;
use linerate_record::run::{InFlightRow, Interval, Manifest, PointLine, Purpose, StopReason};

use crate::hostile::server::{Hostile, Manner, Said};
use crate::running::agents::{Place, agents, bench, kill, loader};
use crate::running::{
    ACCESS_KEY, END, SECRET_KEY, Served, bound, eventually, files_below, linerate, lines, objects, shown, view, words,
};

fn run(place: &Place, fleet: &Path, target: &str, flags: &str) -> Output {
    bench(place, fleet, target, flags).output().expect("linerate runs")
}

fn manifest(run: &Path) -> Manifest {
    serde_json::from_str(&std::fs::read_to_string(run.join("run.json")).expect("a manifest")).expect("it reads")
}

/// Points that were measured, by their numbers.
fn measured(run: &Path) -> BTreeMap<u32, linerate_record::run::PointBegin> {
    let begins = lines::<PointLine>(&run.join("points.jsonl")).into_iter().filter_map(|line| match line {
        PointLine::Begin(begin) if begin.purpose == Purpose::Measure => Some((begin.point, begin)),
        _ => None,
    });
    begins.collect()
}

/// Why the first point ended.
fn stop_reason(run: &Path) -> Option<StopReason> {
    lines::<PointLine>(&run.join("points.jsonl")).into_iter().find_map(|line| match line {
        PointLine::End(end) => Some(end.ended),
        _ => None,
    })
}

/// `linerate clean` leaves nothing of a run.
fn assert_cleans(run: &Path, target: &Served) {
    let mut clean = linerate();
    clean.env("AWS_ACCESS_KEY_ID", ACCESS_KEY).env("AWS_SECRET_ACCESS_KEY", SECRET_KEY);
    let output = clean.arg("clean").arg(run).arg("--yes-load").output().expect("linerate runs");
    assert!(output.status.success(), "{}", shown(&output));
    assert_eq!(objects(target), Vec::<String>::new());
}

#[test]
fn several_agents_load_one_target_and_nothing_is_left_of_them() {
    let (place, drive) = (Place::make(), tempfile::tempdir().expect("a folder"));
    let target = Served::embedded(drive.path());
    let here = "{name: here, role: client, reach: here}".to_owned();
    let storage = "{name: s, role: storage, reach: 'ssh://nowhere.invalid'}".to_owned();
    let fleet = place.fleet(&[storage, loader(&place, "a"), here, loader(&place, "c")]);
    let flags = "--op get,put,mixed --obj.size 16KiB --concurrent 2 --clients 1,3 --duration 600ms --warmup 0s \
                 --objects 40 --threads 1 --verify";
    let output = run(&place, &fleet, &target.address, flags);
    assert!(output.status.success(), "{}", shown(&output));
    place.assert_over();
    assert_eq!(objects(&target), Vec::<String>::new());
    let folder = place.path("run");
    let manifest = manifest(&folder);
    let names: Vec<&str> = manifest.clients.iter().map(|client| client.name.as_str()).collect();
    assert_eq!(names, ["a", "here", "c"]);
    for client in &manifest.clients {
        let clock = client.clock.expect("its clock was compared");
        // It is the same clock, read by two processes as they began.
        assert!(clock.offset_ns.unsigned_abs() <= clock.bound_ns + 2_000_000 && client.threads == 1, "{client:?}");
    }
    let intervals: Vec<Interval> = lines(&folder.join("intervals.jsonl"));
    let points = measured(&folder);
    assert_eq!(points.len(), 6);
    for (number, begin) in &points {
        let own: Vec<&Interval> = intervals.iter().filter(|interval| interval.point == *number).collect();
        let clients: BTreeSet<u32> = own.iter().map(|interval| interval.client).collect();
        let count = begin.spec.clients.expect("it says how many");
        assert_eq!(clients, (0..count).collect(), "{begin:?}");
        assert_eq!(begin.spec.concurrency, 2 * count);
        let requests = |client| -> u64 {
            own.iter().filter(|i| i.client == client).flat_map(|i| i.whole_rows()).map(|row| row.requests).sum()
        };
        assert!(clients.iter().all(|client| requests(*client) > 0), "{begin:?}");
        let errors: u64 = own.iter().flat_map(|i| i.whole_rows()).flat_map(|row| row.errors.values()).sum();
        assert_eq!(errors, 0, "{begin:?}");
        // The same instant, by one clock.
        let first = |client| own.iter().filter(|i| i.client == client).map(|i| i.from_ms).min().expect("some");
        let firsts: Vec<u64> = clients.iter().map(|client| first(*client)).collect();
        assert!(firsts.iter().all(|at| at.abs_diff(firsts[0]) <= 100), "{firsts:?}");
    }
    // Of each client, its machine and its ceilings.
    let readings: Vec<Reading> = lines(&folder.join("readings.jsonl"));
    assert_eq!(readings.iter().map(|reading| reading.client).collect::<BTreeSet<_>>(), (0..3).collect());
    let view = view(&folder);
    assert!(view.ceilings.iter().all(|ceiling| ceiling.point.clients.len() == 3), "{:?}", view.ceilings.len());
    assert!(!view.ceilings.is_empty());
    for file in files_below(&folder) {
        let text = std::fs::read(folder.join(&file)).expect("a file");
        let text = String::from_utf8_lossy(&text);
        assert!(!text.contains(SECRET_KEY) && !text.contains(ACCESS_KEY), "{file}");
    }
}

#[test]
fn the_load_of_all_clients_goes_on_until_the_requests_of_each_have_ended() {
    /// The set of the client whose first write ends after one of another that came behind the end of the point, when
    /// that first write came, and whether such another came.
    static WRITES: Mutex<Option<(String, Instant, bool)>> = Mutex::new(None);
    let first_is_slow: Manner = |requested, _| {
        let set = requested.key.rsplit_once('/').filter(|_| requested.method == "PUT")?.0;
        let mut writes = WRITES.lock().expect("nobody panicked");
        let Some((slow, since, goes_on)) = &mut *writes else {
            *writes = Some((set.to_owned(), Instant::now(), false));
            return Some(Said::When(|| WRITES.lock().expect("nobody panicked").as_ref().is_some_and(|w| w.2)));
        };
        // The point is over after a second.
        *goes_on |= slow.as_str() != set && since.elapsed() >= Duration::from_secs(2);
        None
    };
    let (place, target) = (Place::make(), Hostile::serve(first_is_slow));
    let fleet = place.fleet(&[loader(&place, "a"), loader(&place, "b")]);
    let flags = "--op put --obj.size 4KiB --concurrent 1 --duration 1s --warmup 0s --threads 1 --no-ceiling";
    let output = run(&place, &fleet, &target.address, flags);
    place.assert_over();
    let writes = WRITES.lock().expect("nobody panicked").take();
    assert!(writes.is_some_and(|(_, _, goes_on)| goes_on), "no write of another came: {}", shown(&output));
    let ends = lines::<PointLine>(&place.path("run").join("points.jsonl")).into_iter();
    let in_flight: Vec<_> =
        ends.filter_map(|line| if let PointLine::End(end) = line { end.in_flight } else { None }).collect();
    assert_eq!(in_flight.len(), 1, "one point");
    let has_ended_well = |row: &InFlightRow| (row.failed, row.open) == (0, 0) && row.awaited.is_some();
    assert!(in_flight[0].iter().all(has_ended_well), "{in_flight:?}");
}

/// A run that goes on, with what it says kept.
struct Going {
    child: Child,
    folder: PathBuf,
}

impl Going {
    fn start(mut command: Command, folder: PathBuf) -> Going {
        let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("linerate starts");
        Going { child, folder }
    }

    /// Waits until a point is measured, and some of it has come.
    fn until_loading(&self) {
        self.until_measuring();
        std::thread::sleep(Duration::from_millis(1_500));
    }

    /// Waits until a point has begun.
    fn until_measuring(&self) {
        let until = Instant::now() + END;
        let file = self.folder.join("points.jsonl");
        let is_there = || std::fs::read_to_string(&file).is_ok_and(|text| text.contains("\"measure\""));
        while !is_there() {
            assert!(Instant::now() < until, "no point begins");
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    fn end(self) -> Output {
        self.child.wait_with_output().expect("it ends")
    }
}

const LONG: &str = "--op get --obj.size 4KiB --concurrent 2 --duration 5s --warmup 0s --objects 16 \
                    --threads 1 --no-ceiling";

/// Two clients that write for a minute, once both do.
fn two_that_write(place: &Place, target: &Served) -> Going {
    let fleet = place.fleet(&[loader(place, "a"), loader(place, "b")]);
    let flags = LONG.replace("--op get", "--op put").replace("5s", "60s");
    let going = Going::start(bench(place, &fleet, &target.address, &flags), place.path("run"));
    going.until_loading();
    going
}

#[test]
fn a_client_that_is_killed_or_stopped_is_told_and_the_rest_goes_on() {
    for signal in ["KILL", "STOP"] {
        let (place, target) = (Place::make(), Served::null());
        let fleet = place.fleet(&[loader(&place, "a"), loader(&place, "b")]);
        let going = Going::start(bench(&place, &fleet, &target.address, LONG), place.path("run"));
        going.until_loading();
        let pids = agents(&place);
        assert_eq!(pids.len(), 2, "{:?}", place.processes());
        kill(signal, pids[1]);
        let output = going.end();
        place.assert_over();
        assert!(output.status.success(), "{signal}: {}", shown(&output));
        let folder = place.path("run");
        let findings: Vec<Finding> = lines(&folder.join("findings.jsonl"));
        let lost: Vec<&Finding> = findings.iter().filter(|found| found.kind == FindingKind::ClientLost).collect();
        let part = if signal == "KILL" { "the agent ended" } else { "the agent froze" };
        assert!(
            matches!(&lost[..], [one] if one.evidence.contains(part) && one.claim.starts_with("client ")),
            "{signal}: {findings:?}"
        );
        assert!(shown(&output).contains("was lost"), "{}", shown(&output));
        // The other drove the point to its end.
        let intervals: Vec<Interval> = lines(&folder.join("intervals.jsonl"));
        let (point, _) = measured(&folder).into_iter().next().expect("a point");
        let intervals_of_client = |client| intervals.iter().filter(move |i| i.point == point && i.client == client);
        let long = |client| intervals_of_client(client).map(|i| i.length_ms()).sum::<u64>();
        assert!(long(0).max(long(1)) >= 4_900, "{} {}", long(0), long(1));
        assert!(long(0).min(long(1)) < 4_000, "{} {}", long(0), long(1));
    }
}

/// Two clients, the second by a name of the program of its own, by which its agent is known.
fn with_known_second(place: &Place) -> PathBuf {
    let own = place.path("linerate-b");
    std::os::unix::fs::symlink(&place.program, &own).expect("a link");
    let second = format!("{{name: b, role: client, reach: 'exec:exec {} agent --allow load'}}", own.display());
    place.fleet(&[loader(place, "a"), second])
}

fn kill_second(place: &Place) {
    signal_second(place, "KILL");
}

fn signal_second(place: &Place, signal: &str) {
    let of_second = |pid: &u32| {
        let args = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        String::from_utf8_lossy(&args).contains("linerate-b")
    };
    kill(signal, agents(place).into_iter().find(of_second).expect("the second agent"));
}

#[test]
fn a_client_that_is_lost_beside_a_point_is_not_told_as_a_part_of_it() {
    let (place, target) = (Place::make(), Served::null());
    let fleet = with_known_second(&place);
    let flags = LONG.to_owned() + " --clients 1,2";
    let going = Going::start(bench(&place, &fleet, &target.address, &flags), place.path("run"));
    going.until_loading();
    kill_second(&place);
    let output = going.end();
    place.assert_over();
    assert_eq!(output.status.code(), Some(0), "{}", shown(&output));
    let findings: Vec<Finding> = lines(&place.path("run").join("findings.jsonl"));
    let lost: Vec<&Finding> = findings.iter().filter(|found| found.kind == FindingKind::ClientLost).collect();
    assert!(matches!(&lost[..], [one] if one.claim == "client b was lost" && one.points.is_empty()), "{findings:?}");
}

/// A client that a signal ends drains, tells what it counted and says that it was ended: it was part of the point.
#[test]
fn a_client_that_a_signal_ends_is_told_with_its_point() {
    let (place, target) = (Place::make(), Served::null());
    let fleet = with_known_second(&place);
    let going = Going::start(bench(&place, &fleet, &target.address, LONG), place.path("run"));
    going.until_loading();
    signal_second(&place, "TERM");
    let output = going.end();
    place.assert_over();
    assert_eq!(output.status.code(), Some(0), "{}", shown(&output));
    let folder = place.path("run");
    let findings: Vec<Finding> = lines(&folder.join("findings.jsonl"));
    let lost: Vec<&Finding> = findings.iter().filter(|found| found.kind == FindingKind::ClientLost).collect();
    let (point, _) = measured(&folder).into_iter().next().expect("a point");
    assert!(matches!(&lost[..], [one] if one.claim == "client b was lost" && one.points == [point]), "{findings:?}");
    assert!(lost[0].evidence.contains("a signal ended the agent"), "{findings:?}");
    let ends = lines::<PointLine>(&folder.join("points.jsonl")).into_iter().find_map(|line| match line {
        PointLine::End(end) if end.point == point => Some(end),
        _ => None,
    });
    let end = ends.expect("the point ended");
    assert!(end.lost.iter().map(|lost| lost.client).eq([1]) && end.ended == StopReason::Duration, "{end:?}");
}

/// Times of a folder count from its start, however long its clients take to be met.
#[test]
fn a_run_begins_before_its_clients_are_met() {
    let (place, target) = (Place::make(), Served::null());
    let fleet = place.fleet(&[loader(&place, "a"), place.scripted("late", "sleep 3\nexec AGENT --allow load\n")]);
    let unix_ms = || {
        let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
        u64::try_from(since.expect("after 1970").as_millis()).expect("not yet")
    };
    let begun = unix_ms();
    let output = run(&place, &fleet, &target.address, &LONG.replace("5s", "500ms"));
    assert!(output.status.success(), "{}", shown(&output));
    let folder = place.path("run");
    let started = manifest(&folder).started_unix_ms;
    assert!((begun..begun + 2_000).contains(&started), "{begun} {started}");
    let first = measured(&folder).into_values().next().expect("a point");
    assert!(first.at_ms > 3_000, "{first:?}");
    let readings: Vec<Reading> = lines(&folder.join("readings.jsonl"));
    let (at_ms, at_unix_ms) =
        readings.iter().find_map(|reading| Some((reading.at_ms, reading.unix_ms?))).expect("a reading");
    assert!((started + at_ms).abs_diff(at_unix_ms) < 1_000, "{started} {at_ms} {at_unix_ms}");
}

#[test]
fn a_client_that_is_lost_while_it_writes_beforehand_is_the_reason_told() {
    let (place, drive) = (Place::make(), tempfile::tempdir().expect("a folder"));
    let target = Served::embedded(drive.path());
    let fleet = with_known_second(&place);
    let flags = LONG.replace("--objects 16", "--objects 3000 --max-rate 500/s");
    let going = Going::start(bench(&place, &fleet, &target.address, &flags), place.path("run"));
    eventually("some to be written", || objects(&target).len() > 200);
    kill_second(&place);
    let output = going.end();
    place.assert_over();
    let text = shown(&output);
    assert_eq!(output.status.code(), Some(3), "{text}");
    assert!(text.contains("error: client b was lost while it wrote objects beforehand: "), "{text}");
    assert!(!text.contains("--retries") && !text.contains("for reading"), "{text}");
    let findings: Vec<Finding> = lines(&place.path("run").join("findings.jsonl"));
    assert!(findings.iter().any(|found| found.kind == FindingKind::ClientLost), "{findings:?}");
    assert_eq!(objects(&target), Vec::<String>::new());
}

#[test]
fn a_run_that_requires_all_ends_with_the_first_that_is_lost() {
    let (place, target) = (Place::make(), Served::null());
    let fleet = place.fleet(&[loader(&place, "a"), loader(&place, "b")]);
    let flags = format!("{LONG} --require-all");
    let going = Going::start(bench(&place, &fleet, &target.address, &flags), place.path("run"));
    going.until_loading();
    let begun = Instant::now();
    kill("KILL", agents(&place)[0]);
    let output = going.end();
    assert!(begun.elapsed() < bound(Duration::from_secs(4)), "{:?}", begun.elapsed());
    place.assert_over();
    assert_eq!(output.status.code(), Some(3), "{}", shown(&output));
    assert!(shown(&output).contains("--require-all ends the run with it"), "{}", shown(&output));
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    let run = place.path("run").display().to_string();
    assert!(errors.contains(&format!("with linerate report {run}")), "{errors}");
    assert_eq!(stop_reason(&place.path("run")), Some(StopReason::ClientsLost));
    let text = shown(&output);
    assert!(!text.contains("interrupted") && text.contains("a client that drove it was lost"), "{text}");
    let view = view(&place.path("run"));
    assert!(!view.run.complete && view.findings.iter().all(|f| f.kind != FindingKind::ClientMissing), "{text}");
}

#[test]
fn a_search_whose_clients_are_all_lost_is_neither_complete_nor_said_to_be_interrupted() {
    let (place, target) = (Place::make(), Served::null());
    let fleet = place.fleet(&[loader(&place, "a"), loader(&place, "b")]);
    let flags = LONG.replace("--concurrent 2", "--concurrent auto --max-concurrent 8");
    let going = Going::start(bench(&place, &fleet, &target.address, &flags), place.path("run"));
    going.until_loading();
    agents(&place).into_iter().for_each(|pid| kill("KILL", pid));
    let output = going.end();
    place.assert_over();
    let text = shown(&output);
    assert_eq!(output.status.code(), Some(3), "{text}");
    assert!(text.contains("every client was lost; ") && !text.contains("interrupted"), "{text}");
    let folder = place.path("run");
    assert!(!view(&folder).run.complete, "{text}");
    let points = lines::<PointLine>(&folder.join("points.jsonl"));
    let ends: Vec<StopReason> =
        points.iter().filter_map(|line| if let PointLine::End(end) = line { Some(end.ended) } else { None }).collect();
    assert_eq!(ends.last(), Some(&StopReason::ClientsLost));
    assert!(!points.iter().any(|line| matches!(line, PointLine::Searched(_))), "{points:?}");
}

#[test]
fn a_client_that_is_lost_at_once_leaves_the_figures_of_the_others_alone() {
    let (place, target) = (Place::make(), Served::null());
    let fleet = with_known_second(&place);
    // With a target that keeps nothing, Little's law holds of one client.
    let flags = LONG.replace("--obj.size 4KiB", "--obj.size 1MiB").replace("5s", "10s");
    let going = Going::start(bench(&place, &fleet, &target.address, &flags), place.path("run"));
    going.until_measuring();
    kill_second(&place);
    let output = going.end();
    place.assert_over();
    let (text, view) = (shown(&output), view(&place.path("run")));
    assert_eq!(output.status.code(), Some(0), "{text}");
    let point = &view.series[0].points[0];
    assert_eq!((point.driven_by, point.concurrency), (Some(1), 2), "{text}");
    let lost: Vec<&Finding> = view.findings.iter().filter(|f| f.kind == FindingKind::ClientLost).collect();
    assert!(matches!(&lost[..], [one] if one.remedy.contains("of the other clients alone")), "{lost:?}");
}

#[test]
fn an_agent_that_stands_still_in_an_open_loop_is_no_target_that_is_lost() {
    let (place, target) = (Place::make(), Served::null());
    let fleet = place.fleet(&[loader(&place, "a")]);
    let flags = LONG.to_owned() + " --rate 50/s";
    let going = Going::start(bench(&place, &fleet, &target.address, &flags), place.path("run"));
    going.until_loading();
    let pids = agents(&place);
    pids.iter().for_each(|pid| kill("STOP", *pid));
    std::thread::sleep(Duration::from_millis(1_450));
    pids.iter().for_each(|pid| kill("CONT", *pid));
    let output = going.end();
    place.assert_over();
    let text = shown(&output);
    assert!(!text.contains("the target was lost"), "{text}");
    assert_ne!(output.status.code(), Some(4), "{text}");
}

#[test]
fn an_interrupt_ends_all_with_what_was_measured_and_clears() {
    let (place, drive) = (Place::make(), tempfile::tempdir().expect("a folder"));
    let target = Served::embedded(drive.path());
    let going = two_that_write(&place, &target);
    kill("INT", going.child.id());
    let output = going.end();
    place.assert_over();
    assert_eq!(output.status.code(), Some(130), "{}", shown(&output));
    assert_eq!(objects(&target), Vec::<String>::new());
    let folder = place.path("run");
    let view = view(&folder);
    assert!(view.series.iter().any(|series| !series.points.is_empty()), "{}", shown(&output));
}

#[test]
fn nothing_runs_three_seconds_after_all_were_killed_and_clean_deletes_what_each_wrote() {
    let (place, drive) = (Place::make(), tempfile::tempdir().expect("a folder"));
    let target = Served::embedded(drive.path());
    let mut going = two_that_write(&place, &target);
    let begun = Instant::now();
    kill("KILL", going.child.id());
    going.child.wait().expect("it ends");
    place.assert_over();
    assert!(begun.elapsed() < bound(Duration::from_secs(3)), "{:?}", begun.elapsed());
    let left = objects(&target);
    let sets: BTreeSet<&str> = left.iter().filter_map(|name| name.rsplit('/').nth(1)).collect();
    assert!(sets.len() >= 2, "each client writes a set of its own: {sets:?}");
    assert_cleans(&place.path("run"), &target);
}

#[test]
fn agents_end_while_their_coordinator_is_stopped_and_it_tells_that_it_stood_still_and_names_none() {
    let (place, drive) = (Place::make(), tempfile::tempdir().expect("a folder"));
    let target = Served::embedded(drive.path());
    let going = two_that_write(&place, &target);
    assert_eq!(agents(&place).len(), 2, "{:?}", place.processes());
    kill("STOP", going.child.id());
    let stopped = Instant::now();
    while !agents(&place).is_empty() {
        assert!(stopped.elapsed() < bound(Duration::from_secs(3)), "it runs: {:?}", place.processes());
        std::thread::sleep(Duration::from_millis(20));
    }
    kill("CONT", going.child.id());
    let output = going.end();
    place.assert_over();
    let text = shown(&output);
    assert_eq!(output.status.code(), Some(3), "{text}");
    assert!(text.contains("the coordinator itself stood still") && text.contains("every client was lost"), "{text}");
    assert!(!text.contains("client a") && !text.contains("client b") && !text.contains("interrupted"), "{text}");
    let folder = place.path("run");
    assert_eq!(stop_reason(&folder), Some(StopReason::ClientsLost), "nobody drove it for its time");
    let blamed = view(&folder).findings;
    assert!(blamed.iter().all(|f| !matches!(f.kind, FindingKind::ClientLost | FindingKind::ClientMissing)), "{text}");
    assert_cleans(&folder, &target);
}

#[test]
fn what_cannot_load_is_told_before_anything_is_loaded() {
    let (place, target) = (Place::make(), Served::null());
    let program = place.program.display();
    let reads = format!("{{name: r, role: client, reach: 'exec:exec {program} agent'}}");
    let fleet = place.fleet(&[loader(&place, "a"), reads, place.scripted("dead", "exit 7")]);
    let output = run(&place, &fleet, &target.address, LONG);
    let text = shown(&output);
    place.assert_over();
    assert_eq!(output.status.code(), Some(3), "{text}");
    for part in ["2 of 3 clients cannot load", "r: its agent may only read; add --allow load", "dead: the agent ended"]
    {
        assert!(text.contains(part), "{part}: {text}");
    }
    assert!(!place.path("run").exists(), "nothing was made");
}

#[test]
fn what_does_not_go_with_a_fleet_is_refused_and_a_dry_run_tells_its_clients() {
    let place = Place::make();
    let here = |name: &str| format!("{{name: {name}, role: client, reach: here}}");
    let fleet = place.fleet(&["c1", "c2", "c3"].map(here));
    let only_storage = place.path("storage.yaml");
    std::fs::write(&only_storage, "nodes:\n  - {name: s, role: storage, reach: here}\n").expect("written");
    let reported = |fleet: &Path, flags: &str| {
        let mut command = linerate();
        command.env("AWS_ACCESS_KEY_ID", ACCESS_KEY).env("AWS_SECRET_ACCESS_KEY", SECRET_KEY);
        let output = command.arg("bench").arg("--fleet").arg(fleet).args(words(flags)).arg("--dry-run").output();
        let output = output.expect("linerate runs");
        (output.status.code(), shown(&output))
    };
    let host = "--host 127.0.0.1:9";
    for (flags, part) in [
        ("--target null --concurrent 1", "give --host"),
        ("--host 127.0.0.1:9 --op get --concurrent 1 --source 127.0.0.1", "--source names addresses of this machine"),
        ("--host 127.0.0.1:9 --op get --concurrent 1 --clients 4", "write numbers from 1 to 3"),
        ("--host 127.0.0.1:9 --op get --concurrent 1 --clients 0,1", "write numbers from 1 to 3"),
        (
            "--host 127.0.0.1:9 --op delete --concurrent 1 --objects 2",
            "--objects 2 is fewer than the 3 clients, of which each deletes a part",
        ),
    ] {
        let (code, text) = reported(&fleet, flags);
        assert!(code == Some(2) && text.contains(part), "{flags}: {code:?} {text}");
    }
    let (code, text) = reported(&only_storage, &format!("{host} --op get --concurrent 1"));
    assert!(code == Some(2) && text.contains("no node with role: client"), "{text}");
    let (code, text) = reported(&fleet, &format!("{host} --op delete --concurrent 1 --objects 2 --clients 1,2"));
    assert_eq!(code, Some(0), "two have one each: {text}");
    let (code, text) = reported(&fleet, &format!("{host} --op get --concurrent 4 --clients auto"));
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert_eq!(code, Some(0), "{text}");
    assert!(text.contains("3 clients (c1, c2, c3), each series from 1, 2, 3 of them"), "{text}");
    assert!(text.contains("load 6 points of get with up to 4 requests in flight"), "{text}");
}
