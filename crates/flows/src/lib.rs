//! Flows of bytes from one machine to another, over TCP: who may send, when, how much, and what both ends counted.
//!
//! A listener takes no byte of a flow that does not prove the run's token ([`preface`]), and ends one that does not in
//! time. Nothing is sent before the other end has proved the same. Every loop here ends at an instant.

mod counted;
mod edges;
pub mod listener;
pub mod point;
pub mod preface;
mod receiving;
mod sending;

pub use counted::{ReceivedFlows, SentFlows};
pub use listener::{AcceptedFlow, FlowListener};
pub use point::{ExpectedFlows, FlowPlan, FlowsError, FlowsTo, PointCounts, ReadyPoint};
pub use preface::FlowToken;
