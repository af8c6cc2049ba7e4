//! Interfaces that stand on one another.

use std::os::fd::AsFd as _;

use super::file::{folder_is_there, names};
use super::namespace::InNamespace;

/// Those on top of an interface (VLANs, macvlans, bridges, and what is on top of them), the nearest first: the kernel
/// lowers their MTU with its own (`net/8021q/vlan.c: vlan_device_event`, `drivers/net/macvlan.c`, `net/bridge/br.c`)
/// and does not raise it again. A bond's stays as it is.
pub(super) fn above(in_namespace: &InNamespace<'_>, device: &str) -> Vec<String> {
    reached(in_namespace, device, "upper_", |name| !is_bond(in_namespace, name))
}

/// Those below it, the nearest first.
pub(super) fn below(in_namespace: &InNamespace<'_>, device: &str) -> Vec<String> {
    reached(in_namespace, device, "lower_", |_| true)
}

/// Members of a bond, whose MTU is the bond's (`drivers/net/bonding/bond_main.c: bond_change_mtu`).
pub(super) fn members(in_namespace: &InNamespace<'_>, device: &str) -> Vec<String> {
    if is_bond(in_namespace, device) { linked(in_namespace, device, "lower_") } else { Vec::new() }
}

/// Those whose MTU may move with that of an interface: members of a bond, and what is on top of it and of these.
pub(super) fn moved_with(in_namespace: &InNamespace<'_>, device: &str) -> Vec<String> {
    let members = members(in_namespace, device);
    let all = members.iter().map(String::as_str).chain([device]).flat_map(|name| above(in_namespace, name));
    let mut found = members.clone();
    for name in all {
        if !found.contains(&name) {
            found.push(name);
        }
    }
    found
}

pub(super) fn is_bond(in_namespace: &InNamespace<'_>, device: &str) -> bool {
    has_folder(in_namespace, device, "bonding")
}

pub(super) fn is_bridge(in_namespace: &InNamespace<'_>, device: &str) -> bool {
    has_folder(in_namespace, device, "bridge")
}

fn reached(in_namespace: &InNamespace<'_>, device: &str, link: &str, is_one: impl Fn(&str) -> bool) -> Vec<String> {
    let mut found = vec![device.to_owned()];
    let mut next = 0;
    while let Some(name) = found.get(next).cloned() {
        next += 1;
        for other in linked(in_namespace, &name, link) {
            if !found.contains(&other) && is_one(&other) {
                found.push(other);
            }
        }
    }
    found.split_off(1)
}

/// `upper_vlan7` and `lower_eth0` are links in the folder of an interface, to those of its own network namespace.
fn linked(in_namespace: &InNamespace<'_>, device: &str, link: &str) -> Vec<String> {
    let folder = format!("class/net/{device}");
    let all = in_namespace.sysfs(&folder).and_then(|tree| names(tree.as_fd(), &folder)).unwrap_or_default();
    all.iter().filter_map(|name| name.strip_prefix(link)).map(str::to_owned).collect()
}

fn has_folder(in_namespace: &InNamespace<'_>, device: &str, name: &str) -> bool {
    let folder = format!("class/net/{device}/{name}");
    in_namespace.sysfs(&folder).and_then(|tree| folder_is_there(tree.as_fd(), &folder)).unwrap_or(false)
}

#[cfg(test)]
mod tests {
    use super::super::within;
    use super::*;
    use crate::Root;

    #[test]
    fn what_stands_on_an_interface_is_found_level_by_level_and_a_circle_ends() {
        let dir = tempfile::tempdir().unwrap();
        for folder in [
            "eth0/upper_eth0.7",
            "eth0/upper_bond0",
            "eth0.7/lower_eth0",
            "eth0.7/upper_br0",
            "br0/bridge",
            "br0/lower_eth0.7",
            "br0/upper_eth0",
            "bond0/bonding",
            "bond0/lower_eth0",
            "bond0/lower_eth1",
            "bond0/upper_vlan9",
        ] {
            std::fs::create_dir_all(dir.path().join("sys/class/net").join(folder)).unwrap();
        }
        let root = Root::captured(dir.path());
        let ask = |ask: fn(&InNamespace<'_>, &str) -> Vec<String>, device: &str| {
            within(&root, &Default::default(), None, |in_namespace| Ok(ask(in_namespace, device))).unwrap()
        };
        assert_eq!(ask(above, "eth0"), ["eth0.7", "br0"]);
        assert_eq!(ask(above, "bond0"), ["vlan9"]);
        assert_eq!(ask(below, "br0"), ["eth0.7", "eth0"]);
        assert_eq!(ask(members, "bond0"), ["eth0", "eth1"]);
        assert_eq!(ask(members, "br0"), [""; 0]);
        assert_eq!(ask(moved_with, "bond0"), ["eth0", "eth1", "eth0.7", "br0", "vlan9"]);
        assert_eq!(ask(above, "none"), [""; 0]);
    }
}
