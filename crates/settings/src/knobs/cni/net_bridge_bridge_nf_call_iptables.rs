//! `net.bridge.bridge-nf-call-iptables`.

use linerate_record::knob::{Knob, Layer, Locator, Relief, Scope, TakesEffect, domain};

use crate::knobs::KnobRow;

pub(crate) const ROW: KnobRow = KnobRow {
    knob: Knob {
        id: "net.bridge.bridge-nf-call-iptables",
        layer: Layer::Cni,
        locator: Locator::Sysctl { name: "net.bridge.bridge-nf-call-iptables" },
        scope: Scope::NetworkNamespace,
        takes_effect: TakesEffect::AtOnce,
        // `net/bridge/br_netfilter_hooks.c: brnf_sysctl_call_tables` makes any other number 1.
        takes: domain::SWITCH,
        default: "1, once br_netfilter is loaded",
        summary: "Whether bridged packets pass through iptables.",
        why: "CNIs with a bridge need it for services; Cilium has no bridge. kubeadm checks it. Each namespace has its \
            own value since 5.3.",
        relief: Relief::Nothing,
        relieves: "nothing: services need it",
        risk: "Off: services fail for pods on the same node.",
        sources: &[
            "Linux 5.3, net/bridge/br_netfilter_hooks.c (22567590b2e6); measured on 6.18: fresh in each namespace",
            "Kubernetes, container runtimes: prerequisites",
        ],
        since: None,
        until: None,
        also_called: &[],
        owned_by: Some("the CNI"),
    },
    advise: None,
};
