//! Where a bench ran: machine, versions and command lines, without keys and places of this machine.

use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};

use super::programs::{Programs, output};

pub(super) fn describe() -> Value {
    json!({
        "uname": output("uname", &["-srvm"]).ok(),
        "cpu_model": field("/proc/cpuinfo", "model name"),
        "cpus": std::thread::available_parallelism().ok().map(usize::from),
        "memory": field("/proc/meminfo", "MemTotal"),
        "tcp_rmem": fs::read_to_string("/proc/sys/net/ipv4/tcp_rmem").ok().map(|text| text.trim().to_owned()),
        "tcp_wmem": fs::read_to_string("/proc/sys/net/ipv4/tcp_wmem").ok().map(|text| text.trim().to_owned()),
    })
}

pub(super) fn versions(programs: &Programs) -> Value {
    let version = |path: &Path| first_line(Command::new(path).arg("--version"));
    json!({
        "linerate": version(&programs.linerate),
        "commit": output("git", &["-C", &programs.root.display().to_string(), "describe", "--always", "--dirty"]).ok(),
        "minio": version(&programs.minio),
        // wrk knows no other way to say it, and takes that for an error.
        "wrk": programs.wrk.as_deref().and_then(|path| first_line(Command::new(path).arg("-v"))),
        "warp": programs.warp.as_deref().and_then(version),
        "openssl": programs.openssl.as_deref().and_then(|path| first_line(Command::new(path).arg("version"))),
        "rustc": first_line(Command::new("rustc").arg("--version")),
    })
}

/// A command as one would type it: programs by name, the scratch folder as `$SCRATCH`, environment left out.
pub(super) fn command_line(command: &Command, scratch: &Path) -> String {
    let name = Path::new(command.get_program()).file_name().unwrap_or_default().to_string_lossy().into_owned();
    let scratch = scratch.display().to_string();
    let args = command.get_args().map(|arg| arg.to_string_lossy().replace(&scratch, "$SCRATCH"));
    std::iter::once(name).chain(args).collect::<Vec<_>>().join(" ")
}

fn field(file: &str, name: &str) -> Option<String> {
    let text = fs::read_to_string(file).ok()?;
    let value = text.lines().find_map(|line| line.strip_prefix(name)?.trim_start().strip_prefix(':'))?;
    Some(value.trim().to_owned())
}

/// The first line that a command prints: mostly its version.
pub(super) fn first_line(command: &mut Command) -> Option<String> {
    let output = command.output().ok()?;
    let text = if output.stdout.is_empty() { output.stderr } else { output.stdout };
    String::from_utf8_lossy(&text).lines().next().map(|line| line.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_line_tells_neither_places_nor_keys() {
        let mut command = Command::new("/somewhere/bin/warp");
        command.args(["get", "--benchdata", "/tmp/x.1/warp"]).env("WARP_SECRET_KEY", "secret");
        assert_eq!(command_line(&command, Path::new("/tmp/x.1")), "warp get --benchdata $SCRATCH/warp");
    }
}
