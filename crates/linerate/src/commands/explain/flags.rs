//! Flags of `linerate explain`.

use std::path::{Path, PathBuf};

use clap::Args;
use linerate_model::explain::wrong_error;
use linerate_record::explanation::{Observed, Quantity};
use linerate_record::units::{ByteRate, Bytes, Share};

use super::source_flags::{READING_FLAGS, SourceFlags};
use crate::files::output_format::{FormatFlags, OutputFormat};
use crate::files::site_file::object_size;

const EXPLAIN_HELP: &str = "\
It changes one or two values of the site at a time and compares the resulting ceilings with the measurements. It prints
the hypotheses that fit within the measuring error with their weights, the figures that none of them explains, and the
one reading that distinguishes the leading ones. Weights compare the hypotheses; they are not probabilities that a cause
is real.

Examples:
  linerate explain site.yaml --observed get=152GiB/s,put=81GiB/s --concurrent 1120 --why
  linerate explain site.yaml --observed get@node1=16MiB/s,get@node2=16MiB/s,get@node3=8.2MiB/s --nodes-alone
  linerate explain site.yaml --run runs/1120-0931-get-put
  linerate explain site.yaml --observed get=152GiB/s --nodes nodes.csv --format html -o explanation.html
  linerate explain site.yaml --prometheus http://prometheus:9090 --from now-2h --to now-1h --record readings.json
  linerate explain site.yaml --live --fleet fleet.yaml --for 60s
  linerate explain site.yaml --live --fleet fleet.yaml --engine-metrics http://{name}:9000/minio/metrics/v3/api/requests
  linerate explain site.yaml --replay readings.json --why

Exit codes:
  0    explained, whether or not anything fits
  1    a file cannot be read or written
  2    the site or a figure has mistakes, each quoted; --run is not a run folder, or not evidence for this site
  3    the server of --prometheus is not reached, or refuses; no storage node of --fleet is reached
  130  interrupted; what --live had read was explained, where that was enough";

#[derive(Args, Debug)]
#[command(after_help = EXPLAIN_HELP)]
pub(crate) struct ExplainFlags {
    /// Site file of the cluster, as for plan.
    #[arg(value_name = "SITE", required_unless_present = "site")]
    site_file: Option<PathBuf>,
    /// The same as SITE, under the name that other commands use.
    #[arg(long, value_name = "SITE", conflicts_with = "site_file")]
    site: Option<PathBuf>,
    /// Measured client throughput at saturation: `get=152GiB/s`, `put=81GiB/s`, for one node `get@NODE=1.2GiB/s`, with
    /// its own standard error `get=152GiB/s+-1%`. May be given several times.
    #[arg(long, value_name = "FIGURE,…", value_parser = figures, conflicts_with_all = READING_FLAGS)]
    pub(crate) observed: Vec<ObservedList>,
    /// Requests in flight, of all clients together, while --observed was measured: the figures are compared with the
    /// curve that plan predicts, not only with the ceiling. A run has its own.
    #[arg(long, value_name = "N", conflicts_with_all = READING_FLAGS)]
    #[arg(value_parser = clap::value_parser!(u64).range(1..=1_000_000_000))]
    pub(crate) concurrent: Option<u64>,
    /// Client throughput per node: a CSV file with the columns node, and get or put or both, such as `node3,1.2GiB/s`.
    #[arg(long, value_name = "FILE", conflicts_with_all = READING_FLAGS)]
    pub(crate) nodes: Option<PathBuf>,
    /// Each node was measured separately, one after the other: the per-node figures are not added up. Each is compared
    /// with what that node can give alone, and with the figures of other nodes of its kind. This weighs causes at one
    /// or two nodes, but not causes that all nodes share. Without this flag, they are the parts of one load over all
    /// nodes. It needs per-node figures, from --observed, --nodes or the hosts of --run.
    #[arg(long, conflicts_with_all = READING_FLAGS)]
    pub(crate) nodes_alone: bool,
    /// Run folder of bench. Its best GET and PUT at the object size of --obj.size (without it, at the largest size) are
    /// compared with the curve at their concurrency, and so are the figures per host if its hosts are the nodes of the
    /// site. A figure with a wide interval counts with that width, up to ± 50 %. Figures that are not evidence for the
    /// site, such as one with a critical finding, are left out, and listed with the reason.
    #[arg(long, value_name = "RUN", conflicts_with_all = READING_FLAGS)]
    pub(crate) run: Option<PathBuf>,
    /// Also use figures of --run that other programs disturbed. The answer says so: the site may be faster.
    #[arg(long, requires = "run")]
    pub(crate) allow_disturbed: bool,
    #[command(flatten)]
    pub(crate) source: SourceFlags,
    /// Standard error of each figure that does not state its own. [default: 2%, and 10% for a figure of --run without a
    /// confidence interval]
    #[arg(long, value_name = "SHARE", value_parser = error_share, conflicts_with_all = READING_FLAGS)]
    pub(crate) error: Option<Share>,
    /// Size of the objects that were read and written. [default: that of --run, or the mean that the site states]
    #[arg(long = "obj.size", value_name = "SIZE", value_parser = object_size)]
    pub(crate) obj_size: Option<Bytes>,
    /// Show everything: what each hypothesis predicts for each figure, the reading that confirms it, its risks, what
    /// the next reading would show under each, and every caveat.
    #[arg(long)]
    pub(crate) why: bool,
    #[command(flatten)]
    pub(crate) shown: FormatFlags<OutputFormat>,
    /// File to write. [default: standard output]
    #[arg(long, short, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
}

impl ExplainFlags {
    /// The site file, however it was named.
    pub(crate) fn site(&self) -> &Path {
        self.site_file.as_deref().or(self.site.as_deref()).unwrap_or(Path::new(""))
    }

    /// The figures of --observed, in order.
    pub(crate) fn figures(&self) -> Vec<Observed> {
        self.observed.iter().flat_map(|ObservedList(figures)| figures).cloned().collect()
    }
}

/// The figures of one `--observed`.
#[derive(Clone, Debug)]
pub(crate) struct ObservedList(Vec<Observed>);

/// Reads figures separated by commas, or says what is wrong with each that is.
fn figures(text: &str) -> Result<ObservedList, String> {
    let (mut figures, mut mistakes) = (Vec::new(), Vec::new());
    for one in text.split(',') {
        match figure(one) {
            Ok(figure) => figures.push(figure),
            Err(mistake) => mistakes.push(mistake),
        }
    }
    if mistakes.is_empty() { Ok(ObservedList(figures)) } else { Err(mistakes.join("; ")) }
}

/// Reads `get=152GiB/s`, `put@node3=1.2GiB/s`, `get=152GiB/s+-1%`.
fn figure(text: &str) -> Result<Observed, String> {
    let fix = "write get=152GiB/s, put=81GiB/s, or get@NODE=1.2GiB/s of one node";
    let (what, reported) = text.split_once('=').ok_or_else(|| format!("no figure in {text:?}: {fix}"))?;
    let (op, node) = match what.trim().split_once('@') {
        Some((op, node)) if !node.trim().is_empty() => (op.trim(), Some(node.trim().to_owned())),
        Some(_) => return Err(format!("no node behind the @ in {text:?}: {fix}")),
        None => (what.trim(), None),
    };
    let what = figure_quantity(op, node).ok_or_else(|| format!("unknown figure {op:?} in {text:?}: {fix}"))?;
    let none = || format!("no throughput in {text:?}: give one above 0, such as get=152GiB/s");
    let (rate, error) = match reported.split_once("+-").or_else(|| reported.split_once('±')) {
        Some((rate, error)) => (rate, Some(error_share(error).map_err(|why| format!("{text:?}: {why}"))?.0)),
        None => (reported, None),
    };
    if is_negative(rate) {
        return Err(none());
    }
    let ByteRate(bytes_per_s) = rate.parse().map_err(|e: linerate_record::units::UnitError| e.to_string())?;
    if bytes_per_s <= 0.0 {
        return Err(none());
    }
    Ok(Observed { what, bytes_per_s, error_share: error, in_flight: None })
}

/// Whether a throughput is written as one below 0, which its unit does not make wrong.
pub(crate) fn is_negative(rate: &str) -> bool {
    let below = rate.trim().strip_prefix(['-', '−']);
    below.is_some_and(|above| above.parse::<ByteRate>().is_ok())
}

/// Reads a standard error that a figure may have.
fn error_share(text: &str) -> Result<Share, String> {
    let read = text.parse::<Share>();
    // What is a number and no share is out of range, like others.
    let trimmed = text.trim();
    let (number, whole) = trimmed.strip_suffix('%').map_or((trimmed, 1.0), |percent| (percent.trim(), 100.0));
    let number = number.parse::<f64>().ok().filter(|number| number.is_finite()).map(|number| number / whole);
    match (number.and_then(wrong_error), read) {
        (Some(why), _) => Err(why),
        (None, read) => read.map_err(|error| error.to_string()),
    }
}

/// What a figure is of.
pub(crate) fn figure_quantity(op: &str, node: Option<String>) -> Option<Quantity> {
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
    use crate::cli::definition::Cli;

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
            ("get=1GB/s+-50%", "\"get=1GB/s+-50%\": a measuring error of 50 % is out of range"),
            ("get=1GB/s+-0", "a measuring error of 0 % is out of range: write 0.05 % to 30 %"),
            ("get=1GB/s+-0.0001%", "a measuring error of 0.0001 % is out of range"),
            ("get=-1GiB/s", "no throughput in \"get=-1GiB/s\": give one above 0"),
            ("get=0GB/s", "no throughput in \"get=0GB/s\": give one above 0"),
        ] {
            let error = figure(text).unwrap_err();
            assert!(error.contains(part), "{text}: {error}");
        }
    }

    #[test]
    fn each_figure_of_a_list_that_is_none_is_told() {
        let error = figures("get=0GB/s,put=nanGB/s,get@n1=1GB/s").unwrap_err();
        assert!(error.contains("\"get=0GB/s\"") && error.contains("\"nanGB/s\""), "{error}");
    }

    #[test]
    fn examples_of_the_help_parse() {
        let lines = EXPLAIN_HELP.lines().filter_map(|l| l.strip_prefix("  linerate "));
        let mut parsed = 0;
        for line in lines {
            let words = line.split(" > ").next().unwrap_or_default().split_whitespace();
            Cli::try_parse_from(["linerate"].into_iter().chain(words)).unwrap_or_else(|e| panic!("{line}: {e}"));
            parsed += 1;
        }
        assert_eq!(parsed, 8);
    }
}
