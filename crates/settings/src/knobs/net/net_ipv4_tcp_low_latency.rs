//! `net.ipv4.tcp_low_latency`.

use linerate_record::knob::{Knob, Layer, Locator, Relief, Scope, TakesEffect, domain};

use crate::knobs::KnobRow;

pub(crate) const ROW: KnobRow = KnobRow {
    knob: Knob {
        id: "net.ipv4.tcp_low_latency",
        layer: Layer::Net,
        locator: Locator::Sysctl { name: "net.ipv4.tcp_low_latency" },
        scope: Scope::Host,
        takes_effect: TakesEffect::Never,
        // `net/ipv4/sysctl_net_ipv4.c`: an `int` that was a switch.
        takes: domain::SWITCH,
        default: "0",
        summary: "A sysctl that the kernel keeps and ignores.",
        why: "Sources 000 and 003 set 1. It disabled the prequeue, which was removed in 4.14; since then the file \
            exists without effect. Nothing is advised.",
        relief: Relief::Nothing,
        relieves: "nothing",
        risk: "None: it has no effect.",
        sources: &[
            "source 000, tuned profile",
            "source 003, full parameters",
            "MinIO, docs/tuning/tuned.conf (v0.0.0-20260212)",
            "Linux, Documentation/networking/ip-sysctl.rst (legacy option)",
            "Linux 4.14, net/ipv4/tcp.c (e7942d0633c4: tcp: remove prequeue support); measured on 6.18: one value, \
            absent in other namespaces",
        ],
        since: None,
        until: Some((4, 14)),
        also_called: &[],
        owned_by: None,
    },
    advise: None,
};

#[cfg(test)]
mod tests {
    use super::*;
    use crate::knobs::fixtures::*;

    #[test]
    fn nothing_is_advised_for_what_nothing_reads() {
        assert_eq!(advised_at(&ROW, &machine(), "1"), None);
    }
}
