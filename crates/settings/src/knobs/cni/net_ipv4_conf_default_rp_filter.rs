//! `net.ipv4.conf.default.rp_filter`.

use linerate_record::knob::{Knob, Layer, Locator, Relief, Scope, TakesEffect, domain};

use crate::knobs::KnobRow;

pub(crate) const ROW: KnobRow = KnobRow {
    knob: Knob {
        id: "net.ipv4.conf.default.rp_filter",
        layer: Layer::Cni,
        locator: Locator::Sysctl { name: "net.ipv4.conf.default.rp_filter" },
        scope: Scope::NetworkNamespace,
        takes_effect: TakesEffect::AtOnce,
        // `Documentation/networking/ip-sysctl.rst`: off, strict, loose.
        takes: domain::number(0, 2),
        default: "0; 2 with systemd",
        summary: "Initial rp_filter of new interfaces.",
        why: "See net.ipv4.conf.all.rp_filter: interfaces of pods are created all the time.",
        relief: Relief::Nothing,
        relieves: "nothing: pods need it",
        risk: "Strict: replies from new pods are dropped.",
        sources: &[
            "Linux, Documentation/networking/ip-sysctl.rst",
            "measured on 6.18: copied when a namespace is made",
        ],
        since: None,
        until: None,
        also_called: &[],
        owned_by: Some("the CNI"),
    },
    advise: None,
};
