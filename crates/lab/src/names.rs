//! Names and addresses of a lab's parts.

use std::fmt;
use std::net::Ipv4Addr;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::bonds::BondSpec;
use crate::error::LabError;
use crate::spec::{LabSpec, NodeSpec, Plane};

/// Where each node serves.
pub const PORT: u16 = 9000;

/// With `-node64` and a way, names of namespaces and control groups stay short.
const NAME_MAX: usize = 12;

/// Name of a lab: what all of its parts have in front.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct LabName(String);

impl FromStr for LabName {
    type Err = LabError;

    fn from_str(text: &str) -> Result<LabName, LabError> {
        let is_letter = |c: char| c.is_ascii_lowercase();
        let all = text.chars().all(|c| is_letter(c) || c.is_ascii_digit() || c == '-');
        if all && text.starts_with(is_letter) && text.len() <= NAME_MAX {
            Ok(LabName(text.to_owned()))
        } else {
            Err(LabError::Name { name: text.to_owned() })
        }
    }
}

impl fmt::Display for LabName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A machine of a lab.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Machine {
    /// From 1.
    Node(u32),
    Client(u32),
}

impl fmt::Display for Machine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Machine::Node(number) => write!(f, "node{number}"),
            Machine::Client(number) => write!(f, "client{number}"),
        }
    }
}

impl FromStr for Machine {
    type Err = String;

    fn from_str(text: &str) -> Result<Machine, String> {
        let number = |digits: &str| digits.parse::<u32>().ok().filter(|n| *n > 0 && !digits.starts_with(['0', '+']));
        let node = text.strip_prefix("node").and_then(number).map(Machine::Node);
        let client = || text.strip_prefix("client").and_then(number).map(Machine::Client);
        node.or_else(client).ok_or_else(|| format!("invalid machine {text:?}: write node3 or client1"))
    }
}

/// A machine, or all of a kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MachineSet {
    One(Machine),
    Nodes,
    Clients,
}

impl FromStr for MachineSet {
    type Err = String;

    fn from_str(text: &str) -> Result<MachineSet, String> {
        match text {
            "nodes" => Ok(MachineSet::Nodes),
            "clients" => Ok(MachineSet::Clients),
            _ => text
                .parse()
                .map(MachineSet::One)
                .map_err(|_| format!("invalid machine {text:?}: write node3, client1, nodes or clients")),
        }
    }
}

impl fmt::Display for MachineSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            MachineSet::One(machine) => machine.fmt(f),
            MachineSet::Nodes => f.write_str("nodes"),
            MachineSet::Clients => f.write_str("clients"),
        }
    }
}

impl MachineSet {
    /// Its machines in a lab; one that is named may not be there.
    #[must_use]
    pub fn machines(self, spec: &LabSpec) -> Vec<Machine> {
        match self {
            MachineSet::One(machine) => vec![machine],
            MachineSet::Nodes => nodes(spec).collect(),
            MachineSet::Clients => clients(spec).collect(),
        }
    }

    #[must_use]
    pub fn contains(self, machine: Machine) -> bool {
        match self {
            MachineSet::One(one) => one == machine,
            MachineSet::Nodes => matches!(machine, Machine::Node(_)),
            MachineSet::Clients => matches!(machine, Machine::Client(_)),
        }
    }
}

impl Machine {
    /// Its place in the lists of a lab.
    #[must_use]
    pub const fn index(self) -> usize {
        match self {
            Machine::Node(number) | Machine::Client(number) => number as usize - 1,
        }
    }

    /// A node's part of a description; `None` of a client.
    #[must_use]
    pub fn node(self, spec: &LabSpec) -> Option<&NodeSpec> {
        match self {
            Machine::Node(_) => spec.nodes.get(self.index()),
            Machine::Client(_) => None,
        }
    }

    /// Its address on a plane: 10.231 is public and 10.232 private, nodes are in .1 and clients in .2.
    #[must_use]
    pub fn address(self, plane: Plane) -> Ipv4Addr {
        let second = match plane {
            Plane::Public => 231,
            Plane::Private => 232,
        };
        match self {
            Machine::Node(number) => Ipv4Addr::new(10, second, 1, number as u8),
            Machine::Client(number) => Ipv4Addr::new(10, second, 2, number as u8),
        }
    }

    /// The switch's port of it on a plane, as its interface is called there.
    #[must_use]
    pub fn port(self, plane: Plane) -> String {
        let (letter, number) = match self {
            Machine::Node(number) => ('n', number),
            Machine::Client(number) => ('c', number),
        };
        format!("{letter}{number}-{}", plane.interface())
    }

    /// How its link on a plane is shared among ports; `None` if it is one.
    #[must_use]
    pub fn bond(self, spec: &LabSpec, plane: Plane) -> Option<BondSpec> {
        self.node(spec).and_then(|node| node.bond(plane))
    }

    /// The interfaces by which its link is shaped, which are its cables: its own, and those at the switch.
    #[must_use]
    pub fn cables(self, spec: &LabSpec, plane: Plane) -> Vec<[String; 2]> {
        let ends = [plane.interface().to_owned(), self.port(plane)];
        let Some(bond) = self.bond(spec, plane) else { return vec![ends] };
        let [own, of_switch] = ends.map(|end| bond.members(&end));
        own.zip(of_switch).map(Into::into).collect()
    }

    /// Its planes: clients are on the public one alone.
    pub fn planes(self, spec: &LabSpec) -> impl Iterator<Item = Plane> {
        let is_node = matches!(self, Machine::Node(_));
        spec.planes().map(|(plane, _)| plane).filter(move |plane| is_node || *plane == Plane::Public)
    }
}

pub fn nodes(spec: &LabSpec) -> impl Iterator<Item = Machine> {
    (1..=spec.nodes.len() as u32).map(Machine::Node)
}

pub fn clients(spec: &LabSpec) -> impl Iterator<Item = Machine> {
    (1..=spec.clients.len() as u32).map(Machine::Client)
}

/// All machines, nodes first.
pub fn machines(spec: &LabSpec) -> impl Iterator<Item = Machine> {
    nodes(spec).chain(clients(spec))
}

impl LabName {
    /// Network namespace of a machine, as `ip netns` has it.
    #[must_use]
    pub fn namespace(&self, machine: Machine) -> String {
        format!("{self}-{machine}")
    }

    /// The namespace of all switches.
    #[must_use]
    pub fn switch_namespace(&self) -> String {
        format!("{self}-switch")
    }

    /// All namespaces.
    #[must_use]
    pub fn namespaces(&self, spec: &LabSpec) -> Vec<String> {
        machines(spec).map(|machine| self.namespace(machine)).chain([self.switch_namespace()]).collect()
    }

    /// The folder of its control groups, in each hierarchy.
    #[must_use]
    pub fn cgroup(&self) -> String {
        format!("linerate-{self}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_could_be_others_or_paths_are_refused() {
        for (name, is_valid) in [
            ("lab", true),
            ("a-2", true),
            ("", false),
            ("2a", false),
            ("-a", false),
            ("Lab", false),
            ("../x", false),
            ("a b", false),
            ("abcdefghijklm", false),
        ] {
            assert_eq!(name.parse::<LabName>().is_ok(), is_valid, "{name:?}");
        }
    }

    #[test]
    fn machines_are_read_as_they_are_written() {
        for machine in [Machine::Node(1), Machine::Node(64), Machine::Client(3)] {
            assert_eq!(machine.to_string().parse(), Ok(machine));
        }
        for text in ["node", "node0", "node01", "node+1", "client-1", "switch", ""] {
            assert!(text.parse::<Machine>().is_err(), "{text:?}");
        }
        assert_eq!(Machine::Node(7).address(Plane::Private), Ipv4Addr::new(10, 232, 1, 7));
        assert!(Machine::Node(64).port(Plane::Private).len() < 16, "a name of an interface");
    }
}
