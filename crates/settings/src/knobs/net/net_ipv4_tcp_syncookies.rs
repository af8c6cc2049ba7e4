//! `net.ipv4.tcp_syncookies`.

use linerate_record::knob::{Advice, Knob, Layer, Locator, Relief, Scope, SettingPlace, Snapshot, TakesEffect, domain};
use linerate_record::site::Site;

use crate::knobs::{KnobRow, facts};

pub(crate) const ROW: KnobRow = KnobRow {
    knob: Knob {
        id: "net.ipv4.tcp_syncookies",
        layer: Layer::Net,
        locator: Locator::Sysctl { name: "net.ipv4.tcp_syncookies" },
        scope: Scope::NetworkNamespace,
        takes_effect: TakesEffect::AtOnce,
        // `Documentation/networking/ip-sysctl.rst`: never, when a queue is full, always.
        takes: domain::number(0, 2),
        default: "1",
        summary: "Whether a listener answers SYNs with cookies: when its queue is full (1), never (0), always (2).",
        why: "Source 000 sets 0 in two places, once as \"performance up, security down\". Cookies are used only when \
            the queue is full; until then 0 and 1 behave the same. When it is full, 0 drops connections and 1 accepts \
            them. The advice is 1.",
        relief: Relief::Accepting,
        relieves: "accepting: connections lost while the SYN queue is full",
        risk: "Without timestamps, connections accepted by cookie lack TCP options.",
        sources: &[
            "source 000, OS table",
            "source 000, tuned profile",
            "MinIO, docs/tuning/tuned.conf (v0.0.0-20260212)",
            "Linux, Documentation/networking/ip-sysctl.rst",
            "Linux, net/ipv4/tcp_input.c: tcp_conn_request",
        ],
        since: None,
        until: None,
        also_called: &[],
        owned_by: None,
    },
    advise: Some(advise),
};

fn advise(_snapshot: &Snapshot, _site: &Site, _place: &SettingPlace) -> Option<Advice> {
    facts::advice(1, "it only acts when the queue is full; 0 would then drop connections")
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
