//! `vm.transparent_hugepage.defrag`.

use linerate_record::knob::{Advice, Domain, Knob, Layer, Locator, Relief, Scope, SettingPlace, Snapshot, TakesEffect};
use linerate_record::site::Site;

use crate::knobs::{KnobRow, facts};

pub(crate) const ROW: KnobRow = KnobRow {
    knob: Knob {
        id: "vm.transparent_hugepage.defrag",
        layer: Layer::Vm,
        locator: Locator::Sysfs { path: "kernel/mm/transparent_hugepage/defrag" },
        scope: Scope::Host,
        takes_effect: TakesEffect::AtOnce,
        // `mm/huge_memory.c: defrag_store`.
        takes: Domain::Words(&["always", "defer", "defer+madvise", "madvise", "never"]),
        default: "madvise",
        summary: "Whether a page fault waits for memory compaction to obtain a huge page.",
        why: "The advice is defer+madvise, as in source 000: a process that requested huge pages waits; all others get \
            a small page, and kcompactd compacts in the background.",
        relief: Relief::Processors,
        relieves: "processor and latency: page faults that compact memory",
        risk: "A process that requested huge pages still waits.",
        sources: &[
            "source 000, tuned profile",
            "MinIO, docs/tuning/tuned.conf (v0.0.0-20260212)",
            "Linux, Documentation/admin-guide/mm/transhuge.rst",
        ],
        since: Some((4, 11)),
        until: None,
        also_called: &["/sys/kernel/mm/transparent_hugepage/defrag"],
        owned_by: None,
    },
    advise: Some(advise),
};

fn advise(_snapshot: &Snapshot, _site: &Site, _place: &SettingPlace) -> Option<Advice> {
    facts::advice("defer+madvise", "only programs that request huge pages wait for them")
}
