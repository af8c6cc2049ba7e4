//! Clusters that are made up here, discovered: the site that comes out is read as a site file, and compared with what
//! was made up.

use linerate_record::discovery::{
    DiscoveredSite, DiscoveryKind, DriveFormat, EngineDrive, EngineFacts, EnginePeer, NodeFacts,
};
use linerate_record::fleet::{MachineState, NodeRole};
use linerate_record::knob::{Disk, Mount, PcieDevice};
use linerate_record::machine::{MachineBond, MachineNic};
use linerate_record::site::{BondMode, Encapsulation, Product, Protection, Site, TransmitHash};

use crate::{DiscoveredNode, DiscoveryError, FleetCounts, discover};

const DRIVES: u32 = 4;

/// A node of two planes, each a bond of two ports on one card, with MinIO over four NVMe drives.
fn node(at: u32, all: u32) -> MachineState {
    let mut state = MachineState::default();
    let machine = &mut state.snapshot.machine;
    machine.kernel = "6.8.0-31-generic".to_owned();
    (machine.cpus, machine.numa_nodes, machine.memory_bytes) = (128, 2, 540_000_000_000);
    let port = |name: &str, gbits: u64, mtu_bytes| MachineNic {
        name: name.to_owned(),
        speed_bits_per_s: Some(gbits * 1_000_000_000),
        mtu_bytes,
        driver: Some("mlx5_core".to_owned()),
        ..MachineNic::default()
    };
    let bond = |name: &str, members: [&str; 2], gbits: u64| MachineNic {
        bond: Some(MachineBond {
            mode: "802.3ad".to_owned(),
            xmit_hash_policy: Some("layer3+4".to_owned()),
            members: members.map(str::to_owned).to_vec(),
        }),
        over: members.map(str::to_owned).to_vec(),
        driver: None,
        ..port(name, 2 * gbits, 9000)
    };
    machine.nics = vec![
        MachineNic { name: "lo".to_owned(), mtu_bytes: 65_536, ..MachineNic::default() },
        port("p0", 25, 9000),
        port("p1", 25, 9000),
        port("q0", 100, 9000),
        port("q1", 100, 9000),
        bond("bond0", ["p0", "p1"], 25),
        bond("bond1", ["q0", "q1"], 100),
    ];
    let device = |name: &str, address: &str, lanes| PcieDevice {
        address: address.to_owned(),
        name: name.to_owned(),
        speed_gt_per_s: (16.0, 16.0),
        lanes: (lanes, lanes),
        numa_node: Some(0),
    };
    let devices = &mut state.snapshot.devices;
    devices.pcie = [("p0", "0000:3b:00.0"), ("p1", "0000:3b:00.1"), ("q0", "0000:5e:00.0"), ("q1", "0000:5e:00.1")]
        .map(|(name, address)| device(name, address, 8))
        .to_vec();
    for drive in 0..DRIVES {
        let name = format!("nvme{drive}n1");
        devices.pcie.push(device(&name, &format!("0000:8{drive}:00.0"), 4));
        devices.disks.push(Disk { name, bytes: 7_681_501_126_656, ..Disk::default() });
    }
    devices.disks.push(Disk { name: "sda".to_owned(), bytes: 480_000_000_000, ..Disk::default() });
    devices.mounts = vec![Mount { device: "/dev/sda2".to_owned(), path: "/".to_owned(), ..Mount::default() }];
    state.facts = facts(at, all);
    state
}

fn facts(at: u32, all: u32) -> NodeFacts {
    let address = |plane: u32, host: u32| format!("10.{plane}.0.{host}").parse().unwrap();
    let drive = |drive: u32| EngineDrive {
        path: format!("/data{drive}"),
        disk: Some(format!("nvme{drive}n1")),
        disk_bytes: Some(7_681_501_126_656),
        file_system: Some("xfs".to_owned()),
        format: Some(DriveFormat {
            deployment: "d-1".to_owned(),
            this: format!("id-{at}-{drive}"),
            sets: vec![16; (all * DRIVES / 16) as usize],
            set: Some(at * DRIVES / 16),
        }),
    };
    let peer = |address, is_inbound, interface: &str| EnginePeer {
        address,
        is_inbound,
        connections: 3,
        interface: Some(interface.to_owned()),
    };
    let others = (0..all).filter(|other| *other != at).take(8);
    let mut peers: Vec<EnginePeer> = others.map(|other| peer(address(1, other + 1), true, "bond1")).collect();
    peers.extend([peer(address(0, 200), true, "bond0"), peer("192.0.2.9".parse().unwrap(), false, "bond1")]);
    let engine = EngineFacts {
        pid: 7,
        program: "minio".to_owned(),
        volumes: vec!["https://node{1...8}.example/data{0...3}".to_owned()],
        settings: [("MINIO_STORAGE_CLASS_STANDARD".to_owned(), "EC:4".to_owned())].into(),
        drives: (0..DRIVES).map(drive).collect(),
        peers,
        ..EngineFacts::default()
    };
    NodeFacts {
        sockets: Some(2),
        cores: Some(64),
        timestamps: Some(true),
        addresses: vec![address(0, at + 1), address(1, at + 1)],
        engines: vec![engine],
        ..NodeFacts::default()
    }
}

fn states(count: u32) -> Vec<MachineState> {
    (0..count).map(|at| node(at, count)).collect()
}

fn discovered(states: &[MachineState]) -> DiscoveredSite {
    let names: Vec<String> = (1..=states.len()).map(|number| format!("node{number}")).collect();
    let node = |(name, state)| DiscoveredNode { name, role: NodeRole::Storage, kind: None, rack: None, state };
    let nodes: Vec<DiscoveredNode<'_>> = names.iter().map(String::as_str).zip(states).map(node).collect();
    discover("here", &nodes, fleet(u32::try_from(states.len()).unwrap(), 0)).unwrap()
}

fn fleet(storage: u32, clients: u32) -> FleetCounts {
    FleetCounts { storage, clients }
}

fn site(found: &DiscoveredSite) -> Site {
    linerate_site::read(&found.site, "discovered").unwrap_or_else(|error| panic!("{error}\n{}", found.site))
}

fn claims(found: &DiscoveredSite) -> Vec<&str> {
    found.findings.iter().map(|finding| finding.claim.as_str()).collect()
}

#[test]
fn a_cluster_of_two_planes_is_described_as_it_is() {
    let found = discovered(&states(8));
    assert_eq!(claims(&found), [""; 0]);
    let site = site(&found);
    let [group] = &site.groups[..] else { panic!("{}", found.site) };
    assert_eq!((group.count, group.sockets, group.cores), (8, 2, 64));
    let kernel = group.kernel.unwrap();
    assert_eq!((kernel.major, kernel.minor), (6, 8));
    assert!(group.memory_bytes.abs_diff(540_000_000_000) < 1 << 20);
    let [drives] = &group.drives[..] else { panic!("{}", found.site) };
    assert_eq!((drives.count, drives.lanes, drives.generation, drives.numa_node), (4, 4, 4, Some(0)));
    assert!(drives.capacity_bytes.abs_diff(7_681_501_126_656) < 1_000_000_000);
    let nics: Vec<(&str, u32, f64, u32)> =
        group.nics.iter().map(|nic| (nic.name.as_str(), nic.ports, nic.speed_bits_per_s, nic.lanes)).collect();
    assert_eq!(nics, [("p0", 2, 25e9, 8), ("q0", 2, 100e9, 8)]);
    let bonds: Vec<(&str, BondMode, TransmitHash)> =
        group.bonds.iter().map(|bond| (bond.name.as_str(), bond.mode, bond.transmit_hash)).collect();
    let lacp = (BondMode::Lacp, TransmitHash::Layer34);
    assert_eq!(bonds, [("bond0", lacp.0, lacp.1), ("bond1", lacp.0, lacp.1)]);
    let private = site.planes.private.as_ref().unwrap();
    assert_eq!((site.planes.public.link.as_str(), private.link.as_str(), private.mtu_bytes), ("bond0", "bond1", 9000));
    assert_eq!((site.engine.product, site.engine.tls), (Product::Minio, true));
    assert_eq!(site.engine.protection, Protection::Sets { set_drives: Some(16), parity: Some(4) });
    for path in ["nodes.storage.cores", "planes.public.link", "engine.tls", "nodes.storage.drives.0.capacity"] {
        assert!(!site.is_assumed(path), "{path}");
    }
    assert!(site.is_assumed("nodes.storage.pcie"), "the fastest device says only what there is at least");
}

#[test]
fn each_contradiction_names_the_minority_and_the_site_has_the_majority() {
    type Change = fn(&mut MachineState);
    let cases: [(Change, &str); 9] = [
        (|state| state.snapshot.machine.nics[6].mtu_bytes = 1500, "MTU of bond1: 9000 on 7 nodes; 1500 on node3"),
        (|state| state.facts.cores = Some(32), "cores: 64 on 7 nodes; 32 on node3"),
        (|state| state.snapshot.machine.memory_bytes /= 2, "memory: 502.914GiB on 7 nodes; 251.457GiB on node3"),
        (
            |state| state.snapshot.machine.nics.retain(|nic| nic.name != "q1"),
            "ports of bond1: 2 × 100Gb/s on 7 nodes; 1 × 100Gb/s and 1 × unknown speed on node3",
        ),
        (
            |state| state.snapshot.machine.nics[5].bond.as_mut().unwrap().mode = "active-backup".to_owned(),
            "mode and hash of bond0: 802.3ad layer3+4 on 7 nodes; active-backup layer3+4 on node3",
        ),
        (
            |state| state.facts.engines[0].settings.values_mut().for_each(|parity| *parity = "EC:2".to_owned()),
            "parity: EC:4 on 7 nodes; EC:2 on node3",
        ),
        (
            |state| state.facts.engines[0].peers.iter_mut().for_each(|peer| peer.interface = Some("bond0".to_owned())),
            "link of the traffic among nodes: bond1 on 7 nodes; bond0 on node3",
        ),
        (|state| state.facts.engines.clear(), "no S3 server runs on node3, which the fleet says is for storage"),
        (
            |state| state.facts.engines[0].drives[1].format.as_mut().unwrap().deployment = "d-2".to_owned(),
            "drives of 2 deployments: the nodes are of several clusters",
        ),
    ];
    let whole = site(&discovered(&states(8)));
    for (change, claim) in cases {
        let mut states = states(8);
        change(&mut states[2]);
        let found = discovered(&states);
        assert!(claims(&found).contains(&claim), "{claim}: {:?}", claims(&found));
        assert_eq!(site(&found).groups, whole.groups, "{claim}");
        assert_eq!(site(&found).planes, whole.planes, "{claim}");
    }
}

#[test]
fn nodes_with_other_drives_are_a_kind_of_their_own_and_one_odd_node_is_none() {
    let mut all = states(8);
    for state in &mut all[5..] {
        state.facts.engines[0].drives.truncate(2);
        state.facts.cores = Some(32);
    }
    let found = discovered(&all);
    let kinds: Vec<(String, u32, u32)> =
        site(&found).groups.iter().map(|group| (group.name.clone(), group.count, group.drives[0].count)).collect();
    assert_eq!(kinds, [("storage-1".to_owned(), 5, 4), ("storage-2".to_owned(), 3, 2)]);
    let mut all = states(8);
    all[5].facts.engines[0].drives.truncate(2);
    let found = discovered(&all);
    assert_eq!(site(&found).groups.len(), 1);
    let drives = "drives: 4 × 7.682TB on 7 nodes; 2 × 7.682TB on node6";
    let missing = "the engine's sets have 32 drives, of which 30 were found";
    assert_eq!(claims(&found), [drives, missing]);
}

#[test]
fn traffic_on_the_slower_of_two_links_comes_first() {
    let mut all = states(8);
    for state in &mut all {
        state.facts.engines[0].peers.iter_mut().for_each(|peer| peer.interface = Some("bond0".to_owned()));
    }
    all[1].snapshot.machine.nics[5].mtu_bytes = 1500;
    let found = discovered(&all);
    assert_eq!(found.findings[0].kind, DiscoveryKind::Plane);
    let claim = "the clients' traffic runs over bond0 (50Gb/s), and bond1 (200Gb/s) carries none, on 8 nodes";
    assert_eq!(found.findings[0].claim, claim);
    assert!(site(&found).planes.private.is_none());
}

#[test]
fn a_tunnel_among_nodes_is_the_planes_encapsulation() {
    let mut all = states(4);
    for state in &mut all {
        state.facts.tunnels.insert("cilium_vxlan".to_owned(), "vxlan".to_owned());
        let to_nodes = |peer: &&mut EnginePeer| peer.interface.as_deref() == Some("bond1");
        state.facts.engines[0]
            .peers
            .iter_mut()
            .filter(to_nodes)
            .for_each(|peer| peer.interface = Some("cilium_vxlan".to_owned()));
    }
    let site = site(&discovered(&all));
    let private = site.planes.private.as_ref().unwrap();
    assert_eq!((private.encapsulation, private.link.as_str()), (Encapsulation::Vxlan, "bond1"));
    assert_eq!(site.planes.public.encapsulation, Encapsulation::None);
}

/// Without root, an agent sees neither folders nor connections: a site comes out, and says what is assumed.
#[test]
fn what_could_not_be_read_is_assumed_and_said_with_the_right_that_is_missing() {
    let mut all = states(3);
    for (at, state) in all.iter_mut().enumerate() {
        let engine = &mut state.facts.engines[0];
        (engine.drives, engine.peers, engine.volumes) = (Vec::new(), Vec::new(), Vec::new());
        engine.settings.clear();
        state.facts.unreadable = vec![format!("cannot read proc/{}/fd: Permission denied", 700 + at)];
    }
    let found = discovered(&all);
    assert_eq!(claims(&found), ["cannot read proc/PID/fd: Permission denied"]);
    assert_eq!(found.findings[0].nodes.len(), 3);
    assert!(found.findings[0].remedy.contains("sudo"), "{}", found.findings[0].remedy);
    let site = site(&found);
    assert_eq!((site.groups[0].drives[0].count, site.planes.public.link.as_str()), (4, "bond1"));
    assert!(site.is_assumed("nodes.storage.drives.0.count") && site.is_assumed("planes.public.link"));
}

#[test]
fn a_machine_without_anything_still_makes_a_site_that_reads() {
    let bare = vec![MachineState::default(), MachineState::default()];
    let found = discovered(&bare);
    assert_eq!(site(&found).groups[0].count, 2);
    assert!(!found.findings.is_empty());
}

#[test]
fn names_of_interfaces_cannot_write_keys_of_their_own() {
    let mut all = states(3);
    for state in &mut all {
        let engine = &mut state.facts.engines[0];
        engine.peers.iter_mut().for_each(|peer| peer.interface = Some("x\nkubernetes: {}".to_owned()));
    }
    let text = discovered(&all).site;
    assert!(text.lines().all(|line| !line.starts_with("kubernetes")), "{text}");
}

#[test]
fn clients_and_racks_are_those_of_the_fleet() {
    let states = states(4);
    let node = |name, role, rack, state| DiscoveredNode { name, role, kind: None, rack, state };
    let mut nodes: Vec<DiscoveredNode<'_>> = ["a", "b", "c"]
        .iter()
        .zip(&states)
        .map(|(name, state)| node(name, NodeRole::Storage, Some(*name), state))
        .collect();
    nodes.push(node("d", NodeRole::Client, None, &states[3]));
    let found = discover("here", &nodes, fleet(4, 1)).unwrap();
    let site = site(&found);
    // A node that was not read is one of the kind: the sets need its drives.
    assert_eq!((site.groups[0].count, site.is_assumed("nodes.storage.count")), (4, true));
    assert!(!claims(&found).iter().any(|claim| claim.contains("were found")), "{:?}", claims(&found));
    assert_eq!((site.groups[0].racks, site.clients.count, site.clients.speed_bits_per_s), (3, 1, 200e9));
    assert_eq!((found.nodes_read, found.nodes), (4, 5));
    assert_eq!(discover("here", &[], fleet(3, 0)), Err(DiscoveryError::NothingRead));
    assert_eq!(discover("here", &nodes[3..], fleet(3, 0)), Err(DiscoveryError::NoStorage));
}

/// A cluster that nobody uses at the moment: what is not seen is no difference to what somebody wrote.
#[test]
fn without_a_client_the_public_plane_is_assumed_and_differs_from_nothing() {
    let stated = site(&discovered(&states(8)));
    let mut idle = states(8);
    for state in &mut idle {
        let is_of_node = |peer: &EnginePeer| peer.interface.as_deref() == Some("bond1") && peer.is_inbound;
        state.facts.engines[0].peers.retain(is_of_node);
    }
    let found = site(&discovered(&idle));
    assert!(found.is_assumed("planes.public.link") && found.is_assumed("planes.public.mtu"));
    assert_eq!(crate::differences(&stated, &found), []);
}

#[test]
fn interfaces_of_pods_on_the_node_are_no_plane_and_ciliums_lead_to_the_tunnel() {
    let mut all = states(4);
    for state in &mut all {
        let veth = |name: &str| MachineNic { name: name.to_owned(), mtu_bytes: 1450, ..MachineNic::default() };
        state.snapshot.machine.nics.extend([veth("cali1ab"), veth("cilium_host")]);
        state.facts.tunnels.insert("cilium_vxlan".to_owned(), "vxlan".to_owned());
        for peer in &mut state.facts.engines[0].peers {
            let interface = if peer.interface.as_deref() == Some("bond1") { "cilium_host" } else { "cali1ab" };
            peer.interface = Some(interface.to_owned());
        }
    }
    let found = discovered(&all);
    let site = site(&found);
    // Which of two links the tunnel uses is not read.
    assert_eq!((site.planes.public.link.as_str(), site.is_assumed("planes.public.link")), ("bond1", true));
    assert_eq!(site.planes.public.encapsulation, Encapsulation::Vxlan);
    assert!(!found.site.contains("cali1ab") && !found.site.contains("cilium_host"), "{}", found.site);
}

#[test]
fn nodes_that_were_not_read_are_no_clients() {
    let states = states(4);
    let mut one = states[0].clone();
    // It dials the others too, whom nobody read.
    let dialled: Vec<EnginePeer> = one.facts.engines[0].peers.iter().filter(|peer| peer.is_inbound).cloned().collect();
    one.facts.engines[0].peers.retain(|peer| peer.interface.as_deref() == Some("bond1"));
    let outbound = dialled.into_iter().map(|peer| EnginePeer { is_inbound: false, ..peer });
    one.facts.engines[0].peers.extend(outbound);
    let node = DiscoveredNode { name: "a", role: NodeRole::Storage, kind: None, rack: None, state: &one };
    let found = discover("here", &[node], fleet(4, 0)).unwrap();
    assert!(site(&found).is_assumed("planes.public.link"), "{}", found.site);
}

#[test]
fn of_an_active_backup_bond_one_member_counts_and_no_number_overflows() {
    let mut all = states(4);
    for state in &mut all {
        let nics = &mut state.snapshot.machine.nics;
        nics[6].bond.as_mut().unwrap().mode = "active-backup".to_owned();
        (nics[3].speed_bits_per_s, nics[4].speed_bits_per_s) = (Some(25_000_000_000), Some(25_000_000_000));
        state.facts.engines[0].peers.iter_mut().for_each(|peer| {
            (peer.interface, peer.connections) = (Some("bond0".to_owned()), u32::MAX);
        });
    }
    assert_eq!(claims(&discovered(&all)), [""; 0], "one member of bond1 is no faster than both of bond0");
    for state in &mut all {
        state.snapshot.machine.nics.iter_mut().for_each(|nic| nic.speed_bits_per_s = Some(u64::MAX));
    }
    discovered(&all);
}

#[test]
fn drives_of_one_size_on_two_buses_are_two_kinds_and_shared_drives_are_assumed() {
    let mut all = states(4);
    for state in &mut all {
        let drives = &mut state.facts.engines[0].drives;
        drives[3].disk = Some("sdb".to_owned());
    }
    let group = &site(&discovered(&all)).groups[0];
    let drives: Vec<(u32, u32)> = group.drives.iter().map(|drives| (drives.count, drives.lanes)).collect();
    assert_eq!(drives, [(3, 4), (1, 0)]);
    for state in &mut all {
        state.facts.engines[0].drives.iter_mut().for_each(|drive| drive.disk = Some("nvme0n1".to_owned()));
    }
    let found = discovered(&all);
    assert!(site(&found).is_assumed("nodes.storage.drives.0.count"), "{}", found.site);
    assert!(claims(&found).iter().any(|claim| claim.contains("share drives")), "{:?}", claims(&found));
}
