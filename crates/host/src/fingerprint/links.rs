//! The interfaces between this machine and the targets: the one that a route names, and what is below it.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::net::{IpAddr, Ipv4Addr};

use linerate_record::fingerprint::{INTERFACES, NicKey};

use super::{NOT_STATED, count, stated};
use crate::nic::valid_name;
use crate::root::{Root, names, text};
use crate::setting::{interface_name, interface_to};

/// Interfaces that are looked at: a VLAN on a bond of 16 members is 18.
const MOST_INTERFACES: usize = 256;
/// Addresses whose route is asked for; a cluster of more hosts goes by the routes of these.
const MOST_HOSTS: usize = 1024;

#[derive(Clone, Debug, Default)]
pub(super) struct Interfaces {
    /// Those that routes name, and where a route is unknown, why.
    routes: BTreeSet<String>,
    /// The same with what is below them: members of a bond, the device of a VLAN.
    pub(super) all: BTreeSet<String>,
}

/// Those that lead to the hosts.
pub(super) fn interfaces(root: &Root, hosts: &[IpAddr]) -> Interfaces {
    let mut found = Interfaces::default();
    for host in hosts.iter().take(MOST_HOSTS) {
        match interface_of(root, *host) {
            Ok(name) => {
                below(root, &name, &mut found.all);
                found.routes.insert(name);
            }
            Err(error) => drop(found.routes.insert(format!("no route to {host}: {error}"))),
        }
    }
    found
}

fn below(root: &Root, name: &str, all: &mut BTreeSet<String>) {
    if all.len() >= MOST_INTERFACES || valid_name(name).is_err() || !all.insert(name.to_owned()) {
        return;
    }
    for entry in names(root, &format!("sys/class/net/{name}")) {
        if let Some(lower) = entry.strip_prefix("lower_") {
            below(root, lower, all);
        }
    }
}

/// The kernel knows best: rules, tables, the machine's own addresses. A captured machine has the main table only.
pub(crate) fn interface_of(root: &Root, host: IpAddr) -> io::Result<String> {
    if host.is_loopback() {
        return Ok("lo".to_owned());
    }
    if root.is_live() {
        return interface_name(interface_to(host.to_canonical())?);
    }
    let none = || io::Error::new(io::ErrorKind::NotFound, "none in proc/net/route");
    let IpAddr::V4(host) = host.to_canonical() else { return Err(none()) };
    from_table(&text(root, "proc/net/route", &mut Vec::new())?, host).ok_or_else(none)
}

/// The interface of the longest route that holds an address; of equal ones, that of the least metric. Addresses are
/// hexadecimal numbers in the memory order of the machine (`net/ipv4/fib_trie.c`, `fib_route_seq_show`).
fn from_table(table: &str, host: Ipv4Addr) -> Option<String> {
    let host = u32::from_ne_bytes(host.octets());
    let rows = table.lines().skip(1).filter_map(|line| {
        let columns: Vec<&str> = line.split_whitespace().collect();
        let number = |column: usize| u32::from_str_radix(columns.get(column)?, 16).ok();
        let (destination, mask) = (number(1)?, number(7)?);
        let metric: u32 = columns.get(6)?.parse().ok()?;
        (host & mask == destination).then(|| (mask.count_ones(), std::cmp::Reverse(metric), columns[0].to_owned()))
    });
    rows.max().map(|(_, _, name)| name)
}

/// What is said of each.
pub(super) fn facts(root: &Root, interfaces: &Interfaces) -> Vec<(String, String)> {
    let routes: Vec<&str> = interfaces.routes.iter().map(String::as_str).collect();
    let mut rows = vec![(INTERFACES.to_owned(), if routes.is_empty() { "none".into() } else { routes.join(", ") })];
    for name in &interfaces.all {
        let folder = format!("sys/class/net/{name}");
        let mut row = |key: NicKey, value: String| rows.push((key.for_interface(name), value));
        row(NicKey::Speed, speed(&stated(root, &format!("{folder}/speed"))));
        row(NicKey::Mtu, stated(root, &format!("{folder}/mtu")));
        row(NicKey::Duplex, stated(root, &format!("{folder}/duplex")));
        row(NicKey::Driver, driver(root, &folder));
        if let Some(members) = active(root, &folder) {
            row(NicKey::Active, members);
        }
    }
    rows
}

/// Of a link without a speed, the kernel says nothing, -1 or 0.
fn speed(text: &str) -> String {
    match text.parse::<i64>() {
        Ok(mbits_per_s) if mbits_per_s > 0 && mbits_per_s != i64::from(u32::MAX) => format!("{mbits_per_s} Mb/s"),
        Ok(_) => NOT_STATED.to_owned(),
        Err(_) => text.to_owned(),
    }
}

fn driver(root: &Root, folder: &str) -> String {
    let uevent = text(root, &format!("{folder}/device/uevent"), &mut Vec::new()).map(std::borrow::Cow::into_owned);
    let named = uevent.iter().flat_map(|text| text.lines()).find_map(|line| line.strip_prefix("DRIVER="));
    named.unwrap_or(NOT_STATED).to_owned()
}

/// The members of a bond that carry: up, and the one in use of an active-backup bond, or those of the aggregator in
/// use of 802.3ad. None for what is no bond.
fn active(root: &Root, folder: &str) -> Option<String> {
    let members = text(root, &format!("{folder}/bonding/slaves"), &mut Vec::new()).ok()?.into_owned();
    let chosen =
        text(root, &format!("{folder}/bonding/active_slave"), &mut Vec::new()).unwrap_or_default().into_owned();
    let aggregator = count(root, &format!("{folder}/bonding/ad_aggregator"));
    let carries = |member: &&str| {
        let own = format!("sys/class/net/{member}/bonding_slave");
        let is_chosen = chosen.trim().is_empty() || chosen.trim() == *member;
        let is_together = aggregator.is_none() || count(root, &format!("{own}/ad_aggregator_id")) == aggregator;
        is_chosen && is_together && stated(root, &format!("{own}/mii_status")) == "up"
    };
    let mut carrying: Vec<&str> =
        members.split_whitespace().filter(|name| valid_name(name).is_ok()).filter(carries).collect();
    carrying.sort_unstable();
    Some(if carrying.is_empty() { "none".to_owned() } else { carrying.join(", ") })
}

/// How often each has lost or found its carrier since it was made.
pub(super) fn carrier_changes(root: &Root, interfaces: &BTreeSet<String>) -> BTreeMap<String, u64> {
    let changes = |name: &String| Some((name.clone(), count(root, &format!("sys/class/net/{name}/carrier_changes"))?));
    interfaces.iter().filter_map(changes).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_longest_route_wins_and_of_equal_ones_the_nearest() {
        let hex = |address: [u8; 4]| format!("{:08X}", u32::from_ne_bytes(address));
        let row = |name: &str, to: [u8; 4], mask: [u8; 4], metric: u32| {
            format!("{name}\t{}\t00000000\t0001\t0\t0\t{metric}\t{}\t0\t0\t0\n", hex(to), hex(mask))
        };
        let table = [
            "Iface\tDestination\tGateway \tFlags\tRefCnt\tUse\tMetric\tMask\t\tMTU\tWindow\tIRTT\n".to_owned(),
            row("eth9", [0; 4], [0; 4], 200),
            row("eth0", [0; 4], [0; 4], 100),
            row("bond0", [10, 0, 0, 0], [255, 0, 0, 0], 0),
            row("bond1", [10, 1, 0, 0], [255, 255, 0, 0], 0),
        ]
        .concat();
        for (host, expected) in
            [([192, 0, 2, 1], "eth0"), ([10, 2, 0, 1], "bond0"), ([10, 1, 0, 1], "bond1"), ([11, 0, 0, 1], "eth0")]
        {
            assert_eq!(from_table(&table, Ipv4Addr::from(host)).as_deref(), Some(expected), "{host:?}");
        }
        assert_eq!(from_table("Iface\n", Ipv4Addr::LOCALHOST), None);
    }

    #[test]
    fn members_of_another_aggregator_or_without_a_link_do_not_carry() {
        let folder = tempfile::tempdir().unwrap();
        let root = Root::captured(folder.path());
        let put = |path: &str, text: &str| {
            let path = folder.path().join("sys/class/net").join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        };
        put("bond0/bonding/slaves", "p0 p1 p2\n");
        put("bond0/bonding/ad_aggregator", "1\n");
        for (member, aggregator, link) in [("p0", "1", "up"), ("p1", "2", "up"), ("p2", "1", "down")] {
            put(&format!("{member}/bonding_slave/ad_aggregator_id"), aggregator);
            put(&format!("{member}/bonding_slave/mii_status"), link);
        }
        assert_eq!(active(&root, "sys/class/net/bond0").as_deref(), Some("p0"));
        put("bond0/bonding/active_slave", "p1\n");
        std::fs::remove_file(folder.path().join("sys/class/net/bond0/bonding/ad_aggregator")).unwrap();
        assert_eq!(active(&root, "sys/class/net/bond0").as_deref(), Some("p1"), "the one in use of active-backup");
    }

    #[test]
    fn the_kernel_names_the_interface_of_an_own_address_and_of_loopback() {
        let root = Root::live();
        for host in ["127.0.0.1", "127.8.8.8", "::1", "::ffff:127.0.0.1"] {
            assert_eq!(interface_of(&root, host.parse().unwrap()).unwrap(), "lo", "{host}");
        }
        assert_eq!(interface_name(interface_to(Ipv4Addr::LOCALHOST.into()).unwrap()).unwrap(), "lo");
    }

    proptest! {
        #[test]
        fn no_text_panics(text in "([a-z0-9]{1,4}(\t[0-9A-F]{1,9}){0,9}\n){0,4}|(?s).*") {
            from_table(&text, Ipv4Addr::LOCALHOST);
            speed(&text);
        }
    }
}
