//! What a described site can do, beside what a run measured.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::path::Path;

use linerate_analysis::evidence::{NotOfSite, is_of_site};
use linerate_analysis::growth::GrowthPoint;
use linerate_analysis::view::{Growth, GrowthPlan, Measure, PlannedClients, PredictedCurve, Series, View};
use linerate_model::plan::{PlanRequest, plan};
use linerate_model::sizing::of_clients;
use linerate_record::load::Workload;
use linerate_record::plan::{Plan, WorkPlan};
use linerate_record::run::{Op, Worded};
use linerate_record::site::Site;

use crate::failure::Failure;
use crate::sites;

/// A site of which the model can say what it does.
///
/// # Errors
/// What is wrong with the file, or with the site's layout.
pub(crate) fn site(path: &Path) -> Result<Site, Failure> {
    let (site, file) = sites::read_site_file(path)?;
    plan(&site, &PlanRequest { seed: sites::SEED, ..PlanRequest::default() })
        .map_err(|error| sites::refused(&error, &site, &file))?;
    Ok(site)
}

/// Adds to each series what the site can do of it. Of loads that the model does not know, nothing is said: mixes,
/// parts of objects, open loops, and what is told in requests.
///
/// # Errors
/// Why the run can be none of the site.
pub(crate) fn add(view: &mut View, site: &Site) -> Result<(), NotOfSite> {
    is_of_site(view, site)?;
    let mut plans = BTreeMap::new();
    for series in &mut view.series {
        series.predicted = curve(series, site, &mut plans);
    }
    for growth in &mut view.growth {
        growth.planned = over_clients(growth, site, &mut plans);
    }
    Ok(())
}

/// The lowest ceiling of the site with each number of clients that was measured. Of clients on the storage nodes, which
/// are as many as these, nothing is said.
fn over_clients(growth: &Growth, site: &Site, plans: &mut Plans) -> Option<GrowthPlan> {
    if growth.measure != Measure::Bytes || site.has_clients_on_nodes() || site.clients.count == 0 {
        return None;
    }
    let place = place_of(&growth.workload)?;
    let object_bytes = growth.size.bytes()?;
    let point = |of: &GrowthPoint| {
        let plan = planned(plans, site, object_bytes, Some(of.clients))?;
        let lowest = plan.works.get(place)?.ceilings.first()?;
        Some(PlannedClients {
            clients: of.clients,
            ceiling_bytes_per_s: lowest.limit_bytes_per_s,
            bottleneck: lowest.resource,
            measured_share: of.throughput.mean / lowest.limit_bytes_per_s,
        })
    };
    let points: Option<Vec<PlannedClients>> = growth.verdict.points.iter().map(point).collect();
    Some(GrowthPlan { site: site.name.clone(), points: points? })
}

/// Where a plan has what is said of a workload.
fn place_of(workload: &Worded<Workload>) -> Option<usize> {
    [Op::Get, Op::Put].iter().position(|op| workload.is_only(*op))
}

/// Plans by size of objects and number of clients.
type Plans = BTreeMap<(u64, Option<u32>), Option<Plan>>;

/// The plan for a size of objects, with so many clients where they are not the site's.
fn planned<'p>(plans: &'p mut Plans, site: &Site, object_bytes: u64, clients: Option<u32>) -> Option<&'p Plan> {
    let asked = || PlanRequest { object_bytes: Some(object_bytes), seed: sites::SEED, ..PlanRequest::default() };
    let with = || clients.map_or_else(|| Cow::Borrowed(site), |clients| Cow::Owned(of_clients(site, clients)));
    plans.entry((object_bytes, clients)).or_insert_with(|| plan(&with(), &asked()).ok()).as_ref()
}

/// The curve of a series, of the plan for its size of objects.
fn curve(series: &Series, site: &Site, plans: &mut Plans) -> Option<PredictedCurve> {
    let is_closed = series.points.iter().all(|point| point.open.is_none());
    let is_told_in_bytes = series.measure == Measure::Bytes && series.range_bytes.is_none();
    let place = place_of(&series.workload)?;
    let object_bytes = series.size.bytes().filter(|_| is_closed && is_told_in_bytes)?;
    let clients = series.clients.filter(|_| site.clients.count > 0 && !site.has_clients_on_nodes());
    let WorkPlan { ceilings, curve, .. } = planned(plans, site, object_bytes, clients)?.works.get(place)?;
    let (lowest, curve) = (ceilings.first()?, curve.as_ref()?);
    let points = curve.points.iter().map(|point| [point.in_flight as f64, point.bytes_per_s]).collect();
    Some(PredictedCurve::beside(series, &site.name, (lowest.resource, lowest.limit_bytes_per_s), points))
}
