//! Flags of the verbs that reason about a site: `plan` and `explain`.

use std::ops::RangeInclusive;
use std::path::PathBuf;
use std::str::FromStr;

use clap::{Args, ValueEnum};
use linerate_model::sizing::{MOST_NODES, Need};
use linerate_record::explanation::{Observed, Quantity};
use linerate_record::units::{ByteRate, Bytes, Share};

const PLAN_HELP: &str = "\
It reads SITE and prints; it asks nothing of the network and changes nothing. Method: docs/method/ceilings.md.

A star marks what rests on a value that nobody stated. The headroom of a ceiling is told in client work: how much more
than today's lowest ceiling the site would give if this resource alone were left.

Examples:
  linerate plan --example > site.yaml
  linerate plan site.yaml
  linerate plan site.yaml --obj.size 64KiB --mix get=70,put=30 --why
  linerate plan site.yaml --nodes 1..484 --need get=1TiB/s,usable=30PB
  linerate plan site.yaml --format html -o plan.html

Exit codes: 0 planned, whatever came of it; 2 where the site has a mistake, each quoted with its line and the fix.";

#[derive(Args, Debug)]
#[command(after_help = PLAN_HELP)]
pub(crate) struct PlanFlags {
    /// File that describes the cluster.
    #[arg(value_name = "SITE", required_unless_present_any = ["example", "schema"])]
    pub(crate) site: Option<PathBuf>,
    /// Print a commented site file to begin with, and nothing else.
    #[arg(long, exclusive = true)]
    pub(crate) example: bool,
    /// Print the JSON Schema of site files, for editors, and nothing else.
    #[arg(long, exclusive = true)]
    pub(crate) schema: bool,
    /// Size of an object. [default: the mean that the site states, or 64MiB]
    #[arg(long = "obj.size", value_name = "SIZE")]
    pub(crate) obj_size: Option<Bytes>,
    /// Plan a mix beside GET and PUT, by its shares of bytes, such as `get=70,put=30`.
    #[arg(long, value_name = "OP=WEIGHT,…")]
    pub(crate) mix: Option<ReadShare>,
    /// Plan this many nodes of the first kind too, each number in a range: where the curve bends, and why.
    #[arg(long, value_name = "FIRST..LAST", value_parser = node_range)]
    pub(crate) nodes: Option<RangeInclusive<u32>>,
    /// Find the fewest nodes of the site's kind that give this: `get=1TiB/s,put=600GiB/s,usable=30PB`, or some of it.
    #[arg(long, value_name = "NEED,…")]
    pub(crate) need: Option<Need>,
    /// Show every ceiling with its formula and what went in, and every value that nobody stated.
    #[arg(long)]
    pub(crate) why: bool,
    /// Format.
    #[arg(long, short, value_enum, default_value_t = SiteFormat::Text)]
    pub(crate) format: SiteFormat,
    /// File to write. [default: standard output]
    #[arg(long, short, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
}

const EXPLAIN_HELP: &str = "\
It changes what the site says, one thing or two at a time, and holds the ceilings of each against what was observed.
What fits within the measuring error is printed with its weight, what nothing fits is named, and so is the one reading
that tells the leading ones apart.

Examples:
  linerate explain --site site.yaml --observed get=152GiB/s,put=81GiB/s --concurrent 1120
  linerate explain --site site.yaml --observed get=48MiB/s --observed get@node1=16MiB/s,get@node3=8.2MiB/s --error 3%
  linerate explain --site site.yaml --run runs/1120-0931-get-put
  linerate explain --site site.yaml --observed get=152GiB/s --nodes nodes.csv --format html -o explanation.html

Exit codes: 0 explained, whether or not anything fits; 2 where the site or a figure has a mistake.";

#[derive(Args, Debug)]
#[command(after_help = EXPLAIN_HELP)]
pub(crate) struct ExplainFlags {
    /// File that describes the cluster, as for plan.
    #[arg(long, value_name = "SITE")]
    pub(crate) site: PathBuf,
    /// Client throughput that was measured once more load gave no more: `get=152GiB/s`, `put=81GiB/s`, of one node
    /// `get@NODE=1.2GiB/s`; where it has an error of its own, `get=152GiB/s+-1%`. May be given several times.
    #[arg(long, value_name = "FIGURE,…", value_delimiter = ',', value_parser = figure)]
    #[arg(required_unless_present_any = ["nodes", "run"])]
    pub(crate) observed: Vec<Observed>,
    /// Requests in flight, of all clients together, while --observed was measured: the figures are held against the
    /// curve that plan predicts, and not against the ceiling alone. A run tells its own.
    #[arg(long, value_name = "N", requires = "observed")]
    #[arg(value_parser = clap::value_parser!(u64).range(1..=1_000_000_000))]
    pub(crate) concurrent: Option<u64>,
    /// Client throughput of single nodes: a CSV file with the columns node, and get or put or both, such as
    /// `node3,1.2GiB/s`.
    #[arg(long, value_name = "FILE")]
    pub(crate) nodes: Option<PathBuf>,
    /// Run folder of bench, whose best GET and PUT are taken at the size of objects that --obj.size names, unless they
    /// are no evidence of the site: that is told with the reason. [default size: its largest]
    #[arg(long, value_name = "RUN")]
    pub(crate) run: Option<PathBuf>,
    /// Standard error that each figure is taken to have, unless it states its own.
    #[arg(long, value_name = "SHARE", default_value = "2%")]
    pub(crate) error: Share,
    /// Size of the objects that were read and written. [default: that of --run, or the mean that the site states]
    #[arg(long = "obj.size", value_name = "SIZE")]
    pub(crate) obj_size: Option<Bytes>,
    /// Format.
    #[arg(long, short, value_enum, default_value_t = SiteFormat::Text)]
    pub(crate) format: SiteFormat,
    /// File to write. [default: standard output]
    #[arg(long, short, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum SiteFormat {
    /// For a terminal.
    Text,
    /// Everything, with a versioned schema.
    Json,
    /// One self-contained file.
    Html,
}

/// Reads `1..484`, and `56` for one number.
fn node_range(text: &str) -> Result<RangeInclusive<u32>, String> {
    let fix = "write FIRST..LAST with 1 at the least, FIRST not above LAST and 4096 at the most, such as 1..484";
    let number = |text: &str| text.trim().parse::<u32>().ok().filter(|nodes| (1..=MOST_NODES).contains(nodes));
    let (first, last) = text.split_once("..").unwrap_or((text, text));
    let ends = number(first).zip(number(last.trim_start_matches('='))).filter(|(first, last)| first <= last);
    ends.map(|(first, last)| first..=last).ok_or_else(|| format!("invalid range {text:?}: {fix}"))
}

/// The share of bytes that is read, of a mix.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct ReadShare(pub(crate) f64);

impl FromStr for ReadShare {
    type Err = String;

    /// Reads `get=70,put=30`.
    fn from_str(text: &str) -> Result<Self, String> {
        let fail = || format!("invalid mix {text:?}: write weights of get and put, such as get=70,put=30");
        let (mut get, mut put) = (None, None);
        for part in text.split(',') {
            let (op, weight) = part.split_once('=').ok_or_else(fail)?;
            let weight = weight.trim().parse::<f64>().ok().filter(|w| w.is_finite() && *w >= 0.0).ok_or_else(fail)?;
            let place = match op.trim() {
                "get" => &mut get,
                "put" => &mut put,
                _ => return Err(fail()),
            };
            if place.replace(weight).is_some() {
                return Err(fail());
            }
        }
        let (get, put) = get.zip(put).filter(|(get, put)| get + put > 0.0).ok_or_else(fail)?;
        Ok(ReadShare(get / (get + put)))
    }
}

/// Reads `get=152GiB/s`, `put@node3=1.2GiB/s`, `get=152GiB/s+-1%`.
fn figure(text: &str) -> Result<Observed, String> {
    let fix = "write get=152GiB/s, put=81GiB/s, or get@NODE=1.2GiB/s of one node";
    let (what, told) = text.split_once('=').ok_or_else(|| format!("no figure in {text:?}: {fix}"))?;
    let (op, node) = match what.trim().split_once('@') {
        Some((op, node)) if !node.trim().is_empty() => (op.trim(), Some(node.trim().to_owned())),
        Some(_) => return Err(format!("no node behind the @ in {text:?}: {fix}")),
        None => (what.trim(), None),
    };
    let what = quantity(op, node).ok_or_else(|| format!("unknown figure {op:?} in {text:?}: {fix}"))?;
    let (rate, error) = match told.split_once("+-").or_else(|| told.split_once('±')) {
        Some((rate, error)) => (rate, Some(error.parse::<Share>().map_err(|e| e.to_string())?.0)),
        None => (told, None),
    };
    let ByteRate(bytes_per_s) = rate.parse().map_err(|e: linerate_record::units::UnitError| e.to_string())?;
    Ok(Observed { what, bytes_per_s, error_share: error, in_flight: None })
}

/// What a figure is of.
pub(crate) fn quantity(op: &str, node: Option<String>) -> Option<Quantity> {
    match (op, node) {
        ("get", None) => Some(Quantity::Get),
        ("put", None) => Some(Quantity::Put),
        ("get", Some(node)) => Some(Quantity::NodeGet { node }),
        ("put", Some(node)) => Some(Quantity::NodePut { node }),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;

    use super::*;
    use crate::cli::Cli;

    #[test]
    fn a_mix_is_read_as_the_share_of_its_bytes_that_is_read() {
        for (text, share) in [("get=70,put=30", 0.7), ("put=3, get=1", 0.25), ("get=1,put=0", 1.0)] {
            assert_eq!(text.parse(), Ok(ReadShare(share)), "{text}");
        }
        for text in
            ["", "get=70", "get=0,put=0", "get=70,stat=30", "get=1,put=-1", "get=1,put=nan", "get=1,get=1,put=1"]
        {
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
    fn figures_are_of_the_site_or_of_a_node_and_may_state_their_error() {
        let mib = f64::from(1 << 20);
        let of_node = |node: &str| Quantity::NodePut { node: node.to_owned() };
        for (text, what, bytes_per_s, error_share) in [
            ("get=152MiB/s", Quantity::Get, 152.0 * mib, None),
            ("put@node-3.rack=1.5MiB/s", of_node("node-3.rack"), 1.5 * mib, None),
            ("put = 1 MB/s +- 0.5%", Quantity::Put, 1e6, Some(0.005)),
            ("get=1MB/s±2%", Quantity::Get, 1e6, Some(0.02)),
        ] {
            assert_eq!(figure(text), Ok(Observed { what, bytes_per_s, error_share, in_flight: None }), "{text}");
        }
        for (text, part) in [
            ("get", "no figure in"),
            ("stat=1MB/s", "unknown figure \"stat\""),
            ("get@=1MB/s", "no node behind the @"),
            ("get=1Gb/s", "capital B"),
            ("get=1GB/s+-x", "invalid share"),
        ] {
            let error = figure(text).unwrap_err();
            assert!(error.contains(part), "{text}: {error}");
        }
    }

    #[test]
    fn examples_of_the_help_parse() {
        let lines = PLAN_HELP.lines().chain(EXPLAIN_HELP.lines()).filter_map(|l| l.strip_prefix("  linerate "));
        let mut parsed = 0;
        for line in lines {
            let words = line.split(" > ").next().unwrap_or_default().split_whitespace();
            Cli::try_parse_from(["linerate"].into_iter().chain(words)).unwrap_or_else(|e| panic!("{line}: {e}"));
            parsed += 1;
        }
        assert_eq!(parsed, 9);
    }
}
