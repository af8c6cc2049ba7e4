//! `experiment.json`: what was asked of an experiment. Schema 1 told loads as flags of bench; they are shown as they
//! stand. Since schema 2 the baseline's load is described, and an arm's is that with a patch.

use std::fmt;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

use super::Design;
use crate::fleet::NodeRole;
use crate::is_default;
use crate::knob::{Change, Space, SpaceIdentity};
use crate::load::{Load, LoadPatch, differences};
use crate::rollout::NodeChanges;

/// `experiment.json`: what is compared, how, and on what. Holds no credential.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Experiment {
    /// [`EXPERIMENT_SCHEMA`](super::EXPERIMENT_SCHEMA) of the writer.
    pub schema: u32,
    pub id: String,
    /// Version of linerate that wrote it.
    pub linerate_version: String,
    /// When it began, in milliseconds since the Unix epoch.
    pub started_unix_ms: u64,
    pub design: Design,
    /// What the baseline's cells load.
    pub load: BaselineLoad,
    /// What puts each arm of the design in place, in its order.
    pub means: Vec<ArmSetup>,
    /// What could not be compared, and why.
    pub not_tested: Vec<NotTested>,
    /// What a reader must know of how arms reach what they are to change.
    pub notes: Vec<String>,
    /// Whether throughput is in bytes per second; requests per second otherwise.
    pub bytes_per_s: bool,
    /// The target's hosts, or the kind of one of linerate's own.
    pub target: String,
    /// Where the target's hosts were found when it began, as `name:port (address)`, each once; those alone whose names
    /// do not say it, and none in folders of earlier versions.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub addresses: Vec<String>,
    /// Flags of `linerate bench` that all cells had, in folders of schema 1: shown, and not read.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub flags: Vec<String>,
    /// Command that makes the target take on what it reads when it starts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub restart: Option<String>,
    /// In whose network namespace settings are changed that each has of its own.
    #[serde(default)]
    pub space: Space,
    /// Which namespaces the changes of the arms mean.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub spaces: Vec<SpaceIdentity>,
    /// The fleet whose nodes are changed and load, where it is not this machine.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fleet: Option<ExperimentFleet>,
}

/// The fleet of an experiment. How its nodes are reached is in its fleet file alone.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExperimentFleet {
    /// The role of the nodes of which settings are changed.
    pub on: NodeRole,
    /// Names of these nodes, in the order of the fleet file.
    pub nodes: Vec<String>,
    /// Names of the nodes that load.
    pub clients: Vec<String>,
    /// The upper half of the tokens of all of its rollouts: what a killed process left is known by it.
    pub rollouts: u32,
    /// Which of `nodes` are restarted together, in order; empty where nothing restarts them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rounds: Vec<Vec<u32>>,
    /// Command that succeeds once the target is well behind a round.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub health: Option<String>,
}

impl Experiment {
    /// The load of each arm's cells, but for their times; absent in folders of schema 1.
    #[must_use]
    pub fn loads(&self) -> Option<Vec<Load>> {
        let base = self.load.described()?;
        Some(self.means.iter().map(|means| base.with(&means.patch)).collect())
    }

    /// What sets the load of each arm apart from the others', in words.
    #[must_use]
    pub fn load_differences(&self) -> Vec<Vec<String>> {
        let patches: Vec<&LoadPatch> = self.means.iter().map(|means| &means.patch).collect();
        self.load.described().map_or_else(|| vec![Vec::new(); patches.len()], |base| differences(base, &patches))
    }
}

/// What the baseline's cells load. As text, `get:4MiB@16`.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub enum BaselineLoad {
    /// The description, but for the times of a cell.
    Described(Box<Load>),
    /// As folders of schema 1 tell it, the rest being in flags.
    Shorthand(String),
}

impl BaselineLoad {
    /// The description, where there is one.
    #[must_use]
    pub fn described(&self) -> Option<&Load> {
        match self {
            BaselineLoad::Described(load) => Some(load),
            BaselineLoad::Shorthand(_) => None,
        }
    }
}

impl fmt::Display for BaselineLoad {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            BaselineLoad::Described(load) => f.pad(&load.shorthand()),
            BaselineLoad::Shorthand(text) => f.pad(text),
        }
    }
}

impl<'de> Deserialize<'de> for BaselineLoad {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match Value::deserialize(deserializer)? {
            Value::String(text) => Ok(BaselineLoad::Shorthand(text)),
            value => serde_json::from_value(value)
                .map(BaselineLoad::Described)
                .map_err(|error| D::Error::custom(format!("load: {error}"))),
        }
    }
}

/// What puts an arm in place. Without any of these, everything stays as it is.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ArmSetup {
    /// Settings changed, and changed back after the cell. Of a fleet, each once, as the first node has it: what each
    /// node changes is in `nodes`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub changes: Vec<Change>,
    /// What its load has otherwise than the baseline's.
    #[serde(default, skip_serializing_if = "LoadPatch::is_empty")]
    pub patch: LoadPatch,
    /// Whose keys sign its requests.
    #[serde(default, skip_serializing_if = "is_default")]
    pub keys: KeySource,
    /// Flags of `linerate bench` that this arm alone had, in folders of schema 1: shown, and not read.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub flags: Vec<String>,
    /// Command of the user's that puts it in place.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
    /// The changes of each node of a fleet; nodes that are as wanted have none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub nodes: Vec<NodeChanges>,
}

/// Where the keys come from that sign an arm's requests: a name, and no key.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum KeySource {
    /// The environment or, where it has none, the default profile.
    #[default]
    Environment,
    /// A profile of AWS's shared files.
    Profile(String),
    /// An alias of mc.
    Alias(String),
}

impl fmt::Display for KeySource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            KeySource::Environment => f.write_str("the environment"),
            KeySource::Profile(name) => write!(f, "profile {name:?}"),
            KeySource::Alias(name) => write!(f, "alias {name:?} of mc"),
        }
    }
}

/// An arm that was asked for and left out.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NotTested {
    /// Name of the arm.
    pub arm: String,
    /// Why: it does not reach what is measured.
    pub why: String,
}
