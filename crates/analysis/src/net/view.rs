//! What a measurement of links says: every figure that a report shows. Members of bonds: `view/members.rs`, what limits
//! pairs: `view/limits.rs`.

mod bisection;
mod classes;
mod limits;
mod members;
mod offloads;
mod path;

use linerate_record::finding::{Confidence, Severity};
use linerate_record::net::{NetClass, NetLoad, NetOp};
use linerate_record::units::{bits_per_s, grouped};
use serde::{Deserialize, Serialize};

pub use bisection::{NetBisection, NetBisectionOutcome, NetRackFigures, NetRackSide, NetSplitFigures};
pub use classes::{NetAgainst, NetAgainstPair, NetClassFigures, NetCosts, NetRatio, NetRatioVerdict};
pub use limits::{NetLimit, NetLimitCount, NetLimitedBy};
pub use members::{
    NetArrival, NetArrives, NetBondByModel, NetLeaves, NetMemberReceives, NetMemberSends, NetPairMembers,
};
pub use offloads::NetOffloadFigures;
pub use path::{NetPathFigures, NetPathVerdict};

/// The version of [`NetView`] as JSON.
pub const NET_VIEW_SCHEMA: u32 = 2;

/// The whole answer. Machines are named by their places among `nodes`. Rates are of what the load counts: bytes per
/// second that a receiver got, or requests and connections per second that a sender came to the end of.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct NetView {
    /// [`NET_VIEW_SCHEMA`].
    pub schema: u32,
    /// The version of linerate that measured.
    pub linerate: String,
    /// When it began, in milliseconds since 1970.
    pub began_unix_ms: i64,
    pub command: Vec<String>,
    /// Seed of the order of rounds and streams.
    pub seed: u64,
    pub load: NetLoad,
    /// Visits that were made.
    pub visits: u32,
    /// The whole in a sentence or two.
    pub answer: String,
    /// What whoever reads the answer has to know first.
    pub warnings: Vec<String>,
    /// Remarks on the whole, in sentences.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub remarks: Vec<String>,
    /// Claims with what to do about them, the most severe first.
    pub findings: Vec<NetFinding>,
    /// The number of streams with which machines and pairs are compared: that with which the median pair is fastest;
    /// absent where nothing was measured.
    pub compared_streams: Option<u32>,
    pub nodes: Vec<NetNodeFigures>,
    /// All pairs together, for each number of streams.
    pub streams: Vec<NetStreamsFigures>,
    /// From which number of streams on more give no more, over all pairs.
    pub enough: NetSaturation,
    /// The same of each pair; empty where one number of streams was measured.
    pub enough_of_pairs: Vec<NetPairSaturation>,
    /// Why a search for the number of streams went no further; absent where numbers were given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub search_ended: Option<NetSearchEnd>,
    /// What limited how many pairs with the number of streams that is compared, the most frequent first.
    pub limits: Vec<NetLimitCount>,
    /// Machines and pairs that are slow beyond chance.
    pub slow: NetSlow,
    /// Each pair with each number of streams, by sender, receiver and streams.
    pub pairs: Vec<NetPairFigures>,
    /// Members of bonds at both ends of each pair that has one, in the same order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub members: Vec<NetPairMembers>,
    /// What S3 traffic of a site gets of the bonds of its nodes; empty where no site was given, or it has none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub bonds_by_model: Vec<NetBondByModel>,
    /// Classes of pairs, with each number of streams; empty where it is not known where machines are.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub classes: Vec<NetClassFigures>,
    /// Classes against each other, with each number of streams; empty where nobody asked.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub against: Vec<NetAgainst>,
    /// What racks carry at once, with each number of streams; empty where that was not measured.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub bisection: Vec<NetBisection>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct NetNodeFigures {
    pub name: String,
    /// The address that others send to.
    pub address: String,
    /// The interface that has it; empty where that is not known.
    pub interface: String,
    /// The rack that it is in; absent where that is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rack: Option<String>,
    /// What the interface negotiated, in bits per second; absent where it states none, or one that means nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub speed_bits_per_s: Option<u64>,
    /// Its MTU in bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mtu_bytes: Option<u32>,
    /// Pairs in which it sends and pairs in which it receives, with the number of streams that is compared.
    pub sends_to: u32,
    pub receives_from: u32,
    /// The median rate of those in which it sends.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sent_per_s: Option<f64>,
    /// The median of those in which it receives.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub received_per_s: Option<f64>,
    /// How much more it sends than the median machine to the same receivers, as a share of that; absent with too few
    /// pairs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sends_share: Option<f64>,
    /// How much more it receives than the median machine from the same senders.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub receives_share: Option<f64>,
    /// Pairs with this machine in all visits, and those of them without figures.
    pub tries: u32,
    pub failed: u32,
}

/// A mean with the ends of its 95 % interval.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct NetInterval {
    pub mean: f64,
    /// The ends of the interval; absent where there is too little to say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub low: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub high: Option<f64>,
}

/// One pair with one number of streams, over all of its visits.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct NetPairFigures {
    pub from: u32,
    pub to: u32,
    pub streams: u32,
    /// Its class; absent where it is not known where machines are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub class: Option<NetClass>,
    pub visits: u32,
    #[serde(default, skip_serializing_if = "is_zero")]
    pub failed: u32,
    /// Why, each reason once.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub reasons: Vec<String>,
    /// Its rate. Absent where no visit counts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub per_s: Option<NetInterval>,
    /// The fastest visit less the slowest, as a share of the mean; absent with a single one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub visits_spread_share: Option<f64>,
    /// Share of segments that were sent again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retransmitted_share: Option<f64>,
    /// The smoothed round-trip time under this load, in microseconds: the median of the visits'.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub round_trip_us: Option<f64>,
    /// The least round-trip time, in microseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub least_round_trip_us: Option<f64>,
    /// The congestion window of a stream at the end, in bytes: the mean of the visits'. Absent where it is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub congestion_window_bytes: Option<f64>,
    /// Jain's index of how fairly streams shared what they got: 1 where all got the same, 1 / streams where one got
    /// all. Absent with one stream.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fairness: Option<f64>,
    /// Processor seconds of the sender's threads for each GiB that it sent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sender_cpu_s_per_gib: Option<f64>,
    /// Processor seconds of the receiver's threads for each GiB that it received.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub receiver_cpu_s_per_gib: Option<f64>,
    /// Payload of a segment, as the sender's kernel says: the median of the visits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub segment_bytes: Option<u32>,
    /// Seconds in which a core of the sender's machine was busy for each GiB that it sent, whatever it did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sender_busy_s_per_gib: Option<f64>,
    /// The same of the receiver's machine, for each GiB that it received.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub receiver_busy_s_per_gib: Option<f64>,
    /// Share of the time that the sender's busiest thread ran.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sender_busiest_share: Option<f64>,
    /// Share of the time that the receiver's busiest thread ran.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub receiver_busiest_share: Option<f64>,
    /// Share of the time in which streams had something to send.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub busy_share: Option<f64>,
    /// Share of that in which the receiver's window was the limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub window_share: Option<f64>,
    /// Share of that in which the send buffer was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub buffer_share: Option<f64>,
    /// What full packets of this goodput take of the fuller of the two ports, framing included, as a share of its
    /// speed: with all that the port carried at the time. Absent where no speed is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub link_share: Option<f64>,
    /// How long requests took, or connections; absent where bytes are counted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub times: Option<NetTimes>,
    /// What became of datagrams; absent where none were sent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub datagrams: Option<NetDatagramFigures>,
    /// What kernels took off the program's hands; absent where nothing was asked of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub offloads: Option<NetOffloadFigures>,
    /// How long its packets may be; absent where that was not probed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<NetPathFigures>,
    /// What limited it; absent where no visit counts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<NetLimit>,
}

/// How long requests or connections took over all visits, in microseconds, as a histogram of two digits tells.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct NetTimes {
    /// How many there are.
    pub count: u64,
    pub p50_us: f64,
    /// The 90th percentile.
    pub p90_us: f64,
    /// The 99th.
    pub p99_us: f64,
    /// The 99.9th.
    pub p999_us: f64,
    pub max_us: f64,
}

/// What became of the datagrams of a pair over all visits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct NetDatagramFigures {
    pub sent: u64,
    /// Sent, in bytes per second of payload.
    pub sent_per_s: f64,
    /// Share of those sent that did not come, for whatever reason.
    pub lost_share: f64,
    /// Share of those sent that the receiver's own sockets dropped.
    pub socket_drops_share: f64,
    /// Share of those sent that came after one with a higher number.
    pub reordered_share: f64,
    /// Share of those sent that came once more.
    pub duplicated_share: f64,
    /// Jitter of arrivals by RFC 3550, in microseconds: the median of the visits.
    pub jitter_us: f64,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it so")]
const fn is_zero(count: &u32) -> bool {
    *count == 0
}

/// All pairs together with one number of streams.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct NetStreamsFigures {
    /// Streams of each pair.
    pub streams: u32,
    pub pairs: u32,
    /// The mean of the pairs' rates; its interval is by what repetitions differ, of a single
    /// one by the pairs' own.
    pub per_s: NetInterval,
    pub slowest_per_s: f64,
    pub median_per_s: f64,
    pub fastest_per_s: f64,
}

/// How it came out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum NetSaturationOutcome {
    /// From some number on, more streams give no more.
    Found,
    /// The largest number gives more than the others.
    StillRising,
    /// The intervals are too wide to say.
    Untold,
    /// One number of streams was measured, or nothing.
    #[default]
    Single,
}

/// From which number of streams on more give no more than a tenth more.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct NetSaturation {
    /// How it came out.
    pub outcome: NetSaturationOutcome,
    /// That number, where one was found.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub streams: Option<u32>,
    /// The least number that may be enough too: below it, more are shown to give more.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub perhaps_from: Option<u32>,
}

/// Why a search for the number of streams went no further.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum NetSearchEnd {
    /// Neither of its last two steps, nor both together, show that more streams give more.
    NoMore,
    /// The same, and the median pair had what the run allows to each: more streams might give more without that.
    MaxRate,
    /// No pair may have more streams.
    MostStreams,
    /// With its largest number no pair had figures.
    NoFigures,
    /// The run was cut short.
    CutShort,
}

/// The same of one pair.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct NetPairSaturation {
    pub from: u32,
    pub to: u32,
    /// From which number on.
    pub enough: NetSaturation,
}

/// On which side a machine is slow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum NetSide {
    Sends,
    Receives,
    Both,
}

/// Machines and pairs that are slow beyond chance.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct NetSlow {
    /// Machines on each side, and pairs, of which one could have been called.
    pub comparisons: u32,
    /// Share of healthy fleets in which anything is called slow, at the most.
    pub false_alarm_share: f64,
    /// By how much one must be slower to be called, as a share.
    pub least_share: f64,
    /// What pairs scatter by, as a share, once what is their machines' is taken off; absent where nothing is compared.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scatter_share: Option<f64>,
    /// Why nothing, or not all, was compared; empty where all was.
    pub lacking: String,
    /// Slow machines, the slowest first.
    pub nodes: Vec<NetSlowNode>,
    /// Slow pairs, the slowest first, of which the machines alone are not the reason.
    pub pairs: Vec<NetSlowPair>,
}

/// A machine that is slow.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct NetSlowNode {
    pub node: u32,
    /// What it does slowly.
    pub side: NetSide,
    /// How much less than the median machine, as a share: 0.5 is half. Of both sides the slower one.
    pub less_share: f64,
    /// The same in standard errors.
    pub sigmas: f64,
    /// The chance of that in a healthy fleet, over all comparisons.
    pub chance: f64,
    /// The median rate of its pairs on that side, and the median of the machines'.
    pub per_s: f64,
    pub others_per_s: f64,
}

/// A pair that is slow.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct NetSlowPair {
    pub from: u32,
    pub to: u32,
    /// How much less than its two machines give with others, as a share; of two machines alone, than the other way.
    pub less_share: f64,
    /// The same in standard errors.
    pub sigmas: f64,
    /// The chance of that in a healthy fleet, over all comparisons.
    pub chance: f64,
    /// Its rate, and what its two machines give with others; of two machines alone, what the other way gives.
    pub per_s: f64,
    pub expected_per_s: f64,
}

/// What a finding is about: a script can match on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum NetFindingKind {
    /// Pairs have no figures in some visits.
    VisitsFailed,
    /// A machine is slow.
    SlowNode,
    /// Machines of a rack are slow with those of others, and not with each other.
    SlowRack,
    /// A pair is slow.
    SlowPair,
    /// A whole visit was slower than the others of its pairs.
    SlowVisit,
    /// What limits most pairs is no part of the network.
    LimitedByMachines,
    /// Segments are lost.
    Losses,
    /// Many that send to one at once lose packets at the port to it.
    Incast,
    /// Interfaces differ in speed or MTU.
    UnevenPorts,
    /// Streams of a pair share unevenly.
    UnfairStreams,
    /// Streams leave by other members of a bond than the kernel's hash says.
    StrayedStreams,
    /// What chooses the members on which streams arrive does not spread them.
    SwitchHash,
    /// A sender's bond does not spread the streams of a pair by their ports.
    SenderHash,
    /// Packets that interfaces send are lost, and nobody tells their senders.
    MtuBlackHole,
    /// Interfaces send more than others take.
    MtuMismatch,
    /// Paths carry less than interfaces do, and their senders know.
    MtuKnown,
    NoProbes,
    /// No probe came by some source ports, and those of others did.
    SilentPaths,
    /// What was sent without a copy was copied.
    CopiedSends,
    /// Racks carry less than their machines can send.
    Oversubscription,
    /// Ports had no room for packets that came.
    RingDrops,
    /// Ports were told to pause what they send.
    Paused,
}

/// A claim with what it rests on and what to do about it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct NetFinding {
    pub kind: NetFindingKind,
    /// How much it matters.
    pub severity: Severity,
    /// How sure it is.
    pub confidence: Confidence,
    /// The machines it is about; empty where it is about the whole.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub nodes: Vec<u32>,
    /// One sentence, without a full stop.
    pub claim: String,
    /// The readings that it rests on.
    pub evidence: String,
    /// What to do, or an empty string where nothing needs doing.
    pub remedy: String,
}

/// A rate of what an op counts, for people: as links are sold, or in requests or connections per second.
#[must_use]
pub fn rate_in_words(op: NetOp, per_s: f64) -> String {
    match op {
        NetOp::Stream | NetOp::Udp { .. } | NetOp::Mtu => bits_per_s(8.0 * per_s),
        NetOp::Request { .. } => format!("{} requests/s", grouped(per_s.round() as u64)),
        NetOp::Connect => format!("{} connections/s", grouped(per_s.round() as u64)),
    }
}

impl NetView {
    /// A rate of what its load counts, for people.
    #[must_use]
    pub fn rate(&self, per_s: f64) -> String {
        rate_in_words(self.load.op, per_s)
    }

    /// The name of a machine by its place.
    #[must_use]
    pub fn name(&self, node: u32) -> &str {
        self.nodes.get(node as usize).map_or("", |node| node.name.as_str())
    }

    /// Pairs with the number of streams that is compared.
    pub fn compared(&self) -> impl Iterator<Item = &NetPairFigures> {
        self.pairs.iter().filter(|pair| Some(pair.streams) == self.compared_streams)
    }

    /// Whether there are two machines: no peers of others, so that each direction is held against the other.
    #[must_use]
    pub fn has_two_directions(&self) -> bool {
        self.nodes.len() == 2
    }

    /// Whether pairs at machines' own addresses are of several classes, which are no peers of each other.
    #[must_use]
    pub fn is_mixed(&self) -> bool {
        let mut direct = self.classes.iter().map(|of| of.class).filter(|class| class.through.is_direct());
        direct.next().is_some_and(|first| direct.any(|class| class != first))
    }

    /// What racks carry at once with that number.
    #[must_use]
    pub fn bisected(&self) -> Option<&NetBisection> {
        self.bisection.iter().find(|of| Some(of.streams) == self.compared_streams)
    }

    /// All pairs together with the number of streams that is compared.
    #[must_use]
    pub fn whole(&self) -> Option<&NetStreamsFigures> {
        self.streams.iter().find(|of| Some(of.streams) == self.compared_streams)
    }
}
