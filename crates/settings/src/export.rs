//! Changes of settings in the formats of other tools, which keep settings over a boot.
//!
//! What a format has no words for stands in it as a comment. A device is part of a path: whoever calls has looked at
//! what it is called.

use std::fmt::Write as _;

use linerate_record::knob::{Change, DeviceClass, Locator, Scope};
use linerate_record::lines::wrapped;

/// Columns of a reason.
const REASON_COLUMNS: usize = 108;

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

/// Since which Kubernetes any pod may set a sysctl; `None` where the kubelet must allow it.
#[must_use]
pub fn safe_since(sysctl: &str) -> Option<&'static str> {
    SAFE.iter().find(|(safe, _)| *safe == sysctl).map(|(_, since)| *since)
}

/// A change, and where the setting lives that it changes.
pub type LocatedChange<'c> = (&'c Change, Locator);

/// Whether the reason of a change stands above its line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reasons {
    Reported,
    /// It is left out.
    Left,
}

/// A file of sysctl.d(5).
#[must_use]
pub fn sysctl_d(profile: &str, all: &[LocatedChange<'_>], reasons: Reasons) -> String {
    lines(profile, all, "", sysctl_line, reasons)
}

/// Rules of udev(7).
#[must_use]
pub fn udev(profile: &str, all: &[LocatedChange<'_>], reasons: Reasons) -> String {
    lines(profile, all, "", udev_line, reasons)
}

/// A file of tmpfiles.d(5).
#[must_use]
pub fn tmpfiles_d(profile: &str, all: &[LocatedChange<'_>], reasons: Reasons) -> String {
    lines(profile, all, "", tmpfiles_line, reasons)
}

/// What a format writes of a change; nothing where it has no words for it.
type Line = fn(&Change, Locator) -> Option<String>;

/// A line for each change that the format has words for, and a comment for each other.
fn lines(profile: &str, all: &[LocatedChange<'_>], before: &str, line: Line, reasons: Reasons) -> String {
    let mut text = format!("{before}# {profile}, by linerate tune export\n");
    for (change, locator) in all {
        let _ = match line(change, *locator) {
            Some(line) => {
                if reasons == Reasons::Reported && !change.why.is_empty() {
                    let why = format!("{}: {}", change.place.knob, plain(&change.why));
                    let _ = writeln!(text, "# {}", wrapped(&why, REASON_COLUMNS, 0).replace('\n', "\n# "));
                }
                writeln!(text, "{line}")
            }
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

/// A profile of `TuneD`: what is in sections of its own is written once each.
#[must_use]
pub fn tuned(profile: &str, all: &[LocatedChange<'_>], reasons: Reasons) -> String {
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
    let summary = tuned_value(profile).map(|profile| format!("{profile}, ")).unwrap_or_default();
    let head = format!("[main]\nsummary={summary}by linerate\n\n");
    let mut text = lines(profile, &of_sysctls, &format!("{head}[sysctl]\n"), sysctl, reasons);
    text.push_str(&lines(profile, &others, "\n[sysfs]\n", sysfs, reasons));
    text
}

/// The part of a pod's description, and what its kubelet must be told.
#[must_use]
pub fn pod(profile: &str, all: &[LocatedChange<'_>]) -> String {
    let mut text = format!("# {profile}, by linerate tune export\nsecurityContext:\n  sysctls:\n");
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
        let note = match safe_since(name) {
            Some(since) => format!("safe since Kubernetes {since}"),
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
    use linerate_record::knob::{SettingId, Space, TakesEffect};

    use super::*;

    const SCHEDULER: Locator = Locator::Sysfs { path: "block/{disk}/queue/scheduler" };
    const SWAPPINESS: Locator = Locator::Sysctl { name: "vm.swappiness" };

    fn change(knob: &str, device: Option<&str>, new: &str, scope: Scope) -> Change {
        Change {
            place: SettingId { knob: knob.to_owned(), device: device.map(str::to_owned), space: Space::Host },
            prior: "1".to_owned(),
            new: new.to_owned(),
            scope,
            takes_effect: TakesEffect::AtOnce,
            why: String::new(),
            risk: String::new(),
        }
    }

    #[test]
    fn each_format_has_what_it_can_say_and_a_comment_for_the_rest() {
        let own = [
            change("vm.swappiness", None, "10", Scope::Host),
            change("net.ipv4.tcp_rmem", None, "4096\t131072\t33554432", Scope::NetworkNamespace),
            change("net.core.somaxconn", None, "32768", Scope::NetworkNamespace),
            change("block.scheduler", Some("nvme0n1"), "none", Scope::Device),
            change("nic.mtu", Some("eth0"), "9000", Scope::Device),
            change("nic.ring.rx", Some("eth0"), "4096", Scope::Device),
        ];
        let ring = Locator::Ring { side: "rx" };
        let sysctl = |name| Locator::Sysctl { name };
        let locators =
            [SWAPPINESS, sysctl("net.ipv4.tcp_rmem"), sysctl("net.core.somaxconn"), SCHEDULER, Locator::Mtu, ring];
        let all: Vec<LocatedChange<'_>> = own.iter().zip(locators).collect();
        type Format = fn(&str, &[LocatedChange<'_>], Reasons) -> String;
        let cases: [(Format, &str); 4] = [(sysctl_d, SYSCTL_D), (udev, UDEV), (tmpfiles_d, TMPFILES_D), (tuned, TUNED)];
        for (format, expected) in cases {
            assert_eq!(format("p", &all, Reasons::Left), expected);
        }
        assert_eq!(pod("p", &all), POD);
        assert!(pod("p", &all[..1]).starts_with("# p, by linerate tune export\nsecurityContext:\n  sysctls: []\n#"));
    }

    const SYSCTL_D: &str = r"# p, by linerate tune export
vm.swappiness = 10
net.ipv4.tcp_rmem = 4096 131072 33554432
net.core.somaxconn = 32768
# left out: block.scheduler of nvme0n1 = none (/sys/block/{disk}/queue/scheduler)
# left out: nic.mtu of eth0 = 9000 (ip link: mtu)
# left out: nic.ring.rx of eth0 = 4096 (ethtool -g: rx)
";

    const UDEV: &str = r#"# p, by linerate tune export
# left out: vm.swappiness = 10 (sysctl vm.swappiness)
# left out: net.ipv4.tcp_rmem = 4096 131072 33554432 (sysctl net.ipv4.tcp_rmem)
# left out: net.core.somaxconn = 32768 (sysctl net.core.somaxconn)
ACTION!="remove", SUBSYSTEM=="block", KERNEL=="nvme0n1", ATTR{queue/scheduler}="none"
ACTION!="remove", SUBSYSTEM=="net", KERNEL=="eth0", ATTR{mtu}="9000"
# left out: nic.ring.rx of eth0 = 4096 (ethtool -g: rx)
"#;

    const TMPFILES_D: &str = r"# p, by linerate tune export
w /proc/sys/vm/swappiness - - - - 10
w /proc/sys/net/ipv4/tcp_rmem - - - - 4096 131072 33554432
w /proc/sys/net/core/somaxconn - - - - 32768
w /sys/block/nvme0n1/queue/scheduler - - - - none
w /sys/class/net/eth0/mtu - - - - 9000
# left out: nic.ring.rx of eth0 = 4096 (ethtool -g: rx)
";

    const TUNED: &str = r"[main]
summary=p, by linerate

[sysctl]
# p, by linerate tune export
vm.swappiness=10
net.ipv4.tcp_rmem=4096 131072 33554432
net.core.somaxconn=32768

[sysfs]
# p, by linerate tune export
/sys/block/nvme0n1/queue/scheduler=none
/sys/class/net/eth0/mtu=9000
# left out: nic.ring.rx of eth0 = 4096 (ethtool -g: rx)
";

    const POD: &str = r#"# p, by linerate tune export
securityContext:
  sysctls:
    - name: net.ipv4.tcp_rmem # safe since Kubernetes 1.32
      value: "4096 131072 33554432"
    - name: net.core.somaxconn # unsafe: the kubelet must allow it
      value: "32768"
# KubeletConfiguration of the nodes: allowedUnsafeSysctls: [net.core.somaxconn]
# left out: vm.swappiness (host, sysctl vm.swappiness): not a pod's own
# left out: block.scheduler of nvme0n1 (device, /sys/block/{disk}/queue/scheduler): not a pod's own
# left out: nic.mtu of eth0 (device, ip link: mtu): not a pod's own
# left out: nic.ring.rx of eth0 (device, ethtool -g: rx): not a pod's own
"#;

    #[test]
    fn a_reason_stands_above_its_line_as_a_comment() {
        let mut change = change("vm.swappiness", None, "10", Scope::Host);
        change.why = "so\nthat it is".to_owned();
        let text = sysctl_d("p", &[(&change, SWAPPINESS)], Reasons::Reported);
        assert!(text.ends_with("\n# vm.swappiness: so that it is\nvm.swappiness = 10\n"), "{text}");
    }

    #[test]
    fn a_value_that_would_be_more_than_a_value_is_not_written_into_a_rule() {
        let change = change("block.scheduler", Some("sda"), "none\", RUN+=\"/bin/x", Scope::Device);
        let text = udev("p", &[(&change, SCHEDULER)], Reasons::Left);
        assert!(text.contains("# left out: block.scheduler of sda"), "{text}");
        assert!(!text.lines().any(|line| line.starts_with("ACTION")), "{text}");
    }

    #[test]
    fn what_tuned_would_expand_is_left_out_of_its_profile() {
        for value in ["${f:exec:/bin/x}", "$x", "{x}", "10 # x", "1\\"] {
            let changes = [
                (change("vm.swappiness", None, value, Scope::Host), SWAPPINESS),
                (change("block.scheduler", Some("sda"), value, Scope::Device), SCHEDULER),
            ];
            let all: Vec<LocatedChange<'_>> = changes.iter().map(|(change, locator)| (change, *locator)).collect();
            let text = tuned(value, &all, Reasons::Left);
            let (written, reported): (Vec<&str>, Vec<&str>) = text.lines().partition(|line| !line.starts_with('#'));
            assert!(!written.iter().any(|line| line.contains(['$', '{', '}', '#', '\\']) || line.contains("/sda/")));
            assert_eq!(reported.iter().filter(|line| line.starts_with("# left out: ")).count(), 2, "{text}");
        }
    }
}
