//! `net.ipv6.conf.all.disable_ipv6`.

use linerate_record::knob::{Knob, Layer, Locator, Scope, TakesEffect, domain};

use crate::knobs::KnobRow;

pub(crate) const ROW: KnobRow = KnobRow {
    knob: Knob {
        id: "net.ipv6.conf.all.disable_ipv6",
        layer: Layer::Net,
        locator: Locator::Sysctl { name: "net.ipv6.conf.all.disable_ipv6" },
        scope: Scope::NetworkNamespace,
        takes_effect: TakesEffect::AtOnce,
        // `net/ipv6/addrconf.c: addrconf_sysctl_disable` tells 0 from others.
        takes: domain::SWITCH,
        default: "0",
        summary: "Whether interfaces have no IPv6.",
        why: "Source 000 says 1 for every interface, without a reason. It takes addresses away at once from each \
            interface that there is, those of the CNI and loopback's ::1 too, on which programs listen; Cilium \
            wants IPv6 for BIG TCP over it. There is no cost in having it. 0, and this row changes nothing that \
            somebody turned off.",
        relieves: "nothing",
        risk: "Turning it on or off changes addresses of every interface at once.",
        sources: &[
            "source 000, tuned profile",
            "MinIO, docs/tuning/tuned.conf (v0.0.0-20260212)",
            "Linux, Documentation/networking/ip-sysctl.rst",
            "Cilium, Documentation/operations/performance/tuning.rst (IPv6 BIG TCP)",
        ],
        since: None,
        until: None,
        also_called: &["net.ipv6.conf.*.disable_ipv6"],
        owned_by: None,
    },
    advise: None,
};
