//! Use of the resources of nodes against the ceilings that the model gives them, and of the members of bonds.

use linerate_record::diagnosis::{MemberUse, ResourceUse};
use linerate_record::plan::Resource;
use linerate_record::readings::ReadMeasure;
use linerate_record::site::{NodeGroup, Site};

use super::links::{LinkPlane, capacity, member_capacity, members, planes};
use super::readings_grid::{Grid, Values, quantile};
use crate::bond::{Direction, ports};

/// From such a share on, a resource is full.
pub(super) const FULL: f64 = 0.9;

/// From such a share on, one member carries all.
const ON_ONE: f64 = 0.9;

/// Use of one resource at one node over time, as a share.
pub(super) struct NodeUse {
    pub(super) resource: Resource,
    pub(super) group: usize,
    pub(super) node: usize,
    pub(super) part: String,
    pub(super) capacity: f64,
    pub(super) shares: Vec<Option<f64>>,
}

fn shares(values: &Values, capacity: f64) -> Vec<Option<f64>> {
    values.iter().map(|value| value.map(|value| value / capacity.max(f64::MIN_POSITIVE))).collect()
}

/// Use of links, processors and drives at every node. `interfaces` has one a plane for each node.
pub(super) fn node_uses(grid: &Grid<'_>, site: &Site, interfaces: &[Vec<Option<&str>>]) -> Vec<NodeUse> {
    let planes = planes(site);
    let mut uses = Vec::new();
    for (node, machine) in grid.nodes.iter().enumerate() {
        let group = &site.groups[machine.group];
        for (place, plane) in planes.iter().enumerate() {
            let Some(interface) = interfaces[node][place] else { continue };
            for way in plane.ways {
                let Some(values) = grid.part(way.measure, node, interface) else { continue };
                let capacity = capacity(group, plane.plane, way.direction);
                let (resource, part) = (way.resource, interface.to_owned());
                let shares = shares(values, capacity);
                uses.push(NodeUse { resource, group: machine.group, node, part, capacity, shares });
            }
        }
        uses.extend(processors(grid, node, group));
        uses.extend(drives(grid, node, group));
    }
    uses.retain(|one| one.capacity > 0.0);
    uses
}

/// Nanoseconds of a core in a second, which processors are counted in.
const NS_PER_S: f64 = 1e9;

fn processors(grid: &Grid<'_>, node: usize, group: &NodeGroup) -> Option<NodeUse> {
    let busy = grid.whole(ReadMeasure::CoresBusy, node)?;
    let cores = grid.whole(ReadMeasure::Cores, node).and_then(|values| grid.median(values));
    let cores = cores.unwrap_or(f64::from(group.cores));
    Some(NodeUse {
        resource: Resource::Cpu,
        group: grid.nodes[node].group,
        node,
        part: String::new(),
        capacity: cores * NS_PER_S,
        shares: shares(busy, cores),
    })
}

/// Reading and writing share a drive's time: each counts by what the drive does of it alone.
fn drives(grid: &Grid<'_>, node: usize, group: &NodeGroup) -> Option<NodeUse> {
    let each = |extract: fn(&linerate_record::site::Drives) -> f64| -> f64 {
        group.drives.iter().map(|drives| f64::from(drives.count) * extract(drives)).sum()
    };
    let (read_most, write_most) = (each(|drives| drives.read_bytes_per_s), each(|drives| drives.write_bytes_per_s));
    let count: u32 = group.drives.iter().map(|drives| drives.count).sum();
    let (read, written) = (grid.parts(ReadMeasure::DriveRead, node), grid.parts(ReadMeasure::DriveWritten, node));
    // A system's own drive may be among them; far fewer than the site has are others.
    if (read.len() as u32) < count || read_most <= 0.0 || write_most <= 0.0 {
        return None;
    }
    let steps = grid.is_busy.len();
    let mut shares = vec![None; steps];
    for (all, most) in [(read, read_most), (written, write_most)] {
        for (_, values) in all {
            for (share, value) in shares.iter_mut().zip(*values) {
                if let Some(value) = value {
                    *share = Some(share.unwrap_or(0.0) + value / most);
                }
            }
        }
    }
    let (resource, group) = (Resource::DriveBandwidth, grid.nodes[node].group);
    Some(NodeUse { resource, group, node, part: "drives".to_owned(), capacity: read_most, shares })
}

/// Resources of each kind of nodes, the fullest first.
pub(super) fn used(grid: &Grid<'_>, site: &Site, uses: &[NodeUse]) -> Vec<ResourceUse> {
    let mut found: Vec<ResourceUse> = Vec::new();
    let mut keys: Vec<(Resource, usize)> = uses.iter().map(|one| (one.resource, one.group)).collect();
    keys.sort_unstable();
    keys.dedup();
    for (resource, group) in keys {
        let uses_of_resource = uses.iter().filter(|one| (one.resource, one.group) == (resource, group));
        let each: Vec<(f64, &NodeUse)> =
            uses_of_resource.filter_map(|one| grid.median(&one.shares).map(|share| (share, one))).collect();
        let Some((most, at)) = each.iter().max_by(|a, b| a.0.total_cmp(&b.0)) else { continue };
        let mut all: Vec<f64> = each.iter().map(|(share, _)| *share).collect();
        found.push(ResourceUse {
            resource,
            group: site.groups[group].name.clone(),
            part: at.part.clone(),
            capacity: at.capacity,
            full_nodes: all.iter().filter(|share| **share >= FULL).count() as u32,
            nodes: all.len() as u32,
            share: quantile(&mut all, 0.5).unwrap_or(0.0),
            most_share: *most,
            most_node: grid.nodes[at.node].name.clone(),
        });
    }
    found.sort_by(|a, b| b.share.total_cmp(&a.share));
    found
}

/// How one node uses the members of a bond in a direction.
struct NodeMembers<'r> {
    bond: &'r str,
    busiest_share: f64,
    busiest_used: f64,
}

/// How bonds use their members: of each plane, kind of nodes and direction.
pub(super) fn member_uses(grid: &Grid<'_>, site: &Site, interfaces: &[Vec<Option<&str>>]) -> Vec<MemberUse> {
    let planes = planes(site);
    let mut found = Vec::new();
    for (place, plane) in planes.iter().enumerate() {
        for (kind, group) in site.groups.iter().enumerate() {
            let count = ports(group, &plane.plane.link);
            let is_bond = group.bonds.iter().any(|bond| bond.name == plane.plane.link);
            if !is_bond || count < 2 {
                continue;
            }
            for way in plane.ways {
                let nodes = (0..grid.nodes.len()).filter(|node| grid.nodes[*node].group == kind);
                let each: Vec<NodeMembers<'_>> = nodes
                    .filter_map(|node| of_node(grid, node, interfaces[node][place]?, plane, group, way.measure, count))
                    .collect();
                let Some(first) = each.first() else { continue };
                let middle = |extract: fn(&NodeMembers<'_>) -> f64| {
                    quantile(&mut each.iter().map(extract).collect::<Vec<f64>>(), 0.5).unwrap_or(0.0)
                };
                found.push(MemberUse {
                    bond: first.bond.to_owned(),
                    link: plane.plane.link.clone(),
                    group: group.name.clone(),
                    is_sent: way.direction == Direction::Egress,
                    members: count,
                    busiest_share: middle(|one| one.busiest_share),
                    busiest_used_share: middle(|one| one.busiest_used),
                    on_one_nodes: each.iter().filter(|one| one.busiest_share >= ON_ONE).count() as u32,
                    nodes: each.len() as u32,
                });
            }
        }
    }
    found
}

fn of_node<'r>(
    grid: &Grid<'r>,
    node: usize,
    bond: &'r str,
    plane: &LinkPlane<'_>,
    group: &NodeGroup,
    of: ReadMeasure,
    count: u32,
) -> Option<NodeMembers<'r>> {
    let members = members(grid, node, bond, count)?;
    let each: Vec<f64> =
        members.iter().filter_map(|name| grid.part(of, node, name).and_then(|values| grid.mean(values))).collect();
    let (sum, most) = (each.iter().sum::<f64>(), each.iter().copied().fold(0.0, f64::max));
    let capacity = member_capacity(group, plane.plane);
    // What carries requests and acknowledgements alone says nothing of members.
    const TELLING: f64 = 0.02;
    (sum > TELLING * capacity).then(|| NodeMembers { bond, busiest_share: most / sum, busiest_used: most / capacity })
}
