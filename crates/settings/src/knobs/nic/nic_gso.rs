//! `nic.gso`.

use linerate_record::knob::{Advice, Domain, Knob, Layer, Locator, Relief, Scope, SettingPlace, Snapshot, TakesEffect};
use linerate_record::site::Site;

use crate::knobs::{KnobRow, facts};

pub(crate) const ROW: KnobRow = KnobRow {
    knob: Knob {
        id: "nic.gso",
        layer: Layer::Nic,
        locator: Locator::Offload { feature: "generic-segmentation-offload" },
        scope: Scope::Device,
        takes_effect: TakesEffect::AtOnce,
        // `ethtool(8)`, --features.
        takes: Domain::Words(&["on", "off"]),
        default: "on",
        summary: "Whether packets stay large until just before the driver.",
        why: "The advice is on: it helps if the NIC cannot segment (TSO under a tunnel), and BIG TCP needs it.",
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
        also_called: &["GSO"],
        owned_by: None,
    },
    advise: Some(advise),
};

fn advise(snapshot: &Snapshot, _site: &Site, place: &SettingPlace) -> Option<Advice> {
    facts::nic(snapshot, place)?;
    facts::advice("on", "large packets are split as late as possible, so the network stack processes fewer of them")
}
