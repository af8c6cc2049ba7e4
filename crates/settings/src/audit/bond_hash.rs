//! Bonds whose hash cannot spread this site's flows over their members.

use linerate_model::spread::placement::{MacAssignment, Peers, egress};
use linerate_model::spread::{Bundle, Shares, shares};
use linerate_record::audit::{AuditCheck, AuditFinding};
use linerate_record::finding::{Confidence, Severity};
use linerate_record::knob::Snapshot;
use linerate_record::machine;
use linerate_record::site::{Bond, BondMode, Kernel, Plane, Site, SwitchHash, TransmitHash};
use serde::Deserialize;
use serde::de::IntoDeserializer;
use serde::de::value::{Error, StrDeserializer};

use super::finding;
use crate::knobs::facts;

/// A median share of the members' sum below which a bond counts as not spread.
const SPREAD: f64 = 0.8;
const ROUNDS: u32 = 200;
const SEED: u64 = 1;

pub(super) fn check(snapshot: &Snapshot, site: &Site) -> Vec<AuditFinding> {
    let bonds = snapshot.machine.nics.iter().filter_map(|nic| Some((nic.name.as_str(), nic.bond.as_ref()?)));
    bonds
        .filter(|(_, bond)| bond.members.len() > 1)
        .flat_map(|(name, bond)| bond_finding(snapshot, site, name, bond))
        .collect()
}

fn bond_finding(snapshot: &Snapshot, site: &Site, name: &str, bond: &machine::MachineBond) -> Option<AuditFinding> {
    let plane = facts::plane_of(snapshot, site, name).unwrap_or(&site.planes.public);
    let mode: BondMode = word(&bond.mode)?;
    let members = u32::try_from(bond.members.len()).ok()?;
    if matches!(mode, BondMode::ActiveBackup | BondMode::Broadcast) {
        return Some(of_one_member(snapshot, name, bond, mode));
    }
    let transmit_hash: TransmitHash = bond.xmit_hash_policy.as_deref().and_then(word).unwrap_or(TransmitHash::Layer2);
    let described = Bond { name: name.to_owned(), nics: Vec::new(), mode, transmit_hash, switch_hash: SwitchHash::L4 };
    let kernel = facts::kernel(snapshot).map(|(major, minor)| Kernel { major, minor });
    let routed = site.groups.iter().any(|group| group.racks > 1) || site.clients.racks > 0;
    let spread = |routed: bool| spread(&described, kernel, plane, site, members, routed);
    let (as_described, why) = spread(routed);
    if as_described.p50 < SPREAD {
        return Some(unspread(name, bond, &as_described, members, why, Confidence::Likely));
    }
    // Whether clients are behind a router, a site without racks does not say.
    let (behind_router, why) = spread(true);
    (behind_router.p50 < SPREAD).then(|| unspread(name, bond, &behind_router, members, why, Confidence::Possible))
}

/// A bond that carries no more than one of its members does, whatever its flows are.
fn of_one_member(snapshot: &Snapshot, name: &str, bond: &machine::MachineBond, mode: BondMode) -> AuditFinding {
    let (unlike, members) = (facts::unlike_speeds(snapshot, bond), bond.members.len());
    let (severity, claim) = match (mode, unlike) {
        (BondMode::Broadcast, _) => (
            Severity::Warning,
            format!("each of its {members} members sends every packet: it carries what one carries"),
        ),
        // A slow spare is a usual use.
        (_, Some((least, most))) => {
            let [least, most] = [least, most].map(|speed| facts::rate(speed as f64));
            (Severity::Note, format!("one of its {members} members sends, that of {most} or a spare of {least}"))
        }
        (_, None) => (Severity::Warning, format!("only one of its {members} members sends")),
    };
    let remedy = match unlike {
        Some(_) if mode == BondMode::ActiveBackup => {
            "name the fastest member in bonding/primary; 802.3ad would use only members of one speed"
        }
        Some(_) => "give the bond ports of one speed, and with them in one LACP group, mode 802.3ad",
        None if facts::has_one_speed(snapshot, bond) => {
            "with both switch ports in one LACP group, mode 802.3ad uses all members"
        }
        None => "with both switch ports in one LACP group, mode 802.3ad uses all members of one speed",
    };
    let (claim, evidence) =
        (format!("{name} is {}: {claim}", bond.mode), format!("members: {}", bond.members.join(", ")));
    finding(AuditCheck::BondSpread, severity, Confidence::Certain, claim, evidence, remedy)
}

/// What members carry when each flow asks for its equal part of all of them.
fn spread(
    bond: &Bond,
    kernel: Option<Kernel>,
    plane: &Plane,
    site: &Site,
    members: u32,
    routed: bool,
) -> (Shares, &'static str) {
    let peers = site.clients.count.max(1) + site.nodes().saturating_sub(1);
    let flows = u32::try_from(facts::connections(site)).unwrap_or(u32::MAX).min(1 << 16).max(members);
    let placement = egress(bond, kernel, plane, Peers { count: peers, routed, macs: MacAssignment::Vendor });
    let why = placement.why;
    let bundle = Bundle { members, flows, flow_cap: f64::from(members) / f64::from(flows), placement };
    (shares(&bundle, SEED, ROUNDS), why)
}

fn unspread(
    name: &str,
    bond: &machine::MachineBond,
    shares: &Shares,
    members: u32,
    why: &str,
    confidence: Confidence,
) -> AuditFinding {
    let policy = bond.xmit_hash_policy.as_deref().unwrap_or("layer2");
    let carried = format!("{:.0} % of its {members} members", 100.0 * shares.p50);
    let given = if confidence == Confidence::Possible { ", where the other ends are behind a router" } else { "" };
    let severity = if confidence == Confidence::Possible { Severity::Note } else { Severity::Critical };
    finding(
        AuditCheck::BondSpread,
        severity,
        confidence,
        format!("{name} hashes by {policy}, which fills {carried}{given}"),
        format!(
            "placed {ROUNDS} times by the kernel's hash: median {:.2}, 5th percentile {:.2}; {why}",
            shares.p50, shares.p5
        ),
        format!("echo layer3+4 > /sys/class/net/{name}/bonding/xmit_hash_policy"),
    )
}

/// A mode or policy by the driver's name.
fn word<'t, T: Deserialize<'t>>(text: &'t str) -> Option<T> {
    let deserializer: StrDeserializer<'t, Error> = text.into_deserializer();
    T::deserialize(deserializer).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::knobs::fixtures::{machine, set_bond_mode, site};

    fn finding_of(mode: &str, policy: &str, racks: u32) -> Option<(Severity, String)> {
        let (mut snapshot, mut site) = (machine(), site());
        set_bond_mode(&mut snapshot, mode);
        for bond in snapshot.machine.nics.iter_mut().filter_map(|nic| nic.bond.as_mut()) {
            bond.xmit_hash_policy = Some(policy.to_owned());
        }
        site.groups[0].racks = racks;
        let found = check(&snapshot, &site);
        assert!(found.len() < 2, "{found:?}");
        found.into_iter().next().map(|finding| (finding.severity, finding.claim))
    }

    #[test]
    fn a_hash_of_ports_spreads_and_one_of_mac_addresses_behind_a_router_does_not() {
        assert_eq!(finding_of("802.3ad", "layer3+4", 1), None);
        assert_eq!(finding_of("802.3ad", "layer3+4", 4), None);
        let routed = finding_of("802.3ad", "layer2", 4).expect("a finding");
        assert_eq!(routed.0, Severity::Critical);
        assert_eq!(routed.1, "bond0 hashes by layer2, which fills 50 % of its 2 members");
        assert_eq!(finding_of("802.3ad", "layer2", 1).expect("a finding").0, Severity::Note);
        assert_eq!(finding_of("active-backup", "layer2", 1).expect("a finding").0, Severity::Warning);
        assert_eq!(finding_of("802.3ad", "no such policy", 4).expect("a finding").0, Severity::Critical);
    }

    #[test]
    fn a_bond_of_one_member_is_told_what_its_mode_does_and_not_to_join_unlike_speeds() {
        let all_send = "each of its 2 members sends every packet: it carries what one carries";
        for (mode, other_speed, severity, says, is_lacp_advised) in [
            ("active-backup", Some(25), Severity::Warning, "only one of its 2 members sends", true),
            ("active-backup", None, Severity::Warning, "only one of its 2 members sends", true),
            (
                "active-backup",
                Some(1),
                Severity::Note,
                "one of its 2 members sends, that of 25 Gb/s or a spare of 1 Gb/s",
                false,
            ),
            ("broadcast", Some(25), Severity::Warning, all_send, true),
            ("broadcast", Some(1), Severity::Warning, all_send, false),
        ] {
            let mut snapshot = machine();
            set_bond_mode(&mut snapshot, mode);
            snapshot.machine.nics.iter_mut().find(|nic| nic.name == "ens1f1").unwrap().speed_bits_per_s =
                other_speed.map(|gbit: u64| gbit * 1_000_000_000);
            let found = check(&snapshot, &site());
            let [one] = found.as_slice() else { panic!("{found:?}") };
            assert_eq!((one.severity, one.claim.as_str()), (severity, format!("bond0 is {mode}: {says}").as_str()));
            let advice = "802.3ad uses all members";
            assert_eq!(one.remedy.contains(advice), is_lacp_advised, "{mode} {other_speed:?}: {}", one.remedy);
        }
    }
}
