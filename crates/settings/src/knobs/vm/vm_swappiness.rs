//! `vm.swappiness`.

use linerate_record::knob::{Advice, Knob, Layer, Locator, Scope, SettingPlace, Snapshot, TakesEffect, domain};
use linerate_record::site::Site;

use crate::knobs::{KnobRow, facts};

pub(crate) const ROW: KnobRow = KnobRow {
    knob: Knob {
        id: "vm.swappiness",
        layer: Layer::Vm,
        locator: Locator::Sysctl { name: "vm.swappiness" },
        scope: Scope::Host,
        takes_effect: TakesEffect::AtOnce,
        // `mm/vmscan.c`: MAX_SWAPPINESS; 100 before Linux 5.8.
        takes: domain::number(0, 200),
        default: "60",
        summary: "How readily reclaim swaps anonymous pages out, against dropping page cache; 0 to 200.",
        why: "An S3 server that waits for its own pages from swap stalls every request. 1 keeps swap as the last \
            resort. The sources say 0, 0 and 1: with 0 the kernel does not swap at all until free and file pages \
            together fall below the high watermark of a zone, which on a node whose memory is anonymous ends with \
            the OOM killer sooner than with 1.",
        relieves: "memory: stalls of requests on swapped pages",
        risk: "With little page cache left, memory pressure reaches the OOM killer sooner than with the default.",
        sources: &[
            "source 000, OS table",
            "source 000, tuned profile",
            "source 003, full parameters",
            "Linux, Documentation/admin-guide/sysctl/vm.rst",
            "Linux, mm/vmscan.c: get_scan_count",
        ],
        since: None,
        until: None,
        also_called: &[],
        owned_by: None,
    },
    advise: Some(advise),
};

fn advise(_snapshot: &Snapshot, _site: &Site, _place: &SettingPlace) -> Option<Advice> {
    facts::advice(
        1,
        "a server's heap that is swapped out stalls its requests; 1 still lets the kernel swap before it kills",
    )
}
