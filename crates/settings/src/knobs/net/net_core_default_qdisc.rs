//! `net.core.default_qdisc`.

use linerate_record::knob::{Advice, Domain, Knob, Layer, Locator, Relief, Scope, SettingPlace, Snapshot, TakesEffect};
use linerate_record::site::Site;

use crate::knobs::{KnobRow, facts};

pub(crate) const ROW: KnobRow = KnobRow {
    knob: Knob {
        id: "net.core.default_qdisc",
        layer: Layer::Net,
        locator: Locator::Sysctl { name: "net.core.default_qdisc" },
        scope: Scope::Host,
        takes_effect: TakesEffect::Reboot,
        // `net/sched/sch_*.c`: the disciplines that start without options (`sch_api.c: qdisc_create_dflt` gives none).
        takes: Domain::Words(&[
            "pfifo_fast",
            "pfifo",
            "bfifo",
            "fq",
            "fq_codel",
            "fq_pie",
            "codel",
            "pie",
            "dualpi2",
            "cake",
            "sfq",
            "sfb",
            "hhf",
            "drr",
            "skbprio",
            "noqueue",
        ]),
        default: "pfifo_fast in the kernel; fq_codel with systemd",
        summary: "Default queueing discipline of new interfaces.",
        why: "fq paces each connection and separates connections from each other. BBR needs it before 4.20, and with \
            cubic it causes fewer drops in shallow switch buffers. Interfaces with several queues get mq with this \
            discipline for each queue. It only applies to interfaces that are created afterwards, so a node needs a \
            reboot. Cilium's bandwidth manager sets fq itself.",
        relief: Relief::Links,
        relieves: "links: bursts into shallow buffers",
        risk: "A little processor time per packet.",
        sources: &["Linux, net/sched/sch_generic.c: attach_default_qdiscs; Documentation/admin-guide/sysctl/net.rst"],
        since: None,
        until: None,
        also_called: &[],
        owned_by: None,
    },
    advise: Some(advise),
};

fn advise(snapshot: &Snapshot, _site: &Site, place: &SettingPlace) -> Option<Advice> {
    let offered = facts::choices(snapshot, place);
    if !offered.is_empty() && !offered.iter().any(|name| name == "fq") {
        return None;
    }
    facts::advice("fq", "it paces connections and separates them from each other")
}
