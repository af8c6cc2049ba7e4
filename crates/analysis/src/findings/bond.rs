//! Members of a bond: one full while another idles.
//!
//! A bond gives one flow one member. What this machine sends is spread by its transmit hash, what it receives by the
//! switch's; with few flows, or a hash of addresses alone, all of them may land on one. Full is nine tenths of the
//! link, since framing takes up to 6 % of it; idle is less than half of what the full one carries.

use linerate_record::finding::{Confidence, Finding, FindingKind, Severity};
use linerate_record::machine::{MachineBond, MachineNic};
use linerate_record::units::bits_per_s;

use super::{PointFinding, Run, worst};
use crate::bottlenecks;
use crate::view::{MachineSample, NicSample, Point, Series};

/// Share of what the full member carries, below which another one idles.
const IDLE: f64 = 0.50;

const REMEDY: &str = "for what this machine sends, set xmit_hash_policy=layer3+4 (it may reorder fragments); for what \
                      it receives, the switch's hash must use ports too; more connections spread better";

/// What an interface carries one way, in bytes per second.
type Direction = fn(&NicSample) -> f64;

pub(super) fn of_series(run: &Run<'_>, label: &str, series: &Series) -> Option<Finding> {
    worst(FindingKind::BondMemberFull, REMEDY, label, series, |point| of_point(run, point))
}

fn of_point(run: &Run<'_>, point: &Point) -> Option<PointFinding> {
    let samples = run.samples(point.point);
    let nics = &run.records.manifest.machine().nics;
    nics.iter()
        .filter_map(|nic| of_bond(nic, nic.bond.as_ref()?, nics, &samples))
        .max_by(|a, b| a.badness.total_cmp(&b.badness))
}

fn of_bond(
    nic: &MachineNic,
    bond: &MachineBond,
    nics: &[MachineNic],
    samples: &[&MachineSample],
) -> Option<PointFinding> {
    let up: Vec<&MachineNic> = nics.iter().filter(|n| bond.members.contains(&n.name)).collect();
    let directions: [(&str, Direction); 2] = [("received", |n| n.rx_bytes_per_s), ("sent", |n| n.tx_bytes_per_s)];
    for (verb, direction) in directions {
        let rate = |member: &MachineNic| 8.0 * interface_mean(samples, &member.name, direction);
        let full = up.iter().max_by(|a, b| rate(a).total_cmp(&rate(b)))?;
        let speed = full.speed_bits_per_s? as f64;
        let Some(idle) = up.iter().filter(|n| n.name != full.name).min_by(|a, b| rate(a).total_cmp(&rate(b))) else {
            continue;
        };
        if rate(full) >= bottlenecks::NIC_FULL * speed && rate(idle) < IDLE * rate(full) {
            let policy = bond.xmit_hash_policy.as_ref().map_or_else(String::new, |p| format!(", xmit_hash_policy {p}"));
            return Some(PointFinding {
                severity: Severity::Warning,
                confidence: Confidence::Likely,
                badness: rate(full) / speed,
                claim: format!("one of {} members of {} was saturated while another was idle", up.len(), nic.name),
                evidence: format!(
                    "{} {verb} {} of {}, {} {}; mode {}{policy}",
                    full.name,
                    bits_per_s(rate(full)),
                    bits_per_s(speed),
                    idle.name,
                    bits_per_s(rate(idle)),
                    bond.mode
                ),
            });
        }
    }
    None
}

/// Mean of an interface over samples; one that moved nothing all the run is in none of them.
fn interface_mean(samples: &[&MachineSample], name: &str, direction: Direction) -> f64 {
    let sum: f64 = samples.iter().flat_map(|s| &s.nics).filter(|n| n.name == name).map(direction).sum();
    sum / samples.len().max(1) as f64
}

#[cfg(test)]
mod tests {
    use linerate_record::reading::{NicCounters, Reading};

    use super::*;
    use crate::build::build;
    use crate::build::tests::records;

    /// The finding of a bond of two links of 1 Gb/s that receive so many Mb/s each.
    fn finding_of(mbits: [u64; 2]) -> Option<Finding> {
        let mut records = records(&[1, 2], |_| 5);
        let link = |name: &str| MachineNic {
            name: name.into(),
            speed_bits_per_s: Some(1_000_000_000),
            ..MachineNic::default()
        };
        let members = vec!["ens1f0".to_owned(), "ens1f1".to_owned()];
        let bond =
            MachineBond { mode: "802.3ad".into(), xmit_hash_policy: Some("layer2".into()), members: members.clone() };
        let bond = MachineNic { over: members.clone(), bond: Some(bond), ..link("bond0") };
        records.manifest.clients[0].machine.nics = vec![link(&members[0]), link(&members[1]), bond];
        let counters = |i: u64, name: &str, mbits: u64| NicCounters {
            name: name.into(),
            rx_bytes: i * mbits * 12_500,
            ..NicCounters::default()
        };
        let nics = |i| {
            let [a, b] = mbits;
            vec![counters(i, &members[0], a), counters(i, &members[1], b), counters(i, "bond0", a + b)]
        };
        records.readings = (0..30).map(|i| Reading { at_ms: i * 100, nics: nics(i), ..Reading::default() }).collect();
        build(&records).unwrap().findings.into_iter().find(|f| f.kind == FindingKind::BondMemberFull)
    }

    #[test]
    fn a_full_member_beside_an_idle_one_is_named_with_the_hash() {
        let found = finding_of([960, 8]).unwrap();
        assert!(found.claim.contains("one of 2 members of bond0"), "{found:?}");
        for part in ["ens1f0 received 960 Mb/s of 1.00 Gb/s", "ens1f1 8.00 Mb/s", "xmit_hash_policy layer2"] {
            assert!(found.evidence.contains(part), "{found:?}");
        }
        assert!(finding_of([0, 950]).is_some(), "a member that never moved a byte idles too");
    }

    #[test]
    fn members_that_share_or_have_room_are_no_finding() {
        for mbits in [[960, 940], [700, 8], [0, 0]] {
            assert_eq!(finding_of(mbits), None, "{mbits:?}");
        }
    }
}
