//! `linerate tune --fleet` through pods of a real Kubernetes, whose node is a virtual machine with systemd as its first
//! process: a pod has that start what changes the machine, and is deleted. Emulated, a node takes two minutes to begin.

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use libtest_mimic::Failed;

use super::{Cluster, LONG_TIMEOUT, machines, shared};
use crate::running::{eventually_within, linerate, shown};

type Check = (&'static str, fn() -> Result<(), Failed>);

pub(crate) const CHECKS: [Check; 2] = [
    ("systemd_what_a_pod_that_is_deleted_has_changed_lapses_by_a_unit_of_its_node", || on_host(lapses)),
    ("systemd_what_a_pod_that_is_deleted_has_changed_is_confirmed_through_the_next_one", || on_host(confirmed)),
];

/// For how long changes wait: an order takes half a minute, emulated.
const WAITS: Duration = Duration::from_secs(300);

const PLACE: &str = "/proc/sys/vm/swappiness";
const NEW: &str = "11";

/// What this machine lacks for it.
pub(crate) fn missing() -> Vec<String> {
    let mut lacks: Vec<String> = super::missing().into_iter().map(str::to_owned).collect();
    lacks.extend(machines::missing());
    let parts = ["/lib/systemd/systemd", "/usr/bin/systemd-run"];
    lacks.extend(parts.into_iter().filter(|part| !Path::new(part).exists()).map(str::to_owned));
    lacks
}

fn on_host(check: fn(&Cluster) -> Result<(), Failed>) -> Result<(), Failed> {
    shared("systemd", start, check)
}

fn scratch(name: &str) -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join("hosted").join(name)
}

/// The program for pods. What only debuggers read is copied and hashed there too, emulated.
fn stripped() -> PathBuf {
    let program = scratch("linerate");
    std::fs::create_dir_all(scratch("")).expect("a folder");
    std::fs::copy(linerate().get_program(), &program).expect("a copy");
    let _ = Command::new("strip").arg(&program).stderr(Stdio::null()).status();
    program
}

fn start(_name: &'static str) -> Result<Cluster, String> {
    let program = stripped().display().to_string();
    let cluster = Cluster::hold("cluster-systemd", PathBuf::new(), ["systemd", "1"], &[("LINERATE", &program)])?;
    cluster.kubectl(&["label", "node", "n1", "change=yes"]);
    let up = "fleet up --change --image linerate.local/linerate:test --storage-label change=yes --instance host \
              --deadline 2h --wait 15m -o";
    let output = ran(&cluster, up, &[&fleet()]);
    if output.status.success() { Ok(cluster) } else { Err(shown(&output)) }
}

fn fleet() -> String {
    scratch("fleet.yaml").display().to_string()
}

/// linerate in the network of the cluster, with words and others behind them.
fn ran(cluster: &Cluster, words: &str, more: &[&str]) -> Output {
    cluster.linerate(words).args(more).output().expect("the script runs")
}

/// `tune` on the fleet, which must end well.
fn tuned(cluster: &Cluster, words: &str) -> String {
    let output = ran(cluster, &format!("tune {words} --fleet"), &[&fleet()]);
    assert!(output.status.success(), "{words}: {}", shown(&output));
    shown(&output)
}

/// What a command says on the machine.
fn there(cluster: &Cluster, words: &[&str]) -> String {
    cluster.act(&[&["at", "1"][..], words].concat()).trim().to_owned()
}

fn units(cluster: &Cluster, pattern: &str) -> String {
    there(cluster, &["systemctl", "list-units", "--all", "--plain", "--no-legend", pattern])
}

/// Waits until a pod hands on to an agent of the machine, which knows by itself that it is in no container.
fn await_agent(cluster: &Cluster) {
    let is_reached = || {
        std::thread::sleep(Duration::from_secs(2));
        ran(cluster, "fleet check --fleet", &[&fleet()]).status.success()
    };
    eventually_within(LONG_TIMEOUT, "an agent of the machine", is_reached);
}

/// Changes the machine, and deletes the pod through which that was done; the value before, and since when it waits.
fn changed_and_deleted(cluster: &Cluster) -> (String, Instant) {
    await_agent(cluster);
    let before = there(cluster, &["cat", PLACE]);
    assert_ne!(before, NEW);
    let file = scratch("changes.json").display().to_string();
    let _ = std::fs::remove_file(&file);
    tuned(cluster, &format!("diff --set vm.swappiness={NEW} -o {file}"));
    let begun = Instant::now();
    println!("{}", tuned(cluster, &format!("apply {file} --confirm {}s", WAITS.as_secs())));
    assert_eq!(there(cluster, &["cat", PLACE]), NEW);
    let timer = units(cluster, "linerate-tune-*");
    assert!(timer.contains(".timer") && timer.contains("active"), "the watch is the machine's: {timer}");
    cluster.kubectl(&["delete", "pod", "--all", "--namespace", "linerate-change", "--timeout=120s"]);
    let has_ended = || {
        std::thread::sleep(Duration::from_secs(1));
        units(cluster, "linerate-agent-*").is_empty()
    };
    eventually_within(LONG_TIMEOUT, "no agent to be left", has_ended);
    assert!(begun.elapsed() < WAITS, "all of that took {:?}", begun.elapsed());
    assert_eq!(there(cluster, &["cat", PLACE]), NEW, "the change is as it was");
    assert_eq!(units(cluster, "linerate-tune-*"), timer, "and so is its watch");
    (before, begun)
}

fn lapses(cluster: &Cluster) -> Result<(), Failed> {
    let (before, begun) = changed_and_deleted(cluster);
    let is_back = || {
        std::thread::sleep(Duration::from_secs(1));
        there(cluster, &["cat", PLACE]) == before
    };
    eventually_within(WAITS + Duration::from_secs(60), "the lapse", is_back);
    println!("rolled back {} s after it was applied, for {} s", begun.elapsed().as_secs(), WAITS.as_secs());
    await_agent(cluster);
    let said = tuned(cluster, "status");
    assert!(said.contains("1 as before"), "{said}");
    assert_eq!(units(cluster, "linerate-tune-*"), "", "nothing of it is left");
    Ok(())
}

fn confirmed(cluster: &Cluster) -> Result<(), Failed> {
    let (before, begun) = changed_and_deleted(cluster);
    await_agent(cluster);
    assert!(begun.elapsed() < WAITS, "another pod was there after {:?}", begun.elapsed());
    let said = tuned(cluster, "confirm");
    assert!(said.contains("1 confirmed"), "{said}");
    assert_eq!(units(cluster, "linerate-tune-*"), "", "no watch is left");
    std::thread::sleep((WAITS + Duration::from_secs(10)).saturating_sub(begun.elapsed()));
    assert_eq!(there(cluster, &["cat", PLACE]), NEW, "what was confirmed stays");
    let reported: serde_json::Value =
        serde_json::from_slice(&ran(cluster, "tune status --json --fleet", &[&fleet()]).stdout)?;
    let rollout = reported["rollout"].as_str().ok_or("the name of the rollout")?;
    tuned(cluster, &format!("rollback {rollout}"));
    assert_eq!(there(cluster, &["cat", PLACE]), before);
    let output = ran(cluster, "fleet down --instance host", &[]);
    assert!(output.status.success(), "{}", shown(&output));
    assert!(shown(&output).contains("/var/lib/linerate stays"), "{}", shown(&output));
    // What is left there is the program and the journals, for root alone.
    let left = there(cluster, &["stat", "-c", "%a %U", "/var/lib/linerate", "/var/lib/linerate/programs"]);
    assert_eq!(left, "700 root\n700 root");
    Ok(())
}
