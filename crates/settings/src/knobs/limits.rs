//! Limits of the engine's process.

use linerate_record::knob::{Domain, Knob, Layer, Locator, RelievedResource, Scope, TakesEffect};

use crate::knobs::{Advise, KnobRow, facts};

/// What all rows have in common.
const BASE: Knob =
    Knob { layer: Layer::Limits, scope: Scope::Process, takes_effect: TakesEffect::Restart, ..Knob::NONE };

/// In the order in which pages and listings have them.
pub(in crate::knobs) const ROWS: &[KnobRow] = &[
    KnobRow {
        knob: Knob {
            id: "limits.nofile",
            locator: Locator::Limit { name: "Max open files" },
            // `getrlimit(2)`: a `rlim_t`, or RLIM_INFINITY.
            takes: Domain::WordsOrNumber { words: &["unlimited"], least: 0, most: u64::MAX as i128 },
            default: "1024 soft, 524288 hard with systemd; for pods, the service of containerd decides",
            summary: "Hard limit of open files of the engine; Go and MinIO raise the soft limit to it themselves.",
            why: "A node needs a socket for each connection of clients and peers, and a file for each shard in flight. \
                The advice is twice the number of connections, at least 1048576, so that the limit is never reached.",
            relief: RelievedResource::Engine,
            relieves: "the engine: \"too many open files\"",
            risk: "None: open files use memory, the limit does not.",
            sources: &["MinIO, cmd/server-rlimit.go", "getrlimit(2)"],
            ..BASE
        },
        advise: Advise::Computed(|snapshot, site, place| {
            facts::at_least(
                snapshot,
                place,
                (2 * facts::connections(site)).max(1_048_576),
                "twice the connections of a node, at least 1048576",
            )
        }),
    },
    KnobRow {
        knob: Knob {
            id: "limits.nproc",
            locator: Locator::Limit { name: "Max processes" },
            // `getrlimit(2)`: a `rlim_t`, or RLIM_INFINITY.
            takes: Domain::WordsOrNumber { words: &["unlimited"], least: 0, most: u64::MAX as i128 },
            default: "half of kernel.threads-max",
            summary: "Maximum number of threads of the engine's user.",
            why: "A Go server needs a thread for each file operation that blocks: thousands when a drive hangs. \
                Threads are counted per user, over all containers that run as that user.",
            relief: RelievedResource::Engine,
            relieves: "the engine: aborts because it cannot start a thread",
            risk: "A fork bomb is stopped later; pids.max of the cgroup still limits it.",
            sources: &["getrlimit(2)", "Linux, kernel/fork.c: set_max_threads"],
            ..BASE
        },
        advise: Advise::Computed(|snapshot, _, place| {
            facts::at_least(snapshot, place, 65_536, "each file operation that hangs occupies a thread")
        }),
    },
    KnobRow {
        knob: Knob {
            id: "limits.memlock",
            locator: Locator::Limit { name: "Max locked memory" },
            // `getrlimit(2)`: a `rlim_t`, or RLIM_INFINITY.
            takes: Domain::WordsOrNumber { words: &["unlimited"], least: 0, most: u64::MAX as i128 },
            default: "8 MiB since Linux 5.16, 64 KiB before",
            summary: "Maximum amount of memory that a process may lock.",
            why: "S3 servers lock no memory. io_uring was charged to this limit before 5.12, and eBPF before 5.11. \
                There is no advice for the engine; the knob is listed because many lists of limits include it.",
            relief: RelievedResource::Nothing,
            relieves: "nothing on these kernels",
            risk: "None.",
            sources: &["Linux 5.16, include/uapi/linux/resource.h; getrlimit(2)"],
            ..BASE
        },
        advise: Advise::Nothing,
    },
];
