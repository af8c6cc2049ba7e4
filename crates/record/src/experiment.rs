//! An experiment: arms compared over randomised blocks; what is asked, what came of it, and what may be said.
//!
//! [`Design`], [`Outcome`] and [`Report`] are what a run folder of an experiment holds, [`TableReport`] is the JSON of
//! `linerate experiment analyze`. Effects are shares: 0.05 is 5 % more than the baseline.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// The version of [`Design`], [`Report`] and [`TableReport`] as JSON.
pub const EXPERIMENT_SCHEMA: u32 = 1;

/// What an arm is there for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Role {
    /// What the others are held against.
    Baseline,
    /// The baseline once more, under another name: what differs from it is the experiment's own fault.
    Same,
    /// Under test.
    Trial,
}

/// One of the things compared.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Arm {
    /// As it is told: `net.core.rmem_max=4194304`.
    pub name: String,
    /// What it is there for.
    pub role: Role,
}

/// What is to be measured, and when it ends. All of it is fixed before the first measurement.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Design {
    /// [`EXPERIMENT_SCHEMA`].
    pub schema: u32,
    /// The baseline first.
    pub arms: Vec<Arm>,
    /// Of the order of arms in each block, and of the draws of the tests.
    pub seed: u64,
    /// How often an arm without an effect may be called one that has.
    pub alpha: f64,
    /// The least effect that matters.
    pub matters_share: f64,
    /// Most blocks that count.
    pub blocks_max: u32,
    /// Longest time; absent where blocks alone limit it.
    pub time_max_ns: Option<u64>,
    /// Blocks after which is looked, rising, the last being `blocks_max`.
    pub looks: Vec<u32>,
    /// Rearrangements that a test draws.
    pub draws: u32,
    /// Time left to settle after a change, until data says how long it takes.
    pub settle_first_ns: u64,
    /// Time measured once settled.
    pub measure_ns: u64,
    /// Bytes per second that the slowest link on the way can carry; absent where not known.
    pub link_bytes_per_s: Option<f64>,
    /// Keys of fingerprints that the arms are meant to differ in.
    pub factors: Vec<String>,
}

/// What to do next.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "do")]
pub enum Step {
    /// Put an arm in place, let it settle, measure it.
    Measure(Cell),
    /// Nothing more: put everything back.
    Finish,
}

/// A place in a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cell {
    /// Block, from 0, those that were spoiled included.
    pub block: u32,
    /// Place within the block, from 0.
    pub position: u32,
    /// Index of the arm in the design.
    pub arm: u32,
    /// How long to let it settle: the load runs, and its intervals are handed over too.
    pub settle_ns: u64,
    /// How long to measure after that.
    pub measure_ns: u64,
}

/// What came of a cell.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Outcome {
    /// When the arm was in place, in nanoseconds since the experiment began.
    pub started_ns: u64,
    /// When the last interval ended.
    pub ended_ns: u64,
    /// Length of an interval.
    pub interval_ns: u64,
    /// Throughput of each interval since the arm was in place: bytes or requests per second.
    pub throughput_per_s: Vec<f64>,
    /// Other figures, by name with the unit last: `total_p99_ns`, `client_cpu_s_per_gib`, `errors`.
    #[serde(default)]
    pub secondary: BTreeMap<String, f64>,
    /// What should not differ between cells: kernel, versions, placement, namespaces, link speed, throttling.
    #[serde(default)]
    pub fingerprint: BTreeMap<String, String>,
}

/// A cell that was measured.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Measured {
    /// Index of the arm.
    pub arm: u32,
    /// When it was in place.
    pub started_ns: u64,
    /// When it ended.
    pub ended_ns: u64,
    /// Mean throughput once settled; absent where nothing was left to measure.
    pub throughput_per_s: Option<f64>,
    /// How long it took to settle, by its own intervals; absent where it never did.
    pub settled_ns: Option<u64>,
    /// Other figures.
    pub secondary: BTreeMap<String, f64>,
}

/// Every arm once, in an order drawn from the seed.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Block {
    /// In the order in which they ran.
    pub cells: Vec<Measured>,
    /// Why it does not count; empty where it does.
    pub spoiled: Vec<String>,
}

/// What may be said of an arm.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Decision {
    /// An effect is shown, of the sign told.
    Shown,
    /// An effect as large as matters is ruled out.
    RuledOut,
    /// Dropped early: neither of the two could be expected of the blocks that were left.
    Futile,
    /// There was enough to test, and neither was shown.
    NotShown,
    /// No figures of this kind and number could have shown anything.
    CannotTell,
    /// It differs, but by something else as well: time.
    Confounded,
    /// The figures cannot be what they are said to be.
    Refused,
}

/// An arm against the baseline.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Effect {
    /// Name of the arm.
    pub arm: String,
    /// What it is there for.
    pub role: Role,
    /// Blocks or, without blocks, runs of the arm that count.
    pub runs: u32,
    /// The same of the baseline.
    pub baseline_runs: u32,
    /// The estimate; absent without figures.
    pub share: Option<f64>,
    /// Lower end of the interval at 1 − α; absent where the figures bound nothing.
    pub low_share: Option<f64>,
    /// Upper end.
    pub high_share: Option<f64>,
    /// How probable as large a difference is without an effect, over all looks; absent where not tested.
    pub p: Option<f64>,
    /// The least effect that would have been shown in four experiments of five.
    pub detectable_share: Option<f64>,
    /// Blocks, or runs an arm, that it would take to show what matters.
    pub runs_needed: Option<u32>,
    /// How long that would take.
    pub needed_ns: Option<u64>,
    /// How many independent differences the blocks are worth; absent without blocks.
    pub effective: Option<f64>,
    /// What may be said.
    pub decision: Decision,
    /// The same in words.
    pub sentence: String,
}

/// A look at the blocks so far.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Look {
    /// Blocks that count.
    pub blocks: u32,
    /// Share of `alpha` spent up to here.
    pub alpha_spent: f64,
    /// Arms decided here, by index.
    pub decided: Vec<(u32, Decision)>,
}

/// Something beside the effects that a reader must know.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Remark {
    /// Which kind.
    pub kind: RemarkKind,
    /// Of what: an arm, a series, a block.
    pub about: String,
    /// In words.
    pub sentence: String,
}

/// Kinds of [`Remark`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RemarkKind {
    /// A figure above what the link carries.
    Impossible,
    /// Blocks that do not count.
    Spoiled,
    /// The baseline differs from itself.
    SameDiffers,
    /// Something changed always together with time.
    ConfoundedWithTime,
    /// Two groups of figures where one was expected.
    Bimodal,
    /// A figure or a block far from the others.
    Outlying,
    /// Figures rise or fall over the blocks.
    Drift,
    /// What ran before shows in what ran after.
    CarryOver,
    /// Differences of neighbouring blocks resemble each other.
    Correlated,
    /// Cells that had not settled when they were measured.
    NotSettled,
}

/// Why an experiment ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Ended {
    /// Every arm is decided.
    Decided,
    /// All blocks are spent.
    Blocks,
    /// Another block would not end in time.
    Time,
    /// As many blocks were spoiled as were to count.
    Spoiled,
    /// It goes on, or was interrupted.
    NotYet,
}

/// What an experiment says.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Report {
    /// [`EXPERIMENT_SCHEMA`].
    pub schema: u32,
    /// What was asked.
    pub design: Design,
    /// Why it ended.
    pub ended: Ended,
    /// Every block.
    pub blocks: Vec<Block>,
    /// Every look.
    pub looks: Vec<Look>,
    /// Every arm but the baseline.
    pub effects: Vec<Effect>,
    /// What else must be known, the gravest first.
    pub remarks: Vec<Remark>,
    /// Time left to settle at the end.
    pub settle_ns: u64,
}

/// One series of a table at one concurrency.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TableSeries {
    /// `get × 4`; empty where the table has one series only.
    pub label: String,
    /// Name of the arm that the others are held against.
    pub baseline: String,
    /// Runs of the baseline that count.
    pub baseline_runs: u32,
    /// Their geometric mean, in bits per second or, without a unit, as the table has it.
    pub baseline_value: Option<f64>,
    /// Whether differences are taken within blocks.
    pub blocked: bool,
    /// Every other arm.
    pub effects: Vec<Effect>,
}

/// What a table of somebody's runs supports.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TableReport {
    /// [`EXPERIMENT_SCHEMA`].
    pub schema: u32,
    /// Level of the family of all tests.
    pub alpha: f64,
    /// The least effect that matters.
    pub matters_share: f64,
    /// Bits per second of the link, where it was told.
    pub link_bits_per_s: Option<f64>,
    /// Of the draws, where not all rearrangements could be gone through.
    pub seed: u64,
    /// Whether values are bits per second; without a unit they are bare numbers.
    pub bits_per_s: bool,
    /// In the order of the table.
    pub series: Vec<TableSeries>,
    /// What else must be known, the gravest first.
    pub remarks: Vec<Remark>,
}
