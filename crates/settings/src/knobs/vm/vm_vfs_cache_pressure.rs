//! `vm.vfs_cache_pressure`.

use linerate_record::knob::{Advice, Knob, Layer, Locator, Relief, Scope, SettingPlace, Snapshot, TakesEffect, domain};
use linerate_record::site::Site;

use crate::knobs::{KnobRow, facts};

pub(crate) const ROW: KnobRow = KnobRow {
    knob: Knob {
        id: "vm.vfs_cache_pressure",
        layer: Layer::Vm,
        locator: Locator::Sysctl { name: "vm.vfs_cache_pressure" },
        scope: Scope::Host,
        takes_effect: TakesEffect::AtOnce,
        // An `int`, not below zero: `fs/dcache.c: vm_dcache_sysctls`.
        takes: domain::number(0, domain::INT_MAX),
        default: "100",
        summary: "Preference of reclaim for dentries and inodes over the page cache, in percent.",
        why: "An erasure-coded object consists of several files and directories on each drive, so a small GET mostly \
            costs the file system inode lookups. The sources set 50, 50 and 10. With 50 the kernel keeps about twice \
            as many inodes; with less, reclaim scans lists that it may not shrink, which costs processor time when \
            slabs fill memory. Source 003 measured 10 on its own (B2) and found no effect beyond its spread.",
        relief: Relief::Drives,
        relieves: "drives: metadata reads",
        risk: "Slabs take memory from the page cache and the engine; very low values make reclaim slow.",
        sources: &[
            "source 000, OS table",
            "source 000, tuned profile",
            "source 003, full parameters",
            "source 003, partial parameters (B2)",
            "Linux, Documentation/admin-guide/sysctl/vm.rst",
        ],
        since: None,
        until: None,
        also_called: &[],
        owned_by: None,
    },
    advise: Some(advise),
};

fn advise(_snapshot: &Snapshot, _site: &Site, _place: &SettingPlace) -> Option<Advice> {
    facts::advice(50, "for many small files, cached inodes and dentries are worth more than page cache")
}
