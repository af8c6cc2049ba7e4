//! The `linerate` command. Wiring only: flags become plans, rooms are called, outcomes become exit codes.
//!
//! A library only so that fuzz targets can reach what reads files of users; nothing else depends on it.

mod audit;
mod bench;
mod capture;
mod child;
mod clean;
mod cli;
mod compare;
mod config;
mod consent;
mod credentials;
mod experiment;
mod explain;
mod failure;
mod folder;
#[doc(hidden)]
pub mod fuzzing;
mod grid;
mod import;
mod interrupt;
mod knobs;
mod mc;
mod metrics;
mod plan;
mod profile;
mod progress;
mod readings;
mod report;
mod shell;
mod sources;
mod target;
mod timing;
mod trust;
mod tune;
mod warp;

use std::process::ExitCode;

/// Does what the command line asks for.
#[must_use]
pub fn main() -> ExitCode {
    let outcome = config::command_line(std::env::args_os().collect()).and_then(|asked| match asked.verb {
        cli::Verb::Bench(mut flags) => mc::apply(&mut flags).and_then(|()| bench::run(&flags)),
        cli::Verb::Report(flags) => report::run(&flags),
        cli::Verb::Compare(flags) => compare::run(&flags),
        cli::Verb::Plan(flags) => plan::run(&flags),
        cli::Verb::Explain(flags) => explain::run(&flags),
        cli::Verb::Experiment(flags) => experiment::run(&flags),
        cli::Verb::Clean(flags) => clean::run(&flags),
        cli::Verb::Target(flags) => target::run(&flags),
        cli::Verb::Import(flags) => import::run(&flags),
        cli::Verb::Audit(flags) => audit::run(&flags),
        cli::Verb::Capture(flags) => capture::run(&flags),
        cli::Verb::Knobs(flags) => knobs::run(&flags),
        cli::Verb::Tune(flags) => tune::run(&flags),
        cli::Verb::Completions(flags) => shell::completions(&flags),
        cli::Verb::Man(flags) => shell::man(&flags),
    });
    match outcome {
        Ok(code) => code,
        Err(failure) => {
            progress::say(&format!("error: {failure}"));
            failure.exit_code()
        }
    }
}
