//! `linerate target`: a server for tests and ceilings, until its standard input ends.

pub(crate) mod flags;

use std::io::{Read as _, Write as _};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use linerate_load::local_target::{embedded, null};
use linerate_load::sigv4::Credentials;
use linerate_record::load::OwnTarget;
use linerate_wire::identity::{self, Identity};
use signal_hook::consts::{SIGINT, SIGTERM};
use tempfile::TempDir;

use crate::credentials::keys::{self, Keys};
use crate::files::atomic_write::without_name;
use crate::run::processors::processors;
use crate::terminal::failure::Failure;
use flags::TargetFlags;

/// What is said where nobody gave the embedded target keys: it has no flags for them, whose values others could see.
const NO_KEYS_TEXT: &str = "the embedded target needs keys for signed requests, and there are none: set \
                            AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY to any values, and give clients the same";

/// The folders that the target made, for whoever ends the process to remove.
type TemporaryFolders = Arc<Mutex<Vec<TempDir>>>;

pub(crate) fn run(flags: &TargetFlags) -> Result<ExitCode, Failure> {
    // Before standard input is looked at: where that has ended, a mistake would end with success.
    let keys = match flags.kind {
        OwnTarget::Null => None,
        OwnTarget::Embedded => {
            Some(keys::find_optional(&Keys::default())?.ok_or_else(|| Failure::usage(NO_KEYS_TEXT))?)
        }
    };
    let temporary_folders = TemporaryFolders::default();
    end_with_input_or_signal(&temporary_folders)?;
    match keys {
        None => serve_null(flags, &temporary_folders),
        Some(keys) => serve_embedded(flags, &keys, &temporary_folders),
    }?;
    Ok(ExitCode::SUCCESS)
}

/// Ends the process, and removes what it made, when standard input ends or a signal comes. Both may be how a parent
/// that was killed makes itself known.
fn end_with_input_or_signal(temporary_folders: &TemporaryFolders) -> Result<(), Failure> {
    let folders_for_input = Arc::clone(temporary_folders);
    std::thread::spawn(move || {
        let _ = std::io::stdin().lock().read_to_end(&mut Vec::new());
        exit_after_cleanup(&folders_for_input);
    });
    let mut signals = signal_hook::iterator::Signals::new([SIGINT, SIGTERM]).map_err(Failure::Signals)?;
    let folders_for_signal = Arc::clone(temporary_folders);
    std::thread::spawn(move || {
        if signals.forever().next().is_some() {
            exit_after_cleanup(&folders_for_signal);
        }
    });
    Ok(())
}

fn exit_after_cleanup(temporary_folders: &TemporaryFolders) -> ! {
    for folder in std::mem::take(&mut *temporary_folders.lock().unwrap_or_else(PoisonError::into_inner)) {
        remove(&folder.keep());
    }
    std::process::exit(0)
}

/// Removes a folder. Requests in flight may still write into it, and it is then not empty: tried again for a second.
fn remove(folder: &Path) {
    for _ in 0..40 {
        if std::fs::remove_dir_all(folder).is_ok() || !folder.exists() {
            return;
        }
        std::thread::sleep(Duration::from_millis(25));
    }
}

fn announce(address: SocketAddr, ca: Option<&Path>) {
    let mut out = std::io::stdout();
    let mut text = format!("listening {address}\n");
    if let Some(path) = ca {
        text.push_str(&format!("ca {}\n", path.display()));
    }
    // Nobody listening is no reason to stop serving.
    let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
}

/// Makes a folder that goes with the process.
fn make_folder(parent: &Path, temporary_folders: &TemporaryFolders) -> Result<PathBuf, String> {
    let folder = tempfile::Builder::new()
        .prefix("linerate-target-")
        .tempdir_in(parent)
        .map_err(|e| format!("cannot make a folder in {}: {}", parent.display(), without_name(&e)))?;
    let path = folder.path().to_owned();
    temporary_folders.lock().unwrap_or_else(PoisonError::into_inner).push(folder);
    Ok(path)
}

/// With `--tls`, makes the target's certificate and puts its authority's into a file.
fn identify(flags: &TargetFlags, temporary_folders: &TemporaryFolders) -> Result<Option<(Identity, PathBuf)>, String> {
    if !flags.tls {
        return Ok(None);
    }
    let identity = identity::make(flags.listen.ip())?;
    let path = make_folder(&std::env::temp_dir(), temporary_folders)?.join("ca.pem");
    std::fs::write(&path, &identity.ca_pem).map_err(|e| format!("cannot write {}: {e}", path.display()))?;
    Ok(Some((identity, path)))
}

fn serve_null(flags: &TargetFlags, temporary_folders: &TemporaryFolders) -> Result<(), Failure> {
    let failed = |why: String| Failure::Child { kind: "null", why };
    let threads = flags.threads.unwrap_or_else(processors);
    let (config, ca) = identify(flags, temporary_folders).map_err(failed)?.map(|(own, ca)| (own.config, ca)).unzip();
    null::serve(flags.listen, threads, config, |address| announce(address, ca.as_deref()))
        .map_err(|e| failed(format!("--listen {}: {e}", flags.listen)))
}

fn serve_embedded(
    flags: &TargetFlags,
    keys: &Credentials,
    temporary_folders: &TemporaryFolders,
) -> Result<(), Failure> {
    let failed = |why: String| Failure::Child { kind: "embedded", why };
    let parent = flags.drive.clone().unwrap_or_else(std::env::temp_dir);
    let root = make_folder(&parent, temporary_folders).map_err(failed)?;
    let (config, ca) = identify(flags, temporary_folders).map_err(failed)?.map(|(own, ca)| (own.config, ca)).unzip();
    embedded::serve(&root, flags.listen, keys, config, |address| announce(address, ca.as_deref()))
        .map_err(|e| failed(format!("--listen {}: {e}", flags.listen)))
}
