//! `nic.gro`.

use linerate_record::knob::{Advice, Domain, Knob, Layer, Locator, Relief, Scope, SettingPlace, Snapshot, TakesEffect};
use linerate_record::site::Site;

use crate::knobs::{KnobRow, facts};

pub(crate) const ROW: KnobRow = KnobRow {
    knob: Knob {
        id: "nic.gro",
        layer: Layer::Nic,
        locator: Locator::Offload { feature: "generic-receive-offload" },
        scope: Scope::Device,
        takes_effect: TakesEffect::AtOnce,
        // `ethtool(8)`, --features.
        takes: Domain::Words(&["on", "off"]),
        default: "on",
        summary: "Whether received segments are merged before the network stack processes them.",
        why: "The advice is on: at 25 Gb/s with an MTU of 1500, two million packets per second become 50 thousand.",
        relief: Relief::Processors,
        relieves: "processor: work per packet",
        risk: "A few microseconds of latency while packets wait to be merged.",
        sources: &[
            "source 002, network tuning",
            "ethtool(8)",
            "Linux, Documentation/networking/segmentation-offloads.rst",
        ],
        since: None,
        until: None,
        also_called: &["GRO"],
        owned_by: None,
    },
    advise: Some(advise),
};

fn advise(snapshot: &Snapshot, _site: &Site, place: &SettingPlace) -> Option<Advice> {
    facts::nic(snapshot, place)?;
    facts::advice("on", "the network stack processes few large packets instead of many small ones")
}
