//! `nic.ring.tx`.

use linerate_record::knob::{Advice, Knob, Layer, Locator, Relief, Scope, SettingPlace, Snapshot, TakesEffect, domain};
use linerate_record::site::Site;

use crate::knobs::{KnobRow, facts};

pub(crate) const ROW: KnobRow = KnobRow {
    knob: Knob {
        id: "nic.ring.tx",
        layer: Layer::Nic,
        locator: Locator::Ring { side: "tx" },
        scope: Scope::Device,
        takes_effect: TakesEffect::AtOnce,
        // `include/uapi/linux/ethtool.h: ethtool_ringparam`: a `__u32`; the interface tells the most that it has.
        takes: domain::number(1, u32::MAX as i128),
        default: "that of the driver: 256 to 1024",
        summary: "Descriptors of each transmit queue of an interface.",
        why: "The ring holds packets that wait to be sent. Byte queue limits bound their amount, so a larger ring \
            costs little and gains little. 1024 is enough for TSO packets.",
        relief: Relief::Sending,
        relieves: "sending: queues that stop",
        risk: "A change resets the interface, and packets are lost for a moment. Each queue needs memory.",
        sources: &["ethtool(8)", "Linux, Documentation/networking/ethtool-netlink.rst: RINGS_SET"],
        since: None,
        until: None,
        also_called: &[],
        owned_by: None,
    },
    advise: Some(advise),
};

fn advise(snapshot: &Snapshot, _site: &Site, place: &SettingPlace) -> Option<Advice> {
    let bits_per_s = facts::nic(snapshot, place)?.speed_bits_per_s?;
    facts::up_to_offered(snapshot, place, 1024, format!("enough for TSO packets at {}", facts::rate(bits_per_s as f64)))
}
