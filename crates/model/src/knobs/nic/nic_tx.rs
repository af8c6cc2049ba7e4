//! `nic.tx`.

use linerate_record::knob::{Advice, Knob, Layer, Locator, Place, Scope, Snapshot, TakesEffect};
use linerate_record::site::Site;

use crate::knobs::{Row, facts};

pub(crate) const ROW: Row = Row {
    knob: Knob {
        id: "nic.tx",
        layer: Layer::Nic,
        locator: Locator::Offload { feature: "tx-checksum-ip-generic" },
        scope: Scope::Device,
        takes_effect: TakesEffect::AtOnce,
        default: "on",
        summary: "Whether the NIC computes checksums.",
        why: "On: TSO rests on it. Some drivers offer it per protocol under other names: then nothing is read here.",
        relieves: "processor: packets",
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
    advise,
};

fn advise(snapshot: &Snapshot, _site: &Site, place: &Place) -> Option<Advice> {
    facts::nic(snapshot, place)?;
    facts::advice("on", "work for the NIC and not for each byte or packet here")
}
