//! A plan: what a site can do, layer by layer. This is the JSON of `linerate plan`.

use serde::{Deserialize, Serialize};

use crate::finding::Severity;
use crate::site::Site;

/// The version of [`Plan`] as JSON.
pub const PLAN_SCHEMA: u32 = 1;

/// What clients do.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Work {
    /// Size of an object.
    pub object_bytes: u64,
    /// Share of the bytes that is read: 1 is GET, 0 is PUT.
    pub read_share: f64,
}

/// One resource of the site, and the client work above which it is full.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Ceiling {
    /// Which resource.
    pub resource: Resource,
    /// The group whose nodes have it; absent for what is not of a node.
    pub group: Option<String>,
    /// Client bytes per second of the whole site at which it is full.
    pub limit_bytes_per_s: f64,
    /// Bytes (or operations) that the resource moves per client byte (or request), at the node that moves most.
    pub demand: f64,
    /// What the resource can move, in its own unit, per node (or per link).
    pub capacity: f64,
    /// The unit of `capacity`: `B/s`, `op/s`.
    pub unit: String,
    /// The formula, in words of the inputs.
    pub formula: String,
    /// What went in.
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

/// What can be full.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Resource {
    /// The public plane's link of a node, receiving.
    PublicIngress,
    /// The public plane's link of a node, sending.
    PublicEgress,
    /// The private plane's link of a node, receiving.
    PrivateIngress,
    /// The private plane's link of a node, sending.
    PrivateEgress,
    /// A rack's uplinks towards the spines.
    RackUp,
    /// A rack's uplinks from the spines.
    RackDown,
    /// The clients' NICs, receiving.
    ClientIngress,
    /// The clients' NICs, sending.
    ClientEgress,
    /// The one node that takes every connection.
    EntryNode,
    /// Drives, in bytes.
    DriveBandwidth,
    /// Drives, in operations.
    DriveOperations,
    /// PCIe of a NIC.
    PcieNic,
    /// PCIe of the drives.
    PcieDrives,
    /// PCIe of a socket, all devices together.
    PcieSocket,
    /// Memory bandwidth of a node.
    Memory,
    /// Processors of a node.
    Cpu,
}

/// Ceilings for one kind of work.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct WorkPlan {
    /// What clients do.
    pub work: Work,
    /// Every ceiling, the lowest first: the first binds.
    pub ceilings: Vec<Ceiling>,
    /// What bonds and paths give when flows are placed by their hashes; absent where there are none.
    pub spread: Vec<Spread>,
    /// The lowest ceiling with one failed node being healed; absent where the layout cannot.
    pub degraded_bytes_per_s: Option<f64>,
    /// Throughput and latency over requests in flight; absent where nothing limits the work.
    #[serde(default)]
    pub curve: Option<Curve>,
}

/// Throughput and latency over requests in flight.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Curve {
    /// Squared coefficient of variation of what a request takes of the resource that binds.
    pub variability: f64,
    /// What one request takes that is alone.
    pub alone_ns: f64,
    /// What a request that is alone is longest at.
    pub alone_by: Resource,
    /// Alike stations of the resource that binds: nodes, clients, racks, or one.
    pub stations: u32,
    /// The fewest requests in flight that reach so much of the ceiling as is called the knee.
    pub knee: CurvePoint,
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
    /// Members (or paths).
    pub members: u32,
    /// Flows over the link at once.
    pub flows: u32,
    /// Share of all members' sum that flows get with max-min sharing: 5th percentile, median, 95th.
    pub share_p5: f64,
    /// The median.
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
    /// Drives of a set (or shards and copies of an object).
    pub set_drives: u32,
    /// Shards of data.
    pub data_shards: u32,
    /// Shards of parity.
    pub parity_shards: u32,
    /// How many sets.
    pub sets: u32,
    /// Bytes of all drives.
    pub raw_bytes: u64,
    /// Bytes that objects can fill.
    pub usable_bytes: u64,
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
    /// Shards of parity.
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
}

/// A claim about a site.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PlanFinding {
    /// Which check speaks.
    pub kind: PlanFindingKind,
    /// How much it matters.
    pub severity: Severity,
    /// One sentence, without a full stop.
    pub claim: String,
    /// The figures that it rests on.
    pub evidence: String,
    /// What to do.
    pub remedy: String,
    /// Where the rule comes from.
    pub source: String,
}

/// The ceilings at one number of nodes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ScalePoint {
    /// Nodes.
    pub nodes: u32,
    /// Lowest ceiling for each work of the plan, in its order; absent where the engine does not run on so few.
    pub limits_bytes_per_s: Vec<f64>,
    /// What binds, for each work.
    pub binds: Vec<Resource>,
    /// Drives of a set, and parity.
    pub set_drives: u32,
    /// Shards of parity.
    pub parity_shards: u32,
    /// Usable bytes.
    pub usable_bytes: u64,
}

/// Where the curve over nodes bends.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Bend {
    /// At this number of nodes.
    pub nodes: u32,
    /// Why: another resource binds, the layout changes, throughput falls.
    pub why: String,
}

/// The ceilings over a range of nodes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Scaling {
    /// By number of nodes, ascending.
    pub points: Vec<ScalePoint>,
    /// Where it bends, and why.
    pub bends: Vec<Bend>,
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
    /// What decides the number, and what would reduce it.
    pub why: String,
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
    /// The layout.
    pub layout: LayoutPlan,
    /// Claims, the gravest first.
    pub findings: Vec<PlanFinding>,
    /// The curve over nodes, where asked for.
    pub scaling: Option<Scaling>,
    /// The size that needs ask for, where asked for.
    pub sizing: Option<Sizing>,
}
