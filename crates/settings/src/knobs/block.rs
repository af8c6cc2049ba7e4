//! Block devices: queues, readahead, discards.
pub(crate) mod block_discard_max_bytes;
pub(crate) mod block_fstrim_timer;
pub(crate) mod block_nr_requests;
pub(crate) mod block_read_ahead_kb;
pub(crate) mod block_rq_affinity;
pub(crate) mod block_scheduler;
