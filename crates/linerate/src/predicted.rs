//! What a described site can do, beside what a run measured.

use std::path::Path;

use linerate_analysis::view::{Measure, PredictedCurve, Series, View};
use linerate_model::plan::{PlanRequest, plan};
use linerate_record::plan::WorkPlan;
use linerate_record::site::Site;
use linerate_record::units::Bytes;

use crate::failure::Failure;
use crate::{evidence, sites};

/// Of how flows are placed: the same site gives the same curve.
const SEED: u64 = 1;

/// A site of which the model can say what it does.
///
/// # Errors
/// What is wrong with the file, or with the site's layout.
pub(crate) fn site(path: &Path) -> Result<Site, Failure> {
    let (site, file) = sites::read_site_file(path)?;
    plan(&site, &PlanRequest { seed: SEED, ..PlanRequest::default() })
        .map_err(|error| sites::refused(&error, &site, &file))?;
    Ok(site)
}

/// Adds to each series what the site can do of it. Of loads that the model does not know, nothing is said: mixes,
/// parts of objects, open loops, and what is told in requests.
///
/// # Errors
/// Why the run can be none of the site.
pub(crate) fn add(view: &mut View, site: &Site) -> Result<(), String> {
    evidence::of_run(view, site)?;
    for series in &mut view.series {
        series.predicted = curve(series, site);
    }
    Ok(())
}

fn curve(series: &Series, site: &Site) -> Option<PredictedCurve> {
    let is_closed = series.points.iter().all(|point| point.open.is_none());
    let is_told_in_bytes = series.measure == Measure::Bytes && series.range_bytes.is_none();
    let place = ["get", "put"].iter().position(|workload| *workload == series.workload)?;
    let object_bytes = series.size.parse::<Bytes>().ok().filter(|_| is_closed && is_told_in_bytes)?.0;
    let asked = PlanRequest { object_bytes: Some(object_bytes), seed: SEED, ..PlanRequest::default() };
    let plan = plan(site, &asked).ok()?;
    let WorkPlan { ceilings, curve, .. } = plan.works.get(place)?;
    let (lowest, curve) = (ceilings.first()?, curve.as_ref()?);
    let points = curve.points.iter().map(|point| [point.in_flight as f64, point.bytes_per_s]).collect();
    Some(PredictedCurve::beside(series, &site.name, (lowest.resource, lowest.limit_bytes_per_s), points))
}
