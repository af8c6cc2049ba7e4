//! Limits of the engine's process.
pub(crate) mod limits_memlock;
pub(crate) mod limits_nofile;
pub(crate) mod limits_nproc;
