//! `linerate experiment` on the real kernel: settings of a namespace and of the machine as arms.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use libtest_mimic::Failed;
use linerate_record::experiment::{Decision, Effect, ExperimentReport, OutcomeLine};
use tempfile::tempdir;

use super::{Minio, Namespaces, wrapped};
use crate::running::{eventually_within, linerate, shown};

/// A setting of the machine that no S3 request notices.
const INERT: &str = "kernel.hung_task_timeout_secs";

/// Cells as short as they can be, and no long ones where chance shows an effect.
const SHORT: &str = "--settle 300ms --measure 700ms --lasting 0s --may-differ foreign_load --may-differ stolen";

/// Runs it in the client's namespace against a MinIO in the server's.
fn against(spaces: &Namespaces, minio: &Minio, state: &Path, arguments: &[&str]) -> Output {
    let mut inner = linerate();
    inner.arg("experiment").args(arguments).args(SHORT.split(' '));
    inner.args(["--host", &minio.address, "--yes-load", "-f", "json"]).env("LINERATE_STATE", state);
    inner.envs(minio.keys()).args(["--", "--objects", "24"]);
    wrapped(spaces.in_client(), &inner).output().expect("ip runs")
}

fn report_of(output: &Output) -> Result<ExperimentReport, Failed> {
    assert!(output.status.success(), "{}", shown(output));
    Ok(serde_json::from_slice(&output.stdout)?)
}

/// Another value of the inert setting.
fn other_inert() -> String {
    let now = sysctl(INERT);
    let seconds: u32 = now.trim().parse().expect("a number of seconds");
    format!("{INERT}={}", seconds + 1)
}

fn sysctl(name: &str) -> String {
    std::fs::read_to_string(format!("/proc/sys/{}", name.replace('.', "/"))).expect("this machine has it")
}

fn sysctl_in(mut space: Command, name: &str) -> String {
    let output = space.args(["sysctl", "-n", name]).output().expect("ip runs");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// How often an experiment may show what helps and not advise it.
const EXPERIMENTS_MAX: u32 = 3;

/// A receive buffer of 4 KiB in the client's namespace is slower than one that grows; an inert setting and the baseline
/// itself are not called anything. What helps is a file of changes that `tune apply` takes.
pub(crate) fn finds() -> Result<(), Failed> {
    let spaces = Namespaces::make(Some(1_000_000_000));
    let minio = Minio::start_in(&spaces);
    let (state, out) = (tempdir()?, tempdir()?);
    let rmem = || sysctl_in(spaces.in_client(), "net.ipv4.tcp_rmem");
    let grown = rmem().split_whitespace().collect::<Vec<_>>().join(" ");
    spaces.set_in_client("net.ipv4.tcp_rmem", "4096 4096 4096");
    let before = (rmem(), sysctl(INERT));
    let (larger, inert) = (format!("net.ipv4.tcp_rmem={grown}"), other_inert());
    let mut advised = None;
    for nth in 0..EXPERIMENTS_MAX {
        let folder = out.path().join(format!("small-buffer-{nth}"));
        let seed = (6 + nth).to_string();
        let mut arguments = vec!["--knob", &larger, "--knob", &inert, "-o", folder.to_str().ok_or("UTF-8")?];
        arguments.extend("--load get:1MiB@4 --alpha 0.005 --blocks 24 --link 1Gb/s --seed".split(' '));
        arguments.push(&seed);
        let reported = report_of(&against(&spaces, &minio, state.path(), &arguments))?;
        let is_shown = shown_and_nothing_else(&reported, &larger)?;
        assert_eq!((rmem(), sysctl(INERT)), before);
        assert_eq!(minio.objects("linerate-bench"), Vec::<String>::new(), "what was read is gone");
        assert!(folder.join("report.html").exists());
        let changes = folder.join("changes.json");
        assert_eq!(changes.exists(), !reported.advice.is_empty());
        // A machine that is busy with others may leave open whether it helps, and whether its p99 pays for it.
        if is_shown && changes.exists() {
            advised = Some(changes);
            break;
        }
    }
    let advised = advised.ok_or("shown to help, and never advised")?;

    let tune = |words: &[&str]| {
        let mut inner = linerate();
        inner.arg("tune").args(words).env("LINERATE_STATE", state.path());
        let output = wrapped(spaces.in_client(), &inner).output().expect("ip runs");
        assert!(output.status.success(), "{words:?}: {}", shown(&output));
    };
    tune(&["apply", advised.to_str().ok_or("UTF-8")?]);
    assert_eq!(rmem().split_whitespace().collect::<Vec<_>>().join(" "), grown, "what was shown to help");
    tune(&["rollback"]);
    assert_eq!((rmem(), sysctl(INERT)), before);
    Ok(())
}

/// The larger buffer helps, where that could be told, the inert setting is not called, and the baseline's second cell
/// is part of the baseline. Whether it could be told.
fn shown_and_nothing_else(reported: &ExperimentReport, larger: &str) -> Result<bool, Failed> {
    let effects: Vec<String> = reported.report.effects.iter().map(|e| format!("{}: {}", e.arm, e.sentence)).collect();
    println!("{} blocks; {}", reported.report.blocks.len(), effects.join("; "));
    let effect = |part: &str| -> Result<&Effect, Failed> {
        reported.report.effects.iter().find(|effect| effect.arm.contains(part)).ok_or_else(|| part.into())
    };
    let found = effect(larger)?;
    let is_shown = found.decision == Decision::Shown;
    assert!(is_shown || found.decision == Decision::NotSettled, "{found:?}");
    assert!(found.share.is_some_and(|share| share > 0.0) && found.low_share.is_some_and(|low| low > 0.0));
    assert_ne!(effect(INERT)?.decision, Decision::Shown);
    assert!(effect("again").is_err(), "the baseline's second cell is part of the baseline");
    Ok(is_shown)
}

/// A setting of the host's network namespace reaches neither the client nor the server in namespaces of their own.
pub(crate) fn tells() -> Result<(), Failed> {
    let spaces = Namespaces::make(None);
    let minio = Minio::start_in(&spaces);
    let (state, out) = (tempdir()?, tempdir()?);
    let here = std::process::id().to_string();
    let before = (sysctl("net.ipv4.tcp_rmem"), sysctl(INERT));
    let smaller = "net.ipv4.tcp_rmem=4096 16384 65536";
    let run = |name: &str, more: &[&str]| {
        let folder = out.path().join(name);
        let folder = folder.to_str().unwrap_or_default();
        let common = ["--pid", &here, "--load", "get:64KiB@2", "--alpha", "0.4", "--blocks", "5", "-o", folder];
        let arguments: Vec<&str> = common.iter().chain(&["--knob", smaller]).chain(more).copied().collect();
        (against(&spaces, &minio, state.path(), &arguments), out.path().join(name))
    };
    let (alone, folder) = run("alone", &[]);
    assert_eq!(alone.status.code(), Some(2), "{}", shown(&alone));
    let server = format!("--pid {}", minio.pid());
    for part in ["nothing is tested", "net.ipv4.tcp_rmem", "reaches neither", &server] {
        assert!(shown(&alone).contains(part), "{part}: {}", shown(&alone));
    }
    assert!(!folder.exists(), "what never began leaves nothing");
    let inert = other_inert();
    let (alongside, _) = run("beside", &["--knob", &inert]);
    let reported = report_of(&alongside)?;
    assert!(
        reported.experiment.not_tested.iter().any(|left| left.arm == smaller && left.why.contains("reaches neither"))
    );
    assert!(reported.report.effects.iter().any(|effect| effect.arm.contains(INERT)));
    assert!(reported.report.effects.iter().all(|effect| effect.arm != smaller), "it is not tested");
    assert_eq!((sysctl("net.ipv4.tcp_rmem"), sysctl(INERT)), before);
    Ok(())
}

/// Killed at moments spread at random over its time, the watch rolls the machine back at once.
pub(crate) fn killed() -> Result<(), Failed> {
    const KILLS: u32 = 52;
    let spaces = Namespaces::make(None);
    let (state, out) = (tempdir()?, tempdir()?);
    let now = || {
        let of_client = |name: &str| sysctl_in(spaces.in_client(), name);
        [of_client("net.ipv4.tcp_rmem"), of_client("net.ipv4.tcp_fin_timeout"), sysctl(INERT)]
    };
    let before = now();
    let mut rng = u64::from(std::process::id());
    println!("seed {rng}");
    let mut halfway = 0;
    for kill in 0..KILLS {
        let mut inner = linerate();
        inner.args(["experiment", "--knob", "net.ipv4.tcp_rmem=4096 16384 65536", "--knob", &other_inert()]);
        inner.args(["--knob", "net.ipv4.tcp_fin_timeout=59", "--load", "stat:4KiB@1", "--seed", "1", "--quiet"]);
        inner.args(["--settle", "50ms", "--measure", "200ms", "-o"]).arg(out.path().join(kill.to_string()));
        inner.args(["--", "--objects", "4"]).env("LINERATE_STATE", state.path());
        let mut command = wrapped(spaces.in_client(), &inner);
        let mut child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn()?;
        rng = rng.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        std::thread::sleep(Duration::from_millis((rng >> 33) % 2500));
        assert!(child.try_wait()?.is_none(), "it ended by itself: {}", shown(&child.wait_with_output()?));
        child.kill()?;
        child.wait()?;
        halfway += u32::from(now() != before);
        eventually_within(Duration::from_secs(10), "the watch to roll everything back", || now() == before);
    }
    // Values are back before the watch has closed the journal. Were its folder gone by then, the note of it would keep
    // others from changing settings until its time is over.
    let noted = || std::fs::read_to_string("/run/linerate/tune.waiting").unwrap_or_default();
    let is_noted = || noted().contains(&*state.path().to_string_lossy());
    for _ in 0..100 {
        if !is_noted() {
            break;
        }
        std::thread::sleep(Duration::from_millis(100));
    }
    if is_noted() {
        linerate().args(["tune", "rollback"]).env("LINERATE_STATE", state.path()).output()?;
    }
    assert!(halfway >= 8, "{halfway} of {KILLS} kills found something changed");
    println!("killed {KILLS} times, {halfway} times with something changed: as before each time");
    Ok(())
}

/// A target that is restarted after each change serves again before it is loaded, and its new process is no fault.
pub(crate) fn restarts() -> Result<(), Failed> {
    let mut minio = Minio::start(&[]);
    let (state, out) = (tempdir()?, tempdir()?);
    let (folder, wanted) = (out.path().join("restarted"), out.path().join("wanted"));
    let mut command = linerate();
    command.args(["experiment", "--knob", &other_inert(), "--host", &minio.address, "--load", "get:64KiB@2"]);
    command.args(["--no-same", "--alpha", "0.45", "--blocks", "3", "-f", "json", "-o"]).arg(&folder);
    let wait = format!("touch {0}; while [ -e {0} ]; do sleep 0.05; done", wanted.display());
    command.args(["--restart", &wait]).args(SHORT.split(' ')).args(["--", "--objects", "8"]);
    command.env("LINERATE_STATE", state.path()).envs(minio.keys());
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?;
    let (begun, mut restarted) = (Instant::now(), 0_usize);
    while child.try_wait()?.is_none() {
        assert!(begun.elapsed() < Duration::from_secs(300), "it does not end");
        if wanted.exists() {
            minio.stop();
            minio.go_on();
            restarted += 1;
            std::fs::remove_file(&wanted)?;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    let reported = report_of(&child.wait_with_output()?)?;
    let cells: Vec<OutcomeLine> = std::fs::read_to_string(folder.join("outcomes.jsonl"))?
        .lines()
        .map(serde_json::from_str)
        .collect::<Result<_, _>>()?;
    let processes: BTreeSet<&String> =
        cells.iter().filter_map(|done| done.outcome.fingerprint.get("target.started")).collect();
    // For each arm before the first cell, then as it was; for writing what is read, and at the end.
    assert_eq!((processes.len(), restarted), (cells.len(), cells.len() + 5), "a process for each cell");
    assert!(reported.report.blocks.iter().all(|block| block.excluded.is_empty()), "{:?}", reported.report.remarks);
    assert!(cells.iter().all(|done| done.outcome.secondary.contains_key("target_cpu_s_per_gib")), "of that process");
    assert_eq!(minio.objects("linerate-bench"), Vec::<String>::new(), "what was read is gone");
    Ok(())
}
