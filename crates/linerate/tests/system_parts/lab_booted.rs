//! `linerate lab` in a virtual machine with Debian's kernel: under version 2 of control groups, with bonds and netem.

use libtest_mimic::Failed;
use tempfile::tempdir;

use super::booted::kernel_and_modules;
use super::there_and_back::{bounded, judged, parts};
use crate::NamedCheck;
use crate::running::linerate;

/// The check, and what it needs.
pub(crate) const CHECKS: [NamedCheck; 1] = [(
    "booted_lab_holds_its_limits_by_version_2_of_control_groups_and_has_bonds",
    &[
        "a kernel to boot",
        "root",
        "qemu-system-x86_64",
        "busybox",
        "cpio",
        "timeout",
        "ip",
        "tc",
        "ethtool",
        "dash",
        "unshare",
        "losetup",
        "mkfs.ext4",
        "mkfs.xfs",
        "setsid",
        "setpriv",
        "nsenter",
    ],
    each_case,
)];

/// Cases of `lab_booted.sh`.
const CASES: usize = 19;

/// Emulated, it takes some two minutes.
const SECONDS_MAX: u32 = 1200;

/// What a lab needs in addition to what booted.sh puts there; where busybox has one of the name, this takes its place.
const PROGRAMS: &str = "dash losetup mkfs.ext4 mkfs.xfs mount nsenter setpriv setsid umount";

/// The same of modules.
const MODULES: &str = "sch_netem cls_bpf loop ext4 xfs";

fn each_case() -> Result<(), Failed> {
    let (kernel, modules) = kernel_and_modules()?;
    let (build, more) = (tempdir()?, tempdir()?);
    std::fs::write(more.path().join("programs"), PROGRAMS)?;
    std::fs::write(more.path().join("modules"), MODULES)?;
    let mut command = bounded(SECONDS_MAX);
    command.arg(parts().join("booted.sh")).arg(kernel).arg(linerate().get_program());
    command.arg(parts().join("lab_booted.sh")).args([build.path(), &modules, more.path()]);
    judged(&mut command, CASES)
}
