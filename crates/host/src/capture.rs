//! A machine as files that every command can read in place of it. What says who or where it is stays out: addresses,
//! serial numbers, host names and identifiers are replaced, each by the same word wherever it stands.
//!
//! Only files are taken whose content is known: those that an audit reads. Of files that say more, lines are taken.

mod masking;

use std::collections::BTreeMap;

use linerate_record::knob::{DeviceClass, Knob, Locator, Missing, Scope, Setting, Snapshot, Space};

use crate::root::{Root, names, text};
use crate::setting;
use crate::snapshot::{MANGLED, is_in_files, is_of_machine};
use masking::Masks;

#[derive(Clone, Debug, Default, PartialEq)]
pub struct CapturedMachine {
    /// Files by their paths relative to the root; an empty folder ends in a slash.
    pub files: BTreeMap<String, String>,
    /// Settings that no file holds.
    pub settings: Vec<Setting>,
    /// What could not be read, masked.
    pub unreadable: Vec<String>,
}

/// Files of one value each.
const FILES: [&str; 10] = [
    "proc/sys/kernel/osrelease",
    "proc/sys/net/core/netdev_max_backlog",
    "sys/devices/system/cpu/online",
    "sys/devices/system/node/online",
    "sys/devices/system/clocksource/clocksource0/current_clocksource",
    "sys/hypervisor/type",
    "sys/kernel/mm/transparent_hugepage/enabled",
    "sys/kernel/mm/transparent_hugepage/hpage_pmd_size",
    "proc/device-tree/hypervisor/compatible",
    "sys/devices/system/cpu/smt/active",
];

const OF_NICS: [&str; 11] = [
    "flags",
    "carrier",
    "operstate",
    "speed",
    "mtu",
    "bonding/mode",
    "bonding/xmit_hash_policy",
    "bonding/slaves",
    "bonding/ad_aggregator",
    "bonding_slave/mii_status",
    "bonding_slave/ad_aggregator_id",
];
const OF_DISKS: [&str; 6] = [
    "size",
    "queue/rotational",
    "queue/discard_max_hw_bytes",
    "queue/discard_max_bytes",
    "device/numa_node",
    "device/device/numa_node",
];
const OF_FUNCTIONS: [&str; 6] =
    ["class", "current_link_speed", "max_link_speed", "current_link_width", "max_link_width", "numa_node"];

/// Takes what an audit with these knobs reads of the machine that the snapshot was made of.
#[must_use]
pub fn capture(root: &Root, knobs: &[&'static Knob], snapshot: &Snapshot) -> CapturedMachine {
    let mut files = BTreeMap::new();
    for path in FILES {
        take(root, path, &mut files);
    }
    processors_and_memory(root, &mut files);
    interfaces(root, &mut files);
    disks(root, snapshot, &mut files);
    functions(root, snapshot, &mut files);
    mounts(snapshot, &mut files);
    configured(snapshot, &mut files);
    for knob in knobs {
        knob_files(root, knob, &mut files);
    }
    let mut masks = Masks::new(root);
    let mask = |(path, text): (String, String)| {
        let lines = text.lines().map(|line| format!("{}\n", line.trim_end()));
        (masks.masked(&path), masks.masked(&lines.collect::<String>()))
    };
    let files = files.into_iter().map(mask).collect();
    let settings = snapshot.settings.iter().filter(|setting| !is_in_a_file(setting, knobs));
    let settings = settings.map(|setting| masked(setting, &mut masks)).collect();
    let unreadable = snapshot.unreadable.iter().map(|reported| masks.masked(reported)).collect();
    CapturedMachine { files, settings, unreadable }
}

/// Whether the captured files say what a setting is, or that the machine lacks it.
fn is_in_a_file(setting: &Setting, knobs: &[&'static Knob]) -> bool {
    let knob = knobs.iter().find(|knob| knob.id == setting.place.knob);
    let reported = matches!(setting.missing, None | Some(Missing::Absent));
    reported
        && setting.place.space == Space::Host
        && knob.is_some_and(|knob| knob.scope != Scope::Process && is_in_files(&knob.locator))
        && !has_choices_of_kernel(setting, knob)
}

/// Whether what a setting can be follows from how the kernel was built, which no captured file says: that of a sysctl
/// does.
fn has_choices_of_kernel(setting: &Setting, knob: Option<&&'static Knob>) -> bool {
    !setting.choices.is_empty() && knob.is_some_and(|knob| matches!(knob.locator, Locator::Sysctl { .. }))
}

fn masked(setting: &Setting, masks: &mut Masks) -> Setting {
    let mut setting = setting.clone();
    let parts = [&mut setting.value, &mut setting.place.device];
    for text in parts.into_iter().flatten() {
        *text = masks.masked(text);
    }
    if let Some(Missing::Unreadable(reason)) = &mut setting.missing {
        *reason = masks.masked(reason);
    }
    setting
}

fn take(root: &Root, path: &str, files: &mut BTreeMap<String, String>) {
    if let Ok(text) = text(root, path, &mut Vec::new()) {
        files.insert(path.to_owned(), text.into_owned());
    }
}

fn kept_lines(root: &Root, path: &str, is_kept: impl Fn(&str) -> bool) -> Option<String> {
    let mut bytes = Vec::new();
    let text = text(root, path, &mut bytes).ok()?;
    Some(text.lines().filter(|line| is_kept(line)).map(|line| format!("{line}\n")).collect())
}

/// The first processor's model, whether it is a guest's, and how much memory there is.
fn processors_and_memory(root: &Root, files: &mut BTreeMap<String, String>) {
    let keys = ["processor", "model name", "cpu", "CPU implementer", "CPU part", "flags"];
    let is_kept = |line: &str| line.split_once(':').is_some_and(|(key, _)| keys.contains(&key.trim()));
    if let Some(text) = kept_lines(root, "proc/cpuinfo", is_kept) {
        let mut kept = String::new();
        for line in text.lines().take_while(|line| kept_once(line)) {
            // Of hundreds of flags, one is read.
            let line = match line.split_once(':') {
                Some((key, flags)) if key.trim() == "flags" => {
                    let hypervisor = flags.split_whitespace().any(|flag| flag == "hypervisor");
                    format!("{key}: {}", if hypervisor { "hypervisor" } else { "" })
                }
                _ => line.to_owned(),
            };
            kept.push_str(line.trim_end());
            kept.push('\n');
        }
        files.insert("proc/cpuinfo".to_owned(), kept);
    }
    if let Some(text) = kept_lines(root, "proc/meminfo", |line| line.starts_with("MemTotal:")) {
        files.insert("proc/meminfo".to_owned(), text);
    }
}

/// Whether a line is not of the second processor or a later one.
fn kept_once(line: &str) -> bool {
    line.split_once(':').is_none_or(|(key, number)| key.trim() != "processor" || number.trim() == "0")
}

/// Interfaces without their counters, in the order in which the kernel lists them.
fn interfaces(root: &Root, files: &mut BTreeMap<String, String>) {
    let mut bytes = Vec::new();
    let Ok(text) = text(root, "proc/net/dev", &mut bytes) else { return };
    let zeros = " 0".repeat(16);
    let mut list = String::from("Inter-|   Receive |  Transmit\n face |bytes packets errs|bytes packets errs\n");
    let found: Vec<String> = text.lines().filter_map(|line| Some(line.split_once(':')?.0.trim().to_owned())).collect();
    for name in found.iter().filter(|name| !name.contains('/') && !name.starts_with('.')) {
        list.push_str(&format!("{name}:{zeros}\n"));
        let folder = format!("sys/class/net/{name}");
        files.insert(format!("{folder}/"), String::new());
        for file in OF_NICS {
            take(root, &format!("{folder}/{file}"), files);
        }
        take(root, &format!("{folder}/device/numa_node"), files);
        let driver = kept_lines(root, &format!("{folder}/device/uevent"), |line| line.starts_with("DRIVER="));
        if let Some(driver) = driver {
            files.insert(format!("{folder}/device/uevent"), driver);
        }
        for lower in names(root, &folder).into_iter().filter(|entry| entry.starts_with("lower_")) {
            files.insert(format!("{folder}/{lower}/"), String::new());
        }
    }
    files.insert("proc/net/dev".to_owned(), list);
}

fn disks(root: &Root, snapshot: &Snapshot, files: &mut BTreeMap<String, String>) {
    for disk in &snapshot.devices.disks {
        for file in OF_DISKS {
            take(root, &format!("sys/block/{}/{file}", disk.name), files);
        }
    }
}

fn functions(root: &Root, snapshot: &Snapshot, files: &mut BTreeMap<String, String>) {
    for device in &snapshot.devices.pcie {
        let folder = format!("sys/bus/pci/devices/{}", device.address);
        for file in OF_FUNCTIONS {
            take(root, &format!("{folder}/{file}"), files);
        }
        if device.name == device.address {
            continue;
        }
        let is_disk = device.name.starts_with("nvme");
        let at = if is_disk { format!("{folder}/nvme/nvme0/") } else { format!("{folder}/net/") };
        files.insert(format!("{at}{}/", device.name), String::new());
    }
}

fn mounts(snapshot: &Snapshot, files: &mut BTreeMap<String, String>) {
    let line = |mount: &linerate_record::knob::Mount| {
        let (device, path) = (mangled(&mount.device), mangled(&mount.path));
        format!("{device} {path} {} {} 0 0\n", mount.fs, mount.options.join(","))
    };
    let text: String = snapshot.devices.mounts.iter().map(line).collect();
    files.insert("proc/self/mounts".to_owned(), text);
}

fn mangled(text: &str) -> String {
    MANGLED.iter().rev().fold(text.to_owned(), |text, (code, meant)| text.replace(meant, code))
}

fn configured(snapshot: &Snapshot, files: &mut BTreeMap<String, String>) {
    for line in &snapshot.configured {
        let text = files.entry(line.file.clone()).or_default();
        text.push_str(&format!("{} = {}\n", line.name, line.value));
    }
}

/// The files that a knob is read from.
fn knob_files(root: &Root, knob: &Knob, files: &mut BTreeMap<String, String>) {
    if !is_of_machine(&knob.locator) {
        return;
    }
    match &knob.locator {
        Locator::Sysctl { name } => take(root, &format!("proc/sys/{}", name.replace('.', "/")), files),
        Locator::Sysfs { path } => match knob.locator.device_class() {
            None => take(root, &format!("sys/{path}"), files),
            Some(class) => {
                for device in setting::devices(root, &Space::Host, class) {
                    pattern_files(root, path, class, &device, files);
                }
            }
        },
        Locator::BootArgument { name } => boot_argument(root, name, files),
        _ => {}
    }
}

fn pattern_files(root: &Root, path: &str, class: DeviceClass, device: &str, files: &mut BTreeMap<String, String>) {
    // The folder of a device is there even where the file is not: devices are counted by it.
    let (open, close) = (path.find('{'), path.find('}'));
    let (Some(open), Some(close)) = (open, close) else { return };
    if matches!(class, DeviceClass::Disk | DeviceClass::Cpu) {
        files.insert(format!("sys/{}{device}/", &path[..open]), String::new());
    }
    let path = format!("sys/{}{device}{}", &path[..open], &path[close + 1..]);
    let Some((before, after)) = path.split_once('*') else { return take(root, &path, files) };
    let (folder, prefix) = before.rsplit_once('/').unwrap_or(("", before));
    for name in names(root, folder).into_iter().filter(|name| name.starts_with(prefix)) {
        take(root, &format!("{folder}/{name}{after}"), files);
    }
}

/// Adds an argument to the captured command line; all others say too much.
fn boot_argument(root: &Root, name: &str, files: &mut BTreeMap<String, String>) {
    let mut bytes = Vec::new();
    let Ok(text) = text(root, "proc/cmdline", &mut bytes) else { return };
    let line = files.entry("proc/cmdline".to_owned()).or_default();
    for word in text.split_whitespace() {
        let key = word.split_once('=').map_or(word, |(key, _)| key);
        if key == name && !line.split_whitespace().any(|kept| kept == word) {
            *line = format!("{} {word}\n", line.trim_end()).trim_start().to_owned();
        }
    }
}
