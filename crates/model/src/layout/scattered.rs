//! Shards and copies that are placed one to a node: Ceph's pools with hosts as failure domain, and Garage.

use linerate_record::site::Site;

use super::{Geometry, LayoutError, Pool, nodes_per_rack};

/// One pool over all groups.
pub(super) fn pool(site: &Site, groups: Vec<usize>, geometry: Geometry) -> Result<Pool, LayoutError> {
    let nodes = groups.iter().map(|&place| site.groups[place].count).sum();
    if geometry.shards == 0 || geometry.data == 0 {
        return Err(LayoutError::NoData { data: geometry.data.min(geometry.shards) });
    }
    if nodes < geometry.shards {
        return Err(LayoutError::TooFewNodes { shards: geometry.shards, nodes });
    }
    let drives_at = |place: &usize| {
        let group = &site.groups[*place];
        u64::from(group.count) * u64::from(group.drives_per_node())
    };
    let drives = groups.iter().map(drives_at).sum();
    let racks = shared_racks(groups.iter().map(|&place| nodes_per_rack(&site.groups[place])));
    Ok(Pool { groups, nodes, drives, racks, geometry })
}

/// Groups share racks, as far as they have as many.
fn shared_racks(groups: impl Iterator<Item = Vec<u32>>) -> Vec<u32> {
    let mut racks: Vec<u32> = Vec::new();
    for group in groups {
        racks.resize(racks.len().max(group.len()), 0);
        for (rack, nodes) in racks.iter_mut().zip(group) {
            *rack += nodes;
        }
    }
    racks
}
