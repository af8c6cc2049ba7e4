//! Many machines: their roles, what was found when they were reached, and in what they differ.

use serde::{Deserialize, Serialize};

use crate::audit::{AuditFinding, Difference};
use crate::discovery::NodeFacts;
use crate::knob::Snapshot;
use crate::machine::Machine;

/// The version of [`FleetCheck`] and [`FleetAudit`] as JSON.
pub const FLEET_SCHEMA: u32 = 1;

/// What a node is for. Nodes of one role should be alike.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum NodeRole {
    Storage,
    Client,
}

impl NodeRole {
    pub const ALL: [NodeRole; 2] = [NodeRole::Storage, NodeRole::Client];

    /// What files and reports call it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            NodeRole::Storage => "storage",
            NodeRole::Client => "client",
        }
    }
}

/// What an agent may do, by the word of who started it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Allowed {
    Read,
    /// Send and receive flows, and nothing else.
    Flows,
    /// Read the machine, send and receive flows, and load a target from it.
    Load,
    /// That, and change its settings.
    Change,
}

impl Allowed {
    /// What flags and reports call it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Allowed::Read => "read",
            Allowed::Flows => "flows",
            Allowed::Load => "load",
            Allowed::Change => "change",
        }
    }
}

/// Which firmware a part of a machine runs.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Firmware {
    /// `BIOS`, `nvme0`.
    pub part: String,
    /// The version, with a drive's model before it.
    pub version: String,
}

/// All that an audit reads of a machine, as an agent sends it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct MachineState {
    /// What the machine is made of, and its settings.
    pub snapshot: Snapshot,
    /// Firmware, as far as sysfs shows it.
    #[serde(default)]
    pub firmware: Vec<Firmware>,
    /// What a site is discovered from in addition.
    #[serde(default)]
    pub facts: NodeFacts,
}

/// A node that was reached, or why it was not.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FleetRow {
    pub name: String,
    /// What it is for.
    pub role: NodeRole,
    /// How it is reached, as `fleet.yaml` has it.
    pub reach: String,
    /// The node of a site that it is one of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub site_node: Option<String>,
    /// What was found, where it was reached.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reached: Option<ReachedNode>,
    /// Why not, and what to do, where it was not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unreached: Option<UnreachedNode>,
}

/// What was found of a node.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ReachedNode {
    /// Its version of linerate.
    pub linerate: String,
    /// What its agent may do.
    pub allowed: Allowed,
    /// Whether its agent is root there.
    pub is_root: bool,
    /// How far its clock is ahead of this machine's.
    pub clock_offset_ns: i64,
    /// The truth lies no farther from it.
    pub clock_bound_ns: i64,
    /// The shortest time that a question and its answer took.
    pub round_trip_ns: i64,
    pub machine: Machine,
}

/// Why a node was not reached.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct UnreachedNode {
    pub why: String,
    pub remedy: String,
}

/// What `linerate fleet check` found.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FleetCheck {
    /// The version of this layout.
    pub schema: u32,
    /// The version of linerate that asked.
    pub linerate: String,
    /// Nodes, in the order of the file.
    pub nodes: Vec<FleetRow>,
}

/// A fact that is not the same on all nodes of a role and kind.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DriftedFact {
    pub role: NodeRole,
    /// The kind of nodes of a site, where one was stated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub site_node: Option<String>,
    /// What it is: `kernel`, `MTU of eth0`, `net.core.somaxconn`.
    pub what: String,
    /// Each value with its nodes, that of most nodes first.
    pub values: Vec<DriftedValue>,
}

/// A value, and who has it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DriftedValue {
    /// The value; absent where the nodes lack what it is of.
    pub value: Option<String>,
    /// Names of nodes, in the order of the file.
    pub nodes: Vec<String>,
}

/// A setting of some nodes that is not as the profile wants it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FleetDifference {
    /// As the audit of the first of the nodes has it.
    #[serde(flatten)]
    pub difference: Difference,
    /// The program of the S3 server in whose namespaces it is; absent where it is the machine's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub engine: Option<String>,
    /// Names of the nodes.
    pub nodes: Vec<String>,
}

/// A finding of some nodes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FleetFinding {
    /// As the audit of the first of the nodes has it.
    #[serde(flatten)]
    pub finding: AuditFinding,
    /// Names of the nodes.
    pub nodes: Vec<String>,
}

/// What `linerate audit --fleet` found.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FleetAudit {
    /// The version of this layout.
    pub schema: u32,
    /// Nodes whose audit this is, in the order of the file.
    pub audited: Vec<AuditedNode>,
    /// Nodes that could not be read.
    pub unreached: Vec<FleetRow>,
    /// In what nodes of one role and kind differ.
    pub unlike: Vec<DriftedFact>,
    /// Facts that were compared, over all roles.
    pub compared: u32,
    /// What audits of the nodes found, severest first.
    pub findings: Vec<FleetFinding>,
    /// Settings that are not as the profile wants them, by weight.
    pub differences: Vec<FleetDifference>,
}

/// A node that was audited.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AuditedNode {
    pub name: String,
    /// What it is for.
    pub role: NodeRole,
    /// The profile that it was held against.
    pub profile: String,
    /// Parts of it that could not be read, such as for want of root.
    pub unreadable: u32,
}
