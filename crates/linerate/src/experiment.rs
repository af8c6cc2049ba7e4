//! `linerate experiment`: whether something helps.

mod aim;
mod arms;
mod cell;
mod cells;
mod conduct;
mod fingerprint;
mod folder;
mod load;
mod place;
mod reach;
mod rehearsal;
mod shown;
mod tables;
mod trust;

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use clap::{Args, Subcommand};
use linerate_record::knob::Space;
use linerate_record::units::{BitRate, Share, parse_duration};

use crate::cli::SiteFormat;
use crate::failure::Failure;
use load::Load;

const HELP: &str = "\
Every block runs every arm once, in an order drawn from the seed, and the baseline twice. Arms are compared within
blocks, with the mean of the baseline's cells. It ends when an effect is shown, when one that matters is ruled out, or
when blocks or time are spent; looking early costs almost nothing (docs/method/experiments.md). Blocks that an arm
spoils itself, what it leaves behind for the next cell and cells that never settle void an effect; a faster arm whose
p99 or errors may be worse is not advised.

Settings are changed for one cell at a time, through the journal of linerate tune, and changed back after it, also
where this process is killed. Settings that each network namespace has of its own are changed in that of this process,
or of --pid or --netns; an arm that reaches neither client nor server is told and not tested.

Everything is kept in a folder: linerate experiment resume goes on with it, linerate experiment report shows it again,
and changes.json has what was shown to help, for linerate tune apply.

Examples:
  linerate experiment --knob net.core.rmem_max=212992,4194304 --load get:4MiB@16 --host 10.0.0.{1...4}:9000
  linerate experiment --knob net.ipv4.tcp_rmem='4096 131072 33554432' --restart 'systemctl restart minio'
  linerate experiment --profile s3-storage-node --profile source-003-full --site site.yaml --budget 2h
  linerate experiment --with minio='--host a:9000' --with rustfs='--host b:9000' --load put:64KiB@32
  linerate experiment --with one='--threads 1' --with two='--threads 2' --load get:4KiB@32
  linerate experiment --arm overlay='./cni.sh overlay' --arm native='./cni.sh native' --host s3:9000
  linerate experiment --knob vm.swappiness=60,1 -- --payload unsigned --bucket bench

Exit codes: 0 it ended, whatever came of it; 1 this machine failed, or a command of an arm; 2 bad usage, or no arm
reaches what is measured; 3 the target could not be loaded; 6 a setting could not be restored, or somebody else has
changed it; 130 interrupted: linerate experiment resume goes on.";

#[derive(Args, Debug)]
#[command(after_help = HELP, args_conflicts_with_subcommands = true)]
pub(crate) struct ExperimentFlags {
    #[command(subcommand)]
    action: Option<Action>,
    #[command(flatten)]
    conduct: ConductFlags,
}

#[derive(Subcommand, Debug)]
enum Action {
    /// Say what a table of runs supports: effects, what is ruled out, what cannot be told and what it would take.
    Analyze(tables::AnalyzeFlags),
    /// Go on with an experiment that was interrupted or killed.
    Resume(ResumeFlags),
    /// Show an experiment again, as text, JSON or HTML.
    Report(ReportFlags),
}

#[derive(Args, Debug)]
struct ConductFlags {
    #[command(flatten)]
    arms: ArmFlags,
    /// What every cell loads: OPERATION:SIZE@IN-FLIGHT. Operations: get, put, multipart, stat, list, mixed.
    #[arg(long, value_name = "OP:SIZE@N", default_value = "get:4MiB@16")]
    load: Load,
    /// Hosts of the S3 target, as linerate bench takes them. [env: WARP_HOST, AWS_ENDPOINT_URL_S3, AWS_ENDPOINT_URL]
    /// [default: an embedded target]
    #[arg(long, value_name = "HOSTS")]
    host: Option<String>,
    /// Load a target that is not on this machine without asking.
    #[arg(long)]
    yes_load: bool,
    /// Tell what would be compared, how and how long, and do nothing.
    #[arg(long)]
    dry_run: bool,
    #[command(flatten)]
    plan: PlanFlags,
    #[command(flatten)]
    output: OutputFlags,
    /// Flags of linerate bench for every cell, after `--`: `-- --tls --insecure --bucket bench`.
    #[arg(last = true, value_name = "BENCH FLAGS")]
    flags: Vec<String>,
}

/// What is compared.
#[derive(Args, Debug)]
#[command(next_help_heading = "Arms")]
struct ArmFlags {
    /// Values of a setting: the first is the baseline's; one alone is compared with what is there. KNOB@DEVICE for one
    /// device. Values that hold commas are separated by `|`. May be given several times: each knob is then tried alone.
    #[arg(long, value_name = "KNOB[@DEVICE]=VALUE,…")]
    knob: Vec<String>,
    /// All changes that lead to a profile of linerate knobs, as one arm. May be given several times.
    #[arg(long, value_name = "PROFILE")]
    profile: Vec<String>,
    /// File that describes the cluster, from which the values of --profile follow. [default: made from the machine]
    #[arg(long, value_name = "SITE", requires = "profile")]
    site: Option<PathBuf>,
    /// A command that puts an arm in place, run by /bin/sh before each of its cells; the first is the baseline's, which
    /// is run once more at the end (not where linerate is killed: resume, or run it). Objects to read are written with
    /// the baseline in place.
    #[arg(long, value_name = "NAME=COMMAND", conflicts_with_all = ["knob", "profile", "with"])]
    arm: Vec<String>,
    /// Flags of linerate bench that an arm alone has, such as another target; the first is the baseline's.
    #[arg(long, value_name = "NAME=FLAGS", conflicts_with_all = ["knob", "profile"])]
    with: Vec<String>,
    /// Change settings in the network namespace of this process, such as an engine's.
    #[arg(long, value_name = "PID", conflicts_with_all = ["netns", "restart"])]
    pid: Option<u32>,
    /// Change settings in a network namespace of this name, as ip netns has it: --restart leaves it there.
    #[arg(long, value_name = "NAME")]
    netns: Option<String>,
    /// Command, run by /bin/sh, that restarts the target after each change and at the end: for settings that processes
    /// read when they start.
    #[arg(long, value_name = "COMMAND")]
    restart: Option<String>,
    /// Run the baseline once in each block: shorter blocks, and more of them for the same answer.
    #[arg(long)]
    no_same: bool,
}

/// How it is measured, and when it ends.
#[derive(Args, Debug)]
#[command(next_help_heading = "Plan")]
struct PlanFlags {
    /// The least effect that matters.
    #[arg(long, value_name = "SHARE", default_value = "2%")]
    matters: Share,
    /// How often an arm without an effect may be called one that has.
    #[arg(long, value_name = "SHARE", default_value = "0.05", value_parser = tables::alpha)]
    alpha: Share,
    /// Most blocks.
    #[arg(long, value_name = "N", default_value_t = 24, value_parser = clap::value_parser!(u32).range(2..=10_000))]
    blocks: u32,
    /// Longest time of all blocks; what --lasting takes comes after it.
    #[arg(long, value_name = "TIME", value_parser = parse_duration, default_value = "30m")]
    budget: Duration,
    /// Time left to settle after a change, until the data says how long it takes.
    #[arg(long, value_name = "TIME", value_parser = parse_duration, default_value = "2s")]
    settle: Duration,
    /// Time measured after that.
    #[arg(long, value_name = "TIME", value_parser = parse_duration, default_value = "6s")]
    measure: Duration,
    /// Time measured of the cells that follow where an effect was shown, three to six rounds of them: whether it is
    /// still there then. 0s for none. [default: ten times --measure]
    #[arg(long, value_name = "TIME", value_parser = parse_duration)]
    lasting: Option<Duration>,
    /// What the slowest link on the way carries: a figure above it spoils its block. [default: none]
    #[arg(long, value_name = "RATE")]
    link: Option<BitRate>,
    /// A key of the fingerprint that may differ between cells, such as foreign_load. May be given several times.
    #[arg(long, value_name = "KEY")]
    may_differ: Vec<String>,
    /// Of the order of arms and of the draws of the tests. [default: drawn, and printed]
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
}

#[derive(Args, Debug)]
#[command(next_help_heading = "Output")]
struct OutputFlags {
    /// Folder of the experiment, which must not exist yet. [default: experiments/DATE-TIME]
    #[arg(long, short, value_name = "DIR")]
    output: Option<PathBuf>,
    /// Format of what is printed at the end.
    #[arg(long, short, value_enum, default_value_t = SiteFormat::Text)]
    format: SiteFormat,
    /// Print nothing but errors.
    #[arg(long, short)]
    quiet: bool,
}

#[derive(Args, Debug)]
struct ResumeFlags {
    /// Folder of the experiment.
    #[arg(value_name = "DIR")]
    folder: PathBuf,
    /// Load a target that is not on this machine without asking.
    #[arg(long)]
    yes_load: bool,
    /// Run the commands and make the changes that experiment.json names without asking, though this machine has not
    /// noted that it began the experiment.
    #[arg(long)]
    yes_run: bool,
    /// Format of what is printed at the end.
    #[arg(long, short, value_enum, default_value_t = SiteFormat::Text)]
    format: SiteFormat,
    /// Print nothing but errors.
    #[arg(long, short)]
    quiet: bool,
}

#[derive(Args, Debug)]
struct ReportFlags {
    /// Folder of the experiment.
    #[arg(value_name = "DIR")]
    folder: PathBuf,
    /// Format.
    #[arg(long, short, value_enum, default_value_t = SiteFormat::Text)]
    format: SiteFormat,
    /// File to write. [default: standard output]
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
}

pub(crate) fn run(flags: &ExperimentFlags) -> Result<ExitCode, Failure> {
    match &flags.action {
        Some(Action::Analyze(flags)) => tables::run(flags),
        Some(Action::Resume(flags)) => conduct::resume(flags),
        Some(Action::Report(flags)) => shown::run(flags),
        None => conduct::begin(&flags.conduct),
    }
}

impl ArmFlags {
    fn space(&self) -> Space {
        match (self.pid, &self.netns) {
            (Some(pid), _) => Space::Pid(pid),
            (None, Some(name)) => Space::Netns(name.clone()),
            (None, None) => Space::Host,
        }
    }
}
