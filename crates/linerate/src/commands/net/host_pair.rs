//! Two machines without a fleet file: this one, and one on which `linerate net serve` waits.

use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use linerate_fleet::description::FleetNode;
use linerate_fleet::net_protocol::NetAddress;
use linerate_fleet::node_reach::{NodeReach, ServedAddress};
use linerate_flows::FlowToken;
use linerate_load::hosts;
use linerate_record::fleet::NodeRole;

use crate::remote::net_token::{self, PORT};
use crate::run::source_addresses;
use crate::terminal::failure::Failure;

/// What this machine is called in reports.
pub(super) const LOCAL_NAME: &str = "here";

/// How long a name may take to be looked up.
const LOOKUP_TIMEOUT: Duration = Duration::from_secs(5);

/// Longest name of a host (RFC 1035).
const NAME_BYTES_MAX: usize = 253;

/// The other machine, as it was named.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RemoteHost {
    pub(super) name: String,
    pub(super) authority: String,
}

impl RemoteHost {
    /// Of what was typed.
    pub(super) fn parsed(text: &str) -> Result<RemoteHost, String> {
        if let Some(place) = net_token::parse_place(text)
            && place.port() > 0
        {
            let single_machine_address = net_token::is_of_single_machine(place.ip()).then_some(place);
            let to_remote_host =
                |place: SocketAddr| RemoteHost { name: place.ip().to_string(), authority: place.to_string() };
            return single_machine_address.map(to_remote_host).ok_or_else(|| {
                format!("{text:?} is no address at which both machines reach each other: write another one of HOST's")
            });
        }
        let (name, port) = match text.split_once(':') {
            Some((name, port)) => (name, port.parse::<u16>().ok().filter(|port| *port > 0)),
            None => (text, Some(PORT)),
        };
        match port.filter(|_| is_name(name)) {
            Some(port) => Ok(RemoteHost { name: name.to_owned(), authority: format!("{name}:{port}") }),
            None => Err(format!("no host in {text:?}: write db2, db2:{PORT}, 10.2.0.2 or [fd00::2]:{PORT}")),
        }
    }

    /// Whether it is this machine, as far as that is known without a look-up.
    pub(super) fn is_here(&self) -> bool {
        self.name == "localhost" || self.name.parse().is_ok_and(|address: IpAddr| address.is_loopback())
    }

    /// Where it is: of several addresses, the first that answers.
    pub(super) fn found(&self) -> Result<SocketAddr, Failure> {
        let found = hosts::resolve(std::slice::from_ref(&self.authority), LOOKUP_TIMEOUT)?;
        let first = found.first().map(|host| host.address);
        first.ok_or_else(|| Failure::Command(format!("{} has no address", self.name)))
    }
}

fn is_name(name: &str) -> bool {
    (1..=NAME_BYTES_MAX).contains(&name.len())
        && name.starts_with(|first: char| first.is_ascii_alphanumeric())
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte))
}

/// Both machines, the other one reached at an address with a token; before that is looked up, as if it were here.
pub(super) fn both_nodes(far: &RemoteHost, reached: Option<(SocketAddr, &FlowToken)>) -> Vec<FleetNode> {
    let served = match reached {
        Some((address, token)) => NodeReach::Served(ServedAddress { address, token: token.to_hex() }),
        None => NodeReach::Here,
    };
    let node = |name: &str, reach| FleetNode {
        name: name.to_owned(),
        role: NodeRole::Client,
        reach,
        site_node: None,
        rack: None,
        host: None,
        network: None,
        service: None,
    };
    // Where it is called as this one is, they are still told apart.
    let name = if far.name == LOCAL_NAME { "there" } else { &far.name };
    vec![node(LOCAL_NAME, NodeReach::Here), node(name, served)]
}

/// Where both are sent to unless flags say otherwise: the other one where it is reached, and this one where that
/// reaches it.
pub(super) fn both_addresses(far: SocketAddr, machines: &[&[NetAddress]]) -> Result<Vec<NetAddress>, String> {
    let near = source_addresses::source_toward(far)
        .ok_or_else(|| format!("there is no way from this machine to {}", far.ip()))?;
    let address_of = |(address, reported): (IpAddr, &&[NetAddress])| {
        // A port that is forwarded has an address that nobody tells.
        let unknown = NetAddress { interface: String::new(), address, prefix_bits: 0 };
        reported.iter().find(|reported| reported.address == address).cloned().unwrap_or(unknown)
    };
    Ok([near, far.ip()].into_iter().zip(machines).map(address_of).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_is_a_name_or_an_address_with_a_port_or_without() {
        for (text, name, authority) in [
            ("db2", "db2", "db2:5210"),
            ("db2.example:99", "db2.example", "db2.example:99"),
            ("10.2.0.2", "10.2.0.2", "10.2.0.2:5210"),
            ("10.2.0.2:99", "10.2.0.2", "10.2.0.2:99"),
            ("fd00::2", "fd00::2", "[fd00::2]:5210"),
            ("[fd00::2]", "fd00::2", "[fd00::2]:5210"),
            ("[fd00::2]:99", "fd00::2", "[fd00::2]:99"),
            ("::ffff:10.0.0.2", "10.0.0.2", "10.0.0.2:5210"),
            ("[::ffff:10.0.0.2]:99", "10.0.0.2", "10.0.0.2:99"),
        ] {
            let host = RemoteHost::parsed(text).unwrap();
            assert_eq!((host.name.as_str(), host.authority.as_str()), (name, authority), "{text}");
        }
        for text in ["", ":99", "db2:", "db2:0", "db2:99999", "-x", "a b", "user@db2", "http://db2", "[db2]:9"] {
            assert!(RemoteHost::parsed(text).unwrap_err().contains("write db2"), "{text}");
        }
        for text in ["0.0.0.0", "[::]:99", "fe80::1", "[fe80::1%1]:99", "224.0.0.1"] {
            assert!(RemoteHost::parsed(text).unwrap_err().contains("write another one"), "{text}");
        }
    }

    #[test]
    fn both_machines_have_names_and_the_token_is_in_neither() {
        let (far, token) = (RemoteHost::parsed("here:99").unwrap(), FlowToken::new([15; 32]));
        let nodes = both_nodes(&far, Some(("10.2.0.2:99".parse().unwrap(), &token)));
        let names: Vec<&str> = nodes.iter().map(|node| node.name.as_str()).collect();
        assert_eq!((names.as_slice(), &nodes[0].reach), (&["here", "there"][..], &NodeReach::Here));
        assert!(!format!("{nodes:?}").contains("0f0f"), "{nodes:?}");
        for (text, is_here) in [("localhost", true), ("127.0.0.1:9", true), ("[::1]:9", true), ("10.2.0.2", false)] {
            assert_eq!(RemoteHost::parsed(text).unwrap().is_here(), is_here, "{text}");
        }
    }

    #[test]
    fn both_are_sent_to_where_they_reach_each_other() {
        let lo = NetAddress { interface: "lo".to_owned(), address: "127.0.0.1".parse().unwrap(), prefix_bits: 8 };
        let far = "127.0.0.1:5210".parse().unwrap();
        assert_eq!(both_addresses(far, &[std::slice::from_ref(&lo), &[]]).unwrap()[0], lo);
        let forwarded = &both_addresses(far, &[std::slice::from_ref(&lo), &[]]).unwrap()[1];
        assert_eq!((forwarded.interface.as_str(), forwarded.address), ("", lo.address));
    }
}
