//! `linerate capture`: this machine as files.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;
use linerate_host::capture::{Taken, capture};
use linerate_host::{Asked, Root};
use linerate_record::audit::{CAPTURE_FILE, CAPTURE_SCHEMA, Capture};

use crate::failure::Failure;
use crate::{audit, report};

const AFTER_HELP: &str = "\
The folder has the files that audit reads, below the paths that they have here, and capture.json: when and by which
linerate it was made, and what drivers and other namespaces answer. Host names, addresses, identifiers and serial
numbers are replaced, each by the same word wherever it stands. Of the kernel's command line, of sysctl.d and of
/proc/cpuinfo it has only what audit reads. Look it over before you give it away.

Example:
  linerate capture -o machine && linerate audit --root machine";

#[derive(Args, Debug)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct CaptureFlags {
    /// Folder to make; it must not exist, or be empty.
    #[arg(long, short, value_name = "DIR")]
    output: PathBuf,
    /// What the machine is, in a few words that are kept as they are.
    #[arg(long, value_name = "TEXT", default_value = "")]
    note: String,
    /// A process to take for an S3 server, beside those that are found.
    #[arg(long, value_name = "PID")]
    pid: Vec<u32>,
    /// A captured machine to take again in place of this one.
    #[arg(long, value_name = "CAPTURE", conflicts_with = "pid")]
    root: Option<PathBuf>,
}

pub(crate) fn run(flags: &CaptureFlags) -> Result<ExitCode, Failure> {
    let folder = &flags.output;
    if std::fs::read_dir(folder).is_ok_and(|mut entries| entries.next().is_some()) {
        return Err(Failure::usage(format!("{} is not empty: name a folder to make", folder.display())));
    }
    let root = flags.root.as_ref().map_or_else(Root::live, Root::captured);
    let knobs = audit::knobs();
    let snapshot = linerate_host::snapshot(&root, &Asked { knobs: &knobs, pids: &flags.pid, netns: None });
    let taken = capture(&root, &knobs, &snapshot);
    for (path, text) in &taken.files {
        put(&folder.join(path), text)?;
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
    put(&folder.join(CAPTURE_FILE), &json)?;
    report::print(&told(folder, &taken))?;
    Ok(ExitCode::SUCCESS)
}

fn told(folder: &Path, taken: &Taken) -> String {
    let (files, settings) = (taken.files.len(), taken.settings.len());
    format!("{}: {files} files and {settings} settings that no file holds\n", folder.display())
}

/// What stands in a folder that would be empty otherwise: version control keeps no such folders.
const KEPT: &str = ".kept";

/// Writes a file, or makes a folder where the path ends in a slash.
fn put(path: &Path, text: &str) -> Result<(), Failure> {
    let failed = |source| Failure::File { what: "write", path: path.to_owned(), source };
    let is_folder = path.as_os_str().as_encoded_bytes().ends_with(b"/");
    let file = if is_folder { path.join(KEPT) } else { path.to_owned() };
    if let Some(parent) = file.parent() {
        std::fs::create_dir_all(parent).map_err(failed)?;
    }
    std::fs::write(file, if is_folder { "\n" } else { text }).map_err(failed)
}
