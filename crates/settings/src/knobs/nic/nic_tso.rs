//! `nic.tso`.

use linerate_record::knob::{Advice, Domain, Knob, Layer, Locator, Relief, Scope, SettingPlace, Snapshot, TakesEffect};
use linerate_record::site::Site;

use crate::knobs::{KnobRow, facts};

pub(crate) const ROW: KnobRow = KnobRow {
    knob: Knob {
        id: "nic.tso",
        layer: Layer::Nic,
        locator: Locator::Offload { feature: "tcp-segmentation-offload" },
        scope: Scope::Device,
        takes_effect: TakesEffect::AtOnce,
        // `ethtool(8)`, --features.
        takes: Domain::Words(&["on", "off"]),
        default: "on",
        summary: "Whether the NIC splits large TCP packets into segments.",
        why: "The advice is on: the network stack then processes a packet of 64 KiB once. Source 002 warns of \
            conflicts with eBPF, but Cilium itself recommends even larger packets (BIG TCP).",
        relief: Relief::Processors,
        relieves: "processor: work per packet",
        risk: "Some virtual NICs handle it incorrectly under tunnels.",
        sources: &[
            "source 002, network tuning",
            "ethtool(8)",
            "Linux, Documentation/networking/segmentation-offloads.rst",
        ],
        since: None,
        until: None,
        also_called: &["TSO"],
        owned_by: None,
    },
    advise: Some(advise),
};

fn advise(snapshot: &Snapshot, _site: &Site, place: &SettingPlace) -> Option<Advice> {
    facts::left_to_nic(snapshot, place)
}
