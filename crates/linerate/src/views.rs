//! The view of a run folder, and the page that is made of it.

use std::path::{Path, PathBuf};

use linerate_analysis::build;
use linerate_analysis::records::Records;
use linerate_analysis::view::View;
use linerate_record::histogram::DecodeError;

use crate::failure::Failure;
use crate::{folder, masks, predicted};

/// Reads a run folder and computes its view.
pub(crate) fn view_of(path: &Path) -> Result<View, Failure> {
    built(path).map(|(_, view)| view)
}

fn built(path: &Path) -> Result<(Records, View), Failure> {
    let records = folder::read(path)?;
    let view = build::build(&records).map_err(|error| damaged(path, &records, &error))?;
    Ok((records, view))
}

/// The same for a report, which tells what the site of the run can do, where it was described.
pub(crate) fn view_beside_site(path: &Path) -> Result<View, Failure> {
    let (records, mut view) = built(path)?;
    if let Some(site) = &records.manifest.site {
        // A run of something else has figures without.
        let _ = predicted::add(&mut view, site);
    }
    Ok(view)
}

/// Why figures cannot be made of records that were read: a histogram in them is none, in which file and line.
pub(crate) fn damaged(path: &Path, records: &Records, error: &DecodeError) -> Failure {
    let why = records.damaged().unwrap_or_else(|| error.to_string());
    Failure::NotARun { path: path.to_owned(), why }
}

/// Writes `report.html` into a run folder.
pub(crate) fn write_html(folder: &Path, view: &View) -> Result<PathBuf, Failure> {
    let path = folder.join("report.html");
    folder::write_whole(&path, masks::whole(&linerate_report::html(view)).as_bytes())?;
    Ok(path)
}
