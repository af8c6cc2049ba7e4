//! Whose sockets: the processes of the engine, the network namespaces that they are in, and their ports.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::os::unix::fs::MetadataExt as _;

use linerate_record::readings::{PORTS_MAX, PortRange};
use rustix::net::AddressFamily;

use super::netlink_dump::{SockDiag, open_here};
use super::request::{LISTENING, joined};
use crate::root::{ReadPass, Root, note};
use crate::setting::within_process;
use crate::snapshot::{OBJECT_STORE, engine_pids, program};

/// Most network namespaces, and most files of one process, that are looked at. Sockets that listen are among a server's
/// first.
const SPACES_MAX: usize = 64;
const FILES_MAX: usize = 16_384;

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

/// This thread among processes.
const OWN: &str = "thread-self";

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
    pub(super) opened: Vec<SockDiag>,
    pub(super) ports: Vec<PortRange>,
}

/// Finds them. Without processes, this process's own namespace is looked at where ports are named.
pub(super) fn spaces(root: &Root, pids: &[u32], requested: &[PortRange], pass: &mut ReadPass) -> Spaces {
    let processes = processes(root, pids, pass);
    let mut by_space: BTreeMap<Option<u64>, Vec<&Process>> = BTreeMap::new();
    for process in &processes {
        by_space.entry(process.space).or_default().push(process);
    }
    if by_space.len() > SPACES_MAX {
        let reason = format!("the engine is in {} network namespaces: {SPACES_MAX} are read", by_space.len());
        note(pass, "proc", reason);
    }
    let (mut opened, mut ports) = (Vec::new(), requested.to_vec());
    for (space, processes) in by_space.iter().take(SPACES_MAX) {
        let mut diagnosis = enter(*space, processes, pass);
        if requested.is_empty() {
            ports.extend(ports_of(root, processes, diagnosis.as_mut(), pass));
        }
        opened.extend(diagnosis);
    }
    if opened.len() < by_space.len().clamp(1, SPACES_MAX) && !by_space.contains_key(&None) {
        // Some of the engine's connections may pass here: of a proxy to it, or of a client.
        opened.extend(enter(None, &[], pass));
    }
    let mut ports = joined(&ports);
    if ports.is_empty() {
        opened.clear();
        note(pass, "proc", "no S3 engine is found whose ports are known: name its processes or its ports");
    }
    if ports.len() > PORTS_MAX {
        note(pass, "sock_diag", format!("{} ranges of ports: the first {PORTS_MAX} are read", ports.len()));
        ports.truncate(PORTS_MAX);
    }
    Spaces { opened, ports }
}

/// Opens a socket of netlink there.
fn enter(space: Option<u64>, processes: &[&Process], pass: &mut ReadPass) -> Option<SockDiag> {
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

/// The engine's processes: those that were named, and where none was, those found by their programs' names. On a
/// machine with several nodes, each in a namespace of its own, only who asks knows which are of this one.
fn processes(root: &Root, pids: &[u32], pass: &mut ReadPass) -> Vec<Process> {
    // That of this thread, in which it opens sockets: it may be another than the process's.
    let own = network(root, OWN);
    let mut found = Vec::new();
    for pid in engine_pids(root, pids, pass) {
        let Some(program) = program(root, pid, pass) else { continue };
        let space = match network(root, &pid.to_string()) {
            Ok(space) => Some(space).filter(|space| own.as_ref().ok() != Some(space)),
            // Anybody may see that it is the same; where it is not, that it may not be entered is told then.
            Err(_) if node(root, OWN).is_some_and(|own| node(root, &pid.to_string()) == Some(own)) => None,
            Err(_) => Some(u64::MAX - u64::from(pid)),
        };
        found.push(Process { pid, program, space });
    }
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
fn ports_of(
    root: &Root,
    processes: &[&Process],
    diagnosis: Option<&mut SockDiag>,
    pass: &mut ReadPass,
) -> Vec<PortRange> {
    let mut listening: BTreeMap<u32, u16> = BTreeMap::new();
    if let Some(diagnosis) = diagnosis {
        for family in [AddressFamily::INET, AddressFamily::INET6] {
            let _ = diagnosis.dump(family, LISTENING, &[], &mut |socket| {
                listening.insert(socket.inode, socket.local.1);
            });
        }
    }
    let mut all = Vec::new();
    for process in processes {
        let sockets = sockets(root, process.pid).unwrap_or_else(|error| {
            let reason = format!("{error}: its ports are taken to be those of every {}", process.program);
            note(pass, &format!("proc/{}/fd", process.pid), reason);
            Vec::new()
        });
        let own: BTreeSet<u16> = sockets.iter().filter_map(|inode| listening.get(inode)).copied().collect();
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

/// The inodes of the sockets that a process has open.
fn sockets(root: &Root, pid: u32) -> io::Result<Vec<u32>> {
    let files = std::fs::read_dir(root.0.join(format!("proc/{pid}/fd")))?.flatten();
    let inode = |file: std::fs::DirEntry| bracketed(&std::fs::read_link(file.path()).ok()?, "socket:[");
    Ok(files.take(FILES_MAX).filter_map(inode).filter_map(|inode| u32::try_from(inode).ok()).collect())
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;

    fn process(root: &std::path::Path, pid: &str, comm: &str, net: &str) {
        let folder = root.join("proc").join(pid);
        fs::create_dir_all(folder.join("ns")).unwrap();
        fs::write(folder.join("comm"), format!("{comm}\n")).unwrap();
        fs::write(folder.join("cmdline"), format!("{comm}\0")).unwrap();
        symlink(net, folder.join("ns/net")).unwrap();
    }

    #[test]
    fn processes_of_the_engine_are_found_with_their_namespaces() {
        let folder = tempfile::tempdir().unwrap();
        for (pid, comm, net) in [
            (OWN, "linerate", "net:[1]"),
            ("7", "minio", "net:[2]"),
            ("8", "bash", "net:[2]"),
            ("9", "ceph-osd", "net:[1]"),
            ("12", "s3d", "net:[3]"),
        ] {
            process(folder.path(), pid, comm, net);
        }
        let mut pass = ReadPass::default();
        let root = Root::captured(folder.path());
        let mut reported = |pids: &[u32]| -> Vec<(u32, String, Option<u64>)> {
            let found = processes(&root, pids, &mut pass);
            found.into_iter().map(|one| (one.pid, one.program, one.space)).collect()
        };
        assert_eq!(reported(&[]), [(7, "minio".to_owned(), Some(2)), (9, "ceph-osd".to_owned(), None)]);
        assert_eq!(reported(&[12, 99]), [(12, "s3d".to_owned(), Some(3))]);
        let missing: Vec<String> = pass.unreadable.iter().map(ToString::to_string).collect();
        assert_eq!(missing, ["cannot read proc/99: there is no such process"]);
    }

    #[test]
    fn ports_that_cannot_be_seen_are_those_of_the_program() {
        let one = |program: &str| Process { pid: 1, program: program.to_owned(), space: None };
        let mut pass = ReadPass::default();
        for (program, expected) in [
            ("minio", &[ports(9000, 9000)][..]),
            ("garage", &[ports(3900, 3901)]),
            ("ceph-osd", &[OF_OBJECT_STORES]),
            ("radosgw", &[ports(80, 80), ports(443, 443), OF_OBJECT_STORES, ports(8000, 8000)]),
            ("s3d", &[]),
        ] {
            let found = ports_of(&Root::captured("/none"), &[&one(program)], None, &mut pass);
            assert_eq!(joined(&found), expected, "{program}");
        }
        assert!(pass.unreadable[0].to_string().contains("its ports are taken to be those of every minio"));
    }
}
