//! `net.ipv4.tcp_window_scaling`.

use linerate_record::knob::{Advice, Knob, Layer, Locator, Relief, Scope, SettingPlace, Snapshot, TakesEffect, domain};
use linerate_record::site::Site;

use crate::knobs::{KnobRow, facts};

pub(crate) const ROW: KnobRow = KnobRow {
    knob: Knob {
        id: "net.ipv4.tcp_window_scaling",
        layer: Layer::Net,
        locator: Locator::Sysctl { name: "net.ipv4.tcp_window_scaling" },
        scope: Scope::NetworkNamespace,
        takes_effect: TakesEffect::NewSocket,
        // `Documentation/networking/ip-sysctl.rst`: a switch.
        takes: domain::SWITCH,
        default: "1",
        summary: "Whether windows above 64 KiB are offered.",
        why: "No source mentions it, but every buffer size in them depends on it: without it, a connection has at most \
            64 KiB in flight, which is 0.26 Gb/s at 2 ms.",
        relief: Relief::Links,
        relieves: "links: throughput of one connection",
        risk: "Off: at most 64 KiB in flight.",
        sources: &["Linux, Documentation/networking/ip-sysctl.rst"],
        since: None,
        until: None,
        also_called: &[],
        owned_by: None,
    },
    advise: Some(advise),
};

fn advise(_snapshot: &Snapshot, _site: &Site, _place: &SettingPlace) -> Option<Advice> {
    facts::advice(1, "without it, buffers above 64 KiB are unused")
}
