//! `linerate compare`: two runs, or two groups of runs, side by side.

use std::path::PathBuf;
use std::process::ExitCode;

use linerate_analysis::compare::{Comparison, compare};
use linerate_analysis::view::Records;
use linerate_report::comparison;

use crate::cli::{CompareFlags, CompareFormat};
use crate::failure::{Failure, code};
use crate::{folder, report};

pub(crate) fn run(flags: &CompareFlags) -> Result<ExitCode, Failure> {
    let (a, b) = (read(&flags.a.0)?, read(&flags.b.0)?);
    let threshold = flags.fail_if_slower.map(|share| share.0);
    // The folders' lines have been read: only a histogram inside one can still be damaged.
    let found = compare(&a, &b, threshold).map_err(|e| Failure::usage(format!("a run folder is damaged: {e}")))?;
    if found.series.iter().all(|series| series.points.is_empty()) {
        return Err(Failure::usage(format!(
            "the runs have no point in common: {}; measure the same operations, sizes and requests in flight",
            found.unmatched.join(", ")
        )));
    }
    let rendered = match flags.format {
        CompareFormat::Text => comparison::text(&found, report::look_for_file(flags.output.is_some())),
        CompareFormat::Json => comparison::json(&found),
        CompareFormat::Csv => comparison::csv(&found),
    };
    match &flags.output {
        Some(path) => folder::write_whole(path, rendered.as_bytes())?,
        None => report::print(&rendered)?,
    }
    Ok(ExitCode::from(if missed(&found) { code::MISSED } else { 0 }))
}

fn read(folders: &[PathBuf]) -> Result<Vec<Records>, Failure> {
    folders.iter().map(|path| folder::read(path)).collect()
}

fn missed(found: &Comparison) -> bool {
    found.threshold.as_ref().is_some_and(|threshold| !threshold.missed.is_empty())
}
