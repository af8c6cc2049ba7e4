//! `nic.lro`.

use linerate_record::knob::{Advice, Domain, Knob, Layer, Locator, Relief, Scope, SettingPlace, Snapshot, TakesEffect};
use linerate_record::site::Site;

use crate::knobs::{KnobRow, facts};

pub(crate) const ROW: KnobRow = KnobRow {
    knob: Knob {
        id: "nic.lro",
        layer: Layer::Nic,
        locator: Locator::Offload { feature: "large-receive-offload" },
        scope: Scope::Device,
        takes_effect: TakesEffect::AtOnce,
        // `ethtool(8)`, --features.
        takes: Domain::Words(&["on", "off"]),
        default: "off",
        summary: "Whether the NIC itself merges received segments.",
        why: "The advice is off: LRO discards information that forwarding needs, and a node forwards for its pods. The \
            kernel disables it when forwarding is on. GRO has the same benefit without that loss.",
        relief: Relief::Processors,
        relieves: "processor: work per packet",
        risk: "Off: none if GRO is on.",
        sources: &[
            "source 002, network tuning",
            "ethtool(8)",
            "Linux, Documentation/networking/segmentation-offloads.rst",
        ],
        since: None,
        until: None,
        also_called: &["LRO"],
        owned_by: None,
    },
    advise: Some(advise),
};

fn advise(snapshot: &Snapshot, _site: &Site, place: &SettingPlace) -> Option<Advice> {
    facts::nic(snapshot, place)?;
    facts::advice("off", "GRO merges without loss of information")
}
