//! `net.ipv6.conf.default.disable_ipv6`.

use linerate_record::knob::{Knob, Layer, Locator, Relief, Scope, TakesEffect, domain};

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
        summary: "Whether IPv6 is disabled on new interfaces.",
        why: "See net.ipv6.conf.all.disable_ipv6. Unlike the IPv4 values, those of IPv6 are not copied into new \
            namespaces unless net.core.devconf_inherit_init_net requests it, so pods have IPv6 whatever the default of \
            the host.",
        relief: Relief::Nothing,
        relieves: "nothing",
        risk: "New interfaces differ from existing ones in whether they have IPv6.",
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
