//! Local addresses that connections are made from: those of `--source`, and the one that the kernel chooses.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};

use if_addrs::Interface;
use linerate_load::hosts::Host;

use crate::terminal::failure::Failure;

/// Reads a comma list of addresses and names of interfaces, each of this machine and of a family that the hosts have;
/// an interface stands for its first such address.
pub(crate) fn parse(text: &str, hosts: &[Host]) -> Result<Vec<IpAddr>, Failure> {
    let are_ipv4: Vec<bool> = hosts.iter().map(|host| host.address.is_ipv4()).collect();
    sources_of_families(text, &are_ipv4)
}

/// What is wrong with such a list, as far as it is known before the names of hosts are looked up.
pub(crate) fn check(text: &str, authorities: &[String]) -> Result<(), Failure> {
    // A name may have addresses of either family.
    let families =
        |name: &String| name.parse().map_or(vec![true, false], |address: SocketAddr| vec![address.is_ipv4()]);
    sources_of_families(text, &authorities.iter().flat_map(families).collect::<Vec<_>>()).map(|_| ())
}

/// The address from which the kernel sends to another. Nothing is sent.
pub(crate) fn source_toward(to: SocketAddr) -> Option<IpAddr> {
    let any: IpAddr = if to.is_ipv4() { Ipv4Addr::UNSPECIFIED.into() } else { Ipv6Addr::UNSPECIFIED.into() };
    let socket = UdpSocket::bind((any, 0)).ok()?;
    socket.connect(to).ok()?;
    Some(socket.local_addr().ok()?.ip())
}

/// Whether a place is on this machine itself, as far as its kernel says: it sends to an address of its own from there.
pub(crate) fn is_local(place: SocketAddr) -> bool {
    let address = place.ip().to_canonical();
    // With its link's number, if it has one.
    let place = if address == place.ip() { place } else { SocketAddr::new(address, place.port()) };
    address.is_loopback() || source_toward(place) == Some(address)
}

fn sources_of_families(text: &str, are_ipv4: &[bool]) -> Result<Vec<IpAddr>, Failure> {
    let interfaces = if_addrs::get_if_addrs().unwrap_or_default();
    text.split(',').map(|word| parse_source(word.trim(), are_ipv4, &interfaces)).collect()
}

fn parse_source(word: &str, are_ipv4: &[bool], interfaces: &[Interface]) -> Result<IpAddr, Failure> {
    let fits = |source: IpAddr| are_ipv4.contains(&source.is_ipv4());
    let unfit = || Failure::usage(format!("--source {word:?} has no address of the family (IPv4, IPv6) of the hosts"));
    let bare = word.trim_start_matches('[').trim_end_matches(']');
    if let Ok(source) = bare.parse::<IpAddr>() {
        // Binding tells what is local, 127.0.0.2 among them: interfaces list 127.0.0.1 alone.
        UdpSocket::bind((source, 0)).map_err(|_| {
            let all = Failure::usage(format!(
                "--source {word:?} is not an address of this machine; {}",
                interface_list(interfaces)
            ));
            if source.is_unspecified() { unfit() } else { all }
        })?;
        return if fits(source) && !source.is_unspecified() { Ok(source) } else { Err(unfit()) };
    }
    let mut own = interfaces.iter().filter(|i| i.name == word).peekable();
    if own.peek().is_none() {
        let all = interface_list(interfaces);
        return Err(Failure::usage(format!("--source {word:?} is not an address or interface of this machine; {all}")));
    }
    own.map(Interface::ip).find(|&ip| fits(ip)).ok_or_else(unfit)
}

fn interface_list(interfaces: &[Interface]) -> String {
    let each: Vec<String> = interfaces.iter().map(|i| format!("{} ({})", i.name, i.ip())).collect();
    format!("it has {}", each.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hosts(address: &str) -> [Host; 1] {
        [Host { authority: address.into(), address: address.parse().unwrap() }]
    }

    #[test]
    fn addresses_and_interfaces_of_this_machine_are_taken_in_order() {
        let loopback = if_addrs::get_if_addrs().unwrap().into_iter().find(|i| i.is_loopback() && i.ip().is_ipv4());
        let name = loopback.unwrap().name;
        let sources = parse(&format!("127.0.0.3, 127.0.0.2,{name}"), &hosts("127.0.0.1:1")).unwrap();
        assert_eq!(sources, ["127.0.0.3", "127.0.0.2", "127.0.0.1"].map(|a| a.parse::<IpAddr>().unwrap()));
    }

    #[test]
    fn all_addresses_of_this_machine_are_its_own_and_no_others() {
        let is_ipv4 = |found: &if_addrs::Interface| found.ip().is_ipv4();
        for found in if_addrs::get_if_addrs().unwrap().into_iter().filter(is_ipv4) {
            assert!(is_local(SocketAddr::new(found.ip(), 9)), "{found:?}");
        }
        for (text, expected) in [
            ("127.9.9.9:9", true),
            ("[::1]:9", true),
            ("[::ffff:127.0.0.1]:9", true),
            ("198.51.100.1:9", false),
            ("[2001:db8::1]:9", false),
        ] {
            assert_eq!(is_local(text.parse().unwrap()), expected, "{text}");
        }
    }

    #[test]
    fn what_is_not_local_or_cannot_reach_the_hosts_is_quoted() {
        for (text, part) in [
            ("192.0.2.7", "\"192.0.2.7\" is not an address of this machine"),
            ("127.0.0.1,no-such0", "\"no-such0\" is not an address or interface"),
            ("", "\"\""),
            ("0.0.0.0", "\"0.0.0.0\""),
        ] {
            let error = parse(text, &hosts("127.0.0.1:1")).unwrap_err().to_string();
            assert!(error.contains(part), "{text}: {error}");
        }
        let error = parse("127.0.0.1", &hosts("[::1]:1")).unwrap_err().to_string();
        assert!(error.contains("family"), "{error}");
    }

    #[test]
    fn what_is_not_local_is_told_before_names_are_looked_up() {
        let check = |text: &str, host: &str| check(text, &[host.to_owned()]).map_err(|error| error.to_string());
        for (text, host, part) in [
            ("192.0.2.7", "a.invalid:1", "not an address of this machine"),
            ("no-such0", "127.0.0.1:1", "not an address or interface"),
            ("127.0.0.1", "[::1]:1", "family"),
        ] {
            assert!(check(text, host).unwrap_err().contains(part), "{text} {host}");
        }
        for host in ["127.0.0.1:1", "a.invalid:1"] {
            assert_eq!(check("127.0.0.2", host), Ok(()), "{host}");
        }
    }
}
