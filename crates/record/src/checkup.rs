//! A check-up: what a running cluster should do, what it does, what holds it back, and what to change first. This is
//! the JSON of `linerate doctor`.

use serde::{Deserialize, Serialize};

use crate::diagnosis::Diagnosis;
use crate::discovery::DiscoveredSite;
use crate::fleet::{FleetAudit, FleetRow};
use crate::plan::Plan;

/// The version of [`Checkup`] as JSON.
pub const CHECKUP_SCHEMA: u32 = 1;

/// What was found.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Checkup {
    /// The version of this layout.
    pub schema: u32,
    /// What the nodes say of themselves.
    pub discovered: DiscoveredSite,
    /// Whether the plan is of a site file, and not of what was discovered.
    pub is_site_given: bool,
    /// Nodes that were not read.
    pub unreached: Vec<FleetRow>,
    /// What the cluster should do; absent where no engine would start on such a site, with the reason in `warnings`.
    pub plan: Option<Plan>,
    pub audit: FleetAudit,
    /// What the nodes did meanwhile; absent where nobody looked, or nothing could be judged.
    pub diagnosis: Option<Diagnosis>,
    /// What to change, the first first.
    pub proposals: Vec<Proposal>,
    /// What has to be known before the rest is believed.
    pub warnings: Vec<String>,
}

/// A change that is proposed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Proposal {
    pub basis: ProposalBasis,
    pub claim: String,
    /// The readings that the claim rests on.
    pub evidence: String,
    /// What to do, or the command that tries it.
    pub remedy: String,
    /// What it would give, by the model; absent where nothing tells.
    pub gives: Option<String>,
    /// Nodes that it is about.
    pub nodes: Vec<String>,
}

/// What a proposal rests on, the strongest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ProposalBasis {
    /// Readings under the load that was there name it.
    Measured,
    /// Nodes contradict each other, or traffic uses the slower link.
    Contradiction,
    /// An audit finds it, whatever the load.
    Audit,
    /// Settings that are not as a profile has them: whether they matter here, only an experiment tells.
    Settings,
}
