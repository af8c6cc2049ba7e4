//! `net.core.netdev_budget`.

use linerate_record::knob::{Advice, Knob, Layer, Locator, Relief, Scope, SettingPlace, Snapshot, TakesEffect, domain};
use linerate_record::site::Site;

use crate::knobs::{KnobRow, facts};

pub(crate) const ROW: KnobRow = KnobRow {
    knob: Knob {
        id: "net.core.netdev_budget",
        layer: Layer::Net,
        locator: Locator::Sysctl { name: "net.core.netdev_budget" },
        scope: Scope::Host,
        takes_effect: TakesEffect::AtOnce,
        // `net/core/dev.c: net_rx_action`: an `int` of packets. The kernel takes zero, and ends each round after one
        // poll.
        takes: domain::number(1, domain::INT_MAX),
        default: "300",
        summary: "Maximum number of packets that one round of receive processing handles, over all queues of a \
            processor.",
        why: "A round ends at this limit or at netdev_budget_usecs, whichever comes first. Source 003 raises this one \
            to 1200 and leaves the other, so on a core slow enough to need it, the time limit ends the round first. \
            Raise both if softnet_stat counts squeezes (third column). The advice is 600 from 100 Gb/s on, and the \
            default below.",
        relief: Relief::Receiving,
        relieves: "receiving: rounds that end before the queues are empty",
        risk: "Longer rounds delay other work of that processor.",
        sources: &[
            "source 003, full parameters",
            "source 003, partial parameters (A1)",
            "Linux, Documentation/admin-guide/sysctl/net.rst",
            "Linux, net/core/dev.c: net_rx_action",
        ],
        since: None,
        until: None,
        also_called: &[],
        owned_by: None,
    },
    advise: Some(advise),
};

fn advise(snapshot: &Snapshot, site: &Site, _place: &SettingPlace) -> Option<Advice> {
    let fast = facts::node_bits_per_s(snapshot, site) >= 100e9;
    if fast { facts::advice(600, "from 100 Gb/s on") } else { facts::advice(300, "the default: below 100 Gb/s") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::knobs::fixtures::*;

    #[test]
    fn only_fast_nodes_get_longer_rounds() {
        let mut snapshot = machine();
        assert_eq!(advised(&ROW, &snapshot).as_deref(), Some("300"));
        set_port_speeds(&mut snapshot, 100);
        assert_eq!(advised(&ROW, &snapshot).as_deref(), Some("600"));
    }
}
