//! `net.ipv4.tcp_sack`.

use linerate_record::knob::{Advice, Knob, Layer, Locator, Relief, Scope, SettingPlace, Snapshot, TakesEffect, domain};
use linerate_record::site::Site;

use crate::knobs::{KnobRow, facts};

pub(crate) const ROW: KnobRow = KnobRow {
    knob: Knob {
        id: "net.ipv4.tcp_sack",
        layer: Layer::Net,
        locator: Locator::Sysctl { name: "net.ipv4.tcp_sack" },
        scope: Scope::NetworkNamespace,
        takes_effect: TakesEffect::NewSocket,
        // `Documentation/networking/ip-sysctl.rst`: a switch.
        takes: domain::SWITCH,
        default: "1",
        summary: "Whether selective acknowledgements are offered.",
        why: "It has been on by default for twenty years; source 000 sets the default. Without it, each loss at high \
            rates costs a window.",
        relief: Relief::Links,
        relieves: "links: recovery from loss",
        risk: "Off: slow recovery.",
        sources: &[
            "source 000, tuned profile",
            "MinIO, docs/tuning/tuned.conf (v0.0.0-20260212)",
            "Linux, Documentation/networking/ip-sysctl.rst",
        ],
        since: None,
        until: None,
        also_called: &[],
        owned_by: None,
    },
    advise: Some(advise),
};

fn advise(_snapshot: &Snapshot, _site: &Site, _place: &SettingPlace) -> Option<Advice> {
    facts::advice(1, "only lost segments are sent again")
}
