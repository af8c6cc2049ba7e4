//! Targets that need no cluster. Each is a server for a process of its own, so that its processor time is told apart
//! from the load's.

pub mod embedded;
pub mod null;
