//! Bonds with fewer members than a bond is for, with members that are down or outside LACP's group, or of different
//! speeds.

use linerate_record::audit::{AuditCheck, AuditFinding};
use linerate_record::finding::{Confidence, Severity};
use linerate_record::knob::Snapshot;
use linerate_record::machine::MachineBond;
use linerate_record::site::Site;

use super::{finding, listed};
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
                format!("{} of {} members of {name} are down: {}", down.len(), bond.members.len(), listed(down)),
                format!("members: {}", bond.members.join(", ")),
                "check the cable, the transceiver and the switch port",
            ));
        }
        found.extend(outside_lacp(snapshot, name, bond));
        let ends = facts::unlike_speeds(snapshot, bond);
        if let Some(((least, most), consequence)) = ends.zip(of_unlike_speeds(&bond.mode)) {
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

/// Members that are up and carry nothing, because they are in another aggregator than the bond's.
fn outside_lacp(snapshot: &Snapshot, name: &str, bond: &MachineBond) -> Option<AuditFinding> {
    let outside: Vec<_> = snapshot.devices.outside_lacp.iter().filter(|one| one.bond == name).collect();
    let used = outside.first()?.used;
    let members = listed(outside.iter().map(|one| one.member.as_str()));
    let of_each: Vec<String> = outside.iter().map(|one| format!("{} in {}", one.member, one.aggregator)).collect();
    Some(finding(
        AuditCheck::BondMembers,
        Severity::Critical,
        Confidence::Certain,
        format!(
            "{} of {} members of {name} are up and outside its LACP group: {members}",
            outside.len(),
            bond.members.len()
        ),
        format!("{name} uses aggregator {used}; {}", of_each.join(", ")),
        "put their switch ports into the LACP group of the others, at the same speed and duplex",
    ))
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
    use linerate_record::knob::OutsideLacp;

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
        assert_eq!(reported(&snapshot), ["1 of 2 members of bond0 are down: ens1f1"]);
        for bond in snapshot.machine.nics.iter_mut().filter_map(|nic| nic.bond.as_mut()) {
            bond.members.truncate(1);
        }
        assert_eq!(reported(&snapshot), ["bond0 has 1 of the two members or more that make a bond"]);
    }

    #[test]
    fn a_member_in_another_aggregator_is_told() {
        let mut snapshot = machine();
        snapshot.devices.outside_lacp.push(OutsideLacp {
            bond: "bond0".to_owned(),
            member: "ens1f1".to_owned(),
            aggregator: 2,
            used: 1,
        });
        let found = check(&snapshot, &site());
        let [one] = found.as_slice() else { panic!("{found:?}") };
        assert_eq!(one.claim, "1 of 2 members of bond0 are up and outside its LACP group: ens1f1");
        assert_eq!((one.severity, one.evidence.as_str()), (Severity::Critical, "bond0 uses aggregator 1; ens1f1 in 2"));
    }
}
