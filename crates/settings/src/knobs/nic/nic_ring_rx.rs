//! `nic.ring.rx`.

use linerate_record::knob::{Advice, Knob, Layer, Locator, Relief, Scope, SettingPlace, Snapshot, TakesEffect, domain};
use linerate_record::site::Site;

use crate::knobs::{KnobRow, facts};

pub(crate) const ROW: KnobRow = KnobRow {
    knob: Knob {
        id: "nic.ring.rx",
        layer: Layer::Nic,
        locator: Locator::Ring { side: "rx" },
        scope: Scope::Device,
        takes_effect: TakesEffect::AtOnce,
        // `include/uapi/linux/ethtool.h: ethtool_ringparam`: a `__u32`; the interface tells the most that it has.
        takes: domain::number(1, u32::MAX as i128),
        default: "that of the driver: 256 to 1024",
        summary: "Descriptors of each receive queue of an interface.",
        why: "The ring is the only buffer before a processor handles a packet; when it is full, the NIC drops packets \
            (rx_missed, rx_out_of_buffer). A ring of 1024 packets of 9000 bytes holds 3 ms of traffic at 25 Gb/s. The \
            advice is 8192 from 100 Gb/s on and 2048 below, at most what the driver offers; far larger rings evict \
            data from caches.",
        relief: Relief::Receiving,
        relieves: "receiving: drops in the NIC",
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
    let wanted = if bits_per_s >= 100_000_000_000 { 8192 } else { 2048 };
    facts::up_to_offered(snapshot, place, wanted, format!("enough for bursts at {}", facts::rate(bits_per_s as f64)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::knobs::fixtures::*;

    #[test]
    fn no_more_than_the_driver_offers_is_advised_and_more_is_left() {
        let mut snapshot = machine();
        for (now, offered, expected) in
            [("512", "4096", Some("2048")), ("512", "1024", Some("1024")), ("4096", "4096", Some("4096"))]
        {
            set_among(&mut snapshot, &ROW, "ens1f0", now, &[offered]);
            assert_eq!(advised_for(&ROW, &snapshot, "ens1f0").as_deref(), expected, "{now} of {offered}");
        }
        set_among(&mut snapshot, &ROW, "ens1f0", "512", &[]);
        assert_eq!(advised_for(&ROW, &snapshot, "ens1f0"), None, "what is offered is not known");
    }
}
