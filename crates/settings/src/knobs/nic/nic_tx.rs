//! `nic.tx`.

use linerate_record::knob::{Advice, Domain, Knob, Layer, Locator, Relief, Scope, SettingPlace, Snapshot, TakesEffect};
use linerate_record::site::Site;

use crate::knobs::{KnobRow, facts};

pub(crate) const ROW: KnobRow = KnobRow {
    knob: Knob {
        id: "nic.tx",
        layer: Layer::Nic,
        locator: Locator::Offload { feature: "tx-checksum-ip-generic" },
        scope: Scope::Device,
        takes_effect: TakesEffect::AtOnce,
        // `ethtool(8)`, --features.
        takes: Domain::Words(&["on", "off"]),
        default: "on",
        summary: "Whether the NIC computes checksums of sent packets.",
        why: "The advice is on: TSO needs it. Some drivers offer it per protocol under other names; the audit does not \
            read those.",
        relief: Relief::Processors,
        relieves: "processor: work per packet",
        risk: "None known.",
        sources: &[
            "source 002, network tuning",
            "ethtool(8)",
            "Linux, Documentation/networking/segmentation-offloads.rst",
        ],
        since: None,
        until: None,
        also_called: &["TX"],
        owned_by: None,
    },
    advise: Some(advise),
};

fn advise(snapshot: &Snapshot, _site: &Site, place: &SettingPlace) -> Option<Advice> {
    facts::left_to_nic(snapshot, place)
}
