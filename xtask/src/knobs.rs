//! `docs/knobs`: pages made from the rows of the catalogue, never written by hand.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::{fs, io};

use linerate_settings::knobs::manual;

use crate::{Outcome, success_if};

/// The folder of the pages.
fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/knobs")
}

/// Writes every page, and removes those that no layer has any more.
pub(crate) fn write() -> Outcome {
    let (folder, pages) = (folder(), manual::pages());
    fs::create_dir_all(&folder)?;
    for (name, text) in &pages {
        fs::write(folder.join(name), text)?;
    }
    for name in left_over(&folder, &pages)? {
        fs::remove_file(folder.join(name))?;
    }
    println!("knobs: {} pages in docs/knobs", pages.len());
    Ok(ExitCode::SUCCESS)
}

/// Says which pages are not what the rows say.
pub(crate) fn check() -> Outcome {
    let stale = stale(&folder(), &manual::pages())?;
    for name in &stale {
        println!("docs/knobs/{name} is not what the rows say: run cargo xtask knobs");
    }
    if stale.is_empty() {
        println!("knobs: docs/knobs is what the rows say");
    }
    Ok(success_if(stale.is_empty()))
}

/// Pages that differ, are not there, or should not be there.
fn stale(folder: &Path, pages: &[(String, String)]) -> io::Result<Vec<String>> {
    let mut stale = left_over(folder, pages)?;
    for (name, text) in pages {
        let written = fs::read_to_string(folder.join(name));
        if written.map_or(true, |written| written != *text) {
            stale.push(name.clone());
        }
    }
    stale.sort();
    Ok(stale)
}

/// Files of the folder that are no page; none where there is no folder.
fn left_over(folder: &Path, pages: &[(String, String)]) -> io::Result<Vec<String>> {
    let entries = match fs::read_dir(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries?,
    };
    let known: BTreeSet<&str> = pages.iter().map(|(name, _)| name.as_str()).collect();
    let mut left = Vec::new();
    for entry in entries {
        let name = entry?.file_name().to_string_lossy().into_owned();
        if !known.contains(name.as_str()) {
            left.push(name);
        }
    }
    Ok(left)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_that_differs_lacks_or_is_left_over_is_stale() {
        let folder = std::env::temp_dir().join(format!("linerate-knobs-{}", std::process::id()));
        let pages = [("a.md".to_owned(), "A".to_owned()), ("b.md".to_owned(), "B".to_owned())];
        assert_eq!(stale(&folder, &pages).unwrap(), ["a.md", "b.md"]);
        fs::create_dir_all(&folder).unwrap();
        for (name, text) in [("a.md", "A"), ("b.md", "other"), ("c.md", "C")] {
            fs::write(folder.join(name), text).unwrap();
        }
        assert_eq!(stale(&folder, &pages).unwrap(), ["b.md", "c.md"]);
        fs::remove_dir_all(&folder).unwrap();
    }
}
