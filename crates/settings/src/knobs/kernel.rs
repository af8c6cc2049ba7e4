//! The kernel at large: scheduler and watchdogs.
pub(crate) mod kernel_hung_task_timeout_secs;
pub(crate) mod kernel_numa_balancing;
pub(crate) mod kernel_pid_max;
pub(crate) mod kernel_sched_migration_cost_ns;
