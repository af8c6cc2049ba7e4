//! `nic.gro`.

use linerate_record::knob::{Advice, Knob, Layer, Locator, Place, Scope, Snapshot, TakesEffect};
use linerate_record::site::Site;

use crate::knobs::{Row, facts};

pub(crate) const ROW: Row = Row {
    knob: Knob {
        id: "nic.gro",
        layer: Layer::Nic,
        locator: Locator::Offload { feature: "generic-receive-offload" },
        scope: Scope::Device,
        takes_effect: TakesEffect::AtOnce,
        default: "on",
        summary: "Whether received segments are joined before the stack sees them.",
        why: "On: at 25 Gb/s and MTU 1500 two million packets a second become 50 thousand.",
        relieves: "processor: packets",
        risk: "A few microseconds, where packets wait for the next.",
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
    advise,
};

fn advise(snapshot: &Snapshot, _site: &Site, place: &Place) -> Option<Advice> {
    facts::nic(snapshot, place)?;
    facts::advice("on", "work for the NIC and not for each byte or packet here")
}
