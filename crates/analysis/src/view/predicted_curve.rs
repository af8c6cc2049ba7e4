//! What a described site can do, beside what a series measured of it.

use linerate_record::plan::Resource;
use serde::{Deserialize, Serialize};

use super::Series;

/// Throughput of a site over requests in flight, as `linerate plan` has it, and what was measured as shares of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PredictedCurve {
    /// Name of the site.
    pub site: String,
    /// Its lowest ceiling, in client bytes per second.
    pub ceiling_bytes_per_s: f64,
    pub bottleneck: Resource,
    /// Requests in flight of all clients together, ascending, and the bytes per second that they give.
    pub points: Vec<[f64; 2]>,
    /// The concurrency that gave most; absent, like what follows, where nothing was measured.
    pub in_flight: Option<u32>,
    /// What the curve gives there.
    pub at_bytes_per_s: Option<f64>,
    /// Measured there, as a share of what the curve gives.
    pub curve_share: Option<f64>,
    /// The same as a share of the ceiling.
    pub ceiling_share: Option<f64>,
}

impl PredictedCurve {
    /// A curve, with the best of a series held against it.
    #[must_use]
    pub fn alongside(
        series: &Series,
        site: &str,
        bottleneck: Resource,
        ceiling_bytes_per_s: f64,
        points: Vec<[f64; 2]>,
    ) -> Self {
        let best = series.best_point().zip(series.best());
        let at = best.and_then(|(point, _)| at(&points, f64::from(point.concurrency)));
        PredictedCurve {
            site: site.to_owned(),
            ceiling_bytes_per_s,
            bottleneck,
            in_flight: best.map(|(point, _)| point.concurrency),
            at_bytes_per_s: at,
            curve_share: best.zip(at).map(|((_, best), at)| best.mean / at),
            ceiling_share: best.map(|(_, best)| best.mean / ceiling_bytes_per_s),
            points,
        }
    }
}

/// A curve between its points: straight from one to the next, and level beyond the last.
fn at(points: &[[f64; 2]], in_flight: f64) -> Option<f64> {
    let above = points.iter().position(|point| point[0] >= in_flight);
    let [to_x, to] = match above {
        Some(place) => points[place],
        None => return points.last().map(|point| point[1]),
    };
    let [from_x, from] = above.and_then(|place| points.get(place.checked_sub(1)?)).copied().unwrap_or([0.0, 0.0]);
    Some(from + (to - from) * (in_flight - from_x) / (to_x - from_x))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::build::build;
    use crate::build::tests::records;

    #[test]
    fn a_curve_is_straight_between_its_points_and_level_beyond() {
        let points = [[1.0, 100.0], [4.0, 250.0], [8.0, 270.0]];
        for (in_flight, expected) in [(1.0, 100.0), (2.0, 150.0), (4.0, 250.0), (6.0, 260.0), (64.0, 270.0)] {
            assert_eq!(at(&points, in_flight), Some(expected), "{in_flight}");
        }
        assert_eq!(at(&[[4.0, 200.0]], 1.0), Some(50.0), "from nothing to the first");
        assert_eq!(at(&[], 1.0), None);
    }

    #[test]
    fn the_best_is_held_against_the_curve_at_its_concurrency() {
        let view = build(&records(&[1, 4], |concurrency| 5 * u64::from(concurrency))).unwrap();
        let mib = f64::from(1 << 20);
        let curve = vec![[1.0, 100.0 * mib], [4.0, 400.0 * mib]];
        let held = PredictedCurve::alongside(&view.series[0], "lab", Resource::EntryNode, 800.0 * mib, curve);
        assert_eq!((held.in_flight, held.at_bytes_per_s), (Some(4), Some(400.0 * mib)));
        let shares = [held.curve_share, held.ceiling_share].map(Option::unwrap);
        let best = view.series[0].best().unwrap().mean;
        assert!(best > 100.0 * mib, "{best}");
        assert_eq!(shares, [best / (400.0 * mib), best / (800.0 * mib)]);
    }
}
