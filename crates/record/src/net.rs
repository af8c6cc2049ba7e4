//! What links between machines do: the file that `linerate net` writes, a visit at a time.
//!
//! A *pair* is one machine that sends and one that receives. In a *round*, pairs are measured at the same time, and
//! each machine sends to one other at the most and receives from one at the most. A *visit* is one round with one
//! number of streams, once.

mod members;
mod offloads;
mod pair_classes;
mod probes;
mod queues;

use serde::{Deserialize, Serialize};

pub use offloads::{NetBursts, NetGso, NetOffloads, NetZeroCopy};
pub use pair_classes::{
    NET_OVERLAY_BYTES_MAX, NetClass, NetClassComparison, NetClassError, NetLocation, NetRoute, NetSpace,
};
pub use probes::{
    NET_PACKET_BYTES, NET_PROBE_TRIES, NET_PROBE_TRIES_AT_END, NET_PROBES_MAX, NetIcmpReply, NetProbeSize, NetProbed,
    check_probed,
};

pub use queues::{NET_QUEUES_MAX, NetQueue, check_queues};

use crate::histogram::{EncodedHistogram, add_encoded, empty};
use crate::machine::Machine;
use crate::plan::Spread;
use crate::plausibility::COUNT_MAX;
use crate::readings::ReadValue;

pub use members::{
    NET_HALVED_ROUNDS_MAX, NET_MEMBERS_MAX, NetHalved, NetMember, NetMemberState, NetNoPrediction, NetPredictedMembers,
    NetStray, check_members,
};

/// The version of [`NetRun`] and [`NetVisit`] as JSON.
pub const NET_SCHEMA: u32 = 2;

/// The oldest version that is read: in schema 1, all streams send as much as they can.
pub const NET_SCHEMA_LEAST: u32 = 1;

/// Most machines of a run.
pub const NET_NODES_MAX: usize = 1_024;

/// Most streams of a pair.
pub const NET_STREAMS_MAX: u32 = 256;

/// Longest time that a visit counts, and that flows go before that, in milliseconds.
pub const NET_DURATION_MS_MAX: u64 = 3_600_000;

/// Most bonds of a site of which a model says something: both planes and directions of its groups of nodes.
const NET_BONDS_BY_MODEL_MAX: usize = 256;

/// Most intervals of a visit.
pub const NET_INTERVALS_MAX: u64 = 1_000;

/// A thread counts for so much longer than a visit lasts, at the most, in milliseconds: it was too busy to stop.
const LATE_MS_MAX: u64 = 60_000;

/// What was measured, of whom: `net.json` in the folder of a run. Its visits are the lines of `visits.jsonl`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct NetRun {
    /// [`NET_SCHEMA`].
    pub schema: u32,
    /// The version of linerate.
    pub linerate: String,
    /// When it began, in milliseconds since 1970.
    pub began_unix_ms: i64,
    /// The command line, without values of flags that are secret.
    pub command: Vec<String>,
    /// Seed of the order of rounds and streams.
    pub seed: u64,
    pub load: NetLoad,
    /// Visits that were to be made; absent in folders of older versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[serde(rename = "asked_visits")]
    pub requested_visits: Option<u32>,
    /// The machines, which visits know by their places here.
    pub nodes: Vec<NetNode>,
    /// Classes of pairs that are to be held against each other; absent where nobody asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub against: Option<NetClassComparison>,
    /// The speed of a rack's node ports by that of its uplinks, as a site file states it; absent where none was given,
    /// or it does not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stated_oversubscription: Option<f64>,
    /// What S3 traffic of a site gets of the bonds of its nodes, by the model; empty where no site was given, or it has
    /// none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub bonds_by_model: Vec<Spread>,
    /// Remarks on the whole, in sentences.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub remarks: Vec<String>,
}

/// Which way the flows of a round go.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum NetWay {
    /// Each machine sends to one and receives from another at the same time.
    Ring,
    /// Each machine either sends to one or receives from one.
    OneWay,
    /// Two machines send to each other at the same time.
    BothWays,
    /// All others send to one machine.
    Incast,
    /// Half of the racks and the other half send to each other, and then machines within their racks.
    Bisection,
}

/// Most rounds of a bisection.
pub const NET_BISECTION_ROUNDS_MAX: u32 = 2_046;

impl NetWay {
    /// Rounds in which so many machines measure all pairs; of a bisection, which measures some, the most that it has.
    #[must_use]
    pub const fn rounds(self, nodes: u32) -> u32 {
        // With an odd number, one machine rests in each.
        let matchings = if nodes.is_multiple_of(2) { nodes.saturating_sub(1) } else { nodes };
        match self {
            NetWay::Ring => nodes.saturating_sub(1),
            NetWay::OneWay => 2 * matchings,
            NetWay::BothWays => matchings,
            NetWay::Incast => nodes,
            NetWay::Bisection => NET_BISECTION_ROUNDS_MAX,
        }
    }
}

/// What each stream of a pair does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum NetOp {
    /// It sends as much as it can over TCP.
    #[default]
    Stream,
    /// It sends a request and waits for its answer, over TCP, again and again.
    Request {
        /// Length of a request.
        request_bytes: u32,
        /// Length of an answer.
        answer_bytes: u32,
    },
    /// It connects over TCP, proves the run's token and closes, again and again.
    Connect,
    /// It sends datagrams over UDP at the rate that was asked for.
    Udp {
        /// Payload of a datagram.
        datagram_bytes: u32,
    },
    /// It searches how long packets may be that nobody may fragment, by datagrams over UDP.
    Mtu,
}

/// Largest request, and largest answer.
pub const NET_REQUEST_BYTES_MAX: u32 = 16 << 20;

/// Least and most payload of a datagram: what it says of itself, and what UDP over IPv4 carries.
pub const NET_DATAGRAM_BYTES: core::ops::RangeInclusive<u32> = 32..=65_507;

impl NetOp {
    /// Its word on the command line.
    #[must_use]
    pub const fn key(self) -> &'static str {
        match self {
            NetOp::Stream => "stream",
            NetOp::Request { .. } => "request",
            NetOp::Connect => "connect",
            NetOp::Udp { .. } => "udp",
            NetOp::Mtu => "mtu",
        }
    }

    /// Whether a receiver counts bytes; else the sender counts what was answered.
    #[must_use]
    pub const fn is_of_bytes(self) -> bool {
        matches!(self, NetOp::Stream | NetOp::Udp { .. } | NetOp::Mtu)
    }

    /// Whether datagrams are sent.
    #[must_use]
    pub const fn is_of_datagrams(self) -> bool {
        matches!(self, NetOp::Udp { .. } | NetOp::Mtu)
    }

    /// Whether sizes are such as can be sent.
    #[must_use]
    pub fn is_sound(self) -> bool {
        match self {
            NetOp::Stream | NetOp::Connect | NetOp::Mtu => true,
            NetOp::Request { request_bytes, answer_bytes } => {
                [request_bytes, answer_bytes].iter().all(|bytes| (1..=NET_REQUEST_BYTES_MAX).contains(bytes))
            }
            NetOp::Udp { datagram_bytes } => NET_DATAGRAM_BYTES.contains(&datagram_bytes),
        }
    }
}

/// As serde asks for it.
fn is_stream(op: &NetOp) -> bool {
    *op == NetOp::Stream
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct NetLoad {
    /// What each stream does; absent where it sends as much as it can.
    #[serde(default, skip_serializing_if = "is_stream")]
    pub op: NetOp,
    /// Which way flows go in a round.
    pub way: NetWay,
    /// Streams of a pair, in turn.
    pub streams: Vec<u32>,
    /// Whether they were found by a search: two numbers in each of its steps, beside each other, of which the smaller
    /// one is the larger one of the step before.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_searched: bool,
    /// How long each visit counts, in milliseconds.
    pub duration_ms: u64,
    /// How long flows go before that, in milliseconds.
    pub warmup_ms: u64,
    /// Length of an interval, in milliseconds.
    pub interval_ms: u64,
    /// Visits of each pair with each number of streams; of a search, in each of its steps.
    pub visits: u32,
    /// Bytes that a sender gives the kernel at once.
    pub send_bytes: u32,
    /// Most bytes per second of a pair; absent where there is no limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_bytes_per_s: Option<f64>,
    /// What flows ask of kernels; absent where that is nothing.
    #[serde(default, skip_serializing_if = "NetOffloads::is_none")]
    pub offloads: NetOffloads,
    /// Rounds of which these are a sample; absent where all were measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sampled_of_rounds: Option<u32>,
    /// Members of bonds at which streams are aimed in turn, a visit each: the most that a machine has. Absent where
    /// source ports are not chosen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub members: Option<u32>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct NetNode {
    /// As the fleet's file names it, or its address.
    pub name: String,
    /// The address that others send to.
    pub address: String,
    /// The interface that has it; empty where that is not known.
    pub interface: String,
    pub machine: Machine,
    /// On which host it is, and in whose network; absent where nobody said so of any machine of the run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub place: Option<NetLocation>,
    /// The rack that it is in, as the fleet's file says; absent where it does not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rack: Option<String>,
}

/// One round with one number of streams, once.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct NetVisit {
    /// Counts visits, from 1.
    pub visit: u32,
    /// Which time the round was measured with this number of streams, from 1.
    pub repetition: u32,
    /// Which round, from 0.
    pub round: u32,
    /// Streams of each pair.
    pub streams: u32,
    /// The place of the member at which streams are aimed; of a bond with fewer, that place modulo their number. Absent
    /// where source ports are not chosen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub member: Option<u32>,
    /// By which way its flows come to receivers; absent where it is their own address.
    #[serde(default, skip_serializing_if = "NetRoute::is_direct")]
    pub through: NetRoute,
    /// When it began to count, in milliseconds since the run began.
    pub at_ms: u64,
    pub pairs: Vec<NetPair>,
    /// What the machines did meanwhile, those that take part.
    pub machines: Vec<NetMachine>,
}

/// One pair in a visit.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct NetPair {
    /// Who sends, by its place among the nodes.
    pub from: u32,
    pub to: u32,
    /// Bytes that the receiver got in each interval that counts, of all streams together.
    pub received_bytes: Vec<u64>,
    /// Bytes of each stream that the receiver got while it counts.
    pub stream_bytes: Vec<u64>,
    /// What the sender's kernel says of its streams.
    pub sent: NetSent,
    /// What was answered; absent where bytes are counted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exchanges: Option<NetExchanges>,
    /// What became of datagrams; absent where none were sent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub datagrams: Option<NetDatagrams>,
    /// Sends of these; absent where each was to be sent by itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gso: Option<NetBursts>,
    /// Reads that brought them; absent where each was to be read by itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gro: Option<NetBursts>,
    /// What became of sends without a copy; absent where nobody asked for them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub zerocopy: Option<NetZeroCopy>,
    /// By which members of the sender's bond its streams were to leave; absent where it sends by no bond.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub aim: Option<NetPredictedMembers>,
    /// Which of them left by others, where some did and were sent again to find that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub halved: Option<NetHalved>,
    /// What each stream found of its path; empty where paths are not probed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub probed: Vec<NetProbed>,
    /// Why there are no figures; absent where there are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

/// What the sender's kernel says of the streams of a pair, all of them together, from their begin to the end of the
/// visit. The warm-up is in it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct NetSent {
    /// Bytes acknowledged.
    pub acknowledged_bytes: u64,
    /// Segments sent with data, those sent again included.
    pub segments: u64,
    /// Segments sent again.
    pub retransmitted_segments: u64,
    /// Time in which there was something to send, over all streams, in microseconds.
    pub busy_us: u64,
    /// That part of it in which the receiver's window was the limit.
    pub window_limited_us: u64,
    /// That part of it in which the send buffer was.
    pub buffer_limited_us: u64,
    /// The median of the streams' smoothed round-trip times at the end, in microseconds.
    pub round_trip_us: u64,
    /// The median of the streams' least round-trip times, in microseconds; 0 where the kernel does not tell.
    pub least_round_trip_us: u64,
    /// The median of the streams' congestion windows at the end, in segments.
    pub congestion_window_segments: u64,
    /// The largest payload of a segment, in bytes.
    pub segment_bytes: u64,
}

/// Requests that were answered, or connections that were made, of all streams of a pair together. The sender counts.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct NetExchanges {
    /// Those that came to their end in each interval that counts.
    pub interval_counts: Vec<u64>,
    /// How long each of these took.
    pub times: EncodedHistogram,
}

/// Datagrams that were sent while it counts, of all streams of a pair together. Numbers count them on each stream.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct NetDatagrams {
    /// Sent, as the sender counts; what its own kernel dropped is among them.
    pub sent: u64,
    /// Received, each number once.
    pub received: u64,
    /// Numbers below the highest of their stream that did not come.
    pub missing: u64,
    /// Received after one with a higher number.
    pub reordered: u64,
    pub duplicates: u64,
    /// Dropped by the receiver's own sockets, whose buffers were full.
    pub socket_drops: u64,
    /// Jitter of arrivals at the end by RFC 3550, section 6.4.1, in nanoseconds: the median of the streams.
    pub jitter_ns: u64,
}

impl NetExchanges {
    /// What is wrong with it, in so many intervals.
    ///
    /// # Errors
    /// Why, in words for a person.
    pub fn check(&self, intervals: u64) -> Result<(), String> {
        if self.interval_counts.len() as u64 > intervals {
            return Err(format!("{} intervals of answers, of {intervals}", self.interval_counts.len()));
        }
        if let Some(count) = self.interval_counts.iter().find(|count| **count > COUNT_MAX) {
            return Err(format!("a count of {count}"));
        }
        let mut times = empty();
        add_encoded(&mut times, &self.times).map_err(|error| error.to_string())?;
        let counted: u64 = self.interval_counts.iter().sum();
        if times.len() == counted { Ok(()) } else { Err(format!("{} times of {counted} answers", times.len())) }
    }
}

impl NetDatagrams {
    /// What is wrong with what a receiver counts of datagrams: it does not know how many were sent.
    ///
    /// # Errors
    /// Why, in words for a person.
    pub fn check(&self) -> Result<(), String> {
        let counts = [self.sent, self.received, self.missing, self.duplicates, self.socket_drops, self.jitter_ns];
        if let Some(count) = counts.into_iter().find(|count| *count > COUNT_MAX) {
            return Err(format!("a count of {count}"));
        }
        if self.reordered > self.received {
            return Err(format!("{} datagrams out of order, of {}", self.reordered, self.received));
        }
        Ok(())
    }

    /// What is wrong where it is known how many were sent.
    ///
    /// # Errors
    /// Why, in words for a person.
    pub fn check_sent(&self) -> Result<(), String> {
        self.check()?;
        let numbered = self.received + self.missing;
        if numbered <= self.sent {
            return Ok(());
        }
        Err(format!("{} datagrams received and {} missing, of {} sent", self.received, self.missing, self.sent))
    }
}

/// What one machine did in a visit, while it counts.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct NetMachine {
    /// Its place among the nodes.
    pub node: u32,
    /// For how long, in milliseconds.
    pub over_ms: u64,
    /// Processor time of the threads that sent, in nanoseconds, of user and kernel.
    pub send_cpu_ns: u64,
    /// The same of the thread that was busiest.
    pub send_busiest_ns: u64,
    /// Processor time of the threads that received.
    pub receive_cpu_ns: u64,
    /// The same of the thread that was busiest.
    pub receive_busiest_ns: u64,
    /// What else was read of it: processors, interfaces, drops. Rates are over the time that counts.
    pub values: Vec<ReadValue>,
    /// What members of its bonds carried.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub members: Vec<NetMember>,
    /// Queues of its interfaces that dropped packets or held them back.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub queues: Vec<NetQueue>,
}

impl NetRun {
    /// Visits of all rounds.
    fn visits_max(&self) -> u64 {
        // A number of a search is of two steps.
        let steps = if self.load.is_searched { 2 } else { 1 };
        let each = u64::from(self.load.visits).saturating_mul(steps * self.load.streams.len() as u64);
        // A bond has no more members than that, whatever a file says.
        let members = u64::from(self.load.members.unwrap_or(1)).min(NET_MEMBERS_MAX as u64);
        self.rounds_max().saturating_mul(self.ways()).saturating_mul(each).saturating_mul(members)
    }

    /// Visits that can be of this run: a file may be somebody else's.
    ///
    /// # Errors
    /// What is wrong, quoted.
    pub fn checked(&self, visits: Vec<NetVisit>) -> Result<Vec<NetVisit>, String> {
        let nodes = self.nodes.len();
        if !(1..=NET_NODES_MAX).contains(&nodes) {
            return Err(format!("{nodes} machines are none that can have been measured"));
        }
        let load = &self.load;
        if load.duration_ms == 0 || load.interval_ms == 0 || load.streams.is_empty() {
            return Err("a load of no time or no streams".to_owned());
        }
        if load.duration_ms.max(load.warmup_ms) > NET_DURATION_MS_MAX {
            return Err(format!("{} ms after {} ms are longer than a visit", load.duration_ms, load.warmup_ms));
        }
        let intervals = load.duration_ms.div_ceil(load.interval_ms);
        if intervals > NET_INTERVALS_MAX {
            return Err(format!("{intervals} intervals are more than a visit has"));
        }
        let is_number_of_streams = |streams: &u32| (1..=NET_STREAMS_MAX).contains(streams);
        if load.streams.len() > NET_STREAMS_MAX as usize || !load.streams.iter().all(is_number_of_streams) {
            return Err(format!("streams other than 1 to {NET_STREAMS_MAX}"));
        }
        let visits_max = self.requested_visits.map_or(u64::MAX, u64::from).min(self.visits_max());
        if visits.len() as u64 > visits_max {
            return Err(format!("{} visits, of {visits_max}", visits.len()));
        }
        if load.max_bytes_per_s.is_some_and(|most| !(most.is_finite() && most > 0.0)) {
            return Err("a limit that is none".to_owned());
        }
        if self.stated_oversubscription.is_some_and(|stated| !(stated.is_finite() && stated > 0.0)) {
            return Err("an oversubscription that is none".to_owned());
        }
        let is_share = |share: f64| (0.0..=1.0).contains(&share);
        let is_spread = |of: &Spread| [of.share_p5, of.share_p50, of.share_p95].into_iter().all(is_share);
        if self.bonds_by_model.len() > NET_BONDS_BY_MODEL_MAX || !self.bonds_by_model.iter().all(is_spread) {
            return Err("shares of bonds by a model that can be none".to_owned());
        }
        if !load.op.is_sound() {
            return Err(format!("an op {} of sizes that cannot be sent", load.op.key()));
        }
        if let Some(bytes) =
            self.against.and_then(|requested| requested.overlay_bytes.filter(|of| *of > NET_OVERLAY_BYTES_MAX))
        {
            return Err(format!("{bytes} bytes of encapsulation are more than any has"));
        }
        visits.iter().try_for_each(|visit| {
            self.check(visit).map_err(|why| format!("visit {} cannot have been: {why}", visit.visit))
        })?;
        Ok(visits)
    }

    fn check(&self, visit: &NetVisit) -> Result<(), String> {
        let is_node = |node: u32| (node as usize) < self.nodes.len();
        if !self.load.streams.contains(&visit.streams) {
            return Err(format!("{} streams, which the run has not", visit.streams));
        }
        let intervals = self.load.duration_ms.div_ceil(self.load.interval_ms);
        for pair in &visit.pairs {
            if !is_node(pair.from) || !is_node(pair.to) || pair.from == pair.to {
                return Err(format!("a pair of {} and {}", pair.from, pair.to));
            }
            if pair.received_bytes.len() as u64 > intervals || pair.stream_bytes.len() > NET_STREAMS_MAX as usize {
                return Err(format!("{} intervals, of {intervals}", pair.received_bytes.len()));
            }
            let counts = pair.received_bytes.iter().chain(&pair.stream_bytes);
            if let Some(count) = counts.chain(&kernel_counts(&pair.sent)).find(|count| **count > COUNT_MAX) {
                return Err(format!("a count of {count}"));
            }
            pair.exchanges.as_ref().map_or(Ok(()), |exchanges| exchanges.check(intervals))?;
            pair.datagrams.as_ref().map_or(Ok(()), NetDatagrams::check_sent)?;
            pair.aim.as_ref().map_or(Ok(()), |aim| aim.check(visit.streams))?;
            pair.halved.as_ref().map_or(Ok(()), |halved| halved.check(visit.streams))?;
            check_probed(&pair.probed, self.load.op, visit.streams)?;
            offloads::check(pair)?;
        }
        for machine in &visit.machines {
            let times = [machine.over_ms, machine.send_cpu_ns, machine.receive_cpu_ns];
            let most_ns = 1_000_000 * (self.load.warmup_ms + self.load.duration_ms + LATE_MS_MAX);
            let is_much = times.iter().any(|time| *time > COUNT_MAX)
                || machine.send_busiest_ns.max(machine.receive_busiest_ns) > most_ns;
            let is_number = |value: &ReadValue| value.value.is_finite() && value.value.abs() <= 1e15;
            if !is_node(machine.node) || is_much || !machine.values.iter().all(is_number) {
                return Err(format!("what machine {} did", machine.node));
            }
            check_members(&machine.members)?;
            check_queues(&machine.queues)?;
        }
        Ok(())
    }
}

/// All counts of a sender's kernel.
#[must_use]
pub const fn kernel_counts(sent: &NetSent) -> [u64; 10] {
    [
        sent.acknowledged_bytes,
        sent.segments,
        sent.retransmitted_segments,
        sent.busy_us,
        sent.window_limited_us,
        sent.buffer_limited_us,
        sent.round_trip_us,
        sent.least_round_trip_us,
        sent.congestion_window_segments,
        sent.segment_bytes,
    ]
}

#[cfg(test)]
mod tests;
