//! Sites of nodes with one port of 50 Gb/s for all, and drives, processors and memory in plenty.

use linerate_record::site::Site;

use crate::explained_sites::{nic, plane, site};

pub(crate) fn one_port(nodes: u32) -> Site {
    let mut site = site("nodes with one port", nodes, 50e9, 9000);
    let group = &mut site.groups[0];
    (group.cores, group.memory_bytes_per_s) = (256, 4e12);
    group.nics = vec![nic("eth0", 1, 50e9)];
    group.bonds.clear();
    site.planes.public = plane("eth0", 9000);
    site.planes.private = None;
    site.engine.tls = false;
    site
}
