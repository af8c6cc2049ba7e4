//! `net.core.default_qdisc`.

use linerate_record::knob::{Advice, Knob, Layer, Locator, Place, Scope, Snapshot, TakesEffect};
use linerate_record::site::Site;

use crate::knobs::{Row, facts};

pub(crate) const ROW: Row = Row {
    knob: Knob {
        id: "net.core.default_qdisc",
        layer: Layer::Net,
        locator: Locator::Sysctl { name: "net.core.default_qdisc" },
        scope: Scope::Host,
        takes_effect: TakesEffect::Reboot,
        default: "pfifo_fast as built; fq_codel by systemd",
        summary: "The queueing discipline that new interfaces get.",
        why: "fq paces each connection and keeps them apart: BBR needs it before 4.20, and cubic drops less into \
            shallow switch buffers with it. Interfaces with several queues get mq and this below. It acts on \
            interfaces that appear afterwards, so that a reboot is what changes a node. Cilium's bandwidth manager \
            sets fq itself.",
        relieves: "links: bursts into shallow buffers",
        risk: "A little processor time for each packet.",
        sources: &["Linux, net/sched/sch_generic.c: attach_default_qdiscs; Documentation/admin-guide/sysctl/net.rst"],
        since: None,
        until: None,
        also_called: &[],
        owned_by: None,
    },
    advise,
};

fn advise(_snapshot: &Snapshot, _site: &Site, _place: &Place) -> Option<Advice> {
    facts::advice("fq", "connections are paced and kept apart")
}
