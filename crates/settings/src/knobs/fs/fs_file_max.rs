//! `fs.file-max`.

use linerate_record::knob::{Advice, Knob, Layer, Locator, Relief, Scope, SettingPlace, Snapshot, TakesEffect, domain};
use linerate_record::site::Site;

use crate::knobs::{KnobRow, facts};

pub(crate) const ROW: KnobRow = KnobRow {
    knob: Knob {
        id: "fs.file-max",
        layer: Layer::Fs,
        locator: Locator::Sysctl { name: "fs.file-max" },
        scope: Scope::Host,
        takes_effect: TakesEffect::AtOnce,
        // `fs/file_table.c: fs_stat_sysctls`: 0 to LONG_MAX.
        takes: domain::number(0, i64::MAX as i128),
        default: "one per 10 KiB of memory; 9223372036854775807 with systemd",
        summary: "Maximum number of open files of the whole machine.",
        why: "Source 003 lowers it from 9223372036854775807, the value that systemd sets, to 4194303, in a list of \
            settings meant to raise limits. The limit of the machine protects nothing that the limit per process does \
            not. A higher value is kept.",
        relief: Relief::Files,
        relieves: "files: ENFILE in every process of the machine",
        risk: "None: an open file is charged to the memory cgroup of its process.",
        sources: &[
            "source 003, full parameters",
            "Linux, Documentation/admin-guide/sysctl/fs.rst",
            "systemd, src/core/main.c: bump_file_max_and_nr_open",
        ],
        since: None,
        until: None,
        also_called: &[],
        owned_by: None,
    },
    advise: Some(advise),
};

fn advise(snapshot: &Snapshot, _site: &Site, place: &SettingPlace) -> Option<Advice> {
    facts::at_least(
        snapshot,
        place,
        i64::MAX as u64,
        "systemd's value: the limits per process are reached first; 4194303 would lower it",
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::knobs::fixtures::*;

    #[test]
    fn the_bound_is_never_lowered() {
        assert_eq!(advised_at(&ROW, &machine(), "4194303").as_deref(), Some("9223372036854775807"));
    }
}
