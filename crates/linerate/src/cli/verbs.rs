//! Each command by its name: what it does with its flags, and what it finds wrong with them before.

use std::process::ExitCode;

use clap::CommandFactory as _;

use crate::cli::definition::{Cli, Verb};
use crate::commands::bench::flags::BenchParser;
use crate::commands::net::flags::NetVerb;
use crate::commands::{
    agent, audit, bench, capture, clean, compare, experiment, explain, fleet, import, knobs, net, plan, render, report,
    runs, shell, target, tune,
};
use crate::terminal::failure::Failure;

/// Does what a verb asks for.
pub(crate) fn run(verb: Verb, read: BenchParser) -> Result<ExitCode, Failure> {
    match verb {
        Verb::Bench(mut flags) => bench::resolve::with_alias(&mut flags).and_then(|()| bench::run(&flags)),
        Verb::Report(flags) => report::run(&flags),
        Verb::Runs(flags) => runs::run(&flags),
        Verb::Compare(flags) => compare::run(&flags),
        Verb::Plan(flags) => plan::run(&flags),
        Verb::Render(flags) => render::run(&flags),
        Verb::Explain(flags) => explain::run(&flags),
        Verb::Experiment(flags) => experiment::run(&flags, read),
        Verb::Clean(flags) => clean::run(&flags),
        Verb::Target(flags) => target::run(&flags),
        Verb::Import(flags) => import::run(&flags),
        Verb::Audit(flags) => audit::run(&flags),
        Verb::Capture(flags) => capture::run(&flags),
        Verb::Knobs(flags) => knobs::run(&flags),
        Verb::Tune(flags) => tune::run(&flags),
        Verb::Agent(flags) => agent::run(&flags),
        Verb::Fleet(flags) => fleet::run(&flags),
        Verb::Net(flags) => match &flags.verb {
            Some(NetVerb::Serve(serve)) => agent::net_server::run(serve),
            None => net::run(&flags),
        },
        Verb::Completions(flags) => shell::completions(&flags, Cli::command()),
        Verb::Man(flags) => shell::man(&flags, Cli::command()),
    }
}

/// What a verb finds wrong with its flags, as far as that can be said without doing what they ask for.
pub(crate) fn check(verb: Verb, read: BenchParser) -> Result<(), Failure> {
    match verb {
        Verb::Bench(mut flags) => bench::resolve::check_with_alias(&mut flags),
        Verb::Report(flags) => report::check(&flags),
        Verb::Clean(flags) => clean::check(&flags),
        Verb::Audit(flags) => audit::check(&flags),
        Verb::Knobs(flags) => knobs::check(&flags),
        Verb::Plan(flags) => plan::check(&flags),
        Verb::Render(flags) => render::check(&flags),
        Verb::Explain(flags) => explain::check(&flags),
        Verb::Compare(flags) => compare::check(&flags),
        Verb::Experiment(flags) => experiment::check(&flags, read),
        Verb::Tune(flags) => tune::check(&flags),
        Verb::Fleet(flags) => fleet::check(&flags),
        _ => Ok(()),
    }
}
