//! Agents by the system's OpenSSH, with its configuration, keys and known hosts.
//!
//! A script there looks for this very program in the user's cache, by its SHA-256; where it is not, it asks for it on
//! the same stream. What it verified it executes by the same descriptor, so that nobody can put another in its place.

use std::process::{Command, ExitStatus};

use linerate_fleet::reach::SshPlace;
use linerate_record::fleet::{Allowed, UnreachedNode};

/// What each line of the script begins with, before the agent speaks.
pub(super) const SAID: &str = "linerate: ";

/// The program that is run there.
#[derive(Debug)]
pub(super) struct Program {
    pub(super) bytes: Vec<u8>,
    pub(super) sha256: String,
}

/// Where the cache of a user is, for the script.
const FOLDER: &str = "\"${XDG_CACHE_HOME:-$HOME/.cache}/linerate/agents\"";

/// A command that runs a script on a host.
pub(super) fn command(place: &SshPlace, script: &str) -> Command {
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
    // In single quotes every shell takes it as one word: it holds none itself.
    command.arg("--").arg(&place.host).arg(format!("exec sh -c '{script}'"));
    command
}

/// Runs the agent from the cache, where it is put first if need be.
pub(super) fn agent_script(program: &Program, allow: Allowed) -> String {
    let (sha256, size, arch) = (&program.sha256, program.bytes.len(), std::env::consts::ARCH);
    format!(
        r#"umask 077
say() {{ echo "{SAID}$1"; }}
m=$(uname -m)
[ "$m" = {arch} ] || {{ say "machine $m"; exit 0; }}
d={FOLDER}
f="$d/{sha256}"
mkdir -p "$d" && [ ! -L "$d" ] && [ -O "$d" ] && chmod 700 "$d" || {{ say unkept; exit 0; }}
s=
if [ -r "$f" ]; then exec 9<"$f"; [ -O /proc/self/fd/9 ] && s=$(sha256sum <&9); fi
if [ "${{s%% *}}" != {sha256} ]; then
  say want
  set -C
  head -c {size} >"$f.$$" && chmod 700 "$f.$$" || {{ rm -f "$f.$$"; say unkept; exit 0; }}
  exec 9<"$f.$$"
  s=$(sha256sum <&9)
  [ "${{s%% *}}" = {sha256} ] || {{ rm -f "$f.$$"; say broken; exit 0; }}
  mv -f "$f.$$" "$f" || {{ rm -f "$f.$$"; say unkept; exit 0; }}
fi
say ready
exec /proc/self/fd/9 agent --allow {}"#,
        allow.name()
    )
}

/// Removes what [`agent_script`] left in the cache.
pub(super) fn cleaning_script() -> String {
    format!("rm -rf {FOLDER} && echo \"{SAID}removed\"")
}

/// Whether a server may have dropped the connection because too many came at once (sshd's `MaxStartups`).
pub(super) fn is_dropped(errors: &str) -> bool {
    let lower = errors.to_lowercase();
    let is_in = |part: &&str| lower.contains(*part);
    // One that takes connections and says nothing does not do better when it is asked again.
    !lower.contains("timed out")
        && ["kex_exchange_identification", "ssh_exchange_identification", "connection reset by"].iter().any(is_in)
}

/// What of OpenSSH's words means what, and what to do: the first that fits.
const FAULTS: [(&str, &str, &str); 16] = [
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
        "ssh here accepts no type of its host keys",
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
        "set XDG_CACHE_HOME there, or use reach: exec:ssh HOST /PATH/linerate agent",
    ),
];

/// Why a start by SSH came to nothing, from what OpenSSH and the script said.
pub(super) fn fault(errors: &str, status: Option<ExitStatus>, fallback: &str) -> UnreachedNode {
    let lower = errors.to_lowercase();
    let last = errors.lines().rfind(|line| !line.trim().is_empty()).unwrap_or_default().trim().to_owned();
    if let Some((_, why, remedy)) = FAULTS.iter().find(|(part, ..)| lower.contains(part)) {
        return UnreachedNode { why: format!("{why}: {last}"), remedy: (*remedy).to_owned() };
    }
    let (why, remedy) = match status.and_then(|status| status.code()) {
        Some(126) => (
            "its cache cannot hold programs",
            "it may be mounted noexec: set XDG_CACHE_HOME there, or use reach: exec:ssh HOST /PATH/linerate agent",
        ),
        Some(127) => (
            "a command was not found there",
            "it needs sh, uname, head, sha256sum, and the libraries of this linerate; make dist builds a static one",
        ),
        _ => (fallback, "run ssh to it by hand, and read its errors"),
    };
    let why = if last.is_empty() { why.to_owned() } else { format!("{why}: {last}") };
    UnreachedNode { why, remedy: remedy.to_owned() }
}

/// What a word of the script means that ends it.
pub(super) fn said(word: &str, errors: &str) -> UnreachedNode {
    let arch = std::env::consts::ARCH;
    match word.split_once(' ') {
        Some(("machine", theirs)) => UnreachedNode {
            why: format!("its architecture is {theirs}, and this linerate is for {arch}"),
            remedy: format!("put a linerate for {theirs} there, and use reach: exec:ssh HOST /PATH/linerate agent"),
        },
        _ if word == "unkept" => fault(errors, None, "linerate could not be written to the user's cache there"),
        _ if word == "broken" => fault(errors, None, "the copy of linerate has the wrong SHA-256"),
        _ => fault(errors, None, "the start script gave an unknown answer"),
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::process::ExitStatusExt as _;

    use super::*;

    fn place(user: Option<&str>, host: &str, port: Option<u16>) -> SshPlace {
        SshPlace { user: user.map(str::to_owned), host: host.to_owned(), port }
    }

    #[test]
    fn ssh_never_asks_and_takes_no_name_for_a_flag() {
        let command = command(&place(Some("admin"), "node07", Some(2222)), "true");
        let args: Vec<_> = command.get_args().map(|arg| arg.to_string_lossy().into_owned()).collect();
        let line = args.join(" ");
        for part in
            ["BatchMode=yes", "ConnectTimeout=10", "ServerAliveInterval=1", "-l admin -p 2222 -- node07 exec sh"]
        {
            assert!(line.contains(part), "{part}: {line}");
        }
    }

    #[test]
    fn scripts_fit_single_quotes() {
        let program = Program { bytes: vec![0; 10], sha256: "ab".repeat(32) };
        for script in [agent_script(&program, Allowed::Load), cleaning_script()] {
            assert!(!script.contains('\''), "{script}");
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
            let fault = fault(errors, Some(ExitStatus::from_raw(code << 8)), "the agent ended");
            assert!(fault.why.contains(part) && !fault.remedy.is_empty(), "{errors}: {fault:?}");
        }
        assert!(said("machine aarch64", "").why.contains("its architecture is aarch64"));
        assert!(said("unkept", "mkdir: x: No space left on device").why.contains("disk is full"));
    }
}
