//! S3 servers among the processes of a machine.

use std::io;
use std::path::PathBuf;

use linerate_record::knob::EngineProcess;

use crate::root::{ReadPass, Root, names, note, text};

/// Programs that serve S3, as `comm` names them: no more than 15 characters.
const PROGRAMS: [&str; 4] = ["minio", "rustfs", "radosgw", "garage"];

/// What stands behind a gateway of Ceph, beside the programs that serve S3 themselves.
pub(crate) const OBJECT_STORE: &str = "ceph-osd";

/// The servers that run, and the processes that were named.
pub(super) fn engines(root: &Root, pids: &[u32], pass: &mut ReadPass) -> Vec<EngineProcess> {
    let mut all: Vec<u32> = names(root, "proc").iter().filter_map(|name| name.parse().ok()).collect();
    all.sort_unstable();
    let mut found: Vec<EngineProcess> = Vec::new();
    for pid in all {
        let Some(program) = program(root, pid, pass) else { continue };
        if PROGRAMS.contains(&program.as_str()) || pids.contains(&pid) {
            found.push(EngineProcess { pid, own_network: own_network(root, pid, pass), program });
        }
    }
    for pid in pids.iter().filter(|pid| !found.iter().any(|engine| engine.pid == **pid)) {
        note(pass, &format!("proc/{pid}"), "there is no such process");
    }
    found
}

/// The program's name: of a server started by a wrapper of another name, that of its first argument's file.
pub(crate) fn program(root: &Root, pid: u32, pass: &mut ReadPass) -> Option<String> {
    let comm = text(root, &format!("proc/{pid}/comm"), &mut pass.bytes).ok()?.trim().to_owned();
    if PROGRAMS.contains(&comm.as_str()) {
        return Some(comm);
    }
    let line = text(root, &format!("proc/{pid}/cmdline"), &mut pass.bytes).ok()?;
    let first = line.split('\0').next().unwrap_or_default();
    let file = first.rsplit('/').next().unwrap_or_default();
    Some(if PROGRAMS.contains(&file) { file.to_owned() } else { comm })
}

/// Whether a process is an S3 server, by its program's name.
pub(crate) fn is_engine(root: &Root, pid: u32, pass: &mut ReadPass) -> bool {
    program(root, pid, pass).is_some_and(|program| PROGRAMS.contains(&program.as_str()))
}

/// Whether a process is in another network namespace than this one; taken not to be where that cannot be told.
fn own_network(root: &Root, pid: u32, pass: &mut ReadPass) -> bool {
    match (namespace(root, "self"), namespace(root, &pid.to_string())) {
        (Ok(ours), Ok(theirs)) => ours != theirs,
        (Err(_), Ok(_)) => false,
        (_, Err(error)) => {
            let why = match error.kind() {
                io::ErrorKind::PermissionDenied => "not permitted: run it as root to see the server's namespaces",
                _ => "it has ended, or the folder has no namespaces",
            };
            note(pass, &format!("proc/{pid}/ns/net"), why);
            false
        }
    }
}

/// The engine's processes, sorted: those that were named, and where none was, those found by their programs' names, as
/// [`of_own_node`] has them.
pub(crate) fn engine_pids(root: &Root, named: &[u32], pass: &mut ReadPass) -> Vec<u32> {
    let mut pids: Vec<u32> = match named.is_empty() {
        true => names(root, "proc").iter().filter_map(|name| name.parse().ok()).collect(),
        false => named.to_vec(),
    };
    pids.sort_unstable();
    if !named.is_empty() {
        return pids;
    }
    let serves = |program: String| PROGRAMS.contains(&program.as_str()) || program == OBJECT_STORE;
    pids.retain(|pid| program(root, *pid, pass).is_some_and(serves));
    of_own_node(root, pids)
}

/// Of processes, those in the network namespace of this one, unless that is the machine's own: who is put into the
/// namespace of a node reads what is that node's. Where it is not known whose it is, all of them if none is in it.
fn of_own_node(root: &Root, pids: Vec<u32>) -> Vec<u32> {
    let own = namespace(root, "self").ok();
    // Where that of the first process may not be read, this one is in a container, or in a node's namespace.
    let first = namespace(root, "1").ok();
    if own.is_none() || first == own {
        return pids;
    }
    let is_here = |pid: &&u32| namespace(root, &pid.to_string()).ok() == own;
    let here: Vec<u32> = pids.iter().filter(is_here).copied().collect();
    if here.is_empty() && first.is_none() { pids } else { here }
}

fn namespace(root: &Root, process: &str) -> io::Result<PathBuf> {
    std::fs::read_link(root.0.join(format!("proc/{process}/ns/net")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::symlink;

    fn process(root: &std::path::Path, pid: &str, comm: &str, cmdline: &str, net: Option<&str>) {
        let folder = root.join("proc").join(pid);
        fs::create_dir_all(folder.join("ns")).unwrap();
        fs::write(folder.join("comm"), format!("{comm}\n")).unwrap();
        fs::write(folder.join("cmdline"), cmdline).unwrap();
        if let Some(net) = net {
            symlink(net, folder.join("ns/net")).unwrap();
        }
    }

    #[test]
    fn an_agent_within_the_namespace_of_a_node_takes_that_nodes_servers_alone() {
        let pids = |first: &str, seven: &str| {
            let folder = tempfile::tempdir().unwrap();
            for (pid, net) in [("self", "net:[2]"), ("1", first), ("7", seven), ("8", "net:[3]")] {
                process(folder.path(), pid, "minio", "minio\0server", Some(net).filter(|net| !net.is_empty()));
            }
            of_own_node(&Root::captured(folder.path()), vec![7, 8])
        };
        assert_eq!(pids("net:[1]", "net:[2]"), [7]);
        assert_eq!(pids("", "net:[2]"), [7], "it may not be read");
        assert_eq!(pids("net:[1]", "net:[4]"), [0_u32; 0], "none is here");
        assert_eq!(pids("", "net:[4]"), [7, 8], "none is here, and it may be the machine's own namespace");
        assert_eq!(pids("net:[2]", "net:[2]"), [7, 8], "this is the machine's own");
    }

    #[test]
    fn servers_are_found_by_their_names_and_told_whether_their_network_is_their_own() {
        let folder = tempfile::tempdir().unwrap();
        process(folder.path(), "self", "linerate", "linerate\0audit", Some("net:[1]"));
        process(folder.path(), "7", "minio", "minio\0server\0/data", Some("net:[2]"));
        process(folder.path(), "9", "exe", "/opt/bin/rustfs\0/data", Some("net:[1]"));
        process(folder.path(), "11", "bash", "bash\0-c\0minio server", Some("net:[2]"));
        process(folder.path(), "12", "s3d", "s3d", None);
        let mut pass = ReadPass::default();
        let found = engines(&Root::captured(folder.path()), &[12, 99], &mut pass);
        let reported: Vec<(u32, &str, bool)> =
            found.iter().map(|engine| (engine.pid, engine.program.as_str(), engine.own_network)).collect();
        assert_eq!(reported, [(7, "minio", true), (9, "rustfs", false), (12, "s3d", false)]);
        let missing: Vec<String> = pass.unreadable.iter().map(|part| part.path.clone()).collect();
        assert_eq!(missing, ["proc/12/ns/net", "proc/99"]);
    }
}
