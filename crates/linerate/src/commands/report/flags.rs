//! Flags of `linerate report`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use linerate_record::threshold::Threshold;

use crate::files::output_format::{FormatFlags, ResultFormat};
use crate::files::site_update::SitePlane;

const REPORT_HELP: &str = "\
Examples:
  linerate report
      the latest run below runs/
  linerate report runs/1120-0931-get --format csv
  linerate report runs/1120-0931-net --into site.yaml --dry-run
  linerate report runs/1120-0931-net --fail-if 'goodput<20Gb/s' --fail-if 'slow>0' --fail-if 'errors>0'
  linerate report runs/nightly --fail-if 'get.throughput<1GiB/s' --fail-if 'errors>0.1%' --format junit -o junit.xml

Exit codes:
  0    rendered
  1    a file cannot be read or written
  2    the folder is not a run folder, or a threshold matches none of its series
  5    a threshold of --fail-if is missed";

/// Formats of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum RunFormat {
    /// For a terminal.
    Text,
    /// The view, with a versioned schema.
    Json,
    /// One row per point, and one per operation of a mix.
    Csv,
    /// One self-contained file.
    Html,
    /// JUnit's XML: whether requests succeeded, and a case for each threshold of --fail-if.
    Junit,
    /// Of a run of linerate net: gauges for Prometheus, as its --metrics serves them.
    Openmetrics,
}

impl ResultFormat for RunFormat {
    const JSON: Self = RunFormat::Json;
}

#[derive(Args, Debug)]
#[command(after_help = REPORT_HELP)]
pub(crate) struct ReportFlags {
    /// Run folder. [default: the latest below runs/]
    #[arg(value_name = "RUN")]
    pub(crate) run: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) shown: FormatFlags<RunFormat>,
    /// File to write. [default: standard output; report.html in the run folder for html]
    #[arg(long, short, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    /// Title to show instead of the run's own title or name.
    #[arg(long, value_name = "TEXT")]
    pub(crate) title: Option<String>,
    /// Site file of the cluster that was loaded, as for linerate plan: its predicted curve is drawn next to the
    /// measurements. [default: the run's copy, if bench was given one]
    #[arg(long, value_name = "FILE")]
    pub(crate) site: Option<PathBuf>,
    /// End with code 5 if this is true: `[OPERATION.]throughput<RATE` for the best throughput of each size,
    /// `[OPERATION.]p99>TIME` (p50, p90, p99, p99.9) for the latency there, or `[OPERATION.]errors>SHARE` for all
    /// requests, including those of warm-ups. Of a run of linerate net:
    /// `goodput<RATE` for the slowest pair (requests and connections: `throughput<NUMBER/s`), `errors>SHARE` for
    /// measurements of pairs that failed, `loss>SHARE` for the pair that loses most, and `slow>NUMBER` for machines and
    /// pairs that are slow beyond chance. May be given several times.
    #[arg(long, value_name = "THRESHOLD")]
    pub(crate) fail_if: Vec<Threshold>,
    /// Of a run of linerate bench: show every visit, and the readings and remedies behind each sentence.
    #[arg(long)]
    pub(crate) why: bool,
    /// Of a run of linerate net: show a row for each machine and pair.
    #[arg(long)]
    pub(crate) all: bool,
    /// Of a run of linerate net: site file to update with the MTU and the IP version that were read, and with the
    /// oversubscription of racks that was measured. Prints the changed lines instead of a report.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["format", "json", "output", "all", "fail_if"])]
    pub(crate) into: Option<PathBuf>,
    /// Plane of that site that was measured. [default: the only one]
    #[arg(long, value_name = "PLANE", value_enum, requires = "into")]
    #[arg(conflicts_with_all = ["format", "json", "output", "all", "fail_if"])]
    pub(crate) plane: Option<SitePlane>,
    /// With --into: print the lines that would change, and write nothing.
    #[arg(long, requires = "into", conflicts_with_all = ["format", "json", "output", "all", "fail_if"])]
    pub(crate) dry_run: bool,
}
