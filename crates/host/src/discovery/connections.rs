//! Addresses of a machine, and what its engines are connected to: by `/proc/PID/net/tcp`, for sockets that the engine
//! has open.

use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use linerate_record::discovery::EnginePeer;

use crate::fingerprint::interface_of;
use crate::root::{ReadPass, Root, note, text};
use crate::serving::{bracketed, namespace, parse_address};

/// States of a socket, in hexadecimal (`include/net/tcp_states.h`).
const ESTABLISHED: &str = "01";
const LISTENING: &str = "0A";

/// Open files of one process that are looked at.
const FILES_MAX: usize = 262_144;

/// Addresses of peers that are reported: a cluster has at most some thousands of nodes and clients.
const PEERS_MAX: usize = 8_192;

/// Addresses at which one engine listens.
const LISTENS_MAX: usize = 64;

/// Whether a process is in another network namespace than this one.
pub(super) fn is_in_own_network(root: &Root, pid: u32) -> bool {
    let theirs = namespace(root, &pid.to_string());
    theirs.is_some() && theirs != namespace(root, "self")
}

/// Addresses of the network namespace of a process, but for loopback and those of one link.
pub(super) fn addresses(root: &Root, process: &str) -> Vec<IpAddr> {
    let mut found = BTreeSet::new();
    let read = |file: &str| {
        text(root, &format!("proc/{process}/net/{file}"), &mut Vec::new()).map(std::borrow::Cow::into_owned)
    };
    if let Ok(table) = read("fib_trie") {
        found.extend(local_hosts(&table).into_iter().map(IpAddr::V4));
    }
    if let Ok(table) = read("if_inet6") {
        found.extend(table.lines().filter_map(global_of_line).map(IpAddr::V6));
    }
    found.retain(|address| !address.is_loopback());
    found.into_iter().collect()
}

/// `|-- 10.0.0.1` with `/32 host LOCAL` below it (`net/ipv4/fib_trie.c`, `fib_trie_seq_show`).
fn local_hosts(table: &str) -> Vec<Ipv4Addr> {
    let (mut at, mut found): (Option<Ipv4Addr>, Vec<Ipv4Addr>) = (None, Vec::new());
    for line in table.lines().map(str::trim_start) {
        match line.strip_prefix("|-- ") {
            Some(leaf) => at = leaf.trim_end().parse().ok(),
            None if line.starts_with("/32 host LOCAL") => found.extend(at),
            None => {}
        }
    }
    found
}

/// `20010db8000000000000000000000001 02 40 00 80 eth0`: the fourth column is the scope, 0 where it is global.
fn global_of_line(line: &str) -> Option<Ipv6Addr> {
    let mut columns = line.split_whitespace();
    let (address, scope) = (columns.next()?, columns.nth(2)?);
    if scope != "00" {
        return None;
    }
    u128::from_str_radix(address, 16).ok().map(Ipv6Addr::from)
}

/// What a line of `/proc/PID/net/tcp` says of a socket.
struct SocketLine<'a> {
    local: SocketAddr,
    remote: SocketAddr,
    state: &'a str,
    inode: u64,
}

fn socket_line(line: &str) -> Option<SocketLine<'_>> {
    let columns: Vec<&str> = line.split_whitespace().take(10).collect();
    let end = |column: usize| {
        let (address, port) = columns.get(column)?.split_once(':')?;
        let address = parse_address(address)?.to_canonical();
        Some(SocketAddr::new(address, u16::from_str_radix(port, 16).ok()?))
    };
    Some(SocketLine { local: end(1)?, remote: end(2)?, state: columns.get(3)?, inode: columns.get(9)?.parse().ok()? })
}

/// Addresses at which an engine listens, and other ends of its connections but for those within the machine.
pub(super) fn connections(
    root: &Root,
    pid: u32,
    own: &[IpAddr],
    pass: &mut ReadPass,
) -> (Vec<SocketAddr>, Vec<EnginePeer>) {
    let Some(sockets) = open_sockets(root, pid, pass) else { return (Vec::new(), Vec::new()) };
    let (mut listens, mut ends) = (BTreeSet::new(), Vec::new());
    for file in ["tcp", "tcp6"] {
        let path = format!("proc/{pid}/net/{file}");
        let table = match text(root, &path, &mut pass.bytes) {
            Ok(table) => table.into_owned(),
            // A kernel without IPv6 has no second table.
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => continue,
            Err(error) => {
                note(pass, &path, format!("{error}: what the engine is connected to is not known"));
                continue;
            }
        };
        for line in table.lines().filter_map(socket_line).filter(|line| sockets.contains(&line.inode)) {
            match line.state {
                LISTENING => drop(listens.insert(line.local)),
                ESTABLISHED => ends.push((line.local, line.remote.ip())),
                _ => {}
            }
        }
    }
    let ports: BTreeSet<u16> = listens.iter().map(SocketAddr::port).collect();
    let mut counts: BTreeMap<(IpAddr, bool), u32> = BTreeMap::new();
    let outside = |address: &IpAddr| !address.is_loopback() && !own.contains(address);
    for (local, remote) in ends.into_iter().filter(|(_, remote)| outside(remote)) {
        *counts.entry((remote, ports.contains(&local.port()))).or_default() += 1;
    }
    if counts.len() > PEERS_MAX {
        note(pass, &format!("proc/{pid}/net/tcp"), format!("addresses beyond {PEERS_MAX} are left out"));
    }
    let peer = |((address, is_inbound), connections)| EnginePeer {
        address,
        is_inbound,
        connections,
        interface: interface_of(root, address).ok(),
    };
    (listens.into_iter().take(LISTENS_MAX).collect(), counts.into_iter().take(PEERS_MAX).map(peer).collect())
}

/// The inodes of the sockets that a process has open.
fn open_sockets(root: &Root, pid: u32, pass: &mut ReadPass) -> Option<BTreeSet<u64>> {
    let path = format!("proc/{pid}/fd");
    match std::fs::read_dir(root.0.join(&path)) {
        Ok(files) => {
            let inode = |entry: std::fs::DirEntry| bracketed(&std::fs::read_link(entry.path()).ok()?, "socket:[");
            Some(files.flatten().take(FILES_MAX).filter_map(inode).collect())
        }
        Err(error) => {
            note(pass, &path, format!("{error}: what the engine is connected to is not known"));
            None
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::put;
    use super::*;
    use proptest::prelude::*;
    use std::os::unix::fs::symlink;

    fn hex(address: &str) -> String {
        let SocketAddr::V4(at) = address.parse().unwrap() else { panic!("{address}") };
        format!("{:08X}:{:04X}", u32::from_ne_bytes(at.ip().octets()), at.port())
    }

    fn line(local: &str, remote: &str, state: &str, inode: u64) -> String {
        format!(
            "   0: {} {} {state} 00000000:00000000 00:00000000 00000000     0        0 {inode} 1\n",
            hex(local),
            hex(remote)
        )
    }

    #[test]
    fn peers_are_counted_by_address_and_direction_with_the_interface_to_them() {
        let folder = tempfile::tempdir().unwrap();
        let root = Root::captured(folder.path());
        let any = "0.0.0.0:0";
        let rows = [
            line("0.0.0.0:9000", any, LISTENING, 1),
            line("10.1.0.1:9000", "10.1.0.2:40000", ESTABLISHED, 2),
            line("10.1.0.1:9000", "10.1.0.2:40001", ESTABLISHED, 3),
            line("10.1.0.1:50000", "10.1.0.2:9000", ESTABLISHED, 4),
            line("10.0.0.1:9000", "10.0.9.9:40000", ESTABLISHED, 5),
            line("10.0.0.1:9000", "10.0.9.9:40001", "06", 5),
            line("10.0.0.1:9000", "10.0.0.1:40000", ESTABLISHED, 6),
            line("127.0.0.1:9000", "127.0.0.1:40000", ESTABLISHED, 7),
            line("10.0.0.1:22", "10.0.7.7:40000", ESTABLISHED, 99),
        ];
        put(&root, "proc/7/net/tcp", &format!("  sl  local_address rem_address   st\n{}", rows.concat()));
        std::fs::create_dir_all(folder.path().join("proc/7/fd")).unwrap();
        for inode in 1..=7 {
            symlink(format!("socket:[{inode}]"), folder.path().join(format!("proc/7/fd/{inode}"))).unwrap();
        }
        let route = |name: &str, to: &str, mask: &str| {
            let number = |text: &str| format!("{:08X}", u32::from_ne_bytes(text.parse::<Ipv4Addr>().unwrap().octets()));
            format!("{name}\t{}\t00000000\t0001\t0\t0\t0\t{}\t0\t0\t0\n", number(to), number(mask))
        };
        let routes = route("eth0", "0.0.0.0", "0.0.0.0") + &route("eth1", "10.1.0.0", "255.255.0.0");
        put(&root, "proc/net/route", &format!("Iface\tDestination\tGateway\n{routes}"));
        let own = ["10.0.0.1", "10.1.0.1"].map(|address| address.parse().unwrap());
        let mut pass = ReadPass::default();
        let (listens, peers) = connections(&root, 7, &own, &mut pass);
        assert_eq!(listens, ["0.0.0.0:9000".parse().unwrap()]);
        let reported: Vec<String> = peers
            .iter()
            .map(|peer| {
                let direction = if peer.is_inbound { "in" } else { "out" };
                format!(
                    "{} {direction} {} {}",
                    peer.address,
                    peer.connections,
                    peer.interface.as_deref().unwrap_or("-")
                )
            })
            .collect();
        assert_eq!(reported, ["10.0.9.9 in 1 eth0", "10.1.0.2 out 1 eth1", "10.1.0.2 in 2 eth1"]);
        assert_eq!(pass.unreadable, []);
    }

    #[test]
    fn addresses_are_those_of_the_namespace_but_for_loopback_and_one_link() {
        let folder = tempfile::tempdir().unwrap();
        let root = Root::captured(folder.path());
        let leaf = |address: &str, what: &str| format!("     |-- {address}\n        {what}\n");
        let own = "/32 host LOCAL";
        let trie = [
            leaf("10.0.0.0", "/24 link UNICAST"),
            leaf("10.0.0.1", own),
            leaf("127.0.0.1", own),
            leaf("10.0.0.255", "/32 link BROADCAST"),
        ];
        let table = trie.concat();
        put(&root, "proc/self/net/fib_trie", &format!("Main:\n  +-- 0.0.0.0/0 3 0 5\n{table}Local:\n{table}"));
        let line = |address: u128, scope: &str, name: &str| format!("{address:032x} 02 40 {scope} 80 {name}\n");
        let [global, of_link] = [0x2001_0db8 << 96 | 1, 0xfe80 << 112 | 1_u128];
        let inet6 = [line(global, "00", "eth0"), line(of_link, "20", "eth0"), line(1, "10", "lo")];
        put(&root, "proc/self/net/if_inet6", &inet6.concat());
        let found: Vec<String> = addresses(&root, "self").iter().map(ToString::to_string).collect();
        assert_eq!(found, ["10.0.0.1", "2001:db8::1"]);
    }

    proptest! {
        #[test]
        fn no_text_panics(text in "( *[0-9]+: [0-9A-F]{0,9}:[0-9A-F]{0,5} [0-9A-F:é ]{0,60}\n){0,3}|(?s).*") {
            for line in text.lines() {
                socket_line(line);
                global_of_line(line);
            }
            local_hosts(&text);
        }
    }
}
