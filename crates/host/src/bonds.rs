//! Bonds of this machine as they are now: which members send, what each carried, and what the driver's hash looks at.
//!
//! From `/sys/class/net`, which shows the network namespace in which it was mounted: where that is not the one of the
//! thread that asks, nothing is told. Members are in the order in which they joined, which is that in which the driver
//! counts them (`bond_update_slave_arr` in `drivers/net/bonding/bond_main.c`). Needs no privilege.

use std::net::IpAddr;

use crate::live::shows_this_namespace;
use crate::nic::{parse_net_dev, valid_name};
use crate::root::{Root, names, text};

/// Most bonds that are read.
const BONDS_MAX: usize = 64;

/// How far interfaces that stand on others are followed.
const DEPTH: usize = 4;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BondNow {
    pub name: String,
    /// Such as `802.3ad`.
    pub mode: String,
    /// Such as `layer3+4`; absent in modes that do not hash.
    pub policy: Option<String>,
    /// Its members, in the order in which they joined.
    pub members: Vec<MemberNow>,
}

/// A member of a bond.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MemberNow {
    pub name: String,
    /// Whether the bond sends by it: its link is up, it does not stand by, and in 802.3ad it is in the active group
    /// (`bond_slave_can_tx`).
    pub sends: bool,
    /// How often its link was lost.
    pub failures: u64,
    /// Bytes that it has sent, with headers.
    pub sent_bytes: u64,
    /// Bytes that it has received, with headers.
    pub received_bytes: u64,
}

/// The way by which packets leave.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EgressInterface {
    /// The bond that the interface is, or that it stands on alone.
    pub bond: String,
    /// Whether the interface is the bond itself.
    pub is_bond: bool,
    /// The interface's own MAC address.
    pub source_mac: [u8; 6],
}

/// All bonds; none where `/sys` shows another network namespace than this thread's.
#[must_use]
pub fn bonds(root: &Root) -> Vec<BondNow> {
    if !is_own(root) {
        return Vec::new();
    }
    let masters = word(root, "sys/class/net/bonding_masters").unwrap_or_default();
    let named = masters.split_whitespace().filter(|name| valid_name(name).is_ok());
    named.take(BONDS_MAX).filter_map(|name| bond(root, name)).collect()
}

/// The bond by which packets of an interface leave; none where there is none.
#[must_use]
pub fn way_out(root: &Root, interface: &str) -> Option<EgressInterface> {
    if !is_own(root) {
        return None;
    }
    let source_mac = mac(&word(root, &format!("sys/class/net/{}/address", valid_name(interface).ok()?))?)?;
    let mut at = interface.to_owned();
    for _ in 0..DEPTH {
        let folder = format!("sys/class/net/{at}");
        if root.0.join(format!("{folder}/bonding")).exists() {
            return Some(EgressInterface { is_bond: at == interface, bond: at, source_mac });
        }
        let below: Vec<String> = names(root, &folder)
            .into_iter()
            .filter_map(|entry| Some(entry.strip_prefix("lower_")?.to_owned()))
            .collect();
        let [only] = below.as_slice() else { return None };
        at.clone_from(only);
    }
    None
}

/// The MAC address of a neighbour on an interface, as the kernel last learnt it; none of addresses behind a router, and
/// of IPv6, whose neighbours no file has.
#[must_use]
pub fn neighbour_mac(root: &Root, interface: &str, address: IpAddr) -> Option<[u8; 6]> {
    let IpAddr::V4(address) = address else { return None };
    let path = if root.is_live() { "proc/thread-self/net/arp" } else { "proc/net/arp" };
    let table = word(root, path)?;
    let mac_in_line = |line: &str| {
        let fields: Vec<&str> = line.split_whitespace().collect();
        // Flag 2 says that the address is known (`ATF_COM` of `if_arp.h`).
        let [of, _, flags, known, _, device] = fields.as_slice() else { return None };
        let is_known = u32::from_str_radix(flags.trim_start_matches("0x"), 16).is_ok_and(|flags| flags & 2 != 0);
        (*of == address.to_string() && *device == interface && is_known).then(|| mac(known)).flatten()
    };
    table.lines().skip(1).find_map(mac_in_line)
}

/// Whether `/sys` shows the network namespace of this thread.
fn is_own(root: &Root) -> bool {
    if !root.is_live() {
        return true;
    }
    let listed = word(root, "proc/thread-self/net/dev").map(|text| parse_net_dev(&text).0).unwrap_or_default();
    shows_this_namespace(root, listed.into_iter().map(|link| link.name).collect())
}

/// The text of a small file without what surrounds it; none where it cannot be read.
fn word(root: &Root, path: &str) -> Option<String> {
    let mut bytes = Vec::new();
    Some(text(root, path, &mut bytes).ok()?.trim().to_owned())
}

fn number(root: &Root, path: &str) -> Option<u64> {
    word(root, path)?.parse().ok()
}

/// A setting of the driver: its name stands before its number.
fn setting(root: &Root, path: &str) -> Option<String> {
    word(root, path)?.split_whitespace().next().map(str::to_owned)
}

fn bond(root: &Root, name: &str) -> Option<BondNow> {
    let folder = format!("sys/class/net/{name}");
    let mode = setting(root, &format!("{folder}/bonding/mode"))?;
    let group = number(root, &format!("{folder}/bonding/ad_aggregator")).filter(|_| mode == "802.3ad");
    let listed = word(root, &format!("{folder}/bonding/slaves")).unwrap_or_default();
    let named = listed.split_whitespace().filter(|name| valid_name(name).is_ok());
    Some(BondNow {
        name: name.to_owned(),
        policy: setting(root, &format!("{folder}/bonding/xmit_hash_policy")),
        members: named.filter_map(|name| member(root, name, group)).collect(),
        mode,
    })
}

/// A member of a bond, of which the active group of 802.3ad has this number.
fn member(root: &Root, name: &str, group: Option<u64>) -> Option<MemberNow> {
    let folder = format!("sys/class/net/{name}");
    let is = |file: &str, wanted: &str| {
        word(root, &format!("{folder}/bonding_slave/{file}")).is_some_and(|found| found == wanted)
    };
    let is_of_group = || group.is_none_or(|group| is("ad_aggregator_id", &group.to_string()));
    Some(MemberNow {
        name: name.to_owned(),
        sends: is("state", "active") && is("mii_status", "up") && is_of_group(),
        failures: number(root, &format!("{folder}/bonding_slave/link_failure_count")).unwrap_or_default(),
        sent_bytes: number(root, &format!("{folder}/statistics/tx_bytes"))?,
        received_bytes: number(root, &format!("{folder}/statistics/rx_bytes"))?,
    })
}

/// Six bytes in hexadecimal digits, parted by colons.
fn mac(text: &str) -> Option<[u8; 6]> {
    let bytes: Option<Vec<u8>> = text.split(':').map(|byte| u8::from_str_radix(byte, 16).ok()).collect();
    bytes?.try_into().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn put(root: &Root, path: &str, text: &str) {
        let path = root.0.join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    fn put_member(root: &Root, name: &str, [state, link, group]: [&str; 3]) {
        let folder = format!("sys/class/net/{name}");
        put(root, &format!("{folder}/bonding_slave/state"), &format!("{state}\n"));
        put(root, &format!("{folder}/bonding_slave/mii_status"), &format!("{link}\n"));
        put(root, &format!("{folder}/bonding_slave/ad_aggregator_id"), &format!("{group}\n"));
        put(root, &format!("{folder}/bonding_slave/link_failure_count"), "3\n");
        put(root, &format!("{folder}/statistics/tx_bytes"), "700\n");
        put(root, &format!("{folder}/statistics/rx_bytes"), "500\n");
    }

    /// A bond with a VLAN on it.
    fn bonded(mode: &str) -> (tempfile::TempDir, Root) {
        let folder = tempfile::tempdir().unwrap();
        let root = Root::captured(folder.path());
        put(&root, "sys/class/net/bonding_masters", "bond0 ../x\n");
        put(&root, "sys/class/net/bond0/bonding/mode", mode);
        put(&root, "sys/class/net/bond0/bonding/xmit_hash_policy", "layer3+4 1\n");
        put(&root, "sys/class/net/bond0/bonding/ad_aggregator", "2\n");
        put(&root, "sys/class/net/bond0/bonding/slaves", "b1 b0 b2 b3\n");
        put(&root, "sys/class/net/bond0/address", "02:00:00:00:00:0a\n");
        put(&root, "sys/class/net/bond0.7/address", "02:00:00:00:00:0b\n");
        put(&root, "sys/class/net/bond0.7/lower_bond0/uevent", "");
        put(&root, "sys/class/net/eth0/address", "02:00:00:00:00:0c\n");
        put_member(&root, "b1", ["active", "up", "2"]);
        put_member(&root, "b0", ["active", "up", "1"]);
        put_member(&root, "b2", ["active", "down", "2"]);
        put_member(&root, "b3", ["backup", "up", "2"]);
        (folder, root)
    }

    #[test]
    fn members_are_in_the_order_in_which_they_joined_and_those_send_that_the_driver_sends_by() {
        for (mode, sends) in
            [("802.3ad 4\n", [true, false, false, false]), ("balance-xor 2\n", [true, true, false, false])]
        {
            let (_folder, root) = bonded(mode);
            let all = bonds(&root);
            let [bond] = all.as_slice() else { panic!("{all:?}") };
            assert_eq!((bond.name.as_str(), bond.policy.as_deref()), ("bond0", Some("layer3+4")));
            let found: Vec<(&str, bool)> = bond.members.iter().map(|of| (of.name.as_str(), of.sends)).collect();
            let wanted: Vec<(&str, bool)> = ["b1", "b0", "b2", "b3"].into_iter().zip(sends).collect();
            assert_eq!(found, wanted, "{mode}");
            let first = &bond.members[0];
            assert_eq!((first.failures, first.sent_bytes, first.received_bytes), (3, 700, 500));
        }
    }

    #[test]
    fn the_way_out_of_a_vlan_is_the_bond_below_it() {
        let (_folder, root) = bonded("802.3ad 4\n");
        let way = |interface: &str| way_out(&root, interface).map(|way| (way.bond, way.is_bond, way.source_mac[5]));
        assert_eq!(way("bond0"), Some(("bond0".to_owned(), true, 10)));
        assert_eq!(way("bond0.7"), Some(("bond0".to_owned(), false, 11)));
        assert_eq!((way("eth0"), way("gone"), way("../bond0")), (None, None, None));
    }

    #[test]
    fn a_neighbour_is_known_once_it_answered() {
        let folder = tempfile::tempdir().unwrap();
        let root = Root::captured(folder.path());
        let table = "IP address       HW type     Flags       HW address            Mask     Device\n\
                     10.0.0.2         0x1         0x2         02:00:00:00:00:23     *        bond0\n\
                     10.0.0.3         0x1         0x0         00:00:00:00:00:00     *        bond0\n";
        put(&root, "proc/net/arp", table);
        let mac_at = |address: &str, device: &str| neighbour_mac(&root, device, address.parse().unwrap());
        assert_eq!(mac_at("10.0.0.2", "bond0"), Some([2, 0, 0, 0, 0, 0x23]));
        assert_eq!(
            (mac_at("10.0.0.3", "bond0"), mac_at("10.0.0.2", "eth0"), mac_at("fd00::1", "bond0")),
            (None, None, None)
        );
    }
}
