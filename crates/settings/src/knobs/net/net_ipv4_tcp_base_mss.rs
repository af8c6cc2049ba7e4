//! `net.ipv4.tcp_base_mss`.

use linerate_record::knob::{Advice, Knob, Layer, Locator, Relief, Scope, SettingPlace, Snapshot, TakesEffect, domain};
use linerate_record::site::Site;

use crate::knobs::{KnobRow, facts};

pub(crate) const ROW: KnobRow = KnobRow {
    knob: Knob {
        id: "net.ipv4.tcp_base_mss",
        layer: Layer::Net,
        locator: Locator::Sysctl { name: "net.ipv4.tcp_base_mss" },
        scope: Scope::NetworkNamespace,
        takes_effect: TakesEffect::NewSocket,
        // `include/net/tcp.h`: TCP_MIN_SND_MSS is what less comes to; the option of a segment has 16 bits.
        takes: domain::number(48, 65535),
        default: "1024 since Linux 4.1",
        summary: "Initial segment size in bytes for MTU probing.",
        why: "Source 000 sets 1280, which is the minimum MTU of IPv6 rather than an MSS; 1280 − 60 would fit. It only \
            applies after a black hole is detected. 1024 fits every path, so the default is advised.",
        relief: Relief::Links,
        relieves: "links: first segments after a black hole",
        risk: "Larger segments may not pass a path with several tunnels.",
        sources: &[
            "source 000, tuned profile",
            "MinIO, docs/tuning/tuned.conf (v0.0.0-20260212)",
            "Linux, Documentation/networking/ip-sysctl.rst",
            "Linux, include/net/tcp.h: TCP_BASE_MSS",
        ],
        since: None,
        until: None,
        also_called: &["tcp_base_mss"],
        owned_by: None,
    },
    advise: Some(advise),
};

fn advise(_snapshot: &Snapshot, _site: &Site, _place: &SettingPlace) -> Option<Advice> {
    facts::advice(1024, "the default: it fits every path; 1280 is an MTU rather than a segment size")
}
