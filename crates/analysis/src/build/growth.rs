//! Series that differ in their number of clients alone, side by side.

use crate::growth::{self, GrowthOutcome, GrowthVisit};
use crate::view::{Bottleneck, Growth, Point, Series};

/// What more clients gave, for each workload and size that several numbers of clients drove in closed loops.
pub(super) fn growth(series: &[Series]) -> Vec<Growth> {
    let mut all = Vec::new();
    for (place, first) in series.iter().enumerate() {
        let is_alike = |other: &Series| other.workload == first.workload && other.size == first.size;
        if series[..place].iter().any(is_alike) {
            continue;
        }
        let matching_series: Vec<&Series> = series.iter().filter(|s| is_alike(s) && s.clients.is_some()).collect();
        all.extend(of_series(&matching_series));
    }
    all
}

fn of_series(of: &[&Series]) -> Option<Growth> {
    let first = of.first()?;
    if of.iter().any(|series| series.measure != first.measure || series.points.iter().any(|p| p.open.is_some())) {
        return None;
    }
    let visits: Vec<GrowthVisit> = of.iter().flat_map(|series| visits(series)).collect();
    let mut verdict = growth::judge(&visits)?;
    let largest = of.iter().max_by_key(|series| series.clients)?;
    if largest.limit.as_ref().is_some_and(|limit| limit.bound == Bottleneck::RateCap) {
        verdict.outcome = GrowthOutcome::Capped;
    }
    Some(Growth {
        workload: first.workload.clone(),
        size: first.size.clone(),
        measure: first.measure,
        verdict,
        planned: None,
    })
}

/// The visits of the concurrency that gave most, by the clients that drove it all the time.
fn visits(series: &Series) -> Vec<GrowthVisit> {
    let Some(best) = series.best_point() else { return Vec::new() };
    let visit = |point: &Point| {
        let clients = point.driven_by.or(series.clients)?;
        Some(GrowthVisit { clients, concurrency: best.concurrency, throughput: *point.throughput(series.measure) })
    };
    series.visits_of(best).filter_map(visit).collect()
}
