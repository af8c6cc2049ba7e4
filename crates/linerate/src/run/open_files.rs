//! How many files this process may have open.

use rustix::process::{Resource, getrlimit, setrlimit};

/// Raises this process's soft limit of open files to the hard one: each request in flight, and each flow, is a
/// connection.
pub(crate) fn allow_open_files() {
    let mut limit = getrlimit(Resource::Nofile);
    limit.current = limit.maximum;
    // Where it cannot be raised, what needs more says so: "too many open files".
    let _ = setrlimit(Resource::Nofile, limit);
}
