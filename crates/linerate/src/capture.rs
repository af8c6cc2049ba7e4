//! `linerate capture`: this machine as files.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;
use linerate_host::capture::{Taken, capture};
use linerate_host::{Asked, Root};
use linerate_record::audit::{CAPTURE_FILE, CAPTURE_SCHEMA, Capture};

use crate::failure::Failure;
use crate::{audit, bounded, printing, report};

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
    let root = root(flags.root.as_deref())?;
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

/// This machine, or a captured one that is whole: of a folder that is none, nothing could be read, and nothing would be
/// found amiss.
pub(crate) fn root(folder: Option<&Path>) -> Result<Root, Failure> {
    let Some(folder) = folder else { return Ok(Root::live()) };
    match lack(folder) {
        None => Ok(Root::captured(folder)),
        Some(why) => Err(Failure::usage(format!(
            "{folder:?} is no captured machine: {why}; linerate capture -o DIR makes one of the machine that it runs on"
        ))),
    }
}

/// Largest `capture.json`: those of machines with hundreds of devices stay under 1 MiB.
const MANIFEST_BYTES_MAX: u64 = 16 << 20;

/// What every captured machine has.
const PARTS: [&str; 3] = [CAPTURE_FILE, "proc", "sys"];

/// Why a folder is no captured machine, or not all of one.
fn lack(folder: &Path) -> Option<String> {
    if !folder.is_dir() {
        return Some("it is no folder".to_owned());
    }
    let lacking: Vec<&str> = PARTS.into_iter().filter(|part| !folder.join(part).exists()).collect();
    if !lacking.is_empty() {
        return Some(format!("it has no {}", lacking.join(", no ")));
    }
    let text = bounded::open(&folder.join(CAPTURE_FILE)).and_then(|file| bounded::read(&file, MANIFEST_BYTES_MAX));
    let manifest = text.and_then(|text| Ok(serde_json::from_slice::<Capture>(&text)?));
    let manifest = match manifest {
        Ok(manifest) => manifest,
        Err(error) => return Some(format!("{CAPTURE_FILE}: {error}")),
    };
    if manifest.schema > CAPTURE_SCHEMA {
        let schema = manifest.schema;
        return Some(format!("its schema is {schema}, this linerate knows {CAPTURE_SCHEMA}: use a newer linerate"));
    }
    let (said, there) = (manifest.files, files_below(folder, manifest.files));
    (there < said).then(|| format!("{} of its {said} files are not there", said - there))
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
    std::fs::write(file, if is_folder { "\n".into() } else { printing::whole(text) }.as_bytes()).map_err(failed)
}
