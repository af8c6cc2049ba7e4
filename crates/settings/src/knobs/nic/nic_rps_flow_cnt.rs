//! `nic.rps_flow_cnt`.

use linerate_record::knob::{Advice, Knob, Layer, Locator, Relief, Scope, SettingPlace, Snapshot, TakesEffect, domain};
use linerate_record::site::Site;

use crate::knobs::{KnobRow, facts};

pub(crate) const ROW: KnobRow = KnobRow {
    knob: Knob {
        id: "nic.rps_flow_cnt",
        layer: Layer::Nic,
        locator: Locator::Sysfs { path: "class/net/{nic}/queues/rx-*/rps_flow_cnt" },
        scope: Scope::Device,
        takes_effect: TakesEffect::AtOnce,
        // `net/core/net-sysfs.c: store_rps_dev_flow_table_cnt`: the mask of the table has 32 bits.
        takes: domain::number(0, 1 << 32),
        default: "0: off",
        summary: "Flows that a receive queue tracks for receive flow steering (RFS).",
        why: "RFS is off unless both this and net.core.rps_sock_flow_entries are set.",
        relief: Relief::Processors,
        relieves: "processor: one core that receives or sends for all",
        risk: "Interrupts between processors.",
        sources: &["source 002, network tuning", "Linux, Documentation/networking/scaling.rst"],
        since: None,
        until: None,
        also_called: &["RFS"],
        owned_by: None,
    },
    advise: Some(advise),
};

fn advise(snapshot: &Snapshot, _site: &Site, place: &SettingPlace) -> Option<Advice> {
    facts::nic(snapshot, place)?;
    if facts::is_single_queue(snapshot) {
        return facts::advice(32_768, "the same as net.core.rps_sock_flow_entries, for one queue");
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
        assert_eq!(advised_for(&ROW, &snapshot, "ens1f0").as_deref(), Some("0"));
        set(&mut snapshot, &crate::knobs::nic::nic_channels::ROW, Some("ens1f0"), "1");
        assert_ne!(advised_for(&ROW, &snapshot, "ens1f0").as_deref(), Some("0"));
    }
}
