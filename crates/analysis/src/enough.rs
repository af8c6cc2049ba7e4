//! Where more concurrency stopped paying.
//!
//! Throughput against concurrency rises, flattens and may fall. The least concurrency that reaches 95 % of the best is
//! where a user should stop: everything above buys at most 5 % of throughput with latency.

use crate::view::{Enough, Measure, Point};

/// The share of the best throughput that is asked of the least concurrency.
pub const SHARE: f64 = 0.95;

/// Finds where more concurrency stopped paying among points of rising concurrency. `None` with fewer than two points,
/// or where nothing succeeded.
#[must_use]
pub fn find(points: &[Point], measure: Measure) -> Option<Enough> {
    let [_, .., last] = points else { return None };
    let mean = |p: &Point| p.throughput(measure).mean;
    let best = points.iter().max_by(|a, b| mean(a).total_cmp(&mean(b)))?;
    if mean(best) <= 0.0 {
        return None;
    }
    let enough = points.iter().find(|p| mean(p) >= SHARE * mean(best))?;
    // Where a lower concurrency was as good, a last point that is best says little: noise favours one of equals.
    let still_rising = enough.point == last.point;
    Some(Enough { concurrency: enough.concurrency, share: SHARE, best_concurrency: best.concurrency, still_rising })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::view::tests::point;

    fn curve(throughputs: &[(u32, f64)]) -> Option<(u32, u32, bool)> {
        let points: Vec<Point> = throughputs.iter().map(|&(c, mib)| point(c, mib)).collect();
        find(&points, Measure::Bytes).map(|e| (e.concurrency, e.best_concurrency, e.still_rising))
    }

    #[test]
    fn the_least_concurrency_near_the_best_is_enough() {
        let warp_on_minio =
            [(1, 761.0), (2, 1098.0), (4, 1320.0), (8, 1315.0), (16, 1289.0), (32, 1281.0), (64, 1322.0)];
        assert_eq!(curve(&warp_on_minio), Some((4, 64, false)));
        assert_eq!(curve(&[(1, 10.0), (2, 20.0), (4, 40.0)]), Some((4, 4, true)));
        assert_eq!(curve(&[(4, 103.0), (8, 89.0), (16, 83.0), (32, 69.0)]), Some((4, 4, false)));
        assert_eq!(curve(&[(1, 96.0), (2, 100.0)]), Some((1, 2, false)));
        assert_eq!(curve(&[(1, 97.0), (2, 60.0), (4, 100.0)]), Some((1, 4, false)));
    }

    #[test]
    fn one_point_or_no_success_has_no_answer() {
        assert_eq!(curve(&[(1, 5.0)]), None);
        assert_eq!(curve(&[(1, 0.0), (2, 0.0)]), None);
    }
}
