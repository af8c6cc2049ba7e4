//! `net.core.rps_sock_flow_entries`.

use linerate_record::knob::{Advice, Knob, Layer, Locator, Scope, SettingPlace, Snapshot, TakesEffect, domain};
use linerate_record::site::Site;

use crate::knobs::{KnobRow, facts};

pub(crate) const ROW: KnobRow = KnobRow {
    knob: Knob {
        id: "net.core.rps_sock_flow_entries",
        layer: Layer::Net,
        locator: Locator::Sysctl { name: "net.core.rps_sock_flow_entries" },
        scope: Scope::Host,
        takes_effect: TakesEffect::AtOnce,
        // `net/core/sysctl_net_core.c: rps_sock_flow_sysctl`.
        takes: domain::number(0, 1 << 29),
        default: "0: off",
        summary: "Entries of the table that says on which processor a flow is read, for receive flow steering.",
        why: "Source 002 names RPS and RFS for one queue that is too slow. RFS needs this and nic.rps_flow_cnt. \
            Where a NIC has queues for its processors, RSS spreads in hardware and RFS costs more than it gains: \
            off. Where all queues are one (small virtual machines) 32768 is what the documentation takes.",
        relieves: "processor: one core that receives for all",
        risk: "Interrupts between processors; memory for the table.",
        sources: &[
            "source 002, network tuning",
            "Linux, Documentation/networking/scaling.rst",
            "Linux, net/core/sysctl_net_core.c: net_core_table (one value for all namespaces)",
        ],
        since: None,
        until: None,
        also_called: &["RFS"],
        owned_by: None,
    },
    advise: Some(advise),
};

fn advise(snapshot: &Snapshot, _site: &Site, _place: &SettingPlace) -> Option<Advice> {
    if facts::is_single_queue(snapshot) {
        return facts::advice(32_768, "a NIC with one queue: software spreads what it receives");
    }
    facts::advice(0, "the default: queues of the NIC spread in hardware")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::knobs::fixtures::*;

    #[test]
    fn software_spreads_only_where_the_nic_cannot() {
        let mut snapshot = machine();
        assert_eq!(advised(&ROW, &snapshot).as_deref(), Some("0"));
        set(&mut snapshot, &crate::knobs::nic::nic_channels::ROW, Some("ens1f0"), "1");
        assert_eq!(advised(&ROW, &snapshot).as_deref(), Some("32768"));
    }
}
