//! A program as a transient unit of the machine's systemd, for a process that ends with a container: what systemd
//! starts is in the machine's namespaces and control groups, and in none of the container's.

use std::path::Path;

use crate::root::{self, Root};
use crate::watch::{done, systemd_run, systemd_runs_on, trial_arguments};

/// The name by which the first process of a machine calls itself where it is systemd.
const SYSTEMD: &str = "systemd";

/// Refuses a machine that systemd does not run: it would start nothing, and watch over nothing.
///
/// # Errors
/// What its first process is called.
pub fn require_systemd(machine: &Root) -> Result<(), String> {
    let mut bytes = Vec::new();
    let first = root::text(machine, "proc/1/comm", &mut bytes);
    let first = first.map_or_else(|error| error.to_string(), |name| name.trim().to_owned());
    if first == SYSTEMD && systemd_runs_on(machine) { Ok(()) } else { Err(first) }
}

/// Whether SELinux keeps services of a machine from what it does not know.
#[must_use]
pub fn enforces_selinux(machine: &Root) -> bool {
    root::text(machine, "sys/fs/selinux/enforce", &mut Vec::new()).is_ok_and(|text| text.trim() == "1")
}

/// Has systemd run a program once, with arguments that change nothing, and waits for its end: a folder that is mounted
/// `noexec`, libraries that are not there and rules of SELinux come to light here.
///
/// # Errors
/// What `systemd-run` says.
pub fn try_program(name: &str, program: &Path, arguments: &[&str]) -> Result<(), String> {
    done(&systemd_run(&trial_arguments(name), program, arguments)?)
}

/// Has systemd start a program as a service of its own, whose input and output is one connection to a socket, on which
/// the caller listens. What it says as errors is in the machine's journal. It may still fail when this returns: then
/// nothing connects.
///
/// # Errors
/// What `systemd-run` says, and where the socket's path is no text.
pub fn start(name: &str, program: &Path, arguments: &[&str], socket: &Path) -> Result<(), String> {
    let socket = socket.to_str().ok_or("the socket has a name that is not UTF-8")?;
    done(&systemd_run(&service_arguments(name, socket), program, arguments)?)
}

/// Whether a process is of a service, as its control group says. Older systemd puts one there only after it has
/// connected it.
#[must_use]
pub fn belongs_to_unit(machine: &Root, name: &str, process: u32) -> bool {
    let mut bytes = Vec::new();
    // Seen from a container, what is before the last part differs.
    let is_its = |line: &str| {
        line.strip_suffix(".service").and_then(|path| path.rsplit_once('/')).is_some_and(|(_, last)| last == name)
    };
    root::text(machine, &format!("proc/{process}/cgroup"), &mut bytes).is_ok_and(|text| text.lines().any(is_its))
}

/// A file that is a socket is connected to, once for both: `systemd.exec(5)`, since systemd 236. Unlike `--pipe`, that
/// needs no message bus, and no `systemd-run` that waits in the container. Errors would go the way of the output.
fn service_arguments(name: &str, socket: &str) -> Vec<String> {
    vec![
        "--quiet".to_owned(),
        "--collect".to_owned(),
        format!("--property=StandardInput=file:{socket}"),
        format!("--property=StandardOutput=file:{socket}"),
        "--property=StandardError=journal".to_owned(),
        "--unit".to_owned(),
        name.to_owned(),
        "--".to_owned(),
    ]
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn a_machine_is_systemds_where_its_first_process_is_and_says_so() {
        let folder = tempfile::tempdir().unwrap();
        let machine = Root::captured(folder.path());
        assert!(require_systemd(&machine).unwrap_err().contains("No such file"), "nothing is there");
        fs::create_dir_all(folder.path().join("proc/1")).unwrap();
        let is_called = |name: &str| fs::write(folder.path().join("proc/1/comm"), format!("{name}\n")).unwrap();
        is_called("systemd");
        assert_eq!(require_systemd(&machine), Err("systemd".to_owned()), "a container with the process of its host");
        fs::create_dir_all(folder.path().join("run/systemd/system")).unwrap();
        assert_eq!(require_systemd(&machine), Ok(()));
        is_called("machined");
        assert_eq!(require_systemd(&machine), Err("machined".to_owned()));
    }

    #[test]
    fn selinux_enforces_where_it_says_so() {
        let folder = tempfile::tempdir().unwrap();
        let machine = Root::captured(folder.path());
        assert!(!enforces_selinux(&machine));
        fs::create_dir_all(folder.path().join("sys/fs/selinux")).unwrap();
        for (text, enforces) in [("0", false), ("1", true)] {
            fs::write(folder.path().join("sys/fs/selinux/enforce"), text).unwrap();
            assert_eq!(enforces_selinux(&machine), enforces, "{text}");
        }
    }

    #[test]
    fn a_process_is_of_a_service_where_its_control_group_ends_with_it() {
        let folder = tempfile::tempdir().unwrap();
        let machine = Root::captured(folder.path());
        assert!(!belongs_to_unit(&machine, "linerate-agent-1", 7), "it has ended");
        fs::create_dir_all(folder.path().join("proc/7")).unwrap();
        for (groups, expected) in [
            ("0::/system.slice/linerate-agent-1.service", true),
            ("0::/../../../system.slice/linerate-agent-1.service", true),
            ("12:pids:/\n1:name=systemd:/system.slice/linerate-agent-1.service", true),
            ("0::/system.slice/linerate-agent-11.service", false),
            ("0::/system.slice/a-linerate-agent-1.service", false),
            ("0::/system.slice/linerate-agent-1.service/kubepods/a", false),
            ("0::/kubepods.slice/cri-containerd-1.scope", false),
            ("0::/init.scope", false),
        ] {
            fs::write(folder.path().join("proc/7/cgroup"), format!("{groups}\n")).unwrap();
            assert_eq!(belongs_to_unit(&machine, "linerate-agent-1", 7), expected, "{groups}");
        }
    }

    #[test]
    fn a_service_is_connected_once_and_its_errors_are_not_in_its_output() {
        let arguments = service_arguments("linerate-agent-1", "/run/linerate/a.sock").join(" ");
        for part in [
            "StandardInput=file:/run/linerate/a.sock ",
            "StandardOutput=file:/run/linerate/a.sock ",
            "StandardError=journal ",
            "--collect ",
        ] {
            assert!(arguments.contains(part), "{part}: {arguments}");
        }
        assert!(arguments.ends_with("--unit linerate-agent-1 --"), "{arguments}");
    }
}
