//! What must not differ between the cells of an experiment but by the factor under test: the fingerprint of a machine
//! over a while, as texts by keys.
//!
//! Two cells are held against each other text by text, so what stands is what a file says. What moved from one standing
//! value to another in the middle of the while reads `A, then B`, which is neither. What a machine does not state (a
//! governor on a virtual machine) reads `not stated`, what may not be read `unreadable:` and why; so a key is there in
//! every cell of a machine, or in none.
//!
//! What stands:
//!
//! - `kernel` (release and build), `boot` (its id), `processors` (those online), `clocksource`: another machine, or one
//!   whose run-time settings went. A clock that is not the TSC makes each look at the time a system call or worse.
//! - `affinity`, `target.affinity`: processors that this process and the target may use.
//! - `client.netns`, `target.netns`: the inode of the network namespace, of which each has settings of its own.
//! - `client.cgroup`, `target.cgroup`: quotas of processor time, the cgroup's own and those above.
//! - `target.program`: device, inode, size and time of the file that runs: a new version under the old name.
//! - `target.started`: in ticks since the boot. A restart empties caches.
//! - `interfaces`: those by which packets to the targets leave. A route may fail over.
//! - `nic.NAME.speed`, `.mtu`, `.duplex`, `.driver`: of these and of all below them; `.active`: of a bond, the members
//!   that carry.
//! - `frequency.governor`: all there are.
//!
//! What happens during the while:
//!
//! - `nic.NAME.flaps`: how often the carrier went or came. A sound link never does.
//! - who else had the processors, whether they were slowed for heat, and what quotas cut: figures, in a
//!   [`MachineShare`].
//!
//! Of the measurement are this process and the target, what they started, and programs of the target's name: other
//! nodes of its cluster on this machine. Threads of the kernel and interrupts do not count as foreign: what they do
//! (encryption, write-back, packets) follows from the load, and a faster arm would have more of it.

mod known_processes;
mod links;
pub mod neighbours;
mod processor_share;
mod static_keys;

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::net::IpAddr;

use linerate_record::fingerprint::{GOVERNOR, NicKey};
use linerate_record::knob::Locator;
use linerate_record::reading::MachineShare;

use crate::root::{Root, text};
use processor_share::CpuCounters;

pub(crate) use links::interface_of;
pub(crate) use processor_share::{Periods, parse_periods};
pub(crate) use static_keys::cpu_cgroups;

/// What to look at.
#[derive(Clone, Copy, Debug, Default)]
pub struct FingerprintRequest<'a> {
    /// The target's process, where it is on this machine.
    pub target_pid: Option<u32>,
    /// The addresses that are loaded.
    pub target_hosts: &'a [IpAddr],
}

/// What a machine was when a cell began, and its counters then.
#[derive(Clone, Debug)]
pub struct FingerprintStart {
    target_pid: Option<u32>,
    target_hosts: Vec<IpAddr>,
    static_keys: BTreeMap<String, String>,
    carrier_changes: BTreeMap<String, u64>,
    shares: CpuCounters,
}

/// Begins a fingerprint, once the settings of a cell are applied and its links are up again: some drivers take a link
/// down to change its queues. It changes nothing, and costs some ten milliseconds where there are a thousand processes,
/// as [`end`] does.
#[must_use]
pub fn begin(root: &Root, requested: &FingerprintRequest<'_>) -> FingerprintStart {
    let interfaces = links::interfaces(root, requested.target_hosts);
    FingerprintStart {
        target_pid: requested.target_pid,
        target_hosts: requested.target_hosts.to_vec(),
        static_keys: static_keys(root, requested, &interfaces),
        carrier_changes: links::carrier_changes(root, &interfaces.all),
        shares: processor_share::shares(root, requested.target_pid),
    }
}

/// What a machine was over the while.
#[derive(Clone, Debug)]
pub struct FingerprintEnd {
    /// What stood, by the keys of the module's table.
    pub static_keys: BTreeMap<String, String>,
    /// What happened to links, by such keys.
    pub flaps: BTreeMap<String, String>,
    pub meanwhile: MachineShare,
}

#[must_use]
pub fn end(begun: FingerprintStart, root: &Root) -> FingerprintEnd {
    let requested = FingerprintRequest { target_pid: begun.target_pid, target_hosts: &begun.target_hosts };
    let interfaces = links::interfaces(root, requested.target_hosts);
    let static_keys = both(begun.static_keys, static_keys(root, &requested, &interfaces));
    let mut all_flaps = BTreeMap::new();
    let now = links::carrier_changes(root, &interfaces.all);
    let names: BTreeSet<&String> = begun.carrier_changes.keys().chain(now.keys()).collect();
    for name in names {
        let flaps = match (begun.carrier_changes.get(name), now.get(name)) {
            (Some(then), Some(now)) => now.saturating_sub(*then).to_string(),
            _ => "it came or went".to_owned(),
        };
        all_flaps.insert(NicKey::Flaps.for_interface(name), flaps);
    }
    let meanwhile = processor_share::meanwhile(&begun.shares, &processor_share::shares(root, requested.target_pid));
    FingerprintEnd { static_keys, flaps: all_flaps, meanwhile }
}

/// Whether changing a setting of this kind changes the value of a key: then it is a factor of the experiment, and no
/// fault of a cell.
#[must_use]
pub fn is_moved_by(key: &str, locator: &Locator) -> bool {
    match locator {
        Locator::Mtu => NicKey::read(key) == Some(NicKey::Mtu),
        Locator::Sysfs { path } => key == GOVERNOR && path.ends_with("scaling_governor"),
        _ => false,
    }
}

fn static_keys(
    root: &Root,
    requested: &FingerprintRequest<'_>,
    interfaces: &links::Interfaces,
) -> BTreeMap<String, String> {
    let mut all = static_keys::of_machine(root);
    all.extend(static_keys::of_client(root));
    all.extend(requested.target_pid.into_iter().flat_map(|pid| static_keys::of_target(root, pid)));
    all.extend(links::facts(root, interfaces));
    all.into_iter().collect()
}

/// Values of both ends of the while in one.
fn both(then: BTreeMap<String, String>, mut now: BTreeMap<String, String>) -> BTreeMap<String, String> {
    let nothing = || "nothing".to_owned();
    let mut print = BTreeMap::new();
    for (key, then) in then {
        let now = now.remove(&key).unwrap_or_else(nothing);
        let value = if then == now { then } else { format!("{then}, then {now}") };
        print.insert(key, value);
    }
    print.extend(now.into_iter().map(|(key, now)| (key, format!("{}, then {now}", nothing()))));
    print
}

/// The text of a file in one line, or why there is none. A file that is not there and one that the kernel refuses to
/// fill (the speed of a link that is down) both mean that the machine does not state it.
fn stated(root: &Root, path: &str) -> String {
    match text(root, path, &mut Vec::new()) {
        Ok(text) if text.trim().is_empty() => NOT_STATED.to_owned(),
        Ok(text) => text.split_whitespace().collect::<Vec<_>>().join(" "),
        Err(error) => untold(&error),
    }
}

const NOT_STATED: &str = "not stated";

fn untold(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::NotFound | io::ErrorKind::InvalidInput | io::ErrorKind::NotADirectory => NOT_STATED.to_owned(),
        _ => format!("unreadable: {error}"),
    }
}

/// The number in a file.
fn count(root: &Root, path: &str) -> Option<u64> {
    text(root, path, &mut Vec::new()).ok()?.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_moves_in_the_middle_is_neither_value() {
        let map = |pairs: &[(&str, &str)]| -> BTreeMap<String, String> {
            pairs.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect()
        };
        let print = both(map(&[("a", "1"), ("b", "1"), ("c", "1")]), map(&[("a", "1"), ("b", "2"), ("d", "4")]));
        let expected = map(&[("a", "1"), ("b", "1, then 2"), ("c", "1, then nothing"), ("d", "nothing, then 4")]);
        assert_eq!(print, expected);
    }

    #[test]
    fn the_factor_of_an_experiment_is_told_from_a_fault() {
        let governor = Locator::Sysfs { path: "devices/system/cpu/{cpu}/cpufreq/scaling_governor" };
        let cases = [
            ("nic.eth0.mtu", Locator::Mtu, true),
            ("nic.eth0.speed", Locator::Mtu, false),
            ("frequency.governor", governor, true),
            ("clocksource", governor, false),
            ("nic.eth0.mtu", Locator::Sysctl { name: "net.ipv4.tcp_mtu_probing" }, false),
        ];
        for (key, locator, expected) in cases {
            assert_eq!(is_moved_by(key, &locator), expected, "{key} {locator:?}");
        }
    }
}
