//! Keys of what a Kubernetes rests on: its control plane, its DNS, and what applies settings to its machines.

use super::DefaultRule::{Absent, Follows, Required, Value};
use super::Shape::{Text, Texts, Whole};
use super::{Key, NumberKind, TextKind, key, leaf, path, quantity};

pub(super) const CONTROL_PLANE: &[Key] = &[
    key(
        leaf(path::KUBERNETES_CONTROL_PLANE_VERSION),
        Text(TextKind::Version),
        Required,
        "Version of Kubernetes, 1.31 or later: kubeadm's configuration has v1beta4 from there on.",
    ),
    key(
        "hosts",
        Texts(TextKind::Address),
        Required,
        "Addresses of the machines of the control plane, each with an API server and a member of etcd; the \
         first begins the cluster.",
    ),
    key(
        leaf(path::KUBERNETES_CONTROL_PLANE_BIND_PORT),
        Whole(1, 65_535),
        Follows("`api_port`"),
        "Port at which API servers listen.",
    ),
    key(
        leaf(path::KUBERNETES_CONTROL_PLANE_PORT),
        // The next one tells how it is.
        Whole(1024, 65_534),
        Value("7443", "not 6443, at which an API server of the same machine listens"),
        "Port on 127.0.0.1 at which HAProxy on each machine passes connections on to API servers; the next one says \
         whether it reaches any.",
    ),
    key(
        leaf(path::KUBERNETES_CONTROL_PLANE_SERVICE_CIDR),
        Text(TextKind::Prefix),
        Value("10.96.0.0/12", "the default of kubeadm"),
        "Addresses of services within the cluster.",
    ),
    key(
        "etcd_rtt",
        quantity(NumberKind::Time, 1e3, 1e9),
        Absent("etcd's own times, which are for round trips below 67 ms"),
        "Longest round trip among members of etcd.",
    ),
];

pub(super) const DNS: &[Key] = &[
    key(
        leaf(path::KUBERNETES_DNS_DOMAIN),
        Text(TextKind::Host),
        Value("cluster.local", "the default of kubeadm"),
        "Domain of services.",
    ),
    key(
        leaf(path::KUBERNETES_DNS_CLUSTER_IP),
        Text(TextKind::Address),
        Absent("the tenth address of `control_plane.service_cidr`, as kubeadm takes it"),
        "Address of the service of DNS; required without `control_plane`.",
    ),
    key(
        leaf(path::KUBERNETES_DNS_IMAGE),
        Text(TextKind::Image),
        Required,
        "Image of CoreDNS, with a version or digest.",
    ),
    key(
        leaf(path::KUBERNETES_DNS_CACHE_IMAGE),
        Text(TextKind::Image),
        Required,
        "Image of NodeLocal DNSCache (k8s-dns-node-cache), with a version or digest.",
    ),
    key(
        leaf(path::KUBERNETES_DNS_UPSTREAM),
        Texts(TextKind::Address),
        Absent("those of the machine's own `/etc/resolv.conf`"),
        "Servers that answer for names outside of the cluster.",
    ),
];

pub(super) const APPLIER: &[Key] = &[
    key(
        leaf(path::KUBERNETES_APPLIER_IMAGE),
        Text(TextKind::Image),
        Required,
        "Image with `sh`, `nsenter`, `nc` and `wget`, such as one of busybox, with a version or digest.",
    ),
    key(
        "program",
        Text(TextKind::File),
        Value("/usr/local/bin/linerate", "where programs are that no package brings"),
        "Path of linerate on the machines.",
    ),
    key(
        "site",
        Text(TextKind::File),
        Absent("linerate derives its advice from the machine"),
        "Path of the site's file on the machines.",
    ),
];
