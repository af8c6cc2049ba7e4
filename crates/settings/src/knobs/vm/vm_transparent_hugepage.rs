//! `vm.transparent_hugepage`.

use linerate_record::knob::{Advice, Domain, Knob, Layer, Locator, Scope, SettingPlace, Snapshot, TakesEffect};
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
        default: "always or madvise, as the kernel was built",
        summary: "Whether anonymous memory is backed by 2 MiB pages: always, where a process asks (madvise), or \
            never.",
        why: "Source 000 says madvise, with MinIO's tuned profile. Right for servers in Go: with always, khugepaged \
            and page faults compact memory for heaps that the runtime returns again, and the resident set grows; a \
            process that gains from huge pages asks for them.",
        relieves: "processor: page faults that compact; memory",
        risk: "A program that neither asks nor is known to would lose huge pages it had by always.",
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
    facts::advice("madvise", "huge pages for those who ask; a Go heap is not compacted for")
}
