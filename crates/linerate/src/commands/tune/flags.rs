//! Flags of `linerate tune`.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Subcommand, ValueEnum};
use linerate_record::knob::Space;
use linerate_record::rollout::RolloutName;
use linerate_record::units::parse_duration;
use linerate_rollout::waves::WaveSizes;

use crate::files::output_format::OutputFormat;
use crate::remote::node_access::flags::ReachFlags;
use crate::run::wanted_changes::space_of_flags;

const HELP: &str = "\
Before each change, a journal on disk records the previous value, and a watch starts that rolls the changes back unless
they are confirmed. With systemd, the watch is a transient timer. Without systemd, it is a separate process, which
outlives the terminal, the network and the command. If that process is killed, tune status says so and ends with 6, and
the next linerate tune command after the deadline (except diff and log) rolls everything back. No process outlives its
container: there, only apply --foreground works, which keeps running as the watch. If it is killed with its container,
run linerate tune rollback with the same journals, so keep the journals outside the container. A reboot resets run-time
settings, so nothing is restored after it. To keep settings across reboots, export them.
Settings that the CNI owns, or that somebody else has changed since, are left alone and reported.

Journals: $LINERATE_STATE/tune, or /var/lib/linerate/tune for root, or linerate/tune in $XDG_STATE_HOME or
~/.local/state. Only their owner can read journals and files of changes.

Many machines: with --fleet, each verb does the same on all nodes of a fleet file, all or none. Each node has a journal
and a watch of its own, started by an agent over SSH or in a namespace, so a node rolls back in time even if this
command, the network or the agent is gone. apply looks at every node first, then changes wave after wave (--wave), with
a check behind each (--check), and looks at all again. If a node fails, lapses or cannot be reached, all are rolled
back. confirm first puts off the end of all nodes, then confirms each; if this command ends in between, run confirm or
rollback again before the others roll back by themselves. The nodes know all that is needed, not this machine: any
machine that reaches them can run status, confirm and rollback, with the fleet file that apply had.

Examples:
  linerate tune diff --profile s3-storage-node --site site.yaml -o changes.json
  linerate tune diff --set net.core.rmem_max=16777216 --set block.scheduler@nvme0n1=none -o changes.json
  linerate tune apply changes.json --confirm 120s
  linerate tune apply changes.json --foreground
  linerate tune confirm
  linerate tune rollback
  linerate tune export --format pod changes.json
  linerate tune diff --fleet fleet.yaml --set net.core.rmem_max=16777216 -o fleet.json
  linerate tune apply fleet.json --fleet fleet.yaml --confirm 10m --wave 1,5,25% --dry-run
  linerate tune apply fleet.json --fleet fleet.yaml --confirm 10m --wave 1,5,25% --check ./healthy.sh
  linerate tune confirm --fleet fleet.yaml
  linerate tune status --fleet fleet.yaml
  linerate tune status --fleet fleet.yaml --format html -o rollout.html

Exit codes:
  0    done; with --fleet, on every node
  1    the journal or the watch failed, and nothing is changed or everything was rolled back
  2    bad usage, or a file of another machine
  3    with --fleet: a node was not reached before anything was changed, or it is not known how a node stands
  6    some changes were not made, or some settings not restored, each named with its reason; or nobody
       confirmed the changes of --foreground in time; with --fleet, the nodes were rolled back in place of being
       changed or confirmed, nodes are not in the fleet file, or status finds some that are confirmed, or wait,
       while others are not or do not; status: a journal is missing, or cannot be read
  130  --foreground, or apply or confirm with --fleet, was interrupted, and rolled everything back";

#[derive(Args, Debug)]
#[command(after_help = HELP)]
pub(crate) struct TuneFlags {
    #[command(subcommand)]
    pub(super) verb: TuneVerb,
}

#[derive(Subcommand, Debug)]
pub(super) enum TuneVerb {
    /// Write a file with the changes that lead to a profile or to given values.
    Diff(DiffFlags),
    /// Make the changes of a file, and roll them back automatically unless they are confirmed in time.
    Apply(ApplyFlags),
    /// Keep the pending changes.
    Confirm(ConfirmFlags),
    /// Roll back pending changes, changes that could not be restored, or confirmed ones by their name.
    Rollback(RollbackFlags),
    /// Show what was applied last, and the current value of each setting.
    Status(StatusFlags),
    /// List everything that was applied, or show one application in full.
    Log(LogFlags),
    /// Print a file of changes in the format of another tool.
    Export(ExportFlags),
    /// The watch itself; started by apply.
    #[command(hide = true)]
    Watch(WatchFlags),
}

/// Flags of every verb that works on a fleet.
#[derive(Args, Debug)]
pub(super) struct ManyFlags {
    /// Fleet file: do this on all of its nodes. [default: this machine]
    #[arg(long, value_name = "FLEET")]
    pub(super) fleet: Option<PathBuf>,
    #[command(flatten)]
    pub(super) reach: ReachFlags,
    /// Consent to running the commands in the fleet file.
    #[arg(long, requires = "fleet")]
    pub(super) yes_exec: bool,
    /// With --fleet: print JSON instead of text.
    #[arg(long, requires = "fleet")]
    pub(super) json: bool,
}

#[derive(Args, Debug)]
pub(super) struct DiffFlags {
    /// The profile to change to: see linerate knobs. [default: s3-storage-node (clients of a fleet: s3-client-node), or
    /// none if --set is given]
    #[arg(long, value_name = "PROFILE")]
    pub(super) profile: Option<String>,
    /// Site file of the cluster: recommended values follow from it and the machine. [default: derived from the machine]
    #[arg(long, value_name = "SITE")]
    pub(super) site: Option<PathBuf>,
    /// A specific value: KNOB=VALUE, or KNOB@DEVICE=VALUE for one device. May be given several times, and overrides the
    /// profile.
    #[arg(long, value_name = "KNOB[@DEVICE]=VALUE")]
    pub(super) set: Vec<String>,
    #[command(flatten)]
    pub(super) place: MachineFlags,
    /// File to write. [default: none, the changes are only shown]
    #[arg(long, short, value_name = "FILE")]
    pub(super) output: Option<PathBuf>,
    /// Show every change, with its reason and its risk; without it, a terminal gets those that weigh most.
    #[arg(long, conflicts_with = "json")]
    pub(super) all: bool,
    #[command(flatten)]
    pub(super) fleet_flags: ManyFlags,
}

#[derive(Args, Debug)]
pub(super) struct MachineFlags {
    /// Change settings in the namespaces of this process, such as an S3 server in a pod.
    #[arg(long, value_name = "PID", conflicts_with_all = ["netns", "ManyFlags", "ReachFlags"])]
    pub(super) pid: Option<u32>,
    /// Change settings in the network namespace with this name in ip netns.
    #[arg(long, value_name = "NAME")]
    pub(super) netns: Option<String>,
    /// A captured machine instead of this one: a complete folder from linerate capture, with its etc/machine-id added.
    #[arg(long, value_name = "DIR", conflicts_with_all = ["pid", "netns", "ManyFlags", "ReachFlags"])]
    pub(super) root: Option<PathBuf>,
}

/// What only a fleet takes: clap asks for no fleet beside what excludes that.
const FLEET_ONLY_FLAGS: [&str; 6] = ["ManyFlags", "ReachFlags", "wave", "check", "site", "dry_run"];

#[derive(Args, Debug)]
pub(super) struct ApplyFlags {
    /// File of changes, from tune diff.
    #[arg(value_name = "FILE")]
    pub(super) file: PathBuf,
    /// How long to wait for tune confirm before the changes are rolled back. With --fleet, from the start of the first
    /// wave: all waves and checks have to fit.
    #[arg(long, value_name = "TIME", value_parser = parse_duration, default_value = "120s")]
    pub(super) confirm: Duration,
    /// The captured machine that the file belongs to.
    #[arg(long, value_name = "DIR", conflicts_with_all = FLEET_ONLY_FLAGS)]
    pub(super) root: Option<PathBuf>,
    /// Keep running as the watch until the changes are confirmed from another terminal or rolled back. Ctrl-C and
    /// SIGTERM roll them back at once. Use this in a container, where no other process can be the watch.
    #[arg(long, conflicts_with_all = FLEET_ONLY_FLAGS)]
    pub(super) foreground: bool,
    /// With --fleet: how many nodes to change at once, wave after wave, as numbers and shares of all nodes. The last
    /// one is repeated. A wave has nodes of one rack only. [default: 1,25%]
    #[arg(long, value_name = "SIZES", requires = "fleet")]
    pub(super) wave: Option<WaveSizes>,
    /// With --fleet: a command for sh that must succeed behind each wave, such as a request to the health endpoint of
    /// the cluster, or a short linerate bench with --fail-if. Otherwise all nodes are rolled back. It finds the
    /// rollout, the number of the wave and its nodes in LINERATE_ROLLOUT, LINERATE_WAVE and LINERATE_NODES. [default:
    /// none]
    #[arg(long, value_name = "COMMAND", requires = "fleet")]
    pub(super) check: Option<String>,
    /// With --check: how long it may take. [default: 60s, or what lets all checks take half of --confirm]
    #[arg(long, value_name = "TIME", value_parser = parse_duration, requires = "check")]
    pub(super) check_within: Option<Duration>,
    /// With --fleet: site file of the cluster. If a change may interrupt a node (MTU, rings, queues, offloads, bonds),
    /// a wave has no more nodes than its erasure sets can miss. [default: none, one storage node at a time then]
    #[arg(long, value_name = "SITE", requires = "fleet")]
    pub(super) site: Option<PathBuf>,
    /// With --fleet: print the plan, and change nothing.
    #[arg(long, requires = "fleet")]
    pub(super) dry_run: bool,
    #[command(flatten)]
    pub(super) fleet_flags: ManyFlags,
}

#[derive(Args, Debug)]
pub(super) struct ConfirmFlags {
    /// Application to confirm, and no other: see tune log; with --fleet, the rollout. [default: the pending one]
    #[arg(value_name = "ID")]
    pub(super) id: Option<String>,
    #[command(flatten)]
    pub(super) fleet_flags: ManyFlags,
}

#[derive(Args, Debug)]
pub(super) struct StatusFlags {
    /// With --fleet: the rollout to show. [default: the pending one, or the most recent one]
    #[arg(value_name = "ROLLOUT", requires = "fleet")]
    pub(super) rollout: Option<RolloutName>,
    /// With --fleet: format. The page draws which node was in which state when. [default: text]
    #[arg(long, short, value_enum, requires = "fleet", conflicts_with = "json")]
    pub(super) format: Option<OutputFormat>,
    /// With --fleet: file to write. If it is the page, the text is printed too. [default: standard output]
    #[arg(long, short, value_name = "FILE", requires = "fleet")]
    pub(super) output: Option<PathBuf>,
    /// Show every setting; with --fleet, every node; without it, a terminal gets as many as a screen holds, first those
    /// that somebody has to look at.
    #[arg(long, conflicts_with = "json")]
    pub(super) all: bool,
    #[command(flatten)]
    pub(super) fleet_flags: ManyFlags,
}

#[derive(Args, Debug)]
pub(super) struct RollbackFlags {
    /// Application to roll back: see tune log; with --fleet, the rollout. [default: the pending one, or one that was
    /// not fully restored]
    #[arg(value_name = "ID")]
    pub(super) id: Option<String>,
    /// The most recently confirmed application. With --fleet, the pending rollout if there is one.
    #[arg(long, conflicts_with = "id")]
    pub(super) kept: bool,
    /// Also restore settings that somebody else has changed since, and give up those whose device is missing.
    #[arg(long)]
    pub(super) force: bool,
    /// With --fleet: site file of the cluster, as of apply.
    #[arg(long, value_name = "SITE", requires = "fleet")]
    pub(super) site: Option<PathBuf>,
    #[command(flatten)]
    pub(super) fleet_flags: ManyFlags,
}

#[derive(Args, Debug)]
pub(super) struct LogFlags {
    /// Application to show in full. [default: a line for each]
    #[arg(value_name = "ID")]
    pub(super) id: Option<String>,
    /// List every application; without it, a terminal gets the newest.
    #[arg(long, conflicts_with = "id")]
    pub(super) all: bool,
}

#[derive(Args, Debug)]
pub(super) struct ExportFlags {
    /// File of changes, from tune diff.
    #[arg(value_name = "FILE")]
    pub(super) file: PathBuf,
    /// Tool whose format to use.
    #[arg(long, value_enum)]
    pub(super) format: ExportFormat,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum ExportFormat {
    /// A file of sysctl.d(5).
    #[value(name = "sysctl.d")]
    Sysctl,
    /// Rules of udev(7), which also apply to devices that are added later.
    Udev,
    /// A file of tmpfiles.d(5), written at each boot.
    Systemd,
    /// A profile of TuneD.
    Tuned,
    /// A pod's securityContext.sysctls, with those that the kubelet must be configured to allow.
    Pod,
}

#[derive(Args, Debug)]
pub(super) struct WatchFlags {
    /// Folder of the journals.
    #[arg(long, value_name = "DIR")]
    pub(super) state: PathBuf,
    /// Which application.
    #[arg(long, value_name = "ID")]
    pub(super) id: String,
    /// Start the watch in a session of its own, and end.
    #[arg(long)]
    pub(super) detach: bool,
    /// Say on standard output when it watches, and let go of it.
    #[arg(long)]
    pub(super) tell: bool,
    /// Open what the watch reads and writes, change nothing, and end.
    #[arg(long)]
    pub(super) trial: bool,
    /// In the trial, a sysctl that the watch must be able to write to.
    #[arg(long, value_name = "NAME", requires = "trial")]
    pub(super) sysctl: Option<String>,
}

impl StatusFlags {
    /// The format of what is said of a fleet.
    pub(super) fn chosen(&self) -> OutputFormat {
        if self.fleet_flags.json { OutputFormat::Json } else { self.format.unwrap_or(OutputFormat::Text) }
    }
}

impl MachineFlags {
    pub(super) fn space(&self) -> Space {
        space_of_flags(self.pid, self.netns.as_deref())
    }
}

#[cfg(test)]
mod tests {
    use clap::{CommandFactory as _, Parser as _};

    use super::*;
    use crate::cli::definition::Cli;
    use crate::run::catalogue::find;

    #[test]
    fn examples_of_the_help_parse_and_name_what_there_is() {
        let examples: Vec<&str> = HELP.lines().filter_map(|line| line.strip_prefix("  linerate ")).collect();
        assert!(examples.len() >= 6);
        for line in examples {
            let words = std::iter::once("linerate").chain(line.split(' '));
            Cli::try_parse_from(words.clone()).unwrap_or_else(|error| panic!("{line}: {error}"));
            for pair in words.zip(line.split(' ')).filter(|pair| pair.0 == "--set").map(|pair| pair.1) {
                let id = pair.split(['@', '=']).next().unwrap_or_default();
                assert!(find(id).is_some(), "{id}");
            }
        }
    }

    #[test]
    fn every_flag_of_every_verb_says_what_it_means() {
        let command = Cli::command();
        let tune = command.find_subcommand("tune").unwrap();
        for verb in tune.get_subcommands().filter(|verb| verb.get_name() != "help") {
            assert!(verb.get_about().is_some(), "{}", verb.get_name());
            for arg in verb.get_arguments().filter(|arg| arg.get_id() != "help") {
                let help = arg.get_help().map(ToString::to_string).unwrap_or_default();
                assert!(help.len() > 5, "{} {}", verb.get_name(), arg.get_id());
            }
        }
    }
}
