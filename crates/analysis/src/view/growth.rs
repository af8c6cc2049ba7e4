//! What more clients gave.

use linerate_record::load::Workload;
use linerate_record::plan::Resource;
use linerate_record::run::{MaybeKnown, PointSizes};
use serde::{Deserialize, Serialize};

use super::Measure;
use crate::growth::{GrowthPoint, GrowthVerdict};

/// Throughput over the number of clients: of series that differ in it alone, each at the concurrency that gave most.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Growth {
    /// As the series have it.
    pub workload: MaybeKnown<Workload>,
    /// As the series have it.
    pub size: MaybeKnown<PointSizes>,
    /// Which throughput tells the story.
    pub measure: Measure,
    /// What each number of clients gave, and where growth ended.
    #[serde(flatten)]
    pub verdict: GrowthVerdict,
    /// What the site can do with so many clients; absent where no site was described, or the model says nothing of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub planned: Option<GrowthPlan>,
}

/// The ceilings of a described site over the number of clients.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct GrowthPlan {
    /// Name of the site.
    pub site: String,
    /// For each number of clients measured, ascending.
    pub points: Vec<PlannedClients>,
}

/// The lowest ceiling of a site with so many clients.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct PlannedClients {
    pub clients: u32,
    /// The ceiling, in client bytes per second.
    pub ceiling_bytes_per_s: f64,
    pub bottleneck: Resource,
    /// Measured, as a share of the ceiling.
    pub measured_share: f64,
}

impl PlannedClients {
    /// A ceiling, with what was measured held against it.
    #[must_use]
    pub fn alongside(measured: &GrowthPoint, bottleneck: Resource, ceiling_bytes_per_s: f64) -> Self {
        let measured_share = measured.throughput.mean / ceiling_bytes_per_s;
        PlannedClients { clients: measured.clients, ceiling_bytes_per_s, bottleneck, measured_share }
    }
}
