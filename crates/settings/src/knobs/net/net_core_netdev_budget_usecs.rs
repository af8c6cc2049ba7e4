//! `net.core.netdev_budget_usecs`.

use linerate_record::knob::{Advice, Knob, Layer, Locator, Relief, Scope, SettingPlace, Snapshot, TakesEffect, domain};
use linerate_record::site::Site;

use crate::knobs::{KnobRow, facts};

pub(crate) const ROW: KnobRow = KnobRow {
    knob: Knob {
        id: "net.core.netdev_budget_usecs",
        layer: Layer::Net,
        locator: Locator::Sysctl { name: "net.core.netdev_budget_usecs" },
        scope: Scope::Host,
        takes_effect: TakesEffect::AtOnce,
        // An `int`, not below zero: `net/core/sysctl_net_core.c: net_core_table`.
        takes: domain::number(0, domain::INT_MAX),
        default: "two ticks: 2000 at HZ = 1000, 8000 at HZ = 250",
        summary: "Maximum duration of one round of receive processing in microseconds.",
        why: "No source sets it, so source 003's netdev_budget may have had no effect. From 100 Gb/s on, the advice is \
            8000: two ticks at HZ = 250, the lowest common rate.",
        relief: Relief::Receiving,
        relieves: "receiving: rounds that end before the queues are empty",
        risk: "Longer rounds delay other work of that processor.",
        sources: &["Linux, Documentation/admin-guide/sysctl/net.rst", "Linux 4.12, net/core/dev.c: net_rx_action"],
        since: Some((4, 12)),
        until: None,
        also_called: &[],
        owned_by: None,
    },
    advise: Some(advise),
};

fn advise(snapshot: &Snapshot, site: &Site, place: &SettingPlace) -> Option<Advice> {
    let fast = facts::node_bits_per_s(snapshot, site) >= 100e9;
    fast.then(|| {
        facts::at_least(snapshot, place, 8000, "netdev_budget is raised, and the time limit must not end a round first")
    })
    .flatten()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::knobs::fixtures::*;

    #[test]
    fn time_is_given_where_packets_are() {
        let mut snapshot = machine();
        assert_eq!(advised_at(&ROW, &snapshot, "2000"), None);
        set_port_speeds(&mut snapshot, 100);
        assert_eq!(advised_at(&ROW, &snapshot, "2000").as_deref(), Some("8000"));
    }
}
