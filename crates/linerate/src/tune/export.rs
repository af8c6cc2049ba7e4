//! A file of changes in the formats of other tools, which keep settings over a boot.
//!
//! What a format has no words for stands in it as a comment.

use std::fmt::Write as _;
use std::process::ExitCode;

use linerate_host::setting;
use linerate_record::knob::{Change, ChangeSet, DeviceClass, Locator, Scope, Space};

use super::flags::ExportFormat;
use crate::catalogue::find;
use crate::failure::Failure;
use crate::printing;

/// Sysctls that any pod may set, and since which Kubernetes: its documentation, "Using sysctls in a Kubernetes
/// Cluster".
const SAFE: [(&str, &str); 12] = [
    ("kernel.shm_rmid_forced", "1.4"),
    ("net.ipv4.ip_local_port_range", "1.4"),
    ("net.ipv4.tcp_syncookies", "1.4"),
    ("net.ipv4.ping_group_range", "1.18"),
    ("net.ipv4.ip_unprivileged_port_start", "1.22"),
    ("net.ipv4.ip_local_reserved_ports", "1.27"),
    ("net.ipv4.tcp_keepalive_time", "1.29"),
    ("net.ipv4.tcp_fin_timeout", "1.29"),
    ("net.ipv4.tcp_keepalive_intvl", "1.29"),
    ("net.ipv4.tcp_keepalive_probes", "1.29"),
    ("net.ipv4.tcp_rmem", "1.32"),
    ("net.ipv4.tcp_wmem", "1.32"),
];

pub(super) fn run(set: &ChangeSet, format: ExportFormat) -> Result<ExitCode, Failure> {
    printing::print(&text(set, format)?)?;
    Ok(ExitCode::SUCCESS)
}

fn text(set: &ChangeSet, format: ExportFormat) -> Result<String, Failure> {
    let located = set.changes.iter().map(|change| match find(&change.place.knob) {
        Some(knob) => Ok((change, knob.locator)),
        None => Err(Failure::usage(format!("no knob is called {:?}: see linerate knobs", change.place.knob))),
    });
    let all: Vec<(&Change, Locator)> = located.collect::<Result<_, _>>()?;
    for (change, locator) in &all {
        require_device_name(change, *locator)?;
    }
    if format != ExportFormat::Pod && all.iter().any(|(change, _)| change.place.space != Space::Host) {
        let why = "the file has changes of a process's or a named namespace, which are set where the pod is described";
        return Err(Failure::usage(format!("{why}: --format pod")));
    }
    Ok(match format {
        ExportFormat::Sysctl => lines(set, &all, "", sysctl_line),
        ExportFormat::Udev => lines(set, &all, "", udev_line),
        ExportFormat::Systemd => lines(set, &all, "", tmpfiles_line),
        ExportFormat::Tuned => tuned(set, &all),
        ExportFormat::Pod => pod(set, &all),
    })
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

/// A line for each change that the format has words for, and a comment for each other.
fn lines(
    set: &ChangeSet,
    all: &[(&Change, Locator)],
    before: &str,
    line: fn(&Change, Locator) -> Option<String>,
) -> String {
    let mut text = format!("{before}# {}, by linerate tune export\n", set.profile);
    for (change, locator) in all {
        let _ = match line(change, *locator) {
            Some(line) => writeln!(text, "{line}"),
            None => writeln!(text, "# left out: {} = {} ({locator})", change.place, plain(&change.new)),
        };
    }
    text
}

/// A value with its numbers apart by single blanks.
fn plain(value: &str) -> String {
    value.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn sysctl_line(change: &Change, locator: Locator) -> Option<String> {
    let Locator::Sysctl { name } = locator else { return None };
    Some(format!("{name} = {}", plain(&change.new)))
}

/// `/sys/…` with the device filled in; none where a `*` stands in it.
fn sysfs_path(change: &Change, locator: Locator) -> Option<String> {
    let device = change.place.device.as_deref();
    let path = match locator {
        Locator::Sysfs { path } => path.to_owned(),
        Locator::Mtu => "class/net/{nic}/mtu".to_owned(),
        _ => return None,
    };
    let path = match (path.find('{'), path.find('}'), device) {
        (Some(open), Some(close), Some(device)) => format!("{}{device}{}", &path[..open], &path[close + 1..]),
        (None, None, _) => path,
        _ => return None,
    };
    (!path.contains('*')).then(|| format!("/sys/{path}"))
}

fn tmpfiles_line(change: &Change, locator: Locator) -> Option<String> {
    let path = match locator {
        Locator::Sysctl { name } => format!("/proc/sys/{}", name.replace('.', "/")),
        _ => sysfs_path(change, locator)?,
    };
    // A percent sign begins a specifier.
    Some(format!("w {path} - - - - {}", plain(&change.new).replace('%', "%%")))
}

/// A rule for a device that comes, changes, or gets its name, which the kernel calls `move`: the file below its folder
/// is the attribute.
fn udev_line(change: &Change, locator: Locator) -> Option<String> {
    let (device, value) = (change.place.device.as_deref()?, plain(&change.new));
    let path = sysfs_path(change, locator)?;
    let (subsystem, folder) = match locator.device_class()? {
        DeviceClass::Disk => ("block", format!("/sys/block/{device}/")),
        DeviceClass::Nic | DeviceClass::Bond => ("net", format!("/sys/class/net/{device}/")),
        DeviceClass::Cpu => ("cpu", format!("/sys/devices/system/cpu/{device}/")),
        DeviceClass::Mount => return None,
    };
    let attribute = path.strip_prefix(&folder)?;
    if [device, value.as_str()].iter().any(|text| text.contains(['"', '\\', '*', '?', '[', '|', '$', '%'])) {
        return None;
    }
    Some(format!(
        "ACTION!=\"remove\", SUBSYSTEM==\"{subsystem}\", KERNEL==\"{device}\", ATTR{{{attribute}}}=\"{value}\""
    ))
}

/// A value as TuneD takes it. It puts variables and the output of programs for `${…}`, and ends a value at `#`: what
/// has any of that has no words there.
fn tuned_value(value: &str) -> Option<String> {
    (!value.contains(['$', '{', '}', '#', '\\'])).then(|| plain(value))
}

/// A profile: what is in sections of its own is written once each.
fn tuned(set: &ChangeSet, all: &[(&Change, Locator)]) -> String {
    let of_sysctls: Vec<_> =
        all.iter().filter(|(_, locator)| matches!(locator, Locator::Sysctl { .. })).copied().collect();
    let others: Vec<_> =
        all.iter().filter(|(_, locator)| !matches!(locator, Locator::Sysctl { .. })).copied().collect();
    let sysctl = |change: &Change, locator: Locator| {
        let Locator::Sysctl { name } = locator else { return None };
        Some(format!("{name}={}", tuned_value(&change.new)?))
    };
    let sysfs = |change: &Change, locator: Locator| {
        Some(format!("{}={}", sysfs_path(change, locator)?, tuned_value(&change.new)?))
    };
    let summary = tuned_value(&set.profile).map(|profile| format!("{profile}, ")).unwrap_or_default();
    let head = format!("[main]\nsummary={summary}by linerate\n\n");
    let mut text = lines(set, &of_sysctls, &format!("{head}[sysctl]\n"), sysctl);
    text.push_str(&lines(set, &others, "\n[sysfs]\n", sysfs));
    text
}

/// The part of a pod's description, and what its kubelet must be told.
fn pod(set: &ChangeSet, all: &[(&Change, Locator)]) -> String {
    let mut text = format!("# {}, by linerate tune export\nsecurityContext:\n  sysctls:\n", set.profile);
    let (mut comments, mut allowed) = (String::new(), Vec::new());
    let mut count = 0;
    for (change, locator) in all {
        let name = match locator {
            Locator::Sysctl { name } if change.scope == Scope::NetworkNamespace => *name,
            _ => {
                let _ =
                    writeln!(comments, "# left out: {} ({}, {locator}): not a pod's own", change.place, change.scope);
                continue;
            }
        };
        let note = match SAFE.iter().find(|(safe, _)| *safe == name) {
            Some((_, since)) => format!("safe since Kubernetes {since}"),
            None => {
                allowed.push(name);
                "unsafe: the kubelet must allow it".to_owned()
            }
        };
        // A JSON string is a YAML string.
        let value = serde_json::Value::from(plain(&change.new));
        let _ = writeln!(text, "    - name: {name} # {note}\n      value: {value}");
        count += 1;
    }
    if count == 0 {
        text = text.replace("  sysctls:\n", "  sysctls: []\n");
    }
    if !allowed.is_empty() {
        let _ = writeln!(text, "# KubeletConfiguration of the nodes: allowedUnsafeSysctls: [{}]", allowed.join(", "));
    }
    text + &comments
}

#[cfg(test)]
mod tests {
    use linerate_record::knob::{CHANGES_SCHEMA, SettingPlace, TakesEffect};

    use super::*;

    fn set(rows: &[(&str, Option<&str>, &str, Scope)]) -> ChangeSet {
        let change = |&(knob, device, new, scope): &(&str, Option<&str>, &str, Scope)| Change {
            place: SettingPlace { knob: knob.to_owned(), device: device.map(str::to_owned), space: Space::Host },
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
    fn a_value_that_would_be_more_than_a_value_is_not_written_into_a_rule() {
        let set = set(&[("block.scheduler", Some("sda"), "none\", RUN+=\"/bin/x", Scope::Device)]);
        assert!(!text(&set, ExportFormat::Udev).unwrap().lines().any(|line| line.starts_with("ACTION")));
    }

    #[test]
    fn what_tuned_would_expand_is_left_out_of_its_profile() {
        let rows =
            ["${f:exec:/bin/x}", "$x", "{x}", "10 # x", "1\\"].map(|value| ("vm.swappiness", None, value, Scope::Host));
        for row in rows {
            let mut set = set(&[row, ("block.scheduler", Some("sda"), row.2, Scope::Device)]);
            set.profile = row.2.to_owned();
            let text = text(&set, ExportFormat::Tuned).unwrap();
            let (written, reported): (Vec<&str>, Vec<&str>) = text.lines().partition(|line| !line.starts_with('#'));
            assert!(!written.iter().any(|line| line.contains(['$', '{', '}', '#', '\\']) || line.contains("/sda/")));
            assert_eq!(reported.iter().filter(|line| line.starts_with("# left out: ")).count(), 2, "{text}");
        }
    }

    #[test]
    fn a_device_that_is_more_than_a_name_is_in_no_format() {
        for device in ["../../etc", "sda queue", "a\tb", "", "*"] {
            let set = set(&[("block.scheduler", Some(device), "none", Scope::Device)]);
            for format in [ExportFormat::Udev, ExportFormat::Systemd, ExportFormat::Tuned, ExportFormat::Pod] {
                let why = text(&set, format).unwrap_err().to_string();
                assert!(why.contains("is no name of a device"), "{device:?} {format:?}: {why}");
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
