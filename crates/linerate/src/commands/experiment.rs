//! `linerate experiment`: whether something helps.

mod arm_apply;
mod arm_loads;
mod arm_targets;
mod arms;
mod bench_process;
mod cell_result;
mod cells;
mod cleanup;
mod conductor;
mod fingerprint;
pub(crate) mod flags;
mod fleet;
mod folder;
mod found_hosts;
mod output;
mod resume_consent;
mod setting_reach;
mod table_analysis;
mod trial_apply;

use std::process::ExitCode;

use crate::commands::bench::flags::BenchParser;
use crate::terminal::failure::Failure;
use flags::{ExperimentAction, ExperimentFlags};

/// What is wrong with what the flags ask for. Settings are read, none is changed.
pub(crate) fn check(flags: &ExperimentFlags, read: BenchParser) -> Result<(), Failure> {
    if flags.action.is_some() { Ok(()) } else { conductor::check(&flags.run_flags, read) }
}

pub(crate) fn run(flags: &ExperimentFlags, read: BenchParser) -> Result<ExitCode, Failure> {
    match &flags.action {
        Some(ExperimentAction::Analyze(flags)) => table_analysis::analyze_table(flags),
        Some(ExperimentAction::Resume(flags)) => conductor::resume_experiment(flags),
        Some(ExperimentAction::Report(flags)) => output::print_report(flags),
        None => conductor::start_experiment(&flags.run_flags, read),
    }
}
