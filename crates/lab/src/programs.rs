//! Programs of the system that make a lab: each with a limit of time, and its words where it fails.

use std::ffi::OsStr;
use std::io::{Read as _, Write as _};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use crate::error::LabError;

/// None of them waits for anything but the kernel and a file system.
const TIME_MAX: Duration = Duration::from_secs(60);

/// How much of what a failing program says is repeated.
const WORDS_MAX: usize = 400;

/// Programs that every lab needs, and the packages that have them.
const NEEDED: [(&str, &str); 5] = [
    ("ip", "iproute2"),
    ("tc", "iproute2"),
    ("setsid", "util-linux"),
    ("setpriv", "util-linux"),
    ("nsenter", "util-linux"),
];

/// A program ends with who started it: what one made after its lab was removed would be left.
const WITH_PARENT: [&str; 3] = ["--pdeathsig", "KILL", "--"];

/// Programs that drives need.
const NEEDED_BY_DRIVES: [(&str, &str); 5] = [
    ("losetup", "mount"),
    ("mkfs.ext4", "e2fsprogs"),
    ("mkfs.xfs", "xfsprogs"),
    ("mount", "mount"),
    ("umount", "mount"),
];

/// # Errors
/// [`LabError::NotRoot`].
pub fn check_root() -> Result<(), LabError> {
    if rustix::process::geteuid().is_root() { Ok(()) } else { Err(LabError::NotRoot) }
}

/// # Errors
/// [`LabError::Missing`] with the first that is not here.
pub fn check_installed(program_path: &OsStr, with_drives: bool) -> Result<(), LabError> {
    let folders: Vec<&Path> =
        program_path.as_bytes().split(|byte| *byte == b':').map(OsStr::from_bytes).map(Path::new).collect();
    let is_here = |program: &str| folders.iter().any(|folder| folder.join(program).is_file());
    let of_drives = NEEDED_BY_DRIVES.iter().filter(|_| with_drives);
    match NEEDED.iter().chain(of_drives).find(|(program, _)| !is_here(program)) {
        Some((program, package)) => Err(LabError::Missing { program: (*program).to_owned(), package }),
        None => Ok(()),
    }
}

/// Whether a program is on this machine that only some labs need.
pub(crate) fn is_installed(program: &str) -> bool {
    run("sh", &["-c", "command -v \"$1\"", "sh", program]).is_ok()
}

/// Runs a program to its end; what it prints.
///
/// # Errors
/// [`LabError::Program`] where it cannot be started, takes too long or fails, with its words.
pub fn run(program: &str, arguments: &[&str]) -> Result<String, LabError> {
    run_with_input(program, arguments, "")
}

/// The same with its input.
///
/// # Errors
/// As [`run`].
pub fn run_with_input(program: &str, arguments: &[&str], input: &str) -> Result<String, LabError> {
    let command = [&[program], arguments].concat().join(" ");
    let failed = |why: String| LabError::Program { program: command.clone(), why };
    let mut child = Command::new("setpriv")
        .args(WITH_PARENT)
        .arg(program)
        .args(arguments)
        // Ctrl-C on a terminal is for who started it, who ends between two programs.
        .process_group(0)
        .env("LC_ALL", "C")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|error| failed(error.to_string()))?;
    if let Some(mut pipe) = child.stdin.take() {
        // One that ends early says why.
        let _ = pipe.write_all(input.as_bytes());
    }
    let output = wait(child).map_err(|error| failed(error.to_string()))?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    let words = String::from_utf8_lossy(&output.stderr);
    let words: String = words.trim().chars().take(WORDS_MAX).collect();
    Err(failed(if words.is_empty() { output.status.to_string() } else { words }))
}

/// Takes a command off the terminal and the pipes of who starts it.
pub(crate) fn detached(command: &mut Command) {
    command.env("LC_ALL", "C").stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
}

/// Waits for the end of a child, which is killed where it takes too long.
fn wait(mut child: Child) -> std::io::Result<Output> {
    let reader = |pipe: Option<Box<dyn std::io::Read + Send>>| {
        std::thread::spawn(move || {
            let mut bytes = Vec::new();
            if let Some(pipe) = pipe {
                let _ = pipe.take(1 << 20).read_to_end(&mut bytes);
            }
            bytes
        })
    };
    let stdout = reader(child.stdout.take().map(|pipe| Box::new(pipe) as Box<dyn std::io::Read + Send>));
    let stderr = reader(child.stderr.take().map(|pipe| Box::new(pipe) as Box<dyn std::io::Read + Send>));
    let begun = Instant::now();
    let status = loop {
        if let Some(status) = child.try_wait()? {
            break status;
        }
        if begun.elapsed() > TIME_MAX {
            child.kill()?;
            break child.wait()?;
        }
        std::thread::sleep(Duration::from_millis(2));
    };
    let joined = |thread: std::thread::JoinHandle<Vec<u8>>| thread.join().unwrap_or_default();
    Ok(Output { status, stdout: joined(stdout), stderr: joined(stderr) })
}

/// A path as a word of a command.
pub(crate) fn text(path: &Path) -> Result<&str, LabError> {
    path.to_str().ok_or_else(|| LabError::Damaged { path: path.to_owned(), why: "its path is not UTF-8".to_owned() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_that_fails_is_quoted_with_its_words() {
        assert_eq!(run("echo", &["a", "b"]).unwrap(), "a b\n");
        assert_eq!(run_with_input("cat", &[], "input").unwrap(), "input");
        let failed = run("sh", &["-c", "echo no such drive >&2; exit 3"]).unwrap_err().to_string();
        assert!(failed.contains("no such drive") && failed.starts_with("sh -c"), "{failed}");
        assert!(run("linerate-no-such-program", &[]).is_err());
        assert!(is_installed("sh") && !is_installed("linerate-no-such-program"));
    }
}
