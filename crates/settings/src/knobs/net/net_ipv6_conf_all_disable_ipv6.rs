//! `net.ipv6.conf.all.disable_ipv6`.

use linerate_record::knob::{Knob, Layer, Locator, Relief, Scope, TakesEffect, domain};

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
        summary: "Whether IPv6 is disabled on all interfaces.",
        why: "Source 000 sets 1 without giving a reason. It removes the addresses of every interface at once, also \
            those of the CNI and ::1 of loopback, on which programs listen; Cilium needs IPv6 for IPv6 BIG TCP. \
            Leaving IPv6 enabled costs nothing. The default of 0 is right, but nothing is advised: if someone disabled \
            IPv6, it stays disabled.",
        relief: Relief::Nothing,
        relieves: "nothing",
        risk: "A change adds or removes addresses of every interface at once.",
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
