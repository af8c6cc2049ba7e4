//! The state of a machine of a lab: its links, processors and drives as its description and its faults have them. It is
//! set as a whole, from whatever it was before.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

use crate::cgroups::Cgroups;
use crate::drives::DriveFiles;
use crate::error::LabError;
use crate::faults::{Fault, FaultKind};
use crate::folder::LabRecord;
use crate::names::{LabName, Machine};
use crate::namespaces;
use crate::network;
use crate::programs::{self, run, run_with_input};
use crate::redirect;
use crate::spec::{DriveLimits, LabSpec, Plane};

/// What a sender on a busy machine misses while it waits for a processor.
const BUCKET_S: f64 = 0.01;

/// The kernel hands on up to 64 KiB as one packet.
const BUCKET_BYTES: [f64; 2] = [64.0 * 1024.0, 4.0 * 1024.0 * 1024.0];

/// How long a packet may wait before it is dropped.
const QUEUE: &str = "50ms";

/// What a random number of 32 bits is compared with.
const RANDOM_NUMBERS: f64 = 4_294_967_296.0;

/// In the command lines of what pauses a machine and of its neighbour: by these they are found again.
pub const PAUSES: &str = "linerate-lab-pauses";
pub const NEIGHBOUR: &str = "linerate-lab-neighbour";

/// Where nobody listens: the port of the discard service, RFC 863.
const DISCARD_PORT: u16 = 9;

/// Sizes of buffers of sockets: least, usual, most.
const BUFFERS: [&str; 2] = ["tcp_rmem", "tcp_wmem"];

/// A machine as it is to be.
#[derive(Clone, Debug, PartialEq)]
pub struct MachineState {
    pub tx_bits_per_s: Vec<(Plane, Option<f64>)>,
    pub rx_bits_per_s: Vec<(Plane, Option<f64>)>,
    pub mtu_bytes: Vec<(Plane, u32)>,
    pub cores: Option<f64>,
    pub drives: Vec<DriveLimits>,
    pub loss: Option<f64>,
    pub delay_ns: Option<u64>,
    pub window_bytes: Option<u64>,
    pub is_down: bool,
    pub is_frozen: bool,
    pub pauses_ns: Option<(u64, u64)>,
    pub neighbour_bits_per_s: Option<f64>,
    /// Of a client: how many nodes answer it.
    pub answering_nodes: Option<u32>,
}

/// What a machine is by its description and these faults, of which the later hold.
#[must_use]
pub fn state(spec: &LabSpec, machine: Machine, faults: &[Fault]) -> MachineState {
    let planes: Vec<Plane> = machine.planes(spec).collect();
    let rate = |plane: Plane| match machine {
        Machine::Node(_) if plane == Plane::Private => spec.nodes[machine.index()].private_bits_per_s,
        Machine::Node(_) => spec.nodes[machine.index()].public_bits_per_s,
        Machine::Client(_) => spec.clients[machine.index()].bits_per_s,
    };
    let rates: Vec<(Plane, Option<f64>)> = planes.iter().map(|plane| (*plane, rate(*plane))).collect();
    let node = machine.node(spec);
    let mut state = MachineState {
        tx_bits_per_s: rates.clone(),
        rx_bits_per_s: rates,
        mtu_bytes: spec
            .planes()
            .filter(|(plane, _)| planes.contains(plane))
            .map(|(plane, of)| (plane, of.mtu_bytes))
            .collect(),
        cores: node.and_then(|node| node.cores),
        drives: node.map_or_else(Vec::new, |node| node.drives.iter().map(|drive| drive.limits).collect()),
        loss: None,
        delay_ns: None,
        window_bytes: None,
        is_down: false,
        is_frozen: false,
        pauses_ns: None,
        neighbour_bits_per_s: None,
        answering_nodes: None,
    };
    faults.iter().filter(|fault| fault.machine == machine).for_each(|fault| state.plant(fault.kind));
    state
}

impl MachineState {
    fn plant(&mut self, kind: FaultKind) {
        let lower = |rates: &mut Vec<(Plane, Option<f64>)>, most: f64| {
            rates.iter_mut().for_each(|(_, rate)| *rate = Some(rate.map_or(most, |rate| rate.min(most))));
        };
        let drive = |drives: &mut Vec<DriveLimits>, number: u32, limit: &dyn Fn(&mut DriveLimits)| {
            drives.get_mut(number as usize - 1).into_iter().for_each(limit);
        };
        match kind {
            FaultKind::LinkTx { bits_per_s } => lower(&mut self.tx_bits_per_s, bits_per_s),
            FaultKind::LinkRx { bits_per_s } => lower(&mut self.rx_bits_per_s, bits_per_s),
            FaultKind::Drive { number, bytes_per_s } => drive(&mut self.drives, number, &|limits| {
                (limits.read_bytes_per_s, limits.write_bytes_per_s) = (Some(bytes_per_s), Some(bytes_per_s));
            }),
            FaultKind::DriveIops { number, per_s } => drive(&mut self.drives, number, &|limits| {
                (limits.read_iops, limits.write_iops) = (Some(per_s), Some(per_s));
            }),
            FaultKind::Cpu { cores } => self.cores = Some(cores),
            FaultKind::Loss { share } => self.loss = Some(share),
            FaultKind::Delay { ns } => self.delay_ns = Some(ns),
            FaultKind::Mtu { bytes } => self.mtu_bytes.iter_mut().for_each(|(_, mtu)| *mtu = bytes),
            FaultKind::Down => self.is_down = true,
            FaultKind::Freeze => self.is_frozen = true,
            FaultKind::NeighbourTx { bits_per_s } => self.neighbour_bits_per_s = Some(bits_per_s),
            FaultKind::Window { bytes } => self.window_bytes = Some(bytes),
            FaultKind::Pauses { length_ns, period_ns } => self.pauses_ns = Some((length_ns, period_ns)),
            FaultKind::Subset { nodes } => self.answering_nodes = Some(nodes),
        }
    }
}

/// A lab whose machines are set.
#[derive(Clone, Copy, Debug)]
pub struct LabParts<'a> {
    pub lab: &'a LabName,
    pub spec: &'a LabSpec,
    pub cgroups: &'a Cgroups,
    /// Of all nodes, in the order of the description.
    pub drives: &'a [Vec<DriveFiles>],
    /// The program that sends as a neighbour does.
    pub linerate: &'a Path,
    /// Whether machines have just been made: nothing was set that would have to be lifted.
    pub are_new: bool,
}

impl<'a> LabParts<'a> {
    /// The machines of a lab as its record has them.
    #[must_use]
    pub fn new(record: &'a LabRecord, cgroups: &'a Cgroups, linerate: &'a Path) -> LabParts<'a> {
        LabParts { lab: &record.name, spec: &record.spec, cgroups, drives: &record.drives, linerate, are_new: false }
    }

    /// Sets a machine, from whatever it was before.
    ///
    /// # Errors
    /// [`LabError`]; what was set by then stays.
    pub fn set(&self, machine: Machine, state: &MachineState) -> Result<(), LabError> {
        if !self.are_new {
            self.lift(machine)?;
        }
        let (namespace, switch) = (self.lab.namespace(machine), self.lab.switch_namespace());
        for ((plane, tx), (_, rx)) in state.tx_bits_per_s.iter().zip(&state.rx_bits_per_s) {
            let cables = machine.cables(self.spec, *plane);
            let of_cable = |rate: &Option<f64>| rate.map(|rate| rate / cables.len() as f64);
            for [own, of_switch] in &cables {
                set_queue(&namespace, own, of_cable(tx), state.delay_ns)?;
                set_queue(&switch, of_switch, of_cable(rx), None)?;
                if let Some(share) = state.loss {
                    set_loss(&namespace, own, share)?;
                    set_loss(&switch, of_switch, share)?;
                }
                if state.is_down {
                    run("ip", &["-n", &switch, "link", "set", of_switch, "down"])?;
                }
            }
        }
        for (plane, mtu) in state.mtu_bytes.iter().filter(|_| !self.are_new) {
            run("ip", &["-n", &namespace, "link", "set", plane.interface(), "mtu", &mtu.to_string()])?;
        }
        if let Some(bytes) = state.window_bytes {
            set_buffers(&namespace, |_| Ok(format!("4096 {bytes} {bytes}")))?;
        }
        self.cgroups.limit_cores(self.lab, machine, state.cores)?;
        if let Some(answering) = state.answering_nodes {
            redirect::set_subset(&namespace, self.spec, answering)?;
        }
        if matches!(machine, Machine::Node(_)) {
            for (files, limits) in self.drives[machine.index()].iter().zip(&state.drives) {
                self.cgroups.limit_drive(self.lab, machine, &files.device()?, limits)?;
            }
        }
        self.start_background(machine, state)?;
        self.cgroups.freeze(self.lab, machine, state.is_frozen)
    }

    /// Lifts what may be set of a machine's network, and ends what goes on in its background. Limits of its processors
    /// and drives are set over what they were.
    fn lift(&self, machine: Machine) -> Result<(), LabError> {
        let (namespace, switch) = (self.lab.namespace(machine), self.lab.switch_namespace());
        for plane in machine.planes(self.spec) {
            for [own, of_switch] in machine.cables(self.spec, plane) {
                lift_interface(&namespace, &own)?;
                lift_interface(&switch, &of_switch)?;
                run("ip", &["-n", &switch, "link", "set", &of_switch, "up"])?;
            }
        }
        // The bounds that the switches have, which no fault changes.
        set_buffers(&namespace, |path| run("ip", &["netns", "exec", &switch, "cat", path]))?;
        if matches!(machine, Machine::Client(_)) {
            redirect::lift_subset(&namespace)?;
        }
        [PAUSES, NEIGHBOUR].into_iter().try_for_each(|name| namespaces::kill_all(|| background(&namespace, name)))
    }

    /// Starts what is to go on in the background of a machine.
    fn start_background(&self, machine: Machine, state: &MachineState) -> Result<(), LabError> {
        let namespace = self.lab.namespace(machine);
        if let Some((length_ns, period_ns)) = state.pauses_ns {
            let freezer = self.cgroups.freezer(self.lab, machine);
            let [length, rest] = [length_ns, period_ns - length_ns].map(|ns| (ns as f64 / 1e9).to_string());
            let script = "while :; do sleep \"$4\"; echo \"$2\" >\"$1\"; sleep \"$5\"; echo \"$3\" >\"$1\"; done";
            let file = freezer.file.to_string_lossy().into_owned();
            let words = [PAUSES, &file, freezer.frozen, freezer.thawed, &rest, &length];
            start(&namespace, &[&["sh", "-c", script], &words[..]].concat())?;
        }
        if let Some(rate) = state.neighbour_bits_per_s {
            let sink = format!("{}:{DISCARD_PORT}", network::sink_address());
            let program = self.linerate.to_string_lossy().into_owned();
            let rate = (rate as u64).to_string();
            start(&namespace, &[&program, "lab", "traffic", NEIGHBOUR, &sink, &rate])?;
        }
        Ok(())
    }
}

/// Processes in a namespace with this in their command line.
fn background(namespace: &str, name: &str) -> BTreeSet<u32> {
    let has_name = |pid: &u32| {
        let line = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        line.split(|byte| *byte == 0).any(|word| word == name.as_bytes())
    };
    namespaces::processes(&[namespace.to_owned()]).into_iter().filter(has_name).collect()
}

/// Starts a program that goes on by itself in a network namespace, outside of the machine's control groups. It sees the
/// machine's own `/sys`, which `ip netns exec` would hide.
fn start(namespace: &str, words: &[&str]) -> Result<(), LabError> {
    let failed = |why: String| LabError::Program { program: words.join(" "), why };
    let mut command = Command::new("nsenter");
    command.arg(format!("--net={}", namespaces::path(namespace).display())).args(["setsid", "--fork"]).args(words);
    programs::detached(&mut command);
    let status = command.status().map_err(|error| failed(error.to_string()))?;
    if status.success() { Ok(()) } else { Err(failed(status.to_string())) }
}

/// Shapes what a port sends.
pub(crate) fn shape(namespace: &str, interface: &str, rate_bits_per_s: f64) -> Result<(), LabError> {
    set_queue(namespace, interface, Some(rate_bits_per_s), None)
}

/// What an interface sends.
fn set_queue(namespace: &str, interface: &str, rate: Option<f64>, delay_ns: Option<u64>) -> Result<(), LabError> {
    let root = |words: &str| {
        let line = format!("-n {namespace} qdisc replace dev {interface} {words}");
        run("tc", &line.split(' ').collect::<Vec<_>>()).map(drop)
    };
    if let Some(ns) = delay_ns {
        let rate = rate.map_or_else(String::new, |rate| format!(" rate {}bit", rate as u64));
        let line = format!("root netem delay {}us limit 100000{rate}", ns / 1_000);
        return root(&line)
            .map_err(|error| LabError::Unsupported { what: "a delay".to_owned(), why: error.to_string() });
    }
    let Some(rate) = rate else { return Ok(()) };
    let bucket_bytes = (rate / 8.0 * BUCKET_S).clamp(BUCKET_BYTES[0], BUCKET_BYTES[1]) as u64;
    root(&format!("root tbf rate {}bit burst {bucket_bytes} latency {QUEUE}", rate as u64))
}

/// Lifts what holds an interface back.
fn lift_interface(namespace: &str, interface: &str) -> Result<(), LabError> {
    // Without an entry there is none to delete.
    let _ = run("tc", &["-n", namespace, "qdisc", "del", "dev", interface, "root"]);
    let _ = run("tc", &["-n", namespace, "qdisc", "del", "dev", interface, "clsact"]);
    set_offloads(namespace, interface, "on")
}

/// Drops a share of what an interface receives. Packets are made small first: the kernel hands on many as one.
fn set_loss(namespace: &str, interface: &str, share: f64) -> Result<(), LabError> {
    set_offloads(namespace, interface, "off")?;
    run("tc", &["-n", namespace, "qdisc", "add", "dev", interface, "clsact"])?;
    // A random number (ancillary data 56 of classic BPF); if it is greater, pass (0), else drop (2).
    let below = (share * RANDOM_NUMBERS).min(RANDOM_NUMBERS - 1.0) as u32;
    let code = format!("4,32 0 0 4294963256,37 0 1 {below},6 0 0 0,6 0 0 2");
    let words = ["-n", namespace, "filter", "add", "dev", interface, "ingress", "bpf", "da", "bytecode", &code];
    run("tc", &words).map(drop)
}

/// Whether many packets are handed on as one.
fn set_offloads(namespace: &str, interface: &str, on_or_off: &str) -> Result<(), LabError> {
    let words = ["netns", "exec", namespace, "ethtool", "-K", interface];
    let offloads = ["tso", on_or_off, "gso", on_or_off, "gro", on_or_off];
    match run("ip", &[&words[..], &offloads].concat()) {
        // They are on as long as nobody changed them.
        Err(_) if on_or_off == "on" => Ok(()),
        outcome => outcome.map(drop),
    }
}

/// Sets the bounds of buffers of sockets, by the path of each.
fn set_buffers(namespace: &str, bounds: impl Fn(&str) -> Result<String, LabError>) -> Result<(), LabError> {
    for file in BUFFERS {
        let path = format!("/proc/sys/net/ipv4/{file}");
        let bounds = bounds(&path)?.split_whitespace().collect::<Vec<_>>().join(" ");
        run_with_input("ip", &["netns", "exec", namespace, "tee", &path], &bounds)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::faults::tests::fault;
    use crate::spec::tests::uniform;

    #[test]
    fn faults_change_their_machine_alone_and_lower_what_was_there() {
        let spec = uniform(3, 2);
        let planted = |texts: &[&str], machine| {
            let faults: Vec<Fault> = texts.iter().map(|text| fault(text)).collect();
            state(&spec, machine, &faults)
        };
        let healthy = planted(&[], Machine::Node(3));
        assert_eq!(healthy.tx_bits_per_s, [(Plane::Public, Some(2e8))]);
        let texts =
            ["node3 link.tx=60Mb/s", "node3 drive2=5MB/s", "node3 cpu=20%", "node3 freeze", "client1 link.rx=1Gb/s"];
        assert_eq!(planted(&texts, Machine::Node(2)), planted(&[], Machine::Node(2)));
        let broken = planted(&texts, Machine::Node(3));
        assert_eq!((broken.tx_bits_per_s[0].1, broken.rx_bits_per_s[0].1), (Some(6e7), Some(2e8)));
        assert_eq!((broken.drives[0], broken.drives[1].write_bytes_per_s), (DriveLimits::default(), Some(5e6)));
        assert_eq!((broken.cores, broken.is_frozen, broken.is_down), (Some(0.2), true, false));
        // Faster than it was is no fault.
        assert_eq!(planted(&["node1 link.tx=1Gb/s"], Machine::Node(1)).tx_bits_per_s[0].1, Some(2e8));
        assert_eq!(planted(&texts, Machine::Client(1)).rx_bits_per_s[0].1, Some(1e9));
    }
}
