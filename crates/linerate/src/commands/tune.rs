//! `linerate tune`: changes of settings as a file, applied until confirmed, rolled back, shown, and put in the formats
//! of others.

mod application;
mod diff;
mod export;
pub(crate) mod flags;
mod fleet;
mod foreground;
mod rollback_watch;
mod status;

use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::process::ExitCode;

use linerate_host::apply::readable;
use linerate_record::knob::ChangeSet;

use crate::files::{limited_read, owner_check};
use crate::terminal::failure::Failure;
use flags::{TuneFlags, TuneVerb};

/// The largest file of changes: 20,000 of them with their reasons.
const FILE_BYTES_MAX: u64 = 64 << 20;

/// What is wrong with what the flags ask for. Settings are read, none is changed.
pub(crate) fn check(flags: &TuneFlags) -> Result<(), Failure> {
    match &flags.verb {
        TuneVerb::Diff(flags) => match &flags.fleet_flags.fleet {
            Some(path) => fleet::check_diff(flags, path),
            None => diff::check(flags),
        },
        TuneVerb::Export(flags) => read_changes(&flags.file).map(|_| ()),
        TuneVerb::Apply(_)
        | TuneVerb::Confirm(_)
        | TuneVerb::Rollback(_)
        | TuneVerb::Status(_)
        | TuneVerb::Log(_)
        | TuneVerb::Watch(_) => Ok(()),
    }
}

/// Does what the flags ask for.
pub(crate) fn run(flags: &TuneFlags) -> Result<ExitCode, Failure> {
    if let Some(done) = run_on_fleet(&flags.verb) {
        return done;
    }
    let acts = match &flags.verb {
        TuneVerb::Apply(_) | TuneVerb::Confirm(_) | TuneVerb::Status(_) | TuneVerb::Export(_) => true,
        // Without a name it rolls that back itself.
        TuneVerb::Rollback(flags) => flags.kept || flags.id.is_some(),
        TuneVerb::Diff(_) | TuneVerb::Log(_) | TuneVerb::Watch(_) => false,
    };
    if acts {
        application::roll_back_overdue()?;
    }
    match &flags.verb {
        TuneVerb::Diff(flags) => diff::run(flags),
        TuneVerb::Apply(flags) => application::apply(flags),
        TuneVerb::Confirm(flags) => application::confirm(flags),
        TuneVerb::Rollback(flags) => application::rollback(flags),
        TuneVerb::Status(flags) => status::status(flags.all),
        TuneVerb::Log(flags) => status::log(flags),
        TuneVerb::Export(flags) => export::run(&read_changes(&flags.file)?, flags.format),
        TuneVerb::Watch(flags) => rollback_watch::run(flags),
    }
}

/// Does what a verb asks for on all nodes of a fleet, where one is named.
fn run_on_fleet(verb: &TuneVerb) -> Option<Result<ExitCode, Failure>> {
    Some(match verb {
        TuneVerb::Diff(flags) => fleet::diff(flags, flags.fleet_flags.fleet.as_deref()?),
        TuneVerb::Apply(flags) => fleet::apply(flags, flags.fleet_flags.fleet.as_deref()?),
        TuneVerb::Confirm(flags) => fleet::confirm(flags, flags.fleet_flags.fleet.as_deref()?),
        TuneVerb::Rollback(flags) => fleet::rollback(flags, flags.fleet_flags.fleet.as_deref()?),
        TuneVerb::Status(flags) => fleet::status(flags, flags.fleet_flags.fleet.as_deref()?),
        TuneVerb::Log(_) | TuneVerb::Export(_) | TuneVerb::Watch(_) => return None,
    })
}

/// Reads a file of changes that nobody else could have written to.
fn read_changes(path: &Path) -> Result<ChangeSet, Failure> {
    let text = read_owned(path, FILE_BYTES_MAX)?;
    let set = serde_json::from_slice(&text).map_err(|error| {
        Failure::usage(format!("{} is not a file of changes from tune diff: {error}", path.display()))
    })?;
    readable(&set)?;
    Ok(set)
}

/// Reads a file of at most so many bytes that nobody else could have written to.
fn read_owned(path: &Path, most: u64) -> Result<Vec<u8>, Failure> {
    let failed = |source| Failure::File { what: "read", path: path.to_owned(), source };
    // The file that is looked at is the one that is read: its path may lead elsewhere by then.
    let mut file = limited_read::open_without_waiting(path).map_err(failed)?;
    let metadata = file.metadata().map_err(failed)?;
    let shown = path.display();
    let is_own = metadata.uid() == 0 || metadata.uid() == rustix::process::geteuid().as_raw();
    if !is_own || metadata.mode() & 0o022 != 0 {
        return Err(Failure::usage(format!("others can write to {shown}: chown it to yourself and chmod 600 it")));
    }
    // A pipe of one's own (`<(…)`) has no place of its own.
    if metadata.is_file() {
        owner_check::require_safe_path(path).map_err(|error| error.into_failure(failed))?;
    }
    limited_read::read_open_file(&mut file, most).map_err(failed)
}
