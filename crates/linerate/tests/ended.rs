//! Runs that end in other ways than well, and `linerate clean` after them. No root, nothing changed on the machine.

use std::fs;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use linerate_analysis::view::View;
use linerate_host::apply::{self, ApplyContext, ApplyTerms};
use linerate_host::journal::JournalFolder;
use linerate_host::watch;
use linerate_record::finding::FindingKind;
use linerate_record::journal::Begin;
use linerate_record::knob::ChangeSet;
use linerate_record::run::{Interval, StopReason};
use rustix::process::{Pid, Signal, kill_process_group};
use tempfile::{TempDir, tempdir};

use crate::running::{
    ACCESS_KEY, SECRET_KEY, Served, bench, bench_command, bound, eventually, files_below, linerate, shown, view,
};

const CONCURRENCY: u64 = 4;

/// Writes for so long that only what the test does ends them, in intervals of 200 ms.
const PUTS: &str = "--op put --obj.size 20000 --concurrent 4 --duration 4s --warmup 20s --no-ceiling --quiet";

/// A run that was begun, the target that it loads, and their folders.
struct Begun {
    run: Child,
    target: Served,
    out: TempDir,
    _drive: TempDir,
}

impl Begun {
    /// Writes to an embedded target; returns when a few intervals are recorded.
    fn puts(flags: &str) -> Self {
        let (drive, out) = (tempdir().expect("a folder"), tempdir().expect("a folder"));
        let target = Served::embedded(drive.path());
        let flags = format!("--host {} {PUTS} {flags}", target.address);
        let mut command = bench_command(out.path(), &flags, &keys());
        let run = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().expect("linerate runs");
        eventually("intervals to be written", || intervals(out.path()).len() >= 6);
        Begun { run, target, out, _drive: drive }
    }

    fn signal(&self, name: &str) {
        signal(self.run.id(), name);
    }

    /// Exit code and messages of the run; waited for within bounds.
    fn end(&mut self) -> (Option<i32>, String) {
        let mut status = None;
        eventually("the run to end", || {
            status = self.run.try_wait().expect("it was begun");
            status.is_some()
        });
        let mut said = String::new();
        let mut stderr = self.run.stderr.take().expect("piped");
        std::io::Read::read_to_string(&mut stderr, &mut said).expect("text");
        (status.and_then(|s| s.code()), said)
    }

    fn clean(&self, flags: &[&str]) -> Output {
        clean(self.out.path(), flags)
    }

    /// Objects at the target: the embedded target's own notes begin with a dot.
    fn objects(&self) -> Vec<String> {
        let below = files_below(self.target.root.as_deref().expect("it has a folder"));
        below.into_iter().filter(|f| !f.split('/').any(|part| part.starts_with('.'))).collect()
    }

    fn bucket(&self) -> PathBuf {
        self.target.root.as_deref().expect("it has a folder").join("linerate-bench")
    }
}

impl Drop for Begun {
    fn drop(&mut self) {
        let _ = self.run.kill();
        let _ = self.run.wait();
    }
}

fn keys() -> [(&'static str, String); 2] {
    [("AWS_ACCESS_KEY_ID", ACCESS_KEY.to_owned()), ("AWS_SECRET_ACCESS_KEY", SECRET_KEY.to_owned())]
}

fn signal(pid: u32, name: &str) {
    assert!(Command::new("kill").args([&format!("-{name}"), &pid.to_string()]).status().expect("kill runs").success());
}

fn clean(run: &Path, flags: &[&str]) -> Output {
    linerate().envs(keys()).arg("clean").arg(run).args(flags).output().expect("linerate runs")
}

/// What is recorded, up to the last whole line.
fn intervals(folder: &Path) -> Vec<Interval> {
    let text = std::fs::read_to_string(folder.join("intervals.jsonl")).unwrap_or_default();
    let whole = text.split_inclusive('\n').filter(|line| line.ends_with('\n'));
    whole.map(|line| serde_json::from_str(line).expect("an interval")).collect()
}

/// Every figure is one of the target's: what it has beyond them was in flight, or ended after the last line.
fn assert_true_figures(folder: &Path, at_the_target: u64) {
    let requests = |i: &Interval| i.rows.iter().map(|r| r.requests).sum::<u64>();
    let (recorded, most) =
        intervals(folder).iter().fold((0, 0), |(sum, most), i| (sum + requests(i), requests(i).max(most)));
    let unrecorded = CONCURRENCY + 4 * most.max(CONCURRENCY);
    assert!(recorded > 0 && recorded <= at_the_target, "{recorded} recorded, {at_the_target} stored");
    assert!(
        at_the_target <= recorded + unrecorded,
        "{recorded} recorded, {at_the_target} stored, at most {most} in one"
    );
}

/// Every report can be had of a folder, whatever became of the run.
fn assert_readable(folder: &Path) -> View {
    for format in ["text", "csv", "json"] {
        let output = linerate().arg("report").arg(folder).args(["--format", format]).output().expect("linerate runs");
        assert!(output.status.success() && !output.stdout.is_empty(), "{format}: {}", shown(&output));
    }
    view(folder)
}

#[test]
fn a_run_killed_with_9_has_true_figures_and_can_be_cleaned() {
    let mut begun = Begun::puts("");
    let refused = begun.clean(&[]);
    assert_eq!(refused.status.code(), Some(2), "{}", shown(&refused));
    assert!(shown(&refused).contains("is still running"), "{}", shown(&refused));
    begun.signal("KILL");
    assert_eq!(begun.end().0, None);
    let stored = settled(&begun);
    assert_true_figures(begun.out.path(), stored);
    let view = assert_readable(begun.out.path());
    assert!(!view.run.complete && view.findings.iter().any(|f| f.kind == FindingKind::Incomplete));

    std::fs::write(begun.bucket().join("foreign"), "not the run's").unwrap();
    let listed = begun.clean(&["--dry-run"]);
    let reported = String::from_utf8_lossy(&listed.stdout).lines().filter(|l| l.starts_with("object ")).count();
    assert_eq!((reported as u64, settled(&begun)), (stored.min(20), stored + 1), "{}", shown(&listed));
    assert!(shown(&listed).contains(&format!("would delete {stored} objects")), "{}", shown(&listed));
    for said in [format!("deleted {stored} objects"), "nothing is left".into()] {
        let cleaned = begun.clean(&[]);
        assert!(cleaned.status.success() && shown(&cleaned).contains(&said), "{said}: {}", shown(&cleaned));
        let kept =
            "kept bucket \"linerate-bench\": 1 object that is not of this run is in it, \"foreign\"; delete that";
        assert!(shown(&cleaned).contains(kept), "{}", shown(&cleaned));
        assert_eq!(begun.objects(), ["linerate-bench/foreign"]);
    }
    std::fs::remove_file(begun.bucket().join("foreign")).unwrap();
    for said in ["removed bucket", "there is no bucket"] {
        let cleaned = begun.clean(&[]);
        assert!(cleaned.status.success() && shown(&cleaned).contains(said), "{said}: {}", shown(&cleaned));
        assert!(!begun.bucket().exists());
    }
}

/// Objects at the target once no more come.
fn settled(begun: &Begun) -> u64 {
    let (mut before, mut same) = (0, 0);
    eventually("writes in flight to be stored", || {
        let now = begun.objects().len();
        same = if now == before { same + 1 } else { 0 };
        before = now;
        same >= 10
    });
    before as u64
}

#[test]
fn a_signal_ends_a_run_in_good_order() {
    for name in ["INT", "TERM", "HUP"] {
        let mut begun = Begun::puts("");
        begun.signal(name);
        let (code, said) = begun.end();
        assert_eq!(code, Some(130), "{name}: {said}");
        let view = assert_readable(begun.out.path());
        assert!(view.findings.iter().all(|f| f.kind != FindingKind::LeftBehind), "{name}: {:?}", view.findings);
        assert!(begun.out.path().join("report.html").exists(), "{name}");
        assert_eq!(ended(begun.out.path()), Some(StopReason::Interrupted), "{name}");
        assert_eq!((begun.objects(), begun.bucket().exists()), (Vec::new(), false), "{name}: {said}");
    }
}

/// How the run's only point ended, by its line in the folder.
fn ended(folder: &Path) -> Option<StopReason> {
    let text = std::fs::read_to_string(folder.join("points.jsonl")).expect("a file");
    let end: serde_json::Value = serde_json::from_str(text.lines().nth(1)?).expect("a line");
    serde_json::from_value(end["ended"].clone()).ok()
}

#[test]
fn an_interrupted_run_told_every_write_but_those_that_it_waited_for() {
    let mut begun = Begun::puts("--noclear");
    begun.signal("INT");
    assert_eq!(begun.end().0, Some(130));
    let recorded: u64 = intervals(begun.out.path()).iter().flat_map(|i| &i.rows).map(|r| r.requests).sum();
    let stored = settled(&begun);
    // Those that were in flight, and those of a last interval that was too short to be told (20 ms).
    assert!((recorded..=recorded + 2 * CONCURRENCY).contains(&stored), "{recorded} recorded, {stored} stored");
    assert!(begun.bucket().exists());
    let cleaned = begun.clean(&[]);
    assert!(cleaned.status.success() && !begun.bucket().exists(), "{}", shown(&cleaned));
}

#[test]
fn a_second_signal_ends_a_run_at_once_and_clean_does_the_rest() {
    let mut begun = Begun::puts("");
    // A target that does not answer would be waited for longer than the test waits.
    signal(begun.target.pid(), "STOP");
    begun.signal("INT");
    std::thread::sleep(std::time::Duration::from_millis(300));
    assert!(begun.run.try_wait().unwrap().is_none(), "writes in flight are waited for");
    begun.signal("INT");
    let (code, said) = begun.end();
    signal(begun.target.pid(), "CONT");
    assert_eq!(code, Some(130), "{said}");
    assert_true_figures(begun.out.path(), settled(&begun));
    assert_readable(begun.out.path());
    let cleaned = begun.clean(&[]);
    assert!(cleaned.status.success() && shown(&cleaned).contains("removed bucket"), "{}", shown(&cleaned));
    assert!(!begun.bucket().exists());
}

#[test]
fn a_target_that_stays_away_ends_the_run_early() {
    let mut begun = Begun::puts("");
    let bucket = begun.bucket();
    let (out, target) = (begun.out.path().to_owned(), &mut begun.target);
    target.kill();
    // Ten seconds without a success, and then attempts to clear up.
    let mut status = None;
    eventually("the run to give up", || {
        status = begun.run.try_wait().unwrap();
        status.is_some()
    });
    assert_eq!(status.and_then(|s| s.code()), Some(4));
    assert_eq!(ended(&out), Some(StopReason::NoSuccess));
    let view = assert_readable(&out);
    assert!(view.findings.iter().any(|f| f.kind == FindingKind::LeftBehind), "{:?}", view.findings);
    assert!(bucket.exists());
}

#[test]
fn a_run_folder_that_cannot_be_made_is_told_before_any_load() {
    let (drive, place) = (tempdir().unwrap(), tempdir().unwrap());
    let target = Served::embedded(drive.path());
    std::fs::write(place.path().join("file"), "").unwrap();
    // Nobody can make a folder there, not even root.
    for folder in [Path::new("/proc/linerate-run").to_owned(), place.path().join("file/run")] {
        let output = bench(&folder, &format!("--host {} {PUTS}", target.address));
        assert_eq!(output.status.code(), Some(1), "{}", shown(&output));
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(said.contains(&folder.display().to_string()) && said.lines().count() == 1, "{said}");
        assert!(!target.root.as_deref().unwrap().join("linerate-bench").exists());
    }
}

#[test]
fn a_refused_bucket_leaves_no_folder() {
    let (drive, out) = (tempdir().unwrap(), tempdir().unwrap());
    let target = Served::embedded(drive.path());
    let folder = out.path().join("run");
    // A prefix that AWS keeps for itself.
    let output = bench(&folder, &format!("--host {} --bucket xn--taken --op put --concurrent 1", target.address));
    assert_eq!(output.status.code(), Some(3), "{}", shown(&output));
    assert!(!folder.exists(), "{}", shown(&output));
}

#[test]
fn a_bucket_that_others_use_meanwhile_is_kept() {
    let begun = Begun::puts("");
    std::fs::write(begun.bucket().join("foreign"), "not the run's").unwrap();
    let mut begun = begun;
    begun.signal("INT");
    let (code, said) = begun.end();
    assert!(code == Some(130) && said.contains("remains at the target"), "{said}");
    assert_eq!(begun.objects(), ["linerate-bench/foreign"]);
}

#[test]
fn mistakes_of_clean_are_quoted_and_name_the_fix() {
    let (empty, embedded, null, out) = (tempdir().unwrap(), tempdir().unwrap(), tempdir().unwrap(), tempdir().unwrap());
    let short = "--op stat --obj.size 10 --concurrent 1 --duration 100ms --warmup 0s --no-ceiling --objects 1 --quiet";
    assert!(bench(embedded.path(), short).status.success());
    assert!(bench(null.path(), &format!("--target null {short}")).status.success());
    let target = Served::null();
    assert!(bench(out.path(), &format!("--host {} {short}", target.address)).status.success());
    let target_address = target.address.clone();
    drop(target);
    let changed = |field: &str, from: &str, to: &str| {
        let folder = tempdir().unwrap();
        let text = std::fs::read_to_string(out.path().join("run.json")).unwrap();
        let mut manifest: serde_json::Value = serde_json::from_str(&text).unwrap();
        let text = manifest.pointer(field).unwrap().as_str().unwrap().replace(from, to);
        *manifest.pointer_mut(field).unwrap() = text.into();
        std::fs::write(folder.path().join("run.json"), manifest.to_string()).unwrap();
        folder
    };
    let (outside, everything) =
        (changed("/resolved/prefix", "linerate-", "backup-"), changed("/resolved/prefix", "/", ""));
    // A host called "file" is no list of hosts in a file.
    let file = changed("/target/hosts/0", &target_address, "file:80");
    for (folder, code, part) in [
        (Path::new("/nonexistent"), 2, "is not a run folder"),
        (empty.path(), 2, "run.json"),
        (embedded.path(), 2, "nothing to clean: the embedded target"),
        (null.path(), 2, "nothing to clean: the null target"),
        (outside.path(), 2, "is not this run's own"),
        (everything.path(), 2, "is not this run's own"),
        (out.path(), 3, "failed to reach"),
        (file.path(), 2, "file:80 is not known to be this machine"),
    ] {
        let output = clean(folder, &[]);
        assert_eq!(output.status.code(), Some(code), "{part}: {}", shown(&output));
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(
            said.contains(part) && said.lines().count() == 1 && output.stdout.is_empty(),
            "{part}: {}",
            shown(&output)
        );
    }
    let output = linerate().arg("clean").arg(out.path()).output().unwrap();
    assert!(output.status.code() == Some(2) && shown(&output).contains("AWS_ACCESS_KEY_ID"), "{}", shown(&output));
}

/// The binary's own watch, which is not this process's child, over a captured machine of one setting.
#[test]
fn a_run_that_was_stopped_says_so_and_blames_no_clock() {
    let mut begun = Begun::puts("");
    begun.signal("STOP");
    std::thread::sleep(Duration::from_millis(1_500));
    begun.signal("CONT");
    std::thread::sleep(Duration::from_millis(1_500));
    begun.signal("INT");
    let (_, said) = begun.end();
    let findings = view(begun.out.path()).findings;
    let stopped = findings.iter().find(|finding| finding.kind == FindingKind::Stopped);
    assert!(stopped.is_some_and(|finding| finding.claim.contains("was stopped once")), "{findings:?} {said}");
    assert!(!findings.iter().any(|finding| finding.kind == FindingKind::ClockStep), "{findings:?}");
}

#[test]
fn changes_whose_owner_is_killed_are_taken_back_long_before_their_time_is_over() {
    let folder = tempdir().expect("a folder");
    let captured = folder.path().join("root");
    let swappiness = captured.join("proc/sys/vm/swappiness");
    for (path, text) in
        [("etc/machine-id", "00ff"), ("proc/sys/kernel/random/boot_id", "b"), ("proc/sys/vm/swappiness", "60\n")]
    {
        let path = captured.join(path);
        std::fs::create_dir_all(path.parent().expect("it has one")).expect("a folder");
        std::fs::write(path, text).expect("a file");
    }
    let root = linerate_host::Root::captured(&captured);
    let state = JournalFolder::open(folder.path().join("state")).expect("a folder");
    let find = |id: &str| linerate_settings::knobs::find(id).map(|row| &row.knob);
    let ground = ApplyContext { root: &root, state: &state, find: &find };
    let change = serde_json::json!({"place": {"knob": "vm.swappiness"}, "prior": "60", "new": "10", "scope": "host",
        "takes_effect": "at-once", "why": "", "risk": ""});
    let set = serde_json::json!({"schema": 1, "machine": apply::machine_hash(&root).expect("it has an id"),
        "profile": "test", "changes": [change]});
    let set: ChangeSet = serde_json::from_value(set).expect("changes");

    let mut owner = Command::new("sleep").arg("1000").spawn().expect("it runs");
    let terms = ApplyTerms {
        id: "1".to_owned(),
        root: Some(captured.clone()),
        within: Duration::from_secs(3600),
        owner: Some(linerate_host::owner::process_owner(owner.id()).expect("it runs")),
        wave: None,
    };
    let program = linerate().get_program().to_owned();
    let path = state.path().to_str().expect("UTF-8");
    let arguments = ["tune", "watch", "--state", path, "--id", "1", "--detach"];
    let mut arm = |_: &Begin| watch::start_process(Path::new(&program), &arguments).map(|watcher| vec![watcher]);
    apply::apply(&ground, &set, &terms, &mut arm, &mut |_| ()).expect("it is applied");
    let now = || std::fs::read_to_string(&swappiness).expect("it is there");
    assert_eq!(now().trim(), "10");
    std::thread::sleep(Duration::from_millis(600));
    assert_eq!(now().trim(), "10", "an owner that lives is left alone");
    let killed = Instant::now();
    owner.kill().expect("it runs");
    eventually("the setting to be restored", || now().trim() == "60");
    assert!(killed.elapsed() < bound(Duration::from_secs(2)), "{:?}", killed.elapsed());
    owner.wait().expect("it ended");
}

#[test]
fn a_core_of_a_run_would_hold_its_keys_and_is_not_written() {
    // Whether the kernel writes cores here at all.
    let died = |script: &str, folder: &Path| {
        let mut command = Command::new("sh");
        command.args(["-c", &format!("ulimit -c unlimited; {script}")]).current_dir(folder).stderr(Stdio::null());
        command.envs(keys()).env("LINERATE", env!("CARGO_BIN_EXE_linerate")).stdout(Stdio::null());
        command.spawn().expect("sh runs")
    };
    let folder = tempdir().unwrap();
    let dumped = |mut child: Child| std::os::unix::process::ExitStatusExt::core_dumped(&child.wait().expect("it ends"));
    if !dumped(died("kill -SEGV $$", folder.path())) {
        eprintln!("no cores are written here");
        return;
    }
    let out = tempdir().unwrap();
    let script = format!("exec \"$LINERATE\" bench --target null {PUTS} -o {}", out.path().display());
    let run = died(&script, folder.path());
    eventually("intervals to be written", || !intervals(out.path()).is_empty());
    signal(run.id(), "SEGV");
    assert!(!dumped(run), "a core was written");
}

#[test]
fn a_signal_before_the_load_is_told_and_leaves_nothing() {
    let out = tempdir().unwrap();
    // A body of that length is hashed for seconds before the first call.
    let flags = "--host 127.0.0.1:9 --op put --obj.size 4GiB --payload signed";
    let mut command = bench_command(&out.path().join("run"), flags, &keys());
    let run = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().expect("linerate runs");
    std::thread::sleep(Duration::from_millis(500));
    signal(run.id(), "INT");
    let output = run.wait_with_output().expect("it ends");
    assert_eq!(output.status.code(), Some(130), "{}", shown(&output));
    assert!(shown(&output).contains("error: interrupted before the load began"), "{}", shown(&output));
    assert!(!out.path().join("run").exists());
}

#[test]
fn a_run_against_a_target_of_its_own_that_is_interrupted_says_nothing_of_what_remains() {
    for target in ["null", "embedded"] {
        let out = tempdir().unwrap();
        let run = out.path().join("run");
        let mut command = linerate();
        command.args(["bench", "--target", target, "--op", "put", "--obj.size", "16MiB", "--concurrent", "8"]);
        command.args(["--duration", "60s", "--no-ceiling", "--output"]).arg(&run);
        // As a terminal does: whoever is of the group gets the signal.
        command.process_group(0).stdout(Stdio::piped()).stderr(Stdio::piped());
        let child = command.spawn().unwrap();
        let begun = || fs::metadata(run.join("points.jsonl")).is_ok_and(|file| file.len() > 0);
        eventually("a point has begun", begun);
        std::thread::sleep(Duration::from_millis(500));
        kill_process_group(Pid::from_child(&child), Signal::INT).unwrap();
        let output = child.wait_with_output().unwrap();
        let reported = shown(&output);
        assert_eq!(output.status.code(), Some(130), "{target}: {reported}");
        assert!(!reported.contains("remain") && !reported.contains("linerate clean"), "{target}: {reported}");
    }
}
