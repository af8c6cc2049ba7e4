//! What a machine is made of, with drivers of interfaces that no device stands behind: sysfs names none of them.

use linerate_record::machine::{Machine, MachineNic};

use crate::root::{Root, Unreadable};
use crate::setting::interface_kinds;

/// Kinds of interfaces that ethtool calls by the same name as netlink (`drivers/net/veth.c`, `drivers/net/tun.c`).
/// Their speed is a constant.
const DRIVERS: [&str; 2] = ["veth", "tun"];

/// Reads what the machine is made of. What could not be read is empty or 0 there, and the second value says so.
#[must_use]
pub fn machine(root: &Root) -> (Machine, Vec<Unreadable>) {
    let (mut machine, unreadable) = crate::machine::machine(root);
    if root.is_live() && machine.nics.iter().any(|nic| nic.driver.is_none()) {
        // Where netlink cannot be asked, nothing is known of them.
        name(&mut machine.nics, &interface_kinds().unwrap_or_default());
    }
    (machine, unreadable)
}

/// Names drivers by the names, kinds and MTUs of interfaces.
fn name(nics: &mut [MachineNic], kinds: &[(String, String, u32)]) {
    for nic in nics.iter_mut().filter(|nic| nic.driver.is_none()) {
        let kind = kinds.iter().find(|(name, ..)| *name == nic.name).map(|(_, kind, _)| kind.as_str());
        nic.driver = kind.filter(|kind| DRIVERS.contains(kind)).map(str::to_owned);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn interfaces_without_a_device_have_the_driver_of_their_kind() {
        let nic = |name: &str, driver: Option<&str>| MachineNic {
            name: name.to_owned(),
            driver: driver.map(str::to_owned),
            ..MachineNic::default()
        };
        let mut nics = [nic("eth0", None), nic("tap1", None), nic("bond0", None), nic("p0", Some("mlx5_core"))];
        let kind = |name: &str, kind: &str| (name.to_owned(), kind.to_owned(), 1_500);
        let kinds = [kind("bond0", "bond"), kind("tap1", "tun"), kind("eth0", "veth"), kind("p0", "")];
        name(&mut nics, &kinds);
        let drivers = nics.each_ref().map(|nic| nic.driver.as_deref());
        assert_eq!(drivers, [Some("veth"), Some("tun"), None, Some("mlx5_core")]);
    }
}
