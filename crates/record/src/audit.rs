//! An audit: how a machine differs from what a profile wants of it, and what else stands in its way.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::finding::{Confidence, Severity};
use crate::knob::{EngineProcess, Missing, Scope, Space, TakesEffect};
use crate::machine::Machine;

/// The version of [`Audit`] as JSON.
pub const AUDIT_SCHEMA: u32 = 1;

/// What an audit found.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Audit {
    /// The version of this layout.
    pub schema: u32,
    /// The profile that the machine was held against.
    pub profile: String,
    pub machine: Machine,
    /// S3 servers found on it.
    pub engines: Vec<EngineProcess>,
    pub settings: Counts,
    /// Settings that are not as the profile wants them: first what may cost most, by [`Difference::weight`].
    pub differences: Vec<Difference>,
    /// Settings of the host that an engine does not have, because its network namespace has a value of its own.
    pub unreached: Vec<Unreached>,
    /// What else was found: topology, settings without effect, settings that contradict each other. Severest first.
    pub findings: Vec<AuditFinding>,
    /// What could not be read.
    pub unreadable: Vec<UnreadPart>,
    pub site: String,
    /// Values of the site that nobody stated: path to the reason.
    pub assumed: BTreeMap<String, String>,
}

/// How many settings were looked at.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counts {
    /// Places that were read, each device and namespace on its own.
    pub read: u32,
    /// Of those, places that the profile has something to say about.
    pub judged: u32,
    /// Places that this machine does not have.
    pub absent: u32,
}

/// A setting, of one or more devices, that is not as the profile wants it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Difference {
    pub knob: String,
    pub space: Space,
    /// Devices of which it is true; empty for settings that are not of devices.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub devices: Vec<String>,
    pub present: String,
    /// What the profile wants.
    pub wanted: String,
    pub why: String,
    pub relieves: String,
    /// What it may cost, from 0 to 1: the weight of what it relieves × that of the confidence.
    pub weight: f64,
    /// How sure it is that it matters here.
    pub confidence: Confidence,
    pub scope: Scope,
    /// When a change acts.
    pub takes_effect: TakesEffect,
    /// What a change risks.
    pub risk: String,
    /// What changes it, one command a line; a sentence where no command does.
    pub commands: Vec<String>,
    /// Why the changes that `linerate tune diff` writes do not have it; absent where they do, or where nobody looked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub not_in_changes: Option<String>,
}

/// A setting of the host that does not reach an engine.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Unreached {
    pub knob: String,
    pub engine: EngineProcess,
    /// What the host has.
    pub host: String,
    /// What the engine has.
    pub engine_value: String,
    /// What the profile wants of it, where it says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wanted: Option<String>,
}

/// Which check speaks: one variant per check, so that a script can match on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum AuditCheck {
    /// NICs and drives on different NUMA nodes.
    NumaApart,
    /// A PCIe link below what its device can.
    PcieBelowCapability,
    /// A bond whose hash cannot spread the site's flows.
    BondSpread,
    /// A bond with a single member.
    BondMembers,
    /// A file system, or an option of it, that slows drives.
    FileSystem,
    /// Drives that take discards and get none.
    NoDiscard,
    /// A setting that the kernel ignores, and that somebody set.
    DeadSetting,
    /// Settings that contradict each other.
    Contradiction,
    /// A machine that is not one of those that the site describes.
    OtherMachine,
}

/// A claim about a machine.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AuditFinding {
    pub check: AuditCheck,
    /// How much it matters.
    pub severity: Severity,
    /// How sure it is.
    pub confidence: Confidence,
    /// One sentence, without a full stop.
    pub claim: String,
    /// The readings that the claim rests on.
    pub evidence: String,
    pub remedy: String,
}

/// Something that could not be read, and what that leaves open.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct UnreadPart {
    /// What: a file, or knobs with one reason.
    pub what: Vec<String>,
    pub why: String,
}

/// The version of [`Capture`].
pub const CAPTURE_SCHEMA: u32 = 1;

/// The file in a captured folder that holds a [`Capture`].
pub const CAPTURE_FILE: &str = "capture.json";

/// Where a captured folder comes from, and what of the machine is in no file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Capture {
    /// The version of this layout.
    pub schema: u32,
    /// The version of linerate that made it.
    pub linerate: String,
    /// When: a date, `2026-11-21`.
    pub captured: String,
    /// The machine's kernel release.
    pub kernel: String,
    /// What the machine is, as the person who captured it puts it.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub note: String,
    /// Files in the folder.
    pub files: u32,
    /// S3 servers that ran.
    pub engines: Vec<EngineProcess>,
    /// Whether the machine was seen from its initial network namespace.
    pub is_initial_netns: bool,
    /// Settings that no file holds: what drivers and systemd answer, and what other namespaces have.
    pub settings: Vec<crate::knob::Setting>,
    /// What could not be read.
    pub unreadable: Vec<String>,
}

/// How a setting without a value is told; `None` where the machine merely lacks it.
#[must_use]
pub fn missing_reason(missing: &Missing) -> Option<String> {
    match missing {
        Missing::Absent => None,
        Missing::NotPermitted => Some("not permitted: run it as root".to_owned()),
        Missing::Unreadable(reason) => Some(reason.clone()),
    }
}
