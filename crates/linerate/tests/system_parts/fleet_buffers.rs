//! `linerate experiment --fleet` over four nodes of a MinIO, loaded by two clients behind links with delay: small
//! receive buffers of the servers are found, a setting that nothing notices is not called, and what a node refuses is
//! told.

use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use libtest_mimic::Failed;
use linerate_record::experiment::{Decision, Effect, ExperimentReport};
use tempfile::tempdir;

use super::cluster::{BOTH_WAYS, Cluster, Parts};
use super::fleet_nodes::agent_of_its_own;
use super::minio::keys;
use super::recorded::Running;
use super::wrapped;
use crate::running::agents::Place;
use crate::running::{linerate, shown, words};

const NODES: u32 = 4;
const PARTS: Parts = Parts { nodes: NODES, drives: 1, parity: Some(2), disk_mib: None, layered: false };

const CLIENTS: [&str; 2] = ["c1", "c2"];

/// Of each client's link, each way, and what each frame waits on it: a connection to a server whose buffer does not
/// grow past 64 KiB carries a sixteenth of it. Requests are many and small beside what is measured: few large ones end
/// at the same moments of each cell, and its halves differ by that.
const CLIENT_BITS_PER_S: u64 = 100_000_000;
const DELAY_MS: u32 = 40;

/// MinIO asks for receive buffers of 4 MiB by itself, and they do not follow `tcp_rmem` then.
const GROWING: [(&str, &str); 1] = [("MINIO_RECV_BUF_SIZE", "0")];

/// Servers accept with the size that their listening sockets have, and grow up to the last value.
const SMALL: &str = "net.ipv4.tcp_rmem=4096 65536 65536";
const INERT: &str = "net.ipv4.tcp_fin_timeout=59";
const REFUSED: &str = "net.ipv4.tcp_max_syn_backlog=333";

/// Of which it may not be written.
const REFUSING: u32 = 3;

const NAMES: [&str; 3] = ["net.ipv4.tcp_rmem", "net.ipv4.tcp_fin_timeout", "net.ipv4.tcp_max_syn_backlog"];

const FLAGS: &str = "--on storage --load put:256KiB@8 --settle 2s --measure 4s --lasting 0s --alpha 0.05 --blocks 7 \
                     --seed 11 --yes-load --yes-exec -f json";

/// Puts a delay between a client's cable and the switch. Frames are made whole for it: what a cable without hardware
/// leaves to the next, such as checksums, nobody else adds.
fn delayed(cluster: &Cluster, who: &str) -> Result<Child, Failed> {
    let done = |line: &str| cluster.run(Command::new("ip").args(line.split(' ')));
    let (near, far) = (format!("near-{who}"), format!("far-{who}"));
    done(&format!("-n switch link set to-{who} nomaster"));
    done(&format!("-n switch link add {near} type veth peer name {far}"));
    done(&format!("-n switch link set {near} up"));
    done(&format!("-n switch link set {far} master bridge up"));
    for (space, device) in [(who, "eth0"), ("switch", far.as_str())] {
        done(&format!("netns exec {space} ethtool -K {device} tx off tso off gso off gro off"));
    }
    let mut python = Command::new("python3");
    python.args(["-c", include_str!("delay.py"), &format!("to-{who}"), &near, &DELAY_MS.to_string()]);
    let mut child = cluster.within("switch", &python).stdout(Stdio::piped()).spawn()?;
    let mut said = String::new();
    BufReader::new(child.stdout.take().ok_or("piped")?).read_line(&mut said)?;
    if said.trim() == "carries" { Ok(child) } else { Err(format!("{who}: no delay: {said}").into()) }
}

/// The fleet: each node with an agent of its own, of which one may not write a setting.
fn fleet(place: &Place) -> Result<PathBuf, Failed> {
    let held = format!("/proc/sys/{}", NAMES[2].replace('.', "/"));
    let mut lines = Vec::new();
    for number in 1..=NODES {
        let refuses = format!("mount --bind {held} {held} && mount -o remount,bind,ro {held} && ");
        let first = if number == REFUSING { refuses.as_str() } else { "" };
        let script = agent_of_its_own(place, &format!("node{number}"), number as usize, first)?;
        lines.push(format!("{{name: node{number}, role: storage, reach: 'exec:sh {}'}}", script.display()));
    }
    lines.extend(CLIENTS.map(|client| format!("{{name: {client}, role: client, reach: 'netns://{client}'}}")));
    Ok(place.fleet(&lines))
}

/// What each node has of the settings.
fn values(cluster: &Cluster) -> Result<Vec<String>, Failed> {
    let sysctls_of_node = |node: u32| {
        let mut sysctl = Command::new("sysctl");
        let output = cluster.within(&format!("node{node}"), sysctl.args(NAMES)).output()?;
        if output.status.success() { Ok(shown(&output)) } else { Err(shown(&output).into()) }
    };
    (1..=NODES).map(sysctls_of_node).collect()
}

fn effect<'a>(reported: &'a ExperimentReport, arm: &str) -> Result<&'a Effect, Failed> {
    let found = reported.report.effects.iter().find(|effect| effect.arm == arm);
    found.ok_or_else(|| format!("no effect of {arm}: {:?}", reported.report.effects).into())
}

fn experiment(cluster: &Cluster, place: &Place, out: &Path) -> Result<ExperimentReport, Failed> {
    let mut inner = linerate();
    inner.args(["experiment", "--host", &cluster.hosts(), "--fleet"]).arg(fleet(place)?);
    inner.args(["--knob", SMALL, "--knob", INERT, "--knob", REFUSED]).args(words(FLAGS));
    inner.arg("-o").arg(out).env("LINERATE_STATE", place.path("coordinator")).envs(keys());
    let mut limited = Command::new("timeout");
    let output = cluster
        .within(
            "client",
            &wrapped(
                {
                    limited.arg("900");
                    limited
                },
                &inner,
            ),
        )
        .output()?;
    if !output.status.success() {
        return Err(shown(&output).into());
    }
    Ok(serde_json::from_slice(&output.stdout)?)
}

pub(crate) fn found() -> Result<(), Failed> {
    let (cluster, place, out) = (Cluster::start_in(PARTS, CLIENTS.len() as u32, &GROWING), Place::make(), tempdir()?);
    CLIENTS.iter().for_each(|client| cluster.shape(client, &BOTH_WAYS, CLIENT_BITS_PER_S));
    // A connection that waits for its turn sends as much at once as before.
    let idle = "echo 0 >/proc/sys/net/ipv4/tcp_slow_start_after_idle";
    for client in CLIENTS {
        cluster.run(Command::new("ip").args(["netns", "exec", client, "sh", "-c", idle]));
    }
    let _delays = Running(CLIENTS.iter().map(|client| delayed(&cluster, client)).collect::<Result<_, _>>()?);
    let before = values(&cluster)?;
    let reported = experiment(&cluster, &place, &out.path().join("experiment"))?;
    assert_eq!(values(&cluster)?, before, "every value of every node as before");
    for effect in &reported.report.effects {
        println!("{}: {}", effect.arm, effect.sentence);
    }
    let small = effect(&reported, SMALL)?;
    assert_eq!(small.decision, Decision::Shown, "{small:?}");
    assert!(small.share.is_some_and(|share| share < 0.0), "a small buffer is slower: {small:?}");
    assert_ne!(effect(&reported, INERT)?.decision, Decision::Shown);
    let left = &reported.experiment.not_tested;
    assert!(left.len() == 1 && left[0].arm == REFUSED, "{left:?}");
    let why = format!("node{REFUSING}: {}: it could not be written", NAMES[2]);
    assert!(left[0].why.contains(&why), "{left:?}");
    assert!(effect(&reported, REFUSED).is_err(), "it is not tested");
    Ok(())
}
