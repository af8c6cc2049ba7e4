//! `net.ipv4.tcp_slow_start_after_idle`.

use linerate_record::knob::{Advice, Knob, Layer, Locator, Relief, Scope, SettingPlace, Snapshot, TakesEffect, domain};
use linerate_record::site::Site;

use crate::knobs::{KnobRow, facts};

pub(crate) const ROW: KnobRow = KnobRow {
    knob: Knob {
        id: "net.ipv4.tcp_slow_start_after_idle",
        layer: Layer::Net,
        locator: Locator::Sysctl { name: "net.ipv4.tcp_slow_start_after_idle" },
        scope: Scope::NetworkNamespace,
        takes_effect: TakesEffect::AtOnce,
        // `Documentation/networking/ip-sysctl.rst`: a switch.
        takes: domain::SWITCH,
        default: "1",
        summary: "Whether a connection that was idle for a retransmission timeout starts again from a small window.",
        why: "The advice is 0, as in source 000: pooled connections are idle for more than 200 ms between objects, and \
            within one site the path does not change meanwhile.",
        relief: Relief::Latency,
        relieves: "latency: first round trips of each object",
        risk: "A burst into a path that other connections have filled meanwhile.",
        sources: &[
            "source 000, tuned profile",
            "MinIO, docs/tuning/tuned.conf (v0.0.0-20260212)",
            "Linux, Documentation/networking/ip-sysctl.rst",
            "Linux, net/ipv4/tcp_ipv4.c: tcp_sk_init",
        ],
        since: None,
        until: None,
        also_called: &[],
        owned_by: None,
    },
    advise: Some(advise),
};

fn advise(_snapshot: &Snapshot, _site: &Site, _place: &SettingPlace) -> Option<Advice> {
    facts::advice(0, "pooled connections keep their window between objects")
}
