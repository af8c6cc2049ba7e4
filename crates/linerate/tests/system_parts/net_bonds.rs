//! Two nodes with bonds in a virtual machine with Debian's kernel: whether each stream leaves by the member that the
//! kernel's hash says, over 1,000 streams for each way of a bond, and what is said while a member is lost and back.

use std::path::Path;
use std::process::{Command, Stdio};

use libtest_mimic::Failed;
use linerate_analysis::net::view::{NetArrival, NetLeaves, NetView};
use linerate_record::net::NetUnaimed;
use tempfile::tempdir;

use super::booted::kernel;
use crate::running::{linerate, shown};

/// Emulated, it takes some six minutes.
const SECONDS_MAX: &str = "1500";

/// Streams of each case, both ways together, at the least.
const STREAMS_LEAST: u32 = 1_000;

/// Cases of `net_bonds.sh`, and why no source port chooses a member there.
const CASES: [(&str, Option<NetUnaimed>); 6] = [
    ("lacp-2-layer3+4", None),
    ("lacp-2-layer2+3", Some(NetUnaimed::NoPorts)),
    ("xor-3-layer3+4", None),
    ("xor-2-layer2", Some(NetUnaimed::NoPorts)),
    ("backup-2", Some(NetUnaimed::StandBy)),
    ("lacp-3-layer3+4-lost", None),
];

pub(crate) fn predicted_is_carried() -> Result<(), Failed> {
    let kernel = kernel().ok_or("no kernel to boot: make test-system takes Debian's")?;
    let modules = kernel.with_file_name("modules");
    let modules = std::fs::read_dir(&modules)?.next().ok_or("no modules of the kernel beside it")??.path();
    let parts = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/system_parts");
    let (build, more) = (tempdir()?, tempdir()?);
    let mut command = Command::new("timeout");
    command.args(["--kill-after=5", SECONDS_MAX, "sh"]).arg(parts.join("booted.sh")).arg(kernel);
    command.arg(linerate().get_program()).arg(parts.join("net_bonds.sh"));
    command.args([build.path(), &modules, more.path()]);
    let output = command.stdin(Stdio::null()).output()?;
    let text = shown(&output);
    for (case, why) in CASES {
        // The console puts what it likes before a line.
        let line = text.lines().find_map(|line| Some(line.split_once(&format!("SAID {case} "))?.1));
        let line = line.ok_or_else(|| format!("nothing was said of {case}: {text}"))?;
        let view: NetView = serde_json::from_str(line.trim()).map_err(|error| format!("{case}: {error}: {line}"))?;
        check(case, why, &view)?;
    }
    Ok(())
}

fn check(case: &str, why: Option<NetUnaimed>, view: &NetView) -> Result<(), Failed> {
    let leaves: Vec<&NetLeaves> = view.members.iter().filter_map(|of| of.leaves.as_ref()).collect();
    let sum = |of: fn(&NetLeaves) -> u32| leaves.iter().map(|leaves| of(leaves)).sum::<u32>();
    let (streams, strayed, left_out) =
        (sum(|of| of.alone_streams), sum(|of| of.strayed_streams), sum(|of| of.left_out));
    let is_lost = case.ends_with("-lost");
    if leaves.len() != 2 || leaves.iter().any(|of| of.why != why) {
        return Err(format!("{case}: {leaves:?}: {}", view.answer).into());
    }
    if strayed > 0 || (streams < STREAMS_LEAST && !is_lost) || streams == 0 {
        return Err(format!("{case}: {strayed} of {streams} streams strayed: {leaves:?}").into());
    }
    // A member that is lost between two visits is in none of them.
    let carried = |place: usize| leaves.iter().map(|of| of.members[place].carried_bytes).sum::<u64>();
    let is_wrong = if is_lost { carried(1) >= carried(0) } else { left_out > 0 };
    if is_wrong {
        return Err(format!("{case}: {left_out} visits are left out: {leaves:?}").into());
    }
    // Cables lead from member to member.
    let says = |says: NetArrival| view.members.iter().filter_map(|of| of.arrives.as_ref()).all(|of| of.says == says);
    if why.is_none() && !is_lost && !says(NetArrival::AsSent) {
        return Err(format!("{case}: {:?}", view.members).into());
    }
    println!("{case}: each of {streams} streams left as predicted, {left_out} visits left out");
    Ok(())
}
