//! How an engine cuts an object into shards, and where these go.

/// How an object lies on drives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Geometry {
    /// Shards (or copies) of an object: n.
    pub shards: u32,
    /// Shards that an object is read from: k.
    pub data: u32,
    /// Shards that can be lost: n − k.
    pub parity: u32,
    /// How many sets of drives there are; 1 where objects are scattered.
    pub sets: u32,
    /// How shards find their drives.
    pub kind: GeometryKind,
}

/// How shards find their drives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GeometryKind {
    /// A set of drives holds all shards of an object.
    Sets,
    /// Drives are chosen anew for each object.
    Scattered,
    /// Whole copies.
    Replicas,
}
