//! Advising a machine that follows the advice changes nothing.

use linerate_record::knob::{
    CurrentText, DeviceClass, EngineProcess, Locator, Setting, SettingId, Snapshot, Space, fits, same,
};
use linerate_record::site::{Encapsulation, Entry, Site, TrafficPolicy};
use proptest::prelude::*;

use crate::knobs::fixtures::{machine, site};
use crate::knobs::{KNOBS, advise, find};

/// Every place of every row on a machine: the host's, and the engine's own namespaces.
fn places(snapshot: &Snapshot) -> Vec<SettingId> {
    let spaces: Vec<Space> =
        std::iter::once(Space::Host).chain(snapshot.engines.iter().map(|engine| Space::Pid(engine.pid))).collect();
    let mut places = Vec::new();
    for row in KNOBS {
        let devices: Vec<Option<String>> = match row.knob.locator.device_class() {
            None => vec![None],
            Some(class) => devices(snapshot, class).into_iter().map(Some).collect(),
        };
        for device in devices {
            for space in &spaces {
                places.push(SettingId { knob: row.knob.id.to_owned(), device: device.clone(), space: space.clone() });
            }
        }
    }
    places
}

fn devices(snapshot: &Snapshot, class: DeviceClass) -> Vec<String> {
    let nics = snapshot.machine.nics.iter();
    match class {
        DeviceClass::Disk => snapshot.devices.disks.iter().map(|disk| disk.name.clone()).collect(),
        DeviceClass::Nic => nics.filter(|nic| nic.over.is_empty()).map(|nic| nic.name.clone()).collect(),
        DeviceClass::Bond => nics.filter(|nic| nic.bond.is_some()).map(|nic| nic.name.clone()).collect(),
        DeviceClass::Cpu => vec!["cpu0".to_owned()],
        DeviceClass::Mount => snapshot.devices.mounts.iter().map(|mount| mount.path.clone()).collect(),
    }
}

/// Makes the machine follow one advice: the setting, and what the machine's description says of it. A new kernel is a
/// new machine, whose advice is asked anew: it is a setting only.
fn follow(snapshot: &mut Snapshot, place: &SettingId, value: &str) {
    match snapshot.settings.iter_mut().find(|setting| setting.place == *place) {
        Some(setting) => setting.value = Some(value.to_owned()),
        None => snapshot.settings.push(Setting {
            place: place.clone(),
            value: Some(value.to_owned()),
            choices: Vec::new(),
            missing: None,
        }),
    }
    let nic = snapshot.machine.nics.iter_mut().find(|nic| Some(&nic.name) == place.device.as_ref());
    match (place.knob.as_str(), nic) {
        ("nic.mtu", Some(nic)) => nic.mtu_bytes = value.parse().expect("an MTU"),
        ("bond.mode", Some(nic)) => value.clone_into(&mut nic.bond.as_mut().expect("a bond").mode),
        ("bond.xmit_hash_policy", Some(nic)) => {
            nic.bond.as_mut().expect("a bond").xmit_hash_policy = Some(value.to_owned());
        }
        _ => {}
    }
}

/// What is advised anew on a machine that follows all that was advised, and how much that was.
fn left_over(mut snapshot: Snapshot, site: &Site) -> (usize, Vec<String>) {
    let advised: Vec<(SettingId, String)> = places(&snapshot)
        .into_iter()
        .filter_map(|place| {
            let row = find(&place.knob).expect("a row");
            let value = advise(row, &snapshot, site, &place)?.value;
            Some((place, value))
        })
        .collect();
    for (place, value) in &advised {
        let knob = &find(&place.knob).expect("a row").knob;
        assert_eq!(fits(knob, &CurrentText::default(), value), Ok(()), "what is advised for {place}");
        follow(&mut snapshot, place, value);
    }
    let mut left = Vec::new();
    for place in places(&snapshot) {
        let row = find(&place.knob).expect("a row");
        let Some(advice) = advise(row, &snapshot, site, &place) else { continue };
        let setting = snapshot.settings.iter().find(|setting| setting.place == place);
        let read = setting.and_then(|setting| setting.value.as_deref()).unwrap_or_default();
        if !same(&row.knob.locator, read, &advice.value) {
            left.push(format!("{place}: {read:?} -> {:?} ({})", advice.value, advice.why));
        }
    }
    (advised.len(), left)
}

const KERNELS: [&str; 8] =
    ["4.4.0", "4.18.0-553.el8", "5.4.0", "5.12.3", "5.14.0-427.el9", "6.5.0", "6.8.0-31-generic", "6.18.44"];
const VALUES: [&str; 12] =
    ["0", "1", "2", "64", "4096", "262144", "999999999", "absent", "present", "1024 65535", "off", ""];
const MODES: [&str; 5] = ["802.3ad", "active-backup", "balance-rr", "balance-xor", "balance-alb"];
const GBITS: [u64; 6] = [0, 1, 10, 25, 100, 400];

fn machines() -> impl Strategy<Value = (Snapshot, Site)> {
    let hardware = (0..KERNELS.len(), 1_u32..256, 1_u32..9, 1_u64..4096, 0..GBITS.len(), 0..MODES.len());
    let drives = prop::collection::vec((any::<bool>(), any::<bool>()), 0..24);
    let values = prop::collection::vec(0..VALUES.len() + 4, KNOBS.len());
    let scale = (1_u32..600, 0_u32..5000, 0_u32..2000, 0..5_usize, any::<bool>(), any::<bool>());
    (hardware, drives, values, scale, 1_u64..128).prop_map(|(hardware, drives, values, scale, queues)| {
        let (kernel, cpus, numa_nodes, memory_gib, gbit, mode) = hardware;
        let mut snapshot = machine();
        KERNELS[kernel].clone_into(&mut snapshot.machine.kernel);
        (snapshot.machine.cpus, snapshot.machine.numa_nodes) = (cpus, numa_nodes);
        snapshot.machine.memory_bytes = memory_gib << 30;
        for nic in &mut snapshot.machine.nics {
            nic.speed_bits_per_s = (GBITS[gbit] > 0).then_some(GBITS[gbit] * 1_000_000_000);
            if let Some(bond) = &mut nic.bond {
                MODES[mode].clone_into(&mut bond.mode);
            }
        }
        let disk = snapshot.devices.disks[0].clone();
        let disks = drives.iter().enumerate().map(|(n, &(rotational, discards))| {
            let name = format!("disk{n}");
            linerate_record::knob::Disk { name, rotational, discards, ..disk.clone() }
        });
        snapshot.devices.disks = disks.collect();
        snapshot.engines = vec![EngineProcess { pid: 4711, program: "minio".to_owned(), own_network: true }];
        settle(&mut snapshot, &values, queues);
        let (nodes, clients, connections, entry, overlay, jumbo) = scale;
        (snapshot, scaled(nodes, clients, connections, entry, overlay, jumbo))
    })
}

/// Gives every place a value, or none; all places of a row the same.
fn settle(snapshot: &mut Snapshot, values: &[usize], queues: u64) {
    for place in places(snapshot) {
        let index = KNOBS.iter().position(|row| row.knob.id == place.knob).expect("a row");
        let Some(&value) = VALUES.get(values[index]) else { continue };
        let sized = matches!(KNOBS[index].knob.locator, Locator::Ring { .. } | Locator::Channels);
        let choices = if sized { vec![queues.to_string()] } else { Vec::new() };
        snapshot.settings.push(Setting { place, value: Some(value.to_owned()), choices, missing: None });
    }
}

fn scaled(nodes: u32, clients: u32, connections: u32, entry: usize, overlay: bool, jumbo: bool) -> Site {
    let mut site = site();
    site.groups[0].count = nodes;
    (site.clients.count, site.clients.connections) = (clients, connections);
    site.entry = [
        Entry::ClientSide,
        Entry::ClusterMesh,
        Entry::Bgp { policy: TrafficPolicy::Local },
        Entry::NodePort { policy: TrafficPolicy::Cluster },
        Entry::L2Announcement { dsr: true, policy: TrafficPolicy::Local },
    ][entry];
    site.planes.public.mtu_bytes = if jumbo { 9000 } else { 1500 };
    if overlay {
        site.planes.public.encapsulation = Encapsulation::Vxlan;
    }
    site
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn a_machine_that_follows_the_advice_is_advised_nothing_else((snapshot, site) in machines()) {
        let (advised, left) = left_over(snapshot, &site);
        prop_assert!(advised > 60, "only {} advised", advised);
        prop_assert!(left.is_empty(), "{}", left.join("\n"));
    }
}

#[test]
fn the_fixture_is_advised_most_rows_and_follows_them() {
    let snapshot = machine();
    let all_places: Vec<SettingId> = places(&snapshot);
    let silent: Vec<&str> = KNOBS
        .iter()
        .filter(|row| {
            let mut own = all_places.iter().filter(|place| place.knob == row.knob.id);
            own.all(|place| advise(row, &snapshot, &site(), place).is_none())
        })
        .map(|row| row.knob.id)
        .collect();
    assert!(silent.len() < 60, "{} silent: {silent:?}", silent.len());
    assert_eq!(left_over(snapshot, &site()).1, Vec::<String>::new());
}

#[test]
fn settings_of_the_host_are_not_advised_inside_a_pod() {
    let snapshot = machine();
    let inside = |id: &str| {
        let place = SettingId { knob: id.to_owned(), device: None, space: Space::Pid(4711) };
        advise(find(id).expect(id), &snapshot, &site(), &place).is_some()
    };
    assert!(inside("net.core.somaxconn") && inside("net.ipv4.tcp_rmem") && inside("limits.nofile"));
    assert!(!inside("net.core.rmem_max") && !inside("vm.swappiness") && !inside("net.netfilter.nf_conntrack_max"));
}
