//! Which process of this machine serves an address: also one in a network namespace of its own, as a pod's is.
//!
//! Sockets that listen stand first in `/proc/PID/net/tcp` (`net/ipv4/tcp_ipv4.c`, `tcp_get_idx`), so that no list of
//! connections is read, however long.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufRead as _, BufReader, Read as _};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use crate::root::{ReadPass, Root, names, text};
use crate::snapshot::program;

/// State 10 of a socket, in hexadecimal: `TCP_LISTEN`.
const LISTENING: &str = "0A";
/// Sockets that listen in one namespace, and files of one process, that are looked at. A server's are among its first.
const MOST_SOCKETS: usize = 16_384;
const MOST_FILES: usize = 16_384;
/// The longest line that is read: those of `net/tcp6` have 180 characters.
const LONGEST_LINE_BYTES: u64 = 512;

/// A process that serves an address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Serving {
    /// Its number. Of several that share the socket, the first, but for systemd's, which only opened it.
    pub pid: u32,
    pub program: String,
    /// The inode of its network namespace.
    pub netns: u64,
    /// Whether that is another than this process's.
    pub own_network: bool,
}

/// The process of this machine that listens at the first of these addresses at which one does; none where none is found
/// or it may not be seen: without root, only processes of the same user are.
///
/// An address of this process's own namespace is looked for there alone, any other in all others. Where several of them
/// have it, nothing tells which is meant, and none is named. A server behind a port that is forwarded is not found.
#[must_use]
pub fn serving(root: &Root, hosts: &[SocketAddr]) -> Option<Serving> {
    let own = namespace(root, "self")?;
    let mut spaces: BTreeMap<u64, Vec<u32>> = BTreeMap::new();
    for name in names(root, "proc") {
        let Ok(pid) = name.parse::<u32>() else { continue };
        if let Some(inode) = namespace(root, &name) {
            spaces.entry(inode).or_default().push(pid);
        }
    }
    spaces.values_mut().for_each(|pids| pids.sort_unstable());
    hosts.iter().take(MOST_SOCKETS).find_map(|host| {
        let (netns, socket) = listening(root, own, &spaces, *host)?;
        let pid = holder(root, spaces.get(&netns)?, socket)?;
        let program = program(root, pid, &mut ReadPass::default())?;
        Some(Serving { pid, program, netns, own_network: netns != own })
    })
}

/// The inode in `net:[4026531840]`.
pub(crate) fn namespace(root: &Root, process: &str) -> Option<u64> {
    bracketed(&std::fs::read_link(root.0.join(format!("proc/{process}/ns/net"))).ok()?, "net:[")
}

pub(crate) fn bracketed(link: &std::path::Path, before: &str) -> Option<u64> {
    link.to_str()?.strip_prefix(before)?.strip_suffix(']')?.parse().ok()
}

/// The namespace and the inode of the socket that listens at an address.
fn listening(root: &Root, own: u64, spaces: &BTreeMap<u64, Vec<u32>>, host: SocketAddr) -> Option<(u64, u64)> {
    let address = host.ip().to_canonical();
    let process_socket = |inode: u64, process: &str| Some((inode, socket_at(root, process, address, host.port())?));
    if address.is_loopback() || has_address(root, "self", address) {
        return process_socket(own, "self");
    }
    let others = spaces.iter().filter(|(inode, _)| **inode != own).filter_map(|(inode, pids)| {
        let process = pids.first()?.to_string();
        has_address(root, &process, address).then_some((*inode, process))
    });
    let mut found = others.filter_map(|(inode, process)| process_socket(inode, &process));
    let only = found.next()?;
    found.next().is_none().then_some(only)
}

/// The inode of the socket that listens at an address, or at every address, in the namespace of a process.
fn socket_at(root: &Root, process: &str, address: IpAddr, port: u16) -> Option<u64> {
    let mut everywhere = None;
    for file in ["tcp", "tcp6"] {
        let Ok(file) = File::open(root.0.join(format!("proc/{process}/net/{file}"))) else { continue };
        let mut lines = BufReader::new(file);
        let mut line = String::new();
        for number in 0..=MOST_SOCKETS {
            line.clear();
            if !matches!(lines.by_ref().take(LONGEST_LINE_BYTES).read_line(&mut line), Ok(1..)) {
                break;
            }
            let Some((at, is_listening, inode)) = parse_socket(&line) else {
                // The first line is a heading.
                if number == 0 { continue } else { break }
            };
            if !is_listening {
                break;
            }
            let own = at.ip().to_canonical();
            if at.port() == port && own == address {
                return Some(inode);
            }
            // A server of IPv6 that listens everywhere takes IPv4 too, but not the other way round.
            if at.port() == port && own.is_unspecified() && (own.is_ipv6() || address.is_ipv4()) {
                everywhere = everywhere.or(Some(inode));
            }
        }
    }
    everywhere
}

/// The local address, whether it listens, and the inode: columns 2, 4 and 10.
fn parse_socket(line: &str) -> Option<(SocketAddr, bool, u64)> {
    let columns: Vec<&str> = line.split_whitespace().take(10).collect();
    let (address, port) = columns.get(1)?.split_once(':')?;
    let at = SocketAddr::new(parse_address(address)?, u16::from_str_radix(port, 16).ok()?);
    Some((at, *columns.get(3)? == LISTENING, columns.get(9)?.parse().ok()?))
}

/// Addresses are printed as numbers of 32 bits in the memory order of the machine.
pub(crate) fn parse_address(hex: &str) -> Option<IpAddr> {
    let word = |at: usize| Some(u32::from_str_radix(hex.get(at..at + 8)?, 16).ok()?.to_ne_bytes());
    match hex.len() {
        8 => Some(Ipv4Addr::from(word(0)?).into()),
        32 => {
            let words = [word(0)?, word(8)?, word(16)?, word(24)?];
            let bytes: [u8; 16] = words.concat().try_into().ok()?;
            Some(Ipv6Addr::from(bytes).into())
        }
        _ => None,
    }
}

/// Whether packets to an address arrive in the namespace of a process.
fn has_address(root: &Root, process: &str, address: IpAddr) -> bool {
    let mut bytes = Vec::new();
    match address {
        IpAddr::V4(address) => {
            let table = text(root, &format!("proc/{process}/net/fib_trie"), &mut bytes);
            table.is_ok_and(|table| is_local(&table, address))
        }
        IpAddr::V6(address) => {
            let table = text(root, &format!("proc/{process}/net/if_inet6"), &mut bytes);
            let hex: String = address.octets().iter().map(|byte| format!("{byte:02x}")).collect();
            table.is_ok_and(|table| table.lines().any(|line| line.split(' ').next() == Some(hex.as_str())))
        }
    }
}

/// Whether a table of routes has the address as the machine's own: a line `|-- 10.0.0.1` and below it
/// `/32 host LOCAL`.
fn is_local(table: &str, address: Ipv4Addr) -> bool {
    let mut at: Option<Ipv4Addr> = None;
    table.lines().any(|line| {
        let line = line.trim_start();
        if let Some(leaf) = line.strip_prefix("|-- ") {
            at = leaf.trim_end().parse().ok();
            return false;
        }
        let mut words = line.split_whitespace();
        let prefix =
            words.next().and_then(|word| word.strip_prefix('/')?.parse::<u32>().ok()).filter(|bits| *bits <= 32);
        let (Some(at), Some(bits), true) = (at, prefix, words.any(|word| word == "LOCAL")) else { return false };
        let mask = u32::MAX.checked_shl(32 - bits).unwrap_or(0);
        at.to_bits() & mask == address.to_bits() & mask
    })
}

/// The process that has the socket open.
fn holder(root: &Root, pids: &[u32], socket: u64) -> Option<u32> {
    let mut opener = None;
    for pid in pids {
        let Ok(files) = std::fs::read_dir(root.0.join(format!("proc/{pid}/fd"))) else { continue };
        let link = |entry: std::fs::DirEntry| bracketed(&std::fs::read_link(entry.path()).ok()?, "socket:[");
        if files.flatten().take(MOST_FILES).filter_map(link).any(|inode| inode == socket) {
            let is_systemds =
                text(root, &format!("proc/{pid}/comm"), &mut Vec::new()).is_ok_and(|comm| comm.trim() == "systemd");
            if !is_systemds {
                return Some(*pid);
            }
            opener = opener.or(Some(*pid));
        }
    }
    opener
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::fs;
    use std::os::unix::fs::symlink;
    use std::path::Path;

    const OWN: &str = "net:[1]";

    /// A process with sockets of these inodes; its namespace's lists are its own files here.
    fn process(root: &Path, pid: &str, comm: &str, net: &str, sockets: &[u64]) {
        let folder = root.join("proc").join(pid);
        for part in ["ns", "fd", "net"] {
            fs::create_dir_all(folder.join(part)).unwrap();
        }
        fs::write(folder.join("comm"), format!("{comm}\n")).unwrap();
        fs::write(folder.join("cmdline"), format!("{comm}\0")).unwrap();
        symlink(net, folder.join("ns/net")).unwrap();
        symlink("/dev/null", folder.join("fd/0")).unwrap();
        for (number, inode) in sockets.iter().enumerate() {
            symlink(format!("socket:[{inode}]"), folder.join(format!("fd/{}", number + 3))).unwrap();
        }
    }

    fn network(root: &Path, pid: &str, addresses: &[&str], sockets: &[(&str, u16, &str, u64)]) {
        let folder = root.join("proc").join(pid).join("net");
        let trie: String = addresses.iter().map(|a| format!("     |-- {a}\n        /32 host LOCAL\n")).collect();
        fs::write(folder.join("fib_trie"), format!("Local:\n  +-- 0.0.0.0/0 3 0 5\n{trie}")).unwrap();
        let mut text = "  sl  local_address rem_address   st tx_queue\n".to_owned();
        for (address, port, state, inode) in sockets {
            let ip: Ipv4Addr = address.parse().unwrap();
            let hex = u32::from_ne_bytes(ip.octets());
            text +=
                &format!("   0: {hex:08X}:{port:04X} 00000000:0000 {state} 0:0 00:0 0     0        0 {inode} 1 x\n");
        }
        fs::write(folder.join("tcp"), text).unwrap();
    }

    fn machine() -> tempfile::TempDir {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path();
        process(root, "self", "linerate", OWN, &[]);
        process(root, "1", "systemd", OWN, &[100]);
        process(root, "7", "minio", OWN, &[100, 101]);
        process(root, "8", "linerate", OWN, &[]);
        process(root, "20", "pause", "net:[2]", &[]);
        process(root, "21", "rustfs", "net:[2]", &[200]);
        process(root, "30", "minio", "net:[3]", &[300]);
        process(root, "31", "minio", "net:[4]", &[400]);
        let own = [("0.0.0.0", 9000, "0A", 100), ("192.0.2.1", 9001, "0A", 101), ("192.0.2.1", 9002, "01", 102)];
        for pid in ["self", "1", "7", "8"] {
            network(root, pid, &["192.0.2.1"], &own);
        }
        for pid in ["20", "21"] {
            network(root, pid, &["10.0.0.1"], &[("0.0.0.0", 9000, "0A", 200)]);
        }
        network(root, "30", &["10.0.0.9"], &[("10.0.0.9", 9000, "0A", 300)]);
        network(root, "31", &["10.0.0.9"], &[("0.0.0.0", 9000, "0A", 400)]);
        dir
    }

    #[test]
    fn the_process_behind_an_address_is_found_in_any_namespace() {
        let dir = machine();
        let root = Root::captured(dir.path());
        let cases = [
            ("192.0.2.1:9000", Some((7, "minio", 1, false))),
            ("127.0.0.1:9000", Some((7, "minio", 1, false))),
            ("[::ffff:192.0.2.1]:9001", Some((7, "minio", 1, false))),
            ("127.0.0.1:9001", None),
            ("192.0.2.1:9002", None),
            ("10.0.0.1:9000", Some((21, "rustfs", 2, true))),
            ("10.0.0.1:9001", None),
            // Two namespaces have it.
            ("10.0.0.9:9000", None),
            ("203.0.113.1:9000", None),
            ("[2001:db8::1]:9000", None),
        ];
        for (host, expected) in cases {
            let found = serving(&root, &[host.parse().unwrap()]);
            let reported =
                found.as_ref().map(|found| (found.pid, found.program.as_str(), found.netns, found.own_network));
            assert_eq!(reported, expected, "{host}");
        }
        let both = ["203.0.113.1:9000".parse().unwrap(), "10.0.0.1:9000".parse().unwrap()];
        assert_eq!(serving(&root, &both).map(|found| found.pid), Some(21), "the first that is here");
        assert_eq!(serving(&Root::captured("/none"), &both), None);
    }

    #[test]
    fn a_list_of_connections_is_not_read_to_its_end() {
        let dir = machine();
        let sockets = [("192.0.2.1", 5, "01", 9), ("192.0.2.1", 9001, "0A", 101)];
        network(dir.path(), "self", &["192.0.2.1"], &sockets);
        assert_eq!(serving(&Root::captured(dir.path()), &["192.0.2.1:9001".parse().unwrap()]), None);
    }

    #[test]
    fn addresses_are_read_in_the_order_of_memory_and_prefixes_hold_what_is_in_them() {
        let one = format!("{:08X}", u32::from_ne_bytes([127, 0, 0, 1]));
        assert_eq!(parse_address(&one), Some(Ipv4Addr::LOCALHOST.into()));
        let six = format!("{}{:08X}", "0".repeat(24), u32::from_ne_bytes([0, 0, 0, 1]));
        assert_eq!(parse_address(&six), Some(Ipv6Addr::LOCALHOST.into()));
        let table = "  |-- 10.1.0.0\n     /16 host LOCAL\n  |-- 10.2.0.0\n     /24 link UNICAST\n";
        for (address, expected) in [("10.1.9.9", true), ("10.2.0.1", false), ("10.0.0.0", false)] {
            assert_eq!(is_local(table, address.parse().unwrap()), expected, "{address}");
        }
    }

    proptest! {
        #[test]
        fn no_text_panics(
            socket in "( *[0-9]: [0-9A-F]{7,33}:[0-9A-F]{4} ){0,2}|(?s).*",
            table in "(  .-- [0-9.]{1,9}\n */[0-9]{1,3} host LOCAL\n){0,3}|(?s).*",
        ) {
            parse_socket(&socket);
            is_local(&table, Ipv4Addr::LOCALHOST);
        }
    }
}
