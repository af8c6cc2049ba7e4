//! `net.ipv4.ip_forward`.

use linerate_record::knob::{Knob, Layer, Locator, Relief, Scope, TakesEffect, domain};

use crate::knobs::KnobRow;

pub(crate) const ROW: KnobRow = KnobRow {
    knob: Knob {
        id: "net.ipv4.ip_forward",
        layer: Layer::Cni,
        locator: Locator::Sysctl { name: "net.ipv4.ip_forward" },
        scope: Scope::NetworkNamespace,
        takes_effect: TakesEffect::AtOnce,
        // `net/ipv4/devinet.c: devinet_sysctl_forward` tells 0 from others.
        takes: domain::SWITCH,
        default: "0",
        summary: "Whether the node forwards packets between interfaces.",
        why: "Pods cannot reach anything without it. The CNI sets it; writing it resets other settings of conf to the \
            defaults of a router or a host.",
        relief: Relief::Nothing,
        relieves: "nothing: pods need it",
        risk: "Writing it resets other settings.",
        sources: &["Linux, Documentation/networking/ip-sysctl.rst", "Cilium, daemon: sysctl settings at start"],
        since: None,
        until: None,
        also_called: &[],
        owned_by: Some("the CNI"),
    },
    advise: None,
};
