//! `net.core.rmem_max`.

use linerate_record::knob::{Advice, Knob, Layer, Locator, Relief, Scope, SettingPlace, Snapshot, TakesEffect, domain};
use linerate_record::site::Site;

use crate::knobs::{KnobRow, facts};

pub(crate) const ROW: KnobRow = KnobRow {
    knob: Knob {
        id: "net.core.rmem_max",
        layer: Layer::Net,
        locator: Locator::Sysctl { name: "net.core.rmem_max" },
        scope: Scope::Host,
        takes_effect: TakesEffect::NewSocket,
        // `net/core/sysctl_net_core.c: min_rcvbuf`, SOCK_MIN_RCVBUF: 2304 where words are of 64 bits.
        takes: domain::number(2304, domain::INT_MAX),
        default: "4194304 since Linux 6.18, 212992 before",
        summary: "Maximum receive buffer in bytes that a program may request with SO_RCVBUF; the kernel doubles the \
            requested size.",
        why: "It only affects programs that set SO_RCVBUF, which gives up autotuning by tcp_rmem. MinIO is one of \
            them: it requests 4 MiB on its listener, whose connections inherit the size (tested on 6.18: still the \
            listener's size after 3 GB, while a connection of another listener had grown to 22 MB), and on each \
            connection to a peer. With 212992 it stays at 416 KiB whatever tcp_rmem says; 416 KiB per 2 ms is 1.7 \
            Gb/s. So the advice is at least 4 MiB, more if bandwidth × delay is larger. The sources set 4 MiB, 16 MiB \
            and 256 MiB. A running MinIO keeps its listener and must be restarted, which no source mentions.",
        relief: Relief::Links,
        relieves: "links: throughput of one connection",
        risk: "A program that requests this much gets it: memory up to the limit for each such socket, within tcp_mem.",
        sources: &[
            "source 000, tuned profile",
            "source 002, network tuning",
            "source 003, full parameters",
            "source 003, partial parameters",
            "Linux, Documentation/admin-guide/sysctl/net.rst",
            "Linux, net/core/sock.c: sk_setsockopt (SO_RCVBUF); measured on 6.18: shown in other namespaces, not \
            writable there",
            "MinIO, internal/http/dial_linux.go and cmd/server-main.go: send-buf-size, recv-buf-size (4 MiB)",
        ],
        since: None,
        until: None,
        also_called: &[],
        owned_by: None,
    },
    advise: Some(advise),
};

fn advise(snapshot: &Snapshot, site: &Site, place: &SettingPlace) -> Option<Advice> {
    facts::most_asked_for(snapshot, site, place)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::knobs::fixtures::*;

    #[test]
    fn what_minio_asks_for_is_granted_and_faster_links_get_more() {
        let mut snapshot = machine();
        let slow = number(advised_at(&ROW, &snapshot, "212992"));
        assert!(slow >= 4 << 20, "{slow}");
        set_port_speeds(&mut snapshot, 400);
        let fast = number(advised_at(&ROW, &snapshot, "212992"));
        assert!(fast > slow, "{fast} {slow}");
        assert_eq!(advised_at(&ROW, &snapshot, "268435456").as_deref(), Some("268435456"));
    }
}
