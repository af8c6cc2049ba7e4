//! The `linerate` command. Wiring only: flags become plans, rooms are called, outcomes become exit codes.
//!
//! A library only so that fuzz targets can reach what reads files of users; nothing else depends on it.

mod agent;
mod applying;
mod audit;
mod bench;
mod bodies;
mod bounded;
mod brief;
mod capture;
mod captured;
mod catalogue;
mod changes;
mod child;
mod clean;
mod cleaning;
mod cli;
mod clusters;
mod command_line;
mod compare;
mod config;
mod consent;
mod credentials;
mod draws;
mod endpoint;
mod epilogue;
mod experiment;
mod explain;
mod exposed;
mod failure;
mod fleet;
mod folder;
#[doc(hidden)]
pub mod fuzzing;
mod import;
mod interrupt;
mod iperf3;
mod knobs;
#[cfg(feature = "kube")]
mod kubeconfig;
mod leases;
mod link_rates;
mod links;
mod masks;
mod mc;
mod metrics;
mod mistakes;
mod named;
mod net;
mod observed;
mod offered;
mod open_files;
mod orders;
mod output;
mod own;
mod pages;
mod plan;
mod predicted;
mod printing;
mod processors;
mod profile;
mod progress;
mod reaching;
mod readings;
mod refusal;
mod render;
mod report;
mod rollouts;
mod runs;
mod served;
mod shell;
mod sites;
mod sources;
mod state;
mod target;
mod timing;
mod trust;
mod tune;
mod verbs;
mod views;
mod warp;
mod whole;

use std::process::ExitCode;

use rustix::process::{DumpableBehavior, set_dumpable_behavior};

/// Does what the command line asks for.
#[must_use]
pub fn main() -> ExitCode {
    printing::tell_of_panics();
    let outcome = command_line::read(std::env::args_os().collect()).and_then(|asked| {
        if !matches!(asked.verb, cli::Verb::Target(_)) {
            keep_memory_to_itself();
        }
        verbs::run(asked.verb, command_line::bench_flags)
    });
    match outcome {
        Ok(code) => code,
        Err(failure) => {
            if !matches!(failure, failure::Failure::Outcome { .. }) {
                credentials::keep_those_of_files();
            }
            let typed: Vec<_> = std::env::args_os().skip(1).collect();
            progress::say(&format!("error: {}", printing::with_short_values(&failure.to_string(), &typed)));
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
