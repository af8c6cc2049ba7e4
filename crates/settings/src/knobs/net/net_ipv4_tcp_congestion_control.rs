//! `net.ipv4.tcp_congestion_control`.

use linerate_record::knob::{Domain, Knob, Layer, Locator, Relief, Scope, TakesEffect};

use crate::knobs::KnobRow;

pub(crate) const ROW: KnobRow = KnobRow {
    knob: Knob {
        id: "net.ipv4.tcp_congestion_control",
        layer: Layer::Net,
        locator: Locator::Sysctl { name: "net.ipv4.tcp_congestion_control" },
        scope: Scope::NetworkNamespace,
        takes_effect: TakesEffect::NewNamespace,
        // What there is, tcp_available_congestion_control says, and the machine is asked.
        takes: Domain::Text("the name of a congestion control such as cubic"),
        default: "cubic in most builds",
        summary: "Congestion control of new connections.",
        why: "No source mentions it. cubic fills a path in a data centre and shares it fairly. bbr needs pacing and is \
            starved by cubic in shallow buffers; dctcp needs ECN marks from every switch. Nothing is advised: keep \
            cubic unless all ends change together. A new namespace copies the value from the initial one.",
        relief: Relief::Links,
        relieves: "links: fairness and recovery",
        risk: "Another algorithm on one side only may starve the other.",
        sources: &[
            "Linux, Documentation/networking/ip-sysctl.rst",
            "Linux, net/ipv4/tcp_ipv4.c: tcp_sk_init (bpf_try_module_get of init_net's); measured on 6.18",
        ],
        since: None,
        until: None,
        also_called: &[],
        owned_by: None,
    },
    advise: None,
};
