//! What the TCP sockets of an engine did over a window, by whom they lead to.

use std::net::IpAddr;

use serde::{Deserialize, Serialize};

/// The sockets of one machine's engine.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SocketRead {
    /// Which machine, as series name it.
    pub machine: String,
    /// For how long they were looked at, in milliseconds.
    pub over_ms: u64,
    /// Looks, at equal intervals but for those that were stretched.
    pub looks: u32,
    /// The longest time between two looks, in milliseconds. A socket that opens and closes between two is not seen.
    pub interval_ms: u64,
    /// The most sockets that one look saw.
    pub sockets: u32,
    /// Processor time that all looks took, in microseconds.
    pub took_us: u64,
    /// By whom they lead to, those with the most bytes first.
    pub remotes: Vec<SocketRemote>,
}

/// Whose connections.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SocketGroup {
    /// Clients'.
    Client,
    /// Another node's of the same cluster, to this one.
    FromPeer,
    /// This node's, to another of the same cluster.
    ToPeer,
    /// An address of a node, and that node has no such connection: clients behind address translation.
    Translated,
}

/// Sockets that lead to one address, in one direction of who connected.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SocketRemote {
    /// The address.
    pub address: IpAddr,
    /// Whose connections these are.
    pub group: SocketGroup,
    /// The machine with that address, as series name it; absent where none that was read has it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub machine: Option<String>,
    /// Sockets that were seen.
    pub sockets: u32,
    /// Bytes that this side sent and the other acknowledged.
    pub sent_bytes: u64,
    /// Bytes that this side received.
    pub received_bytes: u64,
    /// Segments that this side sent with data, those sent again included.
    pub sent_segments: u64,
    /// Those of them that were sent again.
    pub retransmitted_segments: u64,
    /// Time in which a socket had data under way or waiting to be sent, over all sockets, in microseconds.
    pub busy_us: u64,
    /// That part of it in which the receiver's window was what limited it.
    pub window_limited_us: u64,
    /// That part of it in which this side's send buffer was.
    pub buffer_limited_us: u64,
    /// Time for which sockets were there, over all of them, in microseconds: what is not busy of it had nothing to
    /// send.
    pub open_us: u64,
    /// The median of smoothed round-trip times of those that sent, in microseconds.
    pub round_trip_us: u64,
    /// The median of delivery rates of those that sent, in bytes per second.
    pub delivery_bytes_per_s: u64,
}
