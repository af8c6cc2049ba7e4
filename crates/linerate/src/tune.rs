//! `linerate tune`: changes of settings as a file, applied until confirmed, taken back, shown, and put in the formats
//! of others.

mod acting;
pub(crate) mod diff;
mod export;
mod foreground;
mod shown;
pub(crate) mod watching;

use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use clap::{Args, Subcommand, ValueEnum};
use linerate_host::Root;
use linerate_host::apply::{Ground, TuneError, readable};
use linerate_host::journal::State;
use linerate_model::knobs;
use linerate_record::knob::{ChangeSet, Knob, Space};
use linerate_record::units::parse_duration;

use crate::failure::{Failure, code};
use crate::{bounded, own};

/// The largest file of changes: 20,000 of them with their reasons.
const FILE_BYTES_MAX: u64 = 64 << 20;

const HELP: &str = "\
A change is never made before the journal says on the disk what was there, and never without a watch that takes it
back unless it is confirmed: a transient timer where systemd runs, else a process of its own, which outlives the
terminal, the network and the command. Once it is itself killed, where no systemd starts it again, tune status says so
and ends with 6, and the next linerate tune command after the time (but diff and log) takes everything back. No
process outlives the container that it is in: there, apply refuses, but for apply --foreground, which stays as the
watch. What is killed with its container takes nothing back: linerate tune rollback does, with the same journals, so
keep those outside. After a boot, run-time settings are gone by themselves: nothing is restored then. To keep them over
a boot, export them.

What the CNI owns is left alone, and so is what somebody else has changed since: that is told.

Journals: $LINERATE_STATE/tune, or /var/lib/linerate/tune for root, or linerate/tune in $XDG_STATE_HOME or
~/.local/state. Journals and files of changes are readable by their owner alone.

Examples:
  linerate tune diff --profile s3-storage-node --site site.yaml -o changes.json
  linerate tune diff --set net.core.rmem_max=16777216 --set block.scheduler@nvme0n1=none -o changes.json
  linerate tune apply changes.json --confirm 120s
  linerate tune apply changes.json --foreground
  linerate tune confirm
  linerate tune rollback
  linerate tune export --format pod changes.json

Exit codes: 0 done; 1 the journal or the watch failed, and nothing is changed or all was taken back; 2 bad usage, or a
file of another machine; 6 some changes were not made, or some settings not restored, each named with its reason, or
nobody confirmed in time what --foreground watched; 130 --foreground was interrupted, and has taken back.";

#[derive(Args, Debug)]
#[command(after_help = HELP)]
pub(crate) struct TuneFlags {
    #[command(subcommand)]
    verb: TuneVerb,
}

#[derive(Subcommand, Debug)]
enum TuneVerb {
    /// Write the changes that lead to a profile, or to values given, as a file.
    Diff(DiffFlags),
    /// Make the changes of a file; they are taken back by themselves unless confirmed in time.
    Apply(ApplyFlags),
    /// Keep the changes that wait.
    Confirm,
    /// Take changes back: those that wait or could not be restored, or kept ones by their name.
    Rollback(RollbackFlags),
    /// Show what was applied last, and what each setting is now.
    Status,
    /// List everything that was applied, or tell of one in full.
    Log(LogFlags),
    /// Print a file of changes in the format of another tool.
    Export(ExportFlags),
    /// The watch itself; started by apply.
    #[command(hide = true)]
    Watch(WatchFlags),
}

#[derive(Args, Debug)]
struct DiffFlags {
    /// The profile to lead to: see linerate knobs. [default: s3-storage-node, or none where --set is given]
    #[arg(long, value_name = "PROFILE")]
    profile: Option<String>,
    /// File that describes the cluster: advised values follow from it and the machine. [default: made from the machine]
    #[arg(long, value_name = "SITE")]
    site: Option<PathBuf>,
    /// A value by hand: KNOB=VALUE, or KNOB@DEVICE=VALUE for one of a device. May be given several times, and goes
    /// before the profile's.
    #[arg(long, value_name = "KNOB[@DEVICE]=VALUE")]
    set: Vec<String>,
    #[command(flatten)]
    place: PlaceFlags,
    /// File to write. [default: none, the changes are only shown]
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
}

#[derive(Args, Debug)]
struct PlaceFlags {
    /// In the namespaces of this process, such as an engine's: what a pod has for itself.
    #[arg(long, value_name = "PID", conflicts_with = "netns")]
    pid: Option<u32>,
    /// In a network namespace of this name, as ip netns has it.
    #[arg(long, value_name = "NAME")]
    netns: Option<String>,
    /// A captured machine instead of this one: a folder with its files.
    #[arg(long, value_name = "DIR", conflicts_with_all = ["pid", "netns"])]
    root: Option<PathBuf>,
}

#[derive(Args, Debug)]
struct ApplyFlags {
    /// File of changes, from tune diff.
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// How long they wait for tune confirm before they are taken back.
    #[arg(long, value_name = "TIME", value_parser = parse_duration, default_value = "120s")]
    confirm: Duration,
    /// The captured machine that the file is of.
    #[arg(long, value_name = "DIR")]
    root: Option<PathBuf>,
    /// Stay as the watch until they are confirmed, from another terminal, or taken back. Ctrl-C and SIGTERM take them
    /// back at once. Where nothing else outlives a container, this is how changes are made in one.
    #[arg(long)]
    foreground: bool,
}

#[derive(Args, Debug)]
struct RollbackFlags {
    /// Which application: see tune log. [default: the one that waits, or was not restored whole]
    #[arg(value_name = "ID")]
    id: Option<String>,
    /// The newest that was confirmed.
    #[arg(long, conflicts_with = "id")]
    kept: bool,
    /// Restore settings too that somebody else has changed since, and give up those whose device is not there.
    #[arg(long)]
    force: bool,
}

#[derive(Args, Debug)]
struct LogFlags {
    /// Which application. [default: a line for each]
    #[arg(value_name = "ID")]
    id: Option<String>,
}

#[derive(Args, Debug)]
struct ExportFlags {
    /// File of changes, from tune diff.
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// Whose format.
    #[arg(long, value_enum)]
    format: ExportFormat,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum ExportFormat {
    /// A file of sysctl.d(5).
    #[value(name = "sysctl.d")]
    Sysctl,
    /// Rules of udev(7), which hold for devices that come later too.
    Udev,
    /// A file of tmpfiles.d(5), written at each boot.
    Systemd,
    /// A profile of TuneD.
    Tuned,
    /// A pod's securityContext.sysctls, with those that a kubelet must be told to allow.
    Pod,
}

#[derive(Args, Debug)]
struct WatchFlags {
    /// Folder of the journals.
    #[arg(long, value_name = "DIR")]
    state: PathBuf,
    /// Which application.
    #[arg(long, value_name = "ID")]
    id: String,
    /// Start the watch in a session of its own, and end.
    #[arg(long)]
    detach: bool,
    /// Say on standard output when it watches, and let go of it.
    #[arg(long)]
    tell: bool,
    /// Open what the watch reads and writes, change nothing, and end.
    #[arg(long)]
    trial: bool,
    /// In the trial, a sysctl that the watch must be able to write to.
    #[arg(long, value_name = "NAME", requires = "trial")]
    sysctl: Option<String>,
}

/// Does what the flags ask for.
pub(crate) fn run(flags: &TuneFlags) -> Result<ExitCode, Failure> {
    let acts = match &flags.verb {
        TuneVerb::Apply(_) | TuneVerb::Confirm | TuneVerb::Status | TuneVerb::Export(_) => true,
        // Without a name it takes that back itself.
        TuneVerb::Rollback(flags) => flags.kept || flags.id.is_some(),
        TuneVerb::Diff(_) | TuneVerb::Log(_) | TuneVerb::Watch(_) => false,
    };
    if acts {
        acting::take_back_overdue()?;
    }
    match &flags.verb {
        TuneVerb::Diff(flags) => diff::run(flags),
        TuneVerb::Apply(flags) => acting::apply(flags),
        TuneVerb::Confirm => acting::confirm(),
        TuneVerb::Rollback(flags) => acting::rollback(flags),
        TuneVerb::Status => shown::status(),
        TuneVerb::Log(flags) => shown::log(flags.id.as_deref()),
        TuneVerb::Export(flags) => export::run(&read_changes(&flags.file)?, flags.format),
        TuneVerb::Watch(flags) => watching::run(flags),
    }
}

impl PlaceFlags {
    fn root(&self) -> Root {
        root(self.root.as_deref())
    }

    fn space(&self) -> Space {
        match (self.pid, &self.netns) {
            (Some(pid), _) => Space::Pid(pid),
            (None, Some(name)) => Space::Netns(name.clone()),
            (None, None) => Space::Host,
        }
    }
}

fn root(folder: Option<&Path>) -> Root {
    folder.map_or_else(Root::live, Root::captured)
}

pub(crate) fn find(id: &str) -> Option<&'static Knob> {
    knobs::find(id).map(|row| &row.knob)
}

/// Where changes of a machine are made, by the whole catalogue.
pub(crate) fn ground<'a>(root: &'a Root, state: &'a State) -> Ground<'a> {
    Ground { root, state, find: &find }
}

/// The journals of this user.
pub(crate) fn state() -> Result<State, Failure> {
    Ok(State::open(crate::state::folder()?.join("tune"))?)
}

/// Reads a file of changes that nobody else could have written to.
fn read_changes(path: &Path) -> Result<ChangeSet, Failure> {
    let failed = |source| Failure::File { what: "read", path: path.to_owned(), source };
    // The file that is looked at is the one that is read: its path may lead elsewhere by then.
    let mut file = bounded::open(path).map_err(failed)?;
    let metadata = file.metadata().map_err(failed)?;
    let shown = path.display();
    let is_own = metadata.uid() == 0 || metadata.uid() == rustix::process::geteuid().as_raw();
    if !is_own || metadata.mode() & 0o022 != 0 {
        return Err(Failure::usage(format!("others can write to {shown}: chown it to yourself and chmod 600 it")));
    }
    // A pipe of one's own (`<(…)`) has no place of its own.
    if metadata.is_file() {
        own::require_way(path).map_err(|error| error.told(failed))?;
    }
    let text = bounded::named_of(&mut file, FILE_BYTES_MAX).map_err(failed)?;
    let set = serde_json::from_slice(&text)
        .map_err(|error| Failure::usage(format!("{shown} is no file of changes of tune diff: {error}")))?;
    readable(&set)?;
    Ok(set)
}

impl From<TuneError> for Failure {
    fn from(error: TuneError) -> Failure {
        let code = match error {
            TuneError::File(_) | TuneError::Refused { .. } | TuneError::Id(_) | TuneError::Nothing(_) => code::USAGE,
            TuneError::Pending(_) | TuneError::Lapsing(_) => code::USAGE,
            TuneError::Elsewhere { .. } | TuneError::Unseen { .. } => code::USAGE,
            _ => code::MACHINE,
        };
        Failure::Tune { why: error.to_string(), code }
    }
}

#[cfg(test)]
mod tests {
    use clap::{CommandFactory as _, Parser as _};

    use super::*;
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
