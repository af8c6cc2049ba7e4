//! `net.ipv4.neigh.default.gc_thresh2`.

use linerate_record::knob::{Advice, Knob, Layer, Locator, Relief, Scope, SettingPlace, Snapshot, TakesEffect, domain};
use linerate_record::site::Site;

use crate::knobs::{KnobRow, facts};

pub(crate) const ROW: KnobRow = KnobRow {
    knob: Knob {
        id: "net.ipv4.neigh.default.gc_thresh2",
        layer: Layer::Net,
        locator: Locator::Sysctl { name: "net.ipv4.neigh.default.gc_thresh2" },
        scope: Scope::Host,
        takes_effect: TakesEffect::AtOnce,
        // `net/core/neighbour.c: neigh_sysctl_template`: 0 to INT_MAX.
        takes: domain::number(0, domain::INT_MAX),
        default: "512",
        summary: "Number of neighbour (ARP) entries above which entries older than five seconds are removed.",
        why: "No source mentions it, but if pods are neighbours, the 251 nodes of source 000 with 200 pods each exceed \
            1024 entries: the kernel logs \"neighbour table overflow\", and connections fail at random. One count \
            covers all namespaces of the machine, and only the initial namespace shows it. The advice is half of \
            gc_thresh3.",
        relief: Relief::Links,
        relieves: "links: connections that fail at random",
        risk: "400 bytes for each entry.",
        sources: &[
            "Linux, Documentation/networking/ip-sysctl.rst",
            "Linux, net/core/neighbour.c: neigh_alloc; measured on 6.18: absent in other namespaces",
        ],
        since: None,
        until: None,
        also_called: &[],
        owned_by: None,
    },
    advise: Some(advise),
};

fn advise(snapshot: &Snapshot, site: &Site, place: &SettingPlace) -> Option<Advice> {
    let peers = u64::from(site.nodes()) + u64::from(site.clients.count);
    let most = (8 * peers).next_power_of_two().clamp(8192, 1 << 17);
    facts::at_least(snapshot, place, most / 2, format!("for {peers} nodes and clients with their pods"))
}
