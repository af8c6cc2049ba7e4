//! Flags of `linerate compare`.

use std::path::PathBuf;
use std::str::FromStr;

use clap::{Args, ValueEnum};
use linerate_record::units::Share;

use crate::files::output_format::{FormatFlags, ResultFormat};

const COMPARE_HELP: &str = "\
Points are matched by operation, size and requests in flight. Throughput, p50 and p99 of each are tested. All tests
together have an error rate of 5 %: between equal systems, at most one comparison in twenty reports any difference
(Holm). If no difference is shown, the output states the smallest one that the data could show. Method:
docs/method/compare.md.
With fewer than three runs a side nothing is tested, because two runs of the same system, minutes apart, also differ.
Run A B B A A B and give all three of each, or let linerate experiment --with a='FLAGS' --with b='FLAGS' draw the order
and run them. Knees at different concurrencies are reported but not tested.

Examples:
  linerate compare runs/a1,runs/a2,runs/a3 runs/b1,runs/b2,runs/b3
  linerate compare runs/main1,runs/main2,runs/main3 runs/new1,runs/new2,runs/new3 --fail-if-slower 5% --format json
  linerate compare runs/1120-0931-get runs/1121-1402-get
  linerate compare runs/1120-0931-net runs/1121-0930-net
      two runs of linerate net, pair by pair
  linerate compare runs/native1,runs/native2,runs/native3 runs/vxlan1,runs/vxlan2,runs/vxlan3
      blocks of runs of linerate net: what framing explains of their ratio, and the rest

Exit codes:
  0    compared, whatever the result
  1    a file cannot be read or written
  2    a folder is not a run, the two have no point in common, or --fail-if-slower has fewer than three runs a side
  5    with --fail-if-slower: a throughput is shown to be that much lower";

#[derive(Args, Debug)]
#[command(after_help = COMPARE_HELP)]
pub(crate) struct CompareFlags {
    /// Run folder to compare with, or several of the same system: `RUN,RUN`.
    #[arg(value_name = "A")]
    pub(crate) a: Runs,
    /// Run folder to compare, or several.
    #[arg(value_name = "B")]
    pub(crate) b: Runs,
    /// Exit with code 5 if the data shows that B's throughput is lower than A's by more than this share, such as `5%`:
    /// a one-sided test at 5 % over all points, with at least three runs a side. A difference that may be chance does
    /// not count; more runs of B than of A without a request that succeeded do.
    #[arg(long, value_name = "SHARE")]
    pub(crate) fail_if_slower: Option<Share>,
    /// Show every point; without it, a terminal gets those that differ most, on one screen.
    #[arg(long)]
    pub(crate) all: bool,
    #[command(flatten)]
    pub(crate) shown: FormatFlags<CompareFormat>,
    /// File to write. [default: standard output]
    #[arg(long, short, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
}

/// Run folders parted by commas.
#[derive(Clone, Debug)]
pub(crate) struct Runs(pub(crate) Vec<PathBuf>);

impl FromStr for Runs {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let runs: Vec<PathBuf> = text.split(',').filter(|p| !p.is_empty()).map(PathBuf::from).collect();
        match runs.iter().enumerate().find(|(i, run)| runs[..*i].contains(run)) {
            _ if runs.is_empty() => Err(format!("no run folder in {text:?}: name one, such as runs/1120-0931-get")),
            Some((_, run)) => Err(format!("{} is named twice in {text:?}: name each run once", run.display())),
            None => Ok(Runs(runs)),
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum CompareFormat {
    /// For a terminal.
    Text,
    /// The comparison, with a versioned schema.
    Json,
    /// One row per figure compared.
    Csv,
    /// One self-contained file; not for runs of links.
    Html,
}

impl ResultFormat for CompareFormat {
    const JSON: Self = CompareFormat::Json;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_of_runs_are_parted_by_commas_and_hold_each_run_once() {
        assert_eq!("a,b/c".parse::<Runs>().unwrap().0, [PathBuf::from("a"), PathBuf::from("b/c")]);
        for (text, part) in [("", "no run folder"), (",", "no run folder"), ("a,b,a", "a is named twice")] {
            let error = text.parse::<Runs>().unwrap_err();
            assert!(error.contains(part) && error.contains(&format!("{text:?}")), "{error}");
        }
    }
}
