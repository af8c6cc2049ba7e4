//! Whether the machine is one that the site describes. What follows from the site is for the nodes in it: on another
//! machine, values are advised that belong elsewhere, or none.

use linerate_record::audit::{AuditCheck, AuditFinding};
use linerate_record::finding::{Confidence, Severity};
use linerate_record::knob::Snapshot;
use linerate_record::site::{NodeGroup, Site};
use linerate_record::units::bits_per_s;

use super::finding;

/// A physical core is at most so many processors.
const PROCESSORS_OF_CORE: u32 = 2;

/// A machine is held against the kind of nodes that it resembles most.
pub(super) fn check(snapshot: &Snapshot, site: &Site) -> Vec<AuditFinding> {
    // A site that is made from the machine has none of what is compared.
    let stated = site.groups.iter().filter(|group| !group.drives.is_empty());
    let all = stated.map(|group| (group, mismatches(snapshot, site, group)));
    let Some((group, differences)) =
        all.min_by_key(|(_, differences)| differences.len()).filter(|(_, differences)| !differences.is_empty())
    else {
        return Vec::new();
    };
    let claim = format!("this machine is not one that the site {} describes: {}", site.name, differences.join("; "));
    let evidence = format!("the site describes {} as {}", kinds(site), described(site, group));
    let remedy = "audit a node of that site, or give --site the file of this machine's: what follows from the site is \
                  for its nodes";
    vec![finding(AuditCheck::OtherMachine, Severity::Warning, Confidence::Certain, claim, evidence, remedy)]
}

fn kinds(site: &Site) -> String {
    let names: Vec<&str> = site.groups.iter().map(|group| group.name.as_str()).collect();
    if names.len() == 1 { "its nodes".to_owned() } else { format!("the nearest of its kinds ({})", names.join(", ")) }
}

/// What the machine has that nodes of a kind do not, as far as it was read and the site states it.
fn mismatches(snapshot: &Snapshot, site: &Site, group: &NodeGroup) -> Vec<String> {
    let machine = &snapshot.machine;
    let mut differences = Vec::new();
    let is_stated = !site.assumed.contains_key(&format!("nodes.{}.cores", group.name));
    if is_stated && !(group.cores..=group.cores * PROCESSORS_OF_CORE).contains(&machine.cpus) {
        differences.push(format!("{}, not {}", counted(machine.cpus, "processor"), counted(group.cores, "core")));
    }
    let (drives, disks) = (drives(group), u32::try_from(snapshot.devices.disks.len()).unwrap_or(u32::MAX));
    if disks > 0 && disks < drives {
        differences.push(format!("{}, not {drives}", counted(disks, "drive")));
    }
    differences.extend(other_link(snapshot, site, group));
    differences
}

/// A bond that carries the load in the site alone, or ports that are slower than in the site.
fn other_link(snapshot: &Snapshot, site: &Site, group: &NodeGroup) -> Option<String> {
    let link = &site.planes.public.link;
    let nics = &snapshot.machine.nics;
    if group.bonds.iter().any(|bond| bond.name == *link) && nics.iter().all(|nic| nic.bond.is_none()) {
        return Some(format!("no bond, where {link} carries the load"));
    }
    let fastest = nics.iter().filter(|nic| nic.bond.is_none()).filter_map(|nic| nic.speed_bits_per_s).max()? as f64;
    let slowest = group.nics.iter().map(|nic| nic.speed_bits_per_s).min_by(f64::total_cmp)?;
    let is_slower = fastest < slowest;
    is_slower.then(|| format!("links of {} at most, not {}", bits_per_s(fastest), bits_per_s(slowest)))
}

fn drives(group: &NodeGroup) -> u32 {
    group.drives.iter().map(|drives| drives.count).sum()
}

fn described(site: &Site, group: &NodeGroup) -> String {
    let link = &site.planes.public.link;
    format!("{}, {}, link {link}", counted(group.cores, "core"), counted(drives(group), "drive"))
}

fn counted(count: u32, what: &str) -> String {
    if count == 1 { format!("1 {what}") } else { format!("{count} {what}s") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::audit::{audit, is_missed};
    use crate::knobs::fixtures::machine;
    use crate::profiles::find;

    /// The node of the fixtures: 64 processors of 32 cores, four drives, a bond of two ports of 25 Gb/s.
    const SITE: &str = "\
name: eight
nodes:
  count: 8
  sockets: 2
  cores: 32
  drives: {count: 4, capacity: 7.68TB}
  nics: {name: nic0, ports: 2, speed: 25Gb/s}
  bonds: {name: bond0, nics: nic0, mode: 802.3ad, transmit_hash: layer3+4, switch_hash: l4}
planes: {public: {link: bond0}}
engine: {product: minio}
";

    fn claims(snapshot: &Snapshot, site: &str) -> Vec<String> {
        let site = linerate_site::read(site, "tests").expect("a site");
        check(snapshot, &site).into_iter().map(|finding| finding.claim).collect()
    }

    #[test]
    fn a_machine_of_the_site_is_one_and_what_differs_is_named() {
        assert_eq!(claims(&machine(), SITE), [""; 0]);
        // Without hyper-threading, with a drive more, and where the site does not say how many cores there are.
        let mut other = machine();
        other.machine.cpus = 32;
        other.devices.disks.push(other.devices.disks[0].clone());
        assert_eq!(claims(&other, SITE), [""; 0]);
        assert_eq!(claims(&machine(), &SITE.replace("  cores: 32\n", "")), [""; 0]);
        for (from, to, expected) in [
            ("cores: 32", "cores: 128", "64 processors, not 128 cores"),
            ("count: 4,", "count: 16,", "4 drives, not 16"),
            ("speed: 25Gb/s", "speed: 100Gb/s", "links of 25.0 Gb/s at most, not 100 Gb/s"),
        ] {
            let expected = format!("this machine is not one that the site eight describes: {expected}");
            assert_eq!(claims(&machine(), &SITE.replace(from, to)), [expected]);
        }
    }

    #[test]
    fn a_small_virtual_machine_is_not_a_storage_node_and_is_told_so_by_a_warning() {
        let mut small = machine();
        small.machine.cpus = 2;
        small.devices.disks.truncate(1);
        small.machine.nics.retain(|nic| nic.name == "lo");
        let site = linerate_site::read(SITE, "tests").expect("a site");
        let audited = |profile| audit(&small, &site, find(profile).expect("a profile"));
        let found = audited("s3-storage-node");
        let first = found.findings.first().expect("a finding");
        let parts = "2 processors, not 32 cores; 1 drive, not 4; no bond, where bond0 carries the load";
        assert!(first.claim.ends_with(parts) && first.severity == Severity::Warning, "{first:?}");
        assert!(is_missed(&found));
        // The site does not describe the machines of its clients.
        assert!(audited("s3-client-node").findings.iter().all(|one| one.check != AuditCheck::OtherMachine));
        // No site was given.
        let own = crate::audit::site_from_machine(&small);
        assert_eq!(check(&small, &own), []);
    }
}
