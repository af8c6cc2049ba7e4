//! Files and file systems: limits, XFS and its mount options.

use linerate_record::knob::{
    Advice, Domain, Knob, Layer, Locator, RelievedResource, Scope, SettingId, Snapshot, TakesEffect, domain,
};
use linerate_record::site::Site;

use crate::knobs::{Advise, KnobRow, facts};

/// What all rows have in common.
const BASE: Knob = Knob { layer: Layer::Fs, ..Knob::NONE };

/// In the order in which pages and listings have them.
pub(in crate::knobs) const ROWS: &[KnobRow] = &[
    KnobRow {
        knob: Knob {
            id: "fs.file-max",
            locator: Locator::Sysctl { name: "fs.file-max" },
            scope: Scope::Host,
            takes_effect: TakesEffect::AtOnce,
            // `fs/file_table.c: fs_stat_sysctls`: 0 to LONG_MAX.
            takes: domain::number(0, i64::MAX as i128),
            default: "one per 10 KiB of memory; 9223372036854775807 with systemd",
            summary: "Maximum number of open files of the whole machine.",
            why: "Source 003 lowers it from 9223372036854775807, the value that systemd sets, to 4194303, in a list of \
                settings meant to raise limits. The limit of the machine protects nothing that the limit per process \
                does not. A higher value is kept.",
            relief: RelievedResource::Files,
            relieves: "files: ENFILE in every process of the machine",
            risk: "None: an open file is charged to the memory cgroup of its process.",
            sources: &[
                "source 003, full parameters",
                "Linux, Documentation/admin-guide/sysctl/fs.rst",
                "systemd, src/core/main.c: bump_file_max_and_nr_open",
            ],
            ..BASE
        },
        advise: Advise::Computed(|snapshot, _, place| {
            facts::at_least(
                snapshot,
                place,
                i64::MAX as u64,
                "systemd's value: the limits per process are reached first; 4194303 would lower it",
            )
        }),
    },
    KnobRow {
        knob: Knob {
            id: "fs.nr_open",
            locator: Locator::Sysctl { name: "fs.nr_open" },
            scope: Scope::Host,
            takes_effect: TakesEffect::AtOnce,
            // `fs/file.c: sysctl_nr_open_min, sysctl_nr_open_max`: whole words of bits, below INT_MAX.
            takes: domain::number(64, 2_147_483_584),
            default: "1048576; more with systemd",
            summary: "Highest value to which the limit of open files of a process can be set.",
            why: "No source mentions it, but raising `Max open files` above it fails, and then the service does not \
                start.",
            relief: RelievedResource::Processes,
            relieves: "processes: EPERM when the limit of open files is raised",
            risk: "None known.",
            sources: &["Linux, Documentation/admin-guide/sysctl/fs.rst"],
            ..BASE
        },
        advise: Advise::Computed(|snapshot, _, place| {
            facts::at_least(
                snapshot,
                place,
                1_048_576,
                "the limit of open files that is advised for the engine must not exceed it",
            )
        }),
    },
    KnobRow {
        knob: Knob {
            id: "fs.inotify.max_user_watches",
            locator: Locator::Sysctl { name: "fs.inotify.max_user_watches" },
            scope: Scope::Host,
            takes_effect: TakesEffect::AtOnce,
            // `fs/notify/inotify/inotify_user.c: inotify_table`: 0 to INT_MAX.
            takes: domain::number(0, domain::INT_MAX),
            default: "1 % of memory, from 8192 to 1048576",
            summary: "Maximum number of inotify watches of a user, over all containers that run as that user.",
            why: "kubelet, containerd and every log collector watch files, all as root. On a node with 200 pods (as in \
                source 000's test) they exhaust the limit together, and log collection stops without an error.",
            relief: RelievedResource::Kubernetes,
            relieves: "Kubernetes: log collection, updates of secrets",
            risk: "1 KiB of kernel memory for each watch in use.",
            sources: &["Linux, fs/notify/inotify/inotify_user.c", "source 000, Kubernetes test (200 pods a node)"],
            ..BASE
        },
        advise: Advise::Computed(|snapshot, _, place| {
            facts::at_least(snapshot, place, 524_288, "the root processes of all pods share one limit")
        }),
    },
    KnobRow {
        knob: Knob {
            id: "fs.inotify.max_user_instances",
            locator: Locator::Sysctl { name: "fs.inotify.max_user_instances" },
            scope: Scope::Host,
            takes_effect: TakesEffect::AtOnce,
            // `fs/notify/inotify/inotify_user.c: inotify_table`: 0 to INT_MAX.
            takes: domain::number(0, domain::INT_MAX),
            default: "128",
            summary: "Maximum number of inotify instances of a user, over all containers that run as that user.",
            why: "On a node with 200 pods, 128 is less than one for each pod. Programs then report \"too many open \
                files\", which suggests the wrong limit.",
            relief: RelievedResource::Kubernetes,
            relieves: "Kubernetes: programs that fail to start",
            risk: "None known.",
            sources: &["Linux, fs/notify/inotify/inotify_user.c", "source 000, Kubernetes test (200 pods a node)"],
            ..BASE
        },
        advise: Advise::Computed(|snapshot, _, place| {
            facts::at_least(snapshot, place, 8192, "200 pods that run as root share one limit")
        }),
    },
    KnobRow {
        knob: Knob {
            id: "fs.xfs.xfssyncd_centisecs",
            locator: Locator::Sysctl { name: "fs.xfs.xfssyncd_centisecs" },
            scope: Scope::Host,
            takes_effect: TakesEffect::AtOnce,
            // `fs/xfs/xfs_globals.c: xfs_params.syncd_timer`: a second to two hours.
            takes: domain::number(100, 720_000),
            default: "3000",
            summary: "Interval, in hundredths of a second, of XFS's background worker, which covers an idle log and \
                pushes the log's tail; 100 to 720000.",
            why: "Source 000 sets 72000 (12 minutes), once under the name xfsyncd_centisecs, which does not exist, so \
                one of its two settings fails. The worker does not flush data and is not involved in fsync; it costs \
                each file system one log force every 30 s. With 12 minutes, recovery after a crash replays more log, \
                and idle file systems stay dirty longer, while nobody has measured a saving. The default is advised.",
            relief: RelievedResource::Drives,
            relieves: "drives: one log force every 30 s",
            risk: "Longer: more log to replay after a crash, and asynchronous metadata reaches the disk later.",
            sources: &[
                "source 000, tuned profile",
                "source 000, OS table",
                "MinIO, docs/tuning/tuned.conf (v0.0.0-20260212)",
                "Linux, fs/xfs/xfs_globals.c: syncd_timer (100, 3000, 720000); fs/xfs/xfs_log.c: xfs_log_worker; \
                    Documentation/admin-guide/xfs.rst",
            ],
            also_called: &["fs.xfs.xfsyncd_centisecs"],
            ..BASE
        },
        advise: Advise::Constant(
            "3000",
            "the default: 12 minutes would save one log force every 30 s and write asynchronous metadata later",
        ),
    },
    KnobRow {
        knob: Knob {
            id: "xfs.noatime",
            locator: Locator::MountOption { fs: "xfs", option: "noatime" },
            scope: Scope::Mount,
            takes_effect: TakesEffect::AtOnce,
            // `mount(8)`: an option without a value.
            takes: Domain::Words(&["absent", "present"]),
            default: "absent: relatime",
            summary: "Whether reads leave access times unchanged.",
            why: "relatime writes an access time at most once a day for each file that is read; noatime never does. No \
                object store uses access times. noatime implies nodiratime, and a remount can change it.",
            relief: RelievedResource::Drives,
            relieves: "drives: metadata writes caused by reads",
            risk: "Programs that use access times (tmp cleaners, mail) no longer see them change.",
            sources: &["source 000, XFS", "Linux, Documentation/admin-guide/xfs.rst", "mount(8)"],
            also_called: &["noatime"],
            ..BASE
        },
        advise: Advise::Constant("present", "a GET should not write metadata"),
    },
    KnobRow {
        knob: Knob {
            id: "xfs.inode64",
            locator: Locator::MountOption { fs: "xfs", option: "inode64" },
            scope: Scope::Mount,
            takes_effect: TakesEffect::Restart,
            // `xfs(5)`: an option without a value.
            takes: Domain::Words(&["absent", "present"]),
            default: "present since Linux 3.7",
            summary: "Whether inodes may be placed anywhere in the file system rather than only in its first TiB.",
            why: "Source 000 lists it among options to tune. It is the default since 3.7 and appears in /proc/mounts. \
                Only a mount with inode32 needs a change: there, all inodes of a large drive compete for the first \
                TiB, and data is allocated far from them.",
            relief: RelievedResource::Drives,
            relieves: "drives: seeks, and allocation groups that fill first",
            risk: "32-bit programs without large-file support cannot stat such inodes.",
            sources: &[
                "source 000, XFS",
                "Linux, Documentation/admin-guide/xfs.rst",
                "Linux 3.7, fs/xfs/xfs_super.c (inode64 by default)",
            ],
            also_called: &["inode64"],
            ..BASE
        },
        advise: Advise::Constant("present", "inodes are placed near their data"),
    },
    KnobRow {
        knob: Knob {
            id: "xfs.allocsize",
            locator: Locator::MountOption { fs: "xfs", option: "allocsize" },
            scope: Scope::Mount,
            takes_effect: TakesEffect::Restart,
            // `fs/xfs/xfs_super.c`: powers of two from a page to 1 GiB (XFS_MIN_IO_LOG, XFS_MAX_IO_LOG), shown in KiB.
            takes: Domain::Words(&[
                "absent", "4k", "8k", "16k", "32k", "64k", "128k", "256k", "512k", "1024k", "2048k", "4096k", "8192k",
                "16384k", "32768k", "65536k", "131072k", "262144k", "524288k", "1048576k",
            ]),
            default: "absent: preallocation grows with the file",
            summary: "Fixed size of speculative preallocation beyond the end of a file that is being written.",
            why: "Source 000 lists it without a value. Since 2.6.38, preallocation adapts to the size of the file; an \
                engine that calls fallocate, or writes whole shards with O_DIRECT, needs neither. A large fixed size \
                makes every small file occupy that much until it is closed or trimmed. The advice is to leave it \
                absent.",
            relief: RelievedResource::Drives,
            relieves: "drives: fragmentation of files that grow slowly",
            risk: "Fixed: space is reserved beyond the end of small files.",
            sources: &[
                "source 000, XFS",
                "Linux, Documentation/admin-guide/xfs.rst",
                "Linux, fs/xfs/xfs_iomap.c: xfs_iomap_prealloc_size",
            ],
            also_called: &["allocsize"],
            ..BASE
        },
        advise: Advise::Constant("absent", "dynamic preallocation adapts to the size of each file"),
    },
    KnobRow {
        knob: Knob {
            id: "xfs.logbufs",
            locator: Locator::MountOption { fs: "xfs", option: "logbufs" },
            scope: Scope::Mount,
            takes_effect: TakesEffect::Restart,
            // `xfs(5)`: 2 to 8.
            takes: Domain::WordsOrNumber { words: &["absent"], least: 2, most: 8 },
            default: "8",
            summary: "Number of log buffers in memory, 2 to 8.",
            why: "Source 000 lists it without a value. 8 is both the default and the maximum, so it cannot be raised.",
            relief: RelievedResource::Drives,
            relieves: "drives: metadata operations that wait for a log buffer",
            risk: "Each buffer less saves 32 to 256 KiB.",
            sources: &[
                "source 000, XFS",
                "Linux, Documentation/admin-guide/xfs.rst",
                "Linux, fs/xfs/xfs_log.c: xlog_get_iclog_buffer_size",
            ],
            also_called: &["logbufs"],
            ..BASE
        },
        advise: Advise::Computed(logbufs),
    },
    KnobRow {
        knob: Knob {
            id: "xfs.logbsize",
            locator: Locator::MountOption { fs: "xfs", option: "logbsize" },
            scope: Scope::Mount,
            takes_effect: TakesEffect::Restart,
            // `xfs(5)`: powers of two from 16 KiB to 256 KiB.
            takes: Domain::Words(&["absent", "16k", "32k", "64k", "128k", "256k"]),
            default: "32k, or the log's stripe unit",
            summary: "Size of one log buffer: 16k to 256k.",
            why: "Source 000 lists it without a value. Each PUT creates and renames files on every drive of its set. \
                When many of these operations accumulate, 256k writes the log in fewer, larger I/Os; fsync still \
                writes only what is in the buffer. It cannot be set by mkfs.xfs or changed by a remount.",
            relief: RelievedResource::Drives,
            relieves: "drives: log writes with many small objects",
            risk: "2 MiB of memory per file system; recovery after a crash may replay slightly more.",
            sources: &["source 000, XFS", "Linux, Documentation/admin-guide/xfs.rst"],
            also_called: &["logbsize"],
            ..BASE
        },
        advise: Advise::Constant("256k", "the metadata of many small objects needs fewer log writes"),
    },
    KnobRow {
        knob: Knob {
            id: "xfs.discard",
            locator: Locator::MountOption { fs: "xfs", option: "discard" },
            scope: Scope::Mount,
            takes_effect: TakesEffect::AtOnce,
            // `xfs(5)`: an option without a value.
            takes: Domain::Words(&["absent", "present"]),
            default: "absent",
            summary: "Whether freed space is discarded online, at the commit of each transaction.",
            why: "Source 000 relies on fstrim for free blocks rather than on online discards with each deletion, and \
                so does this advice: a daily or weekly fstrim (see block.fstrim_timer) sends in bulk what online \
                discard sends in small pieces during the load.",
            relief: RelievedResource::Drives,
            relieves: "drives: discards during the load",
            risk: "Without fstrim as well, flash fills up and its garbage collection raises tail latency.",
            sources: &["source 000, fstrim", "Linux, Documentation/admin-guide/xfs.rst", "Linux, fs/xfs/xfs_discard.c"],
            ..BASE
        },
        advise: Advise::Constant("absent", "fstrim discards in bulk, at a quiet time"),
    },
];

fn logbufs(snapshot: &Snapshot, _site: &Site, place: &SettingId) -> Option<Advice> {
    // Not shown in /proc/mounts where nobody set it: then it is 8.
    match facts::text(snapshot, place) {
        None | Some("absent") => None,
        Some(_) => facts::advice(8, "the default is the maximum"),
    }
}

#[cfg(test)]
mod tests {
    use crate::knobs::fixtures::*;

    #[test]
    fn the_bound_is_never_lowered() {
        assert_eq!(advised_at("fs.file-max", &machine(), "4194303").as_deref(), Some("9223372036854775807"));
    }

    #[test]
    fn only_a_lowered_number_is_put_back() {
        assert_eq!(advised_at("xfs.logbufs", &machine(), "absent"), None);
        assert_eq!(advised_at("xfs.logbufs", &machine(), "2").as_deref(), Some("8"));
    }
}
