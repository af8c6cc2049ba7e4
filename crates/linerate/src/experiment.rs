//! `linerate experiment`: whether something helps.

mod aim;
mod arms;
mod cell;
mod cells;
mod conduct;
mod described;
mod fingerprint;
pub(crate) mod flags;
mod fleet;
mod folder;
mod leavings;
mod load;
mod place;
mod reach;
mod rehearsal;
mod shown;
mod tables;
mod trust;

use std::process::ExitCode;

use crate::bench::flags::Reader;
use crate::failure::Failure;
use flags::{Action, ExperimentFlags};

/// What is wrong with what the flags ask for. Settings are read, none is changed.
pub(crate) fn check(flags: &ExperimentFlags, read: Reader) -> Result<(), Failure> {
    if flags.action.is_some() { Ok(()) } else { conduct::check(&flags.conduct, read) }
}

pub(crate) fn run(flags: &ExperimentFlags, read: Reader) -> Result<ExitCode, Failure> {
    match &flags.action {
        Some(Action::Analyze(flags)) => tables::run(flags),
        Some(Action::Resume(flags)) => conduct::resume(flags),
        Some(Action::Report(flags)) => shown::run(flags),
        None => conduct::begin(&flags.conduct, read),
    }
}
