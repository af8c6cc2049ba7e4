//! `net.ipv4.conf.all.rp_filter`.

use linerate_record::knob::{Knob, Layer, Locator, Relief, Scope, TakesEffect, domain};

use crate::knobs::KnobRow;

pub(crate) const ROW: KnobRow = KnobRow {
    knob: Knob {
        id: "net.ipv4.conf.all.rp_filter",
        layer: Layer::Cni,
        locator: Locator::Sysctl { name: "net.ipv4.conf.all.rp_filter" },
        scope: Scope::NetworkNamespace,
        takes_effect: TakesEffect::AtOnce,
        // `Documentation/networking/ip-sysctl.rst`: off, strict, loose.
        takes: domain::number(0, 2),
        default: "0; 2 with systemd",
        summary: "Whether packets are dropped that arrive on another interface than the one that the reply would use.",
        why: "The higher value of `all` and the interface applies, so a strict `all` breaks the asymmetric paths of \
            Cilium and of DSR. Cilium sets its interfaces to 0.",
        relief: Relief::Nothing,
        relieves: "nothing: pods need it",
        risk: "Strict: replies from pods are dropped.",
        sources: &[
            "Linux, Documentation/networking/ip-sysctl.rst",
            "Cilium, Documentation: rp_filter; systemd sysctl.d",
        ],
        since: None,
        until: None,
        also_called: &[],
        owned_by: Some("the CNI"),
    },
    advise: None,
};
