//! What a course asks for, how it ends, what it knows of a node, and its times.

use linerate_record::rollout::NodeState;

/// Something to be done. Nodes are places in the list that the course was begun with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RolloutAction {
    /// Ask a node how it stands, before any is changed.
    Look(u32),
    /// The same behind the last wave.
    LookAgain(u32),
    /// Have it make its changes, which it rolls back by itself after so many milliseconds.
    Apply {
        node: u32,
        /// Milliseconds from when it is told to.
        within_ms: u64,
    },
    /// Run the check behind a wave, from 0.
    Check(u32),
    /// Have it put that off, to so many milliseconds from when it is told to.
    Extend {
        node: u32,
        /// Milliseconds.
        within_ms: u64,
    },
    /// Have it keep its changes.
    Confirm(u32),
    /// Have it roll them back, and refuse any order to make them that is still on its way.
    Rollback(u32),
}

/// How a course ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RolloutEnd {
    /// Nothing was done.
    Unbegun,
    /// Every node has its changes, which wait to be confirmed.
    Pending,
    /// Every node keeps them.
    Confirmed,
    /// They were rolled back wherever a node could be reached; what is known of each is in its row.
    RolledBack,
}

/// What is known of a node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeRow {
    /// How it said last that it stands; none where that is not known any more.
    pub node_state: Option<NodeState>,
    /// Why it is not known, or what failed.
    pub why: Option<String>,
}

/// Times of a course, in milliseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RolloutTimes {
    /// How long an application needs at the least to be confirmed: none is begun with less left.
    pub reserve_ms: u64,
    /// To how long the instant is put off before anything is confirmed.
    pub extend_ms: u64,
    /// How long behind that instant a node may still be at it.
    pub grace_ms: u64,
    /// How long a node that cannot be reached is asked again to roll its changes back.
    pub retry_within_ms: u64,
    /// How long it is left alone in between.
    pub retry_ms: u64,
}

impl Default for RolloutTimes {
    /// An order to a node takes a second or two, and an SSH connection as much again; two minutes outlast a switch that
    /// is restarted.
    fn default() -> RolloutTimes {
        RolloutTimes {
            reserve_ms: 3_000,
            extend_ms: 120_000,
            grace_ms: 15_000,
            retry_within_ms: 30_000,
            retry_ms: 2_000,
        }
    }
}
