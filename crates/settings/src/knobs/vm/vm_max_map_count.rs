//! `vm.max_map_count`.

use linerate_record::knob::{Advice, Knob, Layer, Locator, Relief, Scope, SettingPlace, Snapshot, TakesEffect, domain};
use linerate_record::site::Site;

use crate::knobs::{KnobRow, facts};

pub(crate) const ROW: KnobRow = KnobRow {
    knob: Knob {
        id: "vm.max_map_count",
        layer: Layer::Vm,
        locator: Locator::Sysctl { name: "vm.max_map_count" },
        scope: Scope::Host,
        takes_effect: TakesEffect::AtOnce,
        // An `int`, not below zero: `mm/util.c`, `kernel/sysctl.c: vm_table`.
        takes: domain::number(0, domain::INT_MAX),
        default: "65530",
        summary: "Maximum number of memory mappings of one process.",
        why: "The sources set 524288. A Go server maps arenas rather than files and stays far below 65530. Programs \
            that map many files, such as Ceph's RocksDB or a search engine on the same node, do not. A limit that is \
            not reached costs nothing, so the sources' value is advised, and a higher value set by a distribution is \
            kept.",
        relief: Relief::Processes,
        relieves: "processes that map many files",
        risk: "None known: each mapping is accounted when it is created.",
        sources: &[
            "source 000, OS table",
            "source 000, tuned profile",
            "MinIO, docs/tuning/tuned.conf (v0.0.0-20260212)",
            "Linux, Documentation/admin-guide/sysctl/vm.rst",
        ],
        since: None,
        until: None,
        also_called: &[],
        owned_by: None,
    },
    advise: Some(advise),
};

fn advise(snapshot: &Snapshot, _site: &Site, place: &SettingPlace) -> Option<Advice> {
    facts::at_least(snapshot, place, 524_288, "a limit that is not reached costs nothing; at the limit, mmap fails")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::knobs::fixtures::*;

    #[test]
    fn a_higher_bound_is_left() {
        assert_eq!(advised_at(&ROW, &machine(), "65530").as_deref(), Some("524288"));
        assert_eq!(advised_at(&ROW, &machine(), "1048576").as_deref(), Some("1048576"));
    }
}
