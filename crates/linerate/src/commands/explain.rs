//! `linerate explain`: which deviations from a site fit what was observed.

mod anonymized;
mod engine_metrics;
pub(crate) mod flags;
mod live_readings;
mod readings;
pub(crate) mod source_flags;
mod time_arguments;

use std::collections::BTreeSet;
use std::path::Path;
use std::process::ExitCode;

use linerate_analysis::evidence::{Caveat, Evidence, EvidenceSelection, MinimumError, of_run};
use linerate_analysis::view::View;
use linerate_model::diagnosis::diagnose;
use linerate_model::error::ModelError;
use linerate_model::explain::explain;
use linerate_record::diagnosis::Diagnosis;
use linerate_record::explanation::{Explanation, Observations, Observed, Quantity};
use linerate_record::site::{Site, key};
use linerate_record::units::ByteRate;
use linerate_site::SiteFile;

use crate::files::output_format::OutputFormat;
use crate::files::{limited_read, output_file, output_format, run_view, site_file};
use crate::terminal::failure::{Failure, code};
use crate::terminal::printing;
use flags::{ExplainFlags, figure_quantity, is_negative};
use source_flags::{LiveWindow, SourceFlags};

/// What is wrong with the files that the flags name.
pub(crate) fn check(flags: &ExplainFlags) -> Result<(), Failure> {
    read_inputs(flags).map(drop)
}

/// What the flags name, or everything that is wrong with them and with that.
fn read_inputs(flags: &ExplainFlags) -> Result<(SiteWithFile, Option<View>, Vec<Observed>), Failure> {
    match (require_figures(flags), read_sources(flags)) {
        (Ok(()), Ok(read_sources)) => Ok(read_sources),
        (flagged, read_sources) => Err(Failure::combine([flagged.err(), read_sources.err()])),
    }
}

/// Refuses flags that give no figure, and a concurrency of none.
fn require_figures(flags: &ExplainFlags) -> Result<(), Failure> {
    if !flags.source.has_readings() && !flags.source.link.is_empty() {
        return Err(Failure::usage(
            "--link says which interface of readings carries a plane, and there are none: leave it out, or give \
             --prometheus URL, --live or --replay FILE",
        ));
    }
    if let Some(wrong) = source_flags::conflicting_links(&flags.source.link) {
        return Err(Failure::usage(wrong));
    }
    if flags.source.has_readings() {
        return readings::check_window(&flags.source);
    }
    if flags.observed.is_empty() && flags.nodes.is_none() && flags.run.is_none() {
        return Err(Failure::usage(
            "no figures given: give --observed get=152GiB/s, --nodes FILE with per-node figures, --run RUN, or \
             --prometheus URL --from TIME for what was recorded of the cluster, or --live --fleet FLEET for what it \
             does now",
        ));
    }
    if flags.observed.is_empty() && flags.concurrent.is_some() {
        return Err(Failure::usage(
            "--concurrent belongs to --observed, and there is none: a run states its own concurrency, and figures of \
             --nodes are compared with ceilings only: leave it out",
        ));
    }
    Ok(())
}

/// The site and its file.
type SiteWithFile = (Site, SiteFile);

/// The site, the run and the figures of nodes that the flags name; what is wrong with any is reported at once.
fn read_sources(flags: &ExplainFlags) -> Result<(SiteWithFile, Option<View>, Vec<Observed>), Failure> {
    let site = site_file::read_site_file(flags.site());
    let view = flags.run.as_deref().map(run_view::read_view).transpose();
    let nodes = flags.nodes.as_deref().map_or(Ok(Vec::new()), read_node_figures);
    match (site, view, nodes) {
        (Ok(site), Ok(view), Ok(nodes)) => Ok((site, view, nodes)),
        (site, view, nodes) => Err(Failure::combine([site.err(), view.err(), nodes.err()])),
    }
}

pub(crate) fn run(flags: &ExplainFlags) -> Result<ExitCode, Failure> {
    let ((mut site, file), view, of_nodes) = read_inputs(flags)?;
    if flags.source.has_readings() {
        if let Some(size) = flags.obj_size {
            site.data.object_bytes = size.0;
            site.assumed.remove(key::DATA_OBJECT_SIZE);
        }
        return explain_readings(flags, &site, &file);
    }
    let mut figures = flags.figures();
    figures.iter_mut().for_each(|figure| figure.in_flight = flags.concurrent);
    let mut object_bytes = flags.obj_size.map(|size| size.0);
    let (mut remarks, mut left_out) = (Vec::new(), Vec::new());
    if let (Some(folder), Some(view)) = (&flags.run, &view) {
        let found = run_evidence(folder, view, flags, &site)?;
        object_bytes = Some(found.object_bytes);
        // What its figures rest on decides whether they are of the site at all: it comes with them.
        let (spoiled, others): (Vec<&Caveat>, Vec<&Caveat>) =
            found.caveats.iter().partition(|caveat| matches!(caveat, Caveat::Disturbed { .. }));
        remarks.extend(spoiled.into_iter().map(linerate_report::evidence::caveat));
        remarks.extend(found.remarks.iter().map(linerate_report::evidence::remark));
        remarks.extend(others.into_iter().map(linerate_report::evidence::caveat));
        left_out.extend(found.left_out.iter().map(linerate_report::evidence::left_out));
        figures.extend(found.figures);
    }
    figures.extend(of_nodes);
    if flags.nodes_alone && !figures.iter().any(is_node_figure) {
        return Err(Failure::usage(
            "--nodes-alone describes per-node figures, and there are none: give them with --nodes FILE or --observed \
             get@NODE=1.2GiB/s, or leave --nodes-alone out",
        ));
    }
    if let Some(size) = object_bytes {
        site.data.object_bytes = size;
        // What was measured is stated, whatever the site says.
        site.assumed.remove(key::DATA_OBJECT_SIZE);
    }
    let observations =
        Observations { figures, error_share: least_figure_error(flags).share, nodes_alone: flags.nodes_alone };
    let explanation = explain(&site, &observations).map_err(|error| match error {
        ModelError::Observed(faults) => Failure::from_errors(faults),
        other => site_file::refused(&other, &site, &file),
    })?;
    let explanation = Explanation { of_run: remarks, left_out, ..explanation };
    let rendered = match flags.shown.chosen() {
        OutputFormat::Text => linerate_report::explanation::text(
            &explanation,
            flags.why,
            printing::text_style_for_file(flags.output.is_some()),
        ),
        OutputFormat::Json => linerate_report::explanation::json(&explanation),
        OutputFormat::Html => linerate_report::explanation::html(&explanation),
    };
    output_format::write_or_print(&rendered, flags.output.as_deref())
}

/// The answer from readings.
fn explain_readings(flags: &ExplainFlags, site: &Site, file: &SiteFile) -> Result<ExitCode, Failure> {
    flags.output.as_deref().map_or(Ok(()), output_file::check_output)?;
    if flags
        .source
        .record
        .as_deref()
        .is_some_and(|record| record == Path::new("-") || Some(record) == flags.output.as_deref())
    {
        return Err(Failure::usage(
            "--record and the answer cannot be in one place: name a file of its own for --record",
        ));
    }
    let (read, is_cut) = readings::readings(&flags.source, site)?;
    let diagnosis =
        diagnose(site, &read, &flags.source.link).map_err(|error| site_file::refused(&error, site, file))?;
    let rendered = match flags.shown.chosen() {
        OutputFormat::Text => {
            let look = printing::text_style_for_file(flags.output.is_some());
            linerate_report::diagnosis::text(&diagnosis, flags.why, look)
        }
        OutputFormat::Json => linerate_report::diagnosis::json(&diagnosis),
        OutputFormat::Html => linerate_report::diagnosis::html(&diagnosis),
    };
    let write_or_print = output_format::write_or_print(&rendered, flags.output.as_deref())?;
    if is_cut {
        let why = "interrupted: the answer is of what was read until then".to_owned();
        return Err(Failure::Outcome { why, code: code::INTERRUPTED });
    }
    Ok(write_or_print)
}

/// What the nodes of a fleet do in a window from now on, judged; and whether a signal ended it before its time.
pub(crate) fn judge_live(window: &LiveWindow<'_>, site: &Site) -> Result<(Diagnosis, bool), Failure> {
    let (read, is_cut) = readings::readings(&SourceFlags::live(window), site)?;
    let diagnosis = diagnose(site, &read, &[]).map_err(Failure::usage)?;
    Ok((diagnosis, is_cut))
}

fn is_node_figure(figure: &Observed) -> bool {
    matches!(figure.what, Quantity::NodeGet { .. } | Quantity::NodePut { .. })
}

fn least_figure_error(flags: &ExplainFlags) -> MinimumError {
    MinimumError::stated_or_assumed(flags.error.map(|stated| stated.0))
}

/// What a run folder is evidence of.
fn run_evidence(folder: &Path, view: &View, flags: &ExplainFlags, site: &Site) -> Result<Evidence, Failure> {
    let selection = EvidenceSelection {
        size: flags.obj_size.map(|size| size.0),
        error: least_figure_error(flags),
        allows_disturbed: flags.allow_disturbed,
    };
    of_run(view, site, selection).map_err(|why| Failure::usage(format!("{}: {why}", folder.display())))
}

/// Largest file of figures of nodes: a line for each of 100,000.
const NODES_BYTES_MAX: u64 = 16 << 20;

/// Reads figures of single nodes: columns `node`, and `get` or `put` or both.
fn read_node_figures(path: &Path) -> Result<Vec<Observed>, Failure> {
    let wrong = |line: usize, what: String| Failure::usage(format!("{}:{line}: {what}", path.display()));
    let text = limited_read::read_table(path, NODES_BYTES_MAX)?;
    // Lines of too few or too many cells are told with the others that are wrong.
    let mut rows = csv::ReaderBuilder::new().flexible(true).trim(csv::Trim::All).from_reader(text.as_bytes());
    let heads = rows.headers().map_err(|e| wrong(1, e.to_string()))?.clone();
    let column = |name: &str| heads.iter().position(|head| head.eq_ignore_ascii_case(name));
    let (Some(name), ops) = (column("node"), ["get", "put"].map(|op| (op, column(op)))) else {
        return Err(wrong(1, "no column \"node\": write a first line such as node,get,put".to_owned()));
    };
    if ops.iter().all(|(_, place)| place.is_none()) {
        return Err(wrong(1, "no column \"get\" or \"put\": write a first line such as node,get,put".to_owned()));
    }
    let (mut figures, mut mistakes) = (Vec::new(), unknown_columns(&heads, &wrong));
    let (mut seen, mut again) = (BTreeSet::new(), Vec::new());
    for (i, row) in rows.records().enumerate() {
        let row = row.map_err(|e| wrong(i + 2, e.to_string()))?;
        let line = row.position().map_or(i + 2, |at| record_line(&text, at));
        if row.len() != heads.len() {
            mistakes.push(wrong(line, cell_count_error(&row, &heads)).to_string());
            continue;
        }
        let Some(node) = row.get(name).filter(|node| !node.is_empty()) else {
            mistakes.push(wrong(line, "no node name: write one in the column \"node\"".to_owned()).to_string());
            continue;
        };
        for (op, place) in &ops {
            let Some(cell) = place.and_then(|place| row.get(place)).filter(|cell| !cell.is_empty()) else { continue };
            if is_negative(cell) {
                let what = format!("no throughput in {cell:?}: give one above 0, such as 1.2GiB/s");
                mistakes.push(wrong(line, what).to_string());
            }
            // Among other mistakes; without such, the model tells of it, with those of the other flags.
            if !seen.insert((*op, node.to_owned())) {
                again
                    .push(wrong(line, format!("{op:?} of {node:?} is given twice: give each figure once")).to_string());
            }
            match (cell.parse::<ByteRate>(), figure_quantity(op, Some(node.to_owned()))) {
                (Ok(rate), Some(what)) => {
                    figures.push(Observed { what, bytes_per_s: rate.0, error_share: None, in_flight: None });
                }
                (Err(error), _) if !is_negative(cell) => mistakes.push(wrong(line, error.to_string()).to_string()),
                (Err(_), _) | (Ok(_), None) => {}
            }
        }
    }
    if figures.is_empty() && mistakes.is_empty() {
        return Err(wrong(1, "no figure below the first line: write lines such as node3,1.2GiB/s".to_owned()));
    }
    if mistakes.is_empty() {
        return Ok(figures);
    }
    mistakes.extend(again);
    Err(Failure::from_errors(mistakes))
}

/// Columns that are none of those that are read, or are there twice: what they hold would count for nothing.
fn unknown_columns(heads: &csv::StringRecord, wrong: &dyn Fn(usize, String) -> Failure) -> Vec<String> {
    let mut seen: Vec<String> = Vec::new();
    let mut mistakes = Vec::new();
    for head in heads {
        let name = head.to_ascii_lowercase();
        if !["node", "get", "put"].contains(&name.as_str()) {
            let what = format!("unknown column {:?}: leave it out, the columns are node, get and put", quoted(head));
            mistakes.push(wrong(1, what).to_string());
        } else if seen.contains(&name) {
            mistakes.push(wrong(1, format!("column {head:?} occurs twice: keep one")).to_string());
        }
        seen.push(name);
    }
    mistakes
}

/// Text of a file as a message quotes it.
fn quoted(text: &str) -> String {
    const QUOTED: usize = 60;
    let mut short: String = text.chars().take(QUOTED).collect();
    if short.len() < text.len() {
        short.push('…');
    }
    short
}

/// The line on which a record begins. The reader's place is before the empty lines that it passes over.
fn record_line(text: &str, at: &csv::Position) -> usize {
    let before = usize::try_from(at.byte()).ok().and_then(|byte| text.get(byte..)).unwrap_or_default();
    let passed = before.bytes().take_while(|byte| matches!(byte, b'\n' | b'\r')).filter(|byte| *byte == b'\n').count();
    usize::try_from(at.line()).unwrap_or(usize::MAX).saturating_add(passed)
}

/// A line that has other cells than the first one names.
fn cell_count_error(row: &csv::StringRecord, heads: &csv::StringRecord) -> String {
    let joined = |record: &csv::StringRecord| quoted(&record.iter().collect::<Vec<_>>().join(","));
    let cells = if row.len() == 1 { "cell" } else { "cells" };
    format!(
        "{} {cells} in {:?}, but the first line names {}: write {}, with nothing between commas if there is no figure",
        row.len(),
        joined(row),
        heads.len(),
        joined(heads)
    )
}
