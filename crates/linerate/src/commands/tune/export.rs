//! A file of changes in the formats of other tools, which keep settings over a boot.

use std::process::ExitCode;

use linerate_host::setting;
use linerate_record::knob::{Change, ChangeSet, DeviceClass, Locator, Space};
use linerate_settings::export::{LocatedChange, Reasons, pod, sysctl_d, tmpfiles_d, tuned, udev};

use super::flags::ExportFormat;
use crate::run::catalogue::find;
use crate::terminal::failure::Failure;
use crate::terminal::printing;

pub(super) fn run(set: &ChangeSet, format: ExportFormat) -> Result<ExitCode, Failure> {
    printing::print(&text(set, format)?)?;
    Ok(ExitCode::SUCCESS)
}

fn text(set: &ChangeSet, format: ExportFormat) -> Result<String, Failure> {
    let located = set.changes.iter().map(|change| match find(&change.place.knob) {
        Some(knob) => Ok((change, knob.locator)),
        None => Err(Failure::usage(format!("there is no knob {:?}: see linerate knobs", change.place.knob))),
    });
    let all: Vec<LocatedChange<'_>> = located.collect::<Result<_, _>>()?;
    for (change, locator) in &all {
        require_device_name(change, *locator)?;
    }
    if format != ExportFormat::Pod && all.iter().any(|(change, _)| change.place.space != Space::Host) {
        let why = "the file has changes for the namespace of a process or for a named namespace; put these in the \
                   description of the pod";
        return Err(Failure::usage(format!("{why}: --format pod")));
    }
    let format = match format {
        ExportFormat::Sysctl => sysctl_d,
        ExportFormat::Udev => udev,
        ExportFormat::Systemd => tmpfiles_d,
        ExportFormat::Tuned => tuned,
        ExportFormat::Pod => return Ok(pod(&set.profile, &all)),
    };
    Ok(format(&set.profile, &all, Reasons::Left))
}

/// Refuses a device that would be more than one part of a path, as where it is changed. Mounts are named by paths, and
/// no format has them but in comments.
fn require_device_name(change: &Change, locator: Locator) -> Result<(), Failure> {
    let Some(device) = change.place.device.as_deref() else { return Ok(()) };
    if locator.device_class() == Some(DeviceClass::Mount) {
        return Ok(());
    }
    let refused = |error| Failure::usage(format!("the change of {:?} cannot be written: {error}", change.place.knob));
    setting::require_device_name(device).map_err(refused)
}

#[cfg(test)]
mod tests {
    use linerate_record::knob::{CHANGES_SCHEMA, Scope, SettingId, TakesEffect};

    use super::*;

    fn set(rows: &[(&str, Option<&str>, &str, Scope)]) -> ChangeSet {
        let change = |&(knob, device, new, scope): &(&str, Option<&str>, &str, Scope)| Change {
            place: SettingId { knob: knob.to_owned(), device: device.map(str::to_owned), space: Space::Host },
            prior: "1".to_owned(),
            new: new.to_owned(),
            scope,
            takes_effect: TakesEffect::AtOnce,
            why: String::new(),
            risk: String::new(),
        };
        let changes = rows.iter().map(change).collect();
        let spaces = Vec::new();
        ChangeSet { schema: CHANGES_SCHEMA, machine: "m".to_owned(), profile: "p".to_owned(), changes, spaces }
    }

    fn example() -> ChangeSet {
        set(&[
            ("vm.swappiness", None, "10", Scope::Host),
            ("net.ipv4.tcp_rmem", None, "4096\t131072\t33554432", Scope::NetworkNamespace),
            ("net.core.somaxconn", None, "32768", Scope::NetworkNamespace),
            ("block.scheduler", Some("nvme0n1"), "none", Scope::Device),
            ("nic.mtu", Some("eth0"), "9000", Scope::Device),
            ("nic.ring.rx", Some("eth0"), "4096", Scope::Device),
        ])
    }

    #[test]
    fn each_format_has_what_it_can_say_and_a_comment_for_the_rest() {
        let known = |knob: &str| find(knob).is_some();
        let mut set = example();
        set.changes.retain(|change| known(&change.place.knob));
        assert!(set.changes.len() >= 5, "ids of the catalogue have changed: {:?}", set.changes);
        let cases = [
            (
                ExportFormat::Sysctl,
                "net.ipv4.tcp_rmem = 4096 131072 33554432",
                "# left out: block.scheduler of nvme0n1",
            ),
            (
                ExportFormat::Udev,
                "SUBSYSTEM==\"block\", KERNEL==\"nvme0n1\", ATTR{queue/scheduler}=\"none\"",
                "# left out: vm.swappiness",
            ),
            (
                ExportFormat::Udev,
                "ACTION!=\"remove\", SUBSYSTEM==\"net\", KERNEL==\"eth0\", ATTR{mtu}=\"9000\"",
                "# left out: vm.swappiness",
            ),
            (
                ExportFormat::Systemd,
                "w /proc/sys/vm/swappiness - - - - 10",
                "w /sys/block/nvme0n1/queue/scheduler - - - - none",
            ),
            (
                ExportFormat::Tuned,
                "[sysctl]\n# p, by linerate tune export\nvm.swappiness=10",
                "/sys/block/nvme0n1/queue/scheduler=none",
            ),
            (
                ExportFormat::Pod,
                "- name: net.ipv4.tcp_rmem # safe since Kubernetes 1.32\n      value: \"4096 131072 33554432\"",
                "allowedUnsafeSysctls: [net.core.somaxconn]",
            ),
        ];
        for (format, one, other) in cases {
            let text = text(&set, format).unwrap();
            assert!(text.contains(one) && text.contains(other), "{format:?}:\n{text}");
        }
    }

    #[test]
    fn a_device_that_is_more_than_a_name_is_in_no_format() {
        for device in ["../../etc", "sda queue", "a\tb", "", "*"] {
            let set = set(&[("block.scheduler", Some(device), "none", Scope::Device)]);
            for format in [ExportFormat::Udev, ExportFormat::Systemd, ExportFormat::Tuned, ExportFormat::Pod] {
                let why = text(&set, format).unwrap_err().to_string();
                assert!(why.contains("is not the name of a device"), "{device:?} {format:?}: {why}");
            }
        }
    }

    #[test]
    fn what_is_a_namespaces_is_a_pods() {
        let mut set = example();
        set.changes.truncate(3);
        set.changes[1].place.space = Space::Pid(1);
        assert!(text(&set, ExportFormat::Sysctl).unwrap_err().to_string().contains("--format pod"));
        assert!(text(&set, ExportFormat::Pod).unwrap().contains("not a pod's own"));
    }
}
