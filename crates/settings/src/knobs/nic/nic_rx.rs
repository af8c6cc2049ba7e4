//! `nic.rx`.

use linerate_record::knob::{Advice, Domain, Knob, Layer, Locator, Relief, Scope, SettingPlace, Snapshot, TakesEffect};
use linerate_record::site::Site;

use crate::knobs::{KnobRow, facts};

pub(crate) const ROW: KnobRow = KnobRow {
    knob: Knob {
        id: "nic.rx",
        layer: Layer::Nic,
        locator: Locator::Offload { feature: "rx-checksumming" },
        scope: Scope::Device,
        takes_effect: TakesEffect::AtOnce,
        // `ethtool(8)`, --features.
        takes: Domain::Words(&["on", "off"]),
        default: "on",
        summary: "Whether the NIC verifies checksums of received packets.",
        why: "The advice is on: without it, the processor reads each byte once more, and GRO does not merge segments.",
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
        also_called: &["RX"],
        owned_by: None,
    },
    advise: Some(advise),
};

fn advise(snapshot: &Snapshot, _site: &Site, place: &SettingPlace) -> Option<Advice> {
    facts::left_to_nic(snapshot, place)
}
