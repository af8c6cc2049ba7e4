//! Published figures of Ceph's RADOS Gateway.

use linerate_record::site::{Product, Protection, Site};

use crate::explained_sites::{bond, drives, nic, site};

/// Bytes of a GiB.
const GIB: f64 = 1_073_741_824.0;

/// A published figure of Ceph's RADOS Gateway.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rgw {
    pub(crate) name: &'static str,
    nodes: u32,
    data: u32,
    parity: u32,
    object_bytes: u64,
    tls: bool,
    internal_tls: bool,
    /// In bytes per second.
    pub(crate) get: f64,
    pub(crate) put: f64,
}

/// GET and PUT of one lab: nodes with 64 cores, 24 NVMe drives and two 100 GbE ports as LACP
/// (ceph.io, "Benchmarking the Ceph Object Gateway", parts 2 and 3, 2025).
pub(crate) fn rgw_cases() -> [Rgw; 6] {
    let (mib, large) = (GIB / 1024.0, 32 << 20);
    let gateway = |name, nodes, (data, parity), (tls, internal_tls), (get, put)| Rgw {
        name,
        nodes,
        data,
        parity,
        object_bytes: 4 << 20,
        tls,
        internal_tls,
        get,
        put,
    };
    let first = gateway("12 nodes, 2+2, 32 MiB", 12, (2, 2), (true, false), (111.0 * GIB, 65.8 * GIB));
    [
        Rgw { object_bytes: large, ..first },
        gateway("4 nodes, 2+2", 4, (2, 2), (true, false), (39.0 * GIB, 15.5 * GIB)),
        gateway("12 nodes, 2+2", 12, (2, 2), (true, false), (113.0 * GIB, 50.0 * GIB)),
        gateway("12 nodes, 8+3, no TLS", 12, (8, 3), (false, false), (96_351.0 * mib, 58_086.0 * mib)),
        gateway("12 nodes, 8+3", 12, (8, 3), (true, false), (95_965.0 * mib, 55_651.0 * mib)),
        gateway("12 nodes, 8+3, messenger secure", 12, (8, 3), (true, true), (95_671.0 * mib, 52_994.0 * mib)),
    ]
}

impl Rgw {
    /// Its site. Drives and MTU are not told.
    pub(crate) fn site(&self) -> Site {
        let mut site = site(self.name, self.nodes, 100e9, 9000);
        site.engine.product = Product::CephRgw;
        site.engine.protection = Protection::Erasure { data: self.data, parity: self.parity };
        (site.engine.tls, site.engine.internal_tls) = (self.tls, self.internal_tls);
        site.data.object_bytes = self.object_bytes;
        let group = &mut site.groups[0];
        group.cores = 64;
        group.drives = vec![drives(24, 6.8e9, 4e9)];
        group.nics = vec![nic("p0", 2, 100e9)];
        group.bonds = vec![bond("bond0", "p0")];
        site.planes.private = None;
        for path in ["nodes.storage.drives", "planes.public.mtu"] {
            site.assumed.insert(path.to_owned(), "the source does not tell it".to_owned());
        }
        site
    }
}
