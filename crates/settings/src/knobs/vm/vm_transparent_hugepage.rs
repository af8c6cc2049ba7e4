//! `vm.transparent_hugepage`.

use linerate_record::knob::{Advice, Domain, Knob, Layer, Locator, Relief, Scope, SettingPlace, Snapshot, TakesEffect};
use linerate_record::site::Site;

use crate::knobs::{KnobRow, facts};

pub(crate) const ROW: KnobRow = KnobRow {
    knob: Knob {
        id: "vm.transparent_hugepage",
        layer: Layer::Vm,
        locator: Locator::Sysfs { path: "kernel/mm/transparent_hugepage/enabled" },
        scope: Scope::Host,
        takes_effect: TakesEffect::AtOnce,
        // `mm/huge_memory.c: enabled_store`.
        takes: Domain::Words(&["always", "madvise", "never"]),
        default: "always or madvise, depending on the kernel's configuration",
        summary: "When anonymous memory is backed by 2 MiB pages: always, on request by madvise(2), or never.",
        why: "Source 000 and MinIO's tuned profile set madvise, which suits servers written in Go. With always, \
            khugepaged and page faults compact memory for heaps that the runtime soon returns, and the resident set \
            grows. A process that benefits from huge pages requests them.",
        relief: Relief::Processors,
        relieves: "processor: page faults that compact memory; memory",
        risk: "A program that benefits from huge pages but does not request them loses those that always gave it.",
        sources: &[
            "source 000, tuned profile",
            "MinIO, docs/tuning/tuned.conf (v0.0.0-20260212)",
            "Linux, Documentation/admin-guide/mm/transhuge.rst",
        ],
        since: None,
        until: None,
        also_called: &["transparent_hugepage"],
        owned_by: None,
    },
    advise: Some(advise),
};

fn advise(_snapshot: &Snapshot, _site: &Site, _place: &SettingPlace) -> Option<Advice> {
    facts::advice("madvise", "only programs that request huge pages get them; memory is not compacted for a Go heap")
}
