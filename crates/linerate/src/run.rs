//! What a verb does on this machine: targets in child processes, timing, interruption, cleaning, changes of settings.

pub(crate) mod applications;
pub(crate) mod bodies;
pub(crate) mod catalogue;
pub(crate) mod cleanup;
pub(crate) mod consent;
pub(crate) mod interrupt;
pub(crate) mod machine_readings;
pub(crate) mod metrics;
pub(crate) mod open_files;
pub(crate) mod point_timing;
pub(crate) mod processors;
pub(crate) mod random_bytes;
pub(crate) mod source_addresses;
pub(crate) mod target_process;
pub(crate) mod wanted_changes;
