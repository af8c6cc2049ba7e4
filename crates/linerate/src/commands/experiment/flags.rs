//! Flags of `linerate experiment`.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Subcommand, ValueEnum};
use linerate_record::fleet::NodeRole;
use linerate_record::knob::Space;
use linerate_record::units::{BitRate, Share, parse_duration};

use super::bench_process::LoadFlag;
use crate::files::output_format::{FormatFlags, OutputFormat, ResultFormat};
use crate::remote::node_access::flags::ReachFlags;
use crate::run::wanted_changes::space_of_flags;

const HELP: &str = "\
Every block runs every arm once, in an order drawn from the seed, and the baseline twice. Arms are compared within
blocks, with the mean of the baseline's cells. The experiment ends when an effect is shown, when an effect that matters
is ruled out, or when the blocks or the time are used up; interim looks cost almost no power
(docs/method/experiments.md). An effect is void if the arm's own cells exclude blocks, if the arm affects the cell after
it, or if its cells never settle. A faster arm is not recommended if its p99 or errors may be worse.

Settings are changed for one cell at a time, through the journal of linerate tune, and restored after it, even if this
process is killed. A setting that each network namespace has of its own is changed in the namespace of this process, or
in that of --pid or --netns. An arm that reaches neither client nor server is reported but not tested.

With --fleet and --on, settings are changed on all nodes of a role, and the nodes with role client load, all at the same
time. An arm is in place on all of these nodes or is not tested: a node that refuses it, or cannot be reached, ends its
cell before the load, and everything is rolled back. Each node is asked again after the load, and in what nodes of a
role differ is reported before the first block. --restart is run for one round of nodes after the other, with their
names in LINERATE_NODES; a round has no more storage nodes than their erasure sets can miss (--site), and each waits for
--health. If this process dies, each node rolls back by itself within minutes of the end of the cell.

The folder of the experiment holds everything: linerate experiment resume continues it, linerate experiment report
shows it again, and changes.json has the changes that were shown to help, for linerate tune apply.

Examples:
  linerate experiment --knob net.core.rmem_max=212992,4194304 --load get:4MiB@16 --host 10.0.0.{1...4}:9000
  linerate experiment --knob net.ipv4.tcp_rmem='4096 131072 33554432' --restart 'systemctl restart minio'
  linerate experiment --profile s3-storage-node --profile source-003-full --site site.yaml --budget 2h
  linerate experiment --with minio='--host a:9000' --with rustfs='--host b:9000' --load put:64KiB@32
  linerate experiment --with one='--threads 1' --with two='--threads 2' --load get:4KiB@32
  linerate experiment --arm overlay='./cni.sh overlay' --arm native='./cni.sh native' --host s3:9000
  linerate experiment --knob vm.swappiness=60,1 -- --payload unsigned --bucket bench
  linerate experiment --fleet fleet.yaml --on storage --knob net.ipv4.tcp_rmem='4096 131072 33554432' --host s3:9000

Exit codes:
  0    it ended, whatever the result
  1    this machine failed, or a command of an arm
  2    bad usage, or no arm reaches the client or the server
  3    the load of an arm failed three times in a row, or a node was not reached before the first cell
  6    a setting could not be restored, or somebody else has changed it
  8    other load on this machine left the objects to read, or three cells of an arm in a row, without an answer
  130  interrupted: linerate experiment resume continues";

#[derive(Args, Debug)]
#[command(after_help = HELP, args_conflicts_with_subcommands = true)]
pub(crate) struct ExperimentFlags {
    #[command(subcommand)]
    pub(super) action: Option<ExperimentAction>,
    #[command(flatten)]
    pub(super) run_flags: ExperimentRunFlags,
}

#[derive(Subcommand, Debug)]
pub(super) enum ExperimentAction {
    /// Analyse a table of runs: which effects it shows or rules out, and what it would take to decide the others.
    Analyze(AnalyzeFlags),
    /// Continue an experiment that was interrupted or killed.
    Resume(ResumeFlags),
    /// Show an experiment again, as text, JSON or HTML.
    Report(ExperimentReportFlags),
}

#[derive(Args, Debug)]
pub(super) struct ExperimentRunFlags {
    #[command(flatten)]
    pub(super) arms: ArmSelectionFlags,
    /// What every cell loads: OPERATION:SIZE@IN-FLIGHT. Operations: get, put, multipart, stat, list, mixed.
    #[arg(long, value_name = "OP:SIZE@N", default_value = "get:4MiB@16")]
    pub(super) load: LoadFlag,
    /// Hosts of the S3 target, as linerate bench takes them. [env: WARP_HOST, AWS_ENDPOINT_URL_S3, AWS_ENDPOINT_URL]
    /// [default: an embedded target]
    #[arg(long, value_name = "HOSTS")]
    pub(super) host: Option<String>,
    /// Load a target that is not on this machine without asking.
    #[arg(long)]
    pub(super) yes_load: bool,
    /// Show what would be compared, how, and how long it would take, and do nothing.
    #[arg(long)]
    pub(super) dry_run: bool,
    #[command(flatten)]
    pub(super) nodes: ChangedNodesFlags,
    #[command(flatten)]
    pub(super) plan: ExperimentPlanFlags,
    #[command(flatten)]
    pub(super) output: OutputFlags,
    /// Flags of linerate bench for every cell, after `--`: `-- --tls --insecure --bucket bench`.
    #[arg(last = true, value_name = "BENCH FLAGS")]
    pub(super) flags: Vec<String>,
}

/// What is compared.
#[derive(Args, Debug)]
#[command(next_help_heading = "Arms")]
pub(super) struct ArmSelectionFlags {
    /// Values of a setting. The first is the baseline's; a single value is compared with the current one. KNOB@DEVICE
    /// for one device. Separate values that contain commas by `|`. May be given several times: each knob is then tested
    /// on its own.
    #[arg(long, value_name = "KNOB[@DEVICE]=VALUE,…")]
    pub(super) knob: Vec<String>,
    /// All changes that lead to a profile of linerate knobs, as one arm. May be given several times.
    #[arg(long, value_name = "PROFILE")]
    pub(super) profile: Vec<String>,
    /// Site file of the cluster: the values of --profile follow from it, and the rounds of --restart with --fleet.
    /// [default: derived from the machine]
    #[arg(long, value_name = "SITE", conflicts_with_all = ["arm", "with"])]
    pub(super) site: Option<PathBuf>,
    /// A command that puts an arm in place, run by /bin/sh before each of its cells. The first is the baseline's; it
    /// is run once more at the end. If linerate is killed, resume the experiment or run that command yourself. Objects
    /// to read are written with the baseline in place.
    #[arg(long, value_name = "NAME=COMMAND", conflicts_with_all = ["knob", "profile", "with"])]
    pub(super) arm: Vec<String>,
    /// Flags of linerate bench for one arm, such as another target. The first arm is the baseline.
    #[arg(long, value_name = "NAME=FLAGS", conflicts_with_all = ["knob", "profile"])]
    pub(super) with: Vec<String>,
    /// Change settings in the network namespace of this process, such as an engine's.
    #[arg(long, value_name = "PID", conflicts_with_all = ["netns", "restart", "arm", "with"])]
    pub(super) pid: Option<u32>,
    /// Change settings in the network namespace with this name in ip netns. A server that --restart starts must stay in
    /// it.
    #[arg(long, value_name = "NAME", conflicts_with_all = ["arm", "with"])]
    pub(super) netns: Option<String>,
    /// Command, run by /bin/sh, that restarts the target after each change and at the end: for settings that processes
    /// read when they start.
    #[arg(long, value_name = "COMMAND")]
    pub(super) restart: Option<String>,
    /// Run the baseline only once in each block. Blocks are shorter, but the same answer needs more of them.
    #[arg(long)]
    pub(super) no_same: bool,
}

/// Where settings are changed, and who loads, where that is not this machine.
#[derive(Args, Debug)]
#[command(next_help_heading = "Fleet")]
pub(super) struct ChangedNodesFlags {
    #[command(flatten)]
    pub(super) reach_flags: ExperimentReachFlags,
    /// Nodes of the fleet file on which settings are changed: those with this role.
    #[arg(long, value_name = "ROLE", requires = "fleet", conflicts_with_all = ["arm", "with", "pid"])]
    pub(super) on: Option<ChangedRole>,
    /// Command, run by /bin/sh, that must succeed before the first round of --restart and after each one, within 90 s.
    /// [default: each host takes connections]
    #[arg(long, value_name = "COMMAND", requires = "fleet", requires = "restart")]
    pub(super) health: Option<String>,
}

#[derive(Args, Debug)]
pub(super) struct ExperimentReachFlags {
    /// Fleet file: change settings on its nodes with the role of --on, and load from those with role client.
    /// [default: this machine]
    #[arg(long, value_name = "FLEET")]
    pub(super) fleet: Option<PathBuf>,
    #[command(flatten)]
    pub(super) reach: ReachFlags,
    /// Consent to running the commands in the fleet file.
    #[arg(long, requires = "fleet")]
    pub(super) yes_exec: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum ChangedRole {
    /// Those that store: the servers.
    Storage,
    /// Those that load.
    Client,
}

impl ChangedRole {
    pub(super) const fn role(self) -> NodeRole {
        match self {
            ChangedRole::Storage => NodeRole::Storage,
            ChangedRole::Client => NodeRole::Client,
        }
    }
}

/// How it is measured, and when it ends.
#[derive(Args, Debug)]
#[command(next_help_heading = "Plan")]
pub(super) struct ExperimentPlanFlags {
    /// The smallest effect that matters.
    #[arg(long, value_name = "SHARE", default_value = "2%", allow_negative_numbers = true)]
    pub(super) matters: Share,
    /// How often an arm without an effect may be reported to have one.
    #[arg(long, value_name = "SHARE", default_value = "0.05", value_parser = alpha, allow_negative_numbers = true)]
    pub(super) alpha: Share,
    /// Maximum number of blocks.
    #[arg(long, value_name = "N", default_value_t = 24, value_parser = clap::value_parser!(u32).range(2..=10_000))]
    #[arg(allow_negative_numbers = true)]
    pub(super) blocks: u32,
    /// Maximum duration of all blocks together, without --lasting.
    #[arg(long, value_name = "TIME", value_parser = parse_duration, default_value = "30m")]
    #[arg(allow_negative_numbers = true)]
    pub(super) budget: Duration,
    /// Time to settle after a change, until the data shows how long that takes.
    #[arg(long, value_name = "TIME", value_parser = parse_duration, default_value = "2s")]
    #[arg(allow_negative_numbers = true)]
    pub(super) settle: Duration,
    /// Measured time of each cell, after it has settled.
    #[arg(long, value_name = "TIME", value_parser = parse_duration, default_value = "6s")]
    #[arg(allow_negative_numbers = true)]
    pub(super) measure: Duration,
    /// Measured time of the longer cells that test whether an effect lasts, in three to six rounds after it was shown.
    /// 0s skips them. [default: ten times --measure]
    #[arg(long, value_name = "TIME", value_parser = parse_duration, allow_negative_numbers = true)]
    pub(super) lasting: Option<Duration>,
    /// Rate of the slowest link on the path: a figure above it excludes its block. [default: none]
    #[arg(long, value_name = "RATE", allow_negative_numbers = true)]
    pub(super) link: Option<BitRate>,
    /// A key of the fingerprint that may differ between cells, such as foreign_load. May be given several times.
    #[arg(long, value_name = "KEY")]
    pub(super) may_differ: Vec<String>,
    /// Seed of the order of arms and of the draws of the tests. [default: drawn, and printed]
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    pub(super) seed: Option<u64>,
}

#[derive(Args, Debug)]
#[command(next_help_heading = "Output")]
pub(super) struct OutputFlags {
    /// Folder of the experiment, which must not exist yet. [default: experiments/DATE-TIME]
    #[arg(long, short, value_name = "DIR")]
    pub(super) output: Option<PathBuf>,
    #[command(flatten)]
    pub(super) shown: FormatFlags<OutputFormat>,
    /// Print only errors.
    #[arg(long, short)]
    pub(super) quiet: bool,
}

#[derive(Args, Debug)]
pub(super) struct ResumeFlags {
    /// Folder of the experiment.
    #[arg(value_name = "DIR")]
    pub(super) folder: PathBuf,
    /// Load a target that is not on this machine without asking, even if its name leads to other addresses than when
    /// the experiment began.
    #[arg(long)]
    pub(super) yes_load: bool,
    /// Run the commands and make the changes in experiment.json without asking, even if this machine has no note that
    /// it began the experiment.
    #[arg(long)]
    pub(super) yes_run: bool,
    #[command(flatten)]
    pub(super) reach_flags: ExperimentReachFlags,
    #[command(flatten)]
    pub(super) shown: FormatFlags<OutputFormat>,
    /// Print only errors.
    #[arg(long, short)]
    pub(super) quiet: bool,
}

#[derive(Args, Debug)]
pub(super) struct ExperimentReportFlags {
    /// Folder of the experiment.
    #[arg(value_name = "DIR")]
    pub(super) folder: PathBuf,
    #[command(flatten)]
    pub(super) shown: FormatFlags<OutputFormat>,
    /// File to write. [default: standard output]
    #[arg(long, short, value_name = "FILE")]
    pub(super) output: Option<PathBuf>,
}

const ANALYZE_HELP: &str = "\
A row is a figure of one run. Columns: arm and value; if there are several, series (such as get) and concurrency; run,
or block if every arm ran once in each; order, the place in time among all runs. Values are rates, such as 91.9Gb/s or
95MiB/s, or all of them bare numbers; more is better. Lines that begin with # are comments. The other arms are compared
with the arm named baseline, default or control, or else with the first. A run that failed has an empty value; if one
arm lacks more values than the other, they are not compared.

A difference is called an effect of the arm only with --drawn and a column order that can have been drawn by lot.
Otherwise it is called an association: something else may have changed together with the arm.

Examples:
  linerate experiment analyze runs.csv
  linerate experiment analyze blocks.csv --drawn
  linerate experiment analyze runs.csv --link 15Gb/s --matters 1% --format json

Exit codes:
  0    analysed
  1    the file cannot be read
  2    the table has a mistake, quoted with its line
  7    analysed, and a difference is an association, confounded with time or carried over, not an effect of the arm";

#[derive(Args, Debug)]
#[command(after_help = ANALYZE_HELP)]
pub(super) struct AnalyzeFlags {
    /// CSV file of the runs.
    #[arg(value_name = "TABLE")]
    pub(super) table: PathBuf,
    /// Rate of the slowest link on the way, such as `15Gb/s`: figures above it are refused.
    #[arg(long, value_name = "RATE", allow_negative_numbers = true)]
    pub(super) link: Option<BitRate>,
    /// The smallest effect that matters.
    #[arg(long, value_name = "SHARE", default_value = "2%", allow_negative_numbers = true)]
    pub(super) matters: Share,
    /// How often an arm without an effect may be reported to have one. Intervals have a confidence of 1 minus this.
    #[arg(long, value_name = "SHARE", default_value = "0.05", value_parser = alpha, allow_negative_numbers = true)]
    pub(super) alpha: Share,
    /// The order of the runs was drawn by lot: within each block if the table has blocks, otherwise over all runs.
    #[arg(long)]
    pub(super) drawn: bool,
    #[command(flatten)]
    pub(super) shown: FormatFlags<TableFormat>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum TableFormat {
    /// For a terminal.
    Text,
    /// Everything, with a versioned schema.
    Json,
}

impl ResultFormat for TableFormat {
    const JSON: Self = TableFormat::Json;
}

/// Reads `--alpha`.
fn alpha(text: &str) -> Result<Share, String> {
    let share: Share = text.parse().map_err(|e: linerate_record::units::UnitError| e.to_string())?;
    let allowed = (0.0001..0.5).contains(&share.0);
    allowed
        .then_some(share)
        .ok_or_else(|| format!("{text:?} is not a valid level: write one from 0.0001 to below 0.5, such as 0.05"))
}

impl ArmSelectionFlags {
    pub(super) fn space(&self) -> Space {
        space_of_flags(self.pid, self.netns.as_deref())
    }
}
