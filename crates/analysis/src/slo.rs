//! The highest rate of requests at which a service-level objective holds, and the search for it.
//!
//! Requests come at a rate of their own (open loop). At one rate, the objective holds if no more than the share
//! allowed of them takes longer than the bound: 1 % for a p99. [`RateSearch`] doubles the rate until the objective is
//! missed, then narrows the rates between the highest at which it is shown to hold and the lowest at which it is shown
//! to be missed. What lies between stays in doubt, and is told. Method: `docs/method/knee.md`.

use serde::{Deserialize, Serialize};

mod share;

pub use share::{ExceedanceShare, RateExceedance, shown};
pub(crate) use share::{clumped, clumping};

/// How sure the interval of a share is by which a search judges a rate, since it looks at many.
pub(crate) const SURE: f64 = 0.99;

/// A rate counts as not reached below this share of it, less what chance does to the count of what ended.
const REACHED: f64 = 0.98;

/// Shares beyond this multiple of that allowed are not averaged as what they are: one overload would outweigh all.
const EXCEEDS_MAX: f64 = 3.0;

/// A hundred times the share that a p99 leaves is not quite one.
const TELLS_ROUNDING: f64 = 1e-6;

/// Most points of a search, whatever the data do.
const POINTS_MAX: usize = 48;

/// Most visits of one rate while others can be learnt from.
const VISITS_MAX: u32 = 3;

/// Most visits of the rate that is the answer, where nothing is left to learn of others and time is.
const ANSWER_VISITS_MAX: u32 = 6;

/// What a search may ask for. Rates are requests per second.
#[derive(Clone, Debug, PartialEq)]
pub struct RateSearchLimits {
    /// For each bound of the objective, the share of requests that may take longer, 0 to 1: 0.01 for a p99.
    pub shares_over: Vec<f64>,
    pub lowest_per_s: f64,
    /// The rate to begin with.
    pub start_per_s: f64,
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
    /// Its time, warm-up included, in milliseconds. It takes all of it, however many requests fall due: of stops of the
    /// target, time tells and their number does not.
    pub at_most_ms: u64,
}

/// One visit of a rate: a point that was measured.
#[derive(Clone, Debug, PartialEq)]
pub struct RateVisit {
    /// Requests per second that were asked for.
    pub rate_per_s: f64,
    /// Requests per second that ended, by their share of those that fell due.
    pub achieved_per_s: f64,
    /// For each bound, the requests whose fate is known and those of them that took longer from their intended start.
    pub shares: Vec<ExceedanceShare>,
    /// By how many requests what ended may fall short of what fell due by chance: [`chance`].
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
    /// None holds it, or seems to: even the lowest rate misses it, or requests are too few to tell.
    NoneHolds,
    /// The highest rate allowed holds it.
    NeverMissed,
}

/// The highest rate at which the objective holds, as far as the data tell.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RateSearchResult {
    /// How the search ended.
    pub outcome: RateSearchOutcome,
    /// The highest rate below `misses_per_s` measured with a share over the bound of no more than allowed, of enough
    /// requests to tell; absent where there was none.
    pub rate_per_s: Option<f64>,
    /// The highest rate below `misses_per_s` that is shown to hold; absent where none is.
    pub holds_per_s: Option<f64>,
    /// The lowest rate that is shown to miss; absent where none is.
    pub misses_per_s: Option<f64>,
    /// The highest rate above `misses_per_s` that is shown to hold, though no such rate should; absent where none is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub holds_above_per_s: Option<f64>,
    /// At `holds_per_s`, the longest stop that its points rule out for every bound, in milliseconds: a stop that makes
    /// more requests slow than allowed, at 95 %. Absent where none is shown to hold.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stop_ruled_out_ms: Option<f64>,
    pub points: u32,
    /// Time of all points, warm-ups included, in milliseconds.
    pub spent_ms: u64,
}

/// By how many requests a count of `due` may be off by chance, at three standard errors. Requests that fall due at
/// random scatter by the root of their number. Those that fall due evenly do not scatter at all: only how many are
/// outstanding at either end does.
#[must_use]
pub fn chance(at_random: bool, due: u64, outstanding: u64) -> f64 {
    3.0 * ((if at_random { due } else { outstanding } + 1) as f64).sqrt()
}

/// Whether so many requests tell anything of a quantile that so many of them may exceed: of a p99 a hundred do, of
/// which one is slow.
#[must_use]
pub fn tells(requests: u64, share_over: f64) -> bool {
    requests as f64 * share_over >= 1.0 - TELLS_ROUNDING
}

/// Whether so many requests show that a bound holds, if none of them is slow.
#[must_use]
pub fn decides(requests: u64, confidence: f64, share_over: f64) -> bool {
    let none = ExceedanceShare { count: requests, over: 0, effective: requests as f64, freedom: None, measured_ms: 0 };
    none.interval(confidence)[1] <= share_over
}

/// What is shown of a bound at a rate.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum BoundVerdict {
    /// That it is held.
    Held,
    /// That it is missed, or the rate was not reached.
    Missed,
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
    bounds: Vec<(BoundVerdict, RateExceedance)>,
    verdict: BoundVerdict,
    /// Share over the bound, as a multiple of that allowed; of several bounds the largest.
    exceeds: f64,
    /// Whether there are enough requests for each bound to lean either way.
    is_telling: bool,
    /// Whether there are enough of them to show that each bound holds, if none of them is slow.
    is_decidable: bool,
    requests: f64,
    visits: u32,
}

impl Level {
    /// The longest stop that is ruled out for every bound, in milliseconds.
    fn stop_ruled_out_ms(&self) -> Option<f64> {
        self.bounds.iter().filter_map(|bound| bound.1.stop_ruled_out_ms).reduce(f64::min)
    }
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
        let requested = next_rate(&levels, &self.limits).or_else(|| again(&levels, &self.limits));
        let requested = requested.filter(|_| enough && self.visits.len() < POINTS_MAX);
        match requested {
            Some(rate_per_s) => {
                RateSearchStep::Measure(RateProbe { rate_per_s, at_most_ms: self.limits.point_ms.min(left) })
            }
            None => RateSearchStep::Done(judge(&self.visits, &self.limits)),
        }
    }

    /// What was measured so far.
    #[must_use]
    pub fn visits(&self) -> &[RateVisit] {
        &self.visits
    }

    /// What the search may ask for.
    #[must_use]
    pub const fn limits(&self) -> &RateSearchLimits {
        &self.limits
    }

    /// Tells of a point that was measured.
    pub fn observe(&mut self, measured: RateVisit) {
        self.visits.push(measured);
    }

    /// Takes time from what all points may take: so long requests were waited for that a point had left in flight.
    pub const fn waited(&mut self, ms: u64) {
        self.limits.budget_ms = self.limits.budget_ms.saturating_sub(ms);
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
    let leaning = highest_leaning(levels[..below].iter().filter(|level| level.is_telling));
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
        stop_ruled_out_ms: levels.iter().find(|l| Some(l.rate) == holds).and_then(Level::stop_ruled_out_ms),
        points: u32::try_from(visits.len()).unwrap_or(u32::MAX),
        spent_ms: visits.iter().map(|v| v.spent_ms).sum(),
    }
}

/// What points of any rates tell of each bound at each rate, by rising rates: what [`judge`] judges by, with the
/// interval from which each verdict follows.
#[must_use]
pub fn verdicts(visits: &[RateVisit], limits: &RateSearchLimits) -> Vec<(f64, Vec<(BoundVerdict, RateExceedance)>)> {
    levels(visits, &limits.shares_over).into_iter().map(|level| (level.rate, level.bounds)).collect()
}

/// The rates that were visited, rising.
fn levels(visits: &[RateVisit], shares_over: &[f64]) -> Vec<Level> {
    let mut rates: Vec<f64> = visits.iter().map(|v| v.rate_per_s).collect();
    rates.sort_unstable_by(f64::total_cmp);
    rates.dedup();
    let of_bound = |bound: usize| visits.iter().filter_map(move |visit| visit.shares.get(bound));
    let clumpings: Vec<f64> = (0..).zip(shares_over).map(|(bound, &a)| clumping(of_bound(bound), a)).collect();
    let level = |rate: f64| {
        let at: Vec<&RateVisit> = visits.iter().filter(|v| v.rate_per_s == rate).collect();
        level(rate, &at, shares_over, &clumpings)
    };
    rates.into_iter().map(level).collect()
}

/// The highest rate whose share over each bound is no more than allowed, with shares made to rise with the rate: those
/// of neighbours that fall are averaged.
fn highest_leaning<'l>(levels: impl Iterator<Item = &'l Level>) -> Option<f64> {
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

fn level(rate: f64, at: &[&RateVisit], shares_over: &[f64], clumpings: &[f64]) -> Level {
    let weight = |visit: &RateVisit| visit.shares.iter().map(|s| s.count).max().unwrap_or(0).max(1) as f64;
    let requests: f64 = at.iter().map(|v| weight(v)).sum();
    let achieved = at.iter().map(|v| v.achieved_per_s * weight(v)).sum::<f64>() / requests;
    let chance = at.iter().map(|v| v.chance.powi(2)).sum::<f64>().sqrt();
    let is_reached = achieved >= rate * (REACHED - chance / requests);
    let points = u32::try_from(at.len()).unwrap_or(u32::MAX);
    let (mut bounds, mut exceeds) = (Vec::new(), if is_reached { 0.0_f64 } else { f64::INFINITY });
    let (mut is_telling, mut is_decidable) = (true, true);
    for (bound, (&allowed, &clumping)) in shares_over.iter().zip(clumpings).enumerate() {
        let each: Vec<ExceedanceShare> =
            at.iter().filter_map(|v| v.shares.get(bound)).map(|share| clumped(share, clumping)).collect();
        let all = ExceedanceShare::together(&each);
        is_telling &= tells(all.count, allowed);
        is_decidable &= decides(all.count, SURE, allowed);
        let stop_ruled_out_ms = Some(all.stop_ruled_out_ms(allowed));
        let of_rate = RateExceedance { points, share: all.share(), share_99: all.interval(SURE), stop_ruled_out_ms };
        exceeds = exceeds.max(if all.count > 0 { all.share() / allowed } else { f64::INFINITY });
        bounds.push((shown(of_rate.share_99, allowed, is_reached), of_rate));
    }
    let verdict = together(bounds.iter().map(|bound| bound.0));
    Level { rate, bounds, verdict, exceeds, is_telling, is_decidable, requests, visits: points }
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

/// The rate to visit again though nothing is left to learn of others: the highest that is allowed, where it seems to
/// hold, since what comes seldom is not seen in a few visits; or where none is shown to hold, the highest that does not
/// seem to miss. That takes six visits, and where requests are too few to show anything, as many as there is time for.
fn again(levels: &[Level], limits: &RateSearchLimits) -> Option<f64> {
    let (holds, misses) = bracket(levels);
    let seems_within = |l: &&Level| l.exceeds <= 1.0 && misses.is_none_or(|m| l.rate < m);
    let highest = levels.iter().rev().find(seems_within)?;
    let is_top = misses.is_none() && highest.rate >= limits.highest_per_s;
    let is_wanted = is_top || holds.is_none();
    (is_wanted && (highest.visits < ANSWER_VISITS_MAX || !highest.is_decidable)).then_some(highest.rate)
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
mod tests;
