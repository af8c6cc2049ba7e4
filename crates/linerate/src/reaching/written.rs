//! Who may have written a fleet file: one that has commands run is acted upon.

use std::fs::File;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use linerate_fleet::description::FleetNode;
use linerate_fleet::reach::NodeReach;
use linerate_record::shell;

use crate::failure::Failure;
use crate::own;

/// Files that the user's shell has opened, such as for `<(…)`: what they are is the user's word, as a flag is.
const OF_SHELL: [&str; 3] = ["/dev/stdin", "/dev/fd", "/proc/self/fd"];

/// Whether nodes have commands run, on this machine or with other rights on a node.
pub(super) fn runs_commands(nodes: &[FleetNode]) -> bool {
    nodes.iter().any(|node| match &node.reach {
        NodeReach::Exec(_) => true,
        NodeReach::Ssh(place) => place.become_by.is_some(),
        _ => false,
    })
}

/// Refuses a fleet file that others can write to, or can put another in the place of.
pub(super) fn require_own(path: &Path, file: &File) -> Result<(), Failure> {
    if OF_SHELL.iter().any(|begin| path.starts_with(begin)) {
        return Ok(());
    }
    let failed = |source| Failure::File { what: "read", path: path.to_owned(), source };
    let metadata = file.metadata().map_err(failed)?;
    let (shown, uid) = (path.display(), metadata.uid());
    if uid != 0 && uid != rustix::process::geteuid().as_raw() {
        return Err(Failure::usage(format!(
            "{shown} belongs to another user (uid {uid}), and this command would act on its contents: read it, then \
             make your own copy with cp"
        )));
    }
    if is_open(metadata.mode(), uid, metadata.gid()) {
        return Err(Failure::usage(format!(
            "others can write to {shown}, and this command would act on its contents: read it, then chmod go-w {}",
            shell::path(path)
        )));
    }
    own::require_way(path).map_err(|error| error.into_failure(failed))
}

/// Whether more than the owner can write to a file. A user's own group, of the same number, has nobody else in it:
/// where that is usual, files are made so that it can write to them.
const fn is_open(mode: u32, uid: u32, gid: u32) -> bool {
    mode & 0o002 != 0 || (mode & 0o020 != 0 && gid != 0 && gid != uid)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_open_to_others_and_to_groups_that_are_not_the_users_own() {
        for (mode, uid, gid, expected) in [
            (0o644, 1000, 1000, false),
            (0o600, 1000, 50, false),
            (0o664, 1000, 1000, false),
            (0o664, 0, 0, false),
            (0o664, 1000, 50, true),
            (0o660, 0, 50, true),
            (0o646, 1000, 1000, true),
            (0o666, 0, 0, true),
        ] {
            assert_eq!(is_open(mode, uid, gid), expected, "{mode:o} {uid} {gid}");
        }
    }

    #[test]
    fn commands_are_those_of_exec_and_of_become() {
        for (node, expected) in [
            ("reach: 'exec:linerate agent'", true),
            ("reach: 'ssh://n1', become: sudo -n", true),
            ("reach: 'ssh://n1'", false),
            ("reach: here", false),
            ("reach: 'kube://ns/pod'", false),
        ] {
            let text = format!("nodes: [{{name: b, role: client, reach: here}}, {{name: a, role: client, {node}}}]");
            let nodes = linerate_fleet::description::read(&text, "f").unwrap();
            assert_eq!(runs_commands(&nodes), expected, "{node}");
        }
    }
}
