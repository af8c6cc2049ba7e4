//! Which block devices hold what an engine serves: the folders among its arguments, and what is mounted there.
//!
//! - Tells: devices by their numbers, of an engine that is started with its folders (`minio server /data{1...4}`), on
//!   file systems that lie on one device each and are mounted elsewhere than at `/`.
//! - Cannot tell: folders that come from the environment or a file, since either may hold secrets (a MinIO with
//!   `MINIO_VOLUMES` ignores its arguments); file systems with devices of their own (btrfs, ZFS), and stores on devices
//!   without one (Ceph). Where no folder of an engine can be told, or one that is mounted is on no device, nothing is
//!   told of the machine, and all drives are taken.
//! - Needs no privilege, unless `/proc` is mounted with `hidepid`. A few files a process, each 30 s.

use std::collections::BTreeSet;
use std::path::Path;

use linerate_record::ranges::expanded_in;

use crate::root::{ReadPass, Root, text};
use crate::snapshot::unescaped;

/// An engine has at most some dozens of drives on a machine, and some dozens of machines in an argument.
const MOST_FOLDERS: usize = 1_024;

/// Ranges within one folder, and its length: a process may be started with anything.
const MOST_RANGES: usize = 4;
const MOST_BYTES: usize = 4_096;

/// A block device by its major and minor number.
pub(crate) type DeviceNumber = (u32, u32);

/// Devices of all these processes; none where those of one of them cannot be told.
pub(super) fn devices(
    root: &Root,
    pids: impl Iterator<Item = u32>,
    pass: &mut ReadPass,
) -> Option<BTreeSet<DeviceNumber>> {
    let mut all = BTreeSet::new();
    for pid in pids {
        let arguments = text(root, &format!("proc/{pid}/cmdline"), &mut pass.bytes).ok()?;
        if arguments.is_empty() {
            // It has ended, and waits to be taken.
            continue;
        }
        let folders = folders(&arguments)?;
        let mounts = text(root, &format!("proc/{pid}/mountinfo"), &mut pass.bytes).ok()?;
        all.extend(of_folders(&folders, &mounts.lines().filter_map(mount).collect::<Vec<_>>())?);
    }
    (!all.is_empty()).then_some(all)
}

/// Devices of the folders of a process. Where nothing is mounted, a folder is one of another pool's nodes, or a drive
/// that has failed.
fn of_folders(folders: &[(String, bool)], mounts: &[Mount]) -> Option<BTreeSet<DeviceNumber>> {
    let mut found = BTreeSet::new();
    let mut is_sure = false;
    for (folder, is_data) in folders {
        match mounted(folder, mounts).map(|mount| mount.device) {
            // In memory, or with a device of its own: what data are on there cannot be told.
            Some((0, _)) if *is_data => return None,
            Some((0, _)) | None => {}
            Some(device) => {
                found.insert(device);
                is_sure |= is_data;
            }
        }
    }
    is_sure.then_some(found)
}

/// Folders among arguments, and whether each is surely one with data; none where they cannot be told. What comes behind
/// a flag may be its value, such as a folder of certificates: with others it is taken, since one drive too many is
/// better than one too few.
fn folders(arguments: &str) -> Option<Vec<(String, bool)>> {
    let mut found = Vec::new();
    let mut is_data = true;
    for argument in arguments.split('\0').skip(1) {
        if let Some(path) = data_path(argument) {
            found.extend(expanded(path)?.into_iter().map(|folder| (folder, is_data)));
            if found.len() > MOST_FOLDERS {
                return None;
            }
        }
        is_data = !argument.starts_with('-') || argument.contains('=');
    }
    Some(found)
}

/// The folder of `/data`, and of `http://host{1...4}:9000/data`.
pub(crate) fn data_path(argument: &str) -> Option<&str> {
    let rest = argument.strip_prefix("http://").or_else(|| argument.strip_prefix("https://"));
    let path = rest.map_or(argument, |rest| rest.find('/').map_or("", |at| &rest[at..]));
    path.starts_with('/').then_some(path)
}

/// `/data1` and `/data2` of `/data{1...2}`; none of what stands for nothing, for too much, or for other digits.
pub(crate) fn expanded(path: &str) -> Option<Vec<String>> {
    if path.len() > MOST_BYTES || path.matches('{').count() > MOST_RANGES {
        return None;
    }
    // As MinIO fills numbers up.
    let width = |first: &str, last: &str| {
        let is_filled = (first.len() > 1 && first.starts_with('0')) || last.starts_with('0');
        if is_filled { last.len() } else { 0 }
    };
    expanded_in(width, path, MOST_FOLDERS).ok()
}

/// Where something is mounted, and the device that it is on; file systems that are on none have one of major 0.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Mount {
    at: String,
    pub(crate) device: DeviceNumber,
    pub(crate) file_system: String,
}

/// A line of `proc_pid_mountinfo(5)`: `36 35 98:0 /mnt1 /mnt2 rw,noatime master:1 - ext3 /dev/root rw`.
pub(crate) fn mount(line: &str) -> Option<Mount> {
    let (_, behind) = line.split_once(" - ").unwrap_or_default();
    let file_system = behind.split(' ').next().unwrap_or_default().to_owned();
    let mut fields = line.split(' ').skip(2);
    let (major, minor) = fields.next()?.split_once(':')?;
    let at = unescaped(fields.nth(1)?);
    Some(Mount { at, device: (major.parse().ok()?, minor.parse().ok()?), file_system })
}

/// What is mounted nearest above a folder, `/` left aside: where data are to be and nothing is mounted, the system's
/// drive is none of the engine's.
pub(crate) fn mounted<'a>(folder: &str, mounts: &'a [Mount]) -> Option<&'a Mount> {
    let depth = |mount: &&Mount| Path::new(&mount.at).components().count();
    let above = mounts.iter().filter(|mount| depth(mount) > 1 && Path::new(folder).starts_with(&mount.at));
    // Of those mounted at one place, the last covers the others.
    above.max_by_key(depth)
}

#[cfg(test)]
mod tests {
    use super::super::tests::put;
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn folders_are_found_among_arguments() {
        for (arguments, sure, other) in [
            (&["minio", "server", "/data"][..], &["/data"][..], &[][..]),
            (&["minio", "server", "--address", ":9000", "/data{1...3}"], &["/data1", "/data2", "/data3"], &[]),
            (&["minio", "server", "/d{09...10}/x"], &["/d09/x", "/d10/x"], &[]),
            (
                &["minio", "server", "/d{0...1}", "/e{01...2}", "/f{1...02}"],
                &["/d0", "/d1", "/e1", "/e2", "/f01", "/f02"],
                &[],
            ),
            (&["minio", "server", "https://n{1...4}:9000/mnt/d{1...2}"], &["/mnt/d1", "/mnt/d2"], &[]),
            (&["minio", "server", "--certs-dir=/c", "/data"], &["/data"], &[]),
            (&["minio", "server", "--quiet", "/d1", "/d2", "--certs-dir", "/c"], &["/d2"], &["/d1", "/c"]),
            (&["minio", "server", "/r{1...2}d{1...2}"], &["/r1d1", "/r1d2", "/r2d1", "/r2d2"], &[]),
            (&["minio", "server", "--config-dir", "/c"], &[], &["/c"]),
            (&["rustfs", "http://n1:9000"], &[], &[]),
            (&["garage", "-c", "/etc/garage.toml", "server"], &[], &["/etc/garage.toml"]),
            (&["ceph-osd", "-f", "--id", "3"], &[], &[]),
        ] {
            let found = folders(&arguments.join("\0")).unwrap();
            let folders_where = |is: bool| -> Vec<&str> {
                found.iter().filter(|(_, is_sure)| *is_sure == is).map(|(folder, _)| folder.as_str()).collect()
            };
            assert_eq!((folders_where(true), folders_where(false)), (sure.to_vec(), other.to_vec()), "{arguments:?}");
        }
        let (many, long) = (format!("/{}", "{1...1}".repeat(5)), format!("/{}", "d".repeat(MOST_BYTES)));
        let others = ["/d{a...f}", "/d{2...1}", "/d{1...99999999999}", "/d{1...200}{1...200}", "/d{1", "/d{1,2}"];
        for path in others.into_iter().chain([many.as_str(), long.as_str()]) {
            assert_eq!(folders(&format!("minio\0server\0/d1\0{path}")), None, "{path}");
        }
    }

    #[test]
    fn a_process_with_any_number_of_arguments_is_looked_at_in_bounds() {
        let arguments = format!("minio{}", "\0/d{1...256}".repeat(100_000));
        assert_eq!(folders(&arguments), None);
    }

    #[test]
    fn a_folder_is_on_what_is_mounted_nearest_above_it() {
        let line = |device: &str, at: &str| format!("36 35 {device} / {at} rw master:1 - ext4 /dev/x rw");
        let mounts: Vec<Mount> = [
            line("8:1", "/"),
            line("0:5", "/proc"),
            line("259:0", "/data"),
            line("259:1", "/data/inner"),
            line("259:2", "/data\\040two"),
            line("8:2", "/over"),
            line("8:3", "/over"),
            "odd".to_owned(),
            "1 2 8 / /x".to_owned(),
        ]
        .iter()
        .filter_map(|line| mount(line))
        .collect();
        for (folder, device) in [
            ("/data", Some((259, 0))),
            ("/data/", Some((259, 0))),
            ("/data/a", Some((259, 0))),
            ("/data/inner/b", Some((259, 1))),
            ("/data two/x", Some((259, 2))),
            ("//data//a", Some((259, 0))),
            ("/database", None),
            ("/over", Some((8, 3))),
            ("/proc/x", Some((0, 5))),
        ] {
            assert_eq!(mounted(folder, &mounts).map(|mount| mount.device), device, "{folder}");
        }
        assert_eq!(mounted("/data", &[]), None);
    }

    #[test]
    fn one_engine_whose_devices_are_unknown_leaves_all_unknown() {
        let folder = tempfile::tempdir().unwrap();
        let root = Root::captured(folder.path());
        let mounts: String = [("8:1", "/"), ("0:51", "/c"), ("259:1", "/d1"), ("259:2", "/d2"), ("0:60", "/tank")]
            .map(|(device, at)| format!("36 35 {device} / {at} rw - xfs /dev/x rw\n"))
            .concat();
        let mut pid = 10;
        let mut process = |arguments: &[&str], mounts: &str| {
            pid += 1;
            put(&root, &format!("proc/{pid}/cmdline"), &arguments.join("\0"));
            put(&root, &format!("proc/{pid}/mountinfo"), mounts);
            pid
        };
        let of_pools = ["minio", "server", "--certs-dir", "/c", "/d{1...2}", "https://b{1...4}/pool{1...2}"];
        let known = process(&of_pools, &mounts);
        let ended = process(&[], "");
        let unknown = [
            process(&["ceph-osd", "-f"], &mounts),
            process(&["minio", "server", "/d1"], ""),
            process(&["minio", "server", "/tank/a", "/d1"], &mounts),
            process(&["minio", "server", "/pool{1...2}"], &mounts),
            process(&["minio", "server", "--config-dir", "/d1"], &mounts),
            99,
        ];
        let found = |pids: &[u32]| devices(&root, pids.iter().copied(), &mut ReadPass::default());
        assert_eq!(found(&[known, ended]), Some(BTreeSet::from([(259, 1), (259, 2)])));
        assert_eq!((found(&[]), found(&[ended])), (None, None));
        for other in unknown {
            assert_eq!((found(&[other]), found(&[known, other])), (None, None), "{other}");
        }
    }

    proptest! {
        #[test]
        fn no_text_panics(
            arguments in "(minio\0|/d\\{[0-9]{1,9}\\.\\.\\.[0-9]{1,9}\\}|\0|https://|é|-){0,8}",
            mounts in "([0-9] [0-9] [0-9]{1,12}:[0-9] / (/|\\\\0[0-9é]{1,3}|[a-z]){0,6} rw\n){0,4}|(?s).*",
        ) {
            folders(&arguments);
            let mounts: Vec<Mount> = mounts.lines().filter_map(mount).collect();
            mounted("/d1/x", &mounts);
        }
    }
}
