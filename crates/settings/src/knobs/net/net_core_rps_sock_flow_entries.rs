//! `net.core.rps_sock_flow_entries`.

use linerate_record::knob::{Advice, Knob, Layer, Locator, Relief, Scope, SettingPlace, Snapshot, TakesEffect, domain};
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
        summary: "Entries of the global flow table of receive flow steering (RFS), which records the processor that \
            reads each flow.",
        why: "Source 002 advises RPS and RFS if one queue is too slow. RFS needs both this and nic.rps_flow_cnt. If a \
            NIC has enough queues for its processors, RSS distributes flows in hardware, and RFS costs more than it \
            gains: the advice is off. With a single queue (small virtual machines), it is 32768, the value in the \
            documentation.",
        relief: Relief::Processors,
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
        return facts::advice(32_768, "the NIC has one queue: software distributes received packets");
    }
    facts::advice(0, "the default: the NIC distributes flows over its queues")
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
