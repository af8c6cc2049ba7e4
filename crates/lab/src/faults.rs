//! What can be broken in a lab: `node3 link.tx=60Mb/s`.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use linerate_record::units::{
    BitRate, ByteRate, Bytes, UnitError, bits_per_s, bytes_per_s_iec, duration_ns, parse_duration, percent,
};
use serde::{Deserialize, Serialize};

use crate::names::{Machine, MachineSet};
use crate::spec::{LINK_BITS_PER_S_MIN, LabSpec};

/// What a fault does, with what it is written as.
const FORMS: &str = "link.tx=60Mb/s, link.rx=60Mb/s, drive2=5MB/s, drive2.iops=100, cpu=20%, loss=1%, delay=2ms, \
                     mtu=1400, down, freeze, neighbour.tx=100Mb/s, window=64KiB, pauses=3s/20s or, of clients, \
                     subset=2";

/// Something that is broken in a machine of a lab.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Fault {
    pub machine: Machine,
    pub kind: FaultKind,
}

/// A drive is numbered from 1.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FaultKind {
    /// What it sends, on each of its links.
    LinkTx {
        bits_per_s: f64,
    },
    /// What it receives.
    LinkRx {
        bits_per_s: f64,
    },
    /// What a drive reads, and what it writes.
    Drive {
        number: u32,
        bytes_per_s: f64,
    },
    DriveIops {
        number: u32,
        per_s: f64,
    },
    /// Processors that all of its processes have together.
    Cpu {
        cores: f64,
    },
    /// Of its packets, each way.
    Loss {
        share: f64,
    },
    /// Of what it sends.
    Delay {
        ns: u64,
    },
    /// Of its own interfaces, as one that was configured wrongly.
    Mtu {
        bytes: u32,
    },
    /// Its ports at the switch are down.
    Down,
    /// Its processes stand still.
    Freeze,
    /// Something else on the machine sends so much.
    NeighbourTx {
        bits_per_s: f64,
    },
    /// Buffers of its sockets, whatever they ask for.
    Window {
        bytes: u64,
    },
    /// Its processes stand still for a time, again and again.
    Pauses {
        length_ns: u64,
        period_ns: u64,
    },
    /// So many nodes answer a client's connections to any of them, as behind a name that not all nodes are in.
    Subset {
        nodes: u32,
    },
}

/// A fault as it is requested: of one machine, or of all of a kind.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FaultRequest {
    machines: MachineSet,
    kind: FaultKind,
}

impl FaultRequest {
    /// A fault for each machine of a lab that it is requested of.
    #[must_use]
    pub fn faults(&self, spec: &LabSpec) -> Vec<Fault> {
        let of_machine = |machine| Fault { machine, kind: self.kind };
        self.machines.machines(spec).into_iter().map(of_machine).collect()
    }
}

/// Faults that are to be lifted: of a machine, or of all of a kind, all or those that change one thing.
#[derive(Clone, Debug, PartialEq)]
pub struct FaultSelection {
    machines: MachineSet,
    /// `link.tx`; absent for all.
    what: Option<String>,
}

impl FaultSelection {
    #[must_use]
    pub fn selects(&self, fault: &Fault) -> bool {
        self.machines.contains(fault.machine) && self.what.as_ref().is_none_or(|what| *what == fault.what())
    }
}

impl Fault {
    /// What of the machine it changes: of two faults of one, the later holds.
    #[must_use]
    pub fn subject(&self) -> String {
        format!("{} {}", self.machine, self.what())
    }

    /// The same without the machine.
    #[must_use]
    pub fn what(&self) -> String {
        let text = self.kind.to_string();
        text.split_once('=').map_or(text.as_str(), |(what, _)| what).to_owned()
    }

    /// What in a lab it cannot be planted in.
    #[must_use]
    pub fn mistake(&self, spec: &LabSpec) -> Option<String> {
        let machine = self.machine;
        let (count, kind) = match machine {
            Machine::Node(_) => (spec.nodes.len(), "nodes"),
            Machine::Client(_) => (spec.clients.len(), "clients"),
        };
        if machine.index() >= count {
            return Some(format!("there is no {machine}: the lab has {count} {kind}"));
        }
        let drives = spec.nodes.get(machine.index()).map_or(0, |node| node.drives.len());
        match (self.kind, machine) {
            (FaultKind::Subset { .. }, Machine::Node(_)) => {
                Some(format!("{machine} is no client: write 'clients subset=2' or 'client1 subset=2'"))
            }
            (FaultKind::Subset { nodes }, _) if nodes as usize > spec.nodes.len() => {
                Some(format!("{machine} cannot reach {nodes} nodes: the lab has {}", spec.nodes.len()))
            }
            (FaultKind::Drive { .. } | FaultKind::DriveIops { .. }, Machine::Client(_)) => {
                Some(format!("{machine} has no drives"))
            }
            (FaultKind::Drive { number, .. } | FaultKind::DriveIops { number, .. }, _) if number as usize > drives => {
                Some(format!("{machine} has no drive{number}: it has {drives}"))
            }
            _ => None,
        }
    }
}

/// `node3 link.tx=60Mb/s`, or `node3.link.tx=60Mb/s`: a machine, or `nodes` or `clients`, and what is broken of it.
impl FromStr for FaultRequest {
    type Err = String;

    fn from_str(text: &str) -> Result<FaultRequest, String> {
        let (machines, Some(what)) = machines_and_what(text)? else {
            return Err(format!(
                "invalid fault {text:?}: write a machine and what is broken, as in 'node3 link.tx=60Mb/s'"
            ));
        };
        let kind = kind(what).map_err(|why| format!("invalid fault {text:?}: {why}"))?;
        Ok(FaultRequest { machines, kind })
    }
}

/// `node3`, `nodes loss`, `node3.link.tx`, or a fault as it was planted.
impl FromStr for FaultSelection {
    type Err = String;

    fn from_str(text: &str) -> Result<FaultSelection, String> {
        let (machines, what) = machines_and_what(text)?;
        let what = what.map(|what| what.split_once('=').map_or(what, |(what, _)| what).to_owned());
        Ok(FaultSelection { machines, what })
    }
}

/// The two words of a fault, with a blank or a dot between them.
fn machines_and_what(text: &str) -> Result<(MachineSet, Option<&str>), String> {
    let (machines, what) = text
        .trim()
        .split_once([' ', '.'])
        .map_or((text.trim(), None), |(machines, what)| (machines, Some(what.trim())));
    Ok((machines.parse()?, what))
}

fn kind(what: &str) -> Result<FaultKind, String> {
    let Some((name, value)) = what.split_once('=') else {
        return match what {
            "down" => Ok(FaultKind::Down),
            "freeze" => Ok(FaultKind::Freeze),
            _ => Err(format!("{what:?} is none: write {FORMS}")),
        };
    };
    let (drive, is_iops) = name.strip_suffix(".iops").map_or((name, false), |drive| (drive, true));
    let drive = drive.strip_prefix("drive").and_then(|number| number.parse().ok()).filter(|number| *number > 0);
    match (name, drive) {
        (_, Some(number)) if is_iops => Ok(FaultKind::DriveIops { number, per_s: number_of(value)? }),
        (_, Some(number)) => {
            let ByteRate(bytes_per_s) = value.parse().map_err(|error: UnitError| error.to_string())?;
            Ok(FaultKind::Drive { number, bytes_per_s })
        }
        ("link.tx", _) => Ok(FaultKind::LinkTx { bits_per_s: link(value)? }),
        ("link.rx", _) => Ok(FaultKind::LinkRx { bits_per_s: link(value)? }),
        ("neighbour.tx", _) => Ok(FaultKind::NeighbourTx { bits_per_s: link(value)? }),
        ("cpu", _) => Ok(FaultKind::Cpu { cores: share(value, 64.0)? }),
        ("loss", _) => Ok(FaultKind::Loss { share: share(value, 1.0)? }),
        ("delay", _) => Ok(FaultKind::Delay { ns: time(value)? }),
        ("subset", _) => match value.parse() {
            Ok(nodes) if nodes > 0 => Ok(FaultKind::Subset { nodes }),
            _ => Err(format!("a subset of {value:?} nodes: write how many answer, from 1 on")),
        },
        ("mtu", _) => match value.parse() {
            Ok(bytes) if (576..=65_000).contains(&bytes) => Ok(FaultKind::Mtu { bytes }),
            _ => Err(format!("an MTU of {value:?}: write 576 to 65000")),
        },
        ("window", _) => match value.parse::<Bytes>().map_err(|error| error.to_string())? {
            Bytes(bytes) if (4096..=1 << 30).contains(&bytes) => Ok(FaultKind::Window { bytes }),
            _ => Err(format!("a window of {value:?}: write 4KiB to 1GiB")),
        },
        ("pauses", _) => {
            let (length, period) = value.split_once('/').ok_or("write pauses=3s/20s: how long, and how often")?;
            let (length_ns, period_ns) = (time(length)?, time(period)?);
            if length_ns < period_ns {
                Ok(FaultKind::Pauses { length_ns, period_ns })
            } else {
                Err(format!("pauses of {length} each {period}: the first is to be shorter"))
            }
        }
        _ => Err(format!("{name:?} is none: write {FORMS}")),
    }
}

fn link(text: &str) -> Result<f64, String> {
    let BitRate(rate) = text.parse().map_err(|error: UnitError| error.to_string())?;
    if rate >= LINK_BITS_PER_S_MIN {
        Ok(rate)
    } else {
        Err(format!("{} is the least", bits_per_s(LINK_BITS_PER_S_MIN)))
    }
}

fn number_of(text: &str) -> Result<f64, String> {
    text.parse()
        .ok()
        .filter(|number| (1..=10_000_000).contains(number))
        .map(|number: u32| f64::from(number))
        .ok_or_else(|| format!("{text:?} operations per second: write 1 to 10000000"))
}

fn share(text: &str, most: f64) -> Result<f64, String> {
    let percent = text.strip_suffix('%').and_then(|number| number.parse::<f64>().ok());
    let share = percent.map(|percent| percent / 100.0).filter(|share| *share > 0.0 && *share <= most);
    share.ok_or_else(|| format!("{text:?}: write a share such as 20%"))
}

fn time(text: &str) -> Result<u64, String> {
    let time = parse_duration(text).map_err(|error| error.to_string())?;
    if (Duration::from_micros(100)..=Duration::from_secs(600)).contains(&time) {
        return Ok(time.as_nanos() as u64);
    }
    Err(format!("{text}: write 100us to 10m"))
}

impl fmt::Display for FaultSelection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.machines)?;
        self.what.as_ref().map_or(Ok(()), |what| write!(f, " {what}"))
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.machine, self.kind)
    }
}

impl fmt::Display for FaultKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            FaultKind::LinkTx { bits_per_s: rate } => write!(f, "link.tx={}", bits_per_s(rate)),
            FaultKind::LinkRx { bits_per_s: rate } => write!(f, "link.rx={}", bits_per_s(rate)),
            FaultKind::Drive { number, bytes_per_s } => write!(f, "drive{number}={}", bytes_per_s_iec(bytes_per_s)),
            FaultKind::DriveIops { number, per_s } => write!(f, "drive{number}.iops={per_s}"),
            FaultKind::Cpu { cores } => write!(f, "cpu={}", percent(cores)),
            FaultKind::Loss { share } => write!(f, "loss={}", percent(share)),
            FaultKind::Delay { ns } => write!(f, "delay={}", duration_ns(ns as f64)),
            FaultKind::Mtu { bytes } => write!(f, "mtu={bytes}"),
            FaultKind::Down => f.write_str("down"),
            FaultKind::Freeze => f.write_str("freeze"),
            FaultKind::NeighbourTx { bits_per_s: rate } => write!(f, "neighbour.tx={}", bits_per_s(rate)),
            FaultKind::Window { bytes } => write!(f, "window={}", Bytes(bytes)),
            FaultKind::Pauses { length_ns, period_ns } => {
                write!(f, "pauses={}/{}", duration_ns(length_ns as f64), duration_ns(period_ns as f64))
            }
            FaultKind::Subset { nodes } => write!(f, "subset={nodes}"),
        }
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::spec::tests::uniform;

    /// The fault of one machine.
    pub(crate) fn fault(text: &str) -> Fault {
        let request: FaultRequest = text.parse().unwrap_or_else(|why| panic!("{text}: {why}"));
        let MachineSet::One(machine) = request.machines else { panic!("{text}: of several machines") };
        Fault { machine, kind: request.kind }
    }

    #[test]
    fn faults_are_read_and_named_by_what_they_change() {
        for (text, subject) in [
            ("node3 link.tx=60Mb/s", "node3 link.tx"),
            ("client1 link.rx=1Gb/s", "client1 link.rx"),
            ("node1 drive2=5MB/s", "node1 drive2"),
            ("node1 drive2.iops=100", "node1 drive2.iops"),
            ("node1 cpu=20%", "node1 cpu"),
            ("node1 loss=0.5%", "node1 loss"),
            ("node1 delay=2ms", "node1 delay"),
            ("node1 mtu=1400", "node1 mtu"),
            ("node1 down", "node1 down"),
            ("node1 freeze", "node1 freeze"),
            ("node1 neighbour.tx=100Mb/s", "node1 neighbour.tx"),
            ("node1 window=64KiB", "node1 window"),
            ("node1 pauses=3s/20s", "node1 pauses"),
            ("client1 subset=2", "client1 subset"),
            ("client1.link.rx=1Gb/s", "client1 link.rx"),
        ] {
            let fault = fault(text);
            assert_eq!(fault.subject(), subject, "{text}");
            assert_eq!(fault.mistake(&uniform(3, 2)), None, "{text}");
        }
    }

    #[test]
    fn what_is_no_fault_is_quoted_with_what_to_write() {
        for (text, part) in [
            ("node3", "as in 'node3 link.tx=60Mb/s'"),
            ("switch down", "nodes or clients"),
            ("node1 broken", "link.tx=60Mb/s"),
            ("node1 link.tx=60MB/s", "small b"),
            ("node1 link.tx=1b/s", "least"),
            ("node1 cpu=20", "20%"),
            ("node1 loss=101%", "20%"),
            ("node1 mtu=1", "576"),
            ("node1 pauses=20s/3s", "shorter"),
            ("node1 drive0=5MB/s", "is none"),
            ("node1 window=1", "4KiB"),
            ("clients subset=0", "how many"),
            ("down", "nodes or clients"),
        ] {
            let why = text.parse::<FaultRequest>().unwrap_err();
            assert!(why.contains(part), "{text}: {why}");
        }
        let mistake = |text: &str| fault(text).mistake(&uniform(3, 2)).unwrap_or_default();
        assert!(mistake("node4 down").contains("3 nodes"));
        assert!(mistake("client2 down").contains("1 clients"));
        assert!(mistake("node1 drive3=5MB/s").contains("it has 2"));
        assert!(mistake("client1 drive1=5MB/s").contains("no drives"));
        assert!(mistake("client1 subset=4").contains("the lab has 3"));
        assert!(mistake("node1 subset=2").contains("no client"));
    }

    #[test]
    fn faults_are_lifted_by_machine_by_what_they_change_and_as_they_were_planted() {
        let planted = ["node3 loss=1%", "node3 link.tx=60Mb/s", "node1 loss=2%", "client1 loss=1%"].map(fault);
        let selected = |text: &str| -> Vec<String> {
            let selection: FaultSelection = text.parse().unwrap();
            planted.iter().filter(|fault| selection.selects(fault)).map(Fault::subject).collect()
        };
        assert_eq!(selected("node3"), ["node3 loss", "node3 link.tx"]);
        assert_eq!(selected("nodes loss"), ["node3 loss", "node1 loss"]);
        assert_eq!(selected("node3.link.tx"), ["node3 link.tx"]);
        assert_eq!(selected("client1 loss=1%"), ["client1 loss"]);
        assert!(selected("node2").is_empty());
        assert!("switch".parse::<FaultSelection>().unwrap_err().contains("nodes or clients"));
    }

    #[test]
    fn a_fault_of_all_nodes_or_clients_is_one_of_each() {
        let faults = |text: &str| text.parse::<FaultRequest>().unwrap().faults(&uniform(3, 2));
        let subjects = |text: &str| faults(text).iter().map(Fault::subject).collect::<Vec<_>>();
        assert_eq!(subjects("nodes link.tx=60Mb/s"), ["node1 link.tx", "node2 link.tx", "node3 link.tx"]);
        assert_eq!(subjects("clients.subset=2"), ["client1 subset"]);
    }
}
