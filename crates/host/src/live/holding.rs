//! Which block devices hold what an engine serves: the folders among its arguments, and what is mounted there.
//!
//! - Tells: devices by their numbers, of an engine that is started with its folders (`minio server /data{1...4}`), on
//!   file systems that lie on one device each.
//! - Cannot tell: folders that come from the environment or a file, since either may hold secrets; file systems over
//!   several devices (btrfs, ZFS), and stores on devices without one (Ceph). Where that is so of any engine of a
//!   machine, nothing is told, and all drives are taken.
//! - Needs root for another user's mounts (`/proc/PID/mountinfo`).

use std::collections::BTreeSet;

use crate::root::{Pass, Root, text};

/// Most folders that an argument may stand for: an engine has at most some dozens of drives on a machine.
const MOST_FOLDERS: u64 = 256;

/// A block device by its major and minor number.
pub(super) type DeviceNumber = (u32, u32);

/// Devices of all these processes; none where those of one of them cannot be told.
pub(super) fn devices(root: &Root, pids: impl Iterator<Item = u32>, pass: &mut Pass) -> Option<BTreeSet<DeviceNumber>> {
    let mut all = BTreeSet::new();
    for pid in pids {
        let arguments = text(root, &format!("proc/{pid}/cmdline"), &mut pass.bytes).ok()?;
        let folders = folders(&arguments)?;
        let mounts = text(root, &format!("proc/{pid}/mountinfo"), &mut pass.bytes).ok()?;
        let mounts: Vec<Mount> = mounts.lines().filter_map(mount).collect();
        for folder in folders {
            all.insert(device_of(&folder, &mounts)?);
        }
    }
    (!all.is_empty()).then_some(all)
}

/// Folders among arguments. What comes behind a flag may be its value, such as a folder of certificates: it is taken
/// with others, since one drive too many is better than one too few, and alone it gives nothing.
fn folders(arguments: &str) -> Option<Vec<String>> {
    let mut found = Vec::new();
    let (mut is_behind_a_flag, mut is_sure) = (false, false);
    for argument in arguments.split('\0').skip(1) {
        if let Some(path) = path_of(argument) {
            found.extend(expanded(path)?);
            is_sure |= !is_behind_a_flag;
        }
        is_behind_a_flag = argument.starts_with('-') && !argument.contains('=');
    }
    is_sure.then_some(found)
}

/// The folder of `/data`, and of `http://host{1...4}:9000/data`.
fn path_of(argument: &str) -> Option<&str> {
    let rest = argument.strip_prefix("http://").or_else(|| argument.strip_prefix("https://"));
    let path = rest.map_or(argument, |rest| rest.find('/').map_or("", |at| &rest[at..]));
    path.starts_with('/').then_some(path)
}

/// `/data1` and `/data2` of `/data{1...2}`; none of what stands for nothing, for too much, or for other digits.
fn expanded(path: &str) -> Option<Vec<String>> {
    let Some((before, rest)) = path.split_once('{') else { return Some(vec![path.to_owned()]) };
    let (range, after) = rest.split_once('}')?;
    let (first, last) = range.split_once("...")?;
    let (from, to) = (first.parse::<u64>().ok()?, last.parse::<u64>().ok()?);
    let width = if first.starts_with('0') { first.len() } else { 0 };
    to.checked_sub(from).filter(|&many| many < MOST_FOLDERS)?;
    let mut all: Vec<String> = Vec::new();
    for number in from..=to {
        all.extend(expanded(&format!("{before}{number:0width$}{after}"))?);
        if all.len() as u64 > MOST_FOLDERS {
            return None;
        }
    }
    Some(all)
}

/// Where something is mounted, and the device that it is on.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Mount {
    at: String,
    device: DeviceNumber,
}

/// A line of `proc_pid_mountinfo(5)`: `36 35 98:0 /mnt1 /mnt2 rw,noatime master:1 - ext3 /dev/root rw`.
fn mount(line: &str) -> Option<Mount> {
    let mut fields = line.split(' ').skip(2);
    let (major, minor) = fields.next()?.split_once(':')?;
    let at = unescaped(fields.nth(1)?);
    Some(Mount { at, device: (major.parse().ok()?, minor.parse().ok()?) })
}

/// Blanks are octal there: `\040`.
fn unescaped(path: &str) -> String {
    let mut parts = path.split('\\');
    let mut whole = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let code = part.get(..3).and_then(|digits| u8::from_str_radix(digits, 8).ok()).filter(u8::is_ascii);
        match code {
            Some(code) => {
                whole.push(char::from(code));
                whole.push_str(&part[3..]);
            }
            None => {
                whole.push('\\');
                whole.push_str(part);
            }
        }
    }
    whole
}

/// The device that a folder is on. File systems that are on none have numbers of major 0.
fn device_of(folder: &str, mounts: &[Mount]) -> Option<DeviceNumber> {
    let holds = |at: &str| {
        let rest = folder.strip_prefix(at.trim_end_matches('/'));
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    };
    // Of those mounted at one place, the last covers the others.
    let mount = mounts.iter().filter(|mount| holds(&mount.at)).max_by_key(|mount| mount.at.len())?;
    Some(mount.device).filter(|(major, _)| *major != 0)
}

#[cfg(test)]
mod tests {
    use super::super::tests::put;
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn folders_are_found_among_arguments() {
        for (arguments, expected) in [
            (&["minio", "server", "/data"][..], &["/data"][..]),
            (&["minio", "server", "--address", ":9000", "/data{1...3}"], &["/data1", "/data2", "/data3"]),
            (&["minio", "server", "/d{09...10}/x"], &["/d09/x", "/d10/x"]),
            (&["minio", "server", "https://n{1...4}:9000/mnt/d{1...2}"], &["/mnt/d1", "/mnt/d2"]),
            (&["minio", "server", "--certs-dir=/c", "/data"], &["/data"]),
            (&["minio", "server", "--quiet", "/d1", "/d2", "--certs-dir", "/c"], &["/d1", "/d2", "/c"]),
            (&["minio", "server", "/r{1...2}d{1...2}"], &["/r1d1", "/r1d2", "/r2d1", "/r2d2"]),
        ] {
            assert_eq!(folders(&arguments.join("\0")).as_deref(), Some(&strings(expected)[..]), "{arguments:?}");
        }
        for arguments in [
            &["minio", "server", "/d1", "/d{a...f}"][..],
            &["minio", "server", "/d{2...1}"],
            &["minio", "server", "/d{1...99999999999}"],
            &["minio", "server", "/d{1...200}{1...200}"],
            &["minio", "server", "/d{1"],
            &["minio", "server", "/d{1,2}"],
            &["minio", "server", "--config-dir", "/c"],
            &["rustfs", "http://n1:9000"],
            &["garage", "-c", "/etc/garage.toml", "server"],
            &["ceph-osd", "-f", "--id", "3"],
        ] {
            assert_eq!(folders(&arguments.join("\0")), None, "{arguments:?}");
        }
    }

    fn strings(all: &[&str]) -> Vec<String> {
        all.iter().map(ToString::to_string).collect()
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
            ("/database", Some((8, 1))),
            ("/over", Some((8, 3))),
            ("/proc/x", None),
        ] {
            assert_eq!(device_of(folder, &mounts), device, "{folder}");
        }
        assert_eq!(device_of("/data", &[]), None);
    }

    #[test]
    fn one_engine_whose_devices_are_unknown_leaves_all_unknown() {
        let folder = tempfile::tempdir().unwrap();
        let root = Root::captured(folder.path());
        let mount = |device: &str, at: &str| format!("36 35 {device} / {at} rw - xfs /dev/x rw\n");
        put(&root, "proc/7/cmdline", "minio\0server\0/d{1...2}\0");
        put(&root, "proc/7/mountinfo", &(mount("8:1", "/") + &mount("259:1", "/d1") + &mount("259:2", "/d2")));
        put(&root, "proc/8/cmdline", "ceph-osd\0-f\0");
        put(&root, "proc/9/cmdline", "minio\0server\0/d1\0");
        put(&root, "proc/10/cmdline", "minio\0server\0/d1\0");
        put(&root, "proc/10/mountinfo", &mount("0:40", "/d1"));
        let found = |pids: &[u32]| devices(&root, pids.iter().copied(), &mut Pass::default());
        assert_eq!(found(&[7]), Some(BTreeSet::from([(259, 1), (259, 2)])));
        assert_eq!(found(&[]), None);
        for (other, why) in [(8, "no folder"), (9, "its mounts cannot be read"), (10, "no device"), (11, "it ended")] {
            assert_eq!(found(&[7, other]), None, "{why}");
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
            device_of("/d1/x", &mounts);
        }
    }
}
