//! Flags of `linerate tune`.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Subcommand, ValueEnum};
use linerate_record::knob::Space;
use linerate_record::units::parse_duration;

use crate::changes::space_named;

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

Examples:
  linerate tune diff --profile s3-storage-node --site site.yaml -o changes.json
  linerate tune diff --set net.core.rmem_max=16777216 --set block.scheduler@nvme0n1=none -o changes.json
  linerate tune apply changes.json --confirm 120s
  linerate tune apply changes.json --foreground
  linerate tune confirm
  linerate tune rollback
  linerate tune export --format pod changes.json

Exit codes:
  0    done
  1    the journal or the watch failed, and nothing is changed or everything was rolled back
  2    bad usage, or a file of another machine
  6    some changes were not made, or some settings not restored, each named with its reason; or nobody
       confirmed the changes of --foreground in time
  130  --foreground was interrupted, and rolled everything back";

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
    Confirm,
    /// Roll back pending changes, changes that could not be restored, or confirmed ones by their name.
    Rollback(RollbackFlags),
    /// Show what was applied last, and the current value of each setting.
    Status,
    /// List everything that was applied, or show one application in full.
    Log(LogFlags),
    /// Print a file of changes in the format of another tool.
    Export(ExportFlags),
    /// The watch itself; started by apply.
    #[command(hide = true)]
    Watch(WatchFlags),
}

#[derive(Args, Debug)]
pub(super) struct DiffFlags {
    /// The profile to change to: see linerate knobs. [default: s3-storage-node, or none if --set is given]
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
    pub(super) place: PlaceFlags,
    /// File to write. [default: none, the changes are only shown]
    #[arg(long, short, value_name = "FILE")]
    pub(super) output: Option<PathBuf>,
}

#[derive(Args, Debug)]
pub(super) struct PlaceFlags {
    /// Change settings in the namespaces of this process, such as an S3 server in a pod.
    #[arg(long, value_name = "PID", conflicts_with = "netns")]
    pub(super) pid: Option<u32>,
    /// Change settings in the network namespace with this name in ip netns.
    #[arg(long, value_name = "NAME")]
    pub(super) netns: Option<String>,
    /// A captured machine instead of this one: a complete folder from linerate capture, with its etc/machine-id added.
    #[arg(long, value_name = "DIR", conflicts_with_all = ["pid", "netns"])]
    pub(super) root: Option<PathBuf>,
}

#[derive(Args, Debug)]
pub(super) struct ApplyFlags {
    /// File of changes, from tune diff.
    #[arg(value_name = "FILE")]
    pub(super) file: PathBuf,
    /// How long to wait for tune confirm before the changes are rolled back.
    #[arg(long, value_name = "TIME", value_parser = parse_duration, default_value = "120s")]
    pub(super) confirm: Duration,
    /// The captured machine that the file belongs to.
    #[arg(long, value_name = "DIR")]
    pub(super) root: Option<PathBuf>,
    /// Keep running as the watch until the changes are confirmed from another terminal or rolled back. Ctrl-C and
    /// SIGTERM roll them back at once. Use this in a container, where no other process can be the watch.
    #[arg(long)]
    pub(super) foreground: bool,
}

#[derive(Args, Debug)]
pub(super) struct RollbackFlags {
    /// Application to roll back: see tune log. [default: the pending one, or one that was not fully restored]
    #[arg(value_name = "ID")]
    pub(super) id: Option<String>,
    /// The most recently confirmed application.
    #[arg(long, conflicts_with = "id")]
    pub(super) kept: bool,
    /// Also restore settings that somebody else has changed since, and give up those whose device is missing.
    #[arg(long)]
    pub(super) force: bool,
}

#[derive(Args, Debug)]
pub(super) struct LogFlags {
    /// Application to show in full. [default: a line for each]
    #[arg(value_name = "ID")]
    pub(super) id: Option<String>,
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

impl PlaceFlags {
    pub(super) fn space(&self) -> Space {
        space_named(self.pid, self.netns.as_deref())
    }
}

#[cfg(test)]
mod tests {
    use clap::{CommandFactory as _, Parser as _};

    use super::*;
    use crate::catalogue::find;
    use crate::cli::Cli;

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
