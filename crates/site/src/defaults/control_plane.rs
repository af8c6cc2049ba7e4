//! The control plane, the DNS, and what applies settings to machines.

use linerate_record::site::{Applier, ClusterDns, ControlPlane, Prefix, key};

use super::kubernetes::{prefix, texts};
use super::{Defaults, Map, bytes, text, whole};

/// What the table has filled in is absent only where reading has found a mistake.
const NO_PREFIX: Prefix = Prefix { first: 0, length: 0 };

pub(super) fn control_plane(map: &Map, api_port: u32, filling: &mut Defaults) -> ControlPlane {
    const PATH: &str = key::KUBERNETES_CONTROL_PLANE;
    ControlPlane {
        version: text(map, "version").unwrap_or_default(),
        hosts: texts(map, "hosts"),
        bind_port: filling.or(whole(map, "bind_port"), PATH, "bind_port", api_port, "api_port"),
        port: whole(map, "port").unwrap_or_default(),
        service_cidr: prefix(map, "service_cidr").unwrap_or(NO_PREFIX),
        etcd_rtt_ns: bytes(map, "etcd_rtt"),
    }
}

pub(super) fn dns(map: &Map) -> ClusterDns {
    let text_or_empty = |key| text(map, key).unwrap_or_default();
    ClusterDns {
        domain: text_or_empty("domain"),
        cluster_ip: text(map, "cluster_ip"),
        image: text_or_empty("image"),
        cache_image: text_or_empty("cache_image"),
        upstream: texts(map, "upstream"),
    }
}

pub(super) fn applier(map: &Map) -> Applier {
    let text_or_empty = |key| text(map, key).unwrap_or_default();
    Applier { image: text_or_empty("image"), program: text_or_empty("program"), site: text(map, "site") }
}
