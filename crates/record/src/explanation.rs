//! An explanation: which deviations from the site fit what was observed. This is the JSON of `linerate explain`.

use serde::{Deserialize, Serialize};

/// The version of [`Explanation`] as JSON.
pub const EXPLANATION_SCHEMA: u32 = 1;

/// What was measured.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Observations {
    /// Throughputs of the whole site, or of one node.
    pub figures: Vec<Observed>,
    /// Relative standard error that each figure is taken to have, unless it says so itself: 0.02 is 2 %.
    pub error_share: f64,
}

/// One measured throughput.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Observed {
    /// What was measured, as `get`, `put` or a node's name.
    pub what: Quantity,
    /// Bytes per second.
    pub bytes_per_s: f64,
    /// Its own relative standard error, where known.
    pub error_share: Option<f64>,
    /// Requests in flight, of all clients together, where known; else the figure is taken as the most that load gives.
    #[serde(default)]
    pub in_flight: Option<u64>,
}

/// What a figure is of.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "kind")]
pub enum Quantity {
    /// Client throughput of GET.
    Get,
    /// Client throughput of PUT.
    Put,
    /// Client throughput of GET that one node served.
    NodeGet {
        /// The node's name.
        node: String,
    },
    /// Client throughput of PUT that one node took.
    NodePut {
        /// The node's name.
        node: String,
    },
}

/// One way in which the site may differ from its description.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Deviation {
    /// Stable name: `bond-members-in-use`, `plane-shared`, `mtu`, `parity`, `slow-node`, ….
    pub id: String,
    /// Which one: a link, a value, a node's name: `bond0: 1 of 2`. With `id`, unique among the deviations of a site.
    pub value: String,
    /// In words: `one of two members of bond0 carries the traffic`.
    pub claim: String,
    /// What it costs in the prior: larger is less likely beforehand, in units of log odds.
    pub cost: f64,
    /// What would show it, and where to read it: `Speed:` of `ethtool bond0`.
    pub shown_by: String,
}

/// What a hypothesis says of one observation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Residual {
    /// Of what.
    pub what: Quantity,
    /// What was measured.
    pub observed_bytes_per_s: f64,
    /// What the hypothesis predicts as the ceiling.
    pub predicted_bytes_per_s: f64,
    /// (observed − predicted) / predicted.
    pub residual_share: f64,
    /// The resource that binds under the hypothesis.
    pub binds: String,
    /// Whether the hypothesis explains the figure: predicts it within the error.
    pub explained: bool,
}

/// A set of deviations, and how well it fits.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Hypothesis {
    /// Stable name, made of its deviations' ids and values; `as-described` for none.
    pub id: String,
    /// What differs.
    pub deviations: Vec<Deviation>,
    /// Of each observation.
    pub residuals: Vec<Residual>,
    /// Share of the weight of all surviving hypotheses and of none of these: they sum to 1.
    pub weight: f64,
    /// Other survivors, by their ids, that predict the same of every observation: no figure here tells them apart.
    pub indistinguishable: Vec<String>,
    /// What would relieve it.
    pub remedy: Remedy,
}

/// What to do if a hypothesis is true.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Remedy {
    /// What to change.
    pub change: String,
    /// What it would give, by the model.
    pub gives: String,
    /// What it risks.
    pub risks: String,
}

/// The one reading or experiment that tells leading hypotheses apart.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Separator {
    /// What to read: `bytes per bond member, per node`.
    pub reading: String,
    /// The file, counter or command.
    pub how: String,
    /// What each hypothesis expects it to show: hypothesis id to expectation.
    pub expects: Vec<(String, String)>,
}

/// What can have bound the site.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Explanation {
    /// [`EXPLANATION_SCHEMA`].
    pub schema: u32,
    /// What was measured.
    pub observations: Observations,
    /// What figures of single nodes say by themselves, in sentences: the slowest first.
    #[serde(default)]
    pub of_nodes: Vec<String>,
    /// The hypotheses that survive, the weightiest first.
    pub survivors: Vec<Hypothesis>,
    /// The weight of what was not enumerated.
    #[serde(default)]
    pub none_of_these: f64,
    /// Observations that no hypothesis explains, with the nearest miss of each.
    pub unexplained: Vec<Residual>,
    /// How to tell the leading ones apart; absent where one leads clearly.
    pub separator: Option<Separator>,
    /// How many hypotheses were looked at.
    pub considered: u32,
    /// What the answer rests on and does not cover, in sentences.
    pub caveats: Vec<String>,
}
