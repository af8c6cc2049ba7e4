//! What classes of pairs give, and one of them against another.

use linerate_record::net::{NetClass, NetClassComparison};
use serde::{Deserialize, Serialize};

use super::NetInterval;

/// All pairs of one class with one number of streams.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct NetClassFigures {
    pub class: NetClass,
    /// Streams of each pair.
    pub streams: u32,
    pub pairs: u32,
    pub failed: u32,
    /// Measurements of its pairs with figures.
    #[serde(default)]
    pub visits: u32,
    #[serde(default)]
    pub failed_visits: u32,
    /// Why some have none in a visit, each reason once, the first of them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub reasons: Vec<String>,
    /// The mean of its pairs, of as many pairs and repetitions as have figures without a gap; its interval is by what
    /// repetitions differ. Absent where no pair has figures.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub per_s: Option<NetInterval>,
    /// The least round-trip time of the median pair, in microseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub least_round_trip_us: Option<f64>,
    /// Processor seconds of the sender's threads for each GiB, of the median pair.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sender_cpu_s_per_gib: Option<f64>,
    /// The same of the receiver's threads.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub receiver_cpu_s_per_gib: Option<f64>,
    /// Its rate by that of pairs between the same hosts themselves, on one host or on two as these are; absent of
    /// those, and where no two hosts have pairs of both.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to_host: Option<NetRatio>,
    /// How many pairs of hosts that is over; absent where it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to_host_over: Option<u32>,
}

/// A rate by another one.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct NetRatio {
    /// The geometric mean of the repetitions' ratios, with the ends of its own 95 % interval.
    pub ratio: NetInterval,
    /// What can be said of it beside all others that are compared.
    pub verdict: NetRatioVerdict,
    /// Repetitions that both have.
    pub repetitions: u32,
}

/// Whether a ratio differs from 1 beyond chance, counted over all ratios that it stands beside.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum NetRatioVerdict {
    Less,
    More,
    /// It may be either.
    Untold,
}

/// One class of pairs against another, with one number of streams. Of two values, the first is of the class that is
/// judged, the second of the one that it is held against.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct NetAgainst {
    #[serde(rename = "asked")]
    pub requested: NetClassComparison,
    /// Streams of each pair.
    pub streams: u32,
    /// The geometric mean of the ratios of all pairs of hosts that both have; absent where there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ratio: Option<NetRatio>,
    /// What it costs, over all of them.
    pub costs: NetCosts,
    /// Each pair of hosts.
    pub pairs: Vec<NetAgainstPair>,
    /// It in a sentence.
    pub said: String,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct NetAgainstPair {
    /// The host that sends.
    pub from: String,
    /// The host that receives.
    pub to: String,
    /// Mean rates of the pairs on them.
    pub per_s: [f64; 2],
    /// The first by the second.
    pub ratio: NetRatio,
    pub costs: NetCosts,
}

/// What the bytes of two rates cost: on the wire, and on processors of both sides.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct NetCosts {
    /// Payload of a segment, as the senders' kernels say.
    pub segment_bytes: [Option<u32>; 2],
    /// Bytes by which packets are encapsulated: as was said, or as segments differ. Absent where neither tells.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub overlay_bytes: Option<[u32; 2]>,
    /// Payload as a share of what is on the wire, of the first by the second: the ratio of rates on a full link.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub framing_ratio: Option<f64>,
    /// The ratio of rates by that: what framing does not explain.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rest_ratio: Option<f64>,
    /// Processor seconds of the sender's threads for each GiB.
    pub sender_cpu_s_per_gib: [Option<f64>; 2],
    /// Those of the receiver's threads.
    pub receiver_cpu_s_per_gib: [Option<f64>; 2],
    /// Seconds in which a core of the sender's host was busy, for each GiB, whatever it did: work in interrupts is in
    /// it, and that of others too.
    pub sender_busy_s_per_gib: [Option<f64>; 2],
    /// The same of the receiver's host.
    pub receiver_busy_s_per_gib: [Option<f64>; 2],
}

impl NetRatioVerdict {
    /// Its word in JSON.
    #[must_use]
    pub const fn key(self) -> &'static str {
        match self {
            NetRatioVerdict::Less => "less",
            NetRatioVerdict::More => "more",
            NetRatioVerdict::Untold => "untold",
        }
    }
}
