//! How many files this process may have open.

use linerate_record::load::Levels;
use rustix::process::{Resource, getrlimit, setrlimit};

use crate::terminal::failure::Failure;

/// Files that this process has open besides connections of the load: folders of the run, its threads' epolls, calls of
/// the cold path.
const OTHER_FILES: u64 = 64;

/// Raises this process's soft limit of open files to the hard one: each request in flight, and each flow, is a
/// connection.
pub(crate) fn allow_open_files() {
    let mut limit = getrlimit(Resource::Nofile);
    limit.current = limit.maximum;
    // Where it cannot be raised, what needs more says so: "too many open files".
    let _ = setrlimit(Resource::Nofile, limit);
}

/// The same, before a load with these levels, each request in flight of which is a connection of this process. A
/// search and a rate take fewer where fewer are to be had.
pub(crate) fn require_open_files(levels: &Levels) -> Result<(), Failure> {
    allow_open_files();
    let Levels::Given(_) = levels else { return Ok(()) };
    let (highest, most) = (u64::from(levels.highest()), getrlimit(Resource::Nofile).current);
    match most {
        Some(most) if highest + OTHER_FILES > most => Err(Failure::usage(format!(
            "--concurrent {highest} needs as many connections, and this process may have {most} open files: raise the \
             limit (ulimit -Hn {}), or give --concurrent {} at most",
            highest + OTHER_FILES,
            most.saturating_sub(OTHER_FILES).max(1)
        ))),
        _ => Ok(()),
    }
}
