//! What this repository holds itself to: who depends on whom, style, counted tests, pages made from rows, and the cost
//! of the wire loop.

mod again;
mod arrows;
mod bench;
mod binaries;
mod code_map;
mod count;
mod fuzz;
mod knobs;
mod kubernetes;
mod links;
mod median;
mod modules;
mod parts;
mod placed;
mod process;
mod processes;
mod purity;
mod sbom;
mod scale;
mod source;
mod streams;
mod tidy;
mod worlds;

use std::env;
use std::error::Error;
use std::process::ExitCode;

/// What a subcommand gives: the exit code of what it judged, all of which it has printed; or why it could not judge.
type Outcome = Result<ExitCode, Box<dyn Error>>;

const USAGE: &str = "usage: cargo xtask COMMAND
  arrows            who depends on whom, crates against the table of rooms and modules without circles; what a room
                    may not name; the map of files
  tidy              style of every file that git knows or would add
  count LOGFILE...  tests passed, failed and skipped in saved outputs of cargo test
  tests [ARGS]      all tests, as many at once as there are processors, each binary with these arguments
  parts             the tests that the gate leaves out, part by part: which have passed since the last change
  parts run [NAME...]  runs these, or all that have not, and records them in runs/test-all-DATE
  again LOG TARGET  the tests that failed in a saved output once more, each alone, by make TARGET
  bench [FLAGS]     client processor time against a bare epoll loop, wrk and warp; --help tells its flags
  sbom TRIPLE       what the binary for a target is made of, as CycloneDX
  knobs [--check]   docs/knobs from the rows of the catalogue; --check only says which pages are not current
  fuzz [FLAGS]      what others send, made up by libFuzzer; --help tells its flags
  worlds FOLDER [N] estimators and verdicts in N drawings of each world whose truth is known, as tables in a folder
  readings FOLDER [N]  what `explain` makes of readings with N drawings of each cause that is known, as tables
  soak [FLAGS]      a long run against MinIO: memory stays level, counts are the server's; --help tells its flags
  scale [FLAGS]     a coordinator of a thousand agents: its processor time and memory; --help tells its flags
  streams [FLAGS]   hundreds of exec streams through a real API server: what they cost; --help tells its flags
  links [FLAGS]     linerate net beside iperf3: processor time per GiB of both ends; --help tells its flags
  placed [FLAGS]    what render writes for hundreds of nodes, through a real scheduler; --help tells its flags";

fn main() -> ExitCode {
    let args: Vec<String> = env::args().skip(1).collect();
    let outcome = match args.split_first().map(|(command, rest)| (command.as_str(), rest)) {
        Some(("arrows", [])) => arrows::run(),
        Some(("tidy", [])) => tidy::run(),
        Some(("count", logs)) => count::run(logs),
        Some(("tests", arguments)) => binaries::run(arguments),
        Some(("parts", [])) => parts::list(),
        Some(("parts", [run, names @ ..])) if run == "run" => parts::run(names),
        Some(("again", [log, target])) => again::run(log, target),
        Some(("knobs", [])) => knobs::write(),
        Some(("knobs", [check])) if check == "--check" => knobs::check(),
        Some(("sbom", [triple])) => sbom::run(triple),
        Some(("bench", flags)) => bench::run(flags).map(|()| ExitCode::SUCCESS),
        Some(("fuzz", flags)) => fuzz::run(flags),
        Some(("worlds", [folder])) => worlds::run(folder, None),
        Some(("worlds", [folder, runs])) => worlds::run(folder, Some(runs)),
        Some(("readings", [folder])) => worlds::run_readings(folder, None),
        Some(("readings", [folder, runs])) => worlds::run_readings(folder, Some(runs)),
        Some(("soak", flags)) => bench::soak::run(flags),
        Some(("scale", flags)) => scale::run(flags),
        // What `scale` starts for each of its agents.
        Some(("scale-bridge", [socket])) => scale::bridge(socket).map(|()| ExitCode::SUCCESS),
        Some(("streams", [help])) if help == "--help" => {
            println!("{}", streams::USAGE);
            Ok(ExitCode::SUCCESS)
        }
        Some(("streams", flags)) => streams::run(flags),
        Some(("links", [help])) if help == "--help" => {
            println!("{}", links::USAGE);
            Ok(ExitCode::SUCCESS)
        }
        Some(("links", flags)) => links::run(flags),
        Some(("placed", [help])) if help == "--help" => {
            println!("{}", placed::USAGE);
            Ok(ExitCode::SUCCESS)
        }
        Some(("placed", flags)) => placed::run(flags),
        // As which it is started by exec.
        Some(("agent", [attach])) if attach == "attach" => streams::agent(),
        Some((command, _)) => {
            Err(format!("{command:?} is no command, or has arguments it does not take\n{USAGE}").into())
        }
        None => Err(USAGE.into()),
    };
    outcome.unwrap_or_else(|error| {
        eprintln!("error: {error}");
        ExitCode::FAILURE
    })
}

/// Success where nothing was found.
fn success_if(good: bool) -> ExitCode {
    if good { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
