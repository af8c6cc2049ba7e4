//! The `linerate` command. Wiring only: flags become plans, rooms are called, outcomes become exit codes.
//!
//! A library only so that fuzz targets can reach what reads files of users; nothing else depends on it.

mod cli;
mod commands;
mod credentials;
mod files;
#[doc(hidden)]
pub mod fuzzing;
mod remote;
mod run;
mod terminal;

use std::process::ExitCode;

use rustix::process::{DumpableBehavior, set_dumpable_behavior};

use crate::cli::definition::Verb;
use crate::cli::{parse, verbs};
use crate::credentials::keys;
use crate::terminal::{failure, printing, progress};

/// Does what the command line asks for.
#[must_use]
pub fn main() -> ExitCode {
    printing::install_panic_hook();
    let outcome = parse::read(std::env::args_os().collect()).and_then(|requested| {
        if !matches!(requested.verb, Verb::Target(_)) {
            keep_memory_to_itself();
        }
        verbs::run(requested.verb, parse::bench_flags)
    });
    match outcome {
        Ok(code) => code,
        Err(failure) => {
            if !matches!(failure, failure::Failure::Outcome { .. }) {
                keys::remember_keys_of_files();
            }
            let typed: Vec<_> = std::env::args_os().skip(1).collect();
            progress::print_failure(&format!("error: {}", printing::with_short_values(&failure.to_string(), &typed)));
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
