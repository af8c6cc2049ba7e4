//! The `linerate` command. Wiring only: flags become plans, rooms are called, outcomes become exit codes.

mod bench;
mod child;
mod clean;
mod cli;
mod consent;
mod credentials;
mod failure;
mod folder;
mod grid;
mod interrupt;
mod progress;
mod readings;
mod report;
mod sources;
mod target;
mod timing;
mod trust;

use std::process::ExitCode;

use clap::Parser as _;

fn main() -> ExitCode {
    let asked = cli::Cli::parse();
    let outcome = match asked.verb {
        cli::Verb::Bench(flags) => bench::run(&flags),
        cli::Verb::Report(flags) => report::run(&flags),
        cli::Verb::Clean(flags) => clean::run(&flags),
        cli::Verb::Target(flags) => target::run(&flags),
    };
    match outcome {
        Ok(code) => code,
        Err(failure) => {
            progress::say(&format!("error: {failure}"));
            failure.exit_code()
        }
    }
}
