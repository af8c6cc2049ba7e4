//! `net.ipv4.tcp_max_tw_buckets`.

use linerate_record::knob::{Advice, Knob, Layer, Locator, Scope, SettingPlace, Snapshot, TakesEffect, domain};
use linerate_record::site::Site;

use crate::knobs::{KnobRow, facts};

pub(crate) const ROW: KnobRow = KnobRow {
    knob: Knob {
        id: "net.ipv4.tcp_max_tw_buckets",
        layer: Layer::Net,
        locator: Locator::Sysctl { name: "net.ipv4.tcp_max_tw_buckets" },
        scope: Scope::NetworkNamespace,
        takes_effect: TakesEffect::AtOnce,
        // `net/ipv4/sysctl_net_ipv4.c: ipv4_net_table`: an `int`.
        takes: domain::number(0, domain::INT_MAX),
        default: "half of the entries of the established hash: 131072 on large machines; 16384 and less on small \
            ones",
        summary: "Connections in TIME_WAIT that a namespace may have; beyond it they are dropped at once.",
        why: "Source 003 says 2000000, from 16384 on its virtual machine. Dropping TIME_WAIT early is legal and \
            logged. S3 clients keep connections; what a node needs is those that close in a minute: each of its \
            connections, eight times, no less than 131072. An entry takes 256 bytes.",
        relieves: "nothing but log lines, until old segments reach a new connection",
        risk: "256 bytes for each.",
        sources: &[
            "source 003, full parameters",
            "Linux, Documentation/networking/ip-sysctl.rst",
            "Linux, net/ipv4/inet_timewait_sock.c: inet_twsk_alloc; tcp_sk_init",
        ],
        since: None,
        until: None,
        also_called: &[],
        owned_by: None,
    },
    advise,
};

fn advise(snapshot: &Snapshot, site: &Site, place: &SettingPlace) -> Option<Advice> {
    let wanted = (8 * facts::connections(site)).next_power_of_two().clamp(131_072, 2 << 20);
    facts::at_least(snapshot, place, wanted, "every connection of a node, eight times in a minute")
}
