//! `net.ipv4.tcp_timestamps`.

use linerate_record::knob::{Advice, Knob, Layer, Locator, Relief, Scope, SettingPlace, Snapshot, TakesEffect, domain};
use linerate_record::site::Site;

use crate::knobs::{KnobRow, facts};

pub(crate) const ROW: KnobRow = KnobRow {
    knob: Knob {
        id: "net.ipv4.tcp_timestamps",
        layer: Layer::Net,
        locator: Locator::Sysctl { name: "net.ipv4.tcp_timestamps" },
        scope: Scope::NetworkNamespace,
        takes_effect: TakesEffect::NewSocket,
        // `Documentation/networking/ip-sysctl.rst`: off, with a random offset, without.
        takes: domain::number(0, 2),
        default: "1",
        summary: "Whether segments carry timestamps, 12 bytes each.",
        why: "Source 000 sets 0 to save processor time. Timestamps take 12 bytes of each segment (0.8 % with an MTU of \
            1500, 0.13 % with 9000). They protect against wrapped sequence numbers, which wrap in 1.4 s at 25 Gb/s, \
            allow round-trip times of retransmissions to be measured, and are needed by tcp_tw_reuse. The advice is 1.",
        relief: Relief::Links,
        relieves: "links: 12 bytes per packet; correctness at high rates",
        risk: "Off: at high rates, old segments may be accepted as new.",
        sources: &[
            "source 000, tuned profile",
            "MinIO, docs/tuning/tuned.conf (v0.0.0-20260212)",
            "Linux, Documentation/networking/ip-sysctl.rst",
            "RFC 7323, section 5 (PAWS)",
        ],
        since: None,
        until: None,
        also_called: &[],
        owned_by: None,
    },
    advise: Some(advise),
};

fn advise(_snapshot: &Snapshot, _site: &Site, _place: &SettingPlace) -> Option<Advice> {
    facts::advice(1, "at 25 Gb/s, sequence numbers wrap in 1.4 s")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::knobs::fixtures::*;

    #[test]
    fn the_sources_zero_is_not_followed() {
        assert_eq!(advised_at(&ROW, &machine(), "0").as_deref(), Some("1"));
    }
}
