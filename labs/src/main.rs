//! Experiments of the workshop: the processor time and memory of linerate next to other programs, on servers, links and
//! clusters, and how often its estimators and verdicts are right. Their results are folders below `runs`.

mod bench;
mod corpus;
mod kubernetes;
mod links;
mod median;
mod pod_placement;
mod process;
mod processes;
mod scale;
mod simulated_worlds;
mod streams;

use std::env;
use std::error::Error;
use std::process::ExitCode;

/// The exit code of an experiment that ended, which has printed its result; or why it did not end.
type Outcome = Result<ExitCode, Box<dyn Error>>;

const USAGE: &str = "usage: cargo labs COMMAND
  bench [FLAGS]        client processor time against a bare epoll loop, wrk and warp; --help lists its flags
  soak [FLAGS]         a long run against MinIO: memory stays level, counts are the server's; --help lists its flags
  scale [FLAGS]        a coordinator of a thousand agents: its processor time and memory; --help lists its flags
  streams [FLAGS]      hundreds of exec streams through a real API server: their cost; --help lists its flags
  links [FLAGS]        linerate net beside iperf3: processor time per GiB of both ends; --help lists its flags
  placed [FLAGS]       what render writes for hundreds of nodes, through a real scheduler; --help lists its flags
  worlds FOLDER [N]    estimators and verdicts in N drawings of each world whose truth is known, as tables in a folder
  corpus COMMAND       real clusters in which something is planted, for explain to be held against; --help says how
  readings FOLDER [N]  what `explain` makes of readings with N drawings of each cause that is known, as tables";

fn main() -> ExitCode {
    let args: Vec<String> = env::args().skip(1).collect();
    let outcome = match args.split_first().map(|(command, rest)| (command.as_str(), rest)) {
        Some(("bench", flags)) => bench::run(flags).map(|()| ExitCode::SUCCESS),
        Some(("soak", flags)) => bench::soak::run(flags),
        Some(("scale", flags)) => scale::run(flags),
        // What `scale` starts for each of its agents.
        Some(("scale-bridge", [socket])) => scale::bridge(socket).map(|()| ExitCode::SUCCESS),
        Some(("streams", [help])) if help == "--help" => help_of(streams::USAGE),
        Some(("streams", flags)) => streams::run(flags),
        Some(("links", [help])) if help == "--help" => help_of(links::USAGE),
        Some(("links", flags)) => links::run(flags),
        Some(("placed", [help])) if help == "--help" => help_of(pod_placement::USAGE),
        Some(("placed", flags)) => pod_placement::run(flags),
        Some(("corpus", args)) => corpus::run(args),
        Some(("worlds", [folder])) => simulated_worlds::run(folder, None),
        Some(("worlds", [folder, runs])) => simulated_worlds::run(folder, Some(runs)),
        Some(("readings", [folder])) => simulated_worlds::run_readings(folder, None),
        Some(("readings", [folder, runs])) => simulated_worlds::run_readings(folder, Some(runs)),
        // What `streams` starts through exec, in place of linerate.
        Some(("agent", [attach])) if attach == "attach" => streams::agent(),
        Some((command, _)) => {
            Err(format!("{command:?} is no command, or has arguments that it does not take\n{USAGE}").into())
        }
        None => Err(USAGE.into()),
    };
    outcome.unwrap_or_else(|error| {
        eprintln!("error: {error}");
        ExitCode::FAILURE
    })
}

/// Prints the usage of a command.
fn help_of(usage: &str) -> Outcome {
    println!("{usage}");
    Ok(ExitCode::SUCCESS)
}

/// Success if everything held.
fn success_if(good: bool) -> ExitCode {
    if good { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
