//! `net.ipv4.tcp_keepalive_time`.

use linerate_record::knob::{Advice, Knob, Layer, Locator, Relief, Scope, SettingPlace, Snapshot, TakesEffect, domain};
use linerate_record::site::Site;

use crate::knobs::{KnobRow, facts};

pub(crate) const ROW: KnobRow = KnobRow {
    knob: Knob {
        id: "net.ipv4.tcp_keepalive_time",
        layer: Layer::Net,
        locator: Locator::Sysctl { name: "net.ipv4.tcp_keepalive_time" },
        scope: Scope::NetworkNamespace,
        takes_effect: TakesEffect::AtOnce,
        // `kernel/sysctl.c: proc_dointvec_jiffies`: seconds as an `int` of ticks, of which there are 100 at least.
        takes: domain::number(1, 21_474_836),
        default: "7200",
        summary: "Seconds of idleness before a connection with keep-alive is probed, unless its program sets its own \
            interval.",
        why: "MinIO sets 15 s on its own sockets, and Go does so by default. A program that relies on the kernel's two \
            hours silently loses idle connections behind a firewall, or with a conntrack timeout of one hour (source \
            002). 600 is below all of these.",
        relief: Relief::Links,
        relieves: "links: idle connections that are dropped silently",
        risk: "One probe every ten minutes for each idle connection with keep-alive.",
        sources: &[
            "Linux, Documentation/networking/ip-sysctl.rst",
            "MinIO, internal/http/dial_linux.go",
            "source 002, network tuning",
        ],
        since: None,
        until: None,
        also_called: &[],
        owned_by: None,
    },
    advise: Some(advise),
};

fn advise(_snapshot: &Snapshot, _site: &Site, _place: &SettingPlace) -> Option<Advice> {
    facts::advice(600, "it is below the timeouts of firewalls and conntrack")
}
