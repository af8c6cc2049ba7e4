//! `vm.swappiness`.

use linerate_record::knob::{Advice, Knob, Layer, Locator, Relief, Scope, SettingPlace, Snapshot, TakesEffect, domain};
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
        summary: "Preference of reclaim for swapping out anonymous pages over dropping page cache, from 0 to 200.",
        why: "An S3 server that waits for its own pages from swap stalls every request. With 1, swap remains a last \
            resort. The sources set 0, 0 and 1. With 0 the kernel does not swap until free and file pages together \
            fall below the high watermark of a zone. On a node whose memory is mostly anonymous, that invokes the OOM \
            killer sooner than 1 does.",
        relief: Relief::Memory,
        relieves: "memory: requests stalled by swapped pages",
        risk: "If little page cache is left, memory pressure invokes the OOM killer sooner than with the default.",
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
        "requests stall if the server's heap is swapped out; with 1 the kernel still swaps before it kills a process",
    )
}
