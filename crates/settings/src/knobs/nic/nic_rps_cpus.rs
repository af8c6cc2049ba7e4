//! `nic.rps_cpus`.

use linerate_record::knob::{Advice, Domain, Knob, Layer, Locator, Relief, Scope, SettingPlace, Snapshot, TakesEffect};
use linerate_record::site::Site;

use crate::knobs::{KnobRow, facts};

pub(crate) const ROW: KnobRow = KnobRow {
    knob: Knob {
        id: "nic.rps_cpus",
        layer: Layer::Nic,
        locator: Locator::Sysfs { path: "class/net/{nic}/queues/rx-*/rps_cpus" },
        scope: Scope::Device,
        takes_effect: TakesEffect::AtOnce,
        // `net/core/net-sysfs.c: store_rps_map`; no processor is off.
        takes: Domain::Processors,
        default: "0: off",
        summary: "Processors to which software distributes received packets, as a mask.",
        why: "Source 002 advises it if one core receives for all. With hardware queues, it only adds a second \
            hand-over: the advice is off. On a virtual machine with one queue, it is all processors.",
        relief: Relief::Processors,
        relieves: "processor: one core that receives or sends for all",
        risk: "Interrupts between processors.",
        sources: &["source 002, network tuning", "Linux, Documentation/networking/scaling.rst"],
        since: None,
        until: None,
        also_called: &["RPS"],
        owned_by: None,
    },
    advise: Some(advise),
};

fn advise(snapshot: &Snapshot, _site: &Site, place: &SettingPlace) -> Option<Advice> {
    facts::nic(snapshot, place)?;
    if facts::is_single_queue(snapshot) {
        return facts::advice(
            facts::cpu_mask(snapshot.machine.cpus),
            "the NIC has one queue: software distributes received packets",
        );
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
