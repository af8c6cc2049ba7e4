//! `tune --fleet` over three virtual machines whose first process is Debian's systemd, each reached by its own sshd:
//! the watch of each node is a timer of its systemd, as on machines in use.

use std::path::PathBuf;

use libtest_mimic::Failed;
use tempfile::tempdir;

use super::booted::kernel;
use super::there_and_back::{bounded, judged, parts};
use crate::NamedCheck;
use crate::running::linerate;

/// The check, and what it needs.
pub(crate) const CHECKS: [NamedCheck; 1] = [(
    "booted_fleet_of_systemd_is_as_before_or_as_confirmed_after_each_scene",
    &[
        "a kernel to boot",
        "a Debian with systemd",
        "root",
        "qemu-system-x86_64",
        "busybox",
        "cpio",
        "timeout",
        "ip",
        "ssh",
        "ssh-keygen",
        "mke2fs",
        "debugfs",
        "strip",
    ],
    each_scene,
)];

/// Scenes of `scenes.sh`.
const SCENES: usize = 7;

/// Booted and prepared in three minutes; the scenes take a quarter of an hour where little else runs. Each time within
/// is longer where machines are slow.
const SECONDS_MAX: u32 = 3600;

/// What `make test-machines` names: it takes too long for `make test-system`.
const PACKAGES: &str = "SYSTEMD";

pub(crate) fn is_requested_for() -> bool {
    std::env::var_os(PACKAGES).is_some()
}

/// The packages of a Debian with systemd, unpacked.
pub(super) fn unpacked() -> Option<PathBuf> {
    let folder = std::env::var_os(PACKAGES).map(PathBuf::from)?;
    folder.join("lib/systemd/systemd").is_file().then_some(folder)
}

fn each_scene() -> Result<(), Failed> {
    let kernel = kernel().ok_or("no kernel to boot: make test-machines takes Debian's, or set KERNEL to a vmlinuz")?;
    let packages = unpacked().ok_or("no Debian with systemd: make test-machines unpacks one")?;
    let folder = tempdir()?;
    let mut command = bounded(SECONDS_MAX);
    command.arg(parts().join("systemd/scenes.sh")).arg(packages).arg(kernel);
    command.arg(linerate().get_program()).arg(folder.path());
    judged(&mut command, SCENES)
}
