//! Doors for fuzz targets: files of users, read as the verbs read them, with nothing done about them.

use std::path::Path;

/// Reads records of another tool, as `linerate import` does; whether they could be.
#[must_use]
pub fn import(file: &Path) -> bool {
    crate::import::intervals_of(file).is_ok()
}

/// Reads a file of flags, as `linerate bench --config` does; whether it could be.
#[must_use]
pub fn config(file: &Path) -> bool {
    crate::config::flags_of(file).is_ok()
}

/// Reads a shared file of AWS; how many sections it has.
#[must_use]
pub fn profile(text: &str) -> usize {
    crate::profile::sections(text).len()
}

/// Reads the URL of an alias of mc; whether it is one.
#[must_use]
pub fn alias(url: &str) -> bool {
    crate::mc::from_url(url).is_some()
}
