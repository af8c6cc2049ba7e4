//! `net.ipv4.tcp_rmem`.

use linerate_record::knob::{
    Advice, Domain, Knob, Layer, Locator, Relief, Scope, SettingPlace, Snapshot, TakesEffect, domain,
};
use linerate_record::site::Site;

use crate::knobs::{KnobRow, facts};

pub(crate) const ROW: KnobRow = KnobRow {
    knob: Knob {
        id: "net.ipv4.tcp_rmem",
        layer: Layer::Net,
        locator: Locator::Sysctl { name: "net.ipv4.tcp_rmem" },
        scope: Scope::NetworkNamespace,
        takes_effect: TakesEffect::NewNamespace,
        // `net/ipv4/sysctl_net_ipv4.c: ipv4_net_table`: from 1, each an `int`.
        takes: Domain::Rising { count: 3, least: 1, most: domain::INT_MAX },
        default: "4096 131072 33554432 since Linux 6.16; 6291456 as the last value before, less on small machines",
        summary: "Minimum, initial and maximum receive buffer of a TCP socket in bytes; autotuning moves between them.",
        why: "The maximum is twice bandwidth × delay of one connection, at least the kernel's default. Sources 002 and \
            003 set 64 MiB as the *minimum* and 128 MiB as the initial size. A socket keeps the minimum under memory \
            pressure, so a thousand connections can hold 64 GiB; the initial size is what each may receive before \
            autotuning. Source 000's maximum of 4 MiB is below the default of 6 MiB (32 MiB since 6.16). Since 4.15, a \
            new namespace copies the value from the initial one: a running pod keeps its old value, so source 003's \
            changes on the host may well have compared identical settings. Within a namespace, a change applies at \
            once to buffers that still grow. A socket that set SO_RCVBUF is not autotuned, and this applies to MinIO's \
            sockets: see net.core.rmem_max.",
        relief: Relief::Links,
        relieves: "links: throughput of one connection",
        risk: "Memory up to the maximum for each busy connection, within tcp_mem.",
        sources: &[
            "source 000, tuned profile",
            "source 002, network tuning",
            "source 003, full parameters",
            "source 003, partial parameters (A2)",
            "Linux, Documentation/networking/ip-sysctl.rst",
            "Linux, net/ipv4/tcp_ipv4.c: tcp_sk_init (copied from init_net)",
            "Linux, net/ipv4/tcp.c: tcp_init; measured on 6.18 in namespaces made before and after",
        ],
        since: None,
        until: None,
        also_called: &[],
        owned_by: None,
    },
    advise: Some(advise),
};

fn advise(snapshot: &Snapshot, site: &Site, _place: &SettingPlace) -> Option<Advice> {
    let window = facts::window(snapshot, site)?.or_more(facts::tcp_rmem_default(snapshot), "the kernel's default of");
    facts::advice(format!("4096 131072 {}", window.bytes), window.text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::knobs::fixtures::*;

    #[test]
    fn the_greatest_follows_the_port_and_is_never_below_the_kernels() {
        let mut snapshot = machine();
        let greatest = |snapshot: &Snapshot| -> u64 {
            let text = advised(&ROW, snapshot).unwrap();
            assert!(text.starts_with("4096 131072 "), "{text}");
            text.rsplit(' ').next().unwrap().parse().unwrap()
        };
        set_port_speeds(&mut snapshot, 1);
        assert_eq!(greatest(&snapshot), 6291456);
        set_port_speeds(&mut snapshot, 25);
        assert_eq!(greatest(&snapshot), 16 << 20);
        set_port_speeds(&mut snapshot, 400);
        assert_eq!(greatest(&snapshot), 32 << 20, "one connection does not fill 400 Gb/s");
    }
}
