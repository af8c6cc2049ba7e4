//! Settings that move when another is written, and what restores them.
//!
//! Without these, rollback would not: `vm.dirty_bytes` cannot be written 0 again, which it is while `vm.dirty_ratio`
//! counts, and only writing the ratio makes it so.

use std::io;
use std::os::fd::AsFd as _;

use linerate_record::journal::{CoupledSetting, RecordedLocator};
use linerate_record::knob::same_in;

use super::file::names;
use super::namespace::InNamespace;
use super::resolved_locator::{self, ResolvedLocator};
use super::{ethtool, stacked_interfaces, sysctl};

/// Sysctls of which the kernel zeroes one when the other is written: `mm/page-writeback.c: dirty_bytes_handler` and its
/// siblings, `mm/util.c: overcommit_ratio_handler` and `overcommit_kbytes_handler`.
const TWINS: [(&str, &str); 3] = [
    ("vm/dirty_bytes", "vm/dirty_ratio"),
    ("vm/dirty_background_bytes", "vm/dirty_background_ratio"),
    ("vm/overcommit_kbytes", "vm/overcommit_ratio"),
];

/// Whether two sysctls are such.
pub(super) fn are_twins(one: &str, other: &str) -> bool {
    let (one, other) = (one.replace('.', "/"), other.replace('.', "/"));
    TWINS.iter().any(|(a, b)| (*a, *b) == (&one, &other) || (*b, *a) == (&one, &other))
}

/// Settings of the queues of an interface, which go with a queue, and which drivers set anew with their rings.
const OF_QUEUES: [&str; 8] = [
    "rx-*/rps_cpus",
    "rx-*/rps_flow_cnt",
    "tx-*/xps_cpus",
    "tx-*/xps_rxqs",
    "tx-*/tx_maxrate",
    "tx-*/byte_queue_limits/hold_time",
    "tx-*/byte_queue_limits/limit_max",
    "tx-*/byte_queue_limits/limit_min",
];

/// Settings of an interface that its driver may begin anew with its channels (`net/core/net-sysfs.c` writes them to
/// each NAPI since Linux 6.13, and channels bring NAPIs of their own).
const OF_CHANNELS: [&str; 2] = ["napi_defer_hard_irqs", "gro_flush_timeout"];

/// What moves with a bond's mode and with how it looks at its links (`drivers/net/bonding/bond_options.c`), in the
/// order in which one may follow the other: those of ARP end those of MII.
const OF_BONDS: [&str; 7] =
    ["miimon", "updelay", "downdelay", "peer_notif_delay", "arp_interval", "arp_validate", "tlb_dynamic_lb"];

/// What a bond wants in one of its modes alone: a mode sets or ends it, whatever was wanted before
/// (`drivers/net/bonding/bond_options.c: bond_set_xfrm_features`).
const OF_MODES: [&str; 3] = ["esp-hw-offload", "esp-tx-csum-hw-offload", "tx-esp-segmentation"];

/// What moves with a setting, in the order in which it is restored.
fn coupled_locators(in_namespace: &InNamespace<'_>, resolved: &ResolvedLocator) -> Vec<RecordedLocator> {
    let sysctl = |path: &str| RecordedLocator::Sysctl(path.replace('/', "."));
    match resolved {
        // `net/ipv4/tcp_cong.c: tcp_set_default_congestion_control` allows it to everybody.
        ResolvedLocator::Sysctl(path) if path == "net/ipv4/tcp_congestion_control" => {
            vec![sysctl("net/ipv4/tcp_allowed_congestion_control")]
        }
        ResolvedLocator::Sysctl(path) => {
            let twin = TWINS.iter().find_map(|(one, other)| match path.as_str() {
                name if name == *one => Some(*other),
                name if name == *other => Some(*one),
                _ => None,
            });
            twin.map(sysctl).into_iter().collect()
        }
        ResolvedLocator::Sysfs(path) => alongside_file(in_namespace, path),
        ResolvedLocator::Offload(device, feature) => of_offload(in_namespace, device, feature),
        ResolvedLocator::Mtu(device) => of_mtu(in_namespace, device),
        ResolvedLocator::Ring(device, _) => of_queues(device),
        ResolvedLocator::Channels(device) => {
            let files = OF_CHANNELS.iter().map(|file| RecordedLocator::Sysfs(format!("class/net/{device}/{file}")));
            let interrupts = RecordedLocator::Interrupts { device: device.clone() };
            of_queues(device).into_iter().chain(files).chain([interrupts]).collect()
        }
        _ => Vec::new(),
    }
}

fn alongside_file(in_namespace: &InNamespace<'_>, path: &str) -> Vec<RecordedLocator> {
    let (folder, name) = path.rsplit_once('/').unwrap_or_default();
    let file = |name: &str| RecordedLocator::Sysfs(format!("{folder}/{name}"));
    let files = |names: &[&str]| -> Vec<RecordedLocator> { names.iter().map(|name| file(name)).collect() };
    match name {
        // `block/elevator.c: elevator_switch` sets the depth anew for the scheduler, whose own settings go with it; wbt
        // is off under bfq.
        "scheduler" => {
            [files(&["nr_requests", "wbt_lat_usec"]), in_folder(in_namespace, &format!("{folder}/iosched"))].concat()
        }
        // A scheduler's depth follows (`block/mq-deadline.c: dd_depth_updated`).
        "nr_requests" => in_folder(in_namespace, &format!("{folder}/iosched")),
        // `mm/khugepaged.c: set_recommended_min_free_kbytes`.
        "enabled" if folder == "kernel/mm/transparent_hugepage" => {
            vec![RecordedLocator::Sysctl("vm.min_free_kbytes".to_owned())]
        }
        // A governor's own settings go with it (`drivers/cpufreq/cpufreq_governor.c`), for each policy or for all;
        // intel_pstate's performance takes the others with it.
        "scaling_governor" => {
            let governor = resolved_locator::read(in_namespace, &ResolvedLocator::Sysfs(path.to_owned()))
                .map(|(now, _)| now)
                .unwrap_or_default();
            let own = [format!("{folder}/{governor}"), format!("devices/system/cpu/cpufreq/{governor}")];
            let preferences = [file("energy_performance_preference"), of_bias(folder)];
            own.iter().flat_map(|folder| in_folder(in_namespace, folder)).chain(preferences).collect()
        }
        "energy_performance_preference" => vec![of_bias(folder)],
        "mode" | "miimon" if folder.ends_with("/bonding") => {
            let settings = files(&OF_BONDS.iter().copied().filter(|other| *other != name).collect::<Vec<_>>());
            let wanted: &[&str] = if name == "mode" { &OF_MODES } else { &[] };
            [settings, features(bonded_interface(folder), wanted)].concat()
        }
        _ => Vec::new(),
    }
}

/// The interface of a folder of bonding.
fn bonded_interface(folder: &str) -> &str {
    folder.trim_start_matches("class/net/").trim_end_matches("/bonding")
}

fn features(device: &str, names: &[&str]) -> Vec<RecordedLocator> {
    let feature = |name: &&str| RecordedLocator::Feature { device: device.to_owned(), name: (*name).to_owned() };
    names.iter().map(feature).collect()
}

/// The bias of the processor of a folder of cpufreq.
fn of_bias(folder: &str) -> RecordedLocator {
    RecordedLocator::Sysfs(format!("{}/power/energy_perf_bias", folder.strip_suffix("/cpufreq").unwrap_or(folder)))
}

fn in_folder(in_namespace: &InNamespace<'_>, folder: &str) -> Vec<RecordedLocator> {
    let all = in_namespace.sysfs(folder).and_then(|tree| names(tree.as_fd(), folder)).unwrap_or_default();
    all.into_iter().map(|name| RecordedLocator::Sysfs(format!("{folder}/{name}"))).collect()
}

/// The kernel's features of a name; and what an interface does not receive in large, those below it do not either
/// (`net/core/dev.c: netdev_sync_lower_features`).
fn of_offload(in_namespace: &InNamespace<'_>, device: &str, feature: &'static str) -> Vec<RecordedLocator> {
    let members = ethtool::members(feature);
    let below = if members.contains(&"rx-lro") { stacked_interfaces::below(in_namespace, device) } else { Vec::new() };
    let of_below = below.iter().flat_map(|other| features(other, &members));
    features(device, &members).into_iter().chain(of_below).collect()
}

/// The MTU of IPv6 on an interface (`net/ipv6/addrconf.c: addrconf_notify`), and both of those whose MTU may follow.
fn of_mtu(in_namespace: &InNamespace<'_>, device: &str) -> Vec<RecordedLocator> {
    let mut all = vec![of_ipv6(device)];
    for other in stacked_interfaces::moved_with(in_namespace, device) {
        all.extend([RecordedLocator::Sysfs(format!("class/net/{other}/mtu")), of_ipv6(&other)]);
    }
    all.extend(of_queues(device));
    all
}

fn of_ipv6(device: &str) -> RecordedLocator {
    RecordedLocator::Sysctl(format!("net.ipv6.conf.{}.mtu", sysctl::part(device)))
}

fn of_queues(device: &str) -> Vec<RecordedLocator> {
    OF_QUEUES.iter().map(|file| RecordedLocator::Sysfs(format!("class/net/{device}/queues/{file}"))).collect()
}

/// What moves with a setting, as it is now; what this machine does not have is left out.
pub(super) fn read(in_namespace: &InNamespace<'_>, resolved: &ResolvedLocator) -> Vec<CoupledSetting> {
    let read = |locator: RecordedLocator| value(in_namespace, &locator).map(|value| CoupledSetting { locator, value });
    coupled_locators(in_namespace, resolved).into_iter().filter_map(read).collect()
}

fn value(in_namespace: &InNamespace<'_>, locator: &RecordedLocator) -> Option<String> {
    Some(resolved_locator::read(in_namespace, &resolved_locator::from_recorded(locator).ok()?).ok()?.0)
}

/// Those that are to be restored: not what somebody has moved after the change had. Asked before the setting itself is
/// restored, which moves them again.
pub(super) fn still_ours<'b>(
    in_namespace: &InNamespace<'_>,
    prior: &'b [CoupledSetting],
    became: &[CoupledSetting],
) -> Vec<&'b CoupledSetting> {
    let is_ours = |coupled: &&CoupledSetting| {
        let Some(left) = became.iter().find(|other| other.locator == coupled.locator) else { return true };
        value(in_namespace, &coupled.locator)
            .is_none_or(|now| is_same(coupled, &left.value, &now) || is_same(coupled, &coupled.value, &now))
    };
    prior.iter().filter(is_ours).collect()
}

/// Writes back what has moved.
///
/// # Errors
/// The first that is not as before then. One that is gone with its device is none.
pub(super) fn restore_value(in_namespace: &InNamespace<'_>, besides: &[&CoupledSetting]) -> io::Result<()> {
    for coupled in besides {
        let Ok(resolved) = resolved_locator::from_recorded(&coupled.locator) else { continue };
        // A twin that is 0 does not count: the other, written, has made it so again.
        let is_dormant = matches!(resolved, ResolvedLocator::Sysctl(_)) && coupled.value == "0";
        let Some(now) = value(in_namespace, &coupled.locator) else { continue };
        if !is_dormant && !is_same(coupled, &now, &coupled.value) {
            // What the kernel says to that shows below.
            let _ = resolved_locator::write(in_namespace, &resolved, &coupled.value);
        }
    }
    let odd = besides.iter().find_map(|coupled| {
        let now = value(in_namespace, &coupled.locator)?;
        (!is_same(coupled, &now, &coupled.value)).then(|| (in_words(&coupled.locator), now, &coupled.value))
    });
    match odd {
        None => Ok(()),
        Some((what, now, prior)) => {
            Err(io::Error::other(format!("{what}, which changes with it, is {now:?} and was {prior:?}")))
        }
    }
}

fn is_same(coupled: &CoupledSetting, one: &str, other: &str) -> bool {
    let file = match &coupled.locator {
        RecordedLocator::Sysctl(name) => name,
        RecordedLocator::Sysfs(path) => path,
        RecordedLocator::Feature { name, .. } => name,
        RecordedLocator::Interrupts { .. } => "smp_affinity_list",
    };
    same_in(file, one, other)
}

/// Where a setting beside another lives, for people.
#[must_use]
pub fn in_words(locator: &RecordedLocator) -> String {
    match locator {
        RecordedLocator::Sysctl(name) => name.clone(),
        RecordedLocator::Sysfs(path) => format!("/sys/{path}"),
        RecordedLocator::Feature { device, name } => format!("{name} of {device}"),
        RecordedLocator::Interrupts { device } => format!("where interrupts of {device} are handled"),
    }
}
