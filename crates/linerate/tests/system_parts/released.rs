//! What `make dist` built: a static binary that needs nothing beside itself, as in an image made from nothing.

use std::fs;
use std::os::unix::fs::chown;
use std::path::{Path, PathBuf};
use std::process::Command;

use libtest_mimic::Failed;
use tempfile::tempdir;

use crate::running::{files_below, shown};

/// The user of the Dockerfile.
const USER: u32 = 65_532;

/// Whether the test of it is asked for, as `make test-dist` does: it takes a toolchain from beyond the registries.
pub(crate) fn is_requested_for() -> bool {
    std::env::var_os("LINERATE_DIST").is_some()
}

/// The binary for this machine, where it was built.
pub(crate) fn binary() -> Option<PathBuf> {
    let architecture = if cfg!(target_arch = "aarch64") { "arm64" } else { "amd64" };
    let dist = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../dist");
    Some(dist.join(format!("linerate-{architecture}"))).filter(|path| path.is_file())
}

pub(crate) fn alone_in_an_empty_root() -> Result<(), Failed> {
    let binary = binary().ok_or("make dist was not run")?;
    assert!(!names_an_interpreter(&fs::read(&binary)?), "{} is linked to shared libraries", binary.display());
    let folder = tempdir()?;
    let root = folder.path().join("root");
    for name in ["proc", "tmp", "runs"] {
        fs::create_dir_all(root.join(name))?;
        chown(root.join(name), Some(USER), Some(USER))?;
    }
    fs::copy(&binary, root.join("linerate"))?;
    // A container has /proc. Here it is mounted in a namespace of its own, which ends with the command.
    let script = "mount -t proc proc \"$1/proc\" && root=$1 && shift && exec chroot --userspec=65532:65532 \"$root\" \
                  /linerate \"$@\"";
    let flags = "bench --op get,put --obj.size 10000 --concurrent 2 --duration 300ms --warmup 100ms --verify \
                 --output /runs/one";
    let mut command = Command::new("unshare");
    command.args(["--mount", "sh", "-c", script, "sh"]).arg(&root).args(flags.split_whitespace());
    let output = command.env_clear().env("PATH", "/usr/sbin:/usr/bin:/sbin:/bin").output()?;
    assert!(output.status.success(), "{}", shown(&output));
    let left = files_below(&root);
    let report = "runs/one/report.html".to_owned();
    assert!(left.contains(&report), "{left:?}");
    assert!(left.iter().all(|file| file == "linerate" || file.starts_with("runs/one/")), "{left:?}");
    Ok(())
}

/// Beside each binary stands what it is made of, and the checksums are of both.
pub(crate) fn reported_by_their_parts() -> Result<(), Failed> {
    let binary = binary().ok_or("make dist was not run")?;
    let (dist, version) = (binary.parent().ok_or("it is in a folder")?, env!("CARGO_PKG_VERSION"));
    let sums = fs::read_to_string(dist.join(format!("linerate-{version}-sha256sums")))?;
    let mut reported = 0;
    for architecture in ["amd64", "arm64"] {
        let name = format!("linerate-{version}-linux-{architecture}");
        if !dist.join(&name).exists() {
            continue;
        }
        reported += 1;
        let parts = format!("{name}.cdx.json");
        let bom: serde_json::Value = serde_json::from_slice(&fs::read(dist.join(&parts))?)?;
        assert_eq!((bom["bomFormat"].as_str(), bom["specVersion"].as_str()), (Some("CycloneDX"), Some("1.5")));
        let own = format!("pkg:cargo/linerate@{version}");
        assert_eq!(bom["metadata"]["component"]["purl"].as_str(), Some(own.as_str()), "{parts}");
        assert!(bom["components"].as_array().is_some_and(|all| all.len() > 100), "{parts}");
        for name in [name, parts] {
            assert!(sums.lines().any(|line| line.ends_with(&format!(" {name}"))), "{name}: {sums}");
        }
    }
    assert!(reported > 0, "no binary in {}", dist.display());
    let mut check = Command::new("sha256sum");
    let output = check.args(["--check", "--strict"]).arg(format!("linerate-{version}-sha256sums")).current_dir(dist);
    let output = output.output()?;
    assert!(output.status.success(), "{}", shown(&output));
    Ok(())
}

/// Whether a 64-bit little-endian ELF file asks for a dynamic loader.
fn names_an_interpreter(elf: &[u8]) -> bool {
    const PT_INTERP: u64 = 3;
    assert_eq!(&elf[..6], b"\x7fELF\x02\x01", "a binary of this machine's kind");
    let number = |at: usize, bytes: usize| elf[at..at + bytes].iter().rev().fold(0, |n, &b| n << 8 | u64::from(b));
    let (table, size, entries) = (number(32, 8), number(54, 2), number(56, 2));
    let kinds = (0..entries).map(|i| number(usize::try_from(table + i * size).expect("small"), 4));
    kinds.into_iter().any(|kind| kind == PT_INTERP)
}
