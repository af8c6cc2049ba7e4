//! `vm.transparent_hugepage.khugepaged.max_ptes_none`.

use linerate_record::knob::{Advice, Knob, Layer, Locator, Relief, Scope, SettingPlace, Snapshot, TakesEffect, domain};
use linerate_record::site::Site;

use crate::knobs::{KnobRow, facts};

pub(crate) const ROW: KnobRow = KnobRow {
    knob: Knob {
        id: "vm.transparent_hugepage.khugepaged.max_ptes_none",
        layer: Layer::Vm,
        locator: Locator::Sysfs { path: "kernel/mm/transparent_hugepage/khugepaged/max_ptes_none" },
        scope: Scope::Host,
        takes_effect: TakesEffect::AtOnce,
        // `mm/khugepaged.c: max_ptes_none_store`: less than a huge page has pages, 512 of 4 KiB or 8192 of 64 KiB.
        takes: domain::number(0, 8191),
        default: "511",
        summary: "How many of the 512 pages of a range may be unmapped when khugepaged merges the range into a huge \
            page.",
        why: "With 0, khugepaged merges only ranges that are fully populated, so it never allocates memory that no \
            program touched. Source 000 says that this avoids stalls. Its main effect is on memory: with 511, a single \
            touched page of a returned heap grows to 2 MiB.",
        relief: Relief::Memory,
        relieves: "memory: huge pages that are mostly empty",
        risk: "Fewer huge pages.",
        sources: &[
            "source 000, tuned profile",
            "MinIO, docs/tuning/tuned.conf (v0.0.0-20260212)",
            "Linux, mm/khugepaged.c; Documentation/admin-guide/mm/transhuge.rst",
        ],
        since: None,
        until: None,
        also_called: &["/sys/kernel/mm/transparent_hugepage/khugepaged/max_ptes_none"],
        owned_by: None,
    },
    advise: Some(advise),
};

fn advise(_snapshot: &Snapshot, _site: &Site, _place: &SettingPlace) -> Option<Advice> {
    facts::advice(0, "no memory is allocated that no program touched")
}
