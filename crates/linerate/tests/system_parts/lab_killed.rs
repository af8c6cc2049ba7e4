//! `linerate lab` killed at random moments: what it had begun is removed whole, and faults are lifted whole.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use libtest_mimic::Failed;

use super::lab::{LAB, SERVING, TestLab, of_namespace, traces};
use crate::NamedCheck;
use crate::running::shown;

/// What is checked, and what it needs.
pub(crate) const CHECKS: [NamedCheck; 2] = [
    ("lab_killed_at_any_moment_is_removed_whole", SERVING, up_and_down),
    ("lab_faults_killed_at_any_moment_are_lifted_whole", LAB, fault_and_heal),
];

/// How often each is killed, unless `LINERATE_LAB_KILLS` says it.
const KILLS: u32 = 10;

/// Moments at which a command is killed.
struct Moments {
    seed: u32,
}

impl Moments {
    /// Printed, to be had again with `LINERATE_SEED`.
    fn new() -> Moments {
        let given = std::env::var("LINERATE_SEED").ok().and_then(|text| text.parse().ok());
        let seed = given.unwrap_or(std::process::id());
        println!("seed {seed}");
        Moments { seed }
    }

    fn kills() -> u32 {
        std::env::var("LINERATE_LAB_KILLS").ok().and_then(|text| text.parse().ok()).unwrap_or(KILLS)
    }

    fn before(&self, nth: u32, longest: Duration) -> Duration {
        let drawn = self.seed.wrapping_mul(2_654_435_761).wrapping_add(nth.wrapping_mul(40_503 * 977));
        Duration::from_micros(u64::from(drawn) % (longest.as_micros() as u64).max(1))
    }
}

/// Starts a command, and kills it after so long, if it has not ended.
fn killed_after(command: &mut Command, time: Duration) -> Result<(), Failed> {
    let mut child = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn()?;
    std::thread::sleep(time);
    child.kill()?;
    child.wait()?;
    Ok(())
}

/// `lab up` and `lab down` are killed, and `lab down` removes what is left.
fn up_and_down() -> Result<(), Failed> {
    let minio = std::env::var("MINIO")?;
    let (moments, before) = (Moments::new(), traces());
    for nth in 0..Moments::kills() {
        let lab = TestLab::new("ltkill")?;
        // The whole of it takes about as long.
        let time = moments.before(nth, Duration::from_secs(4));
        let words = ["--nodes", "3", "--drives", "2", "--link", "200Mb/s", "--engine", "minio", "--binary", &minio];
        killed_after(lab.command("up").args(words), time)?;
        // A down that is killed too leaves what the next one removes.
        killed_after(&mut lab.command("down"), time / 10)?;
        let last = lab.run("down", &[])?;
        let is_gone = last.status.success() || shown(&last).contains("there is no lab");
        assert!(is_gone, "seed {}, after {time:?}: {}", moments.seed, shown(&last));
        assert_eq!(traces(), before, "seed {}, after {time:?}", moments.seed);
    }
    Ok(())
}

/// Faults of every kind that any kernel has.
const FAULTS: [&str; 11] = [
    "node1 link.tx=60Mb/s",
    "node1 loss=5%",
    "node1 window=64KiB",
    "node1 drive1=5MB/s",
    "node1 drive1.iops=50",
    "node1 neighbour.tx=20Mb/s",
    "node2 link.rx=40Mb/s",
    "node2 mtu=1400",
    "node2 cpu=20%",
    "node2 pauses=300ms/1s",
    "clients.subset=1",
];

/// `lab fault` and `lab heal` are killed, and `lab heal` leaves the machines as they were made.
fn fault_and_heal() -> Result<(), Failed> {
    let (moments, before) = (Moments::new(), traces());
    let lab = TestLab::new("ltflaw")?;
    lab.printed("up", &["--nodes", "2", "--drives", "1", "--link", "200Mb/s"])?;
    let healthy = state_of_machines("ltflaw", &["node1", "node2", "client1"])?;
    let begun = Instant::now();
    lab.printed("fault", &FAULTS)?;
    let of_fault = begun.elapsed();
    let planted = state_of_machines("ltflaw", &["node1", "node2", "client1"])?;
    assert_ne!(planted, healthy);
    let begun = Instant::now();
    lab.printed("heal", &[])?;
    let of_heal = begun.elapsed();
    for nth in 0..Moments::kills() {
        let (fault, heal) = (moments.before(2 * nth, of_fault), moments.before(2 * nth + 1, of_heal));
        killed_after(lab.command("fault").args(FAULTS), fault)?;
        killed_after(&mut lab.command("heal"), heal)?;
        lab.printed("heal", &[])?;
        let state = state_of_machines("ltflaw", &["node1", "node2", "client1"])?;
        assert_eq!(state, healthy, "seed {}, killed after {fault:?} and {heal:?}", moments.seed);
    }
    lab.printed("down", &[])?;
    assert_eq!(traces(), before);
    Ok(())
}

/// Addresses, queues, filters, rules, buffers and limits of machines, and how many processes each has.
fn state_of_machines(lab: &str, machines: &[&str]) -> Result<BTreeMap<String, String>, Failed> {
    let mut state = BTreeMap::new();
    for machine in machines {
        let namespace = format!("{lab}-{machine}");
        for words in [
            "ip -d address show",
            "tc qdisc show",
            "tc filter show dev eth0",
            "nft list ruleset",
            "cat /proc/sys/net/ipv4/tcp_rmem /proc/sys/net/ipv4/tcp_wmem",
        ] {
            state.insert(format!("{machine}: {words}"), without_handles(&of_namespace(&namespace, words)?));
        }
        for kind in ["", "cpu/", "blkio/", "freezer/"] {
            limits_of_group(Path::new(&format!("/sys/fs/cgroup/{kind}linerate-{lab}/{machine}")), &mut state);
        }
    }
    Ok(state)
}

/// What `tc` numbers anew each time is no state, nor that an address is new.
fn without_handles(printed: &str) -> String {
    let is_handle = |word: &str| word.ends_with(':') && word.starts_with(|first: char| first.is_ascii_hexdigit());
    let is_state = |word: &&str| *word != "tentative" && !is_handle(word);
    let line = |line: &str| line.split_whitespace().filter(is_state).collect::<Vec<_>>().join(" ");
    printed.lines().map(line).collect::<Vec<_>>().join("\n")
}

fn limits_of_group(group: &Path, state: &mut BTreeMap<String, String>) {
    for file in [
        "cpu.max",
        "cpu.cfs_quota_us",
        "io.max",
        "blkio.throttle.read_bps_device",
        "blkio.throttle.write_bps_device",
        "blkio.throttle.read_iops_device",
        "blkio.throttle.write_iops_device",
        "cgroup.freeze",
        "freezer.state",
        "cgroup.procs",
    ] {
        let Ok(text) = fs::read_to_string(group.join(file)) else { continue };
        let value = if file == "cgroup.procs" { text.lines().count().to_string() } else { text };
        state.insert(group.join(file).display().to_string(), value);
    }
}
