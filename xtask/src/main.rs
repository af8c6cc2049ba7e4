//! Checks of this repository: which crate depends on which, style, counted tests, pages made from rows, parts of a
//! release, and fuzzing.

mod arrows;
mod binaries;
mod count;
mod fuzz;
mod knobs;
mod modules;
mod parts;
mod process;
mod purity;
mod sbom;
mod source;
mod tidy;

use std::env;
use std::error::Error;
use std::process::ExitCode;

/// What a subcommand gives: the exit code of what it judged, all of which it has printed; or why it could not judge.
type Outcome = Result<ExitCode, Box<dyn Error>>;

const USAGE: &str = "usage: cargo xtask COMMAND
  arrows            who depends on whom, crates against the table of rooms and modules without circles; what a room
                    may not name
  tidy              style of every file that git knows or would add
  count LOGFILE...  tests passed, failed and skipped in saved outputs of cargo test and go test -v
  tests [ARGS]      all tests, twice as many at once as there are processors, each binary with these arguments
  parts             the tests that the gate leaves out, part by part: which have passed since the last change
  parts run [NAME...]  runs these, or all that have not, and records them in runs/test-all-DATE
  sbom TRIPLE       what the binary for a target is made of, as CycloneDX
  knobs [--check]   docs/knobs from the rows of the catalogue; --check only says which pages are not current
  fuzz [FLAGS]      what others send, made up by libFuzzer; --help tells its flags";

fn main() -> ExitCode {
    let args: Vec<String> = env::args().skip(1).collect();
    let outcome = match args.split_first().map(|(command, rest)| (command.as_str(), rest)) {
        Some(("arrows", [])) => arrows::run(),
        Some(("tidy", [])) => tidy::run(),
        Some(("count", logs)) => count::run(logs),
        Some(("tests", arguments)) => binaries::run(arguments),
        Some(("parts", [])) => parts::list(),
        Some(("parts", [run, names @ ..])) if run == "run" => parts::run(names),
        Some(("knobs", [])) => knobs::write(),
        Some(("knobs", [check])) if check == "--check" => knobs::check(),
        Some(("sbom", [triple])) => sbom::run(triple),
        Some(("fuzz", flags)) => fuzz::run(flags),
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
