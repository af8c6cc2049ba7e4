//! Two nodes with bonds in a virtual machine with Debian's kernel: whether each stream leaves by the member that the
//! kernel's hash says, over 1,000 streams for each way of a bond, which streams are named that do not, and what is said
//! while a member is lost and back.

use std::path::Path;
use std::process::{Command, Stdio};

use libtest_mimic::Failed;
use linerate_analysis::net::view::{NetArrival, NetLeaves, NetView};
use linerate_record::net::{NetNoPrediction, NetPredictedMembers, NetStray, NetVisit};
use tempfile::tempdir;

use super::booted::kernel_and_modules;
use crate::running::{linerate, shown};

/// Emulated, it takes some eight minutes.
const SECONDS_MAX: &str = "1500";

/// Streams of each case, both ways together, at the least.
const STREAMS_LEAST: u32 = 1_000;

/// Cases of `net_bonds.sh`, and why no source port chooses a member there.
const CASES: [(&str, Option<NetNoPrediction>); 9] = [
    ("lacp-2-layer3+4", None),
    ("lacp-2-layer2+3", Some(NetNoPrediction::NoPorts)),
    ("xor-3-layer3+4", None),
    ("xor-2-layer2", Some(NetNoPrediction::NoPorts)),
    ("xor-2-encap2+3", Some(NetNoPrediction::NoPorts)),
    ("xor-2-vlan+srcmac", Some(NetNoPrediction::NoPorts)),
    ("lacp-2-encap3+4", Some(NetNoPrediction::SocketHash)),
    ("backup-2", Some(NetNoPrediction::StandBy)),
    ("lacp-3-layer3+4-lost", None),
];

pub(crate) fn predicted_is_carried() -> Result<(), Failed> {
    let (kernel, modules) = kernel_and_modules()?;
    let parts = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/system_parts");
    let (build, more) = (tempdir()?, tempdir()?);
    let mut command = Command::new("timeout");
    command.args(["--kill-after=5", SECONDS_MAX, "sh"]).arg(parts.join("booted.sh")).arg(kernel);
    command.arg(linerate().get_program()).arg(parts.join("net_bonds.sh"));
    command.args([build.path(), &modules, more.path()]);
    let output = command.stdin(Stdio::null()).output()?;
    let text = shown(&output);
    for (case, why) in CASES {
        check(case, why, &said(case, &text)?)?;
    }
    check_strays(&said("lacp-2-layer3+4-astray", &text)?, &text)
}

/// What was said of a case. The console puts what it likes before a line.
fn said(case: &str, text: &str) -> Result<NetView, Failed> {
    let line = text.lines().find_map(|line| Some(line.split_once(&format!("SAID {case} "))?.1));
    let line = line.ok_or_else(|| format!("nothing was said of {case}: {text}"))?;
    Ok(serde_json::from_str(line.trim()).map_err(|error| format!("{case}: {error}: {line}"))?)
}

/// Of the streams of the first node, those whose source port a filter leads to the other member are named, and no other
/// is.
fn check_strays(view: &NetView, text: &str) -> Result<(), Failed> {
    let visits = text.lines().filter_map(|line| Some(line.split_once("VISIT ")?.1));
    let visits: Vec<NetVisit> = visits.map(|line| serde_json::from_str(line.trim())).collect::<Result<_, _>>()?;
    let aims: Vec<&NetPredictedMembers> = visits
        .iter()
        .flat_map(|visit| &visit.pairs)
        .filter(|pair| pair.from == 0 && pair.error.is_none())
        .filter_map(|pair| pair.aim.as_ref())
        .collect();
    let ports = || aims.iter().flat_map(|aim| aim.ports.iter().copied());
    let mut planted: Vec<u16> = ports().filter(|port| is_led(*port)).collect();
    let all = |from: u32| view.members.iter().filter(move |of| of.from == from).filter_map(|of| of.leaves.as_ref());
    let mut named: Vec<&NetStray> = all(0).flat_map(|leaves| &leaves.strays).collect();
    let strayed = |from: u32| all(from).map(|leaves| leaves.strayed_streams).sum::<u32>();
    planted.sort_unstable();
    named.sort_by_key(|stray| stray.port);
    let found: Vec<u16> = named.iter().map(|stray| stray.port).collect();
    println!(
        "of {} streams, those from ports {planted:?} are led astray: {} strayed, named {found:?}",
        ports().count(),
        strayed(0)
    );
    if planted.is_empty() || found != planted || strayed(0) as usize != planted.len() || strayed(1) > 0 {
        return Err(format!("planted {planted:?}, found {named:?}: {:?}", view.members).into());
    }
    let is_other = |stray: &&NetStray| stray.predicted != stray.carried;
    if named.iter().all(is_other) { Ok(()) } else { Err(format!("{named:?}").into()) }
}

/// Whether the filter of `net_bonds.sh` leads it to the other member.
const fn is_led(port: u16) -> bool {
    port & 0x1f == 21
}

/// What cannot be predicted is not, and what each member carried is told: 160 streams are on both.
fn check_unpredicted(case: &str, leaves: &[&NetLeaves]) -> Result<(), Failed> {
    let is_reported = |of: &&NetLeaves| {
        let carries = of.members.iter().filter(|member| member.carried_share > 0.1).count();
        of.visits > 0 && of.alone_streams == 0 && of.strayed_share.is_none() && carries == of.members.len()
    };
    if !leaves.iter().all(is_reported) {
        return Err(format!("{case}: {leaves:?}").into());
    }
    let shares = leaves.iter().flat_map(|of| &of.members).map(|member| member.carried_share).collect::<Vec<f64>>();
    println!("{case}: nothing is predicted, members carry {shares:.2?}");
    Ok(())
}

fn check(case: &str, why: Option<NetNoPrediction>, view: &NetView) -> Result<(), Failed> {
    let leaves: Vec<&NetLeaves> = view.members.iter().filter_map(|of| of.leaves.as_ref()).collect();
    let sum = |of: fn(&NetLeaves) -> u32| leaves.iter().map(|leaves| of(leaves)).sum::<u32>();
    let (streams, strayed, left_out) =
        (sum(|of| of.alone_streams), sum(|of| of.strayed_streams), sum(|of| of.left_out));
    let is_lost = case.ends_with("-lost");
    if leaves.len() != 2 || leaves.iter().any(|of| of.why != why) {
        return Err(format!("{case}: {leaves:?}: {}", view.answer).into());
    }
    if why == Some(NetNoPrediction::SocketHash) {
        return check_unpredicted(case, &leaves);
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
