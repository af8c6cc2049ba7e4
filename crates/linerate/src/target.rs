//! `linerate target`: a server for tests and ceilings, until its standard input ends.

use std::io::{Read as _, Write as _};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::{Arc, Mutex, PoisonError};

use linerate_load::target::{embedded, null};
use signal_hook::consts::{SIGINT, SIGTERM};
use tempfile::TempDir;

use crate::cli::{Keys, TargetFlags, TargetKind};
use crate::credentials;
use crate::failure::Failure;

/// The folder that the embedded target made, for whoever ends the process to remove.
type Made = Arc<Mutex<Option<TempDir>>>;

pub(crate) fn run(flags: &TargetFlags) -> Result<ExitCode, Failure> {
    let made = Made::default();
    end_with_input_or_signal(&made)?;
    match flags.kind {
        TargetKind::Null => serve_null(flags),
        TargetKind::Embedded => serve_embedded(flags, &made),
    }?;
    Ok(ExitCode::SUCCESS)
}

/// Ends the process, and removes what it made, when standard input ends or a signal comes. Both may be how a parent
/// that was killed makes itself known.
fn end_with_input_or_signal(made: &Made) -> Result<(), Failure> {
    let of_input = Arc::clone(made);
    std::thread::spawn(move || {
        let _ = std::io::stdin().lock().read_to_end(&mut Vec::new());
        end(&of_input);
    });
    let mut signals = signal_hook::iterator::Signals::new([SIGINT, SIGTERM]).map_err(Failure::Signals)?;
    let of_signal = Arc::clone(made);
    std::thread::spawn(move || {
        if signals.forever().next().is_some() {
            end(&of_signal);
        }
    });
    Ok(())
}

fn end(made: &Made) -> ! {
    drop(made.lock().unwrap_or_else(PoisonError::into_inner).take());
    std::process::exit(0)
}

fn tell(address: SocketAddr) {
    let mut out = std::io::stdout();
    // Nobody listening is no reason to stop serving.
    let _ = writeln!(out, "listening {address}").and_then(|()| out.flush());
}

fn serve_null(flags: &TargetFlags) -> Result<(), Failure> {
    let threads = flags.threads.unwrap_or_else(crate::grid::processors);
    null::serve(flags.listen, threads, tell).map_err(|e| Failure::Child { kind: "null", why: e.to_string() })
}

fn serve_embedded(flags: &TargetFlags, made: &Made) -> Result<(), Failure> {
    let failed = |why: String| Failure::Child { kind: "embedded", why };
    let keys = Keys::default();
    let credentials = credentials::find(&keys)?
        .ok_or_else(|| failed("it needs AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY".into()))?;
    let parent = flags.drive.clone().unwrap_or_else(std::env::temp_dir);
    let folder = tempfile::Builder::new()
        .prefix("linerate-target-")
        .tempdir_in(&parent)
        .map_err(|e| failed(format!("cannot make a folder in {}: {e}", parent.display())))?;
    let root: PathBuf = folder.path().to_owned();
    *made.lock().unwrap_or_else(PoisonError::into_inner) = Some(folder);
    embedded::serve(&root, flags.listen, &credentials, tell).map_err(|e| failed(e.to_string()))
}
