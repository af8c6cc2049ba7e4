//! Block devices: queues, readahead, discards.

use linerate_record::knob::{
    Advice, Domain, Knob, Layer, Locator, RelievedResource, Scope, SettingId, Snapshot, TakesEffect, domain,
};
use linerate_record::site::Site;

use crate::knobs::{Advise, KnobRow, facts};

/// What all rows have in common.
const BASE: Knob = Knob { layer: Layer::Block, takes_effect: TakesEffect::AtOnce, ..Knob::NONE };

/// In the order in which pages and listings have them.
pub(in crate::knobs) const ROWS: &[KnobRow] = &[
    KnobRow {
        knob: Knob {
            id: "block.scheduler",
            locator: Locator::Sysfs { path: "block/{disk}/queue/scheduler" },
            scope: Scope::Device,
            // `block/mq-deadline.c`, `kyber-iosched.c`, `bfq-iosched.c`; the last three before Linux 5.0. The file
            // lists what there is.
            takes: Domain::Words(&["none", "mq-deadline", "kyber", "bfq", "noop", "deadline", "cfq"]),
            default: "none for NVMe with several queues; otherwise mq-deadline or bfq",
            summary: "I/O scheduler that orders the requests of a disk.",
            why: "Source 000 advises none or mq-deadline, depending on tests. For NVMe the advice is none: the drive \
                orders requests itself, and a scheduler adds a lock between cores. For spinning drives it is \
                mq-deadline, which lets reads overtake writeback and sorts seeks.",
            relief: RelievedResource::Drives,
            relieves: "drives and processor: latency with long queues",
            risk: "none: no fairness between cgroups (io.weight needs bfq or iocost), and reads do not overtake \
                writes.",
            sources: &[
                "source 000, XFS (none or mq-deadline)",
                "Linux, Documentation/block/switching-sched.rst; block/elevator.c: elevator_get_default",
            ],
            also_called: &["scheduler"],
            ..BASE
        },
        advise: Advise::Computed(scheduler),
    },
    KnobRow {
        knob: Knob {
            id: "block.read_ahead_kb",
            locator: Locator::Sysfs { path: "block/{disk}/queue/read_ahead_kb" },
            scope: Scope::Device,
            // `block/blk-sysfs.c: queue_var_store`: an `unsigned int`.
            takes: domain::number(0, u32::MAX as i128),
            default: "128, or twice the optimal request size of the device",
            summary: "Readahead in KiB for sequential reads through the page cache.",
            why: "Source 003 sets it with blockdev --setra, which counts sectors of 512 bytes: 2048, 8192 (its \
                default) and 16384 are 1, 4 and 8 MiB. Its results do not differ beyond their spread. A new value \
                applies to files opened afterwards and has no effect on O_DIRECT. On flash, 512 KiB covers a drive's \
                latency at 5 GB/s; on a spinning drive, 4 MiB outweighs the cost of a seek.",
            relief: RelievedResource::Drives,
            relieves: "drives: sequential reads through the page cache",
            risk: "Small random reads through the page cache read data that is not used.",
            sources: &[
                "source 003, partial parameters (B1)",
                "Linux, mm/readahead.c; block/blk-settings.c: blk_apply_bdi_limits",
                "blockdev(8)",
            ],
            also_called: &["blockdev --setra"],
            ..BASE
        },
        advise: Advise::Computed(read_ahead_kb),
    },
    KnobRow {
        knob: Knob {
            id: "block.nr_requests",
            locator: Locator::Sysfs { path: "block/{disk}/queue/nr_requests" },
            scope: Scope::Device,
            // `block/blk-sysfs.c: queue_requests_store` makes less than BLKDEV_MIN_RQ that; BLK_MQ_MAX_DEPTH is the
            // most of any queue.
            takes: domain::number(4, 10_240),
            default: "without a scheduler, the device's tags (1023 for most NVMe drives); with one, at most twice 128",
            summary: "Maximum number of requests allocated for each queue.",
            why: "Without a scheduler, the kernel uses the depth that the device offers and refuses more, so it cannot \
                be raised. With a scheduler the default is 256. A spinning drive gains from a longer queue to sort, at \
                the price of latency. There is no advice for flash.",
            relief: RelievedResource::Drives,
            relieves: "drives: requests that wait for a tag",
            risk: "Longer queues mean longer waits.",
            sources: &["Linux, block/blk-mq.c: blk_mq_update_nr_requests"],
            ..BASE
        },
        advise: Advise::Computed(nr_requests),
    },
    KnobRow {
        knob: Knob {
            id: "block.rq_affinity",
            locator: Locator::Sysfs { path: "block/{disk}/queue/rq_affinity" },
            scope: Scope::Device,
            // `block/blk-sysfs.c: queue_rq_affinity_store`: other numbers change nothing.
            takes: domain::number(0, 2),
            default: "1",
            summary: "Where a request completes: on a core that shares a cache with the core that issued it (1), on \
                exactly that core (2), or on the core that takes the interrupt (0).",
            why: "An NVMe drive with a queue per core completes requests where they were issued anyway. 2 costs an \
                interrupt between cores. The default of 1 is right.",
            relief: RelievedResource::Processors,
            relieves: "processor: cache misses at completion",
            risk: "2: interrupts between cores.",
            sources: &["Linux, Documentation/ABI/stable/sysfs-block; block/blk-mq.c: blk_mq_complete_need_ipi"],
            ..BASE
        },
        advise: Advise::Computed(rq_affinity),
    },
    KnobRow {
        knob: Knob {
            id: "block.discard_max_bytes",
            locator: Locator::Sysfs { path: "block/{disk}/queue/discard_max_bytes" },
            scope: Scope::Device,
            // `block/blk-sysfs.c: queue_max_discard_sectors_store`: sectors of 512 bytes as an `unsigned int`.
            takes: domain::number(0, (u32::MAX as i128) << 9),
            default: "discard_max_hw_bytes",
            summary: "Maximum size in bytes of one discard that is sent to the device; 0 disables discards.",
            why: "Source 000 claims that kernels before 6.8 send small discards one by one and that later kernels send \
                large ones in parallel. The change was made in XFS: since 6.7 it collects free extents in batches and \
                sends the discards of a batch together, without holding the lock of the allocation group meanwhile. No \
                change in 6.8 to the block layer was found that matches the source. If large discards of a device \
                stall reads, 64 MiB can be set here; until then the default is right.",
            relief: RelievedResource::Drives,
            relieves: "drives: latency of reads during discards",
            risk: "Smaller discards take longer in total; with 0, flash fills up.",
            sources: &[
                "source 000, fstrim",
                "Linux 6.7, fs/xfs/xfs_discard.c: xfs_trim_gather_extents; Documentation/ABI/stable/sysfs-block",
            ],
            ..BASE
        },
        advise: Advise::Computed(discard_max_bytes),
    },
    KnobRow {
        knob: Knob {
            id: "block.fstrim_timer",
            locator: Locator::Timer { unit: "fstrim.timer" },
            scope: Scope::Host,
            // `systemctl(1)`: a timer that is not failed is one of both.
            takes: Domain::Words(&["active", "inactive"]),
            default: "active on most distributions, weekly",
            summary: "Whether systemd discards the unused space of mounted file systems once a week.",
            why: "Source 000 gives fstrim as the reason for its choice of kernel: flash without free blocks has to \
                collect garbage when it is written to, which raises the tail latency of PUT. On Kubernetes, nothing \
                else trims the file systems that a CSI driver such as DirectPV mounts. The service takes its list from \
                fstab, which does not contain those mounts, so a job in the cluster has to name them.",
            relief: RelievedResource::Drives,
            relieves: "drives: garbage collection during writes",
            risk: "Discards compete with reads while they run: schedule them for a quiet hour.",
            sources: &["source 000, fstrim", "fstrim(8); util-linux, sys-utils/fstrim.service.in"],
            also_called: &["fstrim"],
            ..BASE
        },
        advise: Advise::Computed(fstrim_timer),
    },
];

fn scheduler(snapshot: &Snapshot, _site: &Site, place: &SettingId) -> Option<Advice> {
    let disk = facts::disk(snapshot, place)?;
    let wanted = if disk.rotational { "mq-deadline" } else { "none" };
    let choices = facts::choices(snapshot, place);
    if !choices.is_empty() && !choices.iter().any(|choice| choice == wanted) {
        return None;
    }
    let why = if disk.rotational {
        "it sorts the seeks of a spinning drive, and reads overtake writes"
    } else {
        "the drive orders requests itself"
    };
    facts::advice_of_spinning(snapshot, disk, wanted, why)
}

fn read_ahead_kb(snapshot: &Snapshot, _site: &Site, place: &SettingId) -> Option<Advice> {
    let disk = facts::disk(snapshot, place)?;
    let (kib, why) = if disk.rotational {
        (4096, "a seek of 8 ms costs as much as 2 MB at 250 MB/s: twice that")
    } else {
        (512, "what a drive of 5 GB/s reads in 0.1 ms")
    };
    facts::advice_of_spinning(snapshot, disk, kib, why)
}

fn nr_requests(snapshot: &Snapshot, _site: &Site, place: &SettingId) -> Option<Advice> {
    let disk = facts::disk(snapshot, place)?;
    let why = "the default: a longer queue means longer waits";
    if disk.rotational { facts::advice_of_spinning(snapshot, disk, 256, why) } else { None }
}

fn rq_affinity(snapshot: &Snapshot, _site: &Site, place: &SettingId) -> Option<Advice> {
    facts::disk(snapshot, place)?;
    facts::advice(1, "the default: a request completes near its issuer, without an interrupt to that core")
}

fn discard_max_bytes(snapshot: &Snapshot, _site: &Site, place: &SettingId) -> Option<Advice> {
    let disk = facts::disk(snapshot, place)?;
    // Only where somebody turned discards off: what the device offers is not in the snapshot, and 1 GiB is a
    // multiple of any granularity, and the kernel takes what the drive can where that is less.
    match facts::number(snapshot, place) {
        Some(0) if disk.discards => facts::advice(1 << 30, "discards are disabled for a drive that supports them"),
        _ => None,
    }
}

fn fstrim_timer(snapshot: &Snapshot, _site: &Site, _place: &SettingId) -> Option<Advice> {
    let trims = snapshot.devices.disks.iter().any(|disk| disk.discards);
    facts::advice_if(trims, "active", "the machine has drives that support discards")
}

#[cfg(test)]
mod tests {
    use crate::knobs::fixtures::*;

    #[test]
    fn what_spins_is_sorted_and_flash_is_not() {
        let mut snapshot = machine();
        assert_eq!(advised_for("block.scheduler", &snapshot, "nvme0n1").as_deref(), Some("none"));
        snapshot.devices.disks[0].rotational = true;
        assert_eq!(advised_for("block.scheduler", &snapshot, "nvme0n1").as_deref(), Some("mq-deadline"));
        assert_eq!(advised_among("block.scheduler", &snapshot, "none", &["none"]), None);
    }

    #[test]
    fn a_seek_is_earned_back() {
        let id = "block.read_ahead_kb";
        let mut snapshot = machine();
        assert_eq!(advised_for(id, &snapshot, "nvme0n1").as_deref(), Some("512"));
        snapshot.devices.disks[0].rotational = true;
        assert_eq!(advised_for(id, &snapshot, "nvme0n1").as_deref(), Some("4096"));
        assert_eq!(advised_for(id, &snapshot, "sdz"), None);
    }

    #[test]
    fn a_virtual_disk_is_not_believed_that_it_spins() {
        use crate::audit::audit;
        use linerate_record::finding::Confidence;
        for (name, virtualized, rotational, uncertain) in [
            ("vda", true, true, true),
            ("vda", false, false, true),
            ("xvdb", true, true, true),
            ("sda", true, true, true),
            ("sda", true, false, false),
            ("sda", false, true, false),
            ("nvme0n1", true, false, false),
        ] {
            let mut snapshot = machine();
            snapshot.machine.virtualized = virtualized;
            let disk = &mut snapshot.devices.disks[0];
            (disk.name, disk.rotational) = (name.to_owned(), rotational);
            set(&mut snapshot, "block.read_ahead_kb", Some(name), "8192");
            set(&mut snapshot, "net.core.somaxconn", None, "128");
            let profile = crate::profiles::find("s3-storage-node").expect("a profile");
            let found = audit(&snapshot, &site(), profile).differences;
            let at = found.iter().position(|one| one.knob == "block.read_ahead_kb").expect("a difference");
            let (weight, confidence) = (found[at].weight, found[at].confidence);
            let case = format!("{name} {virtualized} {rotational}: {:?}", found[at]);
            assert_eq!(found[at].why.contains("uncertain: a virtual disk"), uncertain, "{case}");
            assert_eq!(confidence == Confidence::Possible && weight < 0.31 && at > 0, uncertain, "{case}");
        }
    }

    #[test]
    fn flash_keeps_its_own_tags() {
        let id = "block.nr_requests";
        let mut snapshot = machine();
        assert_eq!(advised_for(id, &snapshot, "nvme0n1"), None);
        snapshot.devices.disks[0].rotational = true;
        assert_eq!(advised_for(id, &snapshot, "nvme0n1").as_deref(), Some("256"));
    }

    #[test]
    fn discards_that_were_turned_off_are_turned_on() {
        let id = "block.discard_max_bytes";
        let snapshot = machine();
        assert!(advised_at(id, &snapshot, "0").is_some());
        assert_eq!(advised_at(id, &snapshot, "67108864"), None);
    }

    #[test]
    fn drives_that_take_no_discards_need_no_timer() {
        let id = "block.fstrim_timer";
        let mut snapshot = machine();
        assert_eq!(advised(id, &snapshot).as_deref(), Some("active"));
        for disk in &mut snapshot.devices.disks {
            disk.discards = false;
        }
        assert_eq!(advised(id, &snapshot), None);
    }
}
