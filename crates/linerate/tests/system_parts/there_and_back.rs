//! Every setting that can be changed is changed and rolled back, and everything that can be read is compared: on this
//! kernel in a network namespace and with a disk of its own, and on Debian's in a virtual machine.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use libtest_mimic::Failed;
use linerate_host::setting::{Changeable, changeable};
use linerate_record::knob::{Locator, Scope};
use linerate_settings::knobs::KNOBS;
use tempfile::tempdir;

use super::booted::kernel_and_modules;
use crate::running::{linerate, shown};

/// Here it takes less than a minute; in the virtual machine, emulated, 279 s on two processors that others used too.
const SECONDS_MAX: u32 = 1200;
/// Cases here, and in the virtual machine, where there are more settings and devices. Kernels differ in their
/// schedulers, of which each is changed to each other.
const CASES_MIN: usize = 25;
const CASES_BOOTED_MIN: usize = 50;

/// What there_and_back.sh is told of the catalogue.
fn knobs() -> String {
    let mut text = String::new();
    for knob in KNOBS.iter().map(|row| row.knob) {
        if knob.owned_by.is_some() || changeable(&knob.locator) != Changeable::Yes {
            continue;
        }
        let (place, path) = match knob.locator {
            Locator::Sysctl { name } if knob.scope == Scope::NetworkNamespace => ("namespace", name.replace('.', "/")),
            Locator::Sysctl { name } => ("machine", name.replace('.', "/")),
            Locator::Sysfs { path } => {
                let class = path.split_once('{').and_then(|(_, rest)| rest.split_once('}'));
                (class.map_or("machine", |(class, _)| class), path.to_owned())
            }
            Locator::Mtu => ("nic", "mtu".to_owned()),
            Locator::Offload { .. } => ("nic", "offload".to_owned()),
            Locator::Ring { .. } => ("nic", "ring".to_owned()),
            Locator::Channels => ("nic", "channels".to_owned()),
            _ => continue,
        };
        let _ = writeln!(text, "{} {place} {path}", knob.id);
    }
    text
}

pub(super) fn parts() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/system_parts")
}

pub(crate) fn on_this_kernel() -> Result<(), Failed> {
    let folder = tempdir()?;
    let list = folder.path().join("knobs");
    std::fs::write(&list, knobs())?;
    let work = folder.path().join("work");
    std::fs::create_dir(&work)?;
    let mut command = bounded(SECONDS_MAX);
    command.arg(parts().join("there_and_back.sh")).arg(list).arg(work);
    command.arg(format!("lrtb{}", std::process::id() % 10_000));
    // It calls linerate by its name.
    let own = linerate();
    let folder = Path::new(own.get_program()).parent().ok_or("a folder")?;
    let path = std::env::var("PATH")?;
    command.env("PATH", format!("{}:{path}", folder.display()));
    judged(&mut command, CASES_MIN)
}

pub(crate) fn on_another_kernel() -> Result<(), Failed> {
    let (kernel, modules) = kernel_and_modules()?;
    let folder = tempdir()?;
    let (build, more) = (folder.path().join("build"), folder.path().join("more"));
    std::fs::create_dir(&build)?;
    std::fs::create_dir(&more)?;
    std::fs::write(more.join("knobs"), knobs())?;
    for script in [".sh", "_volatile.sh", "_values.awk", "_machine.sh"].map(|end| format!("there_and_back{end}")) {
        std::fs::copy(parts().join(&script), more.join(&script))?;
    }
    let mut command = bounded(SECONDS_MAX);
    command.arg(parts().join("booted.sh")).arg(kernel);
    command.arg(linerate().get_program()).arg(parts().join("there_and_back_booted.sh")).args([build, modules, more]);
    judged(&mut command, CASES_BOOTED_MIN)
}

/// A shell that is ended when it takes too long.
pub(super) fn bounded(seconds_max: u32) -> Command {
    let mut command = Command::new("timeout");
    command.args(["--kill-after=5", &seconds_max.to_string(), "sh"]);
    command
}

/// Whether all cases are fine, and there were some.
pub(super) fn judged(command: &mut Command, least: usize) -> Result<(), Failed> {
    let output = command.stdin(Stdio::null()).output()?;
    let text = shown(&output);
    // What `timeout` says of what it ended, and had to kill.
    if matches!(output.status.code(), None | Some(124 | 137)) {
        let last = text.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or("nothing");
        let why = format!("it did not end in time, and said last: {last:?}\n{text}");
        return Err(why.into());
    }
    let reported: Vec<&str> = text.lines().filter_map(|line| line.trim_end().strip_prefix("CASE ")).collect();
    let (fine, others): (Vec<&str>, Vec<&str>) = reported.iter().partition(|line| line.starts_with("ok "));
    let is_whole = fine.len() >= least && others == ["done with 0 failures"];
    assert!(is_whole && output.status.success(), "{} of {least} cases: {others:#?}\n{text}", fine.len());
    println!("{}", reported.join("\n"));
    Ok(())
}
