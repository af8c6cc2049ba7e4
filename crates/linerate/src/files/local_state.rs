//! What linerate itself keeps on this machine: journals of changed settings, and notes of what it began. A run folder
//! may be anybody's; a note is this user's own, and proves what a folder only says.

use std::fs::{self, OpenOptions};
use std::io::Write as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::PathBuf;

use linerate_host::journal::JournalFolder;
use linerate_load::sigv4::hex;
use sha2::{Digest as _, Sha256};

use crate::terminal::failure::Failure;

/// What notes are of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Note {
    /// A bucket that a run was about to make where there was none.
    Bucket,
    /// An experiment, by all that was asked.
    Experiment,
}

impl Note {
    const fn folder(self) -> &'static str {
        match self {
            Note::Bucket => "buckets",
            Note::Experiment => "experiments",
        }
    }
}

/// The folder of this user's state.
pub(crate) fn folder() -> Result<PathBuf, Failure> {
    let from = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let is_root = rustix::process::geteuid().is_root();
    let folder = from("LINERATE_STATE")
        .or_else(|| is_root.then(|| PathBuf::from("/var/lib/linerate")))
        .or_else(|| from("XDG_STATE_HOME").map(|folder| folder.join("linerate")))
        .or_else(|| from("HOME").map(|home| home.join(".local/state/linerate")));
    let folder = folder.ok_or_else(|| Failure::usage("no folder for state: set LINERATE_STATE to a folder"))?;
    // A watch runs in another folder than this process.
    std::path::absolute(&folder).map_err(|source| Failure::File { what: "find", path: folder, source })
}

/// Notes that this machine is about to begin something, by a text that tells it from everything else. Files are 0600 in
/// a folder of 0700.
pub(crate) fn write_note(note: Note, text: &str) -> Result<(), Failure> {
    let state = JournalFolder::open(folder()?.join(note.folder()))?;
    let path = state.path().join(name(text));
    let failed = |source| Failure::File { what: "write", path: path.clone(), source };
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(true).mode(0o600).custom_flags(NO_FOLLOW);
    options.open(&path).and_then(|mut file| file.write_all(text.as_bytes())).map_err(failed)
}

/// Whether this machine noted it. Notes that others could have written are none.
pub(crate) fn has_note(note: Note, text: &str) -> bool {
    let own = || JournalFolder::existing(folder().ok()?.join(note.folder())).ok();
    own().is_some_and(|state| state.path().join(name(text)).symlink_metadata().is_ok_and(|found| found.is_file()))
}

/// Forgets what has ended. What stays noted does no harm: it names what is no longer there.
pub(crate) fn remove_note(note: Note, text: &str) {
    let _ = folder().map(|folder| fs::remove_file(folder.join(note.folder()).join(name(text))));
}

/// The name of a note's file: any text has one, and no other text the same.
fn name(text: &str) -> String {
    let digest = hex(&Sha256::digest(text.as_bytes()).into());
    String::from_utf8_lossy(&digest).into_owned()
}

/// A link in a file's place is refused.
pub(crate) const NO_FOLLOW: i32 = rustix::fs::OFlags::NOFOLLOW.bits().cast_signed();
