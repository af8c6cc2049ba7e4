//! Folders in which an engine keeps data, the drives that they are on, and what the engine wrote there of its sets.
//!
//! A folder of another node or pool is in the list of an engine too: those that are not on this machine are left out,
//! by the address of the endpoint where that is one, else because there is no such folder.

use std::collections::BTreeSet;
use std::net::IpAddr;

use linerate_record::discovery::EngineDrive;

use super::{drive_format, word};
use crate::live::engine_devices::{DeviceNumber, Mount, data_path, expanded, mount, mounted};
use crate::root::{ReadPass, Root, names, note, text};

/// Folders of one engine that are looked at: a node has some dozens of drives.
const FOLDERS_MAX: usize = 1_024;

/// Endpoints among the arguments of one engine: each folder of each node of a large cluster.
const ENDPOINTS_MAX: usize = 65_536;

/// Flags of engines that have no value: what comes behind them is an argument.
const SWITCHES: [&str; 6] = ["--quiet", "--anonymous", "--json", "--no-compat", "--insecure", "--strict-s3-compat"];

/// The kernel counts sectors of 512 bytes, whatever the device's are.
const BYTES_PER_SECTOR: u64 = 512;

/// Endpoints and folders with data among the arguments of a process.
pub(super) fn arguments(root: &Root, pid: u32, pass: &mut ReadPass) -> Vec<String> {
    let path = format!("proc/{pid}/cmdline");
    let line = match text(root, &path, &mut pass.bytes) {
        Ok(line) => line.into_owned(),
        Err(error) => {
            note(pass, &path, error.to_string());
            return Vec::new();
        }
    };
    let mut found = Vec::new();
    let mut is_value = false;
    for argument in line.split('\0').skip(1).take(ENDPOINTS_MAX) {
        if !is_value && data_path(argument).is_some() {
            found.push(argument.to_owned());
        }
        is_value = argument.starts_with('-') && !argument.contains('=') && !SWITCHES.contains(&argument);
    }
    found
}

/// The drives of an engine on this machine.
pub(super) fn drives(
    root: &Root,
    pid: u32,
    volumes: &[String],
    own: &[IpAddr],
    system_folder: &str,
    pass: &mut ReadPass,
) -> Vec<EngineDrive> {
    let lines = text(root, &format!("proc/{pid}/mountinfo"), &mut pass.bytes).map(std::borrow::Cow::into_owned);
    let mounts: Vec<Mount> = lines.iter().flat_map(|lines| lines.lines()).filter_map(mount).collect();
    let mut folders = BTreeSet::new();
    for volume in volumes.iter().filter(|volume| is_of_this_machine(volume, own)) {
        let Some(path) = data_path(volume) else { continue };
        match expanded(path) {
            Some(all) => folders.extend(all),
            None => note(pass, &format!("proc/{pid}/cmdline"), format!("{path:?} names no folders that are known")),
        }
        if folders.len() > FOLDERS_MAX {
            note(pass, &format!("proc/{pid}/cmdline"), format!("folders beyond {FOLDERS_MAX} are left out"));
            break;
        }
    }
    // As many numbers in a name, as few before as behind.
    let mut folders: Vec<String> = folders.into_iter().take(FOLDERS_MAX).collect();
    folders.sort_by_key(|folder| (folder.len(), folder.clone()));
    folders.into_iter().filter_map(|folder| drive(root, pid, folder, &mounts, system_folder, pass)).collect()
}

/// Whether an endpoint may be one of this machine: a name may be anybody's.
fn is_of_this_machine(volume: &str, own: &[IpAddr]) -> bool {
    let rest = volume.strip_prefix("http://").or_else(|| volume.strip_prefix("https://"));
    let Some(authority) = rest.map(|rest| rest.split('/').next().unwrap_or_default()) else { return true };
    let host = authority.rsplit_once(':').map_or(authority, |(host, _)| host);
    let address: Option<IpAddr> = host.trim_matches(['[', ']']).parse().ok();
    address.is_none_or(|address| address.is_loopback() || own.contains(&address))
}

fn drive(
    root: &Root,
    pid: u32,
    path: String,
    mounts: &[Mount],
    system_folder: &str,
    pass: &mut ReadPass,
) -> Option<EngineDrive> {
    let inside = format!("proc/{pid}/root{}", path.trim_end_matches('/'));
    let format_path = format!("{inside}/{system_folder}/format.json");
    let format = match text(root, &format_path, &mut pass.bytes) {
        Ok(text) => {
            let format = drive_format::parse(&text);
            if format.is_none() {
                note(pass, &format_path, "it does not describe erasure sets");
            }
            format
        }
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => None,
        Err(error) => {
            note(pass, &format_path, error.to_string());
            None
        }
    };
    let mount = mounted(&path, mounts);
    if format.is_none() && !root.0.join(&inside).is_dir() {
        return None;
    }
    let disk = mount.and_then(|mount| disk(root, mount.device));
    Some(EngineDrive {
        disk_bytes: disk.as_deref().and_then(|name| disk_bytes(root, name)),
        disk,
        file_system: mount.map(|mount| mount.file_system.clone()).filter(|name| !name.is_empty()),
        format,
        path,
    })
}

/// The drive of a block device: that of a partition, and what a volume stands on where this is one drive.
fn disk(root: &Root, (major, minor): DeviceNumber) -> Option<String> {
    let own = format!("{major}:{minor}");
    let has_number = |path: String| word(root, &path).is_some_and(|number| number == own);
    for name in names(root, "sys/block") {
        let is_it = has_number(format!("sys/block/{name}/dev"));
        let is_part = || {
            let parts = names(root, &format!("sys/block/{name}"));
            parts.iter().any(|part| part.starts_with(&name) && has_number(format!("sys/block/{name}/{part}/dev")))
        };
        if is_it || is_part() {
            return Some(below(root, name));
        }
    }
    None
}

/// Layers of volumes over each other.
const LAYERS_MAX: usize = 4;

fn below(root: &Root, mut name: String) -> String {
    for _ in 0..LAYERS_MAX {
        let mut slaves = names(root, &format!("sys/block/{name}/slaves"));
        match (slaves.pop(), slaves.is_empty()) {
            (Some(only), true) => name = only,
            _ => break,
        }
    }
    name
}

fn disk_bytes(root: &Root, name: &str) -> Option<u64> {
    let sectors: u64 = word(root, &format!("sys/block/{name}/size"))?.parse().ok()?;
    sectors.checked_mul(BYTES_PER_SECTOR).filter(|bytes| *bytes > 0)
}

#[cfg(test)]
mod tests {
    use super::super::tests::put;
    use super::*;

    const FORMAT: &str = r#"{"format":"xl","id":"a","xl":{"this":"d1","sets":[["d1","d2"]]}}"#;

    #[test]
    fn folders_of_this_machine_are_found_with_their_drives_and_sets() {
        let folder = tempfile::tempdir().unwrap();
        let root = Root::captured(folder.path());
        put(&root, "sys/block/nvme0n1/dev", "259:0\n");
        put(&root, "sys/block/nvme0n1/size", "2000\n");
        put(&root, "sys/block/nvme0n1/nvme0n1p1/dev", "259:1\n");
        put(&root, "sys/block/dm-0/dev", "253:0\n");
        put(&root, "sys/block/dm-0/slaves/sdb/dev", "8:16\n");
        put(&root, "sys/block/sdb/dev", "8:16\n");
        put(&root, "sys/block/sdb/size", "4000\n");
        let mounts = ["259:1 / /d1 rw - xfs /dev/nvme0n1p1 rw", "253:0 / /d2 rw - ext4 /dev/dm-0 rw"];
        put(&root, "proc/7/mountinfo", &mounts.map(|line| format!("36 35 {line}\n")).concat());
        put(&root, "proc/7/root/d1/.minio.sys/format.json", FORMAT);
        put(&root, "proc/7/root/d2/.minio.sys/format.json", "root:x:0:0:");
        put(&root, "proc/7/root/d3/lost+found/x", "");
        let volumes = ["http://10.0.0.9:9000/d{1...4}", "http://10.0.0.8:9000/d9"].map(str::to_owned);
        let mut pass = ReadPass::default();
        let own = ["10.0.0.9".parse().unwrap()];
        let found = drives(&root, 7, &volumes, &own, ".minio.sys", &mut pass);
        let reported: Vec<_> = found
            .iter()
            .map(|drive| (&*drive.path, drive.disk.as_deref(), drive.disk_bytes, drive.format.is_some()))
            .collect();
        let expected = [
            ("/d1", Some("nvme0n1"), Some(1_024_000), true),
            ("/d2", Some("sdb"), Some(2_048_000), false),
            ("/d3", None, None, false),
        ];
        assert_eq!(reported, expected);
        assert_eq!(found[0].file_system.as_deref(), Some("xfs"));
        let unread: Vec<String> = pass.unreadable.iter().map(ToString::to_string).collect();
        assert_eq!(unread, ["cannot read proc/7/root/d2/.minio.sys/format.json: it does not describe erasure sets"]);
    }

    #[test]
    fn values_of_flags_are_no_folders() {
        let folder = tempfile::tempdir().unwrap();
        let root = Root::captured(folder.path());
        for (line, expected) in [
            ("minio server --certs-dir /c --quiet /d1 /d2", &["/d1", "/d2"][..]),
            ("minio server --address :9000 https://n{1...4}/d --config-dir=/x", &["https://n{1...4}/d"]),
            ("minio gateway nas", &[]),
        ] {
            put(&root, "proc/7/cmdline", &line.replace(' ', "\0"));
            assert_eq!(arguments(&root, 7, &mut ReadPass::default()), expected, "{line}");
        }
    }
}
