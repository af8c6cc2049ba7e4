//! What a terminal of 80 columns gets fits it, and the first screen of a verb fits 40 lines.

use std::fs::File;
use std::io::Read as _;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use linerate_worlds::{ClientFault, Fleet};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};
use tempfile::tempdir;

use crate::running::{bench_view, linerate, words};

const COLUMNS: u16 = 80;

/// Lines of the first screen of a verb.
const LINES: usize = 40;

/// What a command prints where its output and its errors are a terminal, and how it ended.
fn on_a_terminal(mut command: Command) -> (String, Option<i32>) {
    let ours = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC).expect("a terminal");
    grantpt(&ours).expect("it is ours");
    unlockpt(&ours).expect("it is ours");
    let size = Winsize { ws_row: 50, ws_col: COLUMNS, ws_xpixel: 0, ws_ypixel: 0 };
    tcsetwinsize(&ours, size).expect("a terminal has a size");
    let name = ptsname(&ours, Vec::new()).expect("it has a name");
    let open = || -> Stdio {
        let file =
            File::options().read(true).write(true).open(name.to_str().expect("a path of ASCII")).expect("it is there");
        Stdio::from(OwnedFd::from(file))
    };
    command.env("NO_COLOR", "1").stdout(open()).stderr(Stdio::null());
    let mut child = command.spawn().expect("linerate starts");
    // Without this the terminal has a writer for as long as the test runs.
    drop(command);
    let mut text = Vec::new();
    let mut ours = File::from(ours);
    let mut buffer = [0; 65_536];
    // EIO when the last writer is gone.
    while let Ok(n @ 1..) = ours.read(&mut buffer) {
        text.extend_from_slice(&buffer[..n]);
    }
    let code = child.wait().expect("it ends").code();
    (String::from_utf8(text).expect("text").replace("\r\n", "\n"), code)
}

/// Whether a line may be longer: a command to copy, or one word, which cannot be broken, with its label.
fn may_be_longer(line: &str) -> bool {
    let line = line.trim_start();
    let copied = ["linerate ", "sysctl ", "echo ", "ethtool ", "ip ", "printf ", "sudo ", "$ "];
    let labelled = line.split_once("  ").map_or(line, |(_, value)| value.trim_start());
    copied.iter().any(|command| line.starts_with(command)) || !labelled.contains(' ')
}

/// The flags that ask for more than a first screen.
const WHOLE: [&str; 2] = ["--all", "--why"];

/// Holds that what a command prints has the columns of a terminal, and the lines of a first screen unless all is
/// wanted.
fn assert_fits(args: &[&str], code: i32) {
    let mut command = linerate();
    command.args(args).current_dir(repository());
    let (text, ended) = on_a_terminal(command);
    assert_eq!(ended, Some(code), "{args:?}: {text}");
    assert!(!text.trim().is_empty(), "{args:?} prints nothing");
    let long = |line: &&str| line.chars().count() > usize::from(COLUMNS) && !may_be_longer(line);
    let long: Vec<&str> = text.lines().filter(long).collect();
    assert!(long.is_empty(), "{args:?}: {long:#?}");
    let (is_whole, lines) = (args.iter().any(|arg| WHOLE.contains(arg)), text.lines().count());
    assert!(is_whole || lines <= LINES, "{args:?}: {lines} lines:\n{text}");
}

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

#[test]
fn plans_and_explanations_fit_a_terminal() {
    let sites = std::fs::read_dir(repository().join("examples")).unwrap().map(|entry| entry.unwrap().path());
    let sites: Vec<PathBuf> = sites.filter(|path| path.extension().is_some_and(|e| e == "yaml")).collect();
    assert!(sites.len() > 10, "{sites:?}");
    for site in &sites {
        let site = site.to_str().unwrap();
        assert_fits(&["plan", site], 0);
        assert_fits(&["plan", site, "--why"], 0);
        assert_fits(&["explain", "--site", site, "--observed", "get=1GiB/s,put=500MiB/s"], 0);
    }
}

#[test]
fn ten_lines_answer_for_the_built_in_example() {
    let example = linerate().args(["plan", "--example"]).output().unwrap().stdout;
    let folder = tempdir().unwrap();
    let site = folder.path().join("site.yaml");
    std::fs::write(&site, example).unwrap();
    let mut command = linerate();
    command.arg("plan").arg(&site);
    let (text, code) = on_a_terminal(command);
    assert_eq!((code, text.lines().count()), (Some(0), 10), "{text}");
    let figures = [
        "at most 52.7 GiB/s; bottleneck: rack uplinks",
        "90 % at 216 in flight (its clients' 640: 97 %); a node down: 49.9 GiB/s",
        "1006 TiB (1.11 PB) usable",
        "goal 1.00 PB",
        "any 4 drives, 4 nodes, 1 rack",
        "full in 2.3 years",
        "out of reach: GET 60.0 GiB/s, PUT 20.0 GiB/s, p99 100 ms (GET, PUT)",
        "PUT to 14 % of the cluster's ceiling",
    ];
    for figure in figures {
        assert!(text.contains(figure), "{figure}: {text}");
    }
}

#[test]
fn audits_and_changes_of_settings_fit_a_terminal() {
    let captures = std::fs::read_dir(repository().join("captures")).unwrap().map(|entry| entry.unwrap().path());
    let captures: Vec<PathBuf> = captures.filter(|path| path.join("capture.json").exists()).collect();
    assert!(!captures.is_empty());
    for capture in &captures {
        for all in [&[][..], &["--all"]] {
            let root = ["audit", "--profile", "s3-storage-node", "--root", capture.to_str().unwrap()];
            assert_fits(&[&root, all].concat(), 0);
        }
    }
    assert_fits(&["tune", "diff", "--profile", "s3-storage-node"], 0);
    assert_fits(&["tune", "diff", "--profile", "s3-storage-node", "--all"], 0);
    assert_fits(&["tune", "status"], 0);
    assert_fits(&["tune", "log"], 0);
}

/// On a machine of which much differs, a screen has what weighs most and a pipe has everything.
#[test]
fn the_first_screen_of_a_diff_has_the_changes_that_weigh_most_and_a_pipe_has_all() {
    let folder = tempdir().unwrap();
    let capture = folder.path().join("capture");
    let mut copy = Command::new("cp");
    copy.arg("-r").arg(repository().join("captures/many-processors-6.1")).arg(&capture);
    assert!(copy.status().unwrap().success());
    std::fs::create_dir_all(capture.join("etc")).unwrap();
    std::fs::write(capture.join("etc/machine-id"), "0123456789abcdef0123456789abcdef\n").unwrap();
    let root = capture.to_str().unwrap();
    let mut command = linerate();
    command.args(["tune", "diff", "--root", root]);
    let (text, code) = on_a_terminal(command);
    assert!(code == Some(0) && text.lines().count() <= 25, "{code:?} {}: {text}", text.lines().count());
    assert!(text.starts_with(" ▸ ") && text.contains(" changes for s3-storage-node"), "{text}");
    assert!(text.matches(" · ").count() >= 8 && text.contains(" more: --all"), "{text}");
    assert!(text.ends_with("nothing is written: name a file with -o\n"), "{text}");
    let piped = linerate().args(["tune", "diff", "--root", root]).output().unwrap().stdout;
    let piped = String::from_utf8(piped).unwrap();
    assert!(piped.lines().count() > 80 && piped.matches("      risk ").count() > 25, "{piped}");
    assert_fits(&["tune", "diff", "--root", root, "--all"], 0);
}

#[test]
fn what_is_rendered_fits_a_terminal() {
    for site in ["minio-8-kubernetes", "rustfs-4-kubernetes"] {
        let folder = tempdir().unwrap();
        let (site, output) = (format!("examples/{site}.yaml"), folder.path().join("gitops"));
        assert_fits(&["render", &site, "-o", output.to_str().unwrap()], 0);
    }
}

/// The help that stands where no command is named is on standard error.
#[test]
fn linerate_alone_groups_its_verbs_on_one_screen() {
    let output = linerate().output().unwrap();
    let text = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{text}");
    for group in ["\nMeasure:\n  bench ", "\nPredict:\n  plan ", "\nDiagnose:\n  doctor ", "\nChange:\n  tune "] {
        assert!(text.contains(group), "{group:?}: {text}");
    }
    assert!(text.lines().count() <= LINES && !text.contains("\nCommands:"), "{text}");
    assert!(
        text.ends_with("error: no command behind \"linerate\": type linerate bench, or another command of these\n")
    );
    let tune = String::from_utf8(linerate().arg("tune").output().unwrap().stderr).unwrap();
    assert!(tune.contains("\n  rollback ") && tune.lines().count() <= LINES, "{tune}");
}

#[test]
fn the_status_of_changes_where_none_was_ever_applied_says_so() {
    let state = tempdir().unwrap();
    for verb in ["status", "log"] {
        let output = linerate().args(["tune", verb]).env("LINERATE_STATE", state.path()).output().unwrap();
        assert_eq!(String::from_utf8_lossy(&output.stdout), "nothing was ever applied\n", "{verb}: {output:?}");
    }
}

/// What an audit shows on a terminal of 80 columns by itself, whichever machine it is of.
#[test]
fn the_first_screen_of_an_audit_has_the_verdict_and_the_rows_that_weigh_most_in_25_lines() {
    let captures = std::fs::read_dir(repository().join("captures")).unwrap().map(|entry| entry.unwrap().path());
    for capture in captures.filter(|path| path.join("capture.json").exists()) {
        let mut command = linerate();
        command.args(["audit", "--root", capture.to_str().unwrap()]);
        let (text, code) = on_a_terminal(command);
        assert!(code == Some(0) && text.lines().count() <= 25, "{}: {text}", text.lines().count());
        assert!(text.starts_with(" ▸ ") && text.contains("linerate tune diff --profile s3-storage-node"), "{text}");
        assert!(text.contains("--all") && text.matches(" → ").count() >= 3, "{text}");
    }
}

#[test]
fn knobs_fit_a_terminal_as_a_list_and_each_in_full() {
    assert_fits(&["knobs"], 0);
    assert_fits(&["knobs", "--profile", "s3-storage-node"], 0);
    assert_fits(&["knobs", "--all"], 0);
    assert_fits(&["knobs", "--layer", "bond"], 0);
    let json = linerate().args(["knobs", "--json"]).output().unwrap().stdout;
    let knobs: Vec<serde_json::Value> = serde_json::from_slice(&json).unwrap();
    assert!(knobs.len() > 50);
    for knob in &knobs {
        assert_fits(&["knobs", knob["id"].as_str().unwrap()], 0);
    }
}

#[test]
fn a_run_over_clients_fits_a_terminal() {
    let client_faults = vec![ClientFault::Link { client: 3, share: 0.3 }, ClientFault::Late { client: 40, ms: 3_000 }];
    let fleet = Fleet { client_faults, ceilings: true, ..Fleet::with_clients(&[7, 28, 64], 1) };
    let (made, folder) = (fleet.folder(), tempdir().unwrap());
    for (name, text) in [
        ("run.json", made.run),
        ("points.jsonl", made.points),
        ("intervals.jsonl", made.intervals),
        ("readings.jsonl", made.readings),
        ("findings.jsonl", String::new()),
    ] {
        std::fs::write(folder.path().join(name), text).unwrap();
    }
    let site = repository().join("examples/source-000-56.yaml");
    assert_fits(&["report", folder.path().to_str().unwrap(), "--site", site.to_str().unwrap()], 0);
}

#[test]
fn runs_their_reports_and_comparisons_fit_a_terminal() {
    let recorded = repository().join("crates/linerate/tests/recorded");
    assert_fits(&["runs", recorded.to_str().unwrap()], 0);
    for run in ["bench-schema-3-mixed", "bench-schema-3-two-clients"] {
        assert_fits(&["report", recorded.join(run).to_str().unwrap()], 0);
    }
    assert_fits(&["experiment", "report", recorded.join("experiment-schema-1").to_str().unwrap()], 0);
    let folder = tempdir().unwrap();
    let run = |name: &str| {
        let run = folder.path().join(name);
        let load = "--target null --op get,put --obj.size 1000,1MiB --concurrent 1,2 --duration 400ms --warmup 100ms";
        bench_view(&run, load);
        run.to_str().unwrap().to_owned()
    };
    let (a, b) = (run("a"), run("b"));
    assert_fits(&["report", &a], 0);
    assert_fits(&["compare", &a, &b], 0);
    assert_fits(&["compare", &a, &b, "--all"], 0);
    assert_fits(&["runs", folder.path().to_str().unwrap()], 0);
}

/// The verbs that a manual lists.
fn verbs_of(verb: &[String]) -> Vec<Vec<String>> {
    let manual = linerate().args(verb).arg("--help").output().expect("linerate runs").stdout;
    let manual = String::from_utf8(manual).expect("text");
    let rows = manual.lines().skip_while(|line| *line != "Commands:").skip(1).take_while(|line| !line.is_empty());
    let names =
        rows.filter(|row| row.starts_with("  ") && !row.starts_with("   ")).filter_map(|row| row.split(' ').nth(2));
    names.filter(|name| *name != "help").map(|name| [verb, &[name.to_owned()]].concat()).collect()
}

#[test]
fn short_help_fits_a_terminal_and_cuts_no_word() {
    let mut verbs = vec![Vec::new()];
    let mut next = 0;
    while let Some(verb) = verbs.get(next) {
        let within = verbs_of(verb);
        verbs.extend(within);
        next += 1;
    }
    assert!(verbs.len() > 30, "{verbs:?}");
    for verb in &verbs {
        let mut command = linerate();
        command.args(verb).arg("-h");
        let (text, code) = on_a_terminal(command);
        assert_eq!(code, Some(0), "{verb:?}");
        let long: Vec<&str> = text.lines().filter(|line| line.chars().count() > usize::from(COLUMNS)).collect();
        assert!(long.is_empty() && text.lines().count() <= LINES, "{verb:?}: {long:#?} {text}");
        // A list of values may go on (`A,…`), a word or a sentence may not.
        let is_cut = |line: &&str| line.strip_suffix('…').is_some_and(|line| !line.ends_with([',', '=']));
        let cut: Vec<&str> = text.lines().filter(is_cut).collect();
        assert!(cut.is_empty(), "{verb:?}: {cut:#?}");
    }
}

#[test]
fn what_a_dry_run_says_fits_a_terminal() {
    let sweep = "bench --dry-run --op get,put,mixed --obj.size 4KiB,64KiB,4MiB,24MiB --concurrent 1,2,4,8,16,32,64";
    let rated = "bench --dry-run --target null --rate 100,200 --op put";
    for load in ["bench --dry-run", sweep, rated] {
        assert_fits(&words(load).collect::<Vec<_>>(), 0);
    }
    let arms = ["experiment", "--with", "one=--threads 1", "--with", "two=--threads 2"];
    assert_fits(&[&arms[..], &["--load", "get:4KiB@32", "--dry-run"]].concat(), 0);
}

#[test]
fn what_is_read_again_and_what_is_measured_here_fits_a_terminal() {
    let readings = repository().join("captures/readings");
    let site = readings.join("site.yaml");
    for reading in std::fs::read_dir(&readings).unwrap().map(|entry| entry.unwrap().path()) {
        let name = reading.file_name().unwrap().to_str().unwrap().to_owned();
        if name.ends_with(".json") && !name.ends_with(".recorded.json") {
            let arguments = ["explain", site.to_str().unwrap(), "--replay", reading.to_str().unwrap()];
            assert_fits(&arguments, 0);
            assert_fits(&[&arguments[..], &["--why"]].concat(), 0);
        }
    }
    assert_fits(&["experiment", "analyze", "examples/experiments/source-002.csv", "--link", "15Gb/s"], 0);
    assert_fits(&["experiment", "analyze", "examples/experiments/source-003-one.csv"], 0);
    assert_fits(&["experiment", "analyze", "examples/experiments/source-003-two.csv"], 0);
    let folder = tempdir().unwrap();
    let run = folder.path().join("run");
    let load = "bench --target null --op get,put --obj.size 1000,1MiB --concurrent 1,2 --duration 400ms --warmup 100ms";
    let arguments = [&words(load).collect::<Vec<_>>()[..], &["-o", run.to_str().unwrap()]].concat();
    assert_fits(&arguments, 0);
    assert_fits(&["capture", "-o", folder.path().join("capture").to_str().unwrap()], 0);
}
