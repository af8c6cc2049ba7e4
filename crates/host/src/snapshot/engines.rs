//! S3 servers among the processes of a machine.

use std::io;
use std::path::PathBuf;

use linerate_record::knob::EngineProcess;

use crate::root::{Pass, Root, names, note, text};

/// Programs that serve S3, as `comm` names them: no more than 15 characters.
const PROGRAMS: [&str; 4] = ["minio", "rustfs", "radosgw", "garage"];

/// The servers that run, and the processes that were named.
pub(super) fn engines(root: &Root, pids: &[u32], pass: &mut Pass) -> Vec<EngineProcess> {
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
pub(crate) fn program(root: &Root, pid: u32, pass: &mut Pass) -> Option<String> {
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
pub(crate) fn is_engine(root: &Root, pid: u32, pass: &mut Pass) -> bool {
    program(root, pid, pass).is_some_and(|program| PROGRAMS.contains(&program.as_str()))
}

/// Whether a process is in another network namespace than this one; taken not to be where that cannot be told.
fn own_network(root: &Root, pid: u32, pass: &mut Pass) -> bool {
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
    fn servers_are_found_by_their_names_and_told_whether_their_network_is_their_own() {
        let folder = tempfile::tempdir().unwrap();
        process(folder.path(), "self", "linerate", "linerate\0audit", Some("net:[1]"));
        process(folder.path(), "7", "minio", "minio\0server\0/data", Some("net:[2]"));
        process(folder.path(), "9", "exe", "/opt/bin/rustfs\0/data", Some("net:[1]"));
        process(folder.path(), "11", "bash", "bash\0-c\0minio server", Some("net:[2]"));
        process(folder.path(), "12", "s3d", "s3d", None);
        let mut pass = Pass::default();
        let found = engines(&Root::captured(folder.path()), &[12, 99], &mut pass);
        let reported: Vec<(u32, &str, bool)> =
            found.iter().map(|engine| (engine.pid, engine.program.as_str(), engine.own_network)).collect();
        assert_eq!(reported, [(7, "minio", true), (9, "rustfs", false), (12, "s3d", false)]);
        let missing: Vec<String> = pass.unreadable.iter().map(|part| part.path.clone()).collect();
        assert_eq!(missing, ["proc/12/ns/net", "proc/99"]);
    }
}
