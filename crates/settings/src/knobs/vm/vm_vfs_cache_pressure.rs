//! `vm.vfs_cache_pressure`.

use linerate_record::knob::{Advice, Knob, Layer, Locator, Scope, SettingPlace, Snapshot, TakesEffect, domain};
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
        summary: "How readily dentries and inodes are reclaimed, against the page cache, in percent.",
        why: "An erasure-coded object is several files and directories on each drive, so that inode lookups are most \
            of what a small GET asks of a file system. Sources say 50, 50 and 10. 50 keeps twice as many; below \
            that, reclaim scans lists that it may not shrink, which costs processor time when slabs fill memory. \
            Source 003 measured 10 alone (B2) and saw nothing beyond its spread.",
        relieves: "drives: metadata reads",
        risk: "Slabs take memory that page cache or the engine could use; very low values make reclaim slow.",
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
    facts::advice(50, "inodes and dentries of many small files are worth twice their share of the page cache")
}
