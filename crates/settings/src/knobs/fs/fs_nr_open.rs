//! `fs.nr_open`.

use linerate_record::knob::{Advice, Knob, Layer, Locator, Relief, Scope, SettingPlace, Snapshot, TakesEffect, domain};
use linerate_record::site::Site;

use crate::knobs::{KnobRow, facts};

pub(crate) const ROW: KnobRow = KnobRow {
    knob: Knob {
        id: "fs.nr_open",
        layer: Layer::Fs,
        locator: Locator::Sysctl { name: "fs.nr_open" },
        scope: Scope::Host,
        takes_effect: TakesEffect::AtOnce,
        // `fs/file.c: sysctl_nr_open_min, sysctl_nr_open_max`: whole words of bits, below INT_MAX.
        takes: domain::number(64, 2_147_483_584),
        default: "1048576; more with systemd",
        summary: "Highest value to which the limit of open files of a process can be set.",
        why: "No source mentions it, but raising `Max open files` above it fails, and then the service does not start.",
        relief: Relief::Processes,
        relieves: "processes: EPERM when the limit of open files is raised",
        risk: "None known.",
        sources: &["Linux, Documentation/admin-guide/sysctl/fs.rst"],
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
        1_048_576,
        "the limit of open files that is advised for the engine must not \
        exceed it",
    )
}
