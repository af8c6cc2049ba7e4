//! Paths of the keys of a site's file that code names: in a message, as the input of a ceiling, or as what is assumed.
//! The room `site` has the table of all keys, and tests that each of these is in it.

macro_rules! keys {
    ($($name:ident = $path:literal;)*) => {
        $(pub const $name: &str = $path;)*
        /// All of this module.
        pub const ALL: &[&str] = &[$($path),*];
    };
}

keys! {
    CLIENTS_BOND = "clients.bond";
    CLIENTS_CONNECTIONS = "clients.connections";
    CLIENTS_COUNT = "clients.count";
    CLIENTS_MTU = "clients.mtu";
    CLIENTS_ON = "clients.on";
    CLIENTS_PER_CORE = "clients.per_core";
    CLIENTS_PORTS = "clients.ports";
    CLIENTS_SPEED = "clients.speed";
    DATA_OBJECT_SIZE = "data.object_size";
    ENGINE_ENCRYPTION = "engine.encryption";
    ENGINE_INTERNAL_TLS = "engine.internal_tls";
    ENGINE_LOCAL_SHARDS = "engine.local_shards";
    ENGINE_PRODUCT = "engine.product";
    ENGINE_PROTECTION = "engine.protection";
    ENGINE_SET_DRIVES = "engine.set_drives";
    ENGINE_TLS = "engine.tls";
    ENTRY_DSR = "entry.dsr";
    ENTRY_PATH = "entry.path";
    ENTRY_POLICY = "entry.policy";
    FABRIC_OVERSUBSCRIPTION = "fabric.oversubscription";
    FABRIC_RACK_UPLINKS = "fabric.rack_uplinks";
    GOALS_REBUILD_SHARE = "goals.rebuild_share";
    KUBERNETES_API_PORT = "kubernetes.api_port";
    KUBERNETES_API_SERVER = "kubernetes.api_server";
    KUBERNETES_APPLIER_IMAGE = "kubernetes.applier.image";
    KUBERNETES_BGP_LOCAL_AS = "kubernetes.bgp.local_as";
    KUBERNETES_BGP_PEER_AS = "kubernetes.bgp.peer_as";
    KUBERNETES_CONTROL_PLANE = "kubernetes.control_plane";
    KUBERNETES_CONTROL_PLANE_BIND_PORT = "kubernetes.control_plane.bind_port";
    KUBERNETES_CONTROL_PLANE_PORT = "kubernetes.control_plane.port";
    KUBERNETES_CONTROL_PLANE_SERVICE_CIDR = "kubernetes.control_plane.service_cidr";
    KUBERNETES_CONTROL_PLANE_VERSION = "kubernetes.control_plane.version";
    KUBERNETES_DNS_CACHE_IMAGE = "kubernetes.dns.cache_image";
    KUBERNETES_DNS_CLUSTER_IP = "kubernetes.dns.cluster_ip";
    KUBERNETES_DNS_DOMAIN = "kubernetes.dns.domain";
    KUBERNETES_DNS_IMAGE = "kubernetes.dns.image";
    KUBERNETES_DNS_UPSTREAM = "kubernetes.dns.upstream";
    KUBERNETES_GIT_PROJECT = "kubernetes.git.project";
    KUBERNETES_GIT_REPOSITORY = "kubernetes.git.repository";
    KUBERNETES_GIT_REVISION = "kubernetes.git.revision";
    KUBERNETES_HOSTS = "kubernetes.hosts";
    KUBERNETES_IMAGE = "kubernetes.image";
    KUBERNETES_LOAD = "kubernetes.load";
    KUBERNETES_LOAD_NAMESPACE = "kubernetes.load.namespace";
    KUBERNETES_LOAD_BALANCER = "kubernetes.load_balancer";
    KUBERNETES_MESH_ID = "kubernetes.mesh.id";
    KUBERNETES_MESH_NAME = "kubernetes.mesh.name";
    KUBERNETES_NAMESPACE = "kubernetes.namespace";
    KUBERNETES_NATIVE_CIDR = "kubernetes.native_cidr";
    KUBERNETES_NODE_MASK = "kubernetes.node_mask";
    KUBERNETES_OBSERVATION_NAMESPACE = "kubernetes.observation.namespace";
    KUBERNETES_POD_CIDR = "kubernetes.pod_cidr";
    KUBERNETES_PROVISIONER = "kubernetes.provisioner";
    PLANES_PRIVATE = "planes.private";
    PLANES_PRIVATE_LINK = "planes.private.link";
    PLANES_PUBLIC = "planes.public";
    PLANES_PUBLIC_ENCAPSULATION = "planes.public.encapsulation";
    PLANES_PUBLIC_LINK = "planes.public.link";
}
