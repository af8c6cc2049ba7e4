//! What is to be done on one machine at one point of a run, and why nothing of it may be measured.

use std::net::{IpAddr, SocketAddr};

use linerate_record::net::{NetOffloads, NetOp};
use linerate_wire::threads::ThreadsError;

/// Flows to one receiver.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FlowsTo {
    /// Its number in the run.
    pub to: u32,
    pub address: SocketAddr,
    pub streams: u32,
    /// Where they come from; the kernel chooses where it is not said.
    pub source: Option<FlowSource>,
}

/// Where flows come from: an address of this machine, and ports of which each flow has the next one that is free.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FlowSource {
    pub address: IpAddr,
    /// The ports; those that are not free are passed over.
    pub ports: Vec<u16>,
}

/// Both ends of a flow, as its packets name them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FlowEnds {
    pub source: SocketAddr,
    pub destination: SocketAddr,
}

/// Flows of one sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ExpectedFlows {
    /// Its number in the run.
    pub from: u32,
    pub streams: u32,
}

/// What is to be done.
#[derive(Clone, Debug, PartialEq)]
pub struct FlowPlan {
    /// Counts points of the run.
    pub point: u32,
    /// What each flow does.
    pub op: NetOp,
    /// This machine's number in the run.
    pub own: u32,
    /// Whom to send to.
    pub sends: Vec<FlowsTo>,
    /// Who sends to this one.
    pub receives: Vec<ExpectedFlows>,
    /// How long flows go before they count, in nanoseconds.
    pub warmup_ns: u64,
    /// How long they count.
    pub duration_ns: u64,
    /// Length of an interval.
    pub interval_ns: u64,
    /// Given to the kernel at once, at the most.
    pub send_bytes: u32,
    /// Most bytes per second to one receiver, over all flows to it.
    pub max_bytes_per_s: Option<f64>,
    /// What flows ask of kernels.
    pub offloads: NetOffloads,
    /// Threads that send, and threads that receive, at the most.
    pub threads: u32,
}

impl FlowPlan {
    /// Most bytes per second of each of so many streams to one receiver: both ends have to come to the same.
    pub(crate) fn stream_bytes_per_s(&self, streams: u32) -> Option<f64> {
        self.max_bytes_per_s.map(|most| most / f64::from(streams.max(1)))
    }
}

/// Why nothing of a point was measured.
#[derive(Debug, thiserror::Error)]
pub enum FlowsError {
    /// A thread could not be started, or panicked.
    #[error(transparent)]
    Threads(#[from] ThreadsError),
    /// Who hands on flows is gone.
    #[error("nothing listens for flows any more")]
    Deaf,
    /// It was told to end.
    #[error("it was told to end")]
    Stopped,
    /// The system has no random bytes.
    #[error("no random bytes: {0}")]
    Random(rustix::io::Errno),
}
