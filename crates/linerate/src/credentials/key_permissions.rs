//! Files of keys that others can read, which their owner is told of: whoever has the keys has the buckets.

use std::collections::BTreeSet;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use linerate_record::shell;

use crate::terminal::progress::print_error;

/// Files that were told of: some are read more than once.
static WARNED_FILES: Mutex<BTreeSet<PathBuf>> = Mutex::new(BTreeSet::new());

/// Says once that a file which holds keys is not for its owner alone, where it is one: a pipe is nobody else's.
pub(crate) fn warn_if_readable(path: &Path) {
    let is_exposed = path.metadata().is_ok_and(|metadata| metadata.is_file() && metadata.mode() & 0o077 != 0);
    if is_exposed && WARNED_FILES.lock().unwrap_or_else(PoisonError::into_inner).insert(path.to_owned()) {
        let (shown, typed) = (path.display(), shell::path(path));
        print_error(&format!("warning: {shown} contains keys, and others can read it: chmod 600 {typed}"));
    }
}
