//! What queues of interfaces did of what was to be sent while a visit counts.

use serde::{Deserialize, Serialize};

use crate::plausibility::COUNT_MAX;

/// Most queues of a machine that are told.
pub const NET_QUEUES_MAX: usize = 64;

/// The queue of an interface, as `tc -s qdisc` shows it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct NetQueue {
    pub interface: String,
    /// What `tc` calls the queue: `fq`, `tbf`.
    pub discipline: String,
    /// Packets that it dropped; several that the kernel kept as one count as one.
    pub dropped: u64,
    /// How often it held packets back for its rate.
    pub held_back: u64,
}

/// What is wrong with what is told of queues.
///
/// # Errors
/// Why, in words for a person.
pub fn check_queues(queues: &[NetQueue]) -> Result<(), String> {
    if queues.len() > NET_QUEUES_MAX {
        return Err(format!("{} queues of interfaces", queues.len()));
    }
    match queues.iter().flat_map(|queue| [queue.dropped, queue.held_back]).find(|count| *count > COUNT_MAX) {
        Some(count) => Err(format!("a count of {count}")),
        None => Ok(()),
    }
}
