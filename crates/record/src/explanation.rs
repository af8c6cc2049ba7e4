//! An explanation: which deviations from the site fit what was observed. This is the JSON of `linerate explain`.

use serde::{Deserialize, Serialize};

use crate::plan::Resource;
use crate::units::{Unit, bytes_per_s_iec};

/// The version of [`Explanation`] as JSON.
pub const EXPLANATION_SCHEMA: u32 = 1;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Observations {
    /// Throughputs of the whole site, or of one node.
    pub figures: Vec<Observed>,
    /// Relative standard error that each figure is taken to have, unless it says so itself: 0.02 is 2 %.
    pub error_share: f64,
    /// Whether each node was measured by itself, so that figures of nodes have no sum.
    #[serde(default)]
    pub nodes_alone: bool,
}

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
    NodeGet { node: String },
    /// Client throughput of PUT that one node took.
    NodePut { node: String },
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
    /// What the site states that is not so under it: `planes.public.mtu: 9000`.
    #[serde(default)]
    pub contradicts: Vec<String>,
}

/// What a hypothesis says of one observation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Residual {
    pub what: Quantity,
    pub observed_bytes_per_s: f64,
    /// What the hypothesis predicts; where that is a range, its upper end. Never what was measured.
    pub predicted_bytes_per_s: f64,
    /// The lower end of what is predicted, where that is a range.
    #[serde(default)]
    pub least_bytes_per_s: Option<f64>,
    /// What it predicts instead if clients keep as many requests at each node, where one that is slow holds all others
    /// if clients ask nodes in turn, and no figure says which load it was; its upper end where that is a range.
    #[serde(default)]
    pub instead_bytes_per_s: Option<f64>,
    /// The lower end of that, where it is a range.
    #[serde(default)]
    pub instead_least_bytes_per_s: Option<f64>,
    /// (observed − predicted) / predicted; of a range or of two loads, by the end that is nearer, and 0 within a range.
    pub residual_share: f64,
    /// By how many standard errors the figure is above its ceiling; absent up to 1.645.
    #[serde(default)]
    pub above_sigmas: Option<f64>,
    /// The bottleneck under the hypothesis.
    #[serde(rename = "binds")]
    pub bottleneck: String,
    /// Whether the hypothesis explains the figure: predicts it within the error, and allows it.
    pub explained: bool,
}

/// A figure against its ceiling on the site as described: of the whole site, or of a single node where nothing says
/// what all nodes give.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FigureAgainstCeiling {
    pub what: Quantity,
    pub observed_bytes_per_s: f64,
    /// The lowest ceiling of the site as described; of a single node, its share of what its kind allows, and twice that
    /// where it was measured by itself.
    pub ceiling_bytes_per_s: f64,
    /// Measured / ceiling.
    pub share: f64,
    /// By how many standard errors the figure is above the ceiling; absent up to 1.645.
    pub above_sigmas: Option<f64>,
    #[serde(rename = "binds")]
    pub bottleneck: String,
    /// What the figure takes of the bottleneck of each (a node, a rack, a client), in `unit`.
    pub needed: f64,
    /// What each of it has.
    pub there: f64,
    /// The unit of both: that of the bottleneck.
    pub unit: Unit,
    /// What it takes of the bottleneck and what is there, in one sentence: `GET needs 211 Gb/s out of each node on the
    /// public plane; that link carries 198 Gb/s`. Of a node that was measured alone, `claim`.
    #[serde(default)]
    pub needs: String,
    /// All of that in one sentence.
    pub claim: String,
    /// The most that any hypothesis allows; absent where the site as described allows the figure.
    pub most: Option<HighestPrediction>,
    /// Every ceiling of this work, the lowest first; none for a single node.
    #[serde(default)]
    pub ceilings: Vec<DescribedCeiling>,
    /// What the site wants of this work; absent where no goal is stated, and for a single node.
    #[serde(default)]
    pub goal_bytes_per_s: Option<f64>,
}

/// What a resource of the site as described allows.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DescribedCeiling {
    pub resource: Resource,
    /// The kind of nodes that it is of, where the site has several.
    pub group: Option<String>,
    /// Client bytes per second of the whole site at which it is full.
    pub limit_bytes_per_s: f64,
}

/// The most that any hypothesis allows.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct HighestPrediction {
    pub ceiling_bytes_per_s: f64,
    pub id: String,
}

/// A set of deviations, and how well it fits.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Hypothesis {
    /// Stable name, made of its deviations' ids and values; `as-described` for none.
    pub id: String,
    pub deviations: Vec<Deviation>,
    /// Of each observation; then of sums of figures of nodes that stand for a total which nobody gave.
    pub residuals: Vec<Residual>,
    /// Share of the weight of all surviving hypotheses and of none of these: they sum to 1.
    pub weight: f64,
    /// Other survivors, by their ids, that predict the same of every observation: no figure here tells them apart.
    pub indistinguishable: Vec<String>,
    /// What would relieve it.
    pub remedy: Remedy,
}

/// Hypotheses that no figure tells apart.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Kind {
    /// Their places among the survivors, from 0: the weightiest first, which stands for the others.
    pub survivors: Vec<usize>,
    /// Their weights together, as a share of 1.
    pub weight: f64,
}

/// A family of causes: what a total can tell apart at the most.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CauseFamily {
    /// Nothing is wrong.
    AsDescribed,
    NodeLink,
    /// Links of all nodes of a plane, or what they carry.
    Links,
    /// Racks and their uplinks.
    Fabric,
    NodeProcessors,
    /// Processors of all nodes, or what they compute.
    Processors,
    Drives,
    Clients,
    /// How requests reach nodes, and how they are spread over them.
    Entry,
    /// How objects are cut, and where their parts are.
    Layout,
    /// Another value that the site does not state.
    Other,
}

/// How the hypotheses of a family fit totals.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FamilyStanding {
    pub family: CauseFamily,
    /// Whether it is not ruled out: it fits, or its survivors have a hundredth of the weight.
    pub remains: bool,
    /// Whether its best hypothesis of one deviation misses no total by more than three standard errors. A total that no
    /// survivor with a hundredth of the weight comes near does not count.
    pub fits: bool,
    /// The weight of its survivors, as a share of 1.
    pub weight: f64,
    /// By how many standard errors the best of them misses the total that it misses most.
    pub misses_sigmas: f64,
    /// That total.
    pub misses: Quantity,
}

/// What comes of an explanation as a whole. Places are among the survivors, from 0.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExplanationVerdict {
    /// Whether a cause that was not enumerated outweighs all that was: it has more than half of the weight.
    pub outweighed: bool,
    /// The two that lead together, since weights do not tell which one does; none where one leads, or is outweighed.
    pub not_separated: Vec<usize>,
    /// Those that explain every figure.
    pub whole: Vec<usize>,
    /// The one whose remedy is worth a try; absent where an unknown cause is likelier, or totals do not leave its
    /// family of causes alone.
    pub advised: Option<usize>,
}

/// Figures of single nodes, in short.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct NodeFigures {
    /// How many there are.
    pub figures: u64,
    /// The least of them.
    pub least_bytes_per_s: f64,
    pub most_bytes_per_s: f64,
}

/// What to do if a hypothesis is true.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Remedy {
    pub change: String,
    /// What it would give, by the model: `gains` and `condition` in one sentence, or why there are none.
    pub gives: String,
    pub risks: String,
    /// Operations that would be faster, by the model; none of those that the hypothesis does not change or explain.
    #[serde(default)]
    pub gains: Vec<RemedyGain>,
    /// What must be so as well for that, in words: other nodes that are slow.
    #[serde(default)]
    pub condition: Option<String>,
    /// Whether the model knows what it gives: not if the hypothesis explains none of the totals that it changes.
    #[serde(default = "known")]
    pub is_known: bool,
}

/// What explanations said before they knew of any other.
fn known() -> bool {
    true
}

/// An operation that would be faster.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RemedyGain {
    /// Which: [`Quantity::Get`] or [`Quantity::Put`].
    pub what: Quantity,
    /// What it is now: as measured, or as the hypothesis has it where that was not; of a range, the most.
    pub from_bytes_per_s: f64,
    /// The least of a range.
    #[serde(default)]
    pub from_least_bytes_per_s: Option<f64>,
    /// Whether nobody measured what it is now, and the hypothesis predicts it.
    #[serde(default)]
    pub is_predicted: bool,
    /// What the site as described gives, with as many requests in flight if their number is known.
    pub to_bytes_per_s: f64,
    /// Requests in flight, where known.
    #[serde(default)]
    pub in_flight: Option<u64>,
    pub bottleneck: String,
}

impl RemedyGain {
    /// What it is now: `2.34 GiB/s`, `the predicted 2.34 GiB/s to 4.10 GiB/s`.
    #[must_use]
    pub fn from_in_words(&self) -> String {
        let most = bytes_per_s_iec(self.from_bytes_per_s);
        let least = self.from_least_bytes_per_s.map(bytes_per_s_iec).filter(|least| *least != most);
        let range = least.map_or_else(|| most.clone(), |least| format!("{least} to {most}"));
        if self.is_predicted { format!("the predicted {range}") } else { range }
    }
}

/// A figure of a run that an explanation does not rest on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LeftOutFigure {
    /// Operation and size of objects: `PUT 4 MiB`.
    pub figure: String,
    /// The best that was measured of it; absent if it moves no bytes.
    #[serde(default)]
    pub bytes_per_s: Option<f64>,
    /// Half the width of its confidence interval of 95 %, as a share of it; absent if there is none.
    #[serde(default)]
    pub half_width_share: Option<f64>,
    /// Why it says nothing about the site, and what to do.
    pub why: String,
}

/// The one reading or experiment that tells most about the leading hypotheses for its time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DistinguishingReading {
    /// What to read: `bytes per bond member, per node`.
    pub reading: String,
    /// The file, counter or command.
    pub how: String,
    /// What it is expected to tell about which hypothesis is true, in bits; 0 from earlier versions, as `minutes` is.
    #[serde(default)]
    pub bits: f64,
    /// What it takes of the reader's time.
    #[serde(default)]
    pub minutes: f64,
    /// What each hypothesis expects it to show: hypothesis id to expectation.
    pub expects: Vec<(String, String)>,
}

/// What can have bound the site.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Explanation {
    /// [`EXPLANATION_SCHEMA`].
    pub schema: u32,
    pub observations: Observations,
    /// Relative standard error of the curve over requests in flight, at the most: what a figure with some in flight is
    /// held against has it beside the figure's own, as the root of the sum of both squares, but no more of it than the
    /// curve is below its ceiling. Absent where none has any in flight.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub curve_error_share: Option<f64>,
    /// What the run that figures are of says by itself, in sentences: errors first, then what its figures rest on.
    #[serde(default)]
    pub of_run: Vec<String>,
    /// Figures of that run that the answer does not rest on, each with the reason.
    #[serde(default)]
    pub left_out: Vec<LeftOutFigure>,
    /// What figures of single nodes say by themselves, in sentences: the slowest first.
    #[serde(default)]
    pub of_nodes: Vec<String>,
    /// The figures of single nodes; absent without.
    #[serde(default)]
    pub node_figures: Option<NodeFigures>,
    /// Figures against the site as described.
    #[serde(default)]
    pub described: Vec<FigureAgainstCeiling>,
    /// The hypotheses that survive, the weightiest first.
    pub survivors: Vec<Hypothesis>,
    /// The survivors by what tells them apart, the weightiest first.
    #[serde(default)]
    pub kinds: Vec<Kind>,
    /// Families of causes against totals, those that remain first; empty if figures of single nodes were given.
    #[serde(default)]
    pub families: Vec<FamilyStanding>,
    /// The weight of what was not enumerated.
    #[serde(default)]
    pub none_of_these: f64,
    /// What comes of all that.
    #[serde(default)]
    pub verdict: ExplanationVerdict,
    /// Observations that no hypothesis explains, with the nearest miss of each.
    pub unexplained: Vec<Residual>,
    /// How to tell the leading ones apart; absent where one leads clearly.
    pub separator: Option<DistinguishingReading>,
    /// How many hypotheses were looked at.
    pub considered: u32,
    /// What the answer rests on and does not cover, in sentences.
    pub caveats: Vec<String>,
}
