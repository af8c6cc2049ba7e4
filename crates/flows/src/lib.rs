//! Flows from one machine to another: who may send, when, how much, and what both ends counted. Over TCP they are bytes
//! one way, requests with their answers, or connections that are made and closed; over UDP datagrams, for each flow of
//! which a stream of TCP stands, on which both ends proved the token and were told where datagrams are taken.
//!
//! A listener takes no byte of a flow that does not prove the run's token ([`preface`]), and ends one that does not in
//! time. Nothing is sent before the other end has proved the same. Every loop here ends at an instant.

mod answering;
mod arriving;
mod asking;
mod bursts;
mod connecting;
mod counted;
mod datagram;
mod edges;
pub mod listener;
mod meeting;
mod names;
mod pacing;
mod path;
mod plan;
pub mod point;
pub mod preface;
mod probing;
mod receiving;
mod sending;
pub mod session;
mod sizes;
#[cfg(test)]
mod test_ends;

pub use counted::{ReceivedFlows, SentFlows};
pub use listener::{AcceptedFlow, FlowListener};
pub use plan::{ExpectedFlows, FlowEnds, FlowPlan, FlowSource, FlowsError, FlowsTo};
pub use point::{PointCounts, ReadyPoint};
pub use preface::FlowToken;
