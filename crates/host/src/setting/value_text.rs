//! Values of settings as texts: how long they may be, and what is read of them.

use std::io;

/// The longest value that the kernel takes in one write, with its line's end: a page of sysfs (`fs/kernfs/file.c:
/// kernfs_fop_write_iter`), a byte less of a list of ports (`kernel/sysctl.c: proc_do_large_bitmap`).
pub(super) const LONGEST_VALUE_BYTES: usize = 4094;

/// What was read: the text, and what it can be.
pub(super) type SettingReading = (String, Vec<String>);

pub(super) fn number(value: &str) -> io::Result<u32> {
    value.trim().parse().map_err(|_| invalid(format!("{value:?} is not a whole number")))
}

pub(super) fn switch(value: &str) -> io::Result<bool> {
    match value.trim() {
        "on" => Ok(true),
        "off" => Ok(false),
        other => Err(invalid(format!("{other:?} is neither on nor off"))),
    }
}

/// An error of a value or a place that was requested and cannot be.
pub(super) fn invalid(why: impl Into<String>) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, why.into())
}
