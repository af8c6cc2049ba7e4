//! An experiment: arms compared over randomised blocks; what is asked, what came of it, and what may be said.
//!
//! The folder of an experiment:
//!
//! | file | written | holds |
//! |---|---|---|
//! | `experiment.json` | once, before any load | [`Experiment`]: what is compared, how, and on what |
//! | `outcomes.jsonl` | as cells end | [`OutcomeLine`] |
//! | `cells/` | as cells run | a run folder of `linerate bench` for each |
//! | `report.html` | at the end | the rendered [`ExperimentReport`] |
//! | `changes.json` | at the end, where something helps | [`crate::knob::ChangeSet`] for `linerate tune apply` |
//!
//! Of a fleet, `changes.json` is a [`crate::rollout::FleetChanges`].
//!
//! [`TableReport`] is the JSON of `linerate experiment analyze`. Effects are shares: 0.05 is 5 % more than the
//! baseline.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::knob::Change;
pub use request::{ArmSetup, BaselineLoad, Experiment, ExperimentFleet, KeySource, NotTested};

mod request;

/// The version of [`Experiment`], [`ExperimentReport`] and [`TableReport`] as JSON.
pub const EXPERIMENT_SCHEMA: u32 = 2;

/// The version of `experiment.json` where the nodes of a fleet are changed: who reads up to [`EXPERIMENT_SCHEMA`] alone
/// would change its own machine.
pub const FLEET_EXPERIMENT_SCHEMA: u32 = 3;

/// What an arm is there for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Role {
    /// What the others are held against.
    Baseline,
    /// The baseline once more, under another name: what both measure is the baseline's figure of a block.
    Same,
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
    /// The same of the cells at the end that tell whether an effect that was shown lasts; 0 where there are none.
    #[serde(default)]
    pub lasting_ns: u64,
    /// Bytes per second that the slowest link on the way can carry; absent where not known.
    pub link_bytes_per_s: Option<f64>,
    /// Keys of fingerprints that the arms are meant to differ in.
    pub factors: Vec<String>,
}

/// What to do next.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "do")]
pub enum ExperimentStep {
    /// Put an arm in place, let it settle, measure it.
    Measure(Cell),
    /// Nothing more: roll everything back.
    Finish,
}

/// A place in a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cell {
    /// Block, from 0; excluded ones count too.
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
pub struct CellOutcome {
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
    /// What should not differ between any cells: kernel, versions, placement, namespaces, link speed.
    #[serde(default)]
    pub fingerprint: BTreeMap<String, String>,
    /// What happened to happen meanwhile, and should not differ between the cells of a block: foreign load, throttling.
    #[serde(default)]
    pub moment: BTreeMap<String, String>,
    /// What went wrong besides, which excludes the block: requests that failed, an interruption.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fault: Option<String>,
}

/// A cell that was measured.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MeasuredCell {
    /// Index of the arm.
    pub arm: u32,
    /// When it was in place.
    pub started_ns: u64,
    pub ended_ns: u64,
    /// Time that was left to settle.
    #[serde(default)]
    pub settle_ns: u64,
    /// Mean throughput once settled; absent where nothing was left to measure.
    pub throughput_per_s: Option<f64>,
    /// How long it took to settle, by its own intervals; absent where it never did.
    pub settled_ns: Option<u64>,
    /// By how much the second half of the time measured is above the first, as a logarithm; absent of a few intervals.
    #[serde(default)]
    pub trend: Option<f64>,
    /// By how much the last third of a long cell is above what other cells measure, as a logarithm; absent of those.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub later: Option<f64>,
    /// Whether its block is excluded because of it.
    #[serde(default)]
    pub faulty: bool,
    pub secondary: BTreeMap<String, f64>,
}

/// Every arm once, in an order drawn from the seed.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Block {
    /// In the order in which they ran.
    pub cells: Vec<MeasuredCell>,
    /// Why it does not count; empty where it does.
    #[serde(rename = "spoiled")]
    pub excluded: Vec<String>,
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
    /// It differs, or does not, where nothing says that the order was drawn: by the arm or by what it ran beside.
    Association,
    /// The figures cannot be what they are said to be.
    Refused,
    /// It differs in the blocks that are left, and its own cells exclude the others.
    #[serde(rename = "spoilt-by-arm")]
    ExcludesBlocks,
    /// It differs, and what it leaves behind for the next cell may be why.
    CarriedOver,
    /// It differs between cells that were still on their way when they ended.
    NotSettled,
    /// It differs in the time that cells measure; whether it lasts is not known.
    AtFirst,
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
    /// The estimate, above the truth as often as below; absent without figures.
    pub share: Option<f64>,
    /// Lower end of the interval at 1 − α; absent where the figures bound nothing.
    pub low_share: Option<f64>,
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
    /// How large it still is long after a change; absent where that was not measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lasting: Option<LongTermEffect>,
    /// What may be said.
    pub decision: Decision,
    /// What that comes to for who wants to know what to do.
    #[serde(default)]
    pub verdict: ArmVerdict,
    /// The decision in words.
    pub sentence: String,
}

/// What came of an arm, for a reader who wants to know what to do; what matters most first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ArmVerdict {
    Helps,
    /// Slower. Folders and JSON have an older word for it.
    #[serde(rename = "costs")]
    Slower,
    /// No effect as large as matters.
    RuledOut,
    #[default]
    Unknown,
    /// Its blocks go on.
    Running,
}

/// An effect in the last third of long cells.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LongTermEffect {
    /// Rounds of long cells that count.
    pub rounds: u32,
    /// From when on, since the change.
    pub from_ns: u64,
    pub to_ns: u64,
    pub share: f64,
    /// Lower end of its interval at 1 − α.
    pub low_share: f64,
    pub high_share: f64,
}

/// A look at the blocks so far.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct InterimLook {
    pub blocks: u32,
    /// Share of `alpha` spent up to here.
    pub alpha_spent: f64,
    /// Arms decided here, by index.
    pub decided: Vec<(u32, Decision)>,
}

/// Something beside the effects that a reader must know.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Remark {
    pub kind: RemarkKind,
    /// Of what: an arm, a series, a block.
    pub about: String,
    pub sentence: String,
}

/// Kinds of [`Remark`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RemarkKind {
    /// A figure above what the link carries.
    Impossible,
    /// Blocks that do not count.
    #[serde(rename = "spoiled")]
    Excluded,
    /// Blocks that one arm excludes more often than the baseline.
    #[serde(rename = "spoilt-by-arm")]
    ExcludesBlocks,
    /// A faster arm of which latency or errors may be worse.
    NotAdvised,
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
    /// The place of a cell in its block shows in it.
    Position,
    /// Differences of neighbouring blocks resemble each other.
    Correlated,
    /// Cells that had not settled when they were measured.
    NotSettled,
}

/// Why an experiment ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ExperimentStopReason {
    /// Every arm is decided.
    Decided,
    /// All blocks are spent.
    Blocks,
    /// Another block would not end in time.
    Time,
    /// As many blocks were excluded as were to count.
    #[serde(rename = "spoiled")]
    Excluded,
    /// It goes on, or was interrupted.
    NotYet,
}

/// What an experiment says.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Report {
    /// [`EXPERIMENT_SCHEMA`].
    pub schema: u32,
    pub design: Design,
    /// Why it ended, as its folder has it.
    pub ended: ExperimentStopReason,
    /// The same by the rules of who read the folder, where they say otherwise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended_by_own_rules: Option<ExperimentStopReason>,
    pub blocks: Vec<Block>,
    #[serde(default)]
    pub counted_blocks: u32,
    /// Blocks that were excluded.
    #[serde(rename = "spoiled_blocks", default)]
    pub excluded_blocks: u32,
    /// From the beginning of the first cell of a block to the end of the last, in nanoseconds.
    #[serde(default)]
    pub elapsed_ns: u64,
    /// How often an interval of an effect holds the truth: 1 − α.
    #[serde(default)]
    pub confidence: f64,
    /// Rounds of long cells, after the blocks.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rounds: Vec<Block>,
    pub looks: Vec<InterimLook>,
    /// Every arm under test.
    pub effects: Vec<Effect>,
    /// Other figures of the same arms.
    pub secondary: Vec<SecondaryMetric>,
    /// What else must be known, the most severe first.
    pub remarks: Vec<Remark>,
    /// Time left to settle at the end.
    pub settle_ns: u64,
}

/// A figure beside the primary one, an arm against the baseline over the blocks in which both have it. It is told, not
/// tested: its interval is Student's t, by itself.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SecondaryMetric {
    /// Name of the arm.
    pub arm: String,
    /// As in [`CellOutcome::secondary`].
    pub figure: String,
    /// Blocks in which both have it.
    pub blocks: u32,
    /// Mean of the baseline in those.
    pub baseline: f64,
    /// Mean of the arm in those.
    pub value: f64,
    /// Mean of the blocks' ratios, less one; absent where a figure is zero.
    pub share: Option<f64>,
    /// Lower end of the interval at 1 − α; absent of fewer than two blocks.
    pub low_share: Option<f64>,
    pub high_share: Option<f64>,
    /// How probable it is that in as many blocks the arm has more, by chance; absent where no two differ.
    #[serde(default)]
    pub p_more: Option<f64>,
}

/// A line of `outcomes.jsonl`: a cell that was measured.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct OutcomeLine {
    pub cell: Cell,
    /// What came of it.
    pub outcome: CellOutcome,
    /// Why the blocks ended with it, by the rules of who measured it; absent where they went on, and in folders of
    /// schema 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended: Option<ExperimentStopReason>,
}

/// Everything that an experiment says: the JSON of `linerate experiment`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ExperimentReport {
    pub experiment: Experiment,
    pub report: Report,
    /// The changes that were shown to help: the profile that results. Each was tried by itself.
    pub advice: Vec<Change>,
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
    /// Without blocks, the interleaved blocks that it would take to show what matters of any arm; absent with blocks.
    #[serde(default)]
    pub runs_needed: Option<u32>,
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
    /// Whether the order of runs was said to be drawn: without, nothing is called an effect.
    #[serde(default)]
    pub drawn: bool,
    /// In the order of the table.
    pub series: Vec<TableSeries>,
    /// What else must be known, the most severe first.
    pub remarks: Vec<Remark>,
}

#[cfg(test)]
mod tests {
    use serde_json::to_value;

    use super::*;

    #[test]
    fn folders_and_json_keep_the_older_words() {
        let block = Block { excluded: vec!["throttled".to_owned()], ..Block::default() };
        let written = to_value(&block).unwrap();
        assert_eq!(written["spoiled"][0], "throttled");
        assert_eq!(serde_json::from_value::<Block>(written).unwrap(), block);
        let ended: ExperimentStopReason = serde_json::from_value("spoiled".into()).unwrap();
        assert_eq!(ended, ExperimentStopReason::Excluded);
        for (value, word) in [
            (to_value(ArmVerdict::Slower), "costs"),
            (to_value(Decision::ExcludesBlocks), "spoilt-by-arm"),
            (to_value(RemarkKind::ExcludesBlocks), "spoilt-by-arm"),
            (to_value(RemarkKind::Excluded), "spoiled"),
            (to_value(ExperimentStopReason::Excluded), "spoiled"),
        ] {
            assert_eq!(value.unwrap(), word);
        }
    }
}
