//! Keys of the site's Kubernetes.

use super::DefaultRule::{Absent, Follows, Required, Value};
use super::Shape::{Mapping, Name, OneOrMany, Text, Texts, Whole, Words};
use super::control_plane::{APPLIER, CONTROL_PLANE, DNS};
use super::{Key, NumberKind, TextKind, key, leaf, path, quantity};
use crate::word_lists::PROVISIONERS;

const TO_RENDER: &str = "not stated: `render` asks for it";

pub(in crate::keys) const KUBERNETES: &[Key] = &[
    key(
        leaf(path::KUBERNETES_NAMESPACE),
        Text(TextKind::Label),
        Follows("the engine's product"),
        "Namespace of the engine.",
    ),
    key(
        leaf(path::KUBERNETES_IMAGE),
        Text(TextKind::Image),
        Absent(TO_RENDER),
        "Image of the engine, with a version or digest; `latest` is none.",
    ),
    key(
        leaf(path::KUBERNETES_HOSTS),
        OneOrMany("hosts", HOSTS, 64),
        Absent(TO_RENDER),
        "Machines of each kind of nodes.",
    ),
    key(
        leaf(path::KUBERNETES_API_SERVER),
        Text(TextKind::Host),
        Absent(
            "127.0.0.1, HAProxy on each node, with `control_plane`; without it, `render` asks for it, because Cilium \
                replaces kube-proxy",
        ),
        "Name or address under which every node reaches the API server: a balancer of the site's own.",
    ),
    key(
        leaf(path::KUBERNETES_API_PORT),
        Whole(1, 65_535),
        Value("6443", "the default of kubeadm"),
        "Port of the API server.",
    ),
    key(leaf(path::KUBERNETES_POD_CIDR), Text(TextKind::Prefix), Absent(TO_RENDER), "Addresses of pods."),
    key(
        leaf(path::KUBERNETES_NODE_MASK),
        // Two addresses are of the network, one of Cilium's router and one of its health check: 12 are left.
        Whole(1, 28),
        Value("24", "Cilium's default (ipam.operator.clusterPoolIPv4MaskSize)"),
        "Length of the prefix of pod addresses that each node gets.",
    ),
    key(
        leaf(path::KUBERNETES_NATIVE_CIDR),
        Text(TextKind::Prefix),
        Follows("`pod_cidr`"),
        "Addresses that are routed as they are, without masquerading; in a mesh, those of the pods of all clusters.",
    ),
    key(
        leaf(path::KUBERNETES_LOAD_BALANCER),
        Texts(TextKind::Prefix),
        Absent("not stated: `render` asks for them where services have addresses of their own"),
        "Addresses for services of type LoadBalancer.",
    ),
    key(
        leaf(path::KUBERNETES_CONTROL_PLANE),
        Mapping("control_plane", CONTROL_PLANE),
        Absent("not rendered: something else makes it"),
        "Control plane, which kubeadm makes.",
    ),
    key(
        leaf(path::KUBERNETES_PROVISIONER),
        Words("provisioner", PROVISIONERS),
        Absent("volumes are written, each bound to its machine"),
        "Who makes volumes when pods are scheduled. What is lost with it: the order of erasure sets over racks.",
    ),
    key("dns", Mapping("dns", DNS), Absent("not rendered: it stays as it is"), "DNS within the cluster."),
    key(
        "applier",
        Mapping("applier", APPLIER),
        Absent("not rendered"),
        "What applies the hosts' profile to the machines from within the cluster.",
    ),
    key("bgp", Mapping("bgp", BGP), Absent("not stated: `render` asks for it where routes are announced"), "BGP."),
    key("mesh", Mapping("mesh", MESH), Absent("in no mesh"), "What the cluster is in a Cluster Mesh."),
    key(
        "git",
        Mapping("git", GIT),
        Absent("no Applications of Argo CD are rendered"),
        "Repository in which the rendered folder is, for Argo CD.",
    ),
    key(
        "observation",
        Mapping("observation", OBSERVATION),
        Absent("nothing is scraped, and no alerts are rendered"),
        "Prometheus and Grafana of the cluster.",
    ),
    key(
        leaf(path::KUBERNETES_LOAD),
        Mapping("load", LOAD),
        Absent("no clients are rendered"),
        "Clients of linerate in the cluster.",
    ),
];

const HOSTS: &[Key] = &[
    key("kind", Name, Follows("the only kind of nodes"), "Name of the kind of nodes."),
    key(
        "names",
        Texts(TextKind::Machines),
        Required,
        "Names of the machines in Kubernetes, such as `node{01...56}`, rack after rack.",
    ),
    key(
        "mounts",
        Texts(TextKind::Folders),
        Follows("**required**, except with `provisioner`"),
        "Folders at which the drives are mounted, such as `/data{1...20}`, in the order of the drives.",
    ),
    key(
        "devices",
        Texts(TextKind::Folders),
        Absent("no mount units are rendered"),
        "Devices with the drives' XFS, such as `/dev/disk/by-label/data{1...20}`, in the order of `mounts`.",
    ),
];

const BGP: &[Key] = &[
    key(leaf(path::KUBERNETES_BGP_LOCAL_AS), Whole(1, 4_294_967_295), Required, "Autonomous system of the nodes."),
    key(
        leaf(path::KUBERNETES_BGP_PEER_AS),
        Whole(1, 4_294_967_295),
        Required,
        "Autonomous system of the switches, one for all racks.",
    ),
    key(
        "peer",
        Text(TextKind::Address),
        Absent("the node's default gateway, which Cilium finds from 1.18 on"),
        "Address of the switch, if all nodes have the same one.",
    ),
    key(
        "hold",
        quantity(NumberKind::Time, 3e9, 65_535e9),
        Value("3s", "the least that BGP allows (RFC 4271): Cilium has no BFD"),
        "Silence after which a session has ended; in whole seconds.",
    ),
    key(
        "restart",
        quantity(NumberKind::Time, 1e9, 4095e9),
        Value("1s", "routes of a lost node remain for so long"),
        "Time for which routes are kept after a session has ended (graceful restart); in whole seconds.",
    ),
];

const MESH: &[Key] = &[
    key(leaf(path::KUBERNETES_MESH_ID), Whole(1, 255), Required, "Number of the cluster, unique in the mesh."),
    key(leaf(path::KUBERNETES_MESH_NAME), Text(TextKind::Label), Required, "Name of the cluster, unique in the mesh."),
];

const GIT: &[Key] = &[
    key(
        leaf(path::KUBERNETES_GIT_REPOSITORY),
        Text(TextKind::Repository),
        Required,
        "URL of the repository, without credentials.",
    ),
    key(leaf(path::KUBERNETES_GIT_REVISION), Text(TextKind::Revision), Required, "Branch, tag or commit."),
    key(
        "path",
        Text(TextKind::Below),
        Value(".", "the folder is the repository's own"),
        "Path of the rendered folder in the repository.",
    ),
    key(
        leaf(path::KUBERNETES_GIT_PROJECT),
        Text(TextKind::Label),
        Value("default", "the project that Argo CD begins with"),
        "Project of Argo CD.",
    ),
    key(
        "namespace",
        Text(TextKind::Label),
        Value("argocd", "the namespace of Argo CD's own manifests"),
        "Namespace of Argo CD.",
    ),
];

const OBSERVATION: &[Key] = &[
    key(
        leaf(path::KUBERNETES_OBSERVATION_NAMESPACE),
        Text(TextKind::Label),
        Required,
        "Namespace of Prometheus, Grafana and node-exporter.",
    ),
    key(
        "release",
        Text(TextKind::Label),
        Absent("Prometheus selects monitors and rules by no label"),
        "Value of the label `release`, by which Prometheus selects monitors and rules.",
    ),
];

const LOAD: &[Key] = &[
    key("image", Text(TextKind::Image), Required, "Image of linerate, with a version or digest."),
    key(
        leaf(path::KUBERNETES_LOAD_NAMESPACE),
        Text(TextKind::Label),
        Value("linerate", "the default of `fleet up`"),
        "Namespace of the clients.",
    ),
    key(
        "clients",
        Whole(1, 1000),
        Absent("as many as `clients.count`, 1000 at most; with none, one for each node"),
        "Number of clients.",
    ),
];
