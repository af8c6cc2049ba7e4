//! `linerate explain`: which deviations from a site fit what was observed.

mod evidence;

use std::path::Path;
use std::process::ExitCode;

use linerate_model::explain::explain;
use linerate_record::explanation::{Observations, Observed, Quantity};
use linerate_record::units::ByteRate;

use crate::bounded;
use crate::cli::{ExplainFlags, SiteFormat, quantity};
use crate::failure::Failure;
use crate::progress::say;
use crate::{plan, report};

pub(crate) fn run(flags: &ExplainFlags) -> Result<ExitCode, Failure> {
    let mut site = plan::read_site(&flags.site)?;
    let mut figures = flags.observed.clone();
    figures.iter_mut().for_each(|figure| figure.in_flight = flags.concurrent);
    let mut object_bytes = flags.obj_size.map(|size| size.0);
    if let Some(folder) = &flags.run {
        let view = report::view_of(folder)?;
        let refused = |why: &[String]| Failure::usage(format!("{}: {}", folder.display(), why.join("; ")));
        evidence::of_run(&view, &site).map_err(|why| refused(&[why]))?.iter().for_each(|note| say(note));
        let size = object_bytes.or_else(|| evidence::largest(&view)).ok_or_else(|| nothing_in(folder, flags))?;
        let found = evidence::figures(&view, &site, size).ok_or_else(|| nothing_in(folder, flags))?;
        if found.figures.is_empty() {
            return Err(refused(&found.refused));
        }
        found.refused.iter().for_each(|why| say(&format!("note: left out: {why}")));
        object_bytes = Some(size);
        figures.extend(found.figures);
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
            figures.extend(what.map(|what| Observed { what, bytes_per_s: rate.0, error_share: None, in_flight: None }));
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
