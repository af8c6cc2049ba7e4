//! `net.ipv6.conf.default.disable_ipv6`.

use linerate_record::knob::{Knob, Layer, Locator, Scope, TakesEffect, domain};

use crate::knobs::KnobRow;

pub(crate) const ROW: KnobRow = KnobRow {
    knob: Knob {
        id: "net.ipv6.conf.default.disable_ipv6",
        layer: Layer::Net,
        locator: Locator::Sysctl { name: "net.ipv6.conf.default.disable_ipv6" },
        scope: Scope::NetworkNamespace,
        takes_effect: TakesEffect::NewNamespace,
        // `net/ipv6/addrconf.c: addrconf_sysctl_disable` tells 0 from others.
        takes: domain::SWITCH,
        default: "0",
        summary: "Whether interfaces that appear have no IPv6.",
        why: "See net.ipv6.conf.all.disable_ipv6. Unlike IPv4's, IPv6's defaults are not copied into new namespaces \
            unless net.core.devconf_inherit_init_net says so, so that pods have IPv6 whatever the host's default \
            is.",
        relieves: "nothing",
        risk: "Interfaces that appear lack or have IPv6 unlike those that are there.",
        sources: &[
            "source 000, tuned profile",
            "MinIO, docs/tuning/tuned.conf (v0.0.0-20260212)",
            "Linux, Documentation/networking/ip-sysctl.rst",
            "Linux, net/ipv6/addrconf.c: addrconf_init_net",
        ],
        since: None,
        until: None,
        also_called: &[],
        owned_by: None,
    },
    advise: None,
};
