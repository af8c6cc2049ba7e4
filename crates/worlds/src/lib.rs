//! Targets whose truth is known: what compaction, scrubbing, elections and neighbours do to a throughput, from a seed.
//!
//! Nothing here judges, and nothing here knows how linerate judges: no code is shared with the rooms that are held
//! against these worlds. A [`World`] is a row of [`WORLDS`], in a file of its own: its name, what real thing it stands
//! for, whence that is known, and how one of its kind is drawn. What is drawn is a [`WorldTarget`] with its truth; each
//! visit of it is a [`TargetPace`], the pace at which it serves over time. [`ClosedLoop`] and [`open`] make of a course
//! what linerate's recorders would see; [`CURVES`] says how throughput follows concurrency. [`TRIALS`] are comparisons
//! of two arms in which something beside the arm makes a difference. A [`Cluster`] is moved piece by piece, for curves
//! over requests in flight; a [`Fleet`] has many clients, as a run folder tells of them. An [`InjectedFault`] is a
//! cause in what a scraper of exporters has of a cluster. A [`RecordedSeries`] is no made-up world: an hour of a real
//! server.

mod closed;
mod cluster;
mod curves;
mod fleet;
mod open;
mod pace;
mod readings;
mod rng;
mod series;
mod table;
mod trials;
mod worlds;

pub use closed::{ClosedLoop, IntervalSample};
pub use cluster::{ClientPlacement, Cluster, Operation, SlowNode, objects_of_nodes, objects_per_link_time};
pub use curves::{CURVES, CurveKind, WorldCurve};
pub use fleet::{ClientFault, Fleet, FleetFolder};
pub use open::{ArrivalSpacing, OpenLoopTarget, Request, open, serve};
pub use pace::{STEP_MS, TargetPace};
pub use readings::{InjectedFault, READ_FAULTS, ReadingsWorld, WorldNames, WorldSeries};
pub use rng::SeededRng;
pub use series::{BIN_MS, NoSeries, RecordedSeries};
pub use table::{HeldShare, most_of_5_percent, table, tries};
pub use trials::{Hazard, Order, TRIALS, Trial, TrialCell, TrialCells};
pub use worlds::{WORLDS, World, WorldTarget};
