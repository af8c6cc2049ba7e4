//! What can be compared of a machine, each as a name and a text.

use std::collections::BTreeMap;

use linerate_record::fleet::MachineState;
use linerate_record::knob::{DeviceClass, Locator, Missing, Setting, Space};
use linerate_record::machine::{Machine, MachineNic};
use linerate_record::units::{bits_per_s, bytes_iec, bytes_si};

use crate::knobs;

/// What is known of one fact of a machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Fact {
    /// What it is built of and runs.
    Hardware(String),
    /// What it is set to.
    Setting(String),
    /// It could not be read.
    Unread,
}

impl Fact {
    /// What is told first.
    pub(super) fn rank(&self) -> usize {
        if matches!(self, Fact::Hardware(_)) { 0 } else { 1 }
    }
}

/// The facts of a machine in the order in which they are told. `memories` are the sizes that stand for those close to
/// them.
pub(super) fn facts(state: &MachineState, memories: &[u64]) -> Vec<(String, Fact)> {
    let machine = &state.snapshot.machine;
    let mut facts = vec![
        ("kernel".to_owned(), known(machine.kernel.clone())),
        ("clock source".to_owned(), known(machine.clocksource.clone())),
        ("processor".to_owned(), known(machine.cpu_model.clone())),
        ("processors".to_owned(), known(machine.cpus.to_string())),
        ("NUMA nodes".to_owned(), known(machine.numa_nodes.to_string())),
        ("memory".to_owned(), known(memory(machine.memory_bytes, memories))),
    ];
    facts.extend(links(machine));
    facts.extend(drives(state));
    facts.extend(firmware(state));
    facts.extend(settings(state));
    facts
}

/// Nothing is what a failed reading leaves.
fn known(text: String) -> Fact {
    if text.is_empty() || text == "0" { Fact::Unread } else { Fact::Hardware(text) }
}

fn memory(bytes: u64, memories: &[u64]) -> String {
    let stands_for = memories.iter().rev().find(|size| **size <= bytes).copied().unwrap_or(bytes);
    if bytes == 0 { String::new() } else { bytes_iec(stands_for as f64) }
}

/// Whether an interface is of the machine, and not of a pod that happens to be there.
fn is_own(nic: &MachineNic) -> bool {
    nic.bond.is_some() || nic.driver.as_ref().is_some_and(|driver| !matches!(driver.as_str(), "veth" | "tun"))
}

fn links(machine: &Machine) -> Vec<(String, Fact)> {
    let mut facts = Vec::new();
    for nic in machine.nics.iter().filter(|nic| is_own(nic)) {
        let mut put = |what: &str, value: String| facts.push((format!("{what} of {}", nic.name), known(value)));
        if let Some(speed) = nic.speed_bits_per_s {
            put("speed", bits_per_s(speed as f64));
        }
        put("MTU", nic.mtu_bytes.to_string());
        put("driver", nic.driver.clone().unwrap_or_default());
        if let Some(bond) = &nic.bond {
            put("mode", bond.mode.clone());
            put("hash", bond.xmit_hash_policy.clone().unwrap_or_default());
            put("members", bond.members.join(" "));
        }
    }
    facts
}

fn drives(state: &MachineState) -> Vec<(String, Fact)> {
    let devices = &state.snapshot.devices;
    let kind = |rotational| if rotational { ", rotating" } else { "" };
    let drives = devices.disks.iter().map(|disk| format!("{}{}", bytes_si(disk.bytes as f64), kind(disk.rotational)));
    let mut facts = vec![("drives".to_owned(), known(counted(drives)))];
    let width = |lanes: u32, speed: f64| format!("x{lanes} at {speed} GT/s");
    // A controller whose drive is gone is still one of drives.
    let is_drive = |name: &str| name.starts_with("nvme") || devices.disks.iter().any(|disk| disk.name == name);
    let of_drives = devices.pcie.iter().filter(|device| is_drive(&device.name));
    let of_drives = counted(of_drives.map(|device| width(device.lanes.0, device.speed_gt_per_s.0)));
    facts.push(("PCIe of drives".to_owned(), known(of_drives)));
    for device in devices.pcie.iter().filter(|device| !is_drive(&device.name)) {
        let text = width(device.lanes.0, device.speed_gt_per_s.0);
        facts.push((format!("PCIe of {}", device.name), known(text)));
    }
    facts
}

fn firmware(state: &MachineState) -> Vec<(String, Fact)> {
    let (drives, others): (Vec<_>, Vec<_>) = state.firmware.iter().partition(|one| one.part.starts_with("nvme"));
    let mut facts: Vec<(String, Fact)> =
        others.iter().map(|one| (format!("firmware of {}", one.part), known(one.version.clone()))).collect();
    if !drives.is_empty() {
        let text = counted(drives.iter().map(|one| one.version.clone()));
        facts.push(("firmware of drives".to_owned(), known(text)));
    }
    facts
}

/// Settings of the machine, and those of an S3 server that has its own; of drives, processors and mounts, which are
/// many and alike, how many are set to what.
fn settings(state: &MachineState) -> Vec<(String, Fact)> {
    let mut order: Vec<String> = Vec::new();
    let mut found: BTreeMap<String, Vec<&Setting>> = BTreeMap::new();
    for setting in &state.snapshot.settings {
        let Some(what) = what(setting, state) else { continue };
        if !found.contains_key(&what) {
            order.push(what.clone());
        }
        found.entry(what).or_default().push(setting);
    }
    order.into_iter().filter_map(|what| Some((what.clone(), value(&found[&what])?))).collect()
}

/// What a setting is told as; nothing of one that is told otherwise, or that differs wherever it is.
fn what(setting: &Setting, state: &MachineState) -> Option<String> {
    let place = &setting.place;
    let locator = knobs::find(&place.knob)?.knob.locator;
    if matches!(locator, Locator::Mtu | Locator::KernelVersion | Locator::Interrupts) {
        return None;
    }
    let machine = &state.snapshot.machine;
    let device = match (locator.device_class(), &place.device) {
        (Some(DeviceClass::Nic | DeviceClass::Bond), Some(name)) => {
            machine.nics.iter().any(|nic| nic.name == *name && is_own(nic)).then(|| format!(" of {name}"))?
        }
        _ => String::new(),
    };
    match place.space {
        Space::Host => Some(format!("{}{device}", place.knob)),
        Space::Pid(pid) => {
            let engine = state.snapshot.engines.iter().find(|engine| engine.pid == pid)?;
            Some(format!("{}{device} in {}", place.knob, engine.program))
        }
        Space::Netns(_) => None,
    }
}

fn value(settings: &[&Setting]) -> Option<Fact> {
    if settings.iter().any(|setting| matches!(setting.missing, Some(Missing::NotPermitted | Missing::Unreadable(_)))) {
        return Some(Fact::Unread);
    }
    let values = settings.iter().filter_map(|setting| setting.value.as_deref());
    let plain = |value: &str| {
        let text = value.split_whitespace().collect::<Vec<_>>().join(" ");
        if text.is_empty() { "empty".to_owned() } else { text }
    };
    let text = counted(values.map(plain));
    (!text.is_empty()).then_some(Fact::Setting(text))
}

/// Texts with how often each is there: `22 × none, 2 × mq-deadline`; one that is alone without a number.
fn counted(texts: impl Iterator<Item = String>) -> String {
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    for text in texts {
        *counts.entry(text).or_default() += 1;
    }
    let each = counts.into_iter().map(|(text, count)| if count == 1 { text } else { format!("{count} × {text}") });
    each.collect::<Vec<_>>().join(", ")
}
