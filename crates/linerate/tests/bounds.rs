//! What is read from files costs what such a file can rightly cost, whatever is there: memory and processor time are
//! held by the kernel. No root, nothing changed on the machine.

use std::fs::{self, File};
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use linerate_record::experiment::{Arm, ArmSetup, BaselineLoad, Design, EXPERIMENT_SCHEMA, Experiment, Role};
use linerate_record::knob::Space;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{CWD, FileType, Mode, inotify, mknodat};
use rustix::process::{Pid, Signal, kill_process};
use tempfile::tempdir;

use crate::running::{bench_view, linerate, shown};

/// A run of linerate within 400 MB of addresses and 20 s of processor time, at a home of its own.
pub(crate) fn bounded(home: &Path, environment: &[(&str, &str)], line: &str) -> Output {
    let plain = linerate();
    let mut command = Command::new("sh");
    let script = "ulimit -v 400000; ulimit -t 20; exec \"$0\" \"$@\"";
    command.args(["-c", script]).arg(plain.get_program()).args(line.split(' '));
    for (name, value) in plain.get_envs() {
        match value {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        };
    }
    command.env("HOME", home).current_dir(home).envs(environment.iter().copied());
    command.output().expect("linerate runs")
}

#[test]
fn files_that_never_end_cost_neither_memory_nor_time() {
    let home = tempdir().unwrap();
    std::os::unix::fs::symlink("/dev/zero", home.path().join("config.json")).unwrap();
    let keys = [("AWS_ACCESS_KEY_ID", "AKAK"), ("AWS_SECRET_ACCESS_KEY", "SKSK")];
    let elsewhere = |name: &'static str| vec![(name, "/dev/zero")];
    for (environment, line) in [
        (keys.to_vec(), "bench --host file:/dev/zero"),
        (keys.to_vec(), "bench --config /dev/zero"),
        (keys.to_vec(), "bench --host https://127.0.0.1:1 --ca-file /dev/zero"),
        (elsewhere("AWS_CONFIG_FILE"), "bench --host 127.0.0.1:1"),
        (elsewhere("AWS_SHARED_CREDENTIALS_FILE"), "bench --host 127.0.0.1:1 --profile a"),
        (vec![("MC_CONFIG_DIR", ".")], "bench --alias a"),
        (vec![], "plan /dev/zero"),
        (vec![], "experiment analyze /dev/zero"),
        (vec![], "import warp /dev/zero"),
        (vec![], "tune apply /dev/zero"),
        (vec![], "report /dev"),
    ] {
        let output = bounded(home.path(), &environment, line);
        let reported = shown(&output);
        assert!(matches!(output.status.code(), Some(1 | 2)), "{line}: {}: {reported}", output.status);
        assert!(
            reported.contains("error: ") && !reported.contains("panicked") && !reported.contains("memory"),
            "{line}: {reported}"
        );
    }
}

#[test]
fn a_record_of_gigabytes_is_refused_where_it_begins() {
    let home = tempdir().unwrap();
    let head = "idx\tthread\top\tclient_id\tn_objects\tbytes\tendpoint\tfile\terror\tstart\tfirst_byte\tend\n";
    for (name, begin) in [("field", "0\t"), ("quoted", "0\t\"\n\n\n")] {
        let path = home.path().join(name);
        let mut file = File::create(&path).unwrap();
        file.write_all(format!("{head}{begin}").as_bytes()).unwrap();
        // The rest is a hole, which reads as zeros.
        file.set_len(3 << 30).unwrap();
        let output = bounded(home.path(), &[], &format!("import warp {name}"));
        let reported = shown(&output);
        assert_eq!(output.status.code(), Some(2), "{name}: {reported}");
        assert!(reported.contains("a record is longer than 1 MiB"), "{name}: {reported}");
    }
}

#[test]
fn lines_of_gigabytes_in_a_run_folder_cost_neither_memory_nor_time() {
    let home = tempdir().unwrap();
    let run = home.path().join("run");
    let flags = "--target null --op put --obj.size 1000 --concurrent 2 --duration 400ms --warmup 100ms --no-ceiling";
    bench_view(&run, flags);
    for name in ["points.jsonl", "intervals.jsonl", "readings.jsonl", "canary.jsonl", "findings.jsonl"] {
        let path = run.join(name);
        let before = fs::read(&path).ok();
        // Larger than it can be, and one line that is: what is a hole reads as zeros.
        for (bytes, part) in [(4_u64 << 30, "too large"), (1 << 30, "too long")] {
            File::options().append(true).create(true).open(&path).unwrap().set_len(bytes).unwrap();
            for line in ["report run", "compare run run"] {
                let output = bounded(home.path(), &[], line);
                let reported = shown(&output);
                assert_eq!(output.status.code(), Some(1), "{line}: {name}: {reported}");
                let parts = [part, "too large"];
                assert!(
                    parts.iter().any(|part| reported.contains(part)) && reported.contains(name),
                    "{line}: {name}: {reported}"
                );
            }
        }
        match before {
            Some(before) => fs::write(&path, before).unwrap(),
            None => fs::remove_file(&path).unwrap(),
        }
    }
    let output = bounded(home.path(), &[], "report run");
    assert!(output.status.success(), "{}", shown(&output));
}

/// What is read of a folder, endless in three ways: a device, a pipe that nobody writes to, and a hole of terabytes.
fn endless(path: &Path) -> [fn(&Path); 3] {
    assert!(path.parent().is_some_and(Path::is_dir), "{}", path.display());
    [
        |path| std::os::unix::fs::symlink("/dev/zero", path).expect("it is linked"),
        |path| mknodat(CWD, path, FileType::Fifo, Mode::from_raw_mode(0o600), 0).expect("it is made"),
        |path| {
            File::create(path).and_then(|file| file.set_len(1 << 42)).expect("it is made");
        },
    ]
}

#[test]
fn folders_of_runs_and_experiments_with_endless_files_are_refused_at_once() {
    let home = tempdir().unwrap();
    let run = home.path().join("run");
    let flags = "--target null --op put --obj.size 1000 --concurrent 2 --duration 400ms --warmup 100ms --no-ceiling";
    bench_view(&run, flags);
    let experiment = home.path().join("experiment");
    fs::create_dir(&experiment).unwrap();
    let design = Design {
        schema: EXPERIMENT_SCHEMA,
        arms: [("baseline", Role::Baseline), ("other", Role::Trial)]
            .map(|(name, role)| Arm { name: name.to_owned(), role })
            .into(),
        seed: 1,
        alpha: 0.05,
        matters_share: 0.02,
        blocks_max: 6,
        time_max_ns: None,
        looks: vec![6],
        draws: 999,
        settle_first_ns: 1_000_000_000,
        measure_ns: 1_000_000_000,
        lasting_ns: 0,
        link_bytes_per_s: None,
        factors: Vec::new(),
    };
    fs::write(experiment.join("experiment.json"), serde_json::to_vec(&requested(design)).unwrap()).unwrap();
    let output = bounded(home.path(), &[], "experiment report experiment");
    assert!(output.status.success(), "{}", shown(&output));
    let files = [
        ("report run", &run, "run.json"),
        ("report run", &run, "points.jsonl"),
        ("report run", &run, "intervals.jsonl"),
        ("report run", &run, "readings.jsonl"),
        ("report run", &run, "canary.jsonl"),
        ("report run", &run, "findings.jsonl"),
        ("experiment report experiment", &experiment, "experiment.json"),
        ("experiment report experiment", &experiment, "outcomes.jsonl"),
    ];
    for (line, folder, name) in files {
        let path = folder.join(name);
        let before = fs::read(&path).ok();
        for make in endless(&path) {
            let _ = fs::remove_file(&path);
            make(&path);
            let output = bounded(home.path(), &[], line);
            let reported = shown(&output);
            assert!(matches!(output.status.code(), Some(1 | 2)), "{line}: {name}: {}: {reported}", output.status);
            let refused = reported.contains("not a regular file") || reported.contains("too large");
            assert!(refused && reported.contains(name), "{line}: {name}: {reported}");
        }
        fs::remove_file(&path).unwrap();
        before.iter().for_each(|bytes| fs::write(&path, bytes).unwrap());
    }
    for line in ["report run", "experiment report experiment"] {
        let output = bounded(home.path(), &[], line);
        assert!(output.status.success(), "{line}: {}", shown(&output));
    }
}

/// An experiment of two arms that has not begun.
fn requested(design: Design) -> Experiment {
    Experiment {
        schema: EXPERIMENT_SCHEMA,
        id: "endless".to_owned(),
        linerate_version: "0.1.0".to_owned(),
        started_unix_ms: 1,
        means: vec![ArmSetup::default(); design.arms.len()],
        design,
        not_tested: Vec::new(),
        notes: Vec::new(),
        load: BaselineLoad::Shorthand("get:4KiB@2".to_owned()),
        bytes_per_s: false,
        target: "null".to_owned(),
        addresses: Vec::new(),
        flags: Vec::new(),
        restart: None,
        space: Space::default(),
        spaces: Vec::new(),
        fleet: None,
    }
}

#[test]
fn a_list_of_hosts_in_a_pipe_is_waited_for_as_other_files_are() {
    const LONG: Timespec = Timespec { tv_sec: 60, tv_nsec: 0 };
    let home = tempdir().unwrap();
    let pipe = home.path().join("pipe");
    mknodat(CWD, &pipe, FileType::Fifo, Mode::from_raw_mode(0o600), 0).unwrap();
    let opened = inotify::init(inotify::CreateFlags::CLOEXEC).unwrap();
    inotify::add_watch(&opened, &pipe, inotify::WatchFlags::OPEN).unwrap();
    let mut command = linerate();
    command.args(["bench", "--host", &format!("file:{}", pipe.display())]).stderr(Stdio::null());
    let mut child = command.spawn().unwrap();
    // Who waits for a writer in the kernel has not opened it yet, and the two minutes never begin.
    let is_open = poll(&mut [PollFd::new(&opened, PollFlags::IN)], Some(&LONG)).unwrap() == 1;
    kill_process(Pid::from_child(&child), Signal::INT).unwrap();
    let ended = child.wait().unwrap();
    assert!(is_open && !ended.success(), "{ended}");

    let output = bounded(home.path(), &[], "import warp pipe");
    assert!(output.status.code() == Some(1) && shown(&output).contains("pipe"), "{}", shown(&output));
}

#[test]
fn a_histogram_that_is_finer_than_any_of_linerate_is_refused() {
    let home = tempdir().unwrap();
    let run = home.path().join("run");
    let flags = "--target null --op put --obj.size 1000 --concurrent 2 --duration 400ms --warmup 100ms --no-ceiling";
    bench_view(&run, flags);
    let text = fs::read_to_string(run.join("intervals.jsonl")).unwrap();
    // Base64 of the bytes 9 to 17, of which 12 to 15 are the number of digits: 2, and 5 in its place.
    let finer = text.replace("AAAAAAAAAgAA", "AAAAAAAABQAA");
    assert_ne!(text, finer, "no histogram of two digits");
    fs::write(run.join("intervals.jsonl"), finer).unwrap();
    let output = bounded(home.path(), &[], "report run");
    assert_eq!(output.status.code(), Some(2), "{}", shown(&output));
    assert!(shown(&output).contains("5 significant digits"), "{}", shown(&output));
    let place = "run is not a run folder that this linerate can read: intervals.jsonl, line 1: ";
    assert!(shown(&output).contains(place), "{}", shown(&output));
    bench_view(&home.path().join("whole"), flags);
    let output = bounded(home.path(), &[], "compare whole run");
    assert!(output.status.code() == Some(2) && shown(&output).contains(place), "{}", shown(&output));
}

#[test]
fn a_point_of_many_intervals_costs_what_its_lines_cost() {
    let home = tempdir().unwrap();
    let run = home.path().join("run");
    let flags = "--target null --op put --obj.size 1000 --concurrent 2 --duration 2s --warmup 100ms --no-ceiling";
    bench_view(&run, flags);
    let text = fs::read_to_string(run.join("intervals.jsonl")).unwrap();
    let mut one: serde_json::Value = serde_json::from_str(text.lines().next_back().unwrap()).unwrap();
    let (begin_ms, length_ms) = (one["to_ms"].as_u64().unwrap(), 50);
    one["rows"].as_array_mut().unwrap().truncate(1);
    (one["rows"][0]["ttfb"], one["rows"][0]["total"]) = ("".into(), "".into());
    let mut file = File::options().append(true).open(run.join("intervals.jsonl")).unwrap();
    for i in 0..120_000 {
        let from_ms = begin_ms + i * length_ms;
        (one["from_ms"], one["to_ms"]) = (from_ms.into(), (from_ms + length_ms).into());
        one["rows"][0]["requests"] = (100 + i % 50).into();
        writeln!(file, "{one}").unwrap();
    }
    let output = bounded(home.path(), &[], "report run");
    assert!(output.status.success(), "{}: {}", output.status, shown(&output));
}
