//! Memory.

use linerate_record::knob::{
    Advice, Domain, Knob, Layer, Locator, RelievedResource, Scope, SettingId, Snapshot, TakesEffect, domain,
};
use linerate_record::site::Site;

use crate::knobs::{Advise, KnobRow, facts};

/// What all rows have in common.
const BASE: Knob = Knob { layer: Layer::Vm, scope: Scope::Host, takes_effect: TakesEffect::AtOnce, ..Knob::NONE };

/// In the order in which pages and listings have them.
pub(in crate::knobs) const ROWS: &[KnobRow] = &[
    KnobRow {
        knob: Knob {
            id: "vm.swappiness",
            locator: Locator::Sysctl { name: "vm.swappiness" },
            // `mm/vmscan.c`: MAX_SWAPPINESS; 100 before Linux 5.8.
            takes: domain::number(0, 200),
            default: "60",
            summary: "Preference of reclaim for swapping out anonymous pages over dropping page cache, from 0 to 200.",
            why: "An S3 server that waits for its own pages from swap stalls every request. With 1, swap remains a \
                last resort. The sources set 0, 0 and 1. With 0 the kernel does not swap until free and file pages \
                together fall below the high watermark of a zone. On a node whose memory is mostly anonymous, that \
                invokes the OOM killer sooner than 1 does.",
            relief: RelievedResource::Memory,
            relieves: "memory: requests stalled by swapped pages",
            risk: "If little page cache is left, memory pressure invokes the OOM killer sooner than with the default.",
            sources: &[
                "source 000, OS table",
                "source 000, tuned profile",
                "source 003, full parameters",
                "Linux, Documentation/admin-guide/sysctl/vm.rst",
                "Linux, mm/vmscan.c: get_scan_count",
            ],
            ..BASE
        },
        advise: Advise::Constant(
            "1",
            "requests stall if the server's heap is swapped out; with 1 the kernel still swaps before it kills a \
                process",
        ),
    },
    KnobRow {
        knob: Knob {
            id: "vm.vfs_cache_pressure",
            locator: Locator::Sysctl { name: "vm.vfs_cache_pressure" },
            // An `int`, not below zero: `fs/dcache.c: vm_dcache_sysctls`.
            takes: domain::number(0, domain::INT_MAX),
            default: "100",
            summary: "Preference of reclaim for dentries and inodes over the page cache, in percent.",
            why: "An erasure-coded object consists of several files and directories on each drive, so a small GET \
                mostly costs the file system inode lookups. The sources set 50, 50 and 10. With 50 the kernel keeps \
                about twice as many inodes; with less, reclaim scans lists that it may not shrink, which costs \
                processor time when slabs fill memory. Source 003 measured 10 on its own (B2) and found no effect \
                beyond its spread.",
            relief: RelievedResource::Drives,
            relieves: "drives: metadata reads",
            risk: "Slabs take memory from the page cache and the engine; very low values make reclaim slow.",
            sources: &[
                "source 000, OS table",
                "source 000, tuned profile",
                "source 003, full parameters",
                "source 003, partial parameters (B2)",
                "Linux, Documentation/admin-guide/sysctl/vm.rst",
            ],
            ..BASE
        },
        advise: Advise::Constant(
            "50",
            "for many small files, cached inodes and dentries are worth more than page cache",
        ),
    },
    KnobRow {
        knob: Knob {
            id: "vm.dirty_background_ratio",
            locator: Locator::Sysctl { name: "vm.dirty_background_ratio" },
            // `mm/page-writeback.c: vm_page_writeback_sysctls`: a percentage.
            takes: domain::number(0, 100),
            default: "10",
            summary: "Dirty share of available memory, in percent, at which background writeback starts.",
            why: "The kernel uses either this or vm.dirty_background_bytes: writing one sets the other to 0. The \
                sources set 3 %. With 256 GiB that is 7.7 GiB, several seconds of a drive's write bandwidth at once. A \
                percentage cannot be small enough on a machine with much memory, so from 64 GiB on the advice is in \
                bytes and this knob has none. MinIO writes large shards with O_DIRECT, which bypasses all dirty \
                limits.",
            relief: RelievedResource::Drives,
            relieves: "drives: bursts of writeback",
            risk: "Smaller values write more often and merge less.",
            sources: &[
                "source 000, OS table",
                "source 000, tuned profile",
                "Linux, Documentation/admin-guide/sysctl/vm.rst",
                "Linux, mm/page-writeback.c: dirty_background_ratio_handler",
            ],
            ..BASE
        },
        advise: Advise::Computed(dirty_background_ratio),
    },
    KnobRow {
        knob: Knob {
            id: "vm.dirty_ratio",
            locator: Locator::Sysctl { name: "vm.dirty_ratio" },
            // `mm/page-writeback.c: vm_page_writeback_sysctls`: a percentage.
            takes: domain::number(0, 100),
            default: "20",
            summary: "Dirty share of available memory, in percent, at which a writing process must write back itself.",
            why: "See vm.dirty_background_ratio. The sources set 10 %. From 64 GiB of memory on, the advice is in \
                bytes instead (vm.dirty_bytes), which sets this to 0.",
            relief: RelievedResource::Drives,
            relieves: "drives: stalls of writers",
            risk: "Smaller values throttle writers sooner.",
            sources: &[
                "source 000, OS table",
                "source 000, tuned profile",
                "Linux, Documentation/admin-guide/sysctl/vm.rst",
                "Linux, mm/page-writeback.c: dirty_ratio_handler",
            ],
            ..BASE
        },
        advise: Advise::Computed(dirty_ratio),
    },
    KnobRow {
        knob: Knob {
            id: "vm.dirty_background_bytes",
            locator: Locator::Sysctl { name: "vm.dirty_background_bytes" },
            // `mm/page-writeback.c: dirty_background_bytes_handler`: an `unsigned long` from 1; a written 0 would turn
            // both thresholds off.
            takes: domain::number(1, i64::MAX as i128),
            default: "0: vm.dirty_background_ratio applies",
            summary: "Dirty bytes in the page cache at which background writeback starts.",
            why: "With 64 GiB of memory or more, a percentage lets gigabytes of dirty pages accumulate, which then \
                reach every drive at once. The advice is the amount that the data drives write in half a second, from \
                256 MiB to 4 GiB: large enough to merge writes, too small to stall readers.",
            relief: RelievedResource::Drives,
            relieves: "drives: bursts of writeback",
            risk: "Writeback starts earlier, so a short-lived file is more likely to be written before it is deleted.",
            sources: &[
                "Linux, Documentation/admin-guide/sysctl/vm.rst",
                "Linux, mm/page-writeback.c: dirty_background_bytes_handler",
                "source 000, OS table",
            ],
            ..BASE
        },
        advise: Advise::Computed(dirty_background_bytes),
    },
    KnobRow {
        knob: Knob {
            id: "vm.dirty_bytes",
            locator: Locator::Sysctl { name: "vm.dirty_bytes" },
            // `Documentation/admin-guide/sysctl/vm.rst`: two pages at least, which are of 4 KiB or more.
            takes: domain::number(8192, i64::MAX as i128),
            default: "0: vm.dirty_ratio applies",
            summary: "Dirty bytes in the page cache at which a writing process must write back itself.",
            why: "The advice is four times the background threshold, or two seconds of the drives' write bandwidth, so \
                that a writer is throttled only if the drives fall behind for that long. If the background threshold \
                is not below this value, the kernel uses half of this value instead.",
            relief: RelievedResource::Drives,
            relieves: "drives: stalls of writers",
            risk: "A throttled writer waits for the drives; if the value is too small, every writer waits.",
            sources: &[
                "Linux, Documentation/admin-guide/sysctl/vm.rst",
                "Linux, mm/page-writeback.c: domain_dirty_limits",
                "source 000, OS table",
            ],
            ..BASE
        },
        advise: Advise::Computed(dirty_bytes),
    },
    KnobRow {
        knob: Knob {
            id: "vm.max_map_count",
            locator: Locator::Sysctl { name: "vm.max_map_count" },
            // An `int`, not below zero: `mm/util.c`, `kernel/sysctl.c: vm_table`.
            takes: domain::number(0, domain::INT_MAX),
            default: "65530",
            summary: "Maximum number of memory mappings of one process.",
            why: "The sources set 524288. A Go server maps arenas rather than files and stays far below 65530. \
                Programs that map many files, such as Ceph's RocksDB or a search engine on the same node, do not. A \
                limit that is not reached costs nothing, so the sources' value is advised, and a higher value set by a \
                distribution is kept.",
            relief: RelievedResource::Processes,
            relieves: "processes that map many files",
            risk: "None known: each mapping is accounted when it is created.",
            sources: &[
                "source 000, OS table",
                "source 000, tuned profile",
                "MinIO, docs/tuning/tuned.conf (v0.0.0-20260212)",
                "Linux, Documentation/admin-guide/sysctl/vm.rst",
            ],
            ..BASE
        },
        advise: Advise::Computed(|snapshot, _, place| {
            facts::at_least(
                snapshot,
                place,
                524_288,
                "a limit that is not reached costs nothing; at the limit, mmap fails",
            )
        }),
    },
    KnobRow {
        knob: Knob {
            id: "vm.min_free_kbytes",
            locator: Locator::Sysctl { name: "vm.min_free_kbytes" },
            // An `int`, not below zero: `mm/page_alloc.c: page_alloc_sysctl_table`.
            takes: domain::number(0, domain::INT_MAX),
            default: "4 × sqrt(memory in KiB), from 128 to 262144 KiB; higher with transparent huge pages",
            summary: "Memory in KiB that the kernel keeps free for allocations that cannot wait, such as those in a \
                NIC's interrupt.",
            why: "The default grows with the square root of memory and stops at 256 MiB, while a 100 Gb/s NIC needs \
                12.5 GB of pages per second. The advice is 0.5 % of memory, at least the amount that all ports receive \
                in 20 ms, at most 4 GiB or 5 % of memory. Source 003 sets 1000000 on a virtual machine of unstated \
                size: with 8 GiB that is 12 % of memory.",
            relief: RelievedResource::Receiving,
            relieves: "receiving: drops when no page is free at once",
            risk: "The reserve is unavailable to programs; if it is far too large, the machine reclaims memory or \
                kills processes even when idle.",
            sources: &[
                "source 003, full parameters",
                "Linux, Documentation/admin-guide/sysctl/vm.rst",
                "Linux, mm/page_alloc.c: calculate_min_free_kbytes",
            ],
            ..BASE
        },
        advise: Advise::Computed(min_free_kbytes),
    },
    KnobRow {
        knob: Knob {
            id: "vm.zone_reclaim_mode",
            locator: Locator::Sysctl { name: "vm.zone_reclaim_mode" },
            // `include/uapi/linux/mempolicy.h`: three bits, RECLAIM_ZONE, RECLAIM_WRITE and RECLAIM_UNMAP.
            takes: domain::number(0, 7),
            default: "0",
            summary: "Whether a NUMA node reclaims its own page cache before it allocates memory from another node.",
            why: "No source mentions it, but it would defeat the caching that they aim at: when it is on, a node drops \
                file pages although another node has free memory.",
            relief: RelievedResource::Memory,
            relieves: "memory: page cache dropped on one NUMA node",
            risk: "When it is off, some allocations are remote.",
            sources: &["Linux, Documentation/admin-guide/sysctl/vm.rst"],
            ..BASE
        },
        advise: Advise::Constant("0", "cached pages are worth more than local memory"),
    },
    KnobRow {
        knob: Knob {
            id: "vm.transparent_hugepage",
            locator: Locator::Sysfs { path: "kernel/mm/transparent_hugepage/enabled" },
            // `mm/huge_memory.c: enabled_store`.
            takes: Domain::Words(&["always", "madvise", "never"]),
            default: "always or madvise, depending on the kernel's configuration",
            summary: "When anonymous memory is backed by 2 MiB pages: always, on request by madvise(2), or never.",
            why: "Source 000 and MinIO's tuned profile set madvise, which suits servers written in Go. With always, \
                khugepaged and page faults compact memory for heaps that the runtime soon returns, and the resident \
                set grows. A process that benefits from huge pages requests them.",
            relief: RelievedResource::Processors,
            relieves: "processor: page faults that compact memory; memory",
            risk: "A program that benefits from huge pages but does not request them loses those that always gave it.",
            sources: &[
                "source 000, tuned profile",
                "MinIO, docs/tuning/tuned.conf (v0.0.0-20260212)",
                "Linux, Documentation/admin-guide/mm/transhuge.rst",
            ],
            also_called: &["transparent_hugepage"],
            ..BASE
        },
        advise: Advise::Constant(
            "madvise",
            "only programs that request huge pages get them; memory is not compacted for a Go heap",
        ),
    },
    KnobRow {
        knob: Knob {
            id: "vm.transparent_hugepage.defrag",
            locator: Locator::Sysfs { path: "kernel/mm/transparent_hugepage/defrag" },
            // `mm/huge_memory.c: defrag_store`.
            takes: Domain::Words(&["always", "defer", "defer+madvise", "madvise", "never"]),
            default: "madvise",
            summary: "Whether a page fault waits for memory compaction to obtain a huge page.",
            why: "The advice is defer+madvise, as in source 000: a process that requested huge pages waits; all others \
                get a small page, and kcompactd compacts in the background.",
            relief: RelievedResource::Processors,
            relieves: "processor and latency: page faults that compact memory",
            risk: "A process that requested huge pages still waits.",
            sources: &[
                "source 000, tuned profile",
                "MinIO, docs/tuning/tuned.conf (v0.0.0-20260212)",
                "Linux, Documentation/admin-guide/mm/transhuge.rst",
            ],
            since: Some((4, 11)),
            also_called: &["/sys/kernel/mm/transparent_hugepage/defrag"],
            ..BASE
        },
        advise: Advise::Constant("defer+madvise", "only programs that request huge pages wait for them"),
    },
    KnobRow {
        knob: Knob {
            id: "vm.transparent_hugepage.khugepaged.max_ptes_none",
            locator: Locator::Sysfs { path: "kernel/mm/transparent_hugepage/khugepaged/max_ptes_none" },
            // `mm/khugepaged.c: max_ptes_none_store`: less than a huge page has pages, 512 of 4 KiB or 8192 of 64 KiB.
            takes: domain::number(0, 8191),
            default: "511",
            summary: "How many of the 512 pages of a range may be unmapped when khugepaged merges the range into a \
                huge page.",
            why: "With 0, khugepaged merges only ranges that are fully populated, so it never allocates memory that no \
                program touched. Source 000 says that this avoids stalls. Its main effect is on memory: with 511, a \
                single touched page of a returned heap grows to 2 MiB.",
            relief: RelievedResource::Memory,
            relieves: "memory: huge pages that are mostly empty",
            risk: "Fewer huge pages.",
            sources: &[
                "source 000, tuned profile",
                "MinIO, docs/tuning/tuned.conf (v0.0.0-20260212)",
                "Linux, mm/khugepaged.c; Documentation/admin-guide/mm/transhuge.rst",
            ],
            also_called: &["/sys/kernel/mm/transparent_hugepage/khugepaged/max_ptes_none"],
            ..BASE
        },
        advise: Advise::Constant("0", "no memory is allocated that no program touched"),
    },
];

fn dirty_background_ratio(snapshot: &Snapshot, _site: &Site, _place: &SettingId) -> Option<Advice> {
    if facts::is_large_memory(snapshot) {
        return None;
    }
    facts::advice(3, "with less than 64 GiB of memory, 3 % starts writeback before it takes a drive seconds")
}

fn dirty_ratio(snapshot: &Snapshot, _site: &Site, _place: &SettingId) -> Option<Advice> {
    if facts::is_large_memory(snapshot) {
        return None;
    }
    facts::advice(10, "with less than 64 GiB of memory, 10 % limits how long a writer can wait for drives")
}

fn dirty_background_bytes(snapshot: &Snapshot, site: &Site, _place: &SettingId) -> Option<Advice> {
    if !facts::is_large_memory(snapshot) {
        return None;
    }
    let bytes = facts::writeback_bytes(snapshot, site, 0.5);
    facts::advice(
        bytes,
        format!(
            "{}: half a second of writes by {}, at least 256 MiB and at most 4 GiB",
            facts::size(bytes),
            facts::drives_text(snapshot)
        ),
    )
}

fn dirty_bytes(snapshot: &Snapshot, site: &Site, _place: &SettingId) -> Option<Advice> {
    if !facts::is_large_memory(snapshot) {
        return None;
    }
    let bytes = 4 * facts::writeback_bytes(snapshot, site, 0.5);
    facts::advice(
        bytes,
        format!(
            "{}: two seconds of writes by {}, at least 1 GiB and at most 16 GiB",
            facts::size(bytes),
            facts::drives_text(snapshot)
        ),
    )
}

fn min_free_kbytes(snapshot: &Snapshot, site: &Site, _place: &SettingId) -> Option<Advice> {
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
    use linerate_record::knob::Disk;

    use crate::knobs::fixtures::*;

    #[test]
    fn a_percentage_is_advised_only_where_memory_is_small() {
        for (id, percentage) in [("vm.dirty_background_ratio", "3"), ("vm.dirty_ratio", "10")] {
            let mut snapshot = machine();
            assert_eq!(advised(id, &snapshot), None, "{id}");
            snapshot.machine.memory_bytes = 16 << 30;
            assert_eq!(advised(id, &snapshot).as_deref(), Some(percentage), "{id}");
        }
    }

    #[test]
    fn more_drives_may_gather_more() {
        let id = "vm.dirty_background_bytes";
        let mut snapshot = machine();
        let few = number(advised(id, &snapshot));
        let disk = snapshot.devices.disks[0].clone();
        snapshot.devices.disks.extend((0..40).map(|n| Disk { name: format!("nvme1{n}n1"), ..disk.clone() }));
        let many = number(advised(id, &snapshot));
        assert!(many > few && many <= 4 << 30, "{few} {many}");
        snapshot.machine.memory_bytes = 16 << 30;
        assert_eq!(advised(id, &snapshot), None);
    }

    #[test]
    fn writers_wait_well_above_the_background_threshold() {
        let snapshot = machine();
        let background = advised("vm.dirty_background_bytes", &snapshot);
        assert_eq!(number(advised("vm.dirty_bytes", &snapshot)), 4 * number(background));
    }

    #[test]
    fn a_higher_bound_is_left() {
        let id = "vm.max_map_count";
        assert_eq!(advised_at(id, &machine(), "65530").as_deref(), Some("524288"));
        assert_eq!(advised_at(id, &machine(), "1048576").as_deref(), Some("1048576"));
    }

    #[test]
    fn the_reserve_follows_memory_and_ports_and_stays_a_small_share() {
        for (memory_gib, least, most) in
            [(8_u64, 40_000, 430_000), (256, 1_000_000, 1_500_000), (4096, 4 << 20, 4 << 20)]
        {
            let mut snapshot = machine();
            snapshot.machine.memory_bytes = memory_gib << 30;
            let kib = number(advised("vm.min_free_kbytes", &snapshot));
            assert!((least..=most).contains(&kib), "{memory_gib} GiB: {kib} KiB");
        }
    }
}
