//! Everything that an audit asks of a machine, read at one time: what it is made of, the S3 servers on it, and its
//! settings, in the host's namespaces and in those of each server that has its own.

mod configured;
mod devices;
mod engines;

pub(crate) use devices::{MANGLED, unescaped};
pub(crate) use engines::{OBJECT_STORE, engine_pids, is_engine, program};

use std::path::Path;

use linerate_record::audit::{CAPTURE_FILE, Capture};
use linerate_record::knob::{EngineProcess, Knob, Locator, Scope, Setting, Snapshot, Space};

use crate::machine::machine;
use crate::root::{ReadPass, Root, note, text};
use crate::setting;

/// What is asked of a machine.
#[derive(Clone, Copy, Debug, Default)]
pub struct SnapshotRequest<'a> {
    /// Knobs to read; those of a cluster are left out, whoever names them.
    pub knobs: &'a [&'static Knob],
    /// Processes to take for S3 servers beside those that are found.
    pub pids: &'a [u32],
    /// A network namespace to look into besides, by name.
    pub netns: Option<&'a str>,
}

/// Reads the machine. What could not be read stands in the snapshot beside the rest.
#[must_use]
pub fn snapshot(root: &Root, requested: &SnapshotRequest<'_>) -> Snapshot {
    let mut pass = ReadPass::default();
    let capture = read_capture(root, &mut pass);
    let (machine, unreadable) = machine(root);
    let engines = match &capture {
        Some(capture) => capture.engines.clone(),
        None => engines::engines(root, requested.pids, &mut pass),
    };
    let here: Vec<&'static Knob> =
        requested.knobs.iter().copied().filter(|knob| is_of_machine(&knob.locator)).collect();
    let settings = match &capture {
        Some(capture) => captured_settings(root, &here, capture),
        None => settings(root, &here, &engines, requested.netns),
    };
    let mut all: Vec<String> = unreadable.iter().chain(&pass.unreadable).map(ToString::to_string).collect();
    all.extend(capture.iter().flat_map(|capture| capture.unreadable.clone()));
    all.sort_unstable();
    all.dedup();
    Snapshot {
        devices: devices::devices(root, &machine),
        machine,
        engines,
        settings: sorted(settings, &here),
        is_initial_netns: is_initial_netns(root),
        configured: configured::configured(root, requested.knobs),
        unreadable: all,
    }
}

/// Whether a locator is of a machine: what a component or a chart is set to, no file of the machine says.
pub(crate) const fn is_of_machine(locator: &Locator) -> bool {
    !matches!(locator, Locator::Component { .. } | Locator::HelmValue { .. })
}

/// Whether a captured folder has the files that a setting is read from.
pub(crate) const fn is_in_files(locator: &Locator) -> bool {
    matches!(
        locator,
        Locator::Sysctl { .. }
            | Locator::Sysfs { .. }
            | Locator::Mtu
            | Locator::MountOption { .. }
            | Locator::BootArgument { .. }
            | Locator::KernelVersion
    )
}

/// `netdev_max_backlog` is registered in the initial network namespace alone (`net/core/sysctl_net_core.c`,
/// `net_core_table`).
fn is_initial_netns(root: &Root) -> bool {
    text(root, "proc/sys/net/core/netdev_max_backlog", &mut Vec::new()).is_ok()
}

fn settings(root: &Root, knobs: &[&'static Knob], engines: &[EngineProcess], netns: Option<&str>) -> Vec<Setting> {
    let of_host = |knob: &&&Knob| knob.scope != Scope::Process;
    let mut all = setting::read_all(root, &Space::Host, knobs.iter().filter(of_host).copied());
    for engine in engines {
        let of_engine = |knob: &&&Knob| match knob.scope {
            Scope::Process => true,
            Scope::NetworkNamespace => engine.own_network,
            _ => false,
        };
        all.extend(setting::read_all(root, &Space::Pid(engine.pid), knobs.iter().filter(of_engine).copied()));
    }
    if let Some(name) = netns {
        let of_namespace = |knob: &&&Knob| knob.scope == Scope::NetworkNamespace;
        let space = Space::Netns(name.to_owned());
        all.extend(setting::read_all(root, &space, knobs.iter().filter(of_namespace).copied()));
    }
    all
}

/// Settings of a capture: what its files say, and what it wrote down where no file says it.
fn captured_settings(root: &Root, knobs: &[&'static Knob], capture: &Capture) -> Vec<Setting> {
    let in_files = |knob: &&&Knob| knob.scope != Scope::Process && is_in_files(&knob.locator);
    let mut all = setting::read_all(root, &Space::Host, knobs.iter().filter(in_files).copied());
    all.retain(|setting| !capture.settings.iter().any(|kept| kept.place == setting.place));
    let is_requested = |setting: &&Setting| knobs.iter().any(|knob| knob.id == setting.place.knob);
    all.extend(capture.settings.iter().filter(is_requested).cloned());
    all
}

/// In the order of the knobs, and of each the host's first.
fn sorted(mut settings: Vec<Setting>, knobs: &[&'static Knob]) -> Vec<Setting> {
    let place_of = |setting: &Setting| knobs.iter().position(|knob| knob.id == setting.place.knob);
    settings
        .sort_by_cached_key(|setting| (place_of(setting), setting.place.space.clone(), setting.place.device.clone()));
    settings
}

/// What a captured folder says of itself; none for a live machine, and for files that somebody put together.
fn read_capture(root: &Root, pass: &mut ReadPass) -> Option<Capture> {
    if root.0 == Path::new("/") {
        return None;
    }
    let reported = text(root, CAPTURE_FILE, &mut pass.bytes).ok().map(|text| serde_json::from_str(&text))?;
    match reported {
        Ok(capture) => Some(capture),
        Err(error) => {
            note(pass, CAPTURE_FILE, error.to_string());
            None
        }
    }
}
