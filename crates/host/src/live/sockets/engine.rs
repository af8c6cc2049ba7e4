//! Whose sockets: the processes of the engine, the network namespaces that they are in, and their ports.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::os::unix::fs::MetadataExt as _;

use linerate_record::readings::PortRange;
use rustix::net::AddressFamily;

use super::dump::{Diagnosis, open_here};
use super::request::{LISTENING, joined};
use crate::root::{Pass, Root, names, note};
use crate::setting::within_process;
use crate::snapshot::{is_engine, of_own_node, program};

/// Most network namespaces, and most files of one process, that are looked at. Sockets that listen are among a server's
/// first.
const SPACES_MAX: usize = 64;
const FILES_MAX: usize = 16_384;

/// Serves other engines' programs and no S3.
const OBJECT_STORE: &str = "ceph-osd";

const fn ports(first: u16, last: u16) -> PortRange {
    PortRange { first, last }
}

/// Ports of `ms_bind_port_min` and `ms_bind_port_max` of Ceph.
const OF_OBJECT_STORES: PortRange = ports(6800, 7568);

/// Where a program listens unless it is told otherwise, for those whose sockets cannot be told to be theirs.
const DEFAULTS: [(&str, &[PortRange]); 5] = [
    ("minio", &[ports(9000, 9000)]),
    ("rustfs", &[ports(9000, 9000)]),
    ("radosgw", &[ports(80, 80), ports(443, 443), ports(7480, 7480), ports(8000, 8000)]),
    ("garage", &[ports(3900, 3901)]),
    (OBJECT_STORE, &[OF_OBJECT_STORES]),
];

/// A process of the engine.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Process {
    pid: u32,
    program: String,
    /// The inode of its network namespace; none of this process's own.
    space: Option<u64>,
}

/// The network namespaces in which there are sockets of the engine, each with a way to ask for them.
pub(super) struct Spaces {
    pub(super) opened: Vec<Diagnosis>,
    pub(super) ports: Vec<PortRange>,
}

/// Finds them. Without processes, this process's own namespace is looked at where ports are named.
pub(super) fn spaces(root: &Root, pids: &[u32], asked: &[PortRange], pass: &mut Pass) -> Spaces {
    let processes = processes(root, pids, pass);
    if processes.is_empty() && asked.is_empty() {
        note(pass, "proc", "no S3 engine is found whose sockets could be read: name its processes or its ports");
        return Spaces { opened: Vec::new(), ports: Vec::new() };
    }
    let mut by_space: BTreeMap<Option<u64>, Vec<&Process>> = BTreeMap::new();
    for process in &processes {
        by_space.entry(process.space).or_default().push(process);
    }
    if by_space.is_empty() {
        by_space.insert(None, Vec::new());
    }
    if by_space.len() > SPACES_MAX {
        let reason =
            format!("processes of the engine are in {} network namespaces: {SPACES_MAX} are read", by_space.len());
        note(pass, "proc", reason);
    }
    let (mut opened, mut ports) = (Vec::new(), asked.to_vec());
    let mut is_own_read = false;
    for (space, processes) in by_space.iter().take(SPACES_MAX) {
        let diagnosis = match enter(*space, processes, pass) {
            Some(diagnosis) => Some(diagnosis),
            // Some of the engine's connections may pass here: of a proxy to it, or of a client.
            None if !is_own_read && !by_space.contains_key(&None) => {
                enter(None, &[], pass).inspect(|_| is_own_read = true)
            }
            None => None,
        };
        let mut diagnosis = diagnosis;
        if asked.is_empty() {
            ports.extend(ports_of(root, processes, diagnosis.as_mut().filter(|_| !is_own_read)));
        }
        opened.extend(diagnosis);
    }
    Spaces { opened, ports: joined(&ports) }
}

/// Opens a socket of netlink there.
fn enter(space: Option<u64>, processes: &[&Process], pass: &mut Pass) -> Option<Diagnosis> {
    let Some(first) = processes.first().filter(|_| space.is_some()) else {
        return open_here().map_err(|error| note(pass, "sock_diag", error.to_string())).ok();
    };
    let entered = within_process(first.pid, open_here);
    let denied = |error: io::Error| {
        let reason = match error.kind() {
            io::ErrorKind::PermissionDenied => format!(
                "not permitted: entering the network namespace of {} needs root (CAP_SYS_ADMIN and CAP_SYS_PTRACE)",
                first.program
            ),
            _ => error.to_string(),
        };
        note(pass, &format!("proc/{}/ns/net", first.pid), reason);
    };
    entered.map_err(denied).ok()
}

/// The engine's processes: those found by their names, and those that were named.
fn processes(root: &Root, pids: &[u32], pass: &mut Pass) -> Vec<Process> {
    let mut all: Vec<u32> = names(root, "proc").iter().filter_map(|name| name.parse().ok()).collect();
    all.sort_unstable();
    let own = network(root, "self");
    let mut found = Vec::new();
    for pid in all {
        let Some(program) = program(root, pid, pass) else { continue };
        if program == OBJECT_STORE || is_engine(root, pid, pass) || pids.contains(&pid) {
            let space = match network(root, &pid.to_string()) {
                Ok(space) => Some(space).filter(|space| own.as_ref().ok() != Some(space)),
                // Anybody may see that it is the same; where it is not, that it may not be entered is told then.
                Err(_) if node(root, "self").is_some_and(|own| node(root, &pid.to_string()) == Some(own)) => None,
                Err(_) => Some(u64::MAX - u64::from(pid)),
            };
            found.push(Process { pid, program, space });
        }
    }
    let own = of_own_node(root, found.iter().map(|process| process.pid).collect());
    found.retain(|process| own.contains(&process.pid) || pids.contains(&process.pid));
    for pid in pids.iter().filter(|pid| !found.iter().any(|process| process.pid == **pid)) {
        note(pass, &format!("proc/{pid}"), "there is no such process");
    }
    found
}

/// The inode in `net:[4026531840]`.
fn network(root: &Root, process: &str) -> io::Result<u64> {
    let link = std::fs::read_link(root.0.join(format!("proc/{process}/ns/net")))?;
    bracketed(&link, "net:[").ok_or_else(|| io::Error::from(io::ErrorKind::InvalidData))
}

/// The inode of a file of which each network namespace has its own.
fn node(root: &Root, process: &str) -> Option<u64> {
    std::fs::metadata(root.0.join(format!("proc/{process}/net/dev"))).ok().map(|metadata| metadata.ino())
}

fn bracketed(link: &std::path::Path, before: &str) -> Option<u64> {
    link.to_str()?.strip_prefix(before)?.strip_suffix(']')?.parse().ok()
}

/// The ports at which processes listen in their namespace; those of their programs where that is not to be seen.
fn ports_of(root: &Root, processes: &[&Process], diagnosis: Option<&mut Diagnosis>) -> Vec<PortRange> {
    let mut listening: BTreeMap<u32, u16> = BTreeMap::new();
    if let Some(diagnosis) = diagnosis {
        for family in [AddressFamily::INET, AddressFamily::INET6] {
            let _ = diagnosis.dump((family, LISTENING, &[]), &mut |socket| {
                listening.insert(socket.inode, socket.local.1);
            });
        }
    }
    let mut all = Vec::new();
    for process in processes {
        let own: BTreeSet<u16> =
            sockets(root, process.pid).iter().filter_map(|inode| listening.get(inode)).copied().collect();
        all.extend(own.iter().map(|port| ports(*port, *port)));
        let is_known = |known: &&(&str, &[PortRange])| known.0 == process.program;
        if let Some((_, defaults)) = DEFAULTS.iter().find(is_known).filter(|_| own.is_empty()) {
            all.extend(*defaults);
        }
        // A gateway asks object stores, wherever it listens itself.
        all.extend((process.program == "radosgw").then_some(OF_OBJECT_STORES));
    }
    all
}

/// The inodes of the sockets that a process has open; none where that may not be seen.
fn sockets(root: &Root, pid: u32) -> Vec<u32> {
    let files = std::fs::read_dir(root.0.join(format!("proc/{pid}/fd"))).into_iter().flatten().flatten();
    let inode = |file: std::fs::DirEntry| bracketed(&std::fs::read_link(file.path()).ok()?, "socket:[");
    files.take(FILES_MAX).filter_map(inode).filter_map(|inode| u32::try_from(inode).ok()).collect()
}
