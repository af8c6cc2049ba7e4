//! The highest rate of requests at which a service-level objective holds, and the search for it.
//!
//! Requests come at a rate of their own (open loop). At one rate, the objective holds if no more than the share
//! allowed of them takes longer than the bound: 1 % for a p99. [`RateSearch`] doubles the rate until the objective is
//! missed, then narrows the rates between the highest at which it is shown to hold and the lowest at which it is shown
//! to be missed. What lies between stays in doubt, and is told. Method: `docs/method/knee.md`.

use serde::{Deserialize, Serialize};

use crate::estimate;

/// A share over the bound is held against the share allowed by the score test at this many standard errors: 99 % for
/// one rate, since a search looks at many.
const Z: f64 = 2.576;

/// The same of an interval at 95 %.
const Z_95: f64 = 1.96;

/// Requests over the bound that a point should expect where just the share allowed takes longer: a share a third below
/// or above it is then told from it.
const OVER_EXPECTED: f64 = 50.0;

/// A rate counts as not reached below this share of it, less what chance does to the count of what ended.
const REACHED: f64 = 0.98;

/// Shares beyond this multiple of that allowed are not averaged as what they are: one overload would outweigh all.
const EXCEEDS_MAX: f64 = 3.0;

/// Most points of a search, whatever the data do.
const POINTS_MAX: usize = 48;

/// Most visits of one rate.
const VISITS_MAX: u32 = 3;

/// What a search may ask for. Rates are requests per second.
#[derive(Clone, Debug, PartialEq)]
pub struct RateSearchLimits {
    /// For each bound of the objective, the share of requests that may take longer, 0 to 1: 0.01 for a p99.
    pub shares_over: Vec<f64>,
    /// Lowest rate.
    pub lowest_per_s: f64,
    /// The rate to begin with.
    pub start_per_s: f64,
    /// Highest rate.
    pub highest_per_s: f64,
    /// The search ends when the rates in doubt are within this share of each other.
    pub precision: f64,
    /// Longest time of one point, warm-up included, in milliseconds.
    pub point_ms: u64,
    /// Longest time of all points together, warm-ups included, in milliseconds.
    pub budget_ms: u64,
}

impl RateSearchLimits {
    /// Rates from 1/s to 10 million/s, beginning with 100/s; a precision of 5 %, points of 10 s, three minutes in all.
    #[must_use]
    pub const fn new(shares_over: Vec<f64>) -> Self {
        RateSearchLimits {
            shares_over,
            lowest_per_s: 1.0,
            start_per_s: 100.0,
            highest_per_s: 1e7,
            precision: 0.05,
            point_ms: 10_000,
            budget_ms: 180_000,
        }
    }
}

/// What to do next.
#[derive(Clone, Debug, PartialEq)]
pub enum RateSearchStep {
    /// Measure a point, and tell [`RateSearch::observe`] of it.
    Measure(RateProbe),
    /// There is nothing more to measure.
    Done(RateSearchResult),
}

/// A point that the search asks for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RateProbe {
    /// Requests per second.
    pub rate_per_s: f64,
    /// Requests due after the warm-up with which the point may end, since they tell enough.
    pub requests: u64,
    /// Longest time, warm-up included, in milliseconds.
    pub at_most_ms: u64,
}

/// One visit of a rate: a point that was measured.
#[derive(Clone, Debug, PartialEq)]
pub struct RateVisit {
    /// Requests per second that were asked for.
    pub rate_per_s: f64,
    /// Requests per second that ended.
    pub achieved_per_s: f64,
    /// Requests that were due in the time measured, those that failed or were never sent included.
    pub count: u64,
    /// How many independent requests `count` is worth for each bound, by [`effective`]; `count` where unknown.
    pub effective: Vec<f64>,
    /// For each bound, how many took longer from their intended start; those that failed or were never sent included.
    pub over: Vec<u64>,
    /// By how many requests what ended may fall short of what was asked by chance: [`chance`].
    pub chance: f64,
    /// Time that the point took, warm-up included, in milliseconds.
    pub spent_ms: u64,
}

/// How a search ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RateSearchOutcome {
    /// There is a rate at which the objective holds, and a higher one at which it does not.
    Found,
    /// Even the lowest rate misses it.
    NoneHolds,
    /// The highest rate allowed holds it.
    NeverMissed,
}

/// The highest rate at which the objective holds, as far as the data tell.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RateSearchResult {
    /// How the search ended.
    pub outcome: RateSearchOutcome,
    /// The highest rate below `misses_per_s` measured with a share over the bound of no more than allowed; absent where
    /// there was none.
    pub rate_per_s: Option<f64>,
    /// The highest rate below `misses_per_s` that is shown to hold; absent where none is.
    pub holds_per_s: Option<f64>,
    /// The lowest rate that is shown to miss; absent where none is.
    pub misses_per_s: Option<f64>,
    /// The highest rate above `misses_per_s` that is shown to hold, though no such rate should; absent where none is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub holds_above_per_s: Option<f64>,
    /// Points measured.
    pub points: u32,
    /// Time of all points, warm-ups included, in milliseconds.
    pub spent_ms: u64,
}

/// How many independent requests those of a point are worth, given `(requests, requests over the bound)` of its
/// intervals: slow requests come together, so a share of them is less certain than that of as many coin tosses.
#[must_use]
pub fn effective(intervals: &[(u64, u64)]) -> f64 {
    let count: u64 = intervals.iter().map(|i| i.0).sum();
    let over: u64 = intervals.iter().map(|i| i.1).sum();
    let share = over as f64 / count.max(1) as f64;
    if over == 0 || over == count || intervals.len() < 2 {
        return count as f64;
    }
    // What each interval adds to the error of the share, scaled so that the mean of it is the error.
    let per_interval = count as f64 / intervals.len() as f64;
    let off: Vec<f64> = intervals.iter().map(|&(n, o)| (o as f64 - share * n as f64) / per_interval).collect();
    let worth = estimate::mean_with_interval(&off).effective;
    let n = off.len() as f64;
    let variance = off.iter().map(|e| e * e).sum::<f64>() / (n - 1.0) / worth;
    (share * (1.0 - share) / variance.max(f64::MIN_POSITIVE)).clamp(1.0, count as f64)
}

/// By how many requests a count of `due` may be off by chance, at three standard errors. Requests that fall due at
/// random scatter by the root of their number. Those that fall due evenly do not scatter at all: only how many are
/// outstanding at either end does.
#[must_use]
pub fn chance(at_random: bool, due: u64, outstanding: u64) -> f64 {
    3.0 * ((if at_random { due } else { outstanding } + 1) as f64).sqrt()
}

/// The 95 % interval of the share of requests over a bound, given `(requests, requests over the bound)` of intervals.
/// What the share varies by is read off its slow movements, as that of any mean; the interval is Wilson's (JASA 22,
/// 1927) for as many independent requests as that is worth, so that it has ends where none or all were over.
#[must_use]
pub fn share_interval(intervals: &[(u64, u64)]) -> [f64; 2] {
    let (count, over) = intervals.iter().fold((0, 0), |sum, i| (sum.0 + i.0, sum.1 + i.1));
    if count == 0 {
        return [0.0, 1.0];
    }
    let (n, share) = (count as f64, over as f64 / count as f64);
    let per_interval = n / intervals.len() as f64;
    let off: Vec<f64> = intervals.iter().map(|&(n, o)| (o as f64 - share * n as f64) / per_interval).collect();
    let known = estimate::mean_with_interval(&off).half_width_95;
    // None or all over tells nothing of how they come together.
    let known = known.filter(|_| over > 0 && over < count);
    let t = if known.is_some() { estimate::student_t_975(estimate::freedom(off.len())) } else { Z_95 };
    let worth = known.map_or(n, |half| {
        let variance = (half / t).powi(2).max(f64::MIN_POSITIVE);
        (share * (1.0 - share) / variance).clamp(1.0, n)
    });
    let middle = (share + t * t / (2.0 * worth)) / (1.0 + t * t / worth);
    let half = t / (1.0 + t * t / worth) * (share * (1.0 - share) / worth + (t / (2.0 * worth)).powi(2)).sqrt();
    [(middle - half).max(0.0), (middle + half).min(1.0)]
}

/// What is shown of a bound at a rate.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum BoundVerdict {
    /// That it is held.
    Held,
    /// That it is missed, or the rate was not reached.
    Missed,
    /// Neither.
    #[default]
    InDoubt,
}

/// What is shown of several bounds together: they are held where each is, and missed where one is.
#[must_use]
pub fn together(verdicts: impl IntoIterator<Item = BoundVerdict>) -> BoundVerdict {
    verdicts.into_iter().fold(BoundVerdict::Held, |all, one| match (all, one) {
        (BoundVerdict::Missed, _) | (_, BoundVerdict::Missed) => BoundVerdict::Missed,
        (BoundVerdict::Held, BoundVerdict::Held) => BoundVerdict::Held,
        _ => BoundVerdict::InDoubt,
    })
}

/// All visits of one rate.
#[derive(Clone, Debug)]
struct Level {
    rate: f64,
    /// Of each bound, and of all together.
    verdicts: Vec<BoundVerdict>,
    verdict: BoundVerdict,
    /// Share over the bound, as a multiple of that allowed; of several bounds the largest.
    exceeds: f64,
    requests: f64,
    visits: u32,
}

/// A search for the highest rate. It keeps what was asked and measured; the rest follows from that.
#[derive(Clone, Debug)]
pub struct RateSearch {
    limits: RateSearchLimits,
    visits: Vec<RateVisit>,
}

impl RateSearch {
    /// A search that has measured nothing.
    #[must_use]
    pub const fn new(limits: RateSearchLimits) -> Self {
        RateSearch { limits, visits: Vec::new() }
    }

    /// What to do next. At most [`RateSearchLimits::budget_ms`] and a fixed number of points are asked for.
    #[must_use]
    pub fn next(&self) -> RateSearchStep {
        let levels = levels(&self.visits, &self.limits.shares_over);
        let left = self.limits.budget_ms.saturating_sub(self.visits.iter().map(|v| v.spent_ms).sum());
        let enough = self.visits.is_empty() || left >= self.limits.point_ms / 2;
        let asked = next_rate(&levels, &self.limits).filter(|_| enough && self.visits.len() < POINTS_MAX);
        match asked {
            Some(rate_per_s) => RateSearchStep::Measure(RateProbe {
                rate_per_s,
                requests: (OVER_EXPECTED / self.limits.shares_over.iter().copied().fold(1.0, f64::min)) as u64,
                at_most_ms: self.limits.point_ms.min(left),
            }),
            None => RateSearchStep::Done(judge(&self.visits, &self.limits)),
        }
    }

    /// Tells of a point that was measured.
    pub fn observe(&mut self, measured: RateVisit) {
        self.visits.push(measured);
    }
}

/// What points of any rates, in any order, tell of the highest rate at which the objective holds.
#[must_use]
pub fn judge(visits: &[RateVisit], limits: &RateSearchLimits) -> RateSearchResult {
    let levels = levels(visits, &limits.shares_over);
    let (holds, misses) = bracket(&levels);
    let below = levels.iter().take_while(|l| misses.is_none_or(|m| l.rate < m)).count();
    let above = levels[below..].iter().rev().find(|l| l.verdict == BoundVerdict::Held);
    // What leans on rates beyond one that is shown to miss would contradict it.
    let leaning = highest_leaning(&levels[..below]);
    let rate_per_s = if leaning < holds { holds } else { leaning };
    let topmost = rate_per_s.is_some_and(|r| r >= limits.highest_per_s);
    let outcome = match rate_per_s {
        None => RateSearchOutcome::NoneHolds,
        Some(_) if topmost && misses.is_none() => RateSearchOutcome::NeverMissed,
        Some(_) => RateSearchOutcome::Found,
    };
    RateSearchResult {
        outcome,
        rate_per_s,
        holds_per_s: holds,
        misses_per_s: misses,
        holds_above_per_s: above.map(|l| l.rate),
        points: u32::try_from(visits.len()).unwrap_or(u32::MAX),
        spent_ms: visits.iter().map(|v| v.spent_ms).sum(),
    }
}

/// What points of any rates tell of each bound at each rate, by rising rates: what [`judge`] judges by.
#[must_use]
pub fn verdicts(visits: &[RateVisit], limits: &RateSearchLimits) -> Vec<(f64, Vec<BoundVerdict>)> {
    levels(visits, &limits.shares_over).into_iter().map(|level| (level.rate, level.verdicts)).collect()
}

/// The rates that were visited, rising.
fn levels(visits: &[RateVisit], shares_over: &[f64]) -> Vec<Level> {
    let mut rates: Vec<f64> = visits.iter().map(|v| v.rate_per_s).collect();
    rates.sort_unstable_by(f64::total_cmp);
    rates.dedup();
    let worths: Vec<f64> = (0..shares_over.len()).map(|bound| worth(visits, bound, shares_over[bound])).collect();
    let level = |rate: f64| {
        let at: Vec<&RateVisit> = visits.iter().filter(|v| v.rate_per_s == rate).collect();
        level(rate, &at, shares_over, &worths)
    };
    rates.into_iter().map(level).collect()
}

/// What one request is worth, by the visit where it is worth least of those whose share over a bound is within five
/// times that allowed: a visit in which few were slow does not know how they come together.
fn worth(visits: &[RateVisit], bound: usize, allowed: f64) -> f64 {
    let share = |v: &RateVisit| v.over.get(bound).map_or(0.0, |&over| over as f64 / v.count.max(1) as f64);
    let near = visits.iter().filter(|v| (allowed / 5.0..=allowed * 5.0).contains(&share(v)));
    near.filter_map(|v| Some(v.effective.get(bound)? / v.count.max(1) as f64)).fold(1.0, f64::min)
}

/// The highest rate whose share over each bound is no more than allowed, with shares made to rise with the rate: those
/// of neighbours that fall are averaged.
fn highest_leaning(levels: &[Level]) -> Option<f64> {
    let mut blocks: Vec<(f64, f64, f64)> = Vec::new();
    for level in levels {
        let mut block = (level.exceeds.min(EXCEEDS_MAX) * level.requests, level.requests, level.rate);
        while let Some(before) = blocks.pop_if(|b| b.0 * block.1 > block.0 * b.1) {
            block = (block.0 + before.0, block.1 + before.1, block.2);
        }
        blocks.push(block);
    }
    blocks.iter().rev().find(|b| b.0 <= b.1).map(|b| b.2)
}

fn level(rate: f64, at: &[&RateVisit], shares_over: &[f64], worths: &[f64]) -> Level {
    let count: u64 = at.iter().map(|v| v.count).sum();
    let achieved = at.iter().map(|v| v.achieved_per_s * v.count as f64).sum::<f64>() / count.max(1) as f64;
    let chance = at.iter().map(|v| v.chance.powi(2)).sum::<f64>().sqrt();
    let reached = achieved >= rate * (REACHED - chance / count.max(1) as f64);
    let is_known = count > 0 && reached;
    let (mut verdicts, mut exceeds) = (Vec::new(), if is_known { 0.0_f64 } else { f64::INFINITY });
    for (bound, &allowed) in shares_over.iter().enumerate() {
        let over: u64 = at.iter().filter_map(|v| v.over.get(bound)).sum();
        let of =
            |v: &&RateVisit| v.effective.get(bound).map_or(v.count as f64, |&e| e.min(v.count as f64 * worths[bound]));
        let effective: f64 = at.iter().map(of).sum();
        let share = over as f64 / count.max(1) as f64;
        let score = (allowed - share) / (allowed * (1.0 - allowed) / effective.max(1.0)).sqrt();
        exceeds = exceeds.max(share / allowed);
        verdicts.push(match score {
            _ if !is_known || score < -Z => BoundVerdict::Missed,
            _ if score > Z => BoundVerdict::Held,
            _ => BoundVerdict::InDoubt,
        });
    }
    let verdict = if is_known { together(verdicts.iter().copied()) } else { BoundVerdict::Missed };
    let visits = u32::try_from(at.len()).unwrap_or(u32::MAX);
    Level { rate, verdicts, verdict, exceeds, requests: count.max(1) as f64, visits }
}

/// The highest rate that is shown to hold below the lowest that is shown to miss, and that.
fn bracket(levels: &[Level]) -> (Option<f64>, Option<f64>) {
    let misses = levels.iter().find(|l| l.verdict == BoundVerdict::Missed).map(|l| l.rate);
    let below = levels.iter().filter(|l| misses.is_none_or(|m| l.rate < m));
    let holds = below.filter(|l| l.verdict == BoundVerdict::Held).map(|l| l.rate).next_back();
    (holds, misses)
}

/// The rate that tells most; `None` where the doubt is narrow enough, or nothing more can be learnt.
fn next_rate(levels: &[Level], limits: &RateSearchLimits) -> Option<f64> {
    let clamp = |rate: f64| rate.clamp(limits.lowest_per_s, limits.highest_per_s);
    let (Some(bottom), Some(top)) = (levels.first(), levels.last()) else {
        return Some(clamp(limits.start_per_s));
    };
    let higher = |factor: f64| (top.rate < limits.highest_per_s).then(|| clamp(top.rate * factor));
    let lower = || (bottom.rate > limits.lowest_per_s).then(|| clamp(bottom.rate / 2.0));
    let (holds, misses) = bracket(levels);
    let from = holds.or_else(|| (bottom.exceeds <= 1.0).then_some(bottom.rate));
    let Some(seems) = levels.iter().find(|l| l.exceeds > 1.0 && from.is_none_or(|from| l.rate > from)) else {
        return higher(2.0).or_else(|| doubtful(levels));
    };
    let Some(from) = from else { return lower().or_else(|| doubtful(&levels[..1])) };
    // What seems to miss at one look is looked at again before the search turns below it.
    if seems.verdict == BoundVerdict::InDoubt && seems.visits < 2 {
        return Some(seems.rate);
    }
    let between = |end: f64| levels.iter().filter(|l| (from..=end).contains(&l.rate)).cloned().collect::<Vec<_>>();
    let near = between(seems.rate);
    halved(&near, limits.precision).or_else(|| doubtful(&near)).or_else(|| match (holds, misses) {
        (None, _) => lower(),
        (_, None) => higher(std::f64::consts::SQRT_2),
        (Some(_), Some(misses)) => halved(&between(misses), limits.precision),
    })
}

/// The middle of the widest gap between neighbours; `None` where all are within the precision.
fn halved(levels: &[Level], precision: f64) -> Option<f64> {
    let gaps = levels.windows(2).map(|pair| (pair[0].rate, pair[1].rate));
    let widest = gaps.max_by(|a, b| (a.1 / a.0).total_cmp(&(b.1 / b.0)))?;
    (widest.1 > widest.0 * (1.0 + precision)).then(|| (widest.0 * widest.1).sqrt())
}

/// The rate in doubt that was visited least.
fn doubtful(levels: &[Level]) -> Option<f64> {
    let open = levels.iter().filter(|l| l.verdict == BoundVerdict::InDoubt && l.visits < VISITS_MAX);
    open.min_by_key(|l| l.visits).map(|l| l.rate)
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;

    /// A world without noise: `over` of 10,000 requests take longer than the bound at a rate.
    fn search(limits: &RateSearchLimits, over: impl Fn(f64) -> u64) -> RateSearchResult {
        let mut search = RateSearch::new(limits.clone());
        for _ in 0..=POINTS_MAX {
            match search.next() {
                RateSearchStep::Done(found) => return found,
                RateSearchStep::Measure(RateProbe { rate_per_s, at_most_ms, .. }) => search.observe(RateVisit {
                    rate_per_s,
                    achieved_per_s: rate_per_s,
                    count: 10_000,
                    effective: vec![10_000.0],
                    over: vec![over(rate_per_s)],
                    chance: chance(true, 10_000, 0),
                    spent_ms: at_most_ms,
                }),
            }
        }
        panic!("the search does not end");
    }

    #[test]
    fn a_sharp_bound_is_found_within_the_precision() {
        for edge in [3.0, 99.0, 100.0, 101.0, 7_777.0, 900_000.0] {
            let limits = RateSearchLimits { budget_ms: 300_000, ..RateSearchLimits::new(vec![0.01]) };
            let found = search(&limits, |rate| if rate <= edge { 0 } else { 10_000 });
            let (holds, misses) = (found.holds_per_s.unwrap(), found.misses_per_s.unwrap());
            assert_eq!((found.outcome, found.rate_per_s), (RateSearchOutcome::Found, Some(holds)), "{edge}");
            assert!(holds <= edge && edge < misses && misses <= holds * 1.05, "{edge}: {found:?}");
        }
    }

    #[test]
    fn both_ends_are_told_as_such() {
        let limits =
            RateSearchLimits { lowest_per_s: 10.0, highest_per_s: 1_000.0, ..RateSearchLimits::new(vec![0.01]) };
        let misses = search(&limits, |_| 500);
        assert_eq!(
            (misses.outcome, misses.rate_per_s, misses.misses_per_s),
            (RateSearchOutcome::NoneHolds, None, Some(10.0))
        );
        let holds = search(&limits, |_| 5);
        assert_eq!(
            (holds.outcome, holds.rate_per_s, holds.holds_per_s),
            (RateSearchOutcome::NeverMissed, Some(1e3), Some(1e3))
        );
    }

    #[test]
    fn what_cannot_be_told_apart_stays_in_doubt_and_ends() {
        // Every rate has just the share allowed.
        let found = search(&RateSearchLimits::new(vec![0.01]), |_| 100);
        assert_eq!((found.holds_per_s, found.misses_per_s), (None, None));
        assert!(found.spent_ms <= 180_000);
    }

    #[test]
    fn a_rate_that_was_not_reached_misses_whatever_its_latencies() {
        let visit = |achieved_per_s| RateVisit {
            rate_per_s: 1_000.0,
            achieved_per_s,
            count: 10_000,
            effective: vec![10_000.0],
            over: vec![0],
            chance: chance(true, 10_000, 0),
            spent_ms: 1,
        };
        let limits = RateSearchLimits::new(vec![0.01]);
        assert_eq!(judge(&[visit(990.0)], &limits).holds_per_s, Some(1_000.0));
        assert_eq!(judge(&[visit(900.0)], &limits).misses_per_s, Some(1_000.0));
    }

    fn visit(rate_per_s: f64, of: (u64, u64), is_reached: bool, worth: f64) -> RateVisit {
        let (count, over) = of;
        RateVisit {
            rate_per_s,
            achieved_per_s: if is_reached { rate_per_s } else { 0.5 * rate_per_s },
            count,
            effective: vec![(count as f64 * worth).max(1.0)],
            over: vec![over.min(count)],
            chance: chance(true, count, 0),
            spent_ms: 1_000,
        }
    }

    #[test]
    fn nothing_is_said_to_hold_up_to_a_rate_above_one_that_is_shown_to_miss() {
        let of = |rate, over| visit(rate, (4_000, over), true, 1.0);
        let visits = [of(141.0, 10), of(238.0, 10), of(259.0, 120), of(283.0, 10), of(336.0, 12), of(367.0, 14)];
        let found = judge(&visits, &RateSearchLimits::new(vec![0.01]));
        assert_eq!((found.rate_per_s, found.holds_per_s, found.misses_per_s), (Some(238.0), Some(238.0), Some(259.0)));
        assert_eq!((found.outcome, found.holds_above_per_s), (RateSearchOutcome::Found, Some(367.0)));
    }

    proptest! {
        #[test]
        fn the_verdict_of_a_search_follows_from_those_of_its_rates(
            rows in vec((1u32..9, 0u64..3_000, 0u64..80, 0u8..9, 0.02..1.0), 1..14),
            highest in 4u32..9,
        ) {
            let made_up = rows.iter().map(|&(rate, count, over, reached, worth)| {
                visit(f64::from(rate) * 50.0, (count, over), reached > 0, worth)
            });
            let visits: Vec<RateVisit> = made_up.collect();
            let highest_per_s = f64::from(highest) * 50.0;
            let limits = RateSearchLimits { highest_per_s, ..RateSearchLimits::new(vec![0.01]) };
            let rates = verdicts(&visits, &limits);
            let shown = |what| rates.iter().filter(move |r| together(r.1.iter().copied()) == what).map(|r| r.0);
            let found = judge(&visits, &limits);
            let lowest_miss = shown(BoundVerdict::Missed).next();
            let below = |rate: &f64| lowest_miss.is_none_or(|miss| *rate < miss);
            prop_assert_eq!(found.misses_per_s, lowest_miss);
            prop_assert_eq!(found.holds_per_s, shown(BoundVerdict::Held).rfind(below));
            prop_assert_eq!(found.holds_above_per_s, shown(BoundVerdict::Held).rfind(|r| !below(r)));
            prop_assert!(found.rate_per_s >= found.holds_per_s && found.rate_per_s.iter().all(below), "{:?}", found);
            prop_assert_eq!(found.outcome == RateSearchOutcome::NoneHolds, found.rate_per_s.is_none());
            prop_assert!(found.outcome != RateSearchOutcome::NeverMissed || lowest_miss.is_none());
        }
    }

    #[test]
    fn a_share_has_an_interval_that_knows_of_clumps_and_of_none() {
        let scattered: Vec<(u64, u64)> = (0..100).map(|i| (100, 1 + i % 2)).collect();
        let clumped: Vec<(u64, u64)> = (0..100).map(|i| (100, if i % 50 < 5 { 15 } else { 0 })).collect();
        let width = |of: &[(u64, u64)]| share_interval(of)[1] - share_interval(of)[0];
        assert!(width(&clumped) > 2.0 * width(&scattered), "{} {}", width(&clumped), width(&scattered));
        let [low, high] = share_interval(&[(100, 0); 20]);
        assert!(low < 1e-9 && (0.001..0.004).contains(&high), "{low} {high}");
        assert_eq!(share_interval(&[]), [0.0, 1.0]);
    }

    #[test]
    fn what_falls_due_evenly_is_allowed_no_scatter_of_its_own() {
        assert!(chance(false, 10_000, 3) < 7.0 && chance(true, 10_000, 3) > 300.0);
    }

    #[test]
    fn slow_requests_that_come_together_are_worth_fewer() {
        let scattered: Vec<(u64, u64)> = (0..100).map(|i| (100, 1 + i % 2)).collect();
        let clumped: Vec<(u64, u64)> = (0..100).map(|i| (100, if i % 50 < 5 { 15 } else { 0 })).collect();
        assert_eq!(effective(&scattered), 10_000.0);
        assert!(effective(&clumped) < 1_000.0, "{}", effective(&clumped));
        assert_eq!(effective(&[(100, 0), (100, 0)]), 200.0);
    }
}
