//! A diagnosis: what readings of a window say of a site. This is the JSON of `linerate explain` on readings.

use serde::{Deserialize, Serialize};

use crate::explanation::Explanation;
use crate::plan::Resource;
use crate::readings::{AbsentReading, ReadMeasure};

/// The version of [`Diagnosis`] as JSON.
pub const DIAGNOSIS_SCHEMA: u32 = 1;

/// How the warning ends that an engine counts more bytes than the links of its nodes carried. No figure of its clients
/// can be believed then, so that it comes before all else.
pub const BEYOND_LINKS: &str = "the engine's bytes are counted more than once, or clients run on the nodes";

/// How the answer begins where nothing used the cluster: what is odd then held nothing back.
pub const NO_LOAD: &str = "no load was seen";

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Diagnosis {
    /// [`DIAGNOSIS_SCHEMA`].
    pub schema: u32,
    pub site: String,
    /// What was looked at.
    pub window: ReadWindow,
    /// Whose readings there are.
    pub nodes: Vec<ReadNode>,
    /// Machines with readings that are no nodes of the site.
    #[serde(rename = "strangers")]
    pub unknown_nodes: Vec<String>,
    /// Nodes of the site without readings.
    pub unheard: u32,
    /// What was served meanwhile.
    pub load: ReadLoad,
    /// Resources against what the model gives them, the fullest first.
    pub used: Vec<ResourceUse>,
    /// How bonds use their members.
    pub members: Vec<MemberUse>,
    /// What the engine's sockets wait for, where they were read.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sockets: Vec<SocketUse>,
    /// What crosses the uplinks of racks, where a fleet names them, by their names.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub racks: Vec<RackUse>,
    /// What nodes of one rack send again to those of another, or of their own, by the names of both.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rack_pairs: Vec<RackPair>,
    /// Clients with readings, where a fleet names them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub clients: Vec<String>,
    /// Nodes that send much of their TCP segments again, those with the most first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sent_again: Vec<RetransmittingNode>,
    /// What is not alike among those that should be, the oddest first.
    #[serde(rename = "odd")]
    pub outlier: Vec<OutlierReading>,
    /// What can have held the site back, the likeliest first.
    pub suspects: Vec<Suspect>,
    /// The weight of a cause that no reading here shows: of a client, a switch, or anything else.
    pub none_of_these: f64,
    /// What came of it, in one sentence.
    pub answer: String,
    /// What the throughput read tells of causes by itself, by the model run backward; absent with a reason in
    /// `caveats`.
    pub explanation: Option<Explanation>,
    /// Comparisons that were made: chances of odd readings are over all of them.
    pub comparisons: u64,
    /// Share of healthy windows in which something is called odd, at the most.
    pub false_alarm_share: f64,
    /// Readings that the source does not have.
    pub absent: Vec<AbsentReading>,
    /// What such readings cannot tell, in sentences.
    pub blind: Vec<String>,
    /// What has to be known before the answer is believed, in sentences: nodes that were not read, a window that was
    /// cut, a site that the nodes are not of.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
    /// What the answer rests on, in sentences.
    pub caveats: Vec<String>,
    /// What to read or to try next; absent where one suspect leads clearly.
    pub next: Option<String>,
    /// Use of resources over time.
    pub heat: HeatMap,
}

/// A window of readings.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReadWindow {
    /// What was read from: `prometheus`, or `live` of what agents read.
    pub source: String,
    /// The first instant, in milliseconds since 1970.
    pub begin_unix_ms: i64,
    pub end_unix_ms: i64,
    pub step_ms: u64,
    pub interval_ms: u64,
    /// Over how long each rate is a mean.
    pub rate_over_ms: u64,
    pub steps: u32,
    /// Those that are judged: the load was near its most.
    pub busy_steps: u32,
    /// The first of these, in milliseconds since 1970.
    pub busy_begin_unix_ms: i64,
    /// The last of these.
    pub busy_end_unix_ms: i64,
}

/// A node with readings.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReadNode {
    /// As it is told.
    pub name: String,
    /// The kind of nodes that it is of.
    pub group: String,
    /// By which names readings have it.
    pub machines: Vec<String>,
}

/// What was served while the load was near its most.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ReadLoad {
    /// Bytes that the engine sent to clients per second, by its own counters; absent where nobody exports them.
    pub get_bytes_per_s: Option<f64>,
    /// Bytes that it received from clients per second.
    pub put_bytes_per_s: Option<f64>,
    /// Bytes that all nodes sent on all planes per second.
    pub sent_bytes_per_s: f64,
    /// Bytes that all nodes received on all planes per second.
    pub received_bytes_per_s: f64,
    /// Requests in flight at all nodes.
    pub in_flight: Option<f64>,
    /// Where throughput stopped following demand.
    pub turn: Option<LoadKnee>,
}

/// An instant from which more requests in flight gave no more throughput.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LoadKnee {
    /// In milliseconds since 1970.
    pub at_unix_ms: i64,
    /// Requests in flight before and behind it.
    pub in_flight: [f64; 2],
    /// Bytes sent and received by all nodes per second before and behind it.
    pub bytes_per_s: [f64; 2],
}

/// A resource of nodes against its ceiling.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ResourceUse {
    pub resource: Resource,
    /// Of which kind of nodes.
    pub group: String,
    /// What it is called at a node: an interface, drives.
    pub part: String,
    /// What one node has of it, in the unit of the resource, as it is counted by the readings.
    pub capacity: f64,
    /// The middle node's use, as a share of `capacity`, in the middle of the judged instants.
    pub share: f64,
    /// The most of any node.
    pub most_share: f64,
    /// Which node that is.
    pub most_node: String,
    /// Nodes that use 90 % or more of theirs.
    pub full_nodes: u32,
    /// Nodes with this reading.
    pub nodes: u32,
}

/// How nodes use the members of a bond.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MemberUse {
    /// The bond, as nodes call it.
    pub bond: String,
    /// The link, as the site calls it.
    pub link: String,
    /// Of which kind of nodes.
    pub group: String,
    /// Whether of what is sent; else of what is received.
    pub is_sent: bool,
    /// Members that it has.
    pub members: u32,
    /// Share of the bond's bytes that its busiest member carries, at the middle node.
    pub busiest_share: f64,
    /// The busiest member's use of its own speed, at the middle node.
    pub busiest_used_share: f64,
    /// Nodes of which one member carries 90 % or more.
    pub on_one_nodes: u32,
    /// Nodes with this reading.
    pub nodes: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SocketPath {
    /// What nodes send to clients.
    ToClients,
    /// What clients send to nodes, where clients are read.
    FromClients,
    /// What nodes send to each other.
    AmongNodes,
}

/// What senders wait for, over all sockets of a path and the whole window.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SocketUse {
    pub path: SocketPath,
    /// How many were seen, on the side that sends.
    pub sockets: u64,
    /// Bytes sent and acknowledged.
    pub sent_bytes: u64,
    /// Share of the time for which sockets were there in which they had something to send; the rest of it, the
    /// application had nothing.
    pub busy_share: f64,
    /// Share of that in which the receiver's window was the limit.
    pub window_share: f64,
    /// Share of it in which the send buffer was. What is left is the congestion window's, pacing's and processors'.
    pub buffer_share: f64,
    /// Share of segments that were sent again.
    pub retransmitted_share: f64,
    /// The middle round-trip time, in microseconds.
    pub round_trip_us: u64,
}

/// What the sockets of a rack's machines exchanged with those beyond it, as a mean of the whole window.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RackUse {
    /// As the fleet file names it.
    pub name: String,
    /// Machines in it of which sockets were read.
    pub machines: u32,
    /// Bytes sent beyond it per second.
    pub sent_bytes_per_s: f64,
    /// Bytes received from beyond it per second.
    pub received_bytes_per_s: f64,
    /// All its uplinks together, in each direction, in bits per second; absent where the site does not state them.
    pub uplinks_bits_per_s: Option<f64>,
    /// What is sent beyond it as a share of what framing leaves of these.
    pub sent_share: Option<f64>,
    /// The same of what is received.
    pub received_share: Option<f64>,
}

/// What nodes of one rack sent again to those of another, or of their own.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RackPair {
    /// The rack that sends.
    pub from: String,
    /// The rack that receives.
    pub to: String,
    /// Pairs of nodes with enough segments to tell, each of one that sends and one that receives.
    pub node_pairs: u32,
    /// Segments that these sent.
    pub sent_segments: u64,
    /// Those of them that were sent again.
    pub retransmitted_segments: u64,
    /// The share that was sent again at the middle pair of nodes, the lower of two: one node or one burst does not
    /// decide it.
    pub retransmitted_share: f64,
    /// Whether these are too few pairs, or of one node at an end, so that the direction is not judged.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_too_few: bool,
}

/// A node that sends much of its TCP segments again, by the kernel's counters.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RetransmittingNode {
    pub node: String,
    /// Share of its segments that it sends again, as a mean of the judged instants.
    pub share: f64,
    /// The same of the middle one of the other nodes; `null` where no other was read.
    pub others_share: Option<f64>,
}

/// What is compared among those that should be alike.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "kind", content = "of")]
pub enum OutlierKind {
    /// The value of a reading.
    Value(ReadMeasure),
    /// How little it varies: what is at a limit stays there while others vary.
    Steadiness(ReadMeasure),
}

/// One that is not like the others.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct OutlierReading {
    pub of: OutlierKind,
    pub node: String,
    /// Which part of it; empty where it is of the node as a whole.
    pub part: String,
    pub value: f64,
    /// The middle of the others.
    pub others: f64,
    /// How far it is from them, in standard errors.
    pub sigmas: f64,
    /// The chance of that over all comparisons, if all were alike.
    pub chance: f64,
    /// Whether it differs in both halves of the judged instants; not if these are too few to have two.
    #[serde(default = "lasting")]
    pub is_lasting: bool,
    /// All of that in one sentence.
    pub claim: String,
}

/// What readings said before halves of a window were compared.
fn lasting() -> bool {
    true
}

/// Kinds of causes that readings show.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Cause {
    /// A node's link carries less than it should, sending.
    SlowLinkSending,
    SlowLinkReceiving,
    /// A node's port negotiated less than the site states.
    LinkSpeed,
    /// A node's port changes its speed, or is up and down, again and again.
    FlappingLink,
    /// A node's link loses packets.
    LossyLink,
    /// The uplinks of one rack lose packets, or are full; or all of its nodes are gone, or carry nothing, at once.
    RackUplinks,
    /// What leads from one rack to another loses packets.
    RackPath,
    /// What connects all racks loses packets, or is full.
    Fabric,
    /// A drive is slower than its like.
    SlowDrive,
    /// A node's processors are busier than its like.
    BusyProcessors,
    /// A container is out of its processor quota.
    Quota,
    /// A hypervisor gives a node's processors to others.
    StolenProcessors,
    /// A node is short of memory.
    Memory,
    /// One node has more of the requests than the others.
    UnevenLoad,
    /// A node's link or drive does more than its like, and its engine does not serve more.
    OtherWork,
    /// A node is slower, and no resource of it shows why.
    SlowNode,
    /// A node's interface takes other sizes of packets than its like.
    Mtu,
    /// A switch tells a node to wait, by pause frames.
    Paused,
    /// A node's processors run at a lower frequency than its like.
    SlowProcessors,
    /// What receives takes no more: its window is full.
    ReceiveWindow,
    /// What sends has no room for more under way: its buffer is full.
    SendBuffer,
    /// Clients are at a limit of their own.
    ClientLimit,
    /// Clients ask for a steady rate, and could take more: nothing holds them back but themselves.
    PacedLoad,
    /// One thread of the engine is busy all the time.
    BusyThread,
    /// A bond uses fewer members than it has.
    BondMembers,
    /// A resource of all nodes is at its ceiling.
    Full,
}

/// What can have held the site back.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Suspect {
    pub cause: Cause,
    /// The node; absent for what is of all.
    pub node: Option<String>,
    /// The link, drive or container; empty where the cause says it.
    pub part: String,
    pub claim: String,
    /// Share of the weight of all suspects and of none of these.
    pub weight: f64,
    /// Which readings show it, in sentences.
    pub evidence: Vec<String>,
    /// What to look at and to change.
    pub remedy: String,
    /// What healing would give, by the model; absent where it does not tell.
    pub gives: Option<String>,
}

/// Use of resources over time, as one character a cell.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct HeatMap {
    /// The first column, in milliseconds since 1970.
    pub begin_unix_ms: i64,
    pub column_ms: u64,
    /// How many columns there are.
    pub columns: u32,
    /// A map a resource.
    pub maps: Vec<HeatRows>,
}

/// A resource of all nodes over time.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HeatRows {
    /// What it is of, with its ceiling.
    pub name: String,
    /// A text a node, in the order of `nodes`: a character a column, `0` to `9` and `a` to `z` for a share of 0 to 1,
    /// a point where nothing was read.
    pub rows: Vec<String>,
}

impl HeatMap {
    /// The character of a share.
    #[must_use]
    pub fn cell(share: Option<f64>) -> char {
        let Some(share) = share.filter(|share| share.is_finite()) else { return '.' };
        char::from_digit((share.clamp(0.0, 1.0) * 35.0).round() as u32, 36).unwrap_or('.')
    }

    /// The share of a character.
    #[must_use]
    pub fn share(cell: char) -> Option<f64> {
        cell.to_digit(36).map(|digit| f64::from(digit) / 35.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cell_says_its_share_within_a_percent_and_a_half() {
        for share in [0.0, 0.1, 0.5, 0.93, 1.0] {
            let read = HeatMap::share(HeatMap::cell(Some(share))).unwrap();
            assert!((read - share).abs() < 0.015, "{share}: {read}");
        }
        assert_eq!((HeatMap::cell(None), HeatMap::cell(Some(7.0))), ('.', 'z'));
        assert_eq!(HeatMap::share('.'), None);
    }
}
