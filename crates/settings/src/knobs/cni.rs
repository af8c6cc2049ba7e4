//! The container network: Cilium's values and what the CNI owns.

use linerate_record::knob::{
    Advice, Domain, Knob, Layer, Locator, RelievedResource, Scope, SettingId, Snapshot, TakesEffect, domain,
};
use linerate_record::site::{Entry, Site, TrafficPolicy};

use crate::knobs::{Advise, KnobRow, facts};

/// What all rows have in common.
const BASE: Knob = Knob { layer: Layer::Cni, ..Knob::NONE };

/// In the order in which pages and listings have them.
pub(in crate::knobs) const ROWS: &[KnobRow] = &[
    KnobRow {
        knob: Knob {
            id: "net.ipv4.ip_forward",
            locator: Locator::Sysctl { name: "net.ipv4.ip_forward" },
            scope: Scope::NetworkNamespace,
            takes_effect: TakesEffect::AtOnce,
            // `net/ipv4/devinet.c: devinet_sysctl_forward` tells 0 from others.
            takes: domain::SWITCH,
            default: "0",
            summary: "Whether the node forwards packets between interfaces.",
            why: "Pods cannot reach anything without it. The CNI sets it; writing it resets other settings of conf to \
                the defaults of a router or a host.",
            relief: RelievedResource::Nothing,
            relieves: "nothing: pods need it",
            risk: "Writing it resets other settings.",
            sources: &["Linux, Documentation/networking/ip-sysctl.rst", "Cilium, daemon: sysctl settings at start"],
            owned_by: Some("the CNI"),
            ..BASE
        },
        advise: Advise::Nothing,
    },
    KnobRow {
        knob: Knob {
            id: "net.ipv4.conf.all.rp_filter",
            locator: Locator::Sysctl { name: "net.ipv4.conf.all.rp_filter" },
            scope: Scope::NetworkNamespace,
            takes_effect: TakesEffect::AtOnce,
            // `Documentation/networking/ip-sysctl.rst`: off, strict, loose.
            takes: domain::number(0, 2),
            default: "0; 2 with systemd",
            summary: "Whether packets are dropped that arrive on another interface than the one that the reply would \
                use.",
            why: "The higher value of `all` and the interface applies, so a strict `all` breaks the asymmetric paths \
                of Cilium and of DSR. Cilium sets its interfaces to 0.",
            relief: RelievedResource::Nothing,
            relieves: "nothing: pods need it",
            risk: "Strict: replies from pods are dropped.",
            sources: &[
                "Linux, Documentation/networking/ip-sysctl.rst",
                "Cilium, Documentation: rp_filter; systemd sysctl.d",
            ],
            owned_by: Some("the CNI"),
            ..BASE
        },
        advise: Advise::Nothing,
    },
    KnobRow {
        knob: Knob {
            id: "net.ipv4.conf.default.rp_filter",
            locator: Locator::Sysctl { name: "net.ipv4.conf.default.rp_filter" },
            scope: Scope::NetworkNamespace,
            takes_effect: TakesEffect::AtOnce,
            // `Documentation/networking/ip-sysctl.rst`: off, strict, loose.
            takes: domain::number(0, 2),
            default: "0; 2 with systemd",
            summary: "Initial rp_filter of new interfaces.",
            why: "See net.ipv4.conf.all.rp_filter: interfaces of pods are created all the time.",
            relief: RelievedResource::Nothing,
            relieves: "nothing: pods need it",
            risk: "Strict: replies from new pods are dropped.",
            sources: &[
                "Linux, Documentation/networking/ip-sysctl.rst",
                "measured on 6.18: copied when a namespace is made",
            ],
            owned_by: Some("the CNI"),
            ..BASE
        },
        advise: Advise::Nothing,
    },
    KnobRow {
        knob: Knob {
            id: "net.bridge.bridge-nf-call-iptables",
            locator: Locator::Sysctl { name: "net.bridge.bridge-nf-call-iptables" },
            scope: Scope::NetworkNamespace,
            takes_effect: TakesEffect::AtOnce,
            // `net/bridge/br_netfilter_hooks.c: brnf_sysctl_call_tables` makes any other number 1.
            takes: domain::SWITCH,
            default: "1, once br_netfilter is loaded",
            summary: "Whether bridged packets pass through iptables.",
            why: "CNIs with a bridge need it for services; Cilium has no bridge. kubeadm checks it. Each namespace has \
                its own value since 5.3.",
            relief: RelievedResource::Nothing,
            relieves: "nothing: services need it",
            risk: "Off: services fail for pods on the same node.",
            sources: &[
                "Linux 5.3, net/bridge/br_netfilter_hooks.c (22567590b2e6); measured on 6.18: fresh in each namespace",
                "Kubernetes, container runtimes: prerequisites",
            ],
            owned_by: Some("the CNI"),
            ..BASE
        },
        advise: Advise::Nothing,
    },
    KnobRow {
        knob: Knob {
            id: "net.bridge.bridge-nf-call-ip6tables",
            locator: Locator::Sysctl { name: "net.bridge.bridge-nf-call-ip6tables" },
            scope: Scope::NetworkNamespace,
            takes_effect: TakesEffect::AtOnce,
            // `net/bridge/br_netfilter_hooks.c: brnf_sysctl_call_tables` makes any other number 1.
            takes: domain::SWITCH,
            default: "1, once br_netfilter is loaded",
            summary: "Whether bridged packets pass through ip6tables.",
            why: "CNIs with a bridge need it for services; Cilium has no bridge. kubeadm checks it. Each namespace has \
                its own value since 5.3.",
            relief: RelievedResource::Nothing,
            relieves: "nothing: services need it",
            risk: "Off: services fail for pods on the same node.",
            sources: &[
                "Linux 5.3, net/bridge/br_netfilter_hooks.c (22567590b2e6); measured on 6.18: fresh in each namespace",
                "Kubernetes, container runtimes: prerequisites",
            ],
            owned_by: Some("the CNI"),
            ..BASE
        },
        advise: Advise::Nothing,
    },
    KnobRow {
        knob: Knob {
            id: "net.bridge.bridge-nf-call-arptables",
            locator: Locator::Sysctl { name: "net.bridge.bridge-nf-call-arptables" },
            scope: Scope::NetworkNamespace,
            takes_effect: TakesEffect::AtOnce,
            // `net/bridge/br_netfilter_hooks.c: brnf_sysctl_call_tables` makes any other number 1.
            takes: domain::SWITCH,
            default: "1, once br_netfilter is loaded",
            summary: "Whether bridged packets pass through arptables.",
            why: "CNIs with a bridge need it for services; Cilium has no bridge. kubeadm checks it. Each namespace has \
                its own value since 5.3.",
            relief: RelievedResource::Nothing,
            relieves: "nothing: services need it",
            risk: "Off: services fail for pods on the same node.",
            sources: &[
                "Linux 5.3, net/bridge/br_netfilter_hooks.c (22567590b2e6); measured on 6.18: fresh in each namespace",
                "Kubernetes, container runtimes: prerequisites",
            ],
            owned_by: Some("the CNI"),
            ..BASE
        },
        advise: Advise::Nothing,
    },
    KnobRow {
        knob: Knob {
            id: "cilium.routing_mode",
            locator: Locator::HelmValue { chart: "cilium", path: "routingMode" },
            scope: Scope::Cluster,
            takes_effect: TakesEffect::Restart,
            // Cilium, pkg/option: RoutingMode.
            takes: Domain::Words(&["tunnel", "native"]),
            default: "tunnel",
            summary: "Whether packets between nodes are encapsulated (tunnel) or routed unchanged (native).",
            why: "Source 000 compares native routing with an overlay for objects of 64 MiB: GET gains 2.9 %, PUT 19.7 \
                %. The 50 bytes of VXLAN are 3.5 % of the payload at an MTU of 1500 and 0.6 % at 9000; the rest of the \
                loss of PUT is work per packet. Routes for pod addresses must exist: a single L2 segment, or BGP.",
            relief: RelievedResource::Links,
            relieves: "links and processor: encapsulation",
            risk: "Without routes, pods on different nodes cannot reach each other.",
            sources: &[
                "source 000, Cilium values",
                "Cilium, install/kubernetes/cilium/values.yaml",
                "Cilium, Documentation/operations/performance/tuning.rst",
            ],
            also_called: &["routingMode"],
            ..BASE
        },
        advise: Advise::Constant("native", "no encapsulation, if routes to pods exist"),
    },
    KnobRow {
        knob: Knob {
            id: "cilium.datapath_mode",
            locator: Locator::HelmValue { chart: "cilium", path: "bpf.datapathMode" },
            scope: Scope::Cluster,
            takes_effect: TakesEffect::Restart,
            // Cilium, pkg/datapath/option: the datapath modes.
            takes: Domain::Words(&["veth", "netkit", "netkit-l2", "lb-only"]),
            default: "veth",
            summary: "Type of device that connects a pod to its node.",
            why: "The advice is netkit, as in source 000: packets enter the pod's namespace without the backlog queue \
                of a veth pair. It requires Linux 6.8, and pods must be recreated.",
            relief: RelievedResource::Processors,
            relieves: "processor: one pass through the network stack per packet",
            risk: "It cannot be changed in place: it needs new nodes, or all pods recreated.",
            sources: &[
                "source 000, Cilium values",
                "Cilium, install/kubernetes/cilium/values.yaml",
                "Cilium, Documentation/operations/performance/tuning.rst (Kernel >= 6.8)",
            ],
            also_called: &["bpf.datapathMode"],
            ..BASE
        },
        advise: Advise::Computed(datapath_mode),
    },
    KnobRow {
        knob: Knob {
            id: "cilium.bpf_masquerade",
            locator: Locator::HelmValue { chart: "cilium", path: "bpf.masquerade" },
            scope: Scope::Cluster,
            takes_effect: TakesEffect::Restart,
            // Cilium, values.yaml: a boolean.
            takes: Domain::Words(&["true", "false"]),
            default: "false",
            summary: "Whether eBPF rather than iptables translates the addresses of traffic that leaves the cluster.",
            why: "The advice is true, as in source 000: without it, eBPF host routing falls back to the network stack.",
            relief: RelievedResource::Processors,
            relieves: "processor: iptables rules for each packet",
            risk: "It requires the replacement of kube-proxy.",
            sources: &[
                "source 000, Cilium values",
                "Cilium, install/kubernetes/cilium/values.yaml",
                "Cilium, Documentation/operations/performance/tuning.rst",
            ],
            also_called: &["bpf.masquerade"],
            ..BASE
        },
        advise: Advise::Constant("true", "eBPF host routing needs it"),
    },
    KnobRow {
        knob: Knob {
            id: "cilium.ipv4_big_tcp",
            locator: Locator::HelmValue { chart: "cilium", path: "enableIPv4BIGTCP" },
            scope: Scope::Cluster,
            takes_effect: TakesEffect::Restart,
            // Cilium, values.yaml: a boolean.
            takes: Domain::Words(&["true", "false"]),
            default: "false",
            summary: "Whether the network stack handles IPv4 packets larger than 64 KiB between socket and NIC.",
            why: "Source 000 sets true and notes that it needs testing. It pays off from 100 Gb/s on and requires \
                Linux 6.3, native routing, and a NIC with the driver mlx4, mlx5 or ice.",
            relief: RelievedResource::Processors,
            relieves: "processor: work per packet",
            risk: "Tools that parse packet headers see a length of 0.",
            sources: &[
                "source 000, Cilium values",
                "Cilium, install/kubernetes/cilium/values.yaml",
                "Cilium, Documentation/operations/performance/tuning.rst",
            ],
            also_called: &["enableIPv4BIGTCP"],
            ..BASE
        },
        advise: Advise::Computed(ipv4_big_tcp),
    },
    KnobRow {
        knob: Knob {
            id: "cilium.endpoint_routes",
            locator: Locator::HelmValue { chart: "cilium", path: "endpointRoutes.enabled" },
            scope: Scope::Cluster,
            takes_effect: TakesEffect::Restart,
            // Cilium, values.yaml: a boolean.
            takes: Domain::Words(&["true", "false"]),
            default: "false",
            summary: "Whether each pod has its own route on its node.",
            why: "The advice is false, as in source 000: eBPF finds the pod without a route.",
            relief: RelievedResource::Nothing,
            relieves: "nothing",
            risk: "None.",
            sources: &["source 000, Cilium values", "Cilium, install/kubernetes/cilium/values.yaml"],
            also_called: &["endpointRoutes.enabled"],
            ..BASE
        },
        advise: Advise::Constant("false", "the default: one route for all pods of a node"),
    },
    KnobRow {
        knob: Knob {
            id: "cilium.endpoint_health_checking",
            locator: Locator::HelmValue { chart: "cilium", path: "endpointHealthChecking.enabled" },
            scope: Scope::Cluster,
            takes_effect: TakesEffect::Restart,
            // Cilium, values.yaml: a boolean.
            takes: Domain::Words(&["true", "false"]),
            default: "true",
            summary: "Whether agents probe a health endpoint on every node.",
            why: "Source 000 disables it as a redundant check at scale, because the number of probes grows with the \
                square of the nodes. Below 100 nodes, the probes cost nothing and detect broken paths.",
            relief: RelievedResource::Kubernetes,
            relieves: "Kubernetes: probes between agents",
            risk: "Off: a broken path between pods is noticed only by its users.",
            sources: &["source 000, Cilium values", "Cilium, install/kubernetes/cilium/values.yaml"],
            also_called: &["endpointHealthChecking.enabled"],
            ..BASE
        },
        advise: Advise::Computed(|_, site, _| {
            facts::advice(
                site.nodes() < 100,
                "on below 100 nodes; with more, probes between all agents would be too many",
            )
        }),
    },
    KnobRow {
        knob: Knob {
            id: "cilium.health_checking",
            locator: Locator::HelmValue { chart: "cilium", path: "healthChecking" },
            scope: Scope::Cluster,
            takes_effect: TakesEffect::Restart,
            // Cilium, values.yaml: a boolean.
            takes: Domain::Words(&["true", "false"]),
            default: "true",
            summary: "Whether agents probe every node.",
            why: "See cilium.endpoint_health_checking.",
            relief: RelievedResource::Kubernetes,
            relieves: "Kubernetes: probes between agents",
            risk: "Off: a broken path between nodes is noticed only by its users.",
            sources: &["source 000, Cilium values", "Cilium, install/kubernetes/cilium/values.yaml"],
            also_called: &["healthChecking"],
            ..BASE
        },
        advise: Advise::Computed(|_, site, _| {
            facts::advice(
                site.nodes() < 100,
                "on below 100 nodes; with more, probes between all nodes would be too many",
            )
        }),
    },
    KnobRow {
        knob: Knob {
            id: "cilium.kube_proxy_replacement",
            locator: Locator::HelmValue { chart: "cilium", path: "kubeProxyReplacement" },
            scope: Scope::Cluster,
            takes_effect: TakesEffect::Restart,
            // Cilium, values.yaml: a boolean since 1.14.
            takes: Domain::Words(&["true", "false"]),
            default: "false",
            summary: "Whether eBPF handles services instead of kube-proxy.",
            why: "The advice is true, as in source 000: iptables searches a list that grows with the number of \
                services (12000 there), and both host routing and masquerading require it.",
            relief: RelievedResource::Processors,
            relieves: "processor: service lookup; connection tracking",
            risk: "kube-proxy must be removed, or both translate addresses.",
            sources: &[
                "source 000, Cilium values",
                "Cilium, install/kubernetes/cilium/values.yaml",
                "Cilium, Documentation/operations/performance/tuning.rst",
            ],
            also_called: &["kubeProxyReplacement"],
            ..BASE
        },
        advise: Advise::Constant("true", "services are found by a hash instead of a list"),
    },
    KnobRow {
        knob: Knob {
            id: "cilium.lb_acceleration",
            locator: Locator::HelmValue { chart: "cilium", path: "loadBalancer.acceleration" },
            scope: Scope::Cluster,
            takes_effect: TakesEffect::Restart,
            // Cilium, pkg/option: NodePortAcceleration.
            takes: Domain::Words(&["disabled", "native", "best-effort"]),
            default: "disabled",
            summary: "Whether XDP forwards packets of services before the network stack.",
            why: "The advice is best-effort, as in source 000: it affects nodes that forward to other nodes and has no \
                effect on nodes whose own pod answers.",
            relief: RelievedResource::Processors,
            relieves: "processor: forwarded packets",
            risk: "On bonds, XDP needs support in the driver of each member.",
            sources: &["source 000, Cilium values", "Cilium, install/kubernetes/cilium/values.yaml"],
            also_called: &["loadBalancer.acceleration"],
            ..BASE
        },
        advise: Advise::Constant("best-effort", "XDP is used if the driver supports it"),
    },
    KnobRow {
        knob: Knob {
            id: "cilium.lb_mode",
            locator: Locator::HelmValue { chart: "cilium", path: "loadBalancer.mode" },
            scope: Scope::Cluster,
            takes_effect: TakesEffect::Restart,
            // Cilium, pkg/option: NodePortMode.
            takes: Domain::Words(&["snat", "dsr", "hybrid"]),
            default: "snat",
            summary: "How the reply of a forwarded connection returns: through the forwarding node (snat) or directly \
                (dsr).",
            why: "Source 000 sets snat for BGP with externalTrafficPolicy Local, where no connection is forwarded and \
                there is no detour. With policy Cluster or L2 announcements, dsr saves the second hop of the reply, \
                which is most of the traffic of a GET.",
            relief: RelievedResource::Links,
            relieves: "links: the second hop of replies",
            risk: "dsr: packets carry the source address of another node, which switches may filter.",
            sources: &["source 000, Cilium values", "Cilium, install/kubernetes/cilium/values.yaml"],
            also_called: &["loadBalancer.mode"],
            ..BASE
        },
        advise: Advise::Computed(lb_mode),
    },
    KnobRow {
        knob: Knob {
            id: "cilium.local_redirect_policy",
            locator: Locator::HelmValue { chart: "cilium", path: "localRedirectPolicy" },
            scope: Scope::Cluster,
            takes_effect: TakesEffect::Restart,
            // Cilium, values.yaml: a boolean.
            takes: Domain::Words(&["true", "false"]),
            default: "false",
            summary: "Whether traffic of a service can be redirected to a pod on the same node.",
            why: "The advice is true, as in source 000, for NodeLocal DNS. The source's figure of 15 million queries \
                per second is for these caches.",
            relief: RelievedResource::Dns,
            relieves: "DNS: queries that leave the node",
            risk: "None known.",
            sources: &["source 000, Cilium values", "Cilium, install/kubernetes/cilium/values.yaml"],
            also_called: &["localRedirectPolicy"],
            ..BASE
        },
        advise: Advise::Constant("true", "it serves NodeLocal DNS without iptables"),
    },
    KnobRow {
        knob: Knob {
            id: "cilium.bgp_control_plane",
            locator: Locator::HelmValue { chart: "cilium", path: "bgpControlPlane.enabled" },
            scope: Scope::Cluster,
            takes_effect: TakesEffect::Restart,
            // Cilium, values.yaml: a boolean.
            takes: Domain::Words(&["true", "false"]),
            default: "false",
            summary: "Whether Cilium announces services by BGP.",
            why: "Source 000 settles on native routing, BGP and ClusterMesh (its plan C): switches distribute \
                connections over nodes by ECMP.",
            relief: RelievedResource::Links,
            relieves: "links: one node that receives all connections",
            risk: "The switches must be configured for it.",
            sources: &["source 000, Cilium values", "Cilium, install/kubernetes/cilium/values.yaml"],
            also_called: &["bgpControlPlane.enabled"],
            ..BASE
        },
        advise: Advise::Computed(|_, site, _| {
            facts::advice_if(matches!(site.entry, Entry::Bgp { .. }), true, "the site's entry is BGP")
        }),
    },
    KnobRow {
        knob: Knob {
            id: "cilium.external_traffic_policy",
            locator: Locator::Component { component: "service", key: "spec.externalTrafficPolicy" },
            scope: Scope::Cluster,
            takes_effect: TakesEffect::AtOnce,
            // Kubernetes, Service: externalTrafficPolicy.
            takes: Domain::Words(&["Cluster", "Local"]),
            default: "Cluster",
            summary: "Whether a node that receives an external connection may forward it to a pod on another node.",
            why: "The advice is Local, as in source 000 with BGP: only nodes with a pod announce the service, receive \
                connections and answer. Every storage node has a pod, so nothing is lost, and the client's address is \
                preserved.",
            relief: RelievedResource::Links,
            relieves: "links: a second hop",
            risk: "Local: nodes without a pod drop connections.",
            sources: &["source 000, Cilium values", "Kubernetes, Service: externalTrafficPolicy"],
            also_called: &["ExternalTrafficPolicy", "ExternalTrafficLocal"],
            ..BASE
        },
        advise: Advise::Constant("Local", "every storage node has a pod that answers"),
    },
];

fn datapath_mode(snapshot: &Snapshot, _site: &Site, _place: &SettingId) -> Option<Advice> {
    match facts::kernel(snapshot) {
        Some(kernel) if kernel < (6, 8) => facts::advice("veth", "netkit requires Linux 6.8"),
        _ => facts::advice("netkit", "packets to pods avoid a second pass through the network stack"),
    }
}

fn ipv4_big_tcp(snapshot: &Snapshot, _site: &Site, _place: &SettingId) -> Option<Advice> {
    match facts::kernel(snapshot) {
        Some(kernel) if kernel < (6, 3) => facts::advice(false, "IPv4 BIG TCP requires Linux 6.3"),
        _ => facts::advice(true, "packets of up to 192 KiB within the node"),
    }
}

fn lb_mode(_snapshot: &Snapshot, site: &Site, _place: &SettingId) -> Option<Advice> {
    let forwards = match site.entry {
        Entry::Bgp { policy } | Entry::NodePort { policy } => policy == TrafficPolicy::Cluster,
        Entry::L2Announcement { .. } => true,
        Entry::ClientSide | Entry::ClusterMesh | Entry::Local => false,
    };
    if forwards {
        return facts::advice("dsr", "replies go directly to the client instead of through the forwarding node");
    }
    facts::advice("snat", "no node forwards, so replies have no detour")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::knobs::fixtures::*;

    #[test]
    fn netkit_waits_for_its_kernel() {
        let id = "cilium.datapath_mode";
        let mut snapshot = machine();
        assert_eq!(advised(id, &snapshot).as_deref(), Some("netkit"));
        snapshot.machine.kernel = "5.14.0".to_owned();
        assert_eq!(advised(id, &snapshot).as_deref(), Some("veth"));
    }

    #[test]
    fn big_tcp_waits_for_its_kernel() {
        let id = "cilium.ipv4_big_tcp";
        let mut snapshot = machine();
        assert_eq!(advised(id, &snapshot).as_deref(), Some("true"));
        snapshot.machine.kernel = "6.2.16".to_owned();
        assert_eq!(advised(id, &snapshot).as_deref(), Some("false"));
    }

    #[test]
    fn large_sites_do_not_probe_each_other() {
        let id = "cilium.endpoint_health_checking";
        let mut site = site();
        assert_eq!(advised_at_site(id, &machine(), &site).as_deref(), Some("true"));
        site.groups[0].count = 200;
        assert_eq!(advised_at_site(id, &machine(), &site).as_deref(), Some("false"));
    }

    #[test]
    fn only_forwarded_connections_are_worth_dsr() {
        let mut site = site();
        for (policy, expected) in [(TrafficPolicy::Local, "snat"), (TrafficPolicy::Cluster, "dsr")] {
            site.entry = Entry::Bgp { policy };
            assert_eq!(advised_at_site("cilium.lb_mode", &machine(), &site).as_deref(), Some(expected));
        }
    }

    #[test]
    fn only_a_site_with_bgp_announces() {
        let id = "cilium.bgp_control_plane";
        let mut site = site();
        site.entry = Entry::ClientSide;
        assert_eq!(advised_at_site(id, &machine(), &site), None);
        site.entry = Entry::Bgp { policy: TrafficPolicy::Local };
        assert_eq!(advised_at_site(id, &machine(), &site).as_deref(), Some("true"));
    }
}
