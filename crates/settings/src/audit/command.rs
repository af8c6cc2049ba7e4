//! The command that changes a setting, as a person would type it.

use linerate_record::audit::Difference;
use linerate_record::knob::{Locator, Space, TakesEffect};

use crate::knobs::KnobRow;

/// Devices that get a command each; more get a loop.
const EACH: usize = 4;

/// What makes a difference go away, until the next boot where it is a setting of a running kernel. What takes effect
/// later has no command that is lost by then.
pub(super) fn commands(row: &KnobRow, difference: &Difference) -> Vec<String> {
    let value = difference.wanted.as_str();
    match &row.knob.locator {
        Locator::Sysctl { name } if row.knob.takes_effect == TakesEffect::Reboot => {
            vec![format!("add {name}={value} to a file of /etc/sysctl.d, and reboot")]
        }
        Locator::Sysfs { path } if row.knob.takes_effect != TakesEffect::AtOnce && path.contains("/bonding/") => {
            let option = path.rsplit('/').next().unwrap_or(path);
            each(difference, |bond| {
                format!("set {option}={value} of {bond} in the network configuration, and restart {bond}")
            })
        }
        Locator::Sysctl { name } => {
            vec![format!("{}sysctl -w {}", inside(&difference.space), quoted(&format!("{name}={value}")))]
        }
        Locator::Sysfs { path } => sysfs(path, &difference.devices, value),
        Locator::Mtu => each(difference, |nic| format!("ip link set dev {nic} mtu {value}")),
        Locator::Offload { feature } => each(difference, |nic| format!("ethtool -K {nic} {feature} {value}")),
        Locator::Ring { side } => each(difference, |nic| format!("ethtool -G {nic} {side} {value}")),
        Locator::Channels => each(difference, |nic| format!("ethtool -L {nic} combined {value}")),
        Locator::ReceiveHash => each(difference, |nic| format!("ethtool -N {nic} rx-flow-hash udp4 {value}")),
        Locator::Interrupts => each(difference, |nic| {
            format!("move the interrupts of {nic} to processors of its NUMA node (irqbalance, or smp_affinity_list)")
        }),
        Locator::MountOption { fs, option } => each(difference, |path| mount(fs, option, value, path)),
        Locator::BootArgument { name } => vec![match value {
            "absent" => format!("remove {name} from the kernel's command line, and reboot"),
            "present" => format!("add {name} to the kernel's command line, and reboot"),
            value => format!("add {name}={value} to the kernel's command line, and reboot"),
        }],
        Locator::KernelVersion => vec![format!("install a kernel of {value} or later, and reboot")],
        Locator::Limit { name } => vec![limit(name, value, &difference.space)],
        Locator::Timer { unit } => vec![match value {
            "active" => format!("systemctl enable --now {unit}"),
            _ => format!("systemctl disable --now {unit}"),
        }],
        Locator::Component { component, key } => vec![format!("set {key} of {component} to {value}")],
        Locator::HelmValue { chart, path } => vec![format!("set {path} of the release of {chart} to {value}")],
    }
}

fn inside(space: &Space) -> String {
    match space {
        Space::Host => String::new(),
        Space::Pid(pid) => format!("nsenter -t {pid} -n "),
        Space::Netns(name) => format!("ip netns exec {} ", quoted(name)),
    }
}

/// A word for a shell.
fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "._-=/:+,@%".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', "'\\''"))
    }
}

fn each(difference: &Difference, command: impl Fn(&str) -> String) -> Vec<String> {
    difference.devices.iter().map(|device| command(device)).collect()
}

fn sysfs(path: &str, devices: &[String], value: &str) -> Vec<String> {
    let value = quoted(value);
    let (open, close) = (path.find('{'), path.find('}'));
    let (Some(open), Some(close)) = (open, close) else { return vec![format!("echo {value} > /sys/{path}")] };
    let (before, after) = (&path[..open], &path[close + 1..]);
    let several = devices.len() > EACH;
    let devices: Vec<&str> = if several { vec!["$d"] } else { devices.iter().map(String::as_str).collect() };
    let write = |device: &str| {
        let file = format!("/sys/{before}{device}{after}");
        if file.contains('*') {
            format!("for f in {file}; do echo {value} > \"$f\"; done")
        } else {
            format!("echo {value} > {file}")
        }
    };
    if several {
        let class = if before.ends_with("cpu/") { "cpu[0-9]*" } else { "*" };
        // One loop reads better than a hundred lines.
        let pattern = format!("/sys/{before}{class}{after}");
        return vec![format!("for f in {pattern}; do echo {value} > \"$f\"; done")];
    }
    devices.into_iter().map(write).collect()
}

/// Of the options that a knob is about, `noatime` alone can be changed in place (`fs/xfs/xfs_super.c`,
/// `xfs_fs_reconfigure`).
fn mount(fs: &str, option: &str, value: &str, path: &str) -> String {
    let written = match value {
        "absent" => return format!("remove {option} from the {fs} mount of {path} (fstab), and remount it"),
        "present" => option.to_owned(),
        value => format!("{option}={value}"),
    };
    if option == "noatime" {
        return format!("mount -o remount,noatime {}", quoted(path));
    }
    format!("add {written} to the {fs} mount of {path} (fstab), and remount it")
}

/// Limits as `prlimit` and units of systemd call them.
fn limit(name: &str, value: &str, space: &Space) -> String {
    let (flag, unit) = match name {
        "Max open files" => ("nofile", "LimitNOFILE"),
        "Max locked memory" => ("memlock", "LimitMEMLOCK"),
        "Max processes" => ("nproc", "LimitNPROC"),
        _ => return format!("raise the limit {name:?} to {value} where the process is started"),
    };
    match space {
        Space::Pid(pid) => format!(
            "{unit}={value} in the unit of process {pid}, and restart it; at once, until it ends: prlimit --pid {pid} \
             --{flag}={value}"
        ),
        _ => format!("{unit}={value} in the engine's unit"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::knobs::find;
    use linerate_record::finding::Confidence;

    fn commands_for(id: &str, devices: &[&str], wanted: &str, space: Space) -> Vec<String> {
        let row = find(id).expect(id);
        let difference = Difference {
            knob: id.to_owned(),
            space,
            devices: devices.iter().map(|&device| device.to_owned()).collect(),
            present: String::new(),
            wanted: wanted.to_owned(),
            why: String::new(),
            relieves: String::new(),
            weight: 0.0,
            confidence: Confidence::Likely,
            scope: row.knob.scope,
            takes_effect: row.knob.takes_effect,
            risk: String::new(),
            commands: Vec::new(),
            not_in_changes: None,
        };
        commands(row, &difference)
    }

    #[test]
    fn each_kind_has_the_command_that_people_know() {
        let cases: [(&str, &[&str], &str, Space, &str); 12] = [
            (
                "limits.nofile",
                &[],
                "9",
                Space::Pid(7),
                "LimitNOFILE=9 in the unit of process 7, and restart it; at once, until it ends: prlimit --pid 7 \
                 --nofile=9",
            ),
            (
                "net.core.default_qdisc",
                &[],
                "fq",
                Space::Host,
                "add net.core.default_qdisc=fq to a file of /etc/sysctl.d, and reboot",
            ),
            (
                "bond.lacp_rate",
                &["bond0"],
                "fast",
                Space::Host,
                "set lacp_rate=fast of bond0 in the network configuration, and restart bond0",
            ),
            ("vm.swappiness", &[], "1", Space::Host, "sysctl -w vm.swappiness=1"),
            ("net.ipv4.tcp_rmem", &[], "4096 1 2", Space::Host, "sysctl -w 'net.ipv4.tcp_rmem=4096 1 2'"),
            ("net.core.somaxconn", &[], "9", Space::Pid(7), "nsenter -t 7 -n sysctl -w net.core.somaxconn=9"),
            (
                "net.core.somaxconn",
                &[],
                "9",
                Space::Netns("a".into()),
                "ip netns exec a sysctl -w net.core.somaxconn=9",
            ),
            ("block.scheduler", &["sda"], "none", Space::Host, "echo none > /sys/block/sda/queue/scheduler"),
            ("nic.ring.rx", &["eth0"], "8192", Space::Host, "ethtool -G eth0 rx 8192"),
            ("xfs.noatime", &["/data 0"], "present", Space::Host, "mount -o remount,noatime '/data 0'"),
            ("boot.skew_tick", &[], "1", Space::Host, "add skew_tick=1 to the kernel's command line, and reboot"),
            ("block.fstrim_timer", &[], "active", Space::Host, "systemctl enable --now fstrim.timer"),
        ];
        for (id, devices, wanted, space, expected) in cases {
            assert_eq!(commands_for(id, devices, wanted, space), [expected], "{id}");
        }
    }

    /// A command that is typed and acts, and not a sentence.
    #[test]
    fn what_takes_effect_later_has_no_command_that_acts_at_once_without_saying_so() {
        for row in crate::knobs::KNOBS {
            let later = matches!(row.knob.takes_effect, TakesEffect::Restart | TakesEffect::Reboot);
            for command in commands_for(row.knob.id, &["x0"], "1", Space::Pid(7)).iter().filter(|_| later) {
                let acts =
                    ["sysctl -w", "echo ", "prlimit", "ethtool", "ip link"].iter().any(|word| command.contains(word));
                assert!(!acts || command.contains("at once, until"), "{}: {command}", row.knob.id);
            }
        }
    }

    #[test]
    fn many_devices_share_a_loop() {
        let cpus: Vec<String> = (0..64).map(|n| format!("cpu{n}")).collect();
        let cpus: Vec<&str> = cpus.iter().map(String::as_str).collect();
        let reported = commands_for("cpu.governor", &cpus, "performance", Space::Host);
        let expected = "for f in /sys/devices/system/cpu/cpu[0-9]*/cpufreq/scaling_governor; \
                        do echo performance > \"$f\"; done";
        assert_eq!(reported, [expected]);
    }
}
