//! The `linerate` command. Wiring only: flags become plans, rooms are called, outcomes become exit codes.
//!
//! A library only so that fuzz targets can reach what reads files of users; nothing else depends on it.

mod audit;
mod bench;
mod bounded;
mod brief;
mod capture;
mod child;
mod clean;
mod cli;
mod compare;
mod config;
mod consent;
mod credentials;
mod endpoint;
mod experiment;
mod explain;
mod exposed;
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
mod named;
mod own;
mod plan;
mod printing;
mod profile;
mod progress;
mod readings;
mod report;
mod runs;
mod shell;
mod sources;
mod state;
mod target;
mod timing;
mod trust;
mod tune;
mod warp;

use std::process::ExitCode;

use rustix::process::{DumpableBehavior, set_dumpable_behavior};

/// Does what the command line asks for.
#[must_use]
pub fn main() -> ExitCode {
    printing::tell_of_panics();
    let outcome = config::command_line(std::env::args_os().collect()).and_then(|asked| {
        if !matches!(asked.verb, cli::Verb::Target(_)) {
            keep_memory_to_itself();
        }
        run(asked.verb)
    });
    match outcome {
        Ok(code) => code,
        Err(failure) => {
            if !matches!(failure, failure::Failure::Outcome { .. }) {
                credentials::keep_those_of_files();
            }
            progress::say(&format!("error: {failure}"));
            failure.exit_code()
        }
    }
}

/// Has the kernel write no core of this process, in which its keys would be, and lets no other process of this user
/// read its memory or its environment. A limit of zero on cores would not do: a program that takes them is not bound by
/// it. A target of linerate's own has keys that live as long as it does, and is looked at by its parent.
fn keep_memory_to_itself() {
    // Where the kernel refuses, a core is the only loss.
    let _ = set_dumpable_behavior(DumpableBehavior::NotDumpable);
}

/// Does what a verb asks for.
fn run(verb: cli::Verb) -> Result<ExitCode, failure::Failure> {
    match verb {
        cli::Verb::Bench(mut flags) => mc::apply(&mut flags).and_then(|()| bench::run(&flags)),
        cli::Verb::Report(flags) => report::run(&flags),
        cli::Verb::Runs(flags) => runs::run(&flags),
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
    }
}
