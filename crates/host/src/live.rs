//! What can be read of a machine while it works, look by look, and without changing anything: files are opened for
//! reading, folders are listed, links are read, and netlink is asked.
//!
//! A look is taken each second or less often. Each file below is one reading; its documentation says what it tells,
//! what it cannot, what privilege it takes and how often it may be taken, and [`ABOUT`] has the same for people. What
//! takes long or may wait is read beside the looks, less often, and is in the values of the look after. A rate is over
//! the time that has really passed. What is lower than before, has come or has gone since the look before has no value
//! in this one. What cannot be read is told once, and the rest goes on.

mod background;
mod counter_delta;
mod descriptions;
mod drives;
mod engine;
pub(crate) mod engine_devices;
mod engines;
mod frequency;
mod links;
mod memory;
mod port_drops;
mod pressure;
mod processors;
pub mod sockets;
mod softnet;
mod tcp;
mod temperature;
mod threads;

use std::collections::BTreeSet;

use linerate_record::readings::{ReadMeasure, ReadValue};

pub use descriptions::{ABOUT, ReadingAbout};
pub(crate) use links::shows_this_namespace;
pub use port_drops::{PortsNow, ports_between, ports_now};

use crate::root::{Parsed, ReadPass, Root, Unreadable, note, text};

/// What is said of an engine's process whose cgroups cannot be read, behind the reason.
pub const QUOTAS_UNREAD: &str = "its quotas are not reported";

/// Most values of a look.
pub const LOOK_VALUES_MAX: usize = 2_000;
/// Most faults and remarks that are told of a machine over all looks.
const REPORTED_MAX: usize = 256;
/// Room for `/proc/stat` of a few hundred processors, so that the kernel makes each file's text once only.
const BUFFER_BYTES: usize = 64 << 10;

/// What is to be read.
#[derive(Clone, Debug, Default)]
pub struct LiveRequest {
    /// The engine's processes; none where they are to be found by their programs' names.
    pub engine_pids: Vec<u32>,
    /// Whether whoever looks reads the counters of ports by `ports_now`: then no look reads them too, which takes the
    /// lock of all interfaces.
    pub without_ports: bool,
}

/// What was read last, and what was found out about the machine.
#[derive(Debug, Default)]
pub struct LiveState {
    bytes: Vec<u8>,
    reported: BTreeSet<String>,
    named: BTreeSet<PartName>,
    processors: processors::Processors,
    frequency: frequency::Frequency,
    pressures: pressure::Pressures,
    segments: tcp::TcpSegments,
    backlogs: softnet::SoftnetDrops,
    drives: drives::DrivesRead,
    heat: temperature::DriveTemperatures,
    links: links::LinksRead,
    rings: Option<port_drops::PortDrops>,
    engines: engines::Engines,
    engine: engine::EngineCounters,
    threads: threads::BusiestThreads,
}

/// What one look gives.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LiveLook {
    /// Values since the look before. What is read less often is in the looks that bring something new.
    pub values: Vec<ReadValue>,
    /// What could not be read, told in the first look that finds it so.
    pub unreadable: Vec<Unreadable>,
    /// What else is remarkable, in sentences, once each.
    pub remarks: Vec<String>,
    /// Other names, once each.
    pub names: Vec<PartName>,
}

/// Another name of a part of a machine, or of the machine.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct PartName {
    /// As values have it; empty where it is of the machine.
    pub part: String,
    /// Another: the machine's own of itself, or the folder of a cgroup.
    pub name: String,
}

impl LiveState {
    /// Whether the drives of the last look are those that the engine serves from, and no others.
    #[must_use]
    pub const fn has_own_drives(&self) -> bool {
        self.drives.are_of_engine
    }
}

/// One look while it is taken.
struct Reader<'a> {
    root: &'a Root,
    now_ms: u64,
    pass: &'a mut ReadPass,
    values: Vec<ReadValue>,
    remarks: Vec<String>,
    names: Vec<PartName>,
}

/// Finds the engine's processes, which costs two small files for each process of the machine. Reads no counters yet.
#[must_use]
pub fn begin(root: &Root, requested: &LiveRequest) -> LiveState {
    LiveState {
        bytes: Vec::with_capacity(BUFFER_BYTES),
        engines: engines::begin(root, &requested.engine_pids),
        rings: (!requested.without_ports).then(port_drops::PortDrops::default),
        ..LiveState::default()
    }
}

/// Takes a look, at an instant of a clock that nobody sets. The first gives what needs no other to count from. Looks
/// are taken by one thread, in whose network namespace interfaces and TCP are read.
#[must_use]
pub fn look(root: &Root, state: &mut LiveState, now_ms: u64) -> LiveLook {
    let mut pass = ReadPass { bytes: std::mem::take(&mut state.bytes), unreadable: Vec::new() };
    let mut at = Reader::new(root, now_ms, &mut pass);
    // In the order of what is missed most, for the machine that has more values than a look takes.
    engines::look(&mut state.engines, &mut at);
    processors::look(&mut state.processors, &mut at);
    memory::look(&mut at);
    pressure::look(&mut state.pressures, &mut at);
    tcp::look(&mut state.segments, &mut at);
    softnet::look(&mut state.backlogs, &mut at);
    engine::look(&mut state.engine, &mut state.engines, &mut at);
    threads::look(&mut state.threads, &state.engines.all, &mut at);
    frequency::look(&mut state.frequency, &state.processors.busy, &mut at);
    drives::look(&mut state.drives, state.engines.devices.as_ref(), &mut at);
    links::look(&mut state.links, &mut at);
    if let Some(rings) = &mut state.rings {
        port_drops::look(rings, state.links.ports(), &mut at);
    }
    temperature::look(&mut state.heat, &state.drives.names, &mut at);
    at.name_machine();
    let Reader { values, remarks, names, .. } = at;
    state.bytes = pass.bytes;
    reported(state, values, pass.unreadable, remarks, names)
}

/// A name that a program gave itself, as it can be shown: without control characters.
fn plain(name: &str) -> String {
    name.chars().map(|letter| if letter.is_control() { '?' } else { letter }).collect()
}

/// Bounds what a look gives, and leaves out what was told before.
fn reported(
    state: &mut LiveState,
    mut values: Vec<ReadValue>,
    mut unreadable: Vec<Unreadable>,
    mut remarks: Vec<String>,
    mut names: Vec<PartName>,
) -> LiveLook {
    if values.len() > LOOK_VALUES_MAX {
        remarks.push(format!("of the values of a look, the first {LOOK_VALUES_MAX} are reported"));
        values.truncate(LOOK_VALUES_MAX);
    }
    let reported = &mut state.reported;
    let mut is_new = |what: &str| reported.len() < REPORTED_MAX && reported.insert(what.to_owned());
    unreadable.retain(|fault| is_new(&fault.path));
    remarks.retain(|remark| is_new(remark));
    names.retain(|name| state.named.len() < REPORTED_MAX && state.named.insert(name.clone()));
    LiveLook { values, unreadable, remarks, names }
}

impl<'a> Reader<'a> {
    fn new(root: &'a Root, now_ms: u64, pass: &'a mut ReadPass) -> Self {
        Reader { root, now_ms, pass, values: Vec::new(), remarks: Vec::new(), names: Vec::new() }
    }

    fn tell(&mut self, of: ReadMeasure, part: &str, value: f64) {
        if value.is_finite() {
            self.values.push(ReadValue { of, part: part.to_owned(), value });
        }
    }

    /// One, where there is one.
    fn tell_any(&mut self, of: ReadMeasure, part: &str, value: Option<f64>) {
        if let Some(value) = value {
            self.tell(of, part, value);
        }
    }

    fn remark(&mut self, remark: String) {
        self.remarks.push(remark);
    }

    /// The path of a file of this thread's network namespace: `/proc/net` is that of the process's first thread.
    fn network(&self, file: &str) -> String {
        let folder = if self.root.is_live() { "proc/thread-self/net" } else { "proc/net" };
        format!("{folder}/{file}")
    }

    /// What a file holds, what is odd about it told; none where it cannot be read.
    fn parsed<T>(&mut self, path: &str, parse: fn(&str) -> Parsed<T>) -> Option<T> {
        self.read(path, parse).map(|(value, _)| value)
    }

    /// The same of a file of which a part is nothing.
    fn parsed_wholly<T>(&mut self, path: &str, parse: fn(&str) -> Parsed<T>) -> Option<T> {
        self.read(path, parse).filter(|(_, is_whole)| *is_whole).map(|(value, _)| value)
    }

    fn read<T>(&mut self, path: &str, parse: fn(&str) -> Parsed<T>) -> Option<(T, bool)> {
        match text(self.root, path, &mut self.pass.bytes).map(|text| parse(&text)) {
            Ok((value, odd)) => {
                let is_whole = odd.is_none();
                if let Some(reason) = odd {
                    note(self.pass, path, reason);
                }
                Some((value, is_whole))
            }
            Err(error) => {
                note(self.pass, path, error.to_string());
                None
            }
        }
    }

    /// The machine's own name of itself.
    fn name_machine(&mut self) {
        let text = text(self.root, "proc/sys/kernel/hostname", &mut self.pass.bytes);
        let name = text.map(|text| plain(text.trim())).unwrap_or_default();
        if !name.is_empty() {
            self.names.push(PartName { part: String::new(), name });
        }
    }
}

#[cfg(test)]
mod tests;
