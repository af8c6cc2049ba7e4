//! Flags of `linerate plan`.

use std::ops::RangeInclusive;
use std::path::PathBuf;
use std::str::FromStr;

use clap::Args;
use linerate_model::sizing::{MOST_NODES, Need};
use linerate_record::site::Tolerates;
use linerate_record::units::Bytes;

use crate::files::output_format::{FormatFlags, OutputFormat};
use crate::files::site_file::object_size;

const PLAN_HELP: &str = "\
It only reads SITE: it sends nothing over the network and changes nothing. Method: docs/method/ceilings.md.
A star marks figures that depend on an assumed value. The headroom of a ceiling is in client throughput: how far the
ceiling is above the lowest one.

Examples:
  linerate plan --example > site.yaml
  linerate plan site.yaml
  linerate plan site.yaml --obj.size 64KiB --mix get=70,put=30 --why
  linerate plan site.yaml --nodes 1..484 --need get=1TiB/s,usable=30PB
  linerate plan site.yaml --need usable=30PB --tolerate drives=3,nodes=2
  linerate plan site.yaml --format html -o plan.html

Exit codes:
  0    planned, whatever the result
  1    a file cannot be read or written
  2    the site has mistakes, each quoted with its line and the fix";

#[derive(Args, Debug)]
#[command(after_help = PLAN_HELP)]
pub(crate) struct PlanFlags {
    /// Site file, which describes the cluster.
    #[arg(value_name = "SITE", required_unless_present_any = ["example", "schema"])]
    pub(crate) site: Option<PathBuf>,
    /// Print only a commented site file to start from.
    #[arg(long, exclusive = true)]
    pub(crate) example: bool,
    /// Print only the JSON Schema of site files, for editors.
    #[arg(long, exclusive = true)]
    pub(crate) schema: bool,
    /// Object size. [default: the mean size in the site file, or 64MiB]
    #[arg(long = "obj.size", value_name = "SIZE", value_parser = object_size)]
    pub(crate) obj_size: Option<Bytes>,
    /// Plan a mix in addition to GET and PUT, by shares of bytes, such as `get=70,put=30`.
    #[arg(long, value_name = "OP=WEIGHT,…")]
    pub(crate) mix: Option<ReadShare>,
    /// Plan each number of nodes of the first kind in a range, and show where the curve bends and why.
    #[arg(long, value_name = "FIRST..LAST", value_parser = node_range)]
    pub(crate) nodes: Option<RangeInclusive<u32>>,
    /// Find the smallest number of the site's nodes that meets these needs: `get=1TiB/s,put=600GiB/s,usable=30PB`, or
    /// some of them.
    #[arg(long, value_name = "NEED,…")]
    pub(crate) need: Option<Need>,
    /// Failures that --need has to tolerate: drives that may fail without loss of data, nodes that may be down while
    /// reads and writes continue. [default: the site's goals.tolerates, or drives=2,nodes=1]
    #[arg(long, value_name = "LOSS,…", requires = "need", value_parser = tolerates)]
    pub(crate) tolerate: Option<Tolerates>,
    /// Show everything: each ceiling with its formula and inputs, bonds, layouts, findings, and every assumed value.
    #[arg(long)]
    pub(crate) why: bool,
    #[command(flatten)]
    pub(crate) shown: FormatFlags<OutputFormat>,
    /// File to write. [default: standard output]
    #[arg(long, short, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
}

/// Reads `1..484`, and `56` for one number.
fn node_range(text: &str) -> Result<RangeInclusive<u32>, String> {
    let fix = "write FIRST..LAST from 1 to 4096 with FIRST not above LAST, such as 1..484";
    let number = |text: &str| text.trim().parse::<u32>().ok().filter(|nodes| (1..=MOST_NODES).contains(nodes));
    let (first, last) = text.split_once("..").unwrap_or((text, text));
    let ends = number(first).zip(number(last.trim_start_matches('='))).filter(|(first, last)| first <= last);
    ends.map(|(first, last)| first..=last).ok_or_else(|| format!("invalid range {text:?}: {fix}"))
}

/// Most losses that can be asked for, of either kind: no layout in use tolerates a quarter of it.
const TOLERATED_MAX: u32 = 64;

/// Reads numbers of two names, each once or not at all: `a=1,b=2`.
fn two_numbers<T: FromStr>(text: &str, names: [&str; 2], is_good: impl Fn(&T) -> bool) -> Option<[Option<T>; 2]> {
    let mut numbers = [None, None];
    for part in text.split(',') {
        let (name, number) = part.split_once('=')?;
        let number = number.trim().parse::<T>().ok().filter(&is_good)?;
        let place = names.iter().position(|known| *known == name.trim())?;
        if numbers[place].replace(number).is_some() {
            return None;
        }
    }
    Some(numbers)
}

/// Reads `drives=2,nodes=1`; what is not named stays as it is by default.
fn tolerates(text: &str) -> Result<Tolerates, String> {
    let fail = || {
        format!(
            "invalid losses {text:?}: write drives=N, nodes=N or both, each once and from 0 to {TOLERATED_MAX}, such \
             as drives=2,nodes=1"
        )
    };
    let is_tolerated = |number: &u32| *number <= TOLERATED_MAX;
    let [drives, nodes] = two_numbers(text, ["drives", "nodes"], is_tolerated).ok_or_else(fail)?;
    let usual = Tolerates::default();
    Ok(Tolerates { drives: drives.unwrap_or(usual.drives), nodes: nodes.unwrap_or(usual.nodes) })
}

/// The share of bytes that is read, of a mix.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct ReadShare(pub(crate) f64);

impl FromStr for ReadShare {
    type Err = String;

    /// Reads `get=70,put=30`.
    fn from_str(text: &str) -> Result<Self, String> {
        let fail = || {
            format!(
                "invalid mix {text:?}: write weights of get and put, from 0 to 1000000, such as \
             get=70,put=30"
            )
        };
        // As far as bench takes weights.
        let is_weight = |weight: &f64| (0.0..=1e6).contains(weight);
        let [get, put] = two_numbers(text, ["get", "put"], is_weight).ok_or_else(fail)?;
        let (get, put) = get.zip(put).filter(|(get, put)| get + put > 0.0).ok_or_else(fail)?;
        Ok(ReadShare(get / (get + put)))
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;

    use super::*;
    use crate::cli::definition::Cli;

    #[test]
    fn a_mix_is_read_as_the_share_of_its_bytes_that_is_read() {
        for (text, share) in [("get=70,put=30", 0.7), ("put=3, get=1", 0.25), ("get=1,put=0", 1.0)] {
            assert_eq!(text.parse(), Ok(ReadShare(share)), "{text}");
        }
        for text in [
            "",
            "get=70",
            "get=0,put=0",
            "get=70,stat=30",
            "get=1,put=-1",
            "get=1,put=nan",
            "get=1e308,put=1e308",
            "get=1e7,put=1",
            "get=1,get=1,put=1",
        ] {
            let error = text.parse::<ReadShare>().unwrap_err();
            assert!(error.contains(&format!("{text:?}")) && error.contains("get=70,put=30"), "{error}");
        }
    }

    #[test]
    fn ranges_of_nodes_have_both_ends() {
        for (text, range) in [("1..484", 1..=484), ("4 .. 8", 4..=8), ("3..=5", 3..=5), ("56", 56..=56)] {
            assert_eq!(node_range(text), Ok(range), "{text}");
        }
        for text in ["", "0..4", "8..4", "1..", "..4", "1..5000", "x"] {
            let error = node_range(text).unwrap_err();
            assert!(error.contains(&format!("{text:?}")) && error.contains("1..484"), "{error}");
        }
    }

    #[test]
    fn losses_to_bear_are_named_and_the_others_stay_as_usual() {
        for (text, drives, nodes) in
            [("drives=3,nodes=0", 3, 0), ("nodes = 2", 2, 2), (" drives=0", 0, 1), ("nodes=1,drives=2", 2, 1)]
        {
            assert_eq!(tolerates(text), Ok(Tolerates { drives, nodes }), "{text}");
        }
        for text in ["", "drives", "drives=-1", "drives=65", "racks=1", "nodes=1,nodes=1", "drives=1,"] {
            let error = tolerates(text).unwrap_err();
            assert!(error.contains(&format!("{text:?}")) && error.contains("drives=2,nodes=1"), "{error}");
            assert!(error.contains("from 0 to 64"), "{error}");
        }
    }

    #[test]
    fn examples_of_the_help_parse() {
        let lines = PLAN_HELP.lines().filter_map(|l| l.strip_prefix("  linerate "));
        let mut parsed = 0;
        for line in lines {
            let words = line.split(" > ").next().unwrap_or_default().split_whitespace();
            Cli::try_parse_from(["linerate"].into_iter().chain(words)).unwrap_or_else(|e| panic!("{line}: {e}"));
            parsed += 1;
        }
        assert_eq!(parsed, 6);
    }
}
