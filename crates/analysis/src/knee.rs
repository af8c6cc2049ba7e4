//! The knee: the concurrency beyond which more buys latency and no throughput, and the search for it.
//!
//! The curve is the steady throughput over a grid of concurrencies, each about √2 of the one before ([`grid`]). The
//! knee is the least concurrency of the grid that gives at least [`SHARE`] of the curve's maximum. [`KneeSearch`] asks
//! for points until the data leave no choice but neighbours, the figures that decide are known to 2 %, or the time
//! allowed is spent; [`judge`] says what any set of points shows. Method, and its limits: `docs/method/knee.md`.

use std::cmp::Ordering;

use linerate_record::run::SearchSpec;
use serde::{Deserialize, Serialize};

use crate::estimate::Estimate;
use crate::student::NORMAL_95;
use crate::visit_times::{VISIT_MS, VISITS_ENOUGH};

mod candidates;
mod concave;
mod uneven;
mod visits;

use candidates::{Candidates, SURE};
pub use uneven::SecondRise;
use visits::Rung;

/// The share of the curve's maximum that is asked of the knee.
pub const SHARE: f64 = 0.95;

/// Most steps of a search, whatever the data do.
pub const STEPS_MAX: usize = 48;

/// Most visits of one concurrency.
const VISITS_MAX: u32 = 8;

/// Fewest visits of what decides, where time is short.
const VISITS_LEAST: u32 = 3;

/// A visit lasts this part of the longest time of a point: three short ones tell more than a long one.
pub const VISITS_IN_A_POINT: u64 = 3;

/// Half width of the interval of all visits, as a share of their mean, from which no knee is told.
const UNSTEADY: f64 = 0.2;

/// Standard deviation between visits of the same concurrency, beyond what their own ± explain and as a share of their
/// mean, from which no knee is told: the 5 % that a knee is about are then less than one standard error of a difference
/// between two concurrencies of three visits each, √(2/3) of it.
const APART: f64 = (1.0 - SHARE) * 1.224_744_871;

/// Steps of the grid between two looks beyond the climb.
const OUTLOOK: usize = 4;

/// So often must each request in flight end in a visit beyond the climb, if throughput stays as it is.
const OUTLOOK_TURNS: u64 = 3;

/// What a search may ask for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct KneeLimits {
    /// Least concurrency, at least 1.
    pub lowest: u32,
    pub highest: u32,
    /// Half width of the 95 % interval, as a share of the mean, at which the figures that decide are known.
    pub precision: f64,
    /// Longest time of one point, warm-up included, in milliseconds.
    pub point_ms: u64,
    /// Longest time of all points together, warm-ups included, in milliseconds.
    pub budget_ms: u64,
    /// Fewest visits of the knee, its neighbours and the best: what passes between visits is in the scatter of several,
    /// in turn and spread over the time of the search, and in no ± of a single one.
    pub visits_least: u32,
}

impl KneeLimits {
    /// A precision of 2 %, points of at most 10 s, two minutes in all.
    #[must_use]
    pub const fn new(lowest: u32, highest: u32) -> Self {
        KneeLimits {
            lowest,
            highest,
            precision: 0.02,
            point_ms: 10_000,
            budget_ms: 120_000,
            visits_least: VISITS_LEAST,
        }
    }
}

/// How far the search of a series may go, as its folder tells. Where visits are as long as those in rounds, there is
/// time for as many of what decides as an interval of visits takes.
#[must_use]
pub fn limits(search: &SearchSpec, point_ms: u64) -> KneeLimits {
    let is_long = point_ms / VISITS_IN_A_POINT >= VISIT_MS;
    let visits_least = if is_long { VISITS_ENOUGH as u32 } else { VISITS_LEAST };
    let usual = KneeLimits::new(search.lowest, search.highest);
    KneeLimits { point_ms, budget_ms: search.series_ms, visits_least, ..usual }
}

/// What to do next.
#[derive(Clone, Debug, PartialEq)]
pub enum KneeStep {
    /// Measure a point, and tell [`KneeSearch::observe`] of it.
    Measure(KneeProbe),
    /// There is nothing more to measure.
    Done(Knee),
}

/// A point that the search asks for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct KneeProbe {
    /// Requests to keep in flight.
    pub concurrency: u32,
    /// Longest time, warm-up included, in milliseconds.
    pub at_most_ms: u64,
}

/// One visit of a concurrency: a point that was measured.
#[derive(Clone, Debug, PartialEq)]
pub struct KneeVisit {
    /// Requests kept in flight.
    pub concurrency: u32,
    /// Throughput: bytes or requests per second, the same in all points of a search.
    pub throughput: Estimate,
    /// Median latency, in nanoseconds.
    pub p50_ns: u64,
    /// 99th percentile of latency, in nanoseconds.
    pub p99_ns: u64,
    /// Time that the point took, warm-up included, in milliseconds.
    pub spent_ms: u64,
}

/// How the curve goes on beyond the knee.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum KneeOutcome {
    /// More concurrency buys no throughput.
    Found,
    /// More concurrency costs throughput: the highest measured is clearly below the best.
    Retrograde,
    /// The highest concurrency measured is the only one that gives [`SHARE`] of the best: no knee was reached.
    StillRising,
    /// Throughput levels off at `--max-rate`: what is seen is the cap, and no knee is reported.
    Capped,
    /// Throughput at one concurrency is so unsteady, or its visits lie so far apart, or its interval is not known, that
    /// nothing can be said.
    Unsteady,
    /// Throughput does not rise and level off, and concurrencies that may give the best were not measured.
    Uneven,
    /// Nothing succeeded at any concurrency.
    Nothing,
}

/// The knee, as far as the data tell.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Knee {
    /// How the curve goes on.
    pub outcome: KneeOutcome,
    /// The knee; with [`KneeOutcome::StillRising`] the highest concurrency measured.
    pub concurrency: u32,
    /// Least concurrency that is compatible with the data at 95 %.
    pub lowest: u32,
    /// Highest concurrency that is compatible with the data at 95 %.
    pub highest: u32,
    /// Throughput at the knee, all its points together.
    pub throughput: Estimate,
    /// Median latency at the knee, in nanoseconds.
    pub p50_ns: u64,
    /// 99th percentile of latency at the knee, in nanoseconds.
    pub p99_ns: u64,
    /// The concurrency with the highest mean.
    pub best_concurrency: u32,
    pub best: Estimate,
    /// Median latency there, in nanoseconds.
    pub best_p50_ns: u64,
    /// Where throughput rises again after it had levelled off or fallen, if it does.
    #[serde(default)]
    pub rises_again: Option<SecondRise>,
    /// With [`KneeOutcome::Unsteady`], the concurrency for which no knee is told.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unsteady: Option<Unsteady>,
    pub points: u32,
    /// Time of all points, warm-ups included, in milliseconds.
    pub spent_ms: u64,
}

impl Knee {
    /// The knee of what so many clients did, of which it is in requests in flight of each, in those of all together.
    pub(crate) fn of_all(self, clients: u32) -> Knee {
        let all = |each: u32| each.saturating_mul(clients);
        Knee {
            concurrency: all(self.concurrency),
            lowest: all(self.lowest),
            highest: all(self.highest),
            best_concurrency: all(self.best_concurrency),
            rises_again: self.rises_again.map(|rise| SecondRise {
                before: all(rise.before),
                low: all(rise.low),
                after: all(rise.after),
                ..rise
            }),
            unsteady: self.unsteady.map(|at| Unsteady { concurrency: all(at.concurrency), ..at }),
            ..self
        }
    }
}

/// A concurrency whose throughput is too unsteady for a knee to be told.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Unsteady {
    pub concurrency: u32,
    /// Throughput of all its visits together.
    pub throughput: Estimate,
    /// How often it was visited.
    pub visits: u32,
}

/// The concurrencies on which a knee is sought: the powers of √2, rounded, from `lowest` to `highest`, and both ends.
#[must_use]
pub fn grid(lowest: u32, highest: u32) -> Vec<u32> {
    let (lowest, highest) = (lowest.max(1), highest.max(lowest).max(1));
    let between = (0..64)
        .map(|half| 2f64.powf(f64::from(half) / 2.0).round())
        .take_while(|&c| c < f64::from(highest))
        .map(|c| c as u32)
        .filter(|&c| c > lowest);
    let mut grid: Vec<u32> = std::iter::once(lowest).chain(between).chain([highest]).collect();
    grid.dedup();
    grid
}

/// A search for the knee. It keeps what was asked and measured; the rest follows from that.
#[derive(Clone, Debug)]
pub struct KneeSearch {
    limits: KneeLimits,
    visits: Vec<KneeVisit>,
}

impl KneeSearch {
    /// A search that has measured nothing.
    #[must_use]
    pub const fn new(limits: KneeLimits) -> Self {
        KneeSearch { limits, visits: Vec::new() }
    }

    /// What to do next. At most [`KneeLimits::budget_ms`] and a fixed number of points are asked for.
    #[must_use]
    pub fn next(&self) -> KneeStep {
        let grid = grid(self.limits.lowest, self.limits.highest);
        let rungs = visits::rungs(&self.visits, &grid);
        match climb(&rungs, &grid)
            .or_else(|| self.beyond(&rungs, &grid))
            .or_else(|| refine(&rungs, &grid, &self.limits))
        {
            Some(index) => self.ask(grid[index]).map_or_else(|| self.done(), KneeStep::Measure),
            None => self.done(),
        }
    }

    /// Tells of a point that was measured.
    pub fn observe(&mut self, measured: KneeVisit) {
        self.visits.push(measured);
    }

    /// Takes time from what all points may take: so long requests were waited for that a point had left in flight.
    pub const fn waited(&mut self, ms: u64) {
        self.limits.budget_ms = self.limits.budget_ms.saturating_sub(ms);
    }

    /// Leaves out a concurrency and those above it: their requests take longer than a visit. Whether others are left.
    pub fn leave_out_from(&mut self, concurrency: u32) -> bool {
        let below = grid(self.limits.lowest, self.limits.highest).into_iter().rfind(|&below| below < concurrency);
        self.limits.highest = below.unwrap_or(self.limits.highest);
        below.is_some()
    }

    fn done(&self) -> KneeStep {
        KneeStep::Done(judge(&self.visits, self.limits.lowest, self.limits.highest))
    }

    /// The next look beyond the climb, to the highest concurrency allowed: a path that only opens there is not seen
    /// from below. `None` where throughput falls already, or requests would take too long for a visit.
    fn beyond(&self, rungs: &[Rung], grid: &[u32]) -> Option<usize> {
        let (last, best) = (rungs.last()?, best_rung(rungs)?);
        let next = (last.index + OUTLOOK).min(grid.len() - 1);
        let latency_ns = last.p50_ns.saturating_mul(grid[next].into()) / u64::from(last.concurrency.max(1));
        let is_quick = latency_ns / 1_000_000 <= self.limits.point_ms / VISITS_IN_A_POINT / OUTLOOK_TURNS;
        (next > last.index && is_quick && !falls(last, best)).then_some(next)
    }

    /// The point, cut to what is left of the time; `None` where that is too little to measure in, or a bound is met.
    fn ask(&self, concurrency: u32) -> Option<KneeProbe> {
        let spent: u64 = self.visits.iter().map(|v| v.spent_ms).sum();
        let left = self.limits.budget_ms.saturating_sub(spent);
        let enough = self.visits.is_empty() || left >= self.limits.point_ms / 4;
        let at_most_ms = (self.limits.point_ms / VISITS_IN_A_POINT).min(left);
        (enough && self.visits.len() < STEPS_MAX).then_some(KneeProbe { concurrency, at_most_ms })
    }
}

/// What points of any concurrencies between `lowest` and `highest`, in any order, tell of the knee.
#[must_use]
pub fn judge(visits: &[KneeVisit], lowest: u32, highest: u32) -> Knee {
    let mut grid = grid(lowest, highest);
    grid.extend(visits.iter().map(|v| v.concurrency));
    grid.sort_unstable();
    grid.dedup();
    judge_on(visits, &grid)
}

/// The same where nothing can lie between what was visited, such as numbers of clients: the knee and all that may be it
/// are among those.
#[must_use]
pub(crate) fn judge_measured(visits: &[KneeVisit]) -> Knee {
    judge_on(visits, &visited(visits))
}

fn visited(visits: &[KneeVisit]) -> Vec<u32> {
    let mut grid: Vec<u32> = visits.iter().map(|v| v.concurrency).collect();
    grid.sort_unstable();
    grid.dedup();
    grid
}

fn judge_on(visits: &[KneeVisit], grid: &[u32]) -> Knee {
    let rungs = visits::rungs(visits, grid);
    let candidates = candidates::weigh(&rungs, grid, NORMAL_95);
    let knee = candidates.median;
    let at = rungs.iter().find(|r| r.index >= knee).or(rungs.last());
    let best = best_rung(&rungs);
    let (at, best) = (at.cloned().unwrap_or_default(), best.cloned().unwrap_or_default());
    let unsteady = [&at, &best].into_iter().filter(|rung| unsteady(rung)).max_by(|a, b| wider(a, b)).cloned();
    let apart = || (visits::apart(visits, grid) > APART).then(|| visits::widest_apart(visits, &rungs)).flatten();
    let unsteady = unsteady.or_else(apart).map(|Rung { concurrency, throughput, visits, .. }| Unsteady {
        concurrency,
        throughput,
        visits,
    });
    let rises_again = uneven::rises_again(&rungs).filter(|_| unsteady.is_none());
    Knee {
        outcome: if unsteady.is_some() {
            KneeOutcome::Unsteady
        } else if !candidates.is_concave && rises_again.is_some() && uneven::unseen(&rungs, grid).next().is_some() {
            KneeOutcome::Uneven
        } else {
            outcome(&rungs, &best, at.index)
        },
        concurrency: at.concurrency,
        lowest: grid[candidates.lowest],
        highest: grid[candidates.highest],
        throughput: at.throughput,
        p50_ns: at.p50_ns,
        p99_ns: at.p99_ns,
        best_concurrency: best.concurrency,
        best: best.throughput,
        best_p50_ns: best.p50_ns,
        rises_again,
        unsteady,
        points: u32::try_from(visits.len()).unwrap_or(u32::MAX),
        spent_ms: visits.iter().map(|v| v.spent_ms).sum(),
    }
}

/// Throughput at each concurrency, by rising concurrency: all visits of one together, with what they differ by.
#[must_use]
pub fn together(visits: &[KneeVisit]) -> Vec<(u32, Estimate)> {
    measured(visits).into_iter().map(|rung| (rung.concurrency, rung.throughput)).collect()
}

/// All visits of a concurrency together.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct MeasuredRung {
    pub(crate) concurrency: u32,
    pub(crate) throughput: Estimate,
    /// Standard error of its mean.
    pub(crate) error: f64,
    pub(crate) visits: u32,
}

/// The same with the errors by which they are judged.
pub(crate) fn measured(visits: &[KneeVisit]) -> Vec<MeasuredRung> {
    let rung = |Rung { concurrency, throughput, error, visits, .. }: Rung| MeasuredRung {
        concurrency,
        throughput,
        error,
        visits,
    };
    visits::rungs(visits, &visited(visits)).into_iter().map(rung).collect()
}

/// The rung with the highest mean.
fn best_rung(rungs: &[Rung]) -> Option<&Rung> {
    rungs.iter().max_by(|a, b| a.throughput.mean.total_cmp(&b.throughput.mean))
}

/// Whether a rung is too unsteady for a knee, or may be: nobody knows of one without an interval, unless its visits are
/// enough to show what they differ by.
fn unsteady(rung: &Rung) -> bool {
    let of_visits = (u64::from(rung.visits) >= VISITS_ENOUGH).then_some(NORMAL_95 * rung.error);
    match rung.throughput.half_width_95.or(of_visits) {
        Some(half) => half > UNSTEADY * rung.throughput.mean,
        None => rung.throughput.mean > 0.0,
    }
}

/// Which interval is wider, as a share of its mean.
fn wider(a: &Rung, b: &Rung) -> Ordering {
    let width = |rung: &Rung| rung.throughput.half_width_95.unwrap_or(f64::INFINITY) / rung.throughput.mean;
    width(a).total_cmp(&width(b))
}

/// `at` is the rung that is reported as the knee: where that is the last, nobody knows what comes behind it.
fn outcome(rungs: &[Rung], best: &Rung, at: usize) -> KneeOutcome {
    let Some(last) = rungs.last() else { return KneeOutcome::Nothing };
    if best.throughput.mean <= 0.0 {
        KneeOutcome::Nothing
    } else if at == last.index {
        KneeOutcome::StillRising
    } else if falls(last, best) {
        KneeOutcome::Retrograde
    } else {
        KneeOutcome::Found
    }
}

/// Whether a rung lies below 95 % of the best by more than their errors.
fn falls(rung: &Rung, best: &Rung) -> bool {
    let (mean, most) = (rung.throughput.mean, best.throughput.mean);
    mean < SHARE * most && most - mean > NORMAL_95 * best.error.hypot(rung.error)
}

/// The next rung of the climb, two steps of the grid above the last one, until the four steps beyond the apparent
/// knee have bought nothing: a doubling may be flat by chance, or by a step in the target's own queues.
fn climb(rungs: &[Rung], grid: &[u32]) -> Option<usize> {
    let Some(last) = rungs.last() else { return Some(0) };
    let best = rungs.iter().map(|r| r.throughput.mean).fold(0.0, f64::max);
    let apparent = rungs.iter().find(|r| r.throughput.mean >= SHARE * best)?;
    let end = grid.len() - 1;
    (last.index < end && last.index < apparent.index + 4).then(|| (last.index + 2).min(end))
}

/// The rung that would tell most: one never measured between candidates or beside the best, else one of those that
/// decide which was visited too seldom, else the one that decides between candidates.
fn refine(rungs: &[Rung], grid: &[u32], limits: &KneeLimits) -> Option<usize> {
    let found = candidates::weigh(rungs, grid, SURE);
    let measured = |index: usize| rungs.iter().any(|r| r.index == index);
    // Between two rungs the curve may lie above the line, so the index below is looked at too.
    let near = found.lowest.saturating_sub(1)..=found.highest;
    // And before a cliff the best of the curve lies beside the best of what was measured.
    let (best, last) = (best_rung(rungs)?.index, rungs.last()?.index);
    let alongside = best.saturating_sub(1)..=(best + 1).min(last);
    // And where throughput does not rise and level off, it may lie anywhere.
    let anywhere = uneven::unseen(rungs, grid).filter(|_| !found.is_concave);
    let unseen =
        near.chain(alongside).chain(anywhere).filter(|&i| !measured(i)).min_by_key(|i| i.abs_diff(found.median));
    if unseen.is_some() {
        return unseen;
    }
    let doubt = || {
        let wide = found.highest - found.lowest > 1;
        wide.then(|| candidates::telling(rungs, grid, limits.precision, VISITS_MAX)).flatten()
    };
    seldom(rungs, &found, limits.visits_least).or_else(doubt)
}

/// Of the knee, its neighbours and the best rung the one that was visited least, where that is too seldom.
fn seldom(rungs: &[Rung], found: &Candidates, visits_least: u32) -> Option<usize> {
    let best = best_rung(rungs)?;
    let knee = rungs.iter().position(|r| r.index >= found.median)?;
    let near = &rungs[knee.saturating_sub(1)..(knee + 2).min(rungs.len())];
    let few = near.iter().chain([best]).filter(|r| r.visits < visits_least);
    few.min_by_key(|r| r.visits).map(|r| r.index)
}

#[cfg(test)]
mod tests;
