//! Ceph: a process an OSD, whose folder has a link to its block device.

use linerate_record::discovery::EngineDrive;

use super::super::{data_folders, inside};
use super::{DataLayout, EngineProcess, flag_value};
use crate::root::{ReadPass, note};

/// Where the folders of OSDs are: `/var/lib/ceph/osd/ceph-3`.
const FOLDER: &str = "/var/lib/ceph/osd";

/// The name of a cluster unless another is stated.
const CLUSTER: &str = "ceph";

pub(super) fn read(process: EngineProcess<'_>, pass: &mut ReadPass) -> DataLayout {
    let arguments = process.arguments(pass);
    let is_name =
        |name: &&str| !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-');
    let Some(id) = flag_value(&arguments, &["--id", "-i", "--osd-id"]).filter(is_name) else {
        return DataLayout::default();
    };
    let cluster = flag_value(&arguments, &["--cluster"]).filter(is_name).unwrap_or(CLUSTER);
    let path = format!("{FOLDER}/{cluster}-{id}/block");
    let number = match inside::block_device(process.root, process.pid, &path) {
        Ok(number) => number,
        Err(error) => {
            note(pass, &process.inside(&path), error.to_string());
            return DataLayout::default();
        }
    };
    let disk = number.and_then(|number| data_folders::disk(process.root, data_folders::numbers(number)));
    let disk_bytes = disk.as_deref().and_then(|name| data_folders::disk_bytes(process.root, name));
    let drive = EngineDrive { path: path.clone(), disk, disk_bytes, ..EngineDrive::default() };
    DataLayout { volumes: vec![path], drives: vec![drive], ..DataLayout::default() }
}
