//! Agents by the system's OpenSSH, with its configuration, keys and known hosts, and what is wrong where none speaks.

use std::process::{Command, ExitStatus};

use linerate_fleet::node_reach::SshTarget;
use linerate_fleet::ssh_options::BecomeCommand;
use linerate_record::fleet::UnreachedNode;

use super::agent_programs::{Program, how_to_build};
use super::process_end;
use super::ssh_script::READ_LINE_COMMAND;

/// A command that runs a script on a host, which is given to it as a line.
pub(super) fn ssh_command(place: &SshTarget) -> Command {
    let mut command = Command::new("ssh");
    command.args(["-T", "-x", "-a"]);
    // The ssh of a ProxyJump does not get BatchMode: what it would ask is answered by nobody.
    command.env("SSH_ASKPASS_REQUIRE", "force").env("SSH_ASKPASS", "/bin/false");
    for option in [
        "BatchMode=yes",
        "ConnectTimeout=10",
        "ConnectionAttempts=1",
        "ServerAliveInterval=1",
        "ServerAliveCountMax=3",
        // A connection of the user's may be used; one that is begun here would outlive what is run.
        "ControlMaster=no",
        "ClearAllForwardings=yes",
        "PermitLocalCommand=no",
        "RemoteCommand=none",
    ] {
        command.args(["-o", option]);
    }
    if let Some(user) = &place.user {
        command.args(["-l", user]);
    }
    if let Some(port) = place.port {
        command.args(["-p", &port.to_string()]);
    }
    command.arg("--").arg(&place.host).arg(READ_LINE_COMMAND);
    command
}

/// Whether a server may have dropped the connection because too many came at once (sshd's `MaxStartups`).
pub(super) fn is_connection_dropped(errors: &str) -> bool {
    let lower = errors.to_lowercase();
    let is_in = |part: &&str| lower.contains(*part);
    // One that takes connections and says nothing does not do better when it is asked again.
    !lower.contains("timed out")
        && ["kex_exchange_identification", "ssh_exchange_identification", "connection reset by"].iter().any(is_in)
}

/// What of OpenSSH's words means what, and what to do: the first that fits.
const SSH_FAULTS: [(&str, &str, &str); 16] = [
    (
        "remote host identification has changed",
        "its host key differs from the known one",
        "find out why it changed, then remove the old key: ssh-keygen -R HOST",
    ),
    (
        "host key verification failed",
        "its host key is not known",
        "log in once by ssh and compare the key, or add it to known_hosts",
    ),
    (
        "no matching host key type",
        "ssh here accepts none of its host key types",
        "see HostKeyAlgorithms of ssh_config(5)",
    ),
    (
        "permission denied (publickey)",
        "it refused the keys of this user",
        "add your public key to its authorized_keys, or name the user in reach: ssh://USER@HOST",
    ),
    ("permission denied (", "it asks for a password", "set up a key: ssh-copy-id HOST; or load it into ssh-agent"),
    (
        "too many authentication failures",
        "it refused the keys of this user",
        "name one key: IdentityFile of ssh_config(5)",
    ),
    ("could not resolve hostname", "its name does not resolve", "check the name, or write its address in reach"),
    ("connection refused", "nothing listens there", "check that sshd runs, and the port of reach"),
    ("no route to host", "there is no route to it", "check that it is up, and the network on the way"),
    ("network is unreachable", "there is no route to it", "check the network on the way"),
    ("timed out", "it did not answer in time", "check that it is up, and firewalls on the way"),
    ("kex_exchange_identification", "its sshd dropped every connection", "raise MaxStartups in sshd_config there"),
    ("ssh_exchange_identification", "its sshd dropped every connection", "raise MaxStartups in sshd_config there"),
    ("no space left on device", "its disk is full", "free space for linerate in the user's cache there"),
    ("disk quota exceeded", "the user's quota is used up", "free space for linerate in the user's cache there"),
    (
        "read-only file system",
        "the user's cache is on a read-only file system",
        "add cache: /FOLDER to the node in the fleet file, or set XDG_CACHE_HOME there",
    ),
];

/// What is to be done where programs do not run in a folder.
const OTHER_CACHE_REMEDY: &str = "add cache: /FOLDER to the node in the fleet file, with a folder that is not mounted \
                                  noexec, or use reach: exec:ssh HOST /PATH/linerate agent";

/// What of the words of sudo and doas means what, and what to do: the first that fits. The program of a command stands
/// for `BY`, and the whole of it for `ALL`.
const BECOME_FAULTS: [(&str, &str, &str); 12] = [
    // sudo says so too of users and commands that no line of sudoers names.
    ("a password is required", "ALL is not permitted to this user without a password", PERMIT_REMEDY),
    ("a terminal is required", "ALL asks for a password", PERMIT_REMEDY),
    ("incorrect password", "ALL asks for a password", PERMIT_REMEDY),
    ("authorization required", "ALL is not permitted to this user without a password", PERMIT_REMEDY),
    ("authentication required", "ALL is not permitted to this user without a password", PERMIT_REMEDY),
    ("is not in the sudoers file", "this user is not in the sudoers file there", PERMIT_REMEDY),
    ("is not allowed to", "ALL is not permitted to this user", PERMIT_REMEDY),
    ("operation not permitted", "ALL is not permitted to this user", PERMIT_REMEDY),
    ("must have a tty", "BY there requires a terminal", "drop requiretty from sudoers there, for this user at least"),
    (
        "have the setuid bit set",
        "BY cannot change rights there",
        "see whether it is mounted nosuid, and ls -l BY there",
    ),
    ("no new privileges", "BY cannot change rights there", "run sshd there without no_new_privs, as of a container"),
    ("effective uid is not 0", "BY cannot change rights there", "see whether it is mounted nosuid, and ls -l BY there"),
];

/// What to do about an agent of which OpenSSH says only that it ended badly.
const KILLED_REMEDY: &str = "look for \"Out of memory\" in dmesg there: the kernel kills a program if memory is short; \
                      otherwise somebody killed it, or its connection was cut";

/// How a user gets leave to run the program as somebody else.
const PERMIT_REMEDY: &str = "permit it there, in sudoers: USER ALL=(ALL) NOPASSWD: ALL; for one installed program \
                             alone, use reach: exec:ssh HOST ALL /PATH/linerate agent";

/// What is wrong with the command that gives an agent its rights, where that is it.
fn become_fault(by: &BecomeCommand, lower: &str) -> Option<(String, String)> {
    let filled = |text: &str| text.replace("ALL /PATH", &format!("{by} /PATH")).replace("BY", by.program());
    let known = BECOME_FAULTS.iter().find(|(part, ..)| lower.contains(part));
    if let Some((_, why, remedy)) = known {
        return Some((filled(&why.replace("ALL", &by.to_string())), filled(remedy)));
    }
    let is_reported = |line: &&str| line.contains("not found") || line.contains("permission denied");
    let line = lower.lines().rfind(is_reported)?;
    if line.contains("/proc/") {
        let fix = "its user has to read the folder of the program: add cache: /FOLDER to the node in the fleet file, \
                   with a folder on a disk of its own there";
        return Some((filled("BY cannot execute the program there"), fix.to_owned()));
    }
    let is_missing = line.contains("not found") && line.contains(&by.program().to_lowercase());
    let fix = "install it there, or write its whole path in become, such as /usr/local/bin/sudo -n";
    is_missing.then(|| (filled("there is no BY there"), fix.to_owned()))
}

fn last_line(errors: &str) -> String {
    errors.lines().rfind(|line| !line.trim().is_empty()).unwrap_or_default().trim().to_owned()
}

/// Why an agent ended that was started by SSH, from what OpenSSH, the script and what gives rights said.
pub(super) fn agent_fault(
    place: &SshTarget,
    errors: &str,
    status: Option<ExitStatus>,
    fallback: &str,
) -> UnreachedNode {
    let become_failure = place.become_by.as_ref().and_then(|by| become_fault(by, &errors.to_lowercase()));
    match become_failure {
        Some((why, remedy)) => UnreachedNode { why: format!("{why}: {}", last_line(errors)), remedy },
        // Of a program that a signal ended, OpenSSH says nothing; of a connection that was lost, it does.
        None if errors.trim().is_empty() && status.is_some_and(|status| status.code() == Some(255)) => {
            UnreachedNode { why: fallback.to_owned(), remedy: KILLED_REMEDY.to_owned() }
        }
        None => start_fault(errors, status, fallback),
    }
}

/// Why a start by SSH came to nothing, from what OpenSSH and the script said.
pub(super) fn start_fault(errors: &str, status: Option<ExitStatus>, fallback: &str) -> UnreachedNode {
    let (lower, last) = (errors.to_lowercase(), last_line(errors));
    if let Some((_, why, remedy)) = SSH_FAULTS.iter().find(|(part, ..)| lower.contains(part)) {
        return UnreachedNode { why: format!("{why}: {last}"), remedy: (*remedy).to_owned() };
    }
    let (why, remedy) = match status.and_then(|status| status.code()) {
        Some(126) => ("its cache cannot hold programs, or this one is not for it", OTHER_CACHE_REMEDY),
        Some(127) => (
            "a command was not found there",
            "it needs sh, uname, head, sha256sum, and the libraries of this linerate; make dist builds a static one",
        ),
        _ => match status.and_then(process_end::signal_of_status) {
            Some(signal) => (fallback, process_end::remedy_of_signal(signal, false)),
            None => (fallback, "run ssh to it by hand, and read its errors"),
        },
    };
    let why = if last.is_empty() { why.to_owned() } else { format!("{why}: {last}") };
    UnreachedNode { why, remedy: remedy.to_owned() }
}

/// What a word of the script means that ends it.
pub(super) fn script_message_failure(word: &str, errors: &str, programs: &[Program]) -> UnreachedNode {
    match word.split_once(' ') {
        Some(("machine", theirs)) => {
            let own: Vec<&str> = programs.iter().map(|program| program.machine.as_str()).collect();
            UnreachedNode {
                why: format!("its architecture is {theirs}, and this linerate is for {}", own.join(" and ")),
                remedy: format!("give the program for it: --binary {theirs}=PATH, such as {}", how_to_build(theirs)),
            }
        }
        Some(("noexec", folder)) => UnreachedNode {
            why: format!("no program may run in {folder}: it is mounted noexec"),
            remedy: OTHER_CACHE_REMEDY.to_owned(),
        },
        Some(("unkept", folder)) => {
            let mut fault = start_fault(errors, None, &format!("linerate could not be written to {folder} there"));
            if !SSH_FAULTS.iter().any(|(part, ..)| errors.to_lowercase().contains(part)) {
                "it has to be a folder of this user alone; cache: /FOLDER of the node in the fleet file names another"
                    .clone_into(&mut fault.remedy);
            }
            fault
        }
        Some(("uncleaned", folder)) => {
            let mut fault = start_fault(errors, None, &format!("linerate could not be removed from {folder} there"));
            "see whose that folder is, and remove it by hand".clone_into(&mut fault.remedy);
            fault
        }
        _ if word == "broken" => start_fault(errors, None, "the copy of linerate has the wrong SHA-256"),
        _ => start_fault(errors, None, "the start script gave an unknown answer"),
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::process::ExitStatusExt as _;

    use super::*;

    fn place(user: Option<&str>, host: &str, port: Option<u16>) -> SshTarget {
        let user = user.map(str::to_owned);
        SshTarget { user, host: host.to_owned(), port, become_by: None, cache: None }
    }

    #[test]
    fn ssh_never_asks_and_takes_no_name_for_a_flag() {
        let command = ssh_command(&place(Some("admin"), "node07", Some(2222)));
        let args: Vec<_> = command.get_args().map(|arg| arg.to_string_lossy().into_owned()).collect();
        let line = args.join(" ");
        for part in
            ["BatchMode=yes", "ConnectTimeout=10", "ServerAliveInterval=1", "-l admin -p 2222 -- node07 exec sh"]
        {
            assert!(line.contains(part), "{part}: {line}");
        }
    }

    #[test]
    fn each_failure_of_ssh_has_words_of_its_own() {
        for (errors, code, part) in [
            ("Host key verification failed.", 255, "host key is not known"),
            (
                "@ WARNING: REMOTE HOST IDENTIFICATION HAS CHANGED! @\nHost key verification failed.",
                255,
                "differs from the known one",
            ),
            ("a@h: Permission denied (publickey).", 255, "refused the keys"),
            ("a@h: Permission denied (publickey,password,keyboard-interactive).", 255, "asks for a password"),
            ("ssh: connect to host h port 22: Connection refused", 255, "nothing listens"),
            ("ssh: connect to host h port 22: Connection timed out", 255, "in time"),
            ("ssh: Could not resolve hostname h: Name or service not known", 255, "name does not resolve"),
            ("kex_exchange_identification: Connection closed by remote host", 255, "dropped every connection"),
            ("head: error writing 'standard output': No space left on device", 0, "disk is full"),
            ("sh: 22: exec: /proc/self/fd/9: Permission denied", 126, "cache cannot hold programs"),
            ("exec: sh: not found", 127, "was not found there"),
            ("something else", 255, "the agent ended: something else"),
        ] {
            let fault = start_fault(errors, Some(ExitStatus::from_raw(code << 8)), "the agent ended");
            assert!(fault.why.contains(part) && !fault.remedy.is_empty(), "{errors}: {fault:?}");
        }
        let programs = [Program { machine: "x86_64".to_owned(), bytes: Vec::new(), sha256: String::new() }];
        for (word, errors, why, remedy) in [
            (
                "machine aarch64",
                "",
                "architecture is aarch64, and this linerate is for x86_64",
                "--binary aarch64=PATH",
            ),
            ("machine mips64", "", "is mips64", "a linerate that was built for mips64"),
            ("unkept /a", "mkdir: x: No space left on device", "disk is full", "free space"),
            ("unkept /a", "mkdir: /a: Permission denied", "could not be written to /a there: mkdir", "cache: /FOLDER"),
            ("uncleaned /a", "", "could not be removed from /a there", "by hand"),
            ("noexec /a", "", "no program may run in /a: it is mounted noexec", "cache: /FOLDER"),
            ("broken", "", "wrong SHA-256", "by hand"),
            ("else", "", "unknown answer", "by hand"),
        ] {
            let reported = script_message_failure(word, errors, &programs);
            assert!(reported.why.contains(why) && reported.remedy.contains(remedy), "{word} {errors}: {reported:?}");
        }
    }

    #[test]
    fn an_agent_that_a_signal_ended_there_is_not_told_to_be_tried_by_hand() {
        for (errors, code, remedy) in [("", 255, "Out of memory"), ("", 137, "Out of memory"), ("", 139, "it crashed")]
        {
            let status = Some(ExitStatus::from_raw(code << 8));
            let fault = agent_fault(&place(None, "h", None), errors, status, "the agent ended");
            assert!(fault.remedy.contains(remedy), "{code}: {fault:?}");
        }
    }

    #[test]
    fn each_refusal_of_sudo_and_doas_has_words_of_its_own() {
        let mut sudo = place(None, "h", None);
        sudo.become_by = Some("sudo -n".parse().unwrap());
        let mut doas = sudo.clone();
        doas.become_by = Some("doas -n".parse().unwrap());
        for (place, errors, code, why, remedy) in [
            (&sudo, "sudo: a password is required", 1, "sudo -n is not permitted to this user without", "NOPASSWD"),
            (
                &sudo,
                "sudo: a terminal is required to read the password; either use the -S option\nsudo: no password",
                1,
                "sudo -n asks for a password",
                "NOPASSWD",
            ),
            (&sudo, "bob is not in the sudoers file.", 1, "this user is not in the sudoers file", "NOPASSWD"),
            (
                &sudo,
                "Sorry, user bob is not allowed to execute '/proc/7/fd/9 agent' as root on h.",
                1,
                "sudo -n is not permitted to this user: Sorry",
                "exec:ssh HOST sudo -n /PATH/linerate agent",
            ),
            (&sudo, "sudo: sorry, you must have a tty to run sudo", 1, "sudo there requires a terminal", "requiretty"),
            (
                &sudo,
                "sudo: /usr/bin/sudo must be owned by uid 0 and have the setuid bit set",
                1,
                "sudo cannot change rights there",
                "ls -l sudo",
            ),
            (&sudo, "sh: 1: sudo: not found", 127, "there is no sudo there: sh", "whole path in become"),
            (&sudo, "sudo: /proc/7/fd/9: command not found", 1, "sudo cannot execute the program", "cache: /FOLDER"),
            (&sudo, "sudo: unable to execute /proc/7/fd/9: Permission denied", 1, "cannot execute", "cache: /FOLDER"),
            (&sudo, "Connection to h closed by remote host.", 255, "the agent ended: Connection", "by hand"),
            (&doas, "doas: Authorization required", 1, "doas -n is not permitted", "exec:ssh HOST doas -n /PATH"),
            (&doas, "doas: Operation not permitted", 1, "doas -n is not permitted to this user", "NOPASSWD"),
            (&doas, "sh: doas: not found", 127, "there is no doas there", "install it"),
        ] {
            let fault = agent_fault(place, errors, Some(ExitStatus::from_raw(code << 8)), "the agent ended");
            assert!(fault.why.contains(why) && fault.remedy.contains(remedy), "{errors}: {fault:?}");
        }
    }
}
