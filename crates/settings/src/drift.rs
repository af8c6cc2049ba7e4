//! In what machines differ that should be alike: each fact of each, held against the others of its role and kind.

mod facts;

use std::collections::BTreeMap;

use linerate_record::fleet::{DriftedFact, DriftedValue, MachineState, NodeRole};

use facts::{Fact, facts};

/// A machine among others.
#[derive(Clone, Copy, Debug)]
pub struct PeerMachine<'p> {
    pub name: &'p str,
    /// What it is for.
    pub role: NodeRole,
    /// The kind of nodes of a site that it is one of, where one was stated.
    pub site_node: Option<&'p str>,
    /// What was read of it.
    pub state: &'p MachineState,
}

/// Memory of machines that are alike differs by what firmware keeps of it.
const MEMORY_SHARE: f64 = 0.02;

/// The facts that are not the same on all machines of a role and kind, those of the hardware first; and how many were
/// compared. What could not be read of a machine says nothing of it.
#[must_use]
pub fn alike(peers: &[PeerMachine<'_>]) -> (Vec<DriftedFact>, u32) {
    let (mut unlike, mut compared) = (Vec::new(), 0);
    for peers in groups(peers) {
        let memories = representatives(peers.iter().map(|peer| peer.state.snapshot.machine.memory_bytes));
        let of_peers: Vec<Vec<(String, Fact)>> = peers.iter().map(|peer| facts(peer.state, &memories)).collect();
        let tables: Vec<BTreeMap<&str, &Fact>> =
            of_peers.iter().map(|facts| facts.iter().map(|(what, fact)| (what.as_str(), fact)).collect()).collect();
        for what in ordered(&of_peers) {
            compared += 1;
            let values = values(&peers, &tables, what);
            if values.len() > 1 {
                let PeerMachine { role, site_node, .. } = *peers[0];
                unlike.push(DriftedFact {
                    role,
                    site_node: site_node.map(str::to_owned),
                    what: what.to_owned(),
                    values,
                });
            }
        }
    }
    (unlike, compared)
}

/// Machines that should be alike, two or more of each: roles in their order, kinds in that of the machines.
fn groups<'a, 'p>(peers: &'a [PeerMachine<'p>]) -> Vec<Vec<&'a PeerMachine<'p>>> {
    let mut groups: Vec<Vec<&PeerMachine<'_>>> = Vec::new();
    for role in NodeRole::ALL {
        for peer in peers.iter().filter(|peer| peer.role == role) {
            let like =
                |group: &&mut Vec<&PeerMachine<'_>>| (group[0].role, group[0].site_node) == (role, peer.site_node);
            match groups.iter_mut().find(like) {
                Some(group) => group.push(peer),
                None => groups.push(vec![peer]),
            }
        }
    }
    groups.retain(|group| group.len() > 1);
    groups
}

/// What there is to compare, in the order in which the machines tell it.
fn ordered(of_peers: &[Vec<(String, Fact)>]) -> Vec<&str> {
    // The place of a fact that some lack is behind all that stands before it anywhere.
    let mut places: BTreeMap<&str, (usize, usize)> = BTreeMap::new();
    for facts in of_peers {
        for (i, (what, fact)) in facts.iter().enumerate() {
            let place = places.entry(what).or_insert((fact.rank(), i));
            place.1 = place.1.max(i);
        }
    }
    let mut ordered: Vec<_> = places.into_iter().collect();
    ordered.sort_by_key(|(what, place)| (*place, *what));
    ordered.into_iter().map(|(what, _)| what).collect()
}

/// Each value with who has it, that of most first.
fn values(peers: &[&PeerMachine<'_>], tables: &[BTreeMap<&str, &Fact>], what: &str) -> Vec<DriftedValue> {
    let mut values: Vec<DriftedValue> = Vec::new();
    for (peer, table) in peers.iter().zip(tables) {
        let value = match table.get(what) {
            Some(Fact::Unread) => continue,
            Some(Fact::Hardware(value) | Fact::Setting(value)) => Some(value.clone()),
            None => None,
        };
        match values.iter_mut().find(|known| known.value == value) {
            Some(known) => known.nodes.push(peer.name.to_owned()),
            None => values.push(DriftedValue { value, nodes: vec![peer.name.to_owned()] }),
        }
    }
    values.sort_by_key(|value| std::cmp::Reverse(value.nodes.len()));
    values
}

/// Sizes that stand for all that are close to them.
fn representatives(sizes: impl Iterator<Item = u64>) -> Vec<u64> {
    let mut sizes: Vec<u64> = sizes.collect();
    sizes.sort_unstable();
    let is_close = |one: &mut u64, other: &mut u64| (*one - *other) as f64 <= *other as f64 * MEMORY_SHARE;
    sizes.dedup_by(is_close);
    sizes
}

#[cfg(test)]
mod tests {
    use linerate_record::fleet::Firmware;
    use linerate_record::knob::{Disk, Missing, PcieDevice, Setting, SettingId, Space};
    use linerate_record::machine::{MachineBond, MachineNic};

    use super::*;
    use crate::knobs::fixtures::machine;

    fn setting(knob: &str, device: Option<&str>, value: &str) -> Setting {
        let place = SettingId { knob: knob.to_owned(), device: device.map(str::to_owned), space: Space::Host };
        Setting { place, value: Some(value.to_owned()), choices: Vec::new(), missing: None }
    }

    fn node() -> MachineState {
        let mut snapshot = machine();
        let nic = |name: &str| MachineNic {
            name: name.to_owned(),
            speed_bits_per_s: Some(25_000_000_000),
            mtu_bytes: 9000,
            driver: Some("mlx5_core".to_owned()),
            ..MachineNic::default()
        };
        let bond = MachineBond {
            mode: "802.3ad".to_owned(),
            xmit_hash_policy: Some("layer3+4".to_owned()),
            members: vec!["eth0".to_owned(), "eth1".to_owned()],
        };
        let bond = MachineNic { name: "bond0".to_owned(), mtu_bytes: 9000, bond: Some(bond), ..MachineNic::default() };
        snapshot.machine.nics = vec![nic("eth0"), nic("eth1"), bond];
        snapshot.machine.memory_bytes = 540_000_000_000;
        snapshot.machine.clocksource = "tsc".to_owned();
        let disk = |i| Disk { name: format!("nvme{i}n1"), bytes: 7_680_000_000_000, ..Disk::default() };
        snapshot.devices.disks = (0..4).map(disk).collect();
        let pcie = |i| PcieDevice {
            name: format!("nvme{i}n1"),
            speed_gt_per_s: (16.0, 16.0),
            lanes: (4, 4),
            ..PcieDevice::default()
        };
        snapshot.devices.pcie = (0..4).map(pcie).collect();
        snapshot.settings = vec![
            setting("net.core.somaxconn", None, "4096"),
            setting("net.ipv4.tcp_rmem", None, "4096\t131072\t6291456"),
            setting("block.scheduler", Some("nvme0n1"), "none"),
            setting("block.scheduler", Some("nvme1n1"), "none"),
        ];
        let firmware = vec![Firmware { part: "BIOS".to_owned(), version: "Maker 2.4".to_owned() }];
        MachineState { snapshot, firmware, ..MachineState::default() }
    }

    /// What is said of 56 nodes of which some are changed.
    fn said(changed: &[usize], change: fn(&mut MachineState)) -> Vec<String> {
        let states: Vec<MachineState> = (0..56)
            .map(|i| {
                let mut state = node();
                if changed.contains(&i) {
                    change(&mut state);
                }
                state
            })
            .collect();
        let names: Vec<String> = (1..=56).map(|n| format!("node{n:02}")).collect();
        let peers: Vec<PeerMachine<'_>> = names
            .iter()
            .zip(&states)
            .map(|(name, state)| PeerMachine { name, role: NodeRole::Storage, site_node: None, state })
            .collect();
        let value = |value: &DriftedValue| {
            let who = if value.nodes.len() > 6 { format!("{}", value.nodes.len()) } else { value.nodes.join(" ") };
            format!("{who} {}", value.value.as_deref().unwrap_or("-"))
        };
        let row = |row: &DriftedFact| {
            format!("{}: {}", row.what, row.values.iter().map(value).collect::<Vec<_>>().join("; "))
        };
        alike(&peers).0.iter().map(row).collect()
    }

    #[test]
    fn each_difference_names_the_minority() {
        type Change = fn(&mut MachineState);
        type Case<'c> = (&'c [usize], Change, &'c [&'c str]);
        let cases: [Case<'_>; 13] = [
            (&[], |_| {}, &[]),
            (
                &[6, 18, 32],
                |state| state.snapshot.machine.nics.iter_mut().for_each(|nic| nic.mtu_bytes = 1500),
                &[
                    "MTU of eth0: 53 9000; node07 node19 node33 1500",
                    "MTU of eth1: 53 9000; node07 node19 node33 1500",
                    "MTU of bond0: 53 9000; node07 node19 node33 1500",
                ],
            ),
            (
                &[4],
                |state| state.snapshot.machine.kernel = "6.1.0".to_owned(),
                &["kernel: 55 6.8.0-31-generic; node05 6.1.0"],
            ),
            (
                &[4],
                |state| state.snapshot.machine.nics[1].speed_bits_per_s = Some(10_000_000_000),
                &["speed of eth1: 55 25.0 Gb/s; node05 10.0 Gb/s"],
            ),
            (
                &[4],
                |state| state.snapshot.machine.nics[2].bond.as_mut().unwrap().members.truncate(1),
                &["members of bond0: 55 eth0 eth1; node05 eth0"],
            ),
            (&[4], |state| state.snapshot.devices.disks.truncate(3), &["drives: 55 4 × 7.68 TB; node05 3 × 7.68 TB"]),
            (
                &[4],
                |state| state.snapshot.devices.pcie[2].lanes = (2, 4),
                &["PCIe of drives: 55 4 × x4 at 16 GT/s; node05 x2 at 16 GT/s, 3 × x4 at 16 GT/s"],
            ),
            (
                &[4],
                |state| state.snapshot.machine.clocksource = "hpet".to_owned(),
                &["clock source: 55 tsc; node05 hpet"],
            ),
            (
                &[4],
                |state| state.firmware[0].version = "Maker 2.5".to_owned(),
                &["firmware of BIOS: 55 Maker 2.4; node05 Maker 2.5"],
            ),
            (&[4], |state| state.firmware.clear(), &["firmware of BIOS: 55 Maker 2.4; node05 -"]),
            (&[4], |state| state.snapshot.machine.memory_bytes += 5_000_000_000, &[]),
            (
                &[4],
                |state| state.snapshot.settings[0].value = Some("128".to_owned()),
                &["net.core.somaxconn: 55 4096; node05 128"],
            ),
            (
                &[4],
                |state| state.snapshot.settings[3].value = Some("mq-deadline".to_owned()),
                &["block.scheduler: 55 2 × none; node05 mq-deadline, none"],
            ),
        ];
        for (changed, change, expected) in cases {
            assert_eq!(said(changed, change), expected);
        }
    }

    #[test]
    fn what_means_the_same_and_what_was_not_read_is_no_difference() {
        let same: [fn(&mut MachineState); 3] = [
            |state| state.snapshot.settings[1].value = Some("4096 131072  6291456".to_owned()),
            |state| {
                state.snapshot.settings[0].value = None;
                state.snapshot.settings[0].missing = Some(Missing::NotPermitted);
            },
            |state| {
                let veth = MachineNic { name: "veth1a2b".to_owned(), mtu_bytes: 1450, ..MachineNic::default() };
                state.snapshot.machine.nics.push(veth);
            },
        ];
        for change in same {
            assert_eq!(said(&[4], change), Vec::<String>::new());
        }
    }

    #[test]
    fn nodes_of_other_roles_or_kinds_need_not_be_alike() {
        let (one, mut other) = (node(), node());
        other.snapshot.machine.kernel = "6.1.0".to_owned();
        let peer = |name, role, state| PeerMachine { name, role, site_node: None, state };
        let apart = [peer("a", NodeRole::Storage, &one), peer("b", NodeRole::Client, &other)];
        assert_eq!(alike(&apart), (Vec::new(), 0));
        let together = [peer("a", NodeRole::Client, &one), peer("b", NodeRole::Client, &other)];
        assert_eq!(alike(&together).0.len(), 1);
        let [first, second] = together;
        let kinds = [
            PeerMachine { site_node: Some("old"), ..first },
            PeerMachine { site_node: Some("new"), ..second },
            PeerMachine { name: "c", site_node: Some("new"), ..first },
        ];
        let found = alike(&kinds).0;
        let unlike: Vec<_> = found.iter().map(|one| (one.site_node.as_deref(), one.what.as_str())).collect();
        assert_eq!(unlike, [(Some("new"), "kernel")]);
    }
}
