//! The share of requests over a bound, and how far it is known: one calculation for a point alone and for all points of
//! a rate, from which the interval and the verdict follow.

use serde::{Deserialize, Serialize};

use super::BoundVerdict;
use crate::{estimate, student};

/// A share from a fifth of what is allowed to ten times of it tells how slow requests come together: a stop of half a
/// second takes up six times what a p99 allows of nine seconds. What lies more than half way from what is allowed to
/// all of them is overload, of which requests at a rate that is kept know nothing.
const NEAR_BELOW: f64 = 5.0;
const NEAR_ABOVE: f64 = 10.0;

/// In a time in which so many stops are expected, there is none in 5 % of times.
const RULE_OF_THREE: f64 = 3.0;

/// Requests whose fate is known, those of them that took longer than a bound, and what that tells.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ExceedanceShare {
    /// Requests whose fate is known.
    pub count: u64,
    /// Those of them that took longer, or failed.
    pub over: u64,
    /// How many independent requests they are worth: slow requests come together, so a share of them is less certain
    /// than that of as many coin tosses.
    pub effective: f64,
    /// Degrees of freedom with which `effective` is known; `None` where requests count as independent.
    pub freedom: Option<f64>,
    /// The time in which they were counted, in milliseconds.
    pub measured_ms: u64,
}

impl ExceedanceShare {
    /// The share, given `(requests, requests over the bound)` of the intervals of a point that together take
    /// `measured_ms`. What it varies by is read off its slow movements, as that of any mean.
    #[must_use]
    pub fn of_intervals(intervals: &[(u64, u64)], measured_ms: u64) -> Self {
        let (count, over) = intervals.iter().fold((0, 0), |sum, i| (sum.0 + i.0, sum.1 + i.1));
        let independent = ExceedanceShare { count, over, effective: count as f64, freedom: None, measured_ms };
        // None or all over tells nothing of how they come together.
        if over == 0 || over == count {
            return independent;
        }
        let (n, share) = (count as f64, over as f64 / count as f64);
        // What each interval adds to the error of the share, scaled so that the mean of it is the error.
        let per_interval = n / intervals.len() as f64;
        let off: Vec<f64> = intervals.iter().map(|&(n, o)| (o as f64 - share * n as f64) / per_interval).collect();
        let Some(half) = estimate::mean_with_interval(&off).half_width_95 else { return independent };
        let error = estimate::standard_error(half, off.len());
        ExceedanceShare {
            effective: worth(share, error.powi(2), n),
            freedom: Some(estimate::freedom(off.len())),
            ..independent
        }
    }

    /// The share of several points together. It varies by what each varies by, and by no less than what they differ by:
    /// this is known with one degree of freedom less than there are points.
    #[must_use]
    pub fn together(points: &[ExceedanceShare]) -> Self {
        let (count, over) = points.iter().fold((0, 0), |sum, p| (sum.0 + p.count, sum.1 + p.over));
        let known = points.iter().filter_map(|p| p.freedom).reduce(|all, one| all + one);
        let (effective, measured_ms) =
            points.iter().fold((0.0, 0), |sum, p| (sum.0 + p.effective, sum.1 + p.measured_ms));
        let within = ExceedanceShare { count, over, effective, freedom: known, measured_ms };
        if points.len() < 2 || over == 0 || over == count {
            return within;
        }
        let (n, share, points_less_1) = (count as f64, within.share(), points.len() as f64 - 1.0);
        let off = points.iter().map(|p| ((p.over as f64 - share * p.count as f64) / n).powi(2)).sum::<f64>();
        let between = worth(share, off * (1.0 + 1.0 / points_less_1), n);
        if between < within.effective {
            // Of so many differences the variance is, however well it is known what each point varies by.
            let freedom = known.map_or(points_less_1, |freedom| freedom.min(points_less_1));
            ExceedanceShare { effective: between, freedom: Some(freedom), ..within }
        } else {
            within
        }
    }

    /// The share, from 0 to 1; 0 where no fate is known.
    #[must_use]
    pub fn share(&self) -> f64 {
        self.over as f64 / self.count.max(1) as f64
    }

    /// The longest stop, in milliseconds, of which this time rules out at 95 % that it makes more requests slow than
    /// allowed. A stop is a time in which requests that fall due take longer than the bound. Stops that come at random
    /// and take up the share allowed are absent from a time in which three are expected in 5 % of times (the rule of
    /// three: Hanley and Lippman-Hand, JAMA 249, 1983). Of longer ones three are expected in a longer time only: that
    /// few requests were slow says nothing of them.
    #[must_use]
    pub fn stop_ruled_out_ms(&self, allowed: f64) -> f64 {
        self.measured_ms as f64 * allowed / RULE_OF_THREE
    }

    /// Wilson's interval (JASA 22, 1927) of the share for as many independent requests as these are worth, so that it
    /// has ends where none or all were over. `confidence` is 0.95 or 0.99, by Student's t where the worth is estimated.
    #[must_use]
    pub fn interval(&self, confidence: f64) -> [f64; 2] {
        if self.count == 0 {
            return [0.0, 1.0];
        }
        let (share, worth) = (self.share(), self.effective.max(1.0));
        // At so many degrees of freedom Student's t is the normal distribution.
        let t = student::quantile(0.5 + confidence / 2.0, self.freedom.unwrap_or(1e6));
        let middle = (share + t * t / (2.0 * worth)) / (1.0 + t * t / worth);
        let half = t / (1.0 + t * t / worth) * (share * (1.0 - share) / worth + (t / (2.0 * worth)).powi(2)).sqrt();
        [(middle - half).max(0.0), (middle + half).min(1.0)]
    }
}

/// As how many independent requests a share with that variance is known, of `count`.
fn worth(share: f64, variance: f64, count: f64) -> f64 {
    (share * (1.0 - share) / variance.max(f64::MIN_POSITIVE)).clamp(1.0, count.max(1.0))
}

/// How many requests are worth one, by the points whose share is near that allowed: a point in which few were slow does
/// not know how they come together.
pub(crate) fn clumping<'a>(points: impl Iterator<Item = &'a ExceedanceShare>, allowed: f64) -> f64 {
    let most = (allowed * NEAR_ABOVE).min(0.5 * (1.0 + allowed));
    let near = |p: &&ExceedanceShare| (allowed / NEAR_BELOW..=most).contains(&p.share()) && p.freedom.is_some();
    let (sum, count) = points
        .filter(near)
        .fold((0.0, 0.0), |(sum, count), p| (sum + p.count as f64 / p.effective.max(1.0), count + 1.0));
    if count > 0.0 { sum / count } else { 1.0 }
}

/// The share with requests worth no more than one in `clumping`.
pub(crate) fn clumped(point: &ExceedanceShare, clumping: f64) -> ExceedanceShare {
    let effective = point.effective.min(point.count as f64 / clumping).max(1.0);
    ExceedanceShare { effective, ..*point }
}

/// What all points of a rate together tell of a bound: what the verdict of a search rests on.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct RateExceedance {
    /// Points of the rate.
    pub points: u32,
    /// The share of their requests that took longer, from 0 to 1.
    pub share: f64,
    /// Its 99 % interval, since a search looks at many rates.
    pub share_99: [f64; 2],
    /// The longest stop that they rule out, in milliseconds: [`ExceedanceShare::stop_ruled_out_ms`]; absent in views of
    /// versions without it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stop_ruled_out_ms: Option<f64>,
}

/// What an interval of a share shows of a bound: held where all of it is within what is allowed, missed where all of it
/// is beyond, or where the rate was not reached.
#[must_use]
pub fn shown([low, high]: [f64; 2], allowed: f64, is_reached: bool) -> BoundVerdict {
    if !is_reached || low > allowed {
        BoundVerdict::Missed
    } else if high <= allowed {
        BoundVerdict::Held
    } else {
        BoundVerdict::InDoubt
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_points_differ_by_is_known_by_one_degree_of_freedom_less_than_there_are_points() {
        let point = |over: u64| {
            let intervals: Vec<(u64, u64)> = (0..100).map(|i| (100, over + i % 2)).collect();
            ExceedanceShare::of_intervals(&intervals, 10_000)
        };
        let (apart, alike) = ([point(2), point(9)], [point(5), point(5)]);
        let within = apart[0].freedom.unwrap() + apart[1].freedom.unwrap();
        assert_eq!(ExceedanceShare::together(&apart).freedom, Some(1.0));
        assert_eq!(ExceedanceShare::together(&[apart[0], apart[1], point(5)]).freedom, Some(2.0));
        assert_eq!(ExceedanceShare::together(&alike).freedom, Some(within));
    }
}
