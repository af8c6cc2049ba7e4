//! The curve by the law of diminishing returns: a factor of concurrency buys no larger factor of throughput than the
//! same factor bought before. Logarithm against logarithm, such a curve is concave.
//!
//! The concave function nearest to the points, in squares of their standard errors, is a chain of lines. It takes a
//! plateau's mean instead of its highest point, which is high by chance, and needs no other assumption on the shape.

use super::visits::Rung;

/// The concave function nearest to the points: `Σ coefficient · column`, the columns being 1, x, and a hinge
/// `−(x − knot)⁺` per knot, with coefficients that are not negative.
pub(super) struct Concave {
    knots: Vec<f64>,
    coefficients: Vec<f64>,
    /// Covariance of the coefficients for the knots as they are.
    covariance: Vec<Vec<f64>>,
    /// Relative variance of one visit, on average.
    visit_variance: f64,
    /// Sum of squares of the residuals, in standard errors.
    pub(super) chi_square: f64,
    pub(super) degrees: usize,
}

/// A point: logarithms of concurrency and throughput, and the relative standard error.
struct LogPoint {
    x: f64,
    y: f64,
    weight: f64,
}

impl Concave {
    /// The curve at a concurrency, as a logarithm.
    pub(super) fn at(&self, concurrency: u32) -> f64 {
        product(&columns(f64::from(concurrency).ln(), &self.knots), &self.coefficients)
    }

    /// Standard error of the difference between the curve at two concurrencies.
    pub(super) fn error_between(&self, one: u32, other: u32) -> f64 {
        let difference = self.difference(one, other);
        product(&self.spread(&difference), &difference).max(0.0).sqrt()
    }

    /// By how much another visit of `rung`, as uncertain as the visits so far, would lower the variance of that
    /// difference.
    pub(super) fn gain(&self, rung: u32, one: u32, other: u32) -> f64 {
        let place = columns(f64::from(rung).ln(), &self.knots);
        let spread = self.spread(&place);
        product(&spread, &self.difference(one, other)).powi(2) / (self.visit_variance + product(&spread, &place))
    }

    fn difference(&self, one: u32, other: u32) -> Vec<f64> {
        let at = |concurrency: u32| columns(f64::from(concurrency).ln(), &self.knots);
        at(one).iter().zip(at(other)).map(|(a, b)| a - b).collect()
    }

    fn spread(&self, columns: &[f64]) -> Vec<f64> {
        self.covariance.iter().map(|row| product(row, columns)).collect()
    }
}

/// Fits the curve by an active set of knots (Lawson and Hanson 1974). `None` below two rungs with a throughput.
pub(super) fn fit(rungs: &[Rung]) -> Option<Concave> {
    let place = |r: &Rung| {
        let relative = r.error / r.throughput.mean;
        LogPoint { x: f64::from(r.concurrency).ln(), y: r.throughput.mean.ln(), weight: relative.powi(-2) }
    };
    let places: Vec<LogPoint> = rungs.iter().filter(|r| r.throughput.mean > 0.0 && r.error > 0.0).map(place).collect();
    if places.len() < 2 {
        return None;
    }
    let mut knots = Vec::new();
    let mut coefficients = solve(&places, &knots)?.0;
    // Each round adds a knot; none is added twice in a row, so that this many are enough.
    for _ in 0..4 * places.len() {
        let Some(knot) = wanting(&places, &knots, &coefficients) else { break };
        knots.push(knot);
        coefficients.push(0.0);
        // Walk towards the free solution; a hinge that would bend upwards on the way is let go where it is straight.
        while let Some((free, _)) = solve(&places, &knots) {
            let stop = |i: usize| (free[i] <= 0.0).then(|| coefficients[i] / (coefficients[i] - free[i]));
            let blocking = (2..free.len()).filter_map(|i| Some((i, stop(i)?))).min_by(|a, b| a.1.total_cmp(&b.1));
            let Some((hinge, share)) = blocking else {
                coefficients = free;
                break;
            };
            for (now, free) in coefficients.iter_mut().zip(&free) {
                *now += share.clamp(0.0, 1.0) * (free - *now);
            }
            coefficients.remove(hinge);
            knots.remove(hinge - 2);
        }
    }
    let (coefficients, covariance) = solve(&places, &knots)?;
    let residual = |p: &LogPoint| p.y - product(&columns(p.x, &knots), &coefficients);
    let chi_square = places.iter().map(|p| residual(p).powi(2) * p.weight).sum();
    let degrees = places.len().saturating_sub(coefficients.len());
    let visits: f64 = rungs.iter().map(|r| f64::from(r.visits.max(1))).sum();
    let weight: f64 = places.iter().map(|p| p.weight).sum();
    Some(Concave { knots, coefficients, covariance, visit_variance: visits / weight, chi_square, degrees })
}

/// The place where another knot would better the fit most; `None` where none would.
fn wanting(places: &[LogPoint], knots: &[f64], coefficients: &[f64]) -> Option<f64> {
    let off: Vec<f64> = places.iter().map(|p| p.y - product(&columns(p.x, knots), coefficients)).collect();
    let pull = |knot: f64| -> f64 {
        let (mut along, mut length) = (0.0, 0.0);
        for (place, off) in places.iter().zip(&off).filter(|(p, _)| p.x > knot) {
            let bend = knot - place.x;
            along += bend * off * place.weight;
            length += bend * bend * place.weight;
        }
        along / length.sqrt()
    };
    let inner = &places[1..places.len() - 1];
    let open = inner.iter().map(|p| p.x).filter(|x| !knots.contains(x));
    let (knot, pull) = open.map(|x| (x, pull(x))).max_by(|a, b| a.1.total_cmp(&b.1))?;
    (pull > 1e-6).then_some(knot)
}

fn columns(x: f64, knots: &[f64]) -> Vec<f64> {
    [1.0, x].into_iter().chain(knots.iter().map(|knot| -(x - knot).max(0.0))).collect()
}

fn product(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// Weighted least squares: coefficients and their covariance, by Gauss and Jordan on the normal equations beside the
/// unit matrix. `None` where the columns depend on each other.
fn solve(places: &[LogPoint], knots: &[f64]) -> Option<(Vec<f64>, Vec<Vec<f64>>)> {
    let size = knots.len() + 2;
    let mut rows = vec![vec![0.0; 2 * size]; size];
    let mut right = vec![0.0; size];
    for place in places {
        let columns = columns(place.x, knots);
        for (i, a) in columns.iter().enumerate() {
            right[i] += a * place.y * place.weight;
            for (j, b) in columns.iter().enumerate() {
                rows[i][j] += a * b * place.weight;
            }
        }
    }
    let diagonal: Vec<f64> = (0..size).map(|i| rows[i][i]).collect();
    for (i, row) in rows.iter_mut().enumerate() {
        row[size + i] = 1.0;
    }
    for pivot in 0..size {
        let by = rows[pivot][pivot];
        if by <= 1e-10 * diagonal[pivot] || by <= 0.0 {
            return None;
        }
        rows[pivot].iter_mut().for_each(|v| *v /= by);
        let pivoted = rows[pivot].clone();
        for (_, row) in rows.iter_mut().enumerate().filter(|(i, _)| *i != pivot) {
            let factor = row[pivot];
            row.iter_mut().zip(&pivoted).for_each(|(v, p)| *v -= factor * p);
        }
    }
    let covariance: Vec<Vec<f64>> = rows.iter().map(|row| row[size..].to_vec()).collect();
    Some((covariance.iter().map(|row| product(row, &right)).collect(), covariance))
}

/// The 99 % quantile of χ², by Wilson and Hilferty (1931): within 1 % from one degree on, less above.
pub(super) fn chi_square_99(degrees: f64) -> f64 {
    if degrees <= 0.0 {
        return 0.0;
    }
    const Z: f64 = 2.326_348;
    let part = 2.0 / (9.0 * degrees);
    degrees * (1.0 - part + Z * part.sqrt()).powi(3)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::estimate::Estimate;

    fn rungs(points: &[(u32, f64)], relative: f64) -> Vec<Rung> {
        let rung = |(index, &(concurrency, mean)): (usize, &(u32, f64))| Rung {
            index,
            concurrency,
            throughput: Estimate { mean, ..Estimate::default() },
            error: mean * relative,
            ..Rung::default()
        };
        points.iter().enumerate().map(rung).collect()
    }

    #[test]
    fn a_concave_curve_is_met_and_a_plateau_averaged() {
        let roof = [(1, 10.0), (2, 20.0), (4, 40.0), (8, 60.0), (16, 61.0), (32, 60.0), (64, 61.0)];
        let curve = fit(&rungs(&roof, 0.01)).unwrap();
        for (concurrency, exact) in &roof[..4] {
            assert!((curve.at(*concurrency).exp() / exact - 1.0).abs() < 0.01, "{concurrency}");
        }
        let plateau = curve.at(32).exp();
        assert!((60.2..60.8).contains(&plateau), "{plateau}");
        assert!(curve.chi_square < 5.0, "{}", curve.chi_square);
    }

    #[test]
    fn what_bends_upwards_is_told_by_its_residuals() {
        let stairs = [(1, 10.0), (2, 10.0), (4, 10.0), (8, 40.0), (16, 40.0)];
        assert!(fit(&rungs(&stairs, 0.01)).unwrap().chi_square > 100.0);
        assert!(fit(&rungs(&stairs[..1], 0.01)).is_none());
    }

    #[test]
    fn the_error_of_a_difference_is_that_of_least_squares() {
        // Two points, no knots: the difference is that of the points.
        let two = fit(&rungs(&[(1, 10.0), (4, 20.0)], 0.01)).unwrap();
        assert!((two.error_between(1, 4) - 0.01 * 2f64.sqrt()).abs() < 1e-9);
        assert!((two.error_between(1, 2) - 0.005 * 2f64.sqrt()).abs() < 1e-9);
    }
    #[test]
    fn quantiles_of_chi_square_match_the_tables() {
        for (degrees, table) in [(1.0, 6.635), (2.0, 9.210), (6.0, 16.812), (20.0, 37.566)] {
            assert!((chi_square_99(degrees) / table - 1.0).abs() < 0.02, "{degrees}");
        }
    }
}
