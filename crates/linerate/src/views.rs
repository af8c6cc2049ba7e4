//! The view of a run folder, and the page that is made of it.

use std::path::{Path, PathBuf};

use linerate_analysis::build;
use linerate_analysis::view::View;

use crate::failure::Failure;
use crate::{folder, masks};

/// Reads a run folder and computes its view.
pub(crate) fn view_of(path: &Path) -> Result<View, Failure> {
    let records = folder::read(path)?;
    build::build(&records).map_err(|e| {
        let why = records.damaged().unwrap_or_else(|| e.to_string());
        Failure::NotARun { path: path.to_owned(), why }
    })
}

/// Writes `report.html` into a run folder.
pub(crate) fn write_html(folder: &Path, view: &View) -> Result<PathBuf, Failure> {
    let path = folder.join("report.html");
    folder::write_whole(&path, masks::whole(&linerate_report::html(view)).as_bytes())?;
    Ok(path)
}
