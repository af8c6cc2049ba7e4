//! What limited pairs.

use linerate_record::finding::Confidence;
use serde::{Deserialize, Serialize};

/// What limits a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum NetLimitedBy {
    /// The port of the sender or of the receiver, or the slower of both.
    Link,
    /// One member of a bond.
    BondMember,
    /// The rate that was asked for.
    #[serde(rename = "asked-rate")]
    RequestedRate,
    /// A processor of the sender.
    SenderProcessor,
    /// A processor of the receiver.
    ReceiverProcessor,
    ReceiveWindow,
    SendBuffer,
    /// Segments that were lost.
    Losses,
    /// None of these: the network between both, or congestion control.
    Network,
    /// What each stream waits for: one request, or one connection, at a time.
    RoundTrip,
    /// The receive buffer of sockets for datagrams, which are not read soon enough.
    SocketBuffer,
}

impl NetLimitedBy {
    /// What it is called in a sentence.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            NetLimitedBy::Link => "the link",
            NetLimitedBy::BondMember => "one member of a bond",
            NetLimitedBy::RequestedRate => "the rate that was asked for",
            NetLimitedBy::SenderProcessor => "the sender's processor",
            NetLimitedBy::ReceiverProcessor => "the receiver's processor",
            NetLimitedBy::ReceiveWindow => "the receiver's window",
            NetLimitedBy::SendBuffer => "the send buffer",
            NetLimitedBy::Losses => "losses",
            NetLimitedBy::Network => "the network or congestion control",
            NetLimitedBy::RoundTrip => "the time of each round trip",
            NetLimitedBy::SocketBuffer => "the receiver's socket buffer",
        }
    }

    /// Its word in JSON and CSV.
    #[must_use]
    pub const fn key(self) -> &'static str {
        match self {
            NetLimitedBy::Link => "link",
            NetLimitedBy::BondMember => "bond-member",
            NetLimitedBy::RequestedRate => "asked-rate",
            NetLimitedBy::SenderProcessor => "sender-processor",
            NetLimitedBy::ReceiverProcessor => "receiver-processor",
            NetLimitedBy::ReceiveWindow => "receive-window",
            NetLimitedBy::SendBuffer => "send-buffer",
            NetLimitedBy::Losses => "losses",
            NetLimitedBy::Network => "network",
            NetLimitedBy::RoundTrip => "round-trip",
            NetLimitedBy::SocketBuffer => "socket-buffer",
        }
    }

    pub const ALL: [NetLimitedBy; 11] = [
        NetLimitedBy::Link,
        NetLimitedBy::BondMember,
        NetLimitedBy::RequestedRate,
        NetLimitedBy::SenderProcessor,
        NetLimitedBy::ReceiverProcessor,
        NetLimitedBy::ReceiveWindow,
        NetLimitedBy::SendBuffer,
        NetLimitedBy::Losses,
        NetLimitedBy::Network,
        NetLimitedBy::RoundTrip,
        NetLimitedBy::SocketBuffer,
    ];
}

/// What limited a pair.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct NetLimit {
    pub by: NetLimitedBy,
    /// How sure that is.
    pub confidence: Confidence,
    /// The readings behind it.
    pub evidence: String,
    /// The knob or the part to look at.
    pub look_at: String,
}

/// How many pairs one thing limited.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct NetLimitCount {
    pub by: NetLimitedBy,
    pub pairs: u32,
    /// The readings of the median one of them.
    pub evidence: String,
    /// The knob or the part to look at.
    pub look_at: String,
}
