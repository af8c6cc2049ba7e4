//! Bonds with fewer members than a bond is for, or with members of different speeds.

use linerate_record::audit::{AuditCheck, AuditFinding};
use linerate_record::finding::{Confidence, Severity};
use linerate_record::knob::Snapshot;
use linerate_record::site::Site;

use super::finding;
use crate::knobs::facts;

pub(super) fn check(snapshot: &Snapshot, _site: &Site) -> Vec<AuditFinding> {
    let nics = &snapshot.machine.nics;
    let mut found = Vec::new();
    for (name, bond) in nics.iter().filter_map(|nic| Some((&nic.name, nic.bond.as_ref()?))) {
        let up = |member: &&String| nics.iter().any(|nic| nic.name == **member);
        let down: Vec<&str> = bond.members.iter().filter(|member| !up(member)).map(String::as_str).collect();
        if bond.members.len() < 2 {
            found.push(finding(
                AuditCheck::BondMembers,
                Severity::Warning,
                Confidence::Certain,
                format!("{name} has {} of the two members or more that make a bond", bond.members.len()),
                format!(
                    "members: {}",
                    if bond.members.is_empty() { "none".to_owned() } else { bond.members.join(", ") }
                ),
                "add the other port to the bond",
            ));
        } else if !down.is_empty() {
            found.push(finding(
                AuditCheck::BondMembers,
                Severity::Critical,
                Confidence::Certain,
                format!("{} of {} members of {name} are down", down.len(), bond.members.len()),
                format!("down: {}", down.join(", ")),
                "check the cable, the transceiver and the switch port",
            ));
        }
        let speed = |member: &String| nics.iter().find(|nic| nic.name == *member)?.speed_bits_per_s;
        let mut speeds: Vec<u64> = bond.members.iter().filter_map(speed).collect();
        speeds.sort_unstable();
        let ends = speeds.first().zip(speeds.last()).filter(|(least, most)| least != most);
        if let Some(((&least, &most), consequence)) = ends.zip(of_unlike_speeds(&bond.mode)) {
            let (least, most) = (facts::rate(least as f64), facts::rate(most as f64));
            found.push(finding(
                AuditCheck::BondMembers,
                Severity::Warning,
                Confidence::Certain,
                format!("members of {name} have {least} and {most}: {consequence}"),
                format!("members: {}", bond.members.join(", ")),
                "give the bond ports of one speed",
            ));
        }
    }
    found
}

/// What a bond of a mode does with members of unlike speeds; none where that is a usual use, as of a slow spare
/// (`Documentation/networking/bonding.rst`).
fn of_unlike_speeds(mode: &str) -> Option<&'static str> {
    match mode {
        "802.3ad" => Some("LACP uses only members of one speed"),
        "balance-rr" | "balance-xor" => Some("each is given as many packets or flows, so that the slowest holds them"),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::knobs::fixtures::{machine, site};

    #[test]
    fn members_that_are_down_alone_or_of_different_speed_are_told() {
        let reported = |snapshot: &Snapshot| check(snapshot, &site()).into_iter().map(|f| f.claim).collect::<Vec<_>>();
        let mut snapshot = machine();
        assert_eq!(reported(&snapshot), [""; 0]);
        snapshot.machine.nics.iter_mut().find(|nic| nic.name == "ens1f1").unwrap().speed_bits_per_s =
            Some(10_000_000_000);
        assert_eq!(
            reported(&snapshot),
            ["members of bond0 have 10 Gb/s and 25 Gb/s: LACP uses only members of one speed"]
        );
        for (mode, reported_of_mode) in [("active-backup", 0), ("balance-tlb", 0), ("broadcast", 0), ("balance-rr", 1)]
        {
            let mut snapshot = snapshot.clone();
            snapshot.machine.nics.iter_mut().filter_map(|nic| nic.bond.as_mut()).for_each(|b| b.mode = mode.to_owned());
            let claims = reported(&snapshot);
            assert!(claims.len() == reported_of_mode && !claims.concat().contains("LACP"), "{mode}: {claims:?}");
        }
        snapshot.machine.nics.retain(|nic| nic.name != "ens1f1");
        assert_eq!(reported(&snapshot), ["1 of 2 members of bond0 are down"]);
        for bond in snapshot.machine.nics.iter_mut().filter_map(|nic| nic.bond.as_mut()) {
            bond.members.truncate(1);
        }
        assert_eq!(reported(&snapshot), ["bond0 has 1 of the two members or more that make a bond"]);
    }
}
