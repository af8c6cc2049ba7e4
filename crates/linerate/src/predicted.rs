//! What a described site can do, beside what a run measured.

use std::collections::BTreeMap;
use std::path::Path;

use linerate_analysis::evidence::{NotOfSite, is_of_site};
use linerate_analysis::view::{Measure, PredictedCurve, Series, View};
use linerate_model::plan::{PlanRequest, plan};
use linerate_record::plan::{Plan, WorkPlan};
use linerate_record::run::Op;
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
    Ok(())
}

/// The curve of a series, of the plan for its size of objects.
fn curve(series: &Series, site: &Site, plans: &mut BTreeMap<u64, Option<Plan>>) -> Option<PredictedCurve> {
    let is_closed = series.points.iter().all(|point| point.open.is_none());
    let is_told_in_bytes = series.measure == Measure::Bytes && series.range_bytes.is_none();
    let place = [Op::Get, Op::Put].iter().position(|op| series.workload.is_only(*op))?;
    let object_bytes = series.size.bytes().filter(|_| is_closed && is_told_in_bytes)?;
    let asked = || PlanRequest { object_bytes: Some(object_bytes), seed: sites::SEED, ..PlanRequest::default() };
    let plan = plans.entry(object_bytes).or_insert_with(|| plan(site, &asked()).ok());
    let WorkPlan { ceilings, curve, .. } = plan.as_ref()?.works.get(place)?;
    let (lowest, curve) = (ceilings.first()?, curve.as_ref()?);
    let points = curve.points.iter().map(|point| [point.in_flight as f64, point.bytes_per_s]).collect();
    Some(PredictedCurve::beside(series, &site.name, (lowest.resource, lowest.limit_bytes_per_s), points))
}
