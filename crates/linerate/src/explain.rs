//! `linerate explain`: which deviations from a site fit what was observed.

use std::path::Path;
use std::process::ExitCode;

use linerate_analysis::view::{Measure, Series, View};
use linerate_model::explain::explain;
use linerate_record::explanation::{Observations, Observed, Quantity};
use linerate_record::units::{ByteRate, Bytes};

use crate::bounded;
use crate::cli::{ExplainFlags, SiteFormat, quantity};
use crate::failure::Failure;
use crate::{plan, report};

pub(crate) fn run(flags: &ExplainFlags) -> Result<ExitCode, Failure> {
    let mut site = plan::read_site(&flags.site)?;
    let mut figures = flags.observed.clone();
    let mut object_bytes = flags.obj_size.map(|size| size.0);
    if let Some(folder) = &flags.run {
        let (size, of_run) =
            best_of(&report::view_of(folder)?, object_bytes).ok_or_else(|| nothing_in(folder, flags))?;
        object_bytes = Some(size);
        figures.extend(of_run);
    }
    if let Some(path) = &flags.nodes {
        figures.extend(of_nodes(path)?);
    }
    require_each_once(&figures)?;
    if let Some(size) = object_bytes {
        site.data.object_bytes = size;
    }
    let observations = Observations { figures, error_share: flags.error.0 };
    let explanation = explain(&site, &observations).map_err(Failure::usage)?;
    let rendered = match flags.format {
        SiteFormat::Text => {
            linerate_report::explanation::text(&explanation, report::look_for_file(flags.output.is_some()))
        }
        SiteFormat::Json => linerate_report::explanation::json(&explanation),
        SiteFormat::Html => linerate_report::explanation::html(&explanation),
    };
    plan::put_out(&rendered, flags.output.as_deref())
}

/// The best GET and PUT of a run at one size of objects: the one asked for, or its largest.
fn best_of(view: &View, asked_bytes: Option<u64>) -> Option<(u64, Vec<Observed>)> {
    let size = |series: &Series| series.size.parse::<Bytes>().ok().map(|bytes| bytes.0);
    let known = |series: &&Series| {
        series.measure == Measure::Bytes
            && !series.points.is_empty()
            && ["get", "put"].contains(&series.workload.as_str())
    };
    let chosen = asked_bytes.or_else(|| view.series.iter().filter(known).filter_map(size).max())?;
    let of_size = view.series.iter().filter(known).filter(|series| size(series) == Some(chosen));
    let figures: Vec<Observed> = of_size
        .filter_map(|series| {
            let what = if series.workload == "get" { Quantity::Get } else { Quantity::Put };
            let best = series.points.iter().map(|point| point.bytes_per_s.mean).reduce(f64::max)?;
            (best > 0.0).then_some(Observed { what, bytes_per_s: best, error_share: None })
        })
        .collect();
    if figures.is_empty() { None } else { Some((chosen, figures)) }
}

fn nothing_in(folder: &Path, flags: &ExplainFlags) -> Failure {
    let of_size = flags.obj_size.map_or_else(String::new, |size| format!(" of {size}"));
    Failure::usage(format!(
        "{} has no GET or PUT{of_size} with a throughput: name a run that measured one, or give --observed",
        folder.display()
    ))
}

/// Largest file of figures of nodes: a line for each of 100,000.
const NODES_BYTES_MAX: u64 = 16 << 20;

/// Reads figures of single nodes: columns `node`, and `get` or `put` or both.
fn of_nodes(path: &Path) -> Result<Vec<Observed>, Failure> {
    let wrong = |line: usize, what: String| Failure::usage(format!("{}:{line}: {what}", path.display()));
    let failed = |source| Failure::File { what: "read", path: path.to_owned(), source };
    let text = bounded::text(path, NODES_BYTES_MAX).map_err(failed)?;
    let mut rows = csv::ReaderBuilder::new().trim(csv::Trim::All).from_reader(text.as_bytes());
    let heads = rows.headers().map_err(|e| wrong(1, e.to_string()))?.clone();
    let column = |name: &str| heads.iter().position(|head| head.eq_ignore_ascii_case(name));
    let (Some(name), ops) = (column("node"), ["get", "put"].map(|op| (op, column(op)))) else {
        return Err(wrong(1, "no column \"node\": write a first line such as node,get,put".to_owned()));
    };
    if ops.iter().all(|(_, place)| place.is_none()) {
        return Err(wrong(1, "no column \"get\" or \"put\": write a first line such as node,get,put".to_owned()));
    }
    let mut figures = Vec::new();
    for (i, row) in rows.records().enumerate() {
        let row = row.map_err(|e| wrong(i + 2, e.to_string()))?;
        let line = row.position().map_or(i + 2, |at| usize::try_from(at.line()).unwrap_or(i + 2));
        let node = row.get(name).filter(|node| !node.is_empty());
        let node = node.ok_or_else(|| wrong(line, "no name of a node: write one in the column \"node\"".to_owned()))?;
        for (op, place) in &ops {
            let Some(cell) = place.and_then(|place| row.get(place)).filter(|cell| !cell.is_empty()) else { continue };
            let rate: ByteRate =
                cell.parse().map_err(|e: linerate_record::units::UnitError| wrong(line, e.to_string()))?;
            let what = quantity(op, Some(node.to_owned()));
            figures.extend(what.map(|what| Observed { what, bytes_per_s: rate.0, error_share: None }));
        }
    }
    Ok(figures)
}

fn require_each_once(figures: &[Observed]) -> Result<(), Failure> {
    let twice = figures.iter().enumerate().find(|(i, figure)| figures[..*i].iter().any(|f| f.what == figure.what));
    let Some((_, figure)) = twice else { return Ok(()) };
    let name = match &figure.what {
        Quantity::Get => "get".to_owned(),
        Quantity::Put => "put".to_owned(),
        Quantity::NodeGet { node } => format!("get@{node}"),
        Quantity::NodePut { node } => format!("put@{node}"),
    };
    Err(Failure::usage(format!("{name:?} is given twice: give each figure once, the mean where it was measured often")))
}
