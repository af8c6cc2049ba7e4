//! Folders in which an engine keeps data, the drives that they are on, and what the engine wrote there of its sets.

use std::borrow::Cow;
use std::io::ErrorKind;

use linerate_record::device_name::is_partition;
use linerate_record::discovery::{DriveFormat, EngineDrive};

use super::{drive_format, inside, word};
use crate::live::engine_devices::{DeviceNumber, Mount, mount, mounted};
use crate::root::{ReadPass, Root, names, note, text};

/// The kernel counts sectors of 512 bytes, whatever the device's are.
const BYTES_PER_SECTOR: u64 = 512;

/// The drives of folders of an engine on this machine; those that are not here are left out. Where it describes its
/// erasure sets on each drive, in which folder.
pub(super) fn drives(
    root: &Root,
    pid: u32,
    mut folders: Vec<String>,
    system_folder: Option<&str>,
    pass: &mut ReadPass,
) -> Vec<EngineDrive> {
    let lines = text(root, &format!("proc/{pid}/mountinfo"), &mut pass.bytes).map(Cow::into_owned);
    let mounts: Vec<Mount> = lines.iter().flat_map(|lines| lines.lines()).filter_map(mount).collect();
    // `/data2` before `/data10`.
    folders.sort_by_key(|folder| (folder.len(), folder.clone()));
    folders.dedup();
    folders.into_iter().filter_map(|folder| drive(root, pid, folder, &mounts, system_folder, pass)).collect()
}

fn drive(
    root: &Root,
    pid: u32,
    path: String,
    mounts: &[Mount],
    system_folder: Option<&str>,
    pass: &mut ReadPass,
) -> Option<EngineDrive> {
    let format =
        system_folder.and_then(|folder| format(root, pid, &format!("{}/{folder}", path.trim_end_matches('/')), pass));
    if format.is_none() && !inside::is_folder(root, pid, &path) {
        return None;
    }
    let mount = mounted(&path, mounts);
    let disk = mount.and_then(|mount| disk(root, mount.device));
    Some(EngineDrive {
        disk_bytes: disk.as_deref().and_then(|name| disk_bytes(root, name)),
        disk,
        file_system: mount.map(|mount| mount.file_system.clone()).filter(|name| !name.is_empty()),
        format,
        path,
    })
}

/// What the engine wrote down of its sets, in this folder; a drive that is new has nothing yet.
fn format(root: &Root, pid: u32, folder: &str, pass: &mut ReadPass) -> Option<DriveFormat> {
    let path = format!("{folder}/format.json");
    let noted = format!("proc/{pid}/root{path}");
    match inside::text(root, pid, &path) {
        Ok(text) => {
            let format = drive_format::parse(&text);
            if format.is_none() {
                note(pass, &noted, "it does not describe erasure sets");
            }
            format
        }
        Err(error) if error.kind() == ErrorKind::NotFound => None,
        Err(error) => {
            note(pass, &noted, error.to_string());
            None
        }
    }
}

/// The major and minor number of a device, as the C library puts them together (`gnu_dev_major`).
pub(super) fn numbers(device: u64) -> DeviceNumber {
    let (major, minor) = (rustix::fs::major(device), rustix::fs::minor(device));
    (major, minor)
}

/// Layers of volumes over each other.
const LAYERS_MAX: usize = 4;

/// The drive of a block device: that of a partition, and what a volume stands on where this is one drive.
pub(super) fn disk(root: &Root, device: DeviceNumber) -> Option<String> {
    let mut name = whole(root, device)?;
    for _ in 0..LAYERS_MAX {
        let mut slaves = names(root, &format!("sys/block/{name}/slaves"));
        let (Some(only), true) = (slaves.pop(), slaves.is_empty()) else { break };
        // It may be a partition, which is in the folder of its drive alone.
        let number = word(root, &format!("sys/block/{name}/slaves/{only}/dev")).and_then(|text| parse_number(&text));
        name = number.and_then(|number| whole(root, number)).unwrap_or(only);
    }
    Some(name)
}

/// The whole device of a number: itself, or that of a partition.
fn whole(root: &Root, (major, minor): DeviceNumber) -> Option<String> {
    let own = format!("{major}:{minor}");
    let has_number = |path: String| word(root, &path).is_some_and(|number| number == own);
    names(root, "sys/block").into_iter().find(|name| {
        let parts = || names(root, &format!("sys/block/{name}")).into_iter().filter(|part| is_partition(part, name));
        has_number(format!("sys/block/{name}/dev"))
            || parts().any(|part| has_number(format!("sys/block/{name}/{part}/dev")))
    })
}

fn parse_number(text: &str) -> Option<DeviceNumber> {
    let (major, minor) = text.split_once(':')?;
    Some((major.parse().ok()?, minor.parse().ok()?))
}

pub(super) fn disk_bytes(root: &Root, name: &str) -> Option<u64> {
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
        put(&root, "sys/block/dm-0/slaves/sdb1/dev", "8:17\n");
        put(&root, "sys/block/sdb/dev", "8:16\n");
        put(&root, "sys/block/sdb/sdb1/dev", "8:17\n");
        put(&root, "sys/block/sdb/size", "4000\n");
        let mounts = ["259:1 / /d1 rw - xfs /dev/nvme0n1p1 rw", "253:0 / /d2 rw - ext4 /dev/dm-0 rw"];
        put(&root, "proc/7/mountinfo", &mounts.map(|line| format!("36 35 {line}\n")).concat());
        put(&root, "proc/7/root/d1/.minio.sys/format.json", FORMAT);
        put(&root, "proc/7/root/d2/.minio.sys/format.json", "root:x:0:0:");
        put(&root, "proc/7/root/d3/lost+found/x", "");
        let folders = ["/d1", "/d2", "/d3", "/d9"].map(str::to_owned).to_vec();
        let mut pass = ReadPass::default();
        let found = drives(&root, 7, folders, Some(".minio.sys"), &mut pass);
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
}
