//! A site made from one machine, where nobody wrote one: as if all nodes were like it.

use std::collections::BTreeMap;

use linerate_record::knob::Snapshot;
use linerate_record::machine;
use linerate_record::site::{NodeGroup, Plane, Planes, Site, key};

/// Drivers of interfaces behind which there is no card. They state a speed that is a constant.
const WITHOUT_CARD: [&str; 2] = ["veth", "tun"];

/// A site of one node like this machine. What it assumes, and why, is in [`Site::assumed`].
#[must_use]
pub fn site_from_machine(snapshot: &Snapshot) -> Site {
    let machine = &snapshot.machine;
    let link = link(machine);
    let mut assumed = BTreeMap::new();
    let mut because = |path: &str, reason: &str| {
        assumed.insert(path.to_owned(), reason.to_owned());
    };
    because("nodes.machine.count", "one: this machine; other nodes are not known");
    because(key::PLANES_PUBLIC_LINK, "the machine's fastest interface carries the load");
    because(key::PLANES_PRIVATE, "none: clients' and nodes' traffic share it");
    because(key::PLANES_PUBLIC_ENCAPSULATION, "none");
    because(key::CLIENTS_COUNT, "16, of 16 connections each");
    because(key::DATA_OBJECT_SIZE, "64 MiB");
    let program = snapshot.engines.first().map(|engine| engine.program.as_str());
    if program.is_none() {
        because(key::ENGINE_PRODUCT, "MinIO: no server was found on the machine");
    }
    let unstated = unstated(program);
    let Some(unstated_group) = unstated.groups.first() else { return Site { assumed, ..unstated } };
    let public = Plane {
        link: link.map_or_else(String::new, |nic| nic.name.clone()),
        mtu_bytes: link.map_or(unstated.planes.public.mtu_bytes, |nic| nic.mtu_bytes),
        ..unstated.planes.public.clone()
    };
    Site {
        name: "this machine".to_owned(),
        groups: vec![group(machine, unstated_group)],
        planes: Planes { public, private: None },
        assumed,
        ..unstated
    }
}

/// What holds of a site where nobody says otherwise, with the engine of a program: what the language of sites fills in.
/// It has drives, cards and as many nodes as engines keep copies, because a site has some; [`group`] has none of them
/// but this machine.
#[expect(clippy::expect_used, reason = "the text is written below for four engines, and a test reads each")]
fn unstated(program: Option<&str>) -> Site {
    let engine = match program {
        Some("rustfs") => "rustfs",
        Some("radosgw") => "ceph-rgw",
        Some("garage") => "garage",
        _ => "minio",
    };
    let text = format!(
        "nodes:\n  name: machine\n  count: 3\n  sockets: 1\n  drives: {{count: 1, capacity: 1TB}}\n  \
         nics: {{speed: 25Gb/s}}\n\
         clients: {{count: 16, speed: 25Gb/s, connections: 16}}\n\
         engine: {engine}\n"
    );
    linerate_site::read(&text, "this machine").expect("a site of three nodes is whole")
}

/// The interface that carries the load: the fastest that a card is behind, a bond before its members, and where no
/// speed is stated the first with a driver.
fn link(machine: &machine::Machine) -> Option<&machine::MachineNic> {
    let has_card =
        |nic: &machine::MachineNic| nic.driver.as_ref().is_some_and(|driver| !WITHOUT_CARD.contains(&driver.as_str()));
    let is_member =
        |bond: &machine::MachineBond| machine.nics.iter().any(|nic| has_card(nic) && bond.members.contains(&nic.name));
    let carries = |nic: &&machine::MachineNic| has_card(nic) || nic.bond.as_ref().is_some_and(is_member);
    // Where no driver is known, as in a container, names are all that there is.
    let are_known = machine.nics.iter().any(|nic| carries(&nic));
    let outside = || machine.nics.iter().filter(move |nic| if are_known { carries(nic) } else { nic.name != "lo" });
    let fastest = outside().filter(|nic| nic.speed_bits_per_s.is_some());
    let fastest = fastest.max_by_key(|nic| (nic.speed_bits_per_s, nic.bond.is_some()));
    let bond = || outside().find(|nic| nic.bond.is_some());
    fastest.or_else(bond).or_else(|| outside().find(|nic| nic.driver.is_some())).or_else(|| outside().next())
}

/// A node like this machine, of which nobody said what is on its buses.
fn group(machine: &machine::Machine, unstated: &NodeGroup) -> NodeGroup {
    let sockets = machine.numa_nodes.max(1);
    NodeGroup {
        count: 1,
        sockets,
        cores: machine.cpus.max(1),
        memory_bytes: machine.memory_bytes,
        memory_bytes_per_s: unstated.memory_bytes_per_s * f64::from(sockets),
        drives: Vec::new(),
        nics: Vec::new(),
        bonds: Vec::new(),
        ..unstated.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::knobs::fixtures::machine;
    use linerate_record::knob::EngineProcess;
    use linerate_record::site::{Product, Protection};

    #[test]
    fn a_bond_goes_before_its_members_and_the_server_that_runs_is_the_engine() {
        let mut snapshot = machine();
        snapshot.engines.push(EngineProcess { pid: 7, program: "garage".to_owned(), own_network: false });
        let site = site_from_machine(&snapshot);
        assert_eq!(site.planes.public.link, "bond0");
        assert_eq!(site.engine.product, Product::Garage);
        assert!(!site.assumed.contains_key("engine.product") && site.assumed.len() == 6);
    }

    #[test]
    fn interfaces_without_a_card_are_no_link_whatever_speed_they_state() {
        let nic = |name: &str, driver: Option<&str>, mbits_per_s: Option<u64>| machine::MachineNic {
            name: name.to_owned(),
            driver: driver.map(str::to_owned),
            speed_bits_per_s: mbits_per_s.map(|speed| speed * 1_000_000),
            ..machine::MachineNic::default()
        };
        let (eno1, ens5) = (nic("eno1", Some("igb"), Some(1_000)), nic("ens5", Some("ena"), None));
        for (inside, link) in [
            (nic("cali1a2b", None, Some(10_000)), &eno1),
            (nic("br-0a1b", None, Some(10_000)), &eno1),
            (nic("tap3", Some("tun"), Some(10_000)), &eno1),
            (nic("tailscale0", None, Some(10)), &ens5),
            (nic("wg0", None, None), &ens5),
        ] {
            let mut snapshot = machine();
            snapshot.machine.nics = vec![nic("lo", None, None), inside.clone(), link.clone()];
            assert_eq!(site_from_machine(&snapshot).planes.public.link, link.name, "{}", inside.name);
        }
        let mut snapshot = machine();
        snapshot.machine.nics = vec![nic("lo", None, None), nic("eth0", Some("veth"), Some(10_000))];
        assert_eq!(site_from_machine(&snapshot).planes.public.link, "eth0", "a container has nothing else");
    }

    /// What nobody stated is what a site file would have, and the machine's own figures stand in their place.
    #[test]
    fn what_nobody_stated_is_as_the_language_of_sites_has_it_for_each_engine() {
        for (program, product, copies) in [
            (None, Product::Minio, None),
            (Some("minio"), Product::Minio, None),
            (Some("rustfs"), Product::Rustfs, None),
            (Some("radosgw"), Product::CephRgw, Some(3)),
            (Some("garage"), Product::Garage, Some(3)),
        ] {
            let mut snapshot = machine();
            let engine = |program: &str| EngineProcess { pid: 7, program: program.to_owned(), own_network: false };
            snapshot.engines = program.map(engine).into_iter().collect();
            (snapshot.machine.numa_nodes, snapshot.machine.cpus) = (2, 24);
            let site = site_from_machine(&snapshot);
            let expected = copies
                .map_or(Protection::Sets { set_drives: None, parity: None }, |copies| Protection::Replicas { copies });
            assert_eq!((site.engine.product, site.engine.protection), (product, expected), "{program:?}");
            let [group] = &site.groups[..] else { panic!("one group") };
            let own = (group.sockets, group.cores, group.count, group.pcie.generation, group.drives.len());
            assert_eq!(own, (2, 24, 1, 4, 0), "{program:?}");
            assert_eq!(group.memory_bytes_per_s, 2.0 * 204.8e9, "eight channels of DDR4-3200 a socket");
            assert_eq!((site.clients.count, site.clients.connections, site.data.object_bytes), (16, 16, 64 << 20));
        }
    }
}
