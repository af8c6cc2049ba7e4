//! Captured machines: folders that stand for one.

use std::path::Path;

use linerate_host::Root;
use linerate_record::audit::{CAPTURE_FILE, CAPTURE_SCHEMA, Capture};

use crate::files::limited_read;
use crate::terminal::failure::Failure;

/// This machine, or a captured one that is whole: of a folder that is none, nothing could be read, and nothing would be
/// found wrong.
pub(crate) fn root(folder: Option<&Path>) -> Result<Root, Failure> {
    let Some(folder) = folder else { return Ok(Root::live()) };
    match missing_part(folder) {
        None => Ok(Root::captured(folder)),
        Some(why) => Err(Failure::usage(format!(
            "{folder:?} is not a captured machine: {why}; linerate capture -o DIR captures the machine on which it runs"
        ))),
    }
}

/// Largest `capture.json`: those of machines with hundreds of devices stay under 1 MiB.
const MANIFEST_BYTES_MAX: u64 = 16 << 20;

/// What every captured machine has.
const REQUIRED_PARTS: [&str; 3] = [CAPTURE_FILE, "proc", "sys"];

/// Why a folder is no captured machine, or not all of one.
fn missing_part(folder: &Path) -> Option<String> {
    if !folder.is_dir() {
        return Some("it is not a folder".to_owned());
    }
    let lacking: Vec<&str> = REQUIRED_PARTS.into_iter().filter(|part| !folder.join(part).exists()).collect();
    if !lacking.is_empty() {
        return Some(format!("it has no {}", lacking.join(", no ")));
    }
    let text = limited_read::open_without_waiting(&folder.join(CAPTURE_FILE))
        .and_then(|file| limited_read::read_regular(&file, MANIFEST_BYTES_MAX));
    let manifest = text.and_then(|text| Ok(serde_json::from_slice::<Capture>(&text)?));
    let manifest = match manifest {
        Ok(manifest) => manifest,
        Err(error) => return Some(format!("{CAPTURE_FILE}: {error}")),
    };
    if manifest.schema > CAPTURE_SCHEMA {
        let schema = manifest.schema;
        return Some(format!(
            "its schema is {schema}, but this linerate reads up to {CAPTURE_SCHEMA}: use a newer \
                             linerate"
        ));
    }
    let (said, there) = (manifest.files, files_below(folder, manifest.files));
    (there < said).then(|| format!("{} of its {said} files are missing", said - there))
}

/// How many files are below a folder beside its manifest, counted up to `most`. Links are not followed: they may go
/// around.
fn files_below(folder: &Path, most: u32) -> u32 {
    let (mut count, mut folders) = (0_u32, vec![folder.to_owned()]);
    while let Some(next) = folders.pop() {
        for entry in std::fs::read_dir(next).into_iter().flatten().flatten() {
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                folders.push(entry.path());
            } else {
                count += 1;
            }
            if count > most {
                return most;
            }
        }
    }
    count.saturating_sub(1)
}
