//! The view of a run folder, and the page that is made of it.

use std::path::{Path, PathBuf};

use linerate_analysis::build;
use linerate_analysis::records::Records;
use linerate_analysis::view::View;
use linerate_record::histogram::DecodeError;

use crate::files::{run_folder, site_prediction};
use crate::terminal::failure::Failure;
use crate::terminal::key_masks;

/// Reads a run folder and computes its view.
pub(crate) fn read_view(path: &Path) -> Result<View, Failure> {
    read_records_and_view(path).map(|(_, view)| view)
}

fn read_records_and_view(path: &Path) -> Result<(Records, View), Failure> {
    let records = run_folder::read(path)?;
    let view = build::build(&records).map_err(|error| damaged_failure(path, &records, &error))?;
    Ok((records, view))
}

/// The same for a report, which tells what the site of the run can do, where it was described.
pub(crate) fn read_view_with_site(path: &Path) -> Result<View, Failure> {
    let (records, mut view) = read_records_and_view(path)?;
    if let Some(site) = &records.manifest.site {
        // A run of something else has figures without.
        let _ = site_prediction::add_predictions(&mut view, site);
    }
    Ok(view)
}

/// Why figures cannot be made of records that were read: a histogram in them is none, in which file and line.
pub(crate) fn damaged_failure(path: &Path, records: &Records, error: &DecodeError) -> Failure {
    let why = records.damaged().unwrap_or_else(|| error.to_string());
    Failure::NotARun { path: path.to_owned(), why }
}

/// Writes `report.html` into a run folder.
pub(crate) fn write_html(folder: &Path, view: &View) -> Result<PathBuf, Failure> {
    let path = folder.join("report.html");
    run_folder::write_atomically(&path, key_masks::mask_where_harmless(&linerate_report::html(view)).as_bytes())?;
    Ok(path)
}
