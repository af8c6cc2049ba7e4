//! Machines in racks, whose uplinks carry less than their machines can send together.

use std::fs;

use libtest_mimic::Failed;
use linerate_analysis::net::view::{NetBisectionOutcome, NetFinding, NetFindingKind, NetView};

use super::{Switched, ip, tc};

/// What each of eight machines can send, and what the uplinks of a rack of four carry each way.
const MACHINE_MBIT_PER_S: u32 = 30;
const UPLINK_MBIT_PER_S: u32 = 60;

/// Machines 1 to 4 on one switch and 5 to 8 on another, with a link between both.
fn in_racks() -> Result<Switched, Failed> {
    let switched = Switched::make(8)?;
    let switch = &switched.switch;
    ip(&format!("-n {switch} link add br1 type bridge"));
    ip(&format!("-n {switch} link set br1 up"));
    ip(&format!("-n {switch} link add up0 type veth peer name up1"));
    (0..2).for_each(|rack| ip(&format!("-n {switch} link set up{rack} master br{rack} up")));
    (5..=8).for_each(|machine| ip(&format!("-n {switch} link set p{machine} master br1")));
    (1..=8).for_each(|machine| switched.sends(machine, MACHINE_MBIT_PER_S, 200_000));
    let row = |(machine, space): (usize, &String)| {
        let rack = 1 + (machine - 1) / 4;
        format!("  - {{name: n{machine}, role: storage, rack: r{rack}, reach: 'netns://{space}'}}\n")
    };
    let rows: String = (1..).zip(&switched.spaces).map(row).collect();
    fs::write(switched.fleet(), format!("nodes:\n{rows}"))?;
    Ok(switched)
}

fn finding(view: &NetView) -> Option<&NetFinding> {
    view.findings.iter().find(|finding| finding.kind == NetFindingKind::Oversubscription)
}

/// Half of what machines send is named with its ratio, of both racks and both directions; and nothing is where the link
/// between the switches carries everything.
pub(super) fn uplinks() -> Result<(), Failed> {
    let switched = in_racks()?;
    let flags = "--bisection --streams 2 --duration 2s --warmup 1s --visits 3";
    let view = switched.view(flags)?;
    let of = view.bisected().ok_or("racks were measured")?;
    println!("all: {}", view.answer);
    assert_ne!(of.outcome, NetBisectionOutcome::Oversubscribed, "{of:?}");
    assert_eq!(finding(&view), None, "{}", view.answer);

    for rack in 0..2 {
        let shape = format!("tbf rate {UPLINK_MBIT_PER_S}mbit burst 32kb limit 300000");
        tc(&format!("-n {} qdisc replace dev up{rack} root {shape}", switched.switch));
    }
    let view = switched.view(flags)?;
    let of = view.bisected().ok_or("racks were measured")?;
    println!("half: {}; {:?}", view.answer, of.racks);
    let over = of.oversubscription.ok_or("a ratio")?.mean;
    let expected = f64::from(4 * MACHINE_MBIT_PER_S) / f64::from(UPLINK_MBIT_PER_S);
    assert!((0.9..=1.1).contains(&(over / expected)), "{over} of {expected}: {of:?}");
    assert_eq!(of.outcome, NetBisectionOutcome::Oversubscribed, "{of:?}");
    for rack in &of.racks {
        for side in [&rack.sends, &rack.receives] {
            let ratio = side.ratio.ok_or("all machines have figures")?.ratio.mean;
            assert!((0.9..=1.1).contains(&(ratio * expected)), "{rack:?}");
        }
    }
    let finding = finding(&view).ok_or("it is named")?;
    assert!(finding.claim.starts_with("racks carry 0."), "{finding:?}");
    Ok(())
}
