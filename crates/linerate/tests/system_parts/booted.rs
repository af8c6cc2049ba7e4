//! The watch of `linerate tune` as a timer of systemd: Debian's kernel boots in a virtual machine with this machine's
//! systemd in it, and nothing else of this machine.

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use libtest_mimic::Failed;
use tempfile::tempdir;

use crate::running::{linerate, shown};

/// Cases of `booted_cases.sh`.
const CASES: usize = 17;

/// It takes a little over a minute where nothing else runs: emulated, and most of it waiting. Waits are longer where an
/// application takes longer.
const SECONDS_MAX: &str = "900";

/// The kernel that `make test-system` has put there.
pub(crate) fn kernel() -> Option<PathBuf> {
    std::env::var_os("KERNEL").map(PathBuf::from).filter(|path| path.is_file())
}

/// The same with the folder of its modules.
pub(super) fn kernel_and_modules() -> Result<(PathBuf, PathBuf), Failed> {
    let kernel = kernel().ok_or("no kernel to boot: make test-system takes Debian's, or set KERNEL to a vmlinuz")?;
    let modules = kernel.with_file_name("modules");
    let modules = std::fs::read_dir(&modules)?.next().ok_or("no modules of the kernel next to it")??.path();
    Ok((kernel, modules))
}

/// What a script says that systemd runs in a virtual machine, and whether that ended well.
pub(super) fn run_by_systemd(script: &str) -> Result<Output, Failed> {
    let kernel = kernel().ok_or("no kernel to boot: make test-system takes Debian's, or set KERNEL to a vmlinuz")?;
    let parts = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/system_parts");
    let folder = tempdir()?;
    let mut command = Command::new("timeout");
    command.args(["--kill-after=5", SECONDS_MAX, "sh"]).arg(parts.join("booted.sh")).arg(kernel);
    command.arg(linerate().get_program()).arg(parts.join(script)).arg(folder.path());
    Ok(command.stdin(Stdio::null()).output()?)
}

pub(crate) fn watched_by_systemd() -> Result<(), Failed> {
    let output = run_by_systemd("booted_cases.sh")?;
    let text = shown(&output);
    let reported: Vec<&str> = text.lines().filter_map(|line| line.trim_end().strip_prefix("CASE ")).collect();
    let (fine, others): (Vec<&str>, Vec<&str>) = reported.iter().partition(|line| line.starts_with("ok "));
    let is_whole = fine.len() == CASES && others.len() == 1 && others[0].starts_with("done ");
    assert!(is_whole && output.status.success(), "{} of {CASES} cases: {others:#?}\n{text}", fine.len());
    println!("{}", reported.join("\n"));
    Ok(())
}
