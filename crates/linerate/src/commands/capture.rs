//! `linerate capture`: this machine as files.

pub(crate) mod flags;

use std::path::Path;
use std::process::ExitCode;

use linerate_host::SnapshotRequest;
use linerate_host::capture::capture;
use linerate_record::audit::{CAPTURE_FILE, CAPTURE_SCHEMA, Capture};
use linerate_report::audit::captured as captured_text;

use crate::files::{captured_machine, run_folder as folders};
use crate::run::catalogue;
use crate::terminal::failure::Failure;
use crate::terminal::{key_masks, printing};
use flags::CaptureFlags;

pub(crate) fn run(flags: &CaptureFlags) -> Result<ExitCode, Failure> {
    let folder = &flags.output;
    folders::secret_check::refuse_secret_in("capture", &serde_json::json!({"note": flags.note}))?;
    if std::fs::read_dir(folder).is_ok_and(|mut entries| entries.next().is_some()) {
        return Err(Failure::usage(format!("{} is not empty: name a new folder", folder.display())));
    }
    let root = captured_machine::root(flags.root.as_deref())?;
    let knobs = catalogue::knobs();
    let snapshot = linerate_host::snapshot(&root, &SnapshotRequest { knobs: &knobs, pids: &flags.pid, netns: None });
    let taken = capture(&root, &knobs, &snapshot);
    for (path, text) in &taken.files {
        write_file_or_folder(&folder.join(path), text)?;
    }
    let manifest = Capture {
        schema: CAPTURE_SCHEMA,
        linerate: env!("CARGO_PKG_VERSION").to_owned(),
        captured: jiff::Timestamp::now().strftime("%Y-%m-%d").to_string(),
        kernel: snapshot.machine.kernel.clone(),
        note: flags.note.clone(),
        files: u32::try_from(taken.files.len()).unwrap_or(u32::MAX),
        engines: snapshot.engines,
        is_initial_netns: snapshot.is_initial_netns,
        settings: taken.settings.clone(),
        unreadable: taken.unreadable.clone(),
    };
    let mut json = serde_json::to_string_pretty(&manifest).map_err(Failure::usage)?;
    json.push('\n');
    write_file_or_folder(&folder.join(CAPTURE_FILE), &json)?;
    printing::print(&captured_text(folder, taken.files.len(), taken.settings.len()))?;
    Ok(ExitCode::SUCCESS)
}

/// What stands in a folder that would be empty otherwise: version control keeps no such folders.
const EMPTY_FOLDER_MARK: &str = ".kept";

/// Writes a file, or makes a folder where the path ends in a slash.
fn write_file_or_folder(path: &Path, text: &str) -> Result<(), Failure> {
    let failed = |source| Failure::File { what: "write", path: path.to_owned(), source };
    let is_folder = path.as_os_str().as_encoded_bytes().ends_with(b"/");
    let file = if is_folder { path.join(EMPTY_FOLDER_MARK) } else { path.to_owned() };
    if let Some(parent) = file.parent() {
        std::fs::create_dir_all(parent).map_err(failed)?;
    }
    std::fs::write(file, if is_folder { "\n".into() } else { key_masks::mask_where_harmless(text) }.as_bytes())
        .map_err(failed)
}
