//! `linerate experiment` from its flags to its report, on the embedded target: nothing on the machine is changed.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::Duration;

use linerate_record::experiment::{Decision, ExperimentReport, ExperimentStopReason, OutcomeLine, RemarkKind, Role};
use serde_json::{Value, json};
use tempfile::tempdir;

use crate::running::{ACCESS_KEY, SECRET_KEY, Served, eventually, files_below, linerate, shown, words};

/// Cells as short as they can be: what is right matters here, not how fast.
const SHORT: &str =
    "--load get:16KiB@2 --settle 50ms --measure 200ms --may-differ foreign_load --may-differ stolen --seed 7";

/// Bench flags of a target that is there for the test.
const FEW: &[&str] = &["--", "--objects", "8"];

/// Why a block may not count on a machine that does other things too: no request ended in a cell of so short a time.
const TOO_BUSY: &str = "nothing was measured once the time to settle was over";

fn command(folder: &Path, flags: &str, arms: &[&str]) -> Command {
    let mut command = linerate();
    command.arg("experiment").args(arms).args(words(SHORT)).args(words(flags)).arg("-o").arg(folder);
    command.args(FEW);
    command
}

fn run(folder: &Path, flags: &str, arms: &[&str]) -> Output {
    command(folder, flags, arms).output().expect("linerate runs")
}

fn report(output: &Output) -> ExperimentReport {
    assert!(output.status.success(), "{}", shown(output));
    serde_json::from_slice(&output.stdout).expect("JSON")
}

/// Shows an experiment again.
fn again(folder: &Path, format: &str) -> String {
    let output = linerate().args(["experiment", "report"]).arg(folder).args(["-f", format]).output().expect("it runs");
    assert!(output.status.success(), "{}", shown(&output));
    String::from_utf8(output.stdout).expect("UTF-8")
}

const PAYLOADS: &[&str] = &["--with", "signed=--payload signed", "--with", "unsigned='--payload' unsigned"];

#[test]
fn arms_of_bench_flags_are_compared_on_a_target_that_is_left_as_it_was() {
    let (drive, out) = (tempdir().unwrap(), tempdir().unwrap());
    let target = Served::embedded(drive.path());
    let folder = out.path().join("payloads");
    let mut command = command(&folder, "--blocks 6 --alpha 0.1 -f json", PAYLOADS);
    command.env("AWS_ACCESS_KEY_ID", ACCESS_KEY).env("AWS_SECRET_ACCESS_KEY", SECRET_KEY);
    let reported = report(&command.args(["--host", &target.address]).output().unwrap());

    let roles: Vec<Role> = reported.experiment.design.arms.iter().map(|arm| arm.role).collect();
    assert_eq!(roles, [Role::Baseline, Role::Same, Role::Trial]);
    assert_eq!(reported.experiment.means[2].patch.in_words(), ["bodies.payload unsigned"]);
    assert_ne!(reported.report.ended, ExperimentStopReason::NotYet);
    for block in &reported.report.blocks {
        assert_eq!(block.cells.len(), 3, "{block:?}");
        for cell in &block.cells {
            for figure in ["requests_per_s", "total_p99_ns", "client_cpu_s_per_gib", "target_cpu_s_per_gib", "errors"] {
                assert!(cell.secondary.contains_key(figure), "{figure}: {cell:?}");
            }
            assert!(cell.throughput_per_s.is_some_and(|rate| rate > 0.0) && cell.ended_ns > cell.started_ns);
        }
    }
    assert!(reported.report.secondary.iter().any(|row| row.arm == "unsigned" && row.figure == "total_p50_ns"));
    assert!(reported.advice.is_empty(), "flags of bench are no changes of settings");

    let outcomes = fs::read_to_string(folder.join("outcomes.jsonl")).unwrap();
    let ends = outcomes.lines().filter_map(|line| serde_json::from_str::<OutcomeLine>(line).unwrap().ended);
    assert_eq!(ends.collect::<Vec<_>>(), [reported.report.ended], "why the blocks ended is told once");

    let same: ExperimentReport = serde_json::from_str(&again(&folder, "json")).unwrap();
    assert_eq!(same, reported, "the folder holds all of it");
    let text = again(&folder, "text");
    assert!(text.contains("unsigned") && text.contains("get:16KiB@2"), "{text}");
    assert!(again(&folder, "html").contains("</html>") && folder.join("report.html").exists());

    let left = files_below(target.root.as_deref().unwrap());
    assert!(left.iter().all(|file| !file.contains("linerate-")), "{left:?}");
    for file in files_below(&folder) {
        let text = String::from_utf8_lossy(&fs::read(folder.join(&file)).unwrap()).into_owned();
        assert!(!text.contains(SECRET_KEY), "{file}");
    }
    let cell = fs::read_dir(folder.join("cells")).unwrap().next().unwrap().unwrap().path();
    assert!(linerate().arg("report").arg(cell).output().unwrap().status.success(), "a cell is a run folder");
}

#[test]
fn blocks_on_a_target_that_bench_starts_count_though_its_port_is_another_each_time() {
    let out = tempdir().unwrap();
    let same = ["--with", "one=--threads 1", "--with", "two=--threads 1"];
    let mut command = command(&out.path().join("same"), "--blocks 6 -f json", &same);
    let reported = report(&command.args(["--target", "null"]).output().unwrap());
    let blocks = &reported.report.blocks;
    let excluded: Vec<&String> = blocks.iter().flat_map(|block| &block.excluded).collect();
    assert!(!blocks.is_empty() && !excluded.iter().any(|why| why.contains("target.hosts")), "{excluded:?}");
}

#[test]
fn an_effect_that_is_shown_is_looked_at_for_longer_and_a_time_too_short_for_that_is_refused() {
    let out = tempdir().unwrap();
    let capped = ["--with", "free=--max-rate 1TiB/s", "--with", "capped=--max-rate 1MiB/s"];
    // On a busy machine an experiment may rightly say that it cannot tell; one of three can.
    let mut tried = (0..3).map(|nth| {
        let folder = out.path().join(format!("lasting-{nth}"));
        let reported = report(&command(&folder, "--blocks 8 --lasting 900ms -f json", &capped).output().unwrap());
        println!("{:?}", reported.report.effects[0]);
        (folder, reported)
    });
    let (folder, reported) =
        tried.find(|(_, reported)| reported.report.effects[0].decision == Decision::Shown).expect("an effect is shown");
    let found = &reported.report.effects[0];
    assert!((3..=6).contains(&reported.report.rounds.len()), "{:?}", reported.report.rounds);
    let late = found.lasting.as_ref().expect("it was looked at");
    assert!(late.high_share < -0.3 && late.to_ns - late.from_ns == 300_000_000, "{late:?}");
    assert!(found.sentence.contains(" after a change it is −"), "{}", found.sentence);
    let same: ExperimentReport = serde_json::from_str(&again(&folder, "json")).unwrap();
    assert_eq!(same, reported, "the folder holds all of it");

    let output = command(&out.path().join("none"), "--lasting 300ms", &capped).output().unwrap();
    let said = shown(&output);
    assert!(output.status.code() == Some(2) && said.contains("--lasting 300ms") && said.contains("400ms"), "{said}");
    assert!(!out.path().join("none").exists());
    let output = command(&out.path().join("none"), "--dry-run", &capped).output().unwrap();
    assert!(shown(&output).contains("where an effect is shown: 3 to 6 rounds"), "{}", shown(&output));
}

#[test]
fn one_that_was_interrupted_or_killed_goes_on_where_it_was() {
    let out = tempdir().unwrap();
    let folder = out.path().join("cut");
    let outcomes = folder.join("outcomes.jsonl");
    let cells = || fs::read_to_string(&outcomes).map_or(0, |text| text.lines().count());
    let mut first = command(&folder, "--blocks 6 --alpha 0.1", PAYLOADS);
    let child = first.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    eventually("four cells", || cells() >= 4);
    let pid = child.id().to_string();
    assert!(Command::new("kill").args(["-INT", &pid]).status().unwrap().success());
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130), "{}", shown(&output));
    assert!(shown(&output).contains("linerate experiment resume"), "{}", shown(&output));

    let resume = |more: &[&str]| {
        let mut command = linerate();
        command.args(["experiment", "resume"]).arg(&folder).args(more);
        // What the environment names by now is no part of a load that was described.
        command.env("WARP_HOST", "192.0.2.1:9000").env("WARP_REGION", "elsewhere");
        command
    };
    goes_by_the_load_of_each_arm(&folder);
    let mut second = resume(&["--quiet"]).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let before = cells();
    eventually("two more cells", || cells() >= before + 2);
    second.kill().unwrap();
    second.wait().unwrap();
    // The load that was under way ends by itself; a line may have been cut off.
    let mut text = fs::read_to_string(&outcomes).unwrap();
    text.push_str("{\"cell\":{\"bl");
    fs::write(&outcomes, text).unwrap();
    let reported = report(&resume(&["-f", "json"]).output().unwrap());
    assert_ne!(reported.report.ended, ExperimentStopReason::NotYet);
    let payloads = payloads(&folder);
    assert!(payloads.len() > cells() / 2, "{payloads:?}");
    let of_arm = |arm: &str| if arm.starts_with("arm2") { "unsigned" } else { "signed" };
    assert!(payloads.iter().all(|(arm, payload)| payload == of_arm(arm)), "{payloads:?}");
    // The block that was cut off may have been made whole again; only a busy machine excludes another.
    let excluded = reported.report.remarks.iter().filter(|remark| remark.kind == RemarkKind::Excluded);
    let others =
        excluded.map(|remark| &remark.sentence).filter(|reported| !reported.contains("interrupted within this block"));
    let others: Vec<&String> = others.filter(|reported| !reported.contains(TOO_BUSY)).collect();
    assert!(others.is_empty(), "{others:?}");
    let ended = resume(&[]).output().unwrap();
    assert!(ended.status.code() == Some(2) && shown(&ended).contains("has ended"), "{}", shown(&ended));
}

/// What flags came to is the load, an arm a patch of it; a folder that describes what is none is not gone on with.
fn goes_by_the_load_of_each_arm(folder: &Path) {
    let path = folder.join("experiment.json");
    let text = fs::read_to_string(&path).expect("as the test sets it up");
    let written: Value = serde_json::from_str(&text).expect("as the test sets it up");
    assert_eq!(written["load"]["bodies"]["payload"], "signed");
    assert_eq!(written["load"]["objects"]["count"], 8);
    let last = written["means"].as_array().and_then(|means| means.last()).expect("there are arms");
    assert_eq!(*last, json!({ "patch": { "bodies": { "payload": "unsigned" } } }));
    assert!(!text.contains("--"), "no flag is kept: {text}");
    let named = "the load of arm \"unsigned\": ";
    for (place, value, parts) in [
        ("/load/objects/of_a_newer_one", json!(1), ["unknown field `of_a_newer_one`", "load: "]),
        ("/means/2/patch/bodies/of_a_newer_one", json!(1), ["unknown field `of_a_newer_one`", "experiment.json"]),
        ("/means/2/patch/endpoint", json!({ "bucket": "A b" }), ["invalid bucket name", named]),
        ("/means/2/patch/levels", json!({ "given": [2, 4] }), ["one workload of one size at one concurrency", ""]),
    ] {
        let mut other = written.clone();
        let (within, field) = place.rsplit_once('/').expect("as the test sets it up");
        other.pointer_mut(within).expect("as the test sets it up")[field] = value;
        fs::write(&path, other.to_string()).expect("as the test sets it up");
        let mut command = linerate();
        let output = command.args(["experiment", "resume", "--yes-run"]).arg(folder).output().expect("it runs");
        let said = shown(&output);
        assert!(output.status.code() == Some(2) && parts.iter().all(|part| said.contains(part)), "{place}: {said}");
    }
    fs::write(&path, text).expect("as the test sets it up");
}

#[test]
fn a_target_whose_name_leads_elsewhere_by_now_is_loaded_again_with_consent_alone() {
    let (out, drive) = (tempdir().expect("a folder"), tempdir().expect("a folder"));
    let (folder, target) = (out.path().join("moved"), Served::embedded(drive.path()));
    let host = target.address.replace("127.0.0.1", "localhost");
    let outcomes = folder.join("outcomes.jsonl");
    let cells = || fs::read_to_string(&outcomes).map_or(0, |text| text.lines().count());
    let mut first = command(&folder, "--blocks 6 --alpha 0.1", PAYLOADS);
    first.args(["--host", &host]).env("AWS_ACCESS_KEY_ID", ACCESS_KEY).env("AWS_SECRET_ACCESS_KEY", SECRET_KEY);
    let mut child = first.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("it starts");
    eventually("a cell", || cells() >= 1);
    child.kill().expect("it runs");
    child.wait().expect("it ended");

    let path = folder.join("experiment.json");
    let mut written: Value = serde_json::from_slice(&fs::read(&path).expect("a file")).expect("JSON");
    assert_eq!(written["addresses"], json!([format!("{host} (127.0.0.1)")]));
    written["addresses"] = json!([format!("{host} (127.0.0.9)")]);
    fs::write(&path, written.to_string()).expect("a file");
    let moved = format!("{host} was at 127.0.0.9 when the experiment began, and is at 127.0.0.1 now");
    let resume = |more: &[&str]| {
        let mut command = linerate();
        command.args(["experiment", "resume", "--yes-run"]).arg(&folder).args(more);
        command.env("AWS_ACCESS_KEY_ID", ACCESS_KEY).env("AWS_SECRET_ACCESS_KEY", SECRET_KEY);
        command.output().expect("it runs")
    };
    let refused = resume(&[]);
    let said = shown(&refused);
    assert!(refused.status.code() == Some(2) && said.contains(&moved) && said.contains("--yes-load"), "{said}");
    let resumed = resume(&["--yes-load"]);
    assert!(resumed.status.success() && shown(&resumed).contains(&moved), "{}", shown(&resumed));
}

/// The payloads of the loads that cells drove, by arm.
fn payloads(folder: &Path) -> Vec<(String, String)> {
    let cells = fs::read_dir(folder.join("cells")).expect("cells are kept");
    let one = |cell: fs::DirEntry| {
        let text = fs::read_to_string(cell.path().join("run.json")).ok()?;
        let run: Value = serde_json::from_str(&text).ok()?;
        let name = cell.file_name().to_string_lossy().into_owned();
        let arm = name.split('-').nth(2)?.to_owned();
        Some((arm, run["load"]["bodies"]["payload"].as_str()?.to_owned()))
    };
    cells.filter_map(|cell| one(cell.ok()?)).collect()
}

#[test]
fn an_experiment_on_the_embedded_target_leaves_no_note_of_its_bucket() {
    let (state, out) = (tempdir().unwrap(), tempdir().unwrap());
    let mut command = command(&out.path().join("x"), "--blocks 6 --alpha 0.1 -f json", PAYLOADS);
    let reported = report(&command.env("LINERATE_STATE", state.path()).output().unwrap());
    assert_eq!(reported.experiment.target, "embedded target");
    assert_eq!(files_below(state.path()), Vec::<String>::new());
}

#[test]
fn two_targets_are_compared_and_each_is_left_as_it_was() {
    let (drives, out) = ([tempdir().unwrap(), tempdir().unwrap()], tempdir().unwrap());
    let targets = [Served::embedded(drives[0].path()), Served::embedded(drives[1].path())];
    let [one, other] =
        [("one", &targets[0]), ("other", &targets[1])].map(|(name, t)| format!("{name}=--host {}", t.address));
    let arms = ["--with", one.as_str(), "--with", other.as_str()];
    let mut command = command(&out.path().join("two"), "--blocks 5 --alpha 0.2 -f json", &arms);
    command.env("AWS_ACCESS_KEY_ID", ACCESS_KEY).env("AWS_SECRET_ACCESS_KEY", SECRET_KEY);
    let reported = report(&command.output().unwrap());
    assert!(!reported.report.blocks.is_empty(), "{:?}", reported.report.remarks);
    let mut excluded = reported.report.blocks.iter().flat_map(|block| &block.excluded);
    assert!(excluded.all(|why| why.contains(TOO_BUSY)), "{:?}", reported.report.remarks);
    assert_eq!(reported.experiment.target, format!("{}; {}", targets[0].address, targets[1].address));
    for target in &targets {
        let left = files_below(target.root.as_deref().unwrap());
        assert!(left.iter().all(|file| !file.contains("linerate-")), "{left:?}");
    }
}

#[test]
fn a_named_target_is_left_as_it_was_though_another_arm_loads_one_of_the_experiments_own() {
    let (drive, out, state) = (tempdir().unwrap(), tempdir().unwrap(), tempdir().unwrap());
    let target = Served::embedded(drive.path());
    let named = format!("named=--host {}", target.address);
    let arms = ["--with", "own=--payload signed", "--with", named.as_str()];
    let mut command = command(&out.path().join("mixed"), "--blocks 5 --alpha 0.2 -f json", &arms);
    command.env("AWS_ACCESS_KEY_ID", ACCESS_KEY).env("AWS_SECRET_ACCESS_KEY", SECRET_KEY);
    let output = command.env("LINERATE_STATE", state.path()).output().unwrap();
    let reported = report(&output);
    assert_eq!(reported.experiment.target, format!("embedded target; {}", target.address));
    let left = files_below(target.root.as_deref().unwrap());
    assert!(left.iter().all(|file| !file.contains("linerate-")), "{left:?}");
    assert!(!shown(&output).contains("warning: objects"), "{}", shown(&output));
    assert_eq!(files_below(state.path()), Vec::<String>::new(), "no note of a bucket");
}

#[test]
fn commands_put_arms_in_place_and_the_baselines_comes_last() {
    let out = tempdir().unwrap();
    let log = out.path().join("log");
    let say = |word: &str| format!("{word}=echo {word} >> {}", log.display());
    let (overlay, native) = (say("overlay"), say("native"));
    let folder = out.path().join("cni");
    let restart = format!("echo restart >> {}", log.display());
    let arms = ["--arm", overlay.as_str(), "--arm", native.as_str(), "--no-same", "--restart", restart.as_str()];
    let reported = report(&run(&folder, "--blocks 5 --alpha 0.2 -f json", &arms));
    let said = fs::read_to_string(&log).unwrap();
    let count = |word: &str| said.lines().filter(|line| *line == word).count();
    // Rounds follow where chance shows an effect.
    let cells = reported.report.blocks.len() + reported.report.rounds.len();
    // Each once before the first cell; then the baseline's again, for writing what is read, and at the end.
    assert_eq!((count("native"), count("overlay")), (cells + 1, cells + 4), "{said}");
    assert_eq!(count("restart"), count("native") + count("overlay"), "after each change");
    assert_eq!(said.lines().rev().take(2).collect::<Vec<_>>(), ["restart", "overlay"]);

    let fails = ["--arm", "good=true", "--arm", "bad=echo no such thing >&2; exit 3"];
    let output = run(&out.path().join("fails"), "", &fails);
    assert_eq!(output.status.code(), Some(1), "{}", shown(&output));
    assert!(shown(&output).contains("ended with code 3: no such thing"), "{}", shown(&output));
    assert!(!out.path().join("fails").exists(), "what never began leaves nothing");
}

#[test]
fn a_dry_run_tells_the_arms_and_touches_nothing() {
    let out = tempdir().unwrap();
    let folder = out.path().join("x");
    let arms = ["--knob", "vm.swappiness=13|14", "--knob", "kernel.hung_task_timeout_secs=77"];
    let output = run(&folder, "--blocks 9 --dry-run", &arms);
    let text = shown(&output);
    assert!(output.status.success(), "{text}");
    for part in ["  baseline\n", "  vm.swappiness=14\n", "→ \"77\" (", "at most 9 blocks of 4 cells, 36 in all"] {
        assert!(text.contains(part), "{part}: {text}");
    }
    assert!(!folder.exists());
}

#[test]
fn a_figure_above_the_link_excludes_every_block() {
    let out = tempdir().unwrap();
    let reported = report(&run(&out.path().join("x"), "--blocks 5 --alpha 0.2 --link 1Mb/s -f json", PAYLOADS));
    assert_eq!(reported.report.ended, ExperimentStopReason::Excluded);
    assert!(!reported.report.blocks.is_empty(), "{:?}", reported.report.remarks);
    assert!(
        reported
            .report
            .blocks
            .iter()
            .all(|block| block.excluded.iter().any(|why| why.contains("did not cross that link")))
    );
}

#[test]
fn a_target_that_goes_away_ends_it_with_what_was_measured() {
    let (drive, out) = (tempdir().unwrap(), tempdir().unwrap());
    let mut target = Served::embedded(drive.path());
    let folder = out.path().join("gone");
    let mut command = command(&folder, "--blocks 24 --host", PAYLOADS);
    // The host goes behind its flag, which stands last before the flags of bench.
    let mut words: Vec<std::ffi::OsString> = command.get_args().map(std::ffi::OsStr::to_owned).collect();
    let at = words.iter().position(|word| word == "--host").unwrap();
    words.insert(at + 1, target.address.clone().into());
    command = linerate();
    command.args(words).env("AWS_ACCESS_KEY_ID", ACCESS_KEY).env("AWS_SECRET_ACCESS_KEY", SECRET_KEY);
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let outcomes = folder.join("outcomes.jsonl");
    eventually("a whole block", || fs::read_to_string(&outcomes).is_ok_and(|text| text.lines().count() >= 3));
    target.kill();
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(3), "{}", shown(&output));
    assert!(shown(&output).contains("failed 3 times in a row"), "{}", shown(&output));
    std::thread::sleep(Duration::from_millis(10));
    assert!(again(&folder, "text").contains("unsigned"));
}

/// The folder of an experiment on the embedded target, as the first version that conducted one left it; what names the
/// machine was taken out of its fingerprints, and its cells were not kept.
fn of_before() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/recorded/experiment-schema-1")
}

#[test]
fn an_experiment_of_before_is_read_and_shown_though_it_does_not_describe_its_loads() {
    let reported: ExperimentReport = serde_json::from_str(&again(&of_before(), "json")).unwrap();
    let (requested, found) = (&reported.experiment, &reported.report);
    assert!(requested.schema == 1 && requested.means.len() == 3 && requested.loads().is_none());
    assert_eq!(
        (requested.load.to_string().as_str(), requested.means[2].flags.join(" ").as_str()),
        ("put:1MiB@2", "--payload unsigned")
    );
    assert_eq!((found.ended, found.blocks.len()), (ExperimentStopReason::Blocks, 4));
    assert!(found.blocks.iter().all(|block| block.cells.len() == 3 && block.excluded.is_empty()), "{:?}", found.blocks);
    let arms: Vec<&str> = found.effects.iter().map(|effect| effect.arm.as_str()).collect();
    assert_eq!(arms, ["unsigned"]);
    for (format, part) in [("text", "Cannot tell: unsigned."), ("html", "<code>flags --payload unsigned</code>")] {
        let text = again(&of_before(), format);
        assert!(text.contains(part) && text.contains("payloads"), "{format}: {text}");
    }
}

/// The folder of one of the last version with schema 1, which kept flags and the load that they came to.
fn described_before() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/recorded/experiment-schema-1-described")
}

#[test]
fn an_experiment_of_schema_1_that_describes_its_loads_is_read_and_shown() {
    let reported: ExperimentReport = serde_json::from_str(&again(&described_before(), "json")).unwrap();
    let (requested, found) = (&reported.experiment, &reported.report);
    assert_eq!(
        (requested.schema, requested.means.len(), requested.flags.join(" ").as_str()),
        (1, 3, "--unique tail --objects 8")
    );
    assert_eq!((found.ended, found.blocks.len()), (ExperimentStopReason::Decided, 3));
    let effect = &found.effects[0];
    assert_eq!((effect.arm.as_str(), effect.decision), ("unsigned", Decision::Futile));
    assert!(again(&described_before(), "text").contains("put:64KiB@2 at embedded target"));
}

/// The folder of one of schema 2: its arms are patches of one load, and a cell of its second block got errors.
fn recorded() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/recorded/experiment-schema-2")
}

#[test]
fn an_experiment_of_schema_2_is_read_and_shown() {
    let reported: ExperimentReport = serde_json::from_str(&again(&recorded(), "json")).unwrap();
    let (requested, found) = (&reported.experiment, &reported.report);
    assert_eq!(
        (requested.schema, requested.means[2].patch.in_words()),
        (2, vec!["bodies.payload unsigned".to_owned()])
    );
    assert_eq!(requested.loads().map(|loads| loads.len()), Some(3));
    let excluded: Vec<&str> = found.blocks.iter().flat_map(|block| &block.excluded).map(String::as_str).collect();
    assert_eq!((found.blocks.len(), &excluded[..]), (5, &["unsigned: 12 of 98 requests failed: 12 × http 503"][..]));
    let effect = &found.effects[0];
    let shown = (effect.arm.as_str(), effect.decision, found.ended);
    assert_eq!(shown, ("unsigned", Decision::Futile, ExperimentStopReason::Decided));
    let json: Value = serde_json::from_str(&again(&recorded(), "json")).unwrap();
    assert_eq!(json["report"]["blocks"][1]["spoiled"], json!(excluded), "the older word stays");
    assert!(again(&recorded(), "text").contains("12 × http 503"));
}

#[test]
fn a_stop_reason_that_was_recorded_stays_and_what_the_rules_say_now_is_told_beside_it() {
    let (decided, spent) = (ExperimentStopReason::Decided, ExperimentStopReason::Blocks);
    let own = " (by the rules of this version: every arm is decided or dropped early)";
    for (recorded, expected, by_own_rules) in
        [(None, decided, None), (Some("decided"), decided, None), (Some("blocks"), spent, Some(decided))]
    {
        let folder = tempdir().unwrap();
        fs::copy(described_before().join("experiment.json"), folder.path().join("experiment.json")).unwrap();
        let text = fs::read_to_string(described_before().join("outcomes.jsonl")).unwrap();
        let mut lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        if let Some(word) = recorded {
            lines.last_mut().unwrap()["ended"] = json!(word);
        }
        let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
        fs::write(folder.path().join("outcomes.jsonl"), text).unwrap();
        let reported: ExperimentReport = serde_json::from_str(&again(folder.path(), "json")).unwrap();
        let found = &reported.report;
        assert_eq!((found.ended, found.ended_by_own_rules), (expected, by_own_rules), "{recorded:?}");
        let text = again(folder.path(), "text").split_whitespace().collect::<Vec<_>>().join(" ");
        assert_eq!(text.contains(own), by_own_rules.is_some(), "{recorded:?}: {text}");
        assert_eq!(text.contains("stop reason all 4 blocks are spent"), expected == spent, "{recorded:?}: {text}");
    }
}

#[test]
fn an_experiment_of_schema_1_is_not_gone_on_with() {
    for before in [of_before(), described_before()] {
        let folder = tempdir().unwrap();
        fs::copy(before.join("experiment.json"), folder.path().join("experiment.json")).unwrap();
        let output = linerate().args(["experiment", "resume", "--yes-run"]).arg(folder.path()).output().unwrap();
        let said = shown(&output);
        assert!(output.status.code() == Some(2) && said.contains("flags in place of its loads"), "{said}");
        assert!(said.contains("begin a new experiment") && said.contains("linerate 0.1.0"), "{said}");
    }
}

#[test]
fn an_experiment_of_a_later_schema_is_refused_by_its_schema_whatever_else_it_says() {
    let text = fs::read_to_string(of_before().join("experiment.json")).unwrap();
    let raised = |value: &mut Value| value["schema"] = json!(4);
    let otherwise = |value: &mut Value| {
        raised(value);
        value["arms"] = value["design"].take();
        value["load"] = json!({ "work": "put" });
    };
    for change in [&raised as &dyn Fn(&mut Value), &otherwise] {
        let folder = tempdir().unwrap();
        let mut value: Value = serde_json::from_str(&text).unwrap();
        change(&mut value);
        fs::write(folder.path().join("experiment.json"), value.to_string()).unwrap();
        fs::copy(of_before().join("outcomes.jsonl"), folder.path().join("outcomes.jsonl")).unwrap();
        for verb in ["report", "resume"] {
            let output = linerate().args(["experiment", verb]).arg(folder.path()).output().unwrap();
            let said = String::from_utf8_lossy(&output.stderr).into_owned();
            assert!(output.status.code() == Some(2) && output.stdout.is_empty(), "{verb}: {}", shown(&output));
            assert!(said.contains("has schema 4, this linerate reads up to 3: use a newer one"), "{verb}: {said}");
            assert_eq!(said.matches("error").count(), 1, "{verb}: {said}");
        }
    }
}

#[test]
fn bad_usage_is_told_at_once_and_leaves_nothing() {
    let out = tempdir().unwrap();
    let folder = out.path().join("none");
    for (flags, arms, part) in [
        ("", &[][..], "nothing to compare"),
        ("", &["--with", "one=--threads 1"], "give --with at least twice"),
        ("", &["--with", "one", "--with", "two=--tls"], "invalid --with \"one\""),
        ("", &["--with", "a=--threads x", "--with", "b=--threads 2"], "flags of bench"),
        ("", &["--with", "a=--op put", "--with", "b=--op get"], "--op is set by the experiment"),
        ("", &["--with", "a=--secret-key x", "--with", "b=--tls"], "AWS_SECRET_ACCESS_KEY"),
        ("", &["--with", "a=--tls", "--with", "a=--insecure"], "two arms are called \"a\""),
        ("", &["--knob", "net.core.rmem_maxx=1,2"], "did you mean net.core.rmem_max?"),
        ("", &["--knob", "net.core.rmem_max"], "write KNOB=VALUE"),
        ("", &["--knob", "net.core.rmem_max=1,2", "--arm", "x=y"], "cannot be used with"),
        ("", &["--profile", "none"], "there is no profile"),
        ("--blocks 4", PAYLOADS, "plan at least 6"),
        ("--budget 1s", PAYLOADS, "--budget 1s is enough for about 0 of"),
        ("--may-differ foo", PAYLOADS, "is not a key of the fingerprint: write one of "),
        ("--measure 10ms", PAYLOADS, "200ms or more"),
        ("--alpha 2", PAYLOADS, "invalid share"),
        ("--host 192.0.2.1:9000", PAYLOADS, "--yes-load"),
    ] {
        // Of two flags of one name clap takes neither: what is tried replaces the usual.
        let mut words: Vec<&str> = words(SHORT).collect();
        for flag in flags.split_whitespace().filter(|word| word.starts_with("--")) {
            if let Some(at) = words.iter().position(|word| *word == flag) {
                words.drain(at..at + 2);
            }
        }
        let mut command = linerate();
        command.arg("experiment").args(arms).args(words).args(flags.split_whitespace()).arg("-o").arg(&folder);
        let output = command.env("AWS_ACCESS_KEY_ID", "a").env("AWS_SECRET_ACCESS_KEY", "b").output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{flags} {arms:?}: {}", shown(&output));
        assert!(shown(&output).contains(part), "{part}: {}", shown(&output));
        assert!(!folder.exists(), "{flags} {arms:?}");
    }
    for (key, code) in [("foreign_laod", 2), ("foreign_load", 0), ("nic.eth7.mtu", 0), ("setting vm.swappiness", 0)] {
        let words = ["experiment", "--dry-run", "--load", "get:16KiB@2", "--may-differ", key];
        let output = linerate().args(words).args(PAYLOADS).output().unwrap();
        assert_eq!(output.status.code(), Some(code), "{key}: {}", shown(&output));
        let said = format!("--may-differ {key:?} is not a key of the fingerprint: write one of ");
        assert_eq!(shown(&output).contains(&said), code == 2, "{}", shown(&output));
        assert!(code == 0 || shown(&output).contains("foreign_load, "), "{}", shown(&output));
    }
    let output = linerate().args(["experiment", "resume"]).arg(out.path()).output().unwrap();
    assert!(output.status.code() == Some(2) && shown(&output).contains("experiment.json"), "{}", shown(&output));
    assert_eq!(files_below(out.path()), Vec::<String>::new());
}
