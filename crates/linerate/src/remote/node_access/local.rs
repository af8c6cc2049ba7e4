//! Agents on this machine: here, in a namespace, or wherever a command of the user's leads.

use std::io;
use std::process::Command;

use linerate_record::fleet::Allowed;

/// This program, whatever became of its file meanwhile.
const THIS_PROGRAM: &str = "/proc/self/exe";

pub(super) fn here(allow: Allowed) -> Command {
    let mut command = Command::new(THIS_PROGRAM);
    command.args(["agent", "--allow", allow.name()]);
    command
}

/// In the namespaces of a process.
pub(super) fn pid(pid: u32, allow: Allowed) -> Command {
    let mut command = here(allow);
    command.args(["--pid", &pid.to_string()]);
    command
}

/// In a network namespace by its name, with the sysfs that belongs to it: iproute2 does both.
pub(super) fn netns(name: &str, allow: Allowed) -> io::Result<Command> {
    let mut command = Command::new("ip");
    command.args(["netns", "exec", name]).arg(std::env::current_exe()?).args(["agent", "--allow", allow.name()]);
    Ok(command)
}

/// A command of the user's, as a shell takes it.
pub(super) fn exec(text: &str) -> Command {
    let mut command = Command::new("/bin/sh");
    command.args(["-c", text]);
    command
}
