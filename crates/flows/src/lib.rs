//! Flows from one machine to another: who may send, when, how much, and what both ends counted. Over TCP they are bytes
//! one way, requests with their answers, or connections that are made and closed; over UDP datagrams, for each flow of
//! which a stream of TCP stands, on which both ends proved the token and were told where datagrams are taken.
//!
//! A listener takes no byte of a flow that does not prove the run's token ([`flow_handshake`]), and ends one that does
//! not in time. Nothing is sent before the other end has proved the same. Every loop here ends at an instant.

mod connector;
mod counts;
mod datagram;
mod edge_poll;
pub mod flow_handshake;
pub mod listener;
mod path_mtu;
mod path_mtu_search;
mod path_prober;
mod plan;
pub mod point;
mod rendezvous;
mod request_client;
mod request_server;
mod segmentation_offload;
pub mod session_handshake;
mod stream_receiver;
mod stream_sender;
#[cfg(test)]
mod test_ends;
mod udp_receiver;
mod udp_sender;
mod used_names;

pub use counts::{ReceivedFlows, SentFlows};
pub use flow_handshake::FlowToken;
pub use listener::{AcceptedFlow, FlowListener};
pub use plan::{ExpectedFlows, FlowEnds, FlowPlan, FlowSource, FlowsError, FlowsTo};
pub use point::{PointCounts, ReadyPoint};
