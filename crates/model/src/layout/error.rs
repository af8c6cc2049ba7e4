//! What keeps an engine from laying data out.

/// Why a site has no layout.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum LayoutError {
    /// No group has a node.
    #[error("site \"{site}\" has no storage nodes: give a group in `groups` a `count` of at least 1")]
    NoNodes { site: String },
    /// Nodes without data drives.
    #[error("group \"{group}\" has no data drives: give it a list of `drives`")]
    NoDrives { group: String },
    /// The engine refuses to start: nothing divides both ways.
    #[error(
        "no erasure set of 2 to 16 drives spreads evenly over {nodes} nodes × {drives_per_node} drives of group \
         \"{group}\": use {near} nodes, or state `set_drives`"
    )]
    NoSymmetricSet {
        group: String,
        nodes: u32,
        drives_per_node: u32,
        /// The nearest counts of nodes that work.
        near: String,
    },
    /// A stated size of a set does not divide the drives.
    #[error(
        "sets of {set_drives} drives do not fit {nodes} nodes × {drives_per_node} drives of group \"{group}\": \
         `set_drives` can be {known}"
    )]
    StatedSet { set_drives: u32, group: String, nodes: u32, drives_per_node: u32, known: String },
    /// More than half of a set for parity.
    #[error(
        "parity {parity} is more than half of a set of {set_drives} drives in group \"{group}\": give at most {}",
        set_drives / 2
    )]
    Parity {
        /// As stated, or as the first pool has it.
        parity: u32,
        /// Drives of a set.
        set_drives: u32,
        group: String,
    },
    /// A protection that the engine does not have.
    #[error("{product} does not support this protection: {fix}")]
    Protection { product: &'static str, fix: &'static str },
    /// No shard or copy of data at all.
    #[error("a protection with {data} data shards stores nothing: give at least 1")]
    NoData { data: u32 },
    /// Each shard or copy has a node of its own, and there are not enough.
    #[error("{shards} shards or copies on separate nodes need {shards} nodes, but the site has {nodes}")]
    TooFewNodes {
        /// Shards or copies of an object.
        shards: u32,
        /// Nodes of the site.
        nodes: u32,
    },
}
