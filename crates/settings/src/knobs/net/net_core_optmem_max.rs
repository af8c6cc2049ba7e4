//! `net.core.optmem_max`.

use linerate_record::knob::{Advice, Knob, Layer, Locator, Relief, Scope, SettingPlace, Snapshot, TakesEffect, domain};
use linerate_record::site::Site;

use crate::knobs::{KnobRow, facts};

pub(crate) const ROW: KnobRow = KnobRow {
    knob: Knob {
        id: "net.core.optmem_max",
        layer: Layer::Net,
        locator: Locator::Sysctl { name: "net.core.optmem_max" },
        scope: Scope::NetworkNamespace,
        takes_effect: TakesEffect::AtOnce,
        // `net/core/sysctl_net_core.c: net_core_table`: an `int`; below zero no option could be set.
        takes: domain::number(0, domain::INT_MAX),
        default: "131072 since Linux 6.8, 20480 or 81920 before",
        summary: "Maximum ancillary memory of one socket in bytes: control messages, filters, zero-copy notifications.",
        why: "It is not a data buffer, whatever sources say about many connections: 128 MiB (source 003) lets one \
            socket pin that much. 128 KiB is what the kernel chose for MSG_ZEROCOPY. Since 6.8 each namespace has its \
            own value and starts from the default; before, one value applied to the machine.",
        relief: Relief::Sockets,
        relieves: "sockets with zero-copy sends: ENOBUFS",
        risk: "Large: kernel memory that a process can pin for each socket.",
        sources: &[
            "source 002, network tuning",
            "source 003, full parameters",
            "Linux, Documentation/admin-guide/sysctl/net.rst",
            "Linux 6.8, net/core/sock.c (4944566706b2: increase optmem_max default value; f5769faeec36: \
            Namespace-ify sysctl_optmem_max)",
        ],
        since: None,
        until: None,
        also_called: &[],
        owned_by: None,
    },
    advise: Some(advise),
};

fn advise(_snapshot: &Snapshot, _site: &Site, _place: &SettingPlace) -> Option<Advice> {
    facts::advice(131_072, "the default since 6.8: it is not a data buffer")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::knobs::fixtures::*;

    #[test]
    fn a_socket_may_not_pin_128_mib() {
        assert_eq!(advised_at(&ROW, &machine(), "134217728").as_deref(), Some("131072"));
    }
}
