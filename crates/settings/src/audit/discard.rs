//! Flash that supports discards and gets none.

use linerate_record::audit::{AuditCheck, AuditFinding};
use linerate_record::finding::{Confidence, Severity};
use linerate_record::knob::{Disk, Snapshot};
use linerate_record::site::Site;

use super::{finding, listed};

pub(super) fn check(snapshot: &Snapshot, _site: &Site) -> Vec<AuditFinding> {
    let timer = snapshot.settings.iter().find(|setting| setting.place.knob == "block.fstrim_timer");
    let timer = timer.and_then(|setting| setting.value.as_deref());
    if timer == Some("active") {
        return Vec::new();
    }
    let without = |disk: &&Disk| {
        let device = format!("/dev/{}", disk.name);
        let mut mounts =
            snapshot.devices.mounts.iter().filter(|mount| is_part_of_disk(&mount.device, &device)).peekable();
        mounts.peek().is_some() && mounts.all(|mount| !mount.options.iter().any(|option| option == "discard"))
    };
    let takes = |disk: &&Disk| disk.discards && !disk.rotational;
    let names: Vec<&str> =
        snapshot.devices.disks.iter().filter(takes).filter(without).map(|disk| disk.name.as_str()).collect();
    if names.is_empty() {
        return Vec::new();
    }
    let (severity, confidence, seen) = match timer {
        Some(state) => (Severity::Warning, Confidence::Likely, format!("fstrim.timer is {state}")),
        None => (Severity::Note, Confidence::Possible, "it is not known whether fstrim.timer runs".to_owned()),
    };
    let drives = if names.len() == 1 { "drive supports" } else { "drives support" };
    vec![finding(
        AuditCheck::NoDiscard,
        severity,
        confidence,
        format!("{} {drives} discards, but nothing here sends any: writes slow down as they fill", names.len()),
        format!("{seen}, no mount option discard: {}", listed(names)),
        "systemctl enable --now fstrim.timer",
    )]
}

/// Whether a device is a disk or a partition of it.
fn is_part_of_disk(device: &str, disk: &str) -> bool {
    device.strip_prefix(disk).is_some_and(|rest| {
        let rest = rest.strip_prefix('p').unwrap_or(rest);
        rest.chars().all(|c| c.is_ascii_digit())
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::knobs::fixtures::{machine, set, site};

    #[test]
    fn a_timer_or_an_option_is_enough_and_disks_that_spin_need_neither() {
        let timer = "block.fstrim_timer";
        let mut snapshot = machine();
        assert_eq!(check(&snapshot, &site())[0].confidence, Confidence::Possible);
        set(&mut snapshot, timer, None, "inactive");
        let found = check(&snapshot, &site());
        assert_eq!((found[0].severity, found.len()), (Severity::Warning, 1));
        assert!(found[0].claim.starts_with("4 drives support"), "{}", found[0].claim);
        snapshot.devices.mounts[0].options.push("discard".to_owned());
        assert!(check(&snapshot, &site())[0].claim.starts_with("3 drives support"));
        set(&mut snapshot, timer, None, "active");
        assert_eq!(check(&snapshot, &site()), []);
        set(&mut snapshot, timer, None, "inactive");
        for disk in &mut snapshot.devices.disks {
            disk.rotational = true;
        }
        assert_eq!(check(&snapshot, &site()), []);
    }

    #[test]
    fn partitions_are_of_their_disk_and_other_disks_are_not() {
        assert!(
            is_part_of_disk("/dev/sda1", "/dev/sda")
                && is_part_of_disk("/dev/nvme0n1p2", "/dev/nvme0n1")
                && is_part_of_disk("/dev/sda", "/dev/sda")
        );
        assert!(!is_part_of_disk("/dev/sdab", "/dev/sda") && !is_part_of_disk("/dev/sdb1", "/dev/sda"));
    }
}
