//! `net.ipv4.tcp_max_tw_buckets`.

use linerate_record::knob::{Advice, Knob, Layer, Locator, Relief, Scope, SettingPlace, Snapshot, TakesEffect, domain};
use linerate_record::site::Site;

use crate::knobs::{KnobRow, facts};

/// How often a connection is closed and made anew in the minute of TIME_WAIT: chosen, for clients that keep theirs for
/// some seconds.
const CLOSED_IN_A_MINUTE: u64 = 8;
/// The kernel's default on large machines.
const LEAST: u64 = 131_072;
/// 512 MiB of entries.
const MOST: u64 = 2 << 20;

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
        summary: "Maximum number of connections in TIME_WAIT in a namespace; any more are destroyed at once.",
        why: "Source 003 sets 2000000, up from 16384 on its virtual machine. Ending TIME_WAIT early is legal, and is \
            logged. S3 clients keep their connections. A closed connection stays for a minute: the advice is enough \
            for eight times the connections of a node, as if each were closed every 7.5 seconds, and at least 131072. \
            An entry takes 256 bytes.",
        relief: Relief::Nothing,
        relieves: "nothing but log messages, unless old segments reach a new connection",
        risk: "256 bytes per entry.",
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
    advise: Some(advise),
};

fn advise(snapshot: &Snapshot, site: &Site, place: &SettingPlace) -> Option<Advice> {
    let connections = facts::connections(site);
    let closed = connections.saturating_mul(CLOSED_IN_A_MINUTE);
    let power = closed.checked_next_power_of_two().unwrap_or(MOST);
    let wanted = power.clamp(LEAST, MOST);
    let bound = match power {
        ..LEAST => format!("the advice is at least {LEAST}, the kernel's default on large machines"),
        LEAST..=MOST => format!("rounded up to a power of two {power}"),
        _ => format!("the advice is at most {MOST}"),
    };
    let why = format!(
        "a closed connection stays for a minute; {connections} connections of a node, each reopened \
         {CLOSED_IN_A_MINUTE} times in that minute, leave {closed} entries; {bound}"
    );
    facts::at_least(snapshot, place, wanted, why)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::knobs::example;

    #[test]
    fn the_reason_has_every_figure_that_leads_to_the_value() {
        // Per client, connections, and what is said of them on eight nodes with 7 × 32 connections among them.
        for (per_client, value, parts) in [
            (256, "131072", &["2272 connections", "leave 18176", "at least 131072"][..]),
            (4_096, "524288", &["32992 connections", "leave 263936", "rounded up to a power of two 524288"]),
            (1 << 20, "2097152", &["at most 2097152"]),
        ] {
            let mut site = example::site();
            site.clients.connections = per_client;
            let advice = advise(&example::machine(), &site, &example::place_of(&ROW, None)).unwrap();
            assert!(parts.iter().all(|part| advice.why.contains(part)), "{per_client}: {}", advice.why);
            assert_eq!(advice.value.to_string(), value, "{per_client}: {}", advice.why);
        }
    }
}
