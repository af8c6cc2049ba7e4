//! Files below `sys`: patterns, devices, and texts that are selections.

use std::io;
use std::os::fd::AsFd as _;

use linerate_record::knob::{DeviceClass, as_grouped, same_in};

use super::file::{self, Links, names};
use super::namespace::InNamespace;
use super::read_only;
use super::value_text::{SettingReading, invalid};
use crate::disk;

/// How the interfaces of container networks are called: Cilium, Calico, Flannel, bridges of CNI plugins and runtimes,
/// Weave, Antrea, OVN-Kubernetes, kube-proxy's, MetalLB's and Kube-OVN's.
const OF_A_CNI: [&str; 20] = [
    "cilium_",
    "lxc",
    "cali",
    "vxlan.calico",
    "wireguard.cali",
    "tunl",
    "flannel",
    "cni",
    "docker",
    "br-",
    "podman",
    "weave",
    "vethwe",
    "antrea",
    "ovn",
    "genev_sys",
    "kube-",
    "nodelocaldns",
    "metallb",
    "ovs",
];

/// Fills a device into a pattern.
pub(super) fn fill(pattern: &str, device: &str) -> io::Result<String> {
    require_device_name(device)?;
    let (Some(open), Some(close)) = (pattern.find('{'), pattern.find('}')) else {
        return Err(invalid(format!("the pattern {pattern:?} has no place for a device")));
    };
    Ok(format!("{}{device}{}", &pattern[..open], &pattern[close + 1..]))
}

/// Refuses what is no name of a device: anything that could be more than one part of a path.
///
/// # Errors
/// Always the same, with the name.
pub fn require_device_name(name: &str) -> io::Result<()> {
    let is_name = !name.is_empty()
        && name.len() < 64
        && !name.starts_with('.')
        && name.chars().all(|c| c.is_ascii_alphanumeric() || "_-.:@!+".contains(c));
    if is_name { Ok(()) } else { Err(invalid(format!("{name:?} is not the name of a device"))) }
}

/// The text of a file, and of a selection the chosen word; of several files, theirs where it is the same, and else each
/// by its name.
pub(super) fn read(in_namespace: &InNamespace<'_>, path: &str) -> io::Result<SettingReading> {
    let tree = in_namespace.sysfs(path)?;
    let mut found = Vec::new();
    for (name, path) in expanded(tree.as_fd(), path)? {
        let text = file::read(tree.as_fd(), &path, Links::WithinTheTree)?;
        found.push((name, chosen(&path, &text)));
    }
    let (_, first) = found.first().cloned().ok_or_else(|| io::Error::from(io::ErrorKind::NotFound))?;
    if found.iter().all(|(_, (text, _))| same_in(path, text, &first.0)) {
        return Ok(first);
    }
    let each: Vec<String> = found.iter().map(|(name, (text, _))| format!("{name}={text}")).collect();
    Ok((each.join(" "), Vec::new()))
}

/// Writes a file, or each of several: all the same, or each by its name.
pub(super) fn write(in_namespace: &InNamespace<'_>, path: &str, value: &str) -> io::Result<()> {
    let tree = in_namespace.sysfs(path)?;
    for (name, path) in expanded(tree.as_fd(), path)? {
        let own = value.split(' ').find_map(|pair| pair.strip_prefix(&name)?.strip_prefix('='));
        let value = if name.is_empty() { value } else { own.unwrap_or(value) };
        if in_namespace.root.is_live() {
            file::write(tree.as_fd(), &path, value, Links::WithinTheTree)?;
        } else {
            let text = file::read(tree.as_fd(), &path, Links::WithinTheTree)?;
            file::replace(tree.as_fd(), &path, &as_kernel_would(&text, value)?, Links::WithinTheTree)?;
        }
    }
    Ok(())
}

/// The files that a path stands for, each with what its `*` is.
fn expanded(tree: std::os::fd::BorrowedFd<'_>, path: &str) -> io::Result<Vec<(String, String)>> {
    let Some((before, after)) = path.split_once('*') else { return Ok(vec![(String::new(), path.to_owned())]) };
    let (folder, prefix) = before.rsplit_once('/').unwrap_or((".", before));
    let entries = names(tree, folder)?.into_iter().filter(|name| name.starts_with(prefix));
    Ok(entries.map(|name| (name.clone(), format!("{folder}/{name}{after}"))).collect())
}

/// Of `[none] mq-deadline` the word in brackets and all of them; of a bond's `802.3ad 4` the first.
fn chosen(path: &str, text: &str) -> SettingReading {
    let words = || text.split_whitespace();
    let in_brackets = |word: &str| Some(word.strip_prefix('[')?.strip_suffix(']')?.to_owned());
    if let Some(chosen) = words().find_map(in_brackets) {
        return (chosen, words().map(|word| in_brackets(word).unwrap_or_else(|| word.to_owned())).collect());
    }
    let is_of_bond = path.contains("/bonding/");
    (if is_of_bond { words().next().unwrap_or_default().to_owned() } else { text.to_owned() }, Vec::new())
}

/// What the kernel would show after a value was written to a file that shows `text`.
fn as_kernel_would(text: &str, value: &str) -> io::Result<String> {
    let (_, choices) = chosen("", text);
    if choices.is_empty() {
        return Ok(as_grouped(text, value).unwrap_or_else(|| value.to_owned()));
    }
    if !choices.iter().any(|choice| choice == value) {
        return Err(invalid(format!("{value:?} is not one of {}", choices.join(", "))));
    }
    let shown = choices.iter().map(|word| if word == value { format!("[{word}]") } else { word.clone() });
    Ok(shown.collect::<Vec<_>>().join(" "))
}

/// The devices of a class, sorted.
pub(super) fn devices(in_namespace: &InNamespace<'_>, class: DeviceClass) -> Vec<String> {
    let in_folder = |path: &str| -> Vec<String> {
        let tree = in_namespace.sysfs(path);
        tree.and_then(|tree| names(tree.as_fd(), path)).unwrap_or_default()
    };
    let has = |path: String| {
        in_namespace.sysfs(&path).and_then(|tree| file::folder_is_there(tree.as_fd(), &path)).unwrap_or(false)
    };
    let of_interfaces = |is_one: &dyn Fn(&str) -> bool| -> Vec<String> {
        in_folder("class/net").into_iter().filter(|name| is_one(name)).collect()
    };
    match class {
        DeviceClass::Disk => {
            let is_disk = |name: &String| {
                let has_device = has(format!("block/{name}/device"));
                disk::is_disk(name, has_device, !has_device && !in_folder(&format!("block/{name}/slaves")).is_empty())
            };
            in_folder("block").into_iter().filter(is_disk).collect()
        }
        DeviceClass::Nic => of_interfaces(&|name| has(format!("class/net/{name}/device"))),
        DeviceClass::Bond => of_interfaces(&|name| has(format!("class/net/{name}/bonding"))),
        DeviceClass::Cpu => {
            let is_cpu = |name: &String| name.strip_prefix("cpu").is_some_and(|number| number.parse::<u32>().is_ok());
            let mut cpus: Vec<String> = in_folder("devices/system/cpu").into_iter().filter(is_cpu).collect();
            cpus.sort_by_key(|name| name[3..].parse::<u32>().unwrap_or(0));
            cpus
        }
        DeviceClass::Mount => read_only::mounts(in_namespace).into_iter().map(|mount| mount.path).collect(),
    }
}

/// Every interface, whatever it is.
pub(super) fn interfaces(in_namespace: &InNamespace<'_>) -> Vec<String> {
    in_namespace.sysfs("class/net").and_then(|tree| names(tree.as_fd(), "class/net")).unwrap_or_default()
}

/// Whether an interface is one that a container network made: by its name, or as an end of a pair on a bridge of one.
pub(super) fn is_of_a_cni(in_namespace: &InNamespace<'_>, device: &str) -> bool {
    let is_named_so = |name: &str| OF_A_CNI.iter().any(|prefix| name.starts_with(prefix));
    if is_named_so(device) {
        return true;
    }
    let uevent = format!("class/net/{device}/master/uevent");
    let master = in_namespace.sysfs(&uevent).and_then(|tree| file::read(tree.as_fd(), &uevent, Links::WithinTheTree));
    let master = master.ok().and_then(|text| Some(text.lines().find_map(|l| l.strip_prefix("INTERFACE="))?.to_owned()));
    device.starts_with("veth") && master.is_some_and(|name| is_named_so(&name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn devices_are_filled_in_and_paths_are_not() {
        assert_eq!(fill("block/{disk}/queue/scheduler", "nvme0n1").unwrap(), "block/nvme0n1/queue/scheduler");
        assert_eq!(fill("class/net/{nic}/mtu", "eth0.100@x").unwrap(), "class/net/eth0.100@x/mtu");
        for device in ["", ".", "..", "../x", "a/b", "a\n", "a b", "é", "{disk}", "*", &"x".repeat(64)] {
            assert!(fill("block/{disk}/x", device).is_err(), "{device:?}");
        }
        assert!(fill("kernel/mm/x", "sda").is_err());
    }

    #[test]
    fn selections_are_the_chosen_word() {
        let cases = [
            ("block/a/queue/scheduler", "[none] mq-deadline kyber", "none", 3),
            ("block/a/queue/scheduler", "none [mq-deadline]", "mq-deadline", 2),
            ("kernel/x", "always [madvise] never", "madvise", 3),
            ("block/a/queue/read_ahead_kb", "128", "128", 0),
            ("class/net/b/bonding/mode", "802.3ad 4", "802.3ad", 0),
            ("kernel/x", "a b", "a b", 0),
            ("kernel/x", "", "", 0),
        ];
        for (path, text, value, choices) in cases {
            let found = chosen(path, text);
            assert_eq!((found.0.as_str(), found.1.len()), (value, choices), "{text:?}");
        }
    }

    #[test]
    fn a_capture_moves_the_brackets_as_the_kernel_does_and_refuses_other_words() {
        assert_eq!(as_kernel_would("[none] mq-deadline", "mq-deadline").unwrap(), "none [mq-deadline]");
        assert_eq!(as_kernel_would("128", "4096").unwrap(), "4096");
        assert!(as_kernel_would("[none] mq-deadline", "bfq").is_err());
        assert_eq!(as_kernel_would("00000000,00000000\n", "ff").unwrap(), "00000000,000000ff");
    }
}
