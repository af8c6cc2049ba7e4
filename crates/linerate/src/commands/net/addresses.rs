//! At which address machines are sent to: the one in a network, or of an interface, that was asked for, or that of the
//! only network in which all of them are. Of several networks that were asked for, each machine's is the first in which
//! it has an address: hosts are in one, pods in another.

use std::collections::BTreeMap;
use std::net::IpAddr;

use ipnet::IpNet;
use linerate_fleet::net_protocol::NetAddress;

/// What was asked for.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct AddressChoice<'f> {
    pub(super) networks: &'f [IpNet],
    pub(super) interface: Option<&'f str>,
    /// Whether all machines are reached here: only then is a loopback address one at which they reach each other.
    pub(super) are_all_here: bool,
}

/// How many machines or networks are named in a message.
const LISTED_MAX: usize = 5;

/// The address of each machine, by the machine's place among the names.
pub(super) fn choose_addresses(
    names: &[&str],
    machines: &[&[NetAddress]],
    wish: AddressChoice<'_>,
) -> Result<Vec<NetAddress>, String> {
    if wish.networks.is_empty() && wish.interface.is_none() {
        let networks = [common_network(machines)?];
        return choose_addresses(names, machines, AddressChoice { networks: &networks, ..wish });
    }
    let found: Vec<Option<&NetAddress>> = machines.iter().map(|all| chosen_address(all, wish)).collect();
    if !wish.are_all_here
        && let Some(at) = found.iter().position(|of| of.is_some_and(|of| of.address.is_loopback()))
    {
        return Err(format!(
            "{} would be sent to at {}, which is each machine's own: {}",
            names[at],
            found[at].map_or_else(String::new, |of| of.address.to_string()),
            networks_in_words(machines)
        ));
    }
    let lacking: Vec<&str> =
        names.iter().zip(&found).filter(|(_, found)| found.is_none()).map(|(name, _)| *name).collect();
    if !lacking.is_empty() {
        return Err(format!(
            "{} {}: {}",
            name_list(&lacking),
            if lacking.len() == 1 { "has no such address" } else { "have no such address" },
            networks_in_words(machines)
        ));
    }
    let found: Vec<NetAddress> = found.into_iter().flatten().cloned().collect();
    shared_address(names, &found).map_or(Ok(found), Err)
}

/// The address of one machine that was asked for.
fn chosen_address<'m>(all: &'m [NetAddress], wish: AddressChoice<'_>) -> Option<&'m NetAddress> {
    let is_of = |of: &&NetAddress| wish.interface.is_none_or(|name| name == of.interface);
    if wish.networks.is_empty() {
        return all.iter().find(is_of);
    }
    wish.networks.iter().find_map(|network| all.iter().filter(is_of).find(|of| network.contains(&of.address)))
}

/// Machines with the same address are one, or are not reached by it; at a loopback address, all of them are here.
fn shared_address(names: &[&str], found: &[NetAddress]) -> Option<String> {
    let mut of: BTreeMap<IpAddr, &str> = BTreeMap::new();
    for (name, found) in names.iter().zip(found).filter(|(_, found)| !found.address.is_loopback()) {
        if let Some(other) = of.insert(found.address, name) {
            return Some(format!(
                "{other} and {name} both have the address {}: choose another network with --network, or an interface \
                 with --interface",
                found.address
            ));
        }
    }
    None
}

fn network_of(of: &NetAddress) -> Option<IpNet> {
    IpNet::new(of.address, of.prefix_bits).ok().map(|network| network.trunc())
}

/// Networks with how many machines are in each, the most first.
fn networks(machines: &[&[NetAddress]]) -> Vec<(IpNet, usize)> {
    let mut counts: BTreeMap<IpNet, usize> = BTreeMap::new();
    for all in machines {
        let mut own: Vec<IpNet> = all.iter().filter(|of| !of.address.is_loopback()).filter_map(network_of).collect();
        own.sort_unstable();
        own.dedup();
        own.into_iter().for_each(|network| *counts.entry(network).or_default() += 1);
    }
    let mut counts: Vec<(IpNet, usize)> = counts.into_iter().collect();
    counts.sort_by_key(|(network, count)| (usize::MAX - count, *network));
    counts
}

/// The only network that all machines are in, each with an address of its own; of both families the older.
fn common_network(machines: &[&[NetAddress]]) -> Result<IpNet, String> {
    let is_each_own = |wanted: &IpNet| {
        let mut own: Vec<IpAddr> = machines
            .iter()
            .filter_map(|all| all.iter().find(|of| wanted.contains(&of.address)).map(|of| of.address))
            .collect();
        own.sort_unstable();
        own.dedup();
        own.len() == machines.len()
    };
    let common: Vec<IpNet> = networks(machines)
        .into_iter()
        .filter(|(network, count)| *count == machines.len() && is_each_own(network))
        .map(|(network, _)| network)
        .collect();
    let of_v4: Vec<&IpNet> = common.iter().filter(|network| network.addr().is_ipv4()).collect();
    match (&of_v4[..], &common[..]) {
        ([one], _) => Ok(**one),
        ([], [one]) => Ok(*one),
        ([], []) => Err(format!("there is no network that all machines are in: {}", networks_in_words(machines))),
        _ => Err(format!("there are several networks that all machines are in: {}", networks_in_words(machines))),
    }
}

fn networks_in_words(machines: &[&[NetAddress]]) -> String {
    let all = networks(machines);
    let listed: Vec<String> = all
        .iter()
        .take(LISTED_MAX)
        .map(|(network, count)| format!("{network} ({count} of {})", machines.len()))
        .collect();
    let listed = if listed.is_empty() { "none but loopback".to_owned() } else { listed.join(", ") };
    format!("choose with --network CIDR or --interface NAME; networks are {listed}")
}

fn name_list(names: &[&str]) -> String {
    let more = names.len().saturating_sub(LISTED_MAX);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    format!("{}{more}", names[..names.len().min(LISTED_MAX)].join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn machine(all: &[(&str, &str)]) -> Vec<NetAddress> {
        let to_address = |(interface, network): &(&str, &str)| {
            let network: IpNet = network.parse().unwrap();
            NetAddress {
                interface: (*interface).to_owned(),
                address: network.addr(),
                prefix_bits: network.prefix_len(),
            }
        };
        all.iter().map(to_address).collect()
    }

    fn parse_networks(all: &[&str]) -> Vec<IpNet> {
        all.iter().map(|network| network.parse().unwrap()).collect()
    }

    fn addresses(machines: &[Vec<NetAddress>], wish: AddressChoice<'_>) -> Result<Vec<String>, String> {
        let machines: Vec<&[NetAddress]> = machines.iter().map(Vec::as_slice).collect();
        let names = ["a", "b", "c"];
        let found = choose_addresses(&names[..machines.len()], &machines, wish)?;
        Ok(found.iter().map(|of| of.address.to_string()).collect())
    }

    #[test]
    fn the_only_network_that_all_are_in_is_taken_and_of_several_one_has_to_be_chosen() {
        let lo = ("lo", "127.0.0.1/8");
        let docker = ("docker0", "172.17.0.1/16");
        let one = machine(&[lo, docker, ("eth0", "10.0.0.1/24"), ("eth0", "fd00::1/64")]);
        let two = machine(&[lo, docker, ("eth0", "10.0.0.2/24"), ("eth0", "fd00::2/64")]);
        assert_eq!(addresses(&[one.clone(), two.clone()], AddressChoice::default()).unwrap(), ["10.0.0.1", "10.0.0.2"]);
        let second =
            |all: &[NetAddress], last: u8| [all.to_vec(), machine(&[("eth1", &format!("10.9.0.{last}/24"))])].concat();
        let both = [second(&one, 1), second(&two, 2)];
        let why = addresses(&both, AddressChoice::default()).unwrap_err();
        assert!(why.contains("several networks") && why.contains("10.9.0.0/24 (2 of 2)"), "{why}");
        let wish = AddressChoice { interface: Some("eth1"), ..AddressChoice::default() };
        assert_eq!(addresses(&both, wish).unwrap(), ["10.9.0.1", "10.9.0.2"]);
        let wish = AddressChoice { networks: &parse_networks(&["10.9.0.0/16"]), ..AddressChoice::default() };
        assert_eq!(addresses(&both, wish).unwrap(), ["10.9.0.1", "10.9.0.2"]);
        let wish = AddressChoice { interface: Some("eth7"), ..AddressChoice::default() };
        assert!(addresses(&both, wish).unwrap_err().starts_with("a, b have no such address"));
    }

    #[test]
    fn of_several_networks_each_machine_is_in_the_first_that_it_has_an_address_in() {
        // Hosts have an address among the pods' too, by which the overlay's router is reached.
        let host = |last: u8| {
            machine(&[("cilium_host", &format!("10.232.{last}.1/32")), ("eth0", &format!("10.231.80.{last}/24"))])
        };
        let all = [host(11), host(12), machine(&[("eth0", "10.232.1.7/32")])];
        let wished = parse_networks(&["10.231.80.0/24", "10.232.0.0/16"]);
        let wish = AddressChoice { networks: &wished, ..AddressChoice::default() };
        assert_eq!(addresses(&all, wish).unwrap(), ["10.231.80.11", "10.231.80.12", "10.232.1.7"]);
        let pods = parse_networks(&["10.232.0.0/16"]);
        let wish = AddressChoice { networks: &pods, ..AddressChoice::default() };
        assert_eq!(addresses(&all, wish).unwrap(), ["10.232.11.1", "10.232.12.1", "10.232.1.7"]);
        let hosts = parse_networks(&["10.231.80.0/24"]);
        let wish = AddressChoice { networks: &hosts, ..AddressChoice::default() };
        assert!(addresses(&all, wish).unwrap_err().starts_with("c has no such address"));
    }

    #[test]
    fn machines_with_routed_networks_of_their_own_need_a_wider_one() {
        let racks = [machine(&[("bond0", "10.1.0.1/24")]), machine(&[("bond0", "10.1.1.1/24")])];
        assert!(
            addresses(&racks, AddressChoice::default()).unwrap_err().contains("no network that all machines are in")
        );
        let wish = AddressChoice { networks: &parse_networks(&["10.1.0.0/16"]), ..AddressChoice::default() };
        assert_eq!(addresses(&racks, wish).unwrap(), ["10.1.0.1", "10.1.1.1"]);
    }

    #[test]
    fn the_same_address_twice_is_refused_but_for_loopback_of_machines_that_are_all_here() {
        let here = machine(&[("lo", "127.0.0.1/8"), ("eth0", "10.0.0.1/24")]);
        let both = [here.clone(), here];
        assert!(addresses(&both, AddressChoice::default()).is_err());
        let wish = AddressChoice { interface: Some("eth0"), ..AddressChoice::default() };
        assert!(addresses(&both, wish).unwrap_err().contains("a and b both have the address 10.0.0.1"));
        for wish in [
            AddressChoice { networks: &parse_networks(&["127.0.0.0/8"]), ..AddressChoice::default() },
            AddressChoice { interface: Some("lo"), ..AddressChoice::default() },
        ] {
            let here = AddressChoice { are_all_here: true, ..wish };
            assert_eq!(addresses(&both, here).unwrap(), ["127.0.0.1", "127.0.0.1"]);
            let why = addresses(&both, wish).unwrap_err();
            assert!(why.starts_with("a would be sent to at 127.0.0.1, which is each machine's own: choose"), "{why}");
        }
    }
}
