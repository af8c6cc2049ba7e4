//! `vm.min_free_kbytes`.

use linerate_record::knob::{Advice, Knob, Layer, Locator, Relief, Scope, SettingPlace, Snapshot, TakesEffect, domain};
use linerate_record::site::Site;

use crate::knobs::{KnobRow, facts};

pub(crate) const ROW: KnobRow = KnobRow {
    knob: Knob {
        id: "vm.min_free_kbytes",
        layer: Layer::Vm,
        locator: Locator::Sysctl { name: "vm.min_free_kbytes" },
        scope: Scope::Host,
        takes_effect: TakesEffect::AtOnce,
        // An `int`, not below zero: `mm/page_alloc.c: page_alloc_sysctl_table`.
        takes: domain::number(0, domain::INT_MAX),
        default: "4 × sqrt(memory in KiB), from 128 to 262144 KiB; higher with transparent huge pages",
        summary: "Memory in KiB that the kernel keeps free for allocations that cannot wait, such as those in a NIC's \
            interrupt.",
        why: "The default grows with the square root of memory and stops at 256 MiB, while a 100 Gb/s NIC needs 12.5 \
            GB of pages per second. The advice is 0.5 % of memory, at least the amount that all ports receive in 20 \
            ms, at most 4 GiB or 5 % of memory. Source 003 sets 1000000 on a virtual machine of unstated size: with 8 \
            GiB that is 12 % of memory.",
        relief: Relief::Receiving,
        relieves: "receiving: drops when no page is free at once",
        risk: "The reserve is unavailable to programs; if it is far too large, the machine reclaims memory or kills \
            processes even when idle.",
        sources: &[
            "source 003, full parameters",
            "Linux, Documentation/admin-guide/sysctl/vm.rst",
            "Linux, mm/page_alloc.c: calculate_min_free_kbytes",
        ],
        since: None,
        until: None,
        also_called: &[],
        owned_by: None,
    },
    advise: Some(advise),
};

fn advise(snapshot: &Snapshot, site: &Site, _place: &SettingPlace) -> Option<Advice> {
    let memory_kib = snapshot.machine.memory_bytes / 1024;
    if memory_kib == 0 {
        return None;
    }
    // 20 ms: what direct reclaim may take before it has freed something.
    let burst_kib = (facts::node_bits_per_s(snapshot, site) / 8.0 * 0.02 / 1024.0) as u64;
    let kib = (memory_kib / 200)
        .max(burst_kib)
        .min(4 << 20)
        .min(memory_kib / 20)
        .max(facts::min_free_default_kib(memory_kib));
    facts::advice(
        kib,
        format!("0.5 % of {}, at least what all ports receive in 20 ms", facts::size(snapshot.machine.memory_bytes)),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::knobs::fixtures::*;

    #[test]
    fn the_reserve_follows_memory_and_ports_and_stays_a_small_share() {
        for (memory_gib, least, most) in
            [(8_u64, 40_000, 430_000), (256, 1_000_000, 1_500_000), (4096, 4 << 20, 4 << 20)]
        {
            let mut snapshot = machine();
            snapshot.machine.memory_bytes = memory_gib << 30;
            let kib = number(advised(&ROW, &snapshot));
            assert!((least..=most).contains(&kib), "{memory_gib} GiB: {kib} KiB");
        }
    }
}
