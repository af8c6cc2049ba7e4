//! `net.ipv4.tcp_mem`.

use linerate_record::knob::{Domain, Knob, Layer, Locator, Relief, Scope, TakesEffect};

use crate::knobs::KnobRow;

pub(crate) const ROW: KnobRow = KnobRow {
    knob: Knob {
        id: "net.ipv4.tcp_mem",
        layer: Layer::Net,
        locator: Locator::Sysctl { name: "net.ipv4.tcp_mem" },
        scope: Scope::Host,
        takes_effect: TakesEffect::AtOnce,
        // `net/ipv4/sysctl_net_ipv4.c: ipv4_table`: three `long`.
        takes: Domain::Rising { count: 3, least: 0, most: i64::MAX as i128 },
        default: "4.68 %, 6.25 % and 9.37 % of memory, in pages",
        summary: "Memory in pages for all TCP sockets of the machine: below the first value there is no pressure, \
            above the second buffers stop growing, above the third packets are dropped.",
        why: "No source mentions it, although it limits the buffers that they set: 64 MiB for each of a thousand \
            connections is far more than 9 % of the memory of most nodes. The kernel's defaults are right for a \
            storage node; the knob is listed so that the value is visible.",
        relief: Relief::Links,
        relieves: "links: buffers that cannot grow",
        risk: "More: slow readers take memory from the page cache and the engine.",
        sources: &[
            "Linux, Documentation/networking/ip-sysctl.rst",
            "Linux, net/ipv4/tcp.c: tcp_init_mem; measured on 6.18: absent in other namespaces",
        ],
        since: None,
        until: None,
        also_called: &[],
        owned_by: None,
    },
    advise: None,
};
