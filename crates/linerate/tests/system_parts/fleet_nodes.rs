//! Nodes of a fleet, each a network namespace with a machine id, journals and a lock of its own, and a disk for its
//! journals that can be full; all that can be read of its network, compared whole.

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::Duration;

use libtest_mimic::Failed;
use linerate_record::rollout::RolloutReport;
use rustix::process::{Pid, Signal, kill_process};

use super::fleet_network::Network;
use super::tune::{moved, wait_until};
use crate::running::agents::{Place, with_fleet};
use crate::running::shown;

/// Sysctls that each namespace has of its own.
pub(crate) const NAMES: [&str; 6] = [
    "net.core.somaxconn",
    "net.ipv4.tcp_fin_timeout",
    "net.ipv4.tcp_keepalive_time",
    "net.ipv4.tcp_max_syn_backlog",
    "net.ipv4.tcp_rmem",
    "net.ipv4.tcp_wmem",
];

/// Settings of the interface that are changed with them, of which none interrupts it.
const OF_THE_LINK: [&str; 2] = ["nic.rps_cpus@eth0=1", "nic.gro_flush_timeout@eth0=20000"];

/// What a node has room for in its journals.
const DISK: &str = "size=2m,mode=700";
const DISK_BYTES: usize = 2 << 20;
pub(crate) const PAGE_BYTES: u64 = 4096;

/// All that can be read of a namespace's network: sysctls, interfaces with their queues, features, rings and channels,
/// addresses, routes, rules, queueing disciplines.
const WHOLE: &str = r#"
grep -rs '' /proc/sys/net /sys/class/net/*/
for what in -k -g -l -c; do
    ethtool $what eth0
done
ip -d -batch - << lines
link
addr
route show table all
rule
lines
ip -d -6 -batch - << lines
route show table all
rule
lines
tc -d qdisc
true
"#;

/// What changes by itself, and what is one value for the whole machine, which others may change meanwhile.
const VOLATILE: [&str; 11] = [
    "/statistics/",
    "/carrier_",
    "/uevent:",
    "/byte_queue_limits/inflight",
    "/byte_queue_limits/limit:",
    "/byte_queue_limits/stall",
    "nf_conntrack_count",
    "/stable_secret",
    "/route/flush",
    "tcp_allowed_congestion_control",
    "tcp_available_congestion_control",
];

/// Nodes of a fleet, each a network namespace.
pub(crate) struct Nodes {
    place: Place,
    pub(crate) names: Vec<String>,
    network: Option<Network>,
}

impl Nodes {
    pub(crate) fn make(tag: &str, count: usize) -> Result<Nodes, Failed> {
        let names = (0..count).map(|number| format!("lrc{tag}{number}x{}", std::process::id())).collect();
        let mut nodes = Nodes { place: Place::make(), names, network: None };
        for (number, name) in nodes.names.iter().enumerate() {
            assert!(Command::new("ip").args(["netns", "add", name]).status()?.success(), "{name}");
            agent_of_its_own(&nodes.place, name, number + 1, "")?;
            mounted(&nodes.path(name).join("state"), DISK)?;
        }
        fs::write(nodes.path("whole.sh"), WHOLE)?;
        let scripts = nodes.names.iter().map(|name| nodes.path(name).join("agent.sh")).collect();
        let network = Network::make(tag, &nodes.names, scripts)?;
        let mut lines = Vec::new();
        for number in 0..count {
            let (rack, reach) = (number * 2 / count, network.reach(number)?);
            lines.push(format!("{{name: n{number}, role: client, rack: r{rack}, reach: 'exec:{reach}'}}"));
        }
        nodes.place.fleet(&lines);
        nodes.network = Some(network);
        Ok(nodes)
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.place.path(name)
    }

    /// The folder of a node's journals, on a disk of its own.
    fn state(&self, node: usize) -> PathBuf {
        self.path(&self.names[node]).join("state")
    }

    pub(crate) fn network(&self) -> &Network {
        self.network.as_ref().expect("made with the nodes")
    }

    pub(crate) fn command(&self, words: &[&str]) -> Command {
        let mut command = with_fleet(words, &self.path("fleet.yaml"));
        // No other fleet's coordinator keeps notes there.
        command.env("LINERATE_STATE", self.path("coordinator"));
        command
    }

    pub(crate) fn run(&self, words: &[&str]) -> Output {
        self.command(words).output().expect("it runs")
    }

    pub(crate) fn done(&self, words: &[&str]) -> String {
        let output = self.run(words);
        assert!(output.status.success(), "{words:?}: {}", shown(&output));
        shown(&output)
    }

    /// A file of changes that moves every setting by a little.
    pub(crate) fn diff(&self) -> String {
        let path = self.path("changes.json").display().to_string();
        let mut words = ["tune", "diff", "-o", &path].map(str::to_owned).to_vec();
        for name in NAMES {
            let now = self.sysctl(&self.names[0], name);
            words.extend(["--set".to_owned(), format!("{name}={}", moved(name, &now))]);
        }
        for set in OF_THE_LINK {
            words.extend(["--set".to_owned(), set.to_owned()]);
        }
        self.done(&words.iter().map(String::as_str).collect::<Vec<_>>());
        path
    }

    pub(crate) fn sysctl(&self, namespace: &str, name: &str) -> String {
        let path = format!("/proc/sys/{}", name.replace('.', "/"));
        let output = Command::new("ip").args(["netns", "exec", namespace, "cat", &path]).output().expect("ip runs");
        assert!(output.status.success(), "{name}: {}", shown(&output));
        String::from_utf8_lossy(&output.stdout).trim_end().to_owned()
    }

    /// All that can be read of each node's network, in order, a line each.
    pub(crate) fn values(&self) -> Vec<String> {
        let script = self.path("whole.sh");
        let steady_settings = |name: &String| {
            let mut command = Command::new("ip");
            let output = command.args(["netns", "exec", name, "sh"]).arg(&script).output().expect("ip runs");
            let text = String::from_utf8_lossy(&output.stdout);
            let is_steady = |line: &&str| !VOLATILE.iter().any(|part| line.contains(part));
            let mut lines: Vec<&str> = text.lines().filter(is_steady).collect();
            lines.sort_unstable();
            assert!(lines.len() > 500, "{}", shown(&output));
            lines.join("\n")
        };
        self.names.iter().map(steady_settings).collect()
    }

    /// How many nodes have another value of the first setting than before.
    pub(crate) fn changed(&self, before: &str) -> usize {
        self.names.iter().filter(|name| self.sysctl(name, NAMES[0]) != before).count()
    }

    pub(crate) fn status(&self) -> RolloutReport {
        let output = self.run(&["tune", "status", "--json"]);
        serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{}", shown(&output)))
    }

    /// Sends a signal to all of a node: its agents and, where that is asked for, its watches. How many processes.
    pub(crate) fn signal(&self, node: usize, signal: Signal, with_watches: bool) -> usize {
        let agents = self.network().signal(node, signal);
        let watches = if with_watches { self.watches(node) } else { Vec::new() };
        agents + watches.into_iter().filter(|pid| kill_process(*pid, signal).is_ok()).count()
    }

    /// The watches of a node: they name its journals.
    fn watches(&self, node: usize) -> Vec<Pid> {
        let mark = self.state(node).display().to_string();
        let is_its = |pid: &i32| {
            let args = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
            let args = String::from_utf8_lossy(&args).replace('\0', " ");
            args.contains(" tune watch ") && args.contains(&mark)
        };
        let entries = fs::read_dir("/proc").expect("/proc").flatten();
        let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
        pids.filter(is_its).filter_map(Pid::from_raw).collect()
    }

    /// Waits until every agent has ended.
    pub(crate) fn are_alone(&self, within: Duration) -> bool {
        wait_until(|| self.network().with_agents().is_empty(), within)
    }

    /// How long a node's journal is; none where it has none.
    pub(crate) fn journal_bytes(&self, node: usize) -> Option<u64> {
        let mut entries = fs::read_dir(self.state(node).join("tune")).into_iter().flatten().flatten();
        let is_journal = |entry: &fs::DirEntry| entry.file_name().to_string_lossy().ends_with(".journal");
        Some(entries.find(is_journal)?.metadata().ok()?.size())
    }

    /// Fills the disk of a node's journals, but for so many pages.
    pub(crate) fn fill(&self, node: usize, left_pages: u64) -> Result<(), Failed> {
        let mut ballast = File::create(self.state(node).join("ballast"))?;
        let piece = vec![7; PAGE_BYTES as usize];
        for _ in 0..=DISK_BYTES / piece.len() {
            if ballast.write_all(&piece).is_err() {
                break;
            }
        }
        let held_bytes = ballast.metadata()?.size();
        Ok(ballast.set_len(held_bytes.saturating_sub(left_pages * PAGE_BYTES))?)
    }

    /// Makes room on it again.
    pub(crate) fn empty(&self, node: usize) {
        let _ = fs::remove_file(self.state(node).join("ballast"));
    }

    /// Removes the journals, of which none waits: what is said from now on is of what comes.
    pub(crate) fn forget(&self) {
        for node in 0..self.names.len() {
            let _ = fs::remove_dir_all(self.state(node).join("tune"));
        }
    }

    /// Rolls back whatever is left, and compares all.
    pub(crate) fn finished(&self, before: &[String], what: &str) {
        assert!(self.are_alone(Duration::from_secs(20)), "{what}: agents are left");
        let rolled = self.run(&["tune", "rollback", "--kept"]);
        // With nothing begun there is nothing to roll back: bad usage, and nothing changed.
        assert!(matches!(rolled.status.code(), Some(0 | 2)), "{what}: {}", shown(&rolled));
        let values = self.values();
        assert!(values == before, "{what}: not as before: {}\n{}", differing(before, &values), shown(&rolled));
    }
}

impl Drop for Nodes {
    fn drop(&mut self) {
        if self.network.is_some() {
            for node in 0..self.names.len() {
                self.signal(node, Signal::KILL, false);
            }
            let _ = self.run(&["tune", "rollback", "--kept"]);
        }
        self.network = None;
        for (node, name) in self.names.iter().enumerate() {
            self.watches(node).into_iter().for_each(|pid| _ = kill_process(pid, Signal::KILL));
            let _ = Command::new("ip").args(["netns", "del", name]).stderr(Stdio::null()).status();
            // One that a test has mounted on top, and the node's own.
            for _ in 0..2 {
                let _ = Command::new("umount").args(["-l", "-q"]).arg(self.state(node)).status();
            }
        }
    }
}

/// A script that starts an agent in a network namespace, with folders of its own in place of those that say which
/// machine it is and who changes it: what `/proc/1` shows leads to the lock of the whole machine. It does `first`
/// before, which ends with ` && ` where it is anything.
pub(crate) fn agent_of_its_own(place: &Place, namespace: &str, number: usize, first: &str) -> io::Result<PathBuf> {
    let folder = place.path(namespace);
    for part in ["run", "etc", "none", "state"] {
        fs::create_dir_all(folder.join(part))?;
    }
    fs::write(folder.join("etc/machine-id"), format!("{number:032x}\n"))?;
    let own = folder.display();
    let mounts =
        format!("mount --bind {own}/run /run && mount --bind {own}/etc /etc && mount --bind {own}/none /proc/1");
    let agent = format!("exec env LINERATE_STATE={own}/state {} agent --allow change", place.program.display());
    let script = folder.join("agent.sh");
    fs::write(&script, format!("exec ip netns exec {namespace} unshare --mount sh -c '{first}{mounts} && {agent}'\n"))?;
    Ok(script)
}

/// The first lines in which nodes differ.
pub(crate) fn differing(before: &[String], after: &[String]) -> String {
    let mut all = Vec::new();
    for (node, (before, after)) in before.iter().zip(after).enumerate() {
        let is_new = |line: &&str| !before.lines().any(|other| other == *line);
        all.extend(after.lines().filter(is_new).map(|line| format!("n{node}: {line}")));
    }
    all.truncate(12);
    all.join("; ")
}

/// Mounts memory as a disk.
pub(crate) fn mounted(folder: &Path, options: &str) -> Result<(), Failed> {
    let mounted = Command::new("mount").args(["-t", "tmpfs", "-o", options, "tmpfs"]).arg(folder).status()?;
    if mounted.success() { Ok(()) } else { Err(format!("no disk with {options}").into()) }
}
