//! The kernel in general: scheduler and watchdogs.

use linerate_record::knob::{
    Advice, Knob, Layer, Locator, RelievedResource, Scope, SettingId, Snapshot, TakesEffect, domain,
};
use linerate_record::site::Site;

use crate::knobs::{Advise, KnobRow, facts};

/// What all rows have in common.
const BASE: Knob = Knob { layer: Layer::Kernel, scope: Scope::Host, takes_effect: TakesEffect::AtOnce, ..Knob::NONE };

/// In the order in which pages and listings have them.
pub(in crate::knobs) const ROWS: &[KnobRow] = &[
    KnobRow {
        knob: Knob {
            id: "kernel.numa_balancing",
            locator: Locator::Sysctl { name: "kernel.numa_balancing" },
            // `kernel/sched/core.c: sched_core_sysctls`: 0 to 4 since Linux 5.18, 0 and 1 before.
            takes: domain::number(0, 4),
            default: "1 with several NUMA nodes if the kernel is configured for it, otherwise 0",
            summary: "Whether the kernel unmaps pages to sample accesses, and moves tasks and their pages to the same \
                NUMA node.",
            why: "Source 000 keeps 1 and calls it recommended. With one NUMA node it does nothing. With several it \
                helps a server whose threads and memory drift apart, such as an unpinned Go process, at the cost of \
                page faults. If the engine is pinned to a node (cpuset, topology manager), the value should be 0; the \
                audit cannot detect that.",
            relief: RelievedResource::Memory,
            relieves: "memory: remote accesses",
            risk: "Page faults and migrations add latency to the tasks that are moved.",
            sources: &[
                "source 000, OS table",
                "source 000, tuned profile",
                "MinIO, docs/tuning/tuned.conf (v0.0.0-20260212)",
                "Linux, Documentation/admin-guide/sysctl/kernel.rst",
            ],
            ..BASE
        },
        advise: Advise::Computed(numa_balancing),
    },
    KnobRow {
        knob: Knob {
            id: "kernel.sched_migration_cost_ns",
            locator: Locator::Sysctl { name: "kernel.sched_migration_cost_ns" },
            // `kernel/sched/fair.c: task_hot`: -1 is any time.
            takes: domain::number(-1, domain::INT_MAX),
            default: "500000",
            summary: "Nanoseconds after its last run for which a task counts as cache-hot and is not moved by load \
                balancing.",
            why: "Source 000 sets 5000000, with two question marks. In 5.13 the setting moved from /proc/sys to \
                sched/migration_cost_ns in debugfs, so on the kernel that the same source requires (6.8), the line \
                only makes sysctl report an error. Ten times the default also keeps runnable threads away from idle \
                cores, which is the opposite of what a server with bursts needs. The default is advised.",
            relief: RelievedResource::Processors,
            relieves: "processor: cache misses after migrations",
            risk: "Threads wait for a busy core while other cores are idle.",
            sources: &[
                "source 000, OS table",
                "source 000, tuned profile",
                "MinIO, docs/tuning/tuned.conf (v0.0.0-20260212)",
                "Linux 5.13, kernel/sched/debug.c (8a99b6833c88: sched: Move SCHED_DEBUG sysctl to debugfs)",
            ],
            until: Some((5, 13)),
            also_called: &["kernel.sched_migration_cost_ns ??", "/sys/kernel/debug/sched/migration_cost_ns"],
            ..BASE
        },
        advise: Advise::Constant(
            "500000",
            "the default: a thread runs sooner on an idle core than on a busy one with a warm cache",
        ),
    },
    KnobRow {
        knob: Knob {
            id: "kernel.hung_task_timeout_secs",
            locator: Locator::Sysctl { name: "kernel.hung_task_timeout_secs" },
            // `kernel/hung_task.c`: hung_task_timeout_max, LONG_MAX / HZ, where HZ is 100 at least.
            takes: domain::number(0, 92_233_720_368_547_758),
            default: "120",
            summary: "Seconds in uninterruptible sleep after which the kernel reports a task.",
            why: "Source 000 sets 85 and describes it both as earlier detection of hung tasks and as an extension; 85 \
                is shorter than the default of 120. The setting only controls a report and does not change \
                performance. With hung_task_panic, however, a shorter time makes a slow drive reboot the node sooner. \
                The default is right.",
            relief: RelievedResource::Nothing,
            relieves: "nothing: it only controls a report",
            risk: "With hung_task_panic, a slow drive reboots the node sooner.",
            sources: &[
                "source 000, OS table",
                "source 000, tuned profile",
                "MinIO, docs/tuning/tuned.conf (v0.0.0-20260212)",
                "Linux, Documentation/admin-guide/sysctl/kernel.rst",
            ],
            ..BASE
        },
        advise: Advise::Constant("120", "the default: 85 reports sooner and changes nothing else"),
    },
    KnobRow {
        knob: Knob {
            id: "kernel.pid_max",
            locator: Locator::Sysctl { name: "kernel.pid_max" },
            // `kernel/pid.c: pid_max_min` (RESERVED_PIDS + 1) and PID_MAX_LIMIT of 64-bit machines.
            takes: domain::number(301, 4_194_304),
            default: "32768, or 1024 per possible processor if that is larger; 4194304 with systemd",
            summary: "Highest process or thread ID.",
            why: "A node with 200 pods (as in source 000's test) whose engines run thousands of threads reaches 32768. \
                systemd sets the maximum of 64-bit machines, and so does this advice.",
            relief: RelievedResource::Processes,
            relieves: "processes: failures of fork",
            risk: "IDs with more digits in listings.",
            sources: &[
                "Linux, Documentation/admin-guide/sysctl/kernel.rst",
                "systemd, sysctl.d/50-pid-max.conf",
                "source 000, Kubernetes test (200 pods a node)",
            ],
            ..BASE
        },
        advise: Advise::Constant("4194304", "threads of all pods count, and a high limit costs nothing"),
    },
];

fn numa_balancing(snapshot: &Snapshot, _site: &Site, _place: &SettingId) -> Option<Advice> {
    if snapshot.machine.numa_nodes < 2 {
        return None;
    }
    facts::advice(1, format!("{} NUMA nodes, and an engine that is taken to be unpinned", snapshot.machine.numa_nodes))
}

#[cfg(test)]
mod tests {
    use crate::knobs::fixtures::*;

    #[test]
    fn one_numa_node_has_nothing_to_balance() {
        let id = "kernel.numa_balancing";
        let mut snapshot = machine();
        assert_eq!(advised(id, &snapshot).as_deref(), Some("1"));
        snapshot.machine.numa_nodes = 1;
        assert_eq!(advised(id, &snapshot), None);
    }

    #[test]
    fn there_is_nothing_to_advise_where_the_name_is_gone() {
        let id = "kernel.sched_migration_cost_ns";
        let mut snapshot = machine();
        snapshot.machine.kernel = "5.12.19".to_owned();
        assert_eq!(advised(id, &snapshot).as_deref(), Some("500000"));
        snapshot.machine.kernel = "5.13.0".to_owned();
        assert_eq!(advised(id, &snapshot), None);
    }
}
