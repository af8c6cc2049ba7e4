//! Settings that are read only: mounts, the kernel's command line, timers.

use std::io;
use std::os::fd::AsFd as _;

use linerate_record::knob::Mount;

use super::file::{self, Links};
use super::namespace::InNamespace;
use super::value_text::invalid;

/// What an option or argument without a value is, and one that is not there.
const PRESENT: &str = "present";
const ABSENT: &str = "absent";

/// File systems on block devices: what `/proc/mounts` has with a path as the device.
pub(super) fn mounts(in_namespace: &InNamespace<'_>) -> Vec<Mount> {
    proc_file(in_namespace, "1/mounts")
        .or_else(|_| proc_file(in_namespace, "self/mounts"))
        .map_or_else(|_| Vec::new(), |t| rows(&t))
}

/// The mount points of a type, sorted.
pub(super) fn mount_points(in_namespace: &InNamespace<'_>, fs: &str) -> Vec<String> {
    let mut paths: Vec<String> = mounts(in_namespace).into_iter().filter(|m| m.fs == fs).map(|m| m.path).collect();
    paths.sort_unstable();
    paths.dedup();
    paths
}

/// An option of a mount.
pub(super) fn mount_option(in_namespace: &InNamespace<'_>, path: &str, fs: &str, option: &str) -> io::Result<String> {
    let mounted = mounts(in_namespace).into_iter().rev().find(|mount| mount.path == path);
    let mount =
        mounted.ok_or_else(|| io::Error::new(io::ErrorKind::NotFound, format!("nothing is mounted at {path}")))?;
    if mount.fs != fs {
        return Err(invalid(format!("{path} is {}, not {fs}", mount.fs)));
    }
    Ok(among(mount.options.iter().map(String::as_str), option))
}

/// An argument of the kernel's command line; the last counts.
pub(super) fn boot_argument(in_namespace: &InNamespace<'_>, name: &str) -> io::Result<String> {
    Ok(among(proc_file(in_namespace, "cmdline")?.split_whitespace().rev(), name))
}

/// Whether a timer is active: systemd keeps a link with the id of the run of each active unit
/// (`src/core/unit.c: unit_export_invocation_id`). Without systemd there are no timers.
pub(super) fn timer(in_namespace: &InNamespace<'_>, unit: &str) -> io::Result<String> {
    let systemd = in_namespace.root.0.join("run/systemd");
    if !systemd.join("system").is_dir() {
        return Err(io::Error::new(io::ErrorKind::NotFound, "systemd does not run here"));
    }
    let is_active = systemd.join("units").join(format!("invocation:{unit}")).is_symlink();
    Ok(if is_active { "active" } else { "inactive" }.to_owned())
}

/// The value of a name in a list such as `rw,noatime,logbsize=256k`.
fn among<'t>(mut words: impl Iterator<Item = &'t str>, name: &str) -> String {
    let value = |word: &'t str| {
        let rest = word.strip_prefix(name)?;
        if rest.is_empty() { Some(PRESENT) } else { rest.strip_prefix('=') }
    };
    words.find_map(value).unwrap_or(ABSENT).to_owned()
}

fn proc_file(in_namespace: &InNamespace<'_>, path: &str) -> io::Result<String> {
    // `mounts` of a process is a file; `/proc/self`, a link, is followed within the tree.
    let proc = file::folder(&in_namespace.root.0.join("proc"))?;
    file::read(proc.as_fd(), path, Links::WithinTheTree)
}

fn rows(text: &str) -> Vec<Mount> {
    let row = |line: &str| {
        let mut columns = line.split(' ');
        let (device, path, fs, options) = (columns.next()?, columns.next()?, columns.next()?, columns.next()?);
        let options = options.split(',').map(str::to_owned).collect();
        let mount = Mount { device: unescaped(device), path: unescaped(path), fs: fs.to_owned(), options };
        device.starts_with('/').then_some(mount)
    };
    text.lines().filter_map(row).collect()
}

/// Blanks, tabs, line breaks and backslashes stand as three octal digits (`fs/proc_namespace.c: mangle`).
fn unescaped(text: &str) -> String {
    [("\\040", " "), ("\\011", "\t"), ("\\012", "\n"), ("\\043", "#"), ("\\134", "\\")]
        .iter()
        .fold(text.to_owned(), |text, (code, meant)| text.replace(code, meant))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_present_absent_or_a_value() {
        let words = ["rw", "noatime", "logbsize=256k", "inode64"];
        let cases = [("noatime", "present"), ("logbsize", "256k"), ("logb", "absent"), ("atime", "absent")];
        for (name, expected) in cases {
            assert_eq!(among(words.into_iter(), name), expected, "{name}");
        }
    }

    #[test]
    fn mounts_are_those_on_devices_with_their_names_unescaped() {
        let text = "proc /proc proc rw 0 0\n/dev/sda /mnt/a\\040b xfs rw,noatime,logbsize=32k 0 0\n/dev/sdb\n";
        let rows = rows(text);
        assert_eq!(rows.len(), 1);
        assert_eq!((rows[0].path.as_str(), rows[0].fs.as_str()), ("/mnt/a b", "xfs"));
        assert_eq!(rows[0].options, ["rw", "noatime", "logbsize=32k"]);
    }
}
