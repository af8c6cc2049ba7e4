//! A lab after a site: the same nodes, networks and drives, with all rates divided by one number, so that the ratios of
//! their ceilings stay.

use linerate_record::site::{BondMode, ClientsOn, Drives, Encapsulation, NodeGroup, Plane as SitePlane, Site};
use linerate_record::units::bits_per_s;

use crate::bonds::BondSpec;
use crate::folder::ScaledSite;
use crate::spec::{ClientSpec, DriveLimits, DriveSpec, LabSpec, NodeSpec, PlaneSpec};

/// What all links of nodes together may be for each processor of the machine: an engine's own work on a byte, and that
/// of clients, leave about so much of one.
const LINK_BITS_PER_S_PER_PROCESSOR: f64 = 4e8;

/// Clients of a lab: more of a site share the same processors, and are put together.
const CLIENTS_MAX: u32 = 8;

/// How a site is made small.
#[derive(Clone, Copy, Debug)]
pub struct ScaleRequest {
    /// What rates are divided by; by what this machine's processors carry if absent.
    pub divisor: Option<f64>,
    /// Nodes of the lab, of each kind its share; as many as the site has if absent.
    pub nodes: Option<u32>,
    /// Drives of each node, which do together what the site's do; as many as the site has if absent.
    pub drives: Option<u32>,
    pub drive_bytes: u64,
    /// Processors of this machine.
    pub processors: u32,
    /// Whether the kernel of this machine has bonds.
    pub has_bonds: bool,
}

/// The lab of a site.
#[must_use]
pub fn scaled(site: &Site, request: ScaleRequest) -> (LabSpec, ScaledSite) {
    let (site, fewer) = with_fewer(site, request);
    let (spec, mut scaled) = divided(&site, request);
    scaled.differs.splice(0..0, fewer);
    (spec, scaled)
}

/// A site with fewer nodes and drives, and what it has not then. Its clients and uplinks are as much less as its nodes.
fn with_fewer(site: &Site, request: ScaleRequest) -> (Site, Vec<String>) {
    let (mut small, mut fewer) = (site.clone(), Vec::new());
    let all: u32 = site.groups.iter().map(|group| group.count).sum();
    if let Some(nodes) = request.nodes.filter(|nodes| *nodes < all) {
        let share = f64::from(nodes) / f64::from(all.max(1));
        for group in &mut small.groups {
            group.count = ((f64::from(group.count) * share).round() as u32).max(1);
            group.racks = group.racks.min(group.count);
        }
        let racks = |site: &Site| f64::from(site.groups.iter().map(|group| group.racks).max().unwrap_or(1));
        let of_rack = share * racks(site) / racks(&small);
        small.fabric.rack_uplink_bits_per_s = rack_uplink_bits_per_s(site).map(|rate| rate * of_rack);
        small.clients.speed_bits_per_s *= share;
        let count: u32 = small.groups.iter().map(|group| group.count).sum();
        fewer.push(format!("nodes: {count} of {all}; clients and uplinks have as much less"));
    }
    for group in &mut small.groups {
        let all: u32 = group.drives.iter().map(|drives| drives.count).sum();
        let Some(drives) = request.drives.filter(|drives| *drives < all) else { continue };
        group.drives = vec![put_together(&group.drives, drives)];
        fewer.push(format!("drives of {}: {drives} of {all}, which do together what all do", group.name));
    }
    (small, fewer)
}

/// So many drives that do together what these do.
fn put_together(all: &[Drives], count: u32) -> Drives {
    let sum = |figure: fn(&Drives) -> f64| {
        all.iter().map(|drives| f64::from(drives.count) * figure(drives)).sum::<f64>() / f64::from(count)
    };
    Drives {
        count,
        capacity_bytes: sum(|drives| drives.capacity_bytes as f64) as u64,
        read_bytes_per_s: sum(|drives| drives.read_bytes_per_s),
        write_bytes_per_s: sum(|drives| drives.write_bytes_per_s),
        read_iops: sum(|drives| drives.read_iops),
        write_iops: sum(|drives| drives.write_iops),
        ..all[0].clone()
    }
}

fn divided(site: &Site, request: ScaleRequest) -> (LabSpec, ScaledSite) {
    let planes = || [Some(&site.planes.public), site.planes.private.as_ref()].into_iter().flatten();
    let link = |group: &NodeGroup, plane: &SitePlane| link_bits_per_s(group, &plane.link);
    let of_group = |group: &NodeGroup| planes().filter_map(|plane| link(group, plane)).sum::<f64>();
    let all: f64 = site.groups.iter().map(|group| f64::from(group.count) * of_group(group)).sum();
    let most = LINK_BITS_PER_S_PER_PROCESSOR * f64::from(request.processors.max(1));
    let divisor = request.divisor.unwrap_or_else(|| (all / most).max(1.0));
    let nodes = site.groups.iter().flat_map(|group| nodes(site, group, divisor, request)).collect();
    let plane = |plane: &SitePlane| PlaneSpec {
        mtu_bytes: plane.mtu_bytes,
        vxlan: plane.encapsulation == Encapsulation::Vxlan,
    };
    let spec = LabSpec {
        nodes,
        clients: clients(site, divisor),
        public: plane(&site.planes.public),
        private: site.planes.private.as_ref().map(plane),
        rack_uplink_bits_per_s: rack_uplink_bits_per_s(site).map(|rate| rate / divisor),
    };
    (spec, ScaledSite { site: site.name.clone(), divisor, differs: differs(site, request.has_bonds) })
}

/// What a link carries each way.
fn link_bits_per_s(group: &NodeGroup, link: &str) -> Option<f64> {
    let nic = |name: &str| group.nics.iter().find(|nic| nic.name == name);
    if let Some(nic) = nic(link) {
        return Some(nic.speed_bits_per_s);
    }
    let bond = group.bonds.iter().find(|bond| bond.name == link)?;
    let ports: Vec<f64> = bond
        .nics
        .iter()
        .filter_map(|name| nic(name))
        .flat_map(|nic| vec![nic.speed_bits_per_s; nic.ports as usize])
        .collect();
    match bond.mode {
        BondMode::ActiveBackup | BondMode::Broadcast => ports.first().copied(),
        _ => Some(ports.iter().sum()),
    }
}

/// How a link is shared among ports, if it is and a lab can have it.
fn bond(group: &NodeGroup, link: &str, has_bonds: bool) -> Option<BondSpec> {
    let bond = group.bonds.iter().find(|bond| bond.name == link)?;
    let of_nic = |name: &String| group.nics.iter().find(|nic| nic.name == *name).map_or(0, |nic| nic.ports);
    let (mode, transmit_hash, switch_hash) = (bond.mode, bond.transmit_hash, bond.switch_hash);
    let spec = BondSpec { ports: bond.nics.iter().map(of_nic).sum(), mode, transmit_hash, switch_hash };
    (has_bonds && spec.ports > 1 && spec.is_supported()).then_some(spec)
}

fn nodes(site: &Site, group: &NodeGroup, divisor: f64, request: ScaleRequest) -> Vec<NodeSpec> {
    let ScaleRequest { drive_bytes, has_bonds, .. } = request;
    let bond = |plane: &SitePlane| bond(group, &plane.link, has_bonds);
    let rate = |plane: &SitePlane| link_bits_per_s(group, &plane.link).map(|rate| rate / divisor);
    let drive = |drives: &Drives| DriveSpec {
        size_bytes: drive_bytes.min(drives.capacity_bytes),
        limits: DriveLimits {
            read_bytes_per_s: Some(drives.read_bytes_per_s / divisor),
            write_bytes_per_s: Some(drives.write_bytes_per_s / divisor),
            read_iops: Some((drives.read_iops / divisor).max(1.0)),
            write_iops: Some((drives.write_iops / divisor).max(1.0)),
        },
    };
    let drives: Vec<DriveSpec> =
        group.drives.iter().flat_map(|drives| vec![drive(drives); drives.count as usize]).collect();
    let node = |number: u32| NodeSpec {
        kind: group.name.clone(),
        rack: 1 + number * group.racks / group.count.max(1),
        public_bits_per_s: rate(&site.planes.public),
        private_bits_per_s: site.planes.private.as_ref().and_then(rate),
        public_bond: bond(&site.planes.public),
        private_bond: site.planes.private.as_ref().and_then(bond),
        drives: drives.clone(),
        cores: None,
    };
    (0..group.count).map(node).collect()
}

fn clients(site: &Site, divisor: f64) -> Vec<ClientSpec> {
    let clients = &site.clients;
    if clients.count == 0 || clients.on == ClientsOn::Nodes {
        return vec![ClientSpec { bits_per_s: None }];
    }
    let count = clients.count.min(CLIENTS_MAX);
    let all = f64::from(clients.count) * f64::from(clients.ports) * clients.speed_bits_per_s;
    vec![ClientSpec { bits_per_s: Some(all / f64::from(count) / divisor) }; count as usize]
}

/// All uplinks of a rack together, each way.
fn rack_uplink_bits_per_s(site: &Site) -> Option<f64> {
    if let Some(rate) = site.fabric.rack_uplink_bits_per_s {
        return Some(rate);
    }
    let over = site.fabric.oversubscription?;
    let ports =
        |group: &NodeGroup| group.nics.iter().map(|nic| f64::from(nic.ports) * nic.speed_bits_per_s).sum::<f64>();
    let racks = f64::from(site.groups.iter().map(|group| group.racks).max().unwrap_or(1).max(1));
    let all: f64 = site.groups.iter().map(|group| f64::from(group.count) * ports(group)).sum();
    Some(all / racks / over)
}

/// What a lab of the site has not.
fn differs(site: &Site, has_bonds: bool) -> Vec<String> {
    let mut all = vec![
        "processors, memory and PCIe: all nodes share those of this machine; none of them is scaled".to_owned(),
        "what is written through the page cache of a drive is not held back under control groups of version 1"
            .to_owned(),
    ];
    let is_one_link = |group: &NodeGroup| group.bonds.iter().any(|of| bond(group, &of.name, has_bonds).is_none());
    if site.groups.iter().any(is_one_link) {
        let why = if has_bonds { "of other modes than a switch shares" } else { "which this machine's kernel has not" };
        all.push(format!("bonds {why}: each is one link of the same speed, over which connections are not hashed"));
    }
    if site.clients.on == ClientsOn::Nodes {
        all.push("clients on the nodes: they are a machine of their own".to_owned());
    } else if site.clients.count > CLIENTS_MAX {
        let speed =
            bits_per_s(f64::from(site.clients.count) * f64::from(site.clients.ports) * site.clients.speed_bits_per_s);
        all.push(format!("clients: {CLIENTS_MAX} of as much together, which is {speed} in the site"));
    }
    let planes = [Some(&site.planes.public), site.planes.private.as_ref()];
    if let Some(plane) = planes
        .into_iter()
        .flatten()
        .find(|plane| !matches!(plane.encapsulation, Encapsulation::None | Encapsulation::Vxlan))
    {
        all.push(format!("the encapsulation of {}: it has none", plane.link));
    }
    if site.fabric.spines > 1 {
        all.push("spines: one, over which paths are not hashed".to_owned());
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    const SITE: &str = "
name: example
nodes:
  count: 8
  racks: 2
  drives: {count: 4, capacity: 7.68TB, read: 6.4GB/s, write: 3.2GB/s, read_iops: 800k, write_iops: 160k}
  nics: [{name: nic0, ports: 2, speed: 25Gb/s}, {name: nic1, speed: 100Gb/s}]
  bonds: {name: bond0, nics: nic0, mode: 802.3ad}
planes: {public: {link: bond0, mtu: 9000}, private: {link: nic1, mtu: 1500, encapsulation: vxlan}}
fabric: {oversubscription: 2:1, spines: 4}
clients: {count: 20, speed: 10Gb/s}
engine: minio
";

    const REQUEST: ScaleRequest = ScaleRequest {
        divisor: None,
        nodes: None,
        drives: None,
        drive_bytes: 1 << 30,
        processors: 2,
        has_bonds: false,
    };

    fn scale(divisor: Option<f64>) -> (LabSpec, ScaledSite) {
        let site = linerate_site::read(SITE, "site.yaml").unwrap_or_else(|error| panic!("{error}"));
        scaled(&site, ScaleRequest { divisor, ..REQUEST })
    }

    #[test]
    fn fewer_nodes_have_less_of_everything_and_fewer_drives_do_as_much() {
        let site = linerate_site::read(SITE, "site.yaml").unwrap_or_else(|error| panic!("{error}"));
        let request = ScaleRequest { divisor: Some(500.0), nodes: Some(4), drives: Some(2), ..REQUEST };
        let ((small, how), (whole, _)) = (scaled(&site, request), scale(Some(500.0)));
        assert_eq!((small.nodes.len(), small.racks(), small.nodes[0].drives.len()), (4, 2, 2));
        assert_eq!(small.nodes[0].public_bits_per_s, whole.nodes[0].public_bits_per_s);
        assert_eq!(small.rack_uplink_bits_per_s, whole.rack_uplink_bits_per_s.map(|rate| rate / 2.0));
        let clients = |spec: &LabSpec| spec.clients.iter().filter_map(|client| client.bits_per_s).sum::<f64>();
        assert!((clients(&small) * 2.0 / clients(&whole) - 1.0).abs() < 1e-9);
        let written = |spec: &LabSpec| {
            spec.nodes[0].drives.iter().filter_map(|drive| drive.limits.write_bytes_per_s).sum::<f64>()
        };
        assert!((written(&small) / written(&whole) - 1.0).abs() < 1e-9);
        assert!(how.differs[0].contains("4 of 8") && how.differs[1].contains("2 of 4"), "{:?}", how.differs);
    }

    #[test]
    fn ratios_of_ceilings_stay() {
        let (spec, how) = scale(Some(500.0));
        assert!(spec.check().is_ok() && spec.nodes.len() == 8 && spec.racks() == 2);
        let node = &spec.nodes[7];
        assert_eq!((node.rack, node.public_bits_per_s, node.private_bits_per_s), (2, Some(1e8), Some(2e8)));
        assert_eq!((node.drives.len(), node.drives[0].size_bytes), (4, 1 << 30));
        assert_eq!(node.drives[0].limits.write_bytes_per_s, Some(6.4e6));
        // A rack has 4 nodes of 150 Gb/s, at half of that, divided by 500.
        assert_eq!(spec.rack_uplink_bits_per_s, Some(6e8));
        // 20 clients of 10 Gb/s are 8 of 25 Gb/s.
        assert_eq!((spec.clients.len(), spec.clients[0].bits_per_s), (8, Some(5e7)));
        assert!(spec.private.is_some_and(|plane| plane.vxlan));
        for part in ["processors", "bonds", "clients: 8", "spines"] {
            assert!(how.differs.iter().any(|what| what.contains(part)), "{part}: {:?}", how.differs);
        }
    }

    #[test]
    fn bonds_are_those_of_the_site_where_the_kernel_has_them() {
        let site = linerate_site::read(SITE, "site.yaml").unwrap_or_else(|error| panic!("{error}"));
        let (spec, how) = scaled(&site, ScaleRequest { divisor: Some(500.0), has_bonds: true, ..REQUEST });
        let bond = spec.nodes[0].public_bond.unwrap_or_else(|| panic!("{spec:?}"));
        assert_eq!((bond.ports, bond.mode, spec.nodes[0].private_bond), (2, BondMode::Lacp, None));
        assert!(!how.differs.iter().any(|what| what.contains("bonds")), "{:?}", how.differs);
        assert_eq!(scale(Some(500.0)).0.nodes[0].public_bond, None);
    }

    #[test]
    fn without_a_number_the_links_are_what_the_processors_carry() {
        let (spec, how) = scale(None);
        // 8 nodes of 150 Gb/s are 1.2 Tb/s, and two processors carry 0.8 Gb/s.
        assert!((how.divisor - 1500.0).abs() < 1e-6, "{}", how.divisor);
        assert!(spec.nodes[0].public_bits_per_s.is_some_and(|rate| (rate - 5e10 / 1500.0).abs() < 1.0));
    }
}
