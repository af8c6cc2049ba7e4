//! What a described site can do, beside what a run measured.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::path::Path;

use linerate_analysis::evidence::{SiteMismatch, is_of_site};
use linerate_analysis::growth::GrowthPoint;
use linerate_analysis::model_inputs::{self, PredictableLoad};
use linerate_analysis::view::{Growth, GrowthPlan, PlannedClients, PredictedCurve, Series, View};
use linerate_model::plan::{PlanRequest, plan};
use linerate_model::sizing::of_clients;
use linerate_record::plan::{Plan, WorkPlan};
use linerate_record::run::Op;
use linerate_record::site::Site;

use crate::files::site_file;
use crate::terminal::failure::Failure;

/// A site of which the model can say what it does.
///
/// # Errors
/// What is wrong with the file, or with the site's layout.
pub(crate) fn read_modelled_site(path: &Path) -> Result<Site, Failure> {
    let (site, file) = site_file::read_site_file(path)?;
    plan(&site, &PlanRequest { seed: site_file::SEED, ..PlanRequest::default() })
        .map_err(|error| site_file::refused(&error, &site, &file))?;
    Ok(site)
}

/// Adds to each series what the site can do of it, and nothing to those of loads that the model does not know.
///
/// # Errors
/// Why the run can be none of the site.
pub(crate) fn add_predictions(view: &mut View, site: &Site) -> Result<(), SiteMismatch> {
    is_of_site(view, site)?;
    let mut plans = BTreeMap::new();
    for series in &mut view.series {
        series.predicted = curve(series, site, &mut plans);
    }
    for growth in &mut view.growth {
        growth.planned = growth_plan(growth, site, &mut plans);
    }
    Ok(())
}

/// The lowest ceiling of the site with each number of clients that was measured.
fn growth_plan(growth: &Growth, site: &Site, plans: &mut Plans) -> Option<GrowthPlan> {
    let load = model_inputs::over_clients(growth, site)?;
    let point = |growth_point: &GrowthPoint| {
        let lowest = work_plan(plans, site, load(growth_point.clients))?.ceilings.first()?;
        Some(PlannedClients::alongside(growth_point, lowest.resource, lowest.limit_bytes_per_s))
    };
    let points: Option<Vec<PlannedClients>> = growth.verdict.points.iter().map(point).collect();
    Some(GrowthPlan { site: site.name.clone(), points: points? })
}

/// Plans by size of objects and number of clients.
type Plans = BTreeMap<(u64, Option<u32>), Option<Plan>>;

/// What is planned for a load. A plan is of GET, then of PUT.
fn work_plan<'p>(plans: &'p mut Plans, site: &Site, load: PredictableLoad) -> Option<&'p WorkPlan> {
    let PredictableLoad { op, object_bytes, clients } = load;
    let plan_request =
        || PlanRequest { object_bytes: Some(object_bytes), seed: site_file::SEED, ..PlanRequest::default() };
    let with = || clients.map_or_else(|| Cow::Borrowed(site), |clients| Cow::Owned(of_clients(site, clients)));
    let plan = plans.entry((object_bytes, clients)).or_insert_with(|| plan(&with(), &plan_request()).ok()).as_ref()?;
    plan.works.get([Op::Get, Op::Put].iter().position(|of| *of == op)?)
}

/// The curve of a series, of the plan for its size of objects.
fn curve(series: &Series, site: &Site, plans: &mut Plans) -> Option<PredictedCurve> {
    let WorkPlan { ceilings, curve, .. } = work_plan(plans, site, model_inputs::of_series(series, site)?)?;
    let (lowest, curve) = (ceilings.first()?, curve.as_ref()?);
    let points = curve.points.iter().map(|point| [point.in_flight as f64, point.bytes_per_s]).collect();
    Some(PredictedCurve::alongside(series, &site.name, lowest.resource, lowest.limit_bytes_per_s, points))
}
