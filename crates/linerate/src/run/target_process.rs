//! A target in a process of its own: its processor time is told apart, and it ends when linerate does.

use std::ffi::OsString;
use std::io::{BufRead as _, BufReader};
use std::net::SocketAddr;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use linerate_load::sigv4::Credentials;
use linerate_record::load::{Choice as _, OwnTarget};
use linerate_wire::tls::{Trust, certificates_in_pem};

use crate::terminal::failure::Failure;
use crate::terminal::key_masks::NET_TOKEN_VARIABLE;

/// How variables begin that hold keys, or lead to them: those of warp, AWS's tools and mc, and the token of `net`.
const KEY_VARIABLE_PREFIXES: [&str; 4] = ["WARP_", "AWS_", "MC_", NET_TOKEN_VARIABLE];

/// A target that linerate started. Dropping it closes its standard input, upon which it cleans up and ends.
pub(crate) struct TargetProcess {
    child: Child,
    pub(crate) address: SocketAddr,
    /// Whom to believe, where it speaks TLS.
    pub(crate) trust: Option<Trust>,
}

impl TargetProcess {
    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }
}

impl Drop for TargetProcess {
    fn drop(&mut self) {
        drop(self.child.stdin.take());
        // It ends by itself; only a target that hangs would keep us here, and then Ctrl-C ends both.
        let _ = self.child.wait();
    }
}

/// Starts a target on a free port of 127.0.0.1, with or without TLS.
pub(crate) fn start(
    kind: OwnTarget,
    drive: Option<&Path>,
    credentials: Option<&Credentials>,
    tls: bool,
) -> Result<TargetProcess, Failure> {
    let name = kind.name();
    let failed = |why: String| Failure::Child { kind: name, why };
    let program = std::env::current_exe().map_err(|e| failed(e.to_string()))?;
    let mut command = Command::new(program);
    command.args(["target", name, "--listen", "127.0.0.1:0"]);
    if let Some(drive) = drive {
        command.arg("--drive").arg(drive);
    }
    if tls {
        command.arg("--tls");
    }
    remove_keys_from_environment(&mut command, std::env::vars_os().map(|(name, _)| name));
    if let Some(credentials) = credentials {
        command.env("AWS_ACCESS_KEY_ID", &credentials.access_key);
        command.env("AWS_SECRET_ACCESS_KEY", credentials.secret_key.reveal());
    }
    // Ctrl-C on a terminal goes to the whole foreground group; the target must outlive it, for cleaning up.
    command.process_group(0).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::inherit());
    let mut child = command.spawn().map_err(|e| failed(e.to_string()))?;
    match read_announcement(&mut child, tls) {
        Ok((address, trust)) => Ok(TargetProcess { child, address, trust }),
        Err(why) => {
            let _ = child.kill();
            let _ = child.wait();
            Err(failed(why))
        }
    }
}

/// Takes everything out of a child's environment that may hold a key or lead to one: it is given those that it is to
/// take, and the null target needs none.
pub(crate) fn remove_keys_from_environment(command: &mut Command, names: impl Iterator<Item = OsString>) {
    for name in names {
        if KEY_VARIABLE_PREFIXES.iter().any(|begin| name.as_encoded_bytes().starts_with(begin.as_bytes())) {
            command.env_remove(name);
        }
    }
}

/// What a target says first: its address and, with TLS, where its authority's certificate is.
fn read_announcement(child: &mut Child, tls: bool) -> Result<(SocketAddr, Option<Trust>), String> {
    let silent = || "it ended before it listened; its output is above".to_owned();
    let mut out = BufReader::new(child.stdout.take().ok_or_else(silent)?);
    let mut next = |word: &str| {
        let mut line = String::new();
        let _ = out.read_line(&mut line);
        line.trim_end().strip_prefix(word).map(str::to_owned).ok_or_else(silent)
    };
    let address = next("listening ")?.parse().map_err(|_| silent())?;
    if !tls {
        return Ok((address, None));
    }
    let path = next("ca ")?;
    let pem = std::fs::read(&path).map_err(|error| format!("failed to read {path}: {error}"))?;
    Ok((address, Some(Trust::Roots(certificates_in_pem(&pem)?))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_child_is_left_no_key_of_the_user() {
        let keys =
            ["AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AWS_PROFILE", "WARP_SECRET_KEY"];
        let names =
            || keys.into_iter().chain(["MC_HOST_alias", "LINERATE_NET_TOKEN", "PATH", "HOME"]).map(OsString::from);
        let mut command = Command::new("true");
        remove_keys_from_environment(&mut command, names());
        let removed: Vec<_> = command.get_envs().map(|(name, value)| (name.to_owned(), value.is_none())).collect();
        assert_eq!(removed.len(), 7, "{removed:?}");
        assert!(removed.iter().all(|(name, gone)| *gone && name != "PATH" && name != "HOME"), "{removed:?}");
    }
}
