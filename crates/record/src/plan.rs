//! A plan: what a site can do, layer by layer. This is the JSON of `linerate plan`.

use serde::{Deserialize, Serialize};

use crate::finding::Severity;
use crate::site::{Site, Tolerates};
use crate::units::Unit;

mod resource;
pub use resource::Resource;

/// The version of [`Plan`] as JSON.
pub const PLAN_SCHEMA: u32 = 1;

#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Work {
    /// Size of an object.
    pub object_bytes: u64,
    /// Share of the bytes that is read: 1 is GET, 0 is PUT.
    pub read_share: f64,
}

/// Objects below this size are told in requests per second too.
pub const SMALL_BYTES: u64 = 1 << 20;

/// One resource of the site, and the client work above which it is full.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Ceiling {
    pub resource: Resource,
    /// The group whose nodes have it; absent for what is not of a node.
    pub group: Option<String>,
    /// Client bytes per second of the whole site at which it is full.
    pub limit_bytes_per_s: f64,
    /// The same in client requests per second; absent for objects of [`SMALL_BYTES`] or more.
    #[serde(default)]
    pub limit_requests_per_s: Option<f64>,
    /// Client bytes per second from the lowest ceiling of the work to this one; 0 for the lowest.
    #[serde(default)]
    pub headroom_bytes_per_s: f64,
    /// Share of it in use, from 0 to 1, when the site is at the lowest ceiling of the work; 1 for the lowest.
    #[serde(default)]
    pub utilisation_share: f64,
    /// Bytes (or operations) that the resource moves per client byte (or request), at the node that moves most.
    pub demand: f64,
    /// What the resource can move, in its own unit, per node (or per link).
    pub capacity: f64,
    /// The unit of `capacity`: [`Resource::unit`].
    pub unit: Unit,
    /// The formula, in words of the inputs.
    pub formula: String,
    pub inputs: Vec<Input>,
    /// Where the formula or its constants come from.
    pub source: String,
}

/// A number that a formula used.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Input {
    /// Its name in the formula.
    pub name: String,
    /// Its value as people read it, with its unit.
    pub value: String,
    /// Where it is stated in the site; absent for what follows from the model.
    pub path: Option<String>,
    /// Whether nobody stated it.
    pub assumed: bool,
}

/// Ceilings for one kind of work.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct WorkPlan {
    pub work: Work,
    /// Every ceiling, the lowest first: that is the bottleneck.
    pub ceilings: Vec<Ceiling>,
    /// What bonds and paths give when flows are placed by their hashes; absent where there are none.
    pub spread: Vec<Spread>,
    /// The lowest ceiling with one node down and nothing being restored; absent where the work has no quorum then.
    pub degraded_bytes_per_s: Option<f64>,
    /// The lowest ceiling while that node's data is being restored; absent where it cannot be.
    #[serde(default)]
    pub rebuilding_bytes_per_s: Option<f64>,
    /// Throughput and latency over requests in flight; absent where nothing limits the work.
    #[serde(default)]
    pub curve: Option<Curve>,
    /// The site's goal for this work, against its lowest ceiling; absent where none is stated or nothing limits it.
    #[serde(default)]
    pub goal: Option<Goal>,
}

/// A goal of throughput.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Goal {
    /// Client bytes per second that the site states.
    pub bytes_per_s: f64,
    /// The same as a share of the lowest ceiling.
    pub ceiling_share: f64,
    /// Whether it is not above that ceiling.
    pub within_reach: bool,
    /// The fewest requests in flight that give it, by the curve; absent where none do.
    #[serde(default)]
    pub in_flight: Option<u64>,
    /// Whether the requests that the site's clients keep in flight give it, by the curve; absent where nobody stated
    /// how many these are.
    #[serde(default)]
    pub within_clients_reach: Option<bool>,
}

/// Throughput and latency over requests in flight.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Curve {
    /// Squared coefficient of variation of what a request takes of the bottleneck.
    pub variability: f64,
    /// What one request takes that is alone.
    pub alone_ns: f64,
    /// What a request that is alone is longest at.
    pub alone_by: Resource,
    /// Alike stations of the bottleneck: nodes, clients, racks, or one. Of drives: how many requests they
    /// serve at once, which are sets where a request is at all drives of one.
    pub stations: u32,
    /// The fewest requests in flight that reach so much of the ceiling as is called the knee.
    pub knee: CurvePoint,
    /// Requests in flight that the knee takes of each client, rounded up; absent where the site describes none.
    #[serde(default)]
    pub knee_in_flight_each: Option<u64>,
    /// Where the site describes clients: all connections that they keep busy.
    pub clients: Option<CurvePoint>,
    /// By requests in flight, ascending, beyond the knee.
    pub points: Vec<CurvePoint>,
}

/// What so many requests in flight give.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct CurvePoint {
    /// Requests in flight, of all clients together.
    pub in_flight: u64,
    /// Client bytes per second of the whole site.
    pub bytes_per_s: f64,
    /// The same as a share of the ceiling.
    pub share: f64,
    /// What a request takes on average.
    pub latency_ns: f64,
}

/// How a link of several members fills, over random flows.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Spread {
    /// The resource whose members these are.
    pub resource: Resource,
    /// The group, where it is a node's.
    pub group: Option<String>,
    pub members: u32,
    /// Members that the ceilings count, where it is certain that traffic never reaches all of them.
    #[serde(default)]
    pub counted_members: Option<u32>,
    /// Flows over the link at once.
    pub flows: u32,
    /// Share of all members' sum that flows get with max-min sharing: 5th percentile, median, 95th.
    pub share_p5: f64,
    pub share_p50: f64,
    /// The 95th percentile.
    pub share_p95: f64,
    /// Flows from which the median reaches 95 % of all members; absent where no number does (one member, always).
    pub flows_to_fill: Option<u32>,
    /// Why, in one sentence.
    pub why: String,
}

/// How the engine lays data out.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LayoutPlan {
    /// Drives of a set (or shards and copies of an object): of the pool that takes the most objects.
    pub set_drives: u32,
    /// Shards of data, of that pool.
    pub data_shards: u32,
    /// Shards of parity, of that pool.
    pub parity_shards: u32,
    /// How many sets are like these, over all pools.
    pub sets: u32,
    /// Every pool, in the site's order.
    #[serde(default)]
    pub pools: Vec<PoolLayout>,
    /// Bytes of all drives.
    pub raw_bytes: u64,
    /// Bytes that objects can fill.
    pub usable_bytes: u64,
    /// The same as a share of `raw_bytes`, from 0 to 1; 0 without drives.
    #[serde(default)]
    pub usable_share: f64,
    /// Whether the site's goal for usable bytes is not above them; absent where none is stated.
    #[serde(default)]
    pub goal_within_reach: Option<bool>,
    /// Years until growth has filled it; absent where no growth was stated, or where it is full today (0).
    pub years_to_full: Option<f64>,
    /// Losses that reads survive, whichever they are.
    pub read_tolerance: Tolerance,
    /// Losses that writes survive.
    pub write_tolerance: Tolerance,
    /// Objects up to this size live inline in metadata; 0 where the engine has no such.
    pub inline_bytes: u64,
    /// Why the engine lays it out so.
    pub why: String,
    /// Other layouts, the best first, this one among them.
    pub alternatives: Vec<LayoutChoice>,
}

/// How a pool lays out its objects.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PoolLayout {
    /// The groups whose nodes it has.
    pub groups: Vec<String>,
    /// Drives of a set (or shards and copies of an object).
    pub set_drives: u32,
    pub data_shards: u32,
    pub parity_shards: u32,
    /// How many sets; 1 where shards or copies are placed anew for each object.
    pub sets: u32,
}

/// What a failure takes with it, and what restoring that takes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Rebuild {
    pub lost: FailureScope,
    /// Bytes of shards or copies that it held.
    pub restored_bytes: f64,
    /// Whether drives are taken to be full, since nobody stated what is stored.
    pub taken_full: bool,
    /// Bytes read from what is left per byte restored.
    pub read_bytes_per_byte: f64,
    /// What restoring is held back by.
    #[serde(rename = "binds")]
    pub bottleneck: Resource,
    /// Bytes restored per second where clients ask for nothing. More is not possible; engines may do less.
    pub alone_bytes_per_s: f64,
    /// How long that takes.
    pub alone_s: f64,
    /// Share of the bottleneck that restoring has while clients are served.
    pub share: f64,
    /// Whether nobody stated that share.
    pub share_assumed: bool,
    /// How long restoring takes with that share.
    pub shared_s: f64,
    /// Where it is restored to, and what holds meanwhile.
    pub why: String,
    /// Where the share and the way come from.
    pub source: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FailureScope {
    Drive,
    /// One node with all of its drives.
    Node,
}

/// What can be lost without loss of service.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tolerance {
    /// Any so many drives.
    pub drives: u32,
    /// Any so many nodes.
    pub nodes: u32,
    /// Any so many racks.
    pub racks: u32,
}

/// A layout that could be chosen instead.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LayoutChoice {
    /// Drives of a set.
    pub set_drives: u32,
    pub parity_shards: u32,
    /// Usable share of raw capacity.
    pub usable_share: f64,
    /// Bytes written to drives per byte of an object.
    pub write_cost: f64,
    /// Nodes that can fail for writes.
    pub nodes_lost: u32,
    /// Rank figure: larger is better.
    pub score: f64,
    /// Whether it is what the engine chooses, or the site states.
    pub chosen: bool,
    /// What speaks for or against it.
    pub why: String,
}

/// Which statement a finding of a plan makes: one per check.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PlanFindingKind {
    /// Devices want more PCIe lanes than sockets have.
    PcieLanes,
    /// NIC and drives sit on different NUMA nodes.
    Numa,
    /// The kernel is older than 6.8.
    OldKernel,
    /// Less than the engine's vendor asks for.
    BelowMinimum,
    /// Less than the engine's vendor recommends.
    BelowRecommended,
    /// NICs and drives do not match.
    NicAgainstDrives,
    /// Clients and nodes share a plane.
    SharedPlane,
    /// Sizes of packets do not fit together.
    MtuMismatch,
    /// A bond cannot spread this traffic.
    BondHash,
    /// A policy may reorder fragments, or reorders.
    Reordering,
    /// A layout that is worse than fewer nodes would have.
    LayoutWorse,
    /// A goal is not reached.
    GoalMissed,
    /// The way in is narrower than the cluster.
    EntryNarrow,
    /// A ceiling rests on values that nobody stated.
    RestsOnAssumed,
    /// Racks are unevenly filled, or too few for the layout.
    Racks,
    /// Capacity runs out within the retention.
    Capacity,
    /// A ceiling in bytes that takes more requests than the model knows anything of.
    SmallObjects,
    /// One drive or one node stops writes, or more.
    WritesStop,
}

/// A claim about a site.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PlanFinding {
    pub kind: PlanFindingKind,
    /// How much it matters.
    pub severity: Severity,
    /// One sentence, without a full stop.
    pub claim: String,
    /// The figures that it rests on.
    pub evidence: String,
    pub remedy: String,
    /// Where the rule comes from.
    pub source: String,
    /// The goal of the site that it is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub goal: Option<SiteGoal>,
}

/// A goal that a site states.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "of")]
pub enum SiteGoal {
    /// Throughput of a work.
    Throughput { work: Work },
    /// The same, by the requests in flight that it takes.
    InFlight { work: Work },
    /// The 99th percentile of the latency of a work.
    P99 {
        work: Work,
        /// Nanoseconds.
        p99_ns: u64,
    },
    /// Usable bytes.
    Usable,
}

/// The ceilings at one number of nodes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ScalePoint {
    pub nodes: u32,
    /// Lowest ceiling for each work of the plan, in its order; absent where the engine does not run on so few.
    pub limits_bytes_per_s: Vec<f64>,
    /// The bottleneck, for each work.
    #[serde(rename = "binds")]
    pub bottlenecks: Vec<Resource>,
    /// Drives of a set, and parity.
    pub set_drives: u32,
    pub parity_shards: u32,
    /// Usable bytes.
    pub usable_bytes: u64,
}

/// Where the curve over nodes bends.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ScalingBend {
    /// At this number of nodes.
    pub nodes: u32,
    /// Why: another bottleneck, the layout changes, throughput falls.
    pub why: String,
}

/// The ceilings over a range of nodes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Scaling {
    /// By number of nodes, ascending.
    pub points: Vec<ScalePoint>,
    /// Where it bends, and why.
    pub bends: Vec<ScalingBend>,
}

/// The smallest site of the same kind of node that meets needs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Sizing {
    /// What was asked for, as written.
    pub need: String,
    /// Nodes; absent where no number within the bound does.
    pub nodes: Option<u32>,
    /// Drives of all nodes.
    pub drives: u64,
    /// Ports of all nodes.
    pub ports: u64,
    /// Usable bytes at that size.
    pub usable_bytes: u64,
    /// Shards of data there.
    #[serde(default)]
    pub data_shards: u32,
    /// Shards of parity there.
    #[serde(default)]
    pub parity_shards: u32,
    /// Losses that the size had to tolerate; absent in plans of before there were such.
    #[serde(default)]
    pub tolerates: Option<Tolerates>,
    /// The fewest nodes where no loss had to be borne, if these are fewer.
    #[serde(default)]
    pub intolerant: Option<RejectedSize>,
    /// What decides the number, and what would reduce it.
    pub why: String,
}

/// What clusters without a known fault lose to the ceiling of their bottleneck, as a share of it on average. Learnt
/// from published cases and labs: docs/method/explain.md. Engines and operations have one loss, since there are too few
/// cases of each to tell theirs apart (GET of gateways 1 to 6 %, of MinIO 6 to 9 %).
pub const MEAN_LOSS: f64 = 0.05;

/// A size that gives what is needed, and does not tolerate the losses that are asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RejectedSize {
    pub nodes: u32,
    pub data_shards: u32,
    pub parity_shards: u32,
    /// Losses that it does tolerate.
    #[serde(rename = "bears")]
    pub tolerates: Tolerates,
}

/// What a site can do.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Plan {
    /// [`PLAN_SCHEMA`].
    pub schema: u32,
    /// The site, whole, with what was assumed.
    pub site: Site,
    /// Ceilings: GET, PUT, and the mix where one was asked for.
    pub works: Vec<WorkPlan>,
    pub layout: LayoutPlan,
    /// What the loss of a drive and of a node takes to restore, where it can be restored.
    #[serde(default)]
    pub rebuild: Vec<Rebuild>,
    /// Claims, the most severe first.
    pub findings: Vec<PlanFinding>,
    /// The curve over nodes, where asked for.
    pub scaling: Option<Scaling>,
    /// The size that needs ask for, where asked for.
    pub sizing: Option<Sizing>,
}
