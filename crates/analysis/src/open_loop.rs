//! What an open loop shows beyond a closed one: whether the target fell behind, and whether linerate did.

use linerate_record::finding::{Confidence, Finding, FindingKind, Severity};
use linerate_record::histogram::{self, DecodeError};
use linerate_record::run::{Interval, LoadRequest, PointSpec, RateSearchSpec};
use linerate_record::slo::{LatencyBound, Slo};
use linerate_record::units::{count, duration_ns, grouped, percent, percent_range};

use crate::estimate;
use crate::slo::{self, BoundVerdict, ExceedanceShare, RateSearchLimits, RateSearchOutcome, RateVisit};
use crate::view::{Bottleneck, BoundFigures, Latency, OpenLoop, Point, Series, SeriesLimit};

mod given_rates;
mod outstanding;
pub(crate) mod slots;

pub use outstanding::shortfall_seen;
use outstanding::{GROWTH_SHARE, fell_behind};

/// Share of the rate asked for, or of what was due, from which it counts as reached.
const RATE_REACHED: f64 = 0.98;

/// Half widths of the 95 % interval in three standard errors of what ended, at its degrees of freedom.
const THREE_ERRORS: f64 = 3.0 / 2.0;

/// How many times more than three standard errors fewer requests than are expected fall due, before that is no chance:
/// at three alone, one schedule of thousands would be said not to be reached.
const DRAWN_CHANCES: f64 = 2.0;

/// How many times as long a point may have to be to be worth advising.
const LONGER_MAX: f64 = 100.0;

/// Share of their time from which linerate's threads are to be suspected first.
const THREADS_BUSY: f64 = 0.85;

/// What shows more than a search for the highest rate does.
const WITHOUT_SLO: &str = "for the highest throughput, whatever the latency, measure without --slo";

/// What helps where a search ran out of time before its requests could show anything.
const TOO_FEW: &str = "too few requests to decide: give more --time";

/// The same where some of them were slow.
const LONGER_SEARCH: &str = "give more --time to find out whether it holds";

/// What an open loop is judged by.
pub struct OpenLoopInput<'a> {
    /// Requests per second that were asked for.
    pub requested_per_s: f64,
    /// Whether they fell due at random, and not evenly.
    pub at_random: bool,
    /// When the visit began, in milliseconds by the clock of the intervals: nothing was outstanding then.
    pub started_ms: u64,
    /// The last interval of the warm-up.
    pub before: Option<&'a Interval>,
    /// Those that were measured.
    pub measured: &'a [&'a Interval],
}

/// The open loop of a point; `None` for a closed one. The latencies are from when requests were due.
///
/// # Errors
/// [`DecodeError`] where a histogram is damaged.
pub(crate) fn figures(
    spec: &PointSpec,
    slo: Option<&Slo>,
    of: &OpenLoopInput<'_>,
    ttfb_intended: Latency,
    total_intended: Latency,
) -> Result<Option<OpenLoop>, DecodeError> {
    if spec.rate_per_s.is_none() {
        return Ok(None);
    }
    let (measured, requested_per_s) = (of.measured, of.requested_per_s);
    let of_intervals: Vec<_> = measured.iter().filter_map(|i| i.open.as_ref()).collect();
    let (Some(first), Some(last)) = (of_intervals.first(), of_intervals.last()) else { return Ok(None) };
    let mut late = histogram::empty();
    for open in &of_intervals {
        histogram::add_encoded(&mut late, &open.late)?;
    }
    let mut bounds = Vec::new();
    for bound in slo.iter().flat_map(|slo| &slo.0) {
        bounds.push(bound_figures(*bound, of)?);
    }
    let outstanding = |backlog: u64, in_flight: u32| backlog + u64::from(in_flight);
    Ok(Some(with_growth(OpenLoop {
        requested_per_s,
        at_random: of.at_random,
        due: of_intervals.iter().map(|o| o.due).sum(),
        bounds,
        backlog: last.backlog,
        backlog_max: of_intervals.iter().map(|o| o.backlog).max().unwrap_or(0),
        outstanding_first: outstanding(first.backlog, first.in_flight),
        outstanding_last: outstanding(last.backlog, last.in_flight),
        short_by_chance: short_by_chance(of),
        growth: outstanding::growth(of)?,
        intervals_with_backlog: of_intervals.iter().filter(|o| o.backlog > 0 && o.in_flight >= spec.concurrency).count()
            as u32,
        late: histogram::summarize(&late),
        ttfb_intended,
        total_intended,
    })))
}

/// The same, in which no bound is held where what is outstanding grows: few slow requests tell nothing of what follows.
fn with_growth(mut open: OpenLoop) -> OpenLoop {
    if fell_behind(&open) {
        for bound in &mut open.bounds {
            bound.held = false;
            if bound.verdict == BoundVerdict::Held {
                bound.verdict = BoundVerdict::InDoubt;
            }
        }
    }
    open
}

/// The open loop of several visits of a rate: what was counted added up, and of each bound what all visits show. `all`
/// is that of all their intervals, whose latencies stay. Every visit begins without a backlog.
pub(crate) fn together(all: OpenLoop, visits: &[Point]) -> OpenLoop {
    let of_visits = || visits.iter().filter_map(|visit| visit.open.as_ref());
    let sum = |counted: fn(&OpenLoop) -> u64| of_visits().map(counted).sum::<u64>();
    let short_by_chance = of_visits().map(|open| open.short_by_chance.powi(2)).sum::<f64>().sqrt();
    let ended: u64 = visits.iter().map(Point::ended_count).sum();
    let requested: f64 = visits.iter().filter_map(|visit| Some(requested_of(visit.open.as_ref()?, visit))).sum();
    let growth = outstanding::together(of_visits().map(|open| &open.growth));
    let is_reached = (ended + growth.filled) as f64 >= RATE_REACHED * requested - short_by_chance;
    let of_visit = |visit: &Point, place: usize| {
        let bound = visit.open.as_ref()?.bounds.get(place)?;
        Some(exceedance(bound, visit.measured_ms))
    };
    let bound = |(place, bound): (usize, &BoundFigures)| {
        let each: Vec<ExceedanceShare> = visits.iter().filter_map(|visit| of_visit(visit, place)).collect();
        judged(bound.bound, &ExceedanceShare::together(&each), is_reached)
    };
    with_growth(OpenLoop {
        due: sum(|open| open.due),
        bounds: all.bounds.iter().enumerate().map(bound).collect(),
        backlog: sum(|open| open.backlog),
        outstanding_first: sum(|open| open.outstanding_first),
        outstanding_last: sum(|open| open.outstanding_last),
        short_by_chance,
        growth,
        ..all
    })
}

/// How one bound fared. A request's fate is known when it ends within the bound, when it fails, and when it has been
/// due for as long as the bound: one that is outstanding then took longer, whatever becomes of it, and one that is
/// younger at the end is not counted. So a stall counts the same in the middle of a point and at its end.
///
/// A visit begins with nothing outstanding: until it has lasted as long as the bound, no request can be known to be
/// slow, and those that are fast are. So what counts for a bound, time too, begins with the first interval behind that.
///
/// # Errors
/// [`DecodeError`] where a histogram is damaged.
pub fn bound_figures(bound: LatencyBound, of: &OpenLoopInput<'_>) -> Result<BoundFigures, DecodeError> {
    let mut of_intervals = Vec::new();
    let counted_from_ms = of.started_ms.saturating_add(bound.bound_ns.div_ceil(1_000_000));
    let uncounted = of.measured.iter().take_while(|i| i.from_ms < counted_from_ms).count();
    let (uncounted, counted) = of.measured.split_at(uncounted);
    let before = uncounted.last().copied().or(of.before);
    let mut older_before = before.map_or(Ok(Some(0)), |i| older(i, bound))?;
    for interval in counted {
        let mut intended = histogram::empty();
        for row in &interval.rows {
            row.total_intended.as_ref().map_or(Ok(()), |e| histogram::add_encoded(&mut intended, e))?;
        }
        let failed: u64 = interval.rows.iter().flat_map(|r| r.errors.values()).sum();
        let longer = intended.count_between(bound.bound_ns.saturating_add(1), u64::MAX);
        let older_now = older(interval, bound)?;
        // Those that were counted when they grew too old are not counted again when they end.
        let grown = older_now.zip(older_before).map_or((0, 0), |(now, before)| (now, before));
        let settled = |n: u64| n.saturating_add(grown.0).saturating_sub(grown.1);
        of_intervals.push((settled(intended.len() + failed), settled(longer + failed)));
        older_before = older_now;
    }
    // Folders of older versions do not say how old what is outstanding is: it counts where it grew.
    let growth = match older_before {
        Some(_) => 0,
        None => outstanding::at_end(counted.last()).saturating_sub(outstanding::at_end(counted.first())),
    };
    let due = due(counted);
    let chance = slo::chance(of.at_random, due, outstanding::at_end(counted.first()));
    if let Some(last) = of_intervals.last_mut().filter(|_| growth as f64 > GROWTH_SHARE * due as f64 + chance) {
        *last = (last.0.saturating_add(growth), last.1.saturating_add(growth));
    }
    Ok(judged(bound, &ExceedanceShare::of_intervals(&of_intervals, measured_ms(counted)), is_reached(of)?))
}

/// What the share of requests over a bound shows of it, at a rate that was reached or was not.
fn judged(bound: LatencyBound, share: &ExceedanceShare, is_reached: bool) -> BoundFigures {
    let (allowed, share_95) = (bound.share_over(), share.interval(0.95));
    BoundFigures {
        bound,
        count: share.count,
        over: share.over,
        measured_ms: Some(share.measured_ms),
        over_share: share.share(),
        effective: share.effective,
        freedom: share.freedom,
        held: is_reached && share.count > 0 && share.share() <= allowed,
        verdict: slo::shown(share_95, allowed, is_reached),
        share_95: Some(share_95),
        of_rate: None,
        stop_ruled_out_ms: Some(share.stop_ruled_out_ms(allowed)),
    }
}

/// The share over a bound, as its figures have it: of all of a point that was measured for so long, where they do not
/// say in which time they were counted.
fn exceedance(bound: &BoundFigures, point_ms: u64) -> ExceedanceShare {
    let BoundFigures { count, over, effective, freedom, measured_ms, .. } = *bound;
    ExceedanceShare { count, over, effective, freedom, measured_ms: measured_ms.unwrap_or(point_ms) }
}

fn measured_ms(intervals: &[&Interval]) -> u64 {
    intervals.iter().map(|i| i.to_ms - i.from_ms).sum()
}

/// Requests that fell due.
fn due(intervals: &[&Interval]) -> u64 {
    intervals.iter().filter_map(|i| i.open.as_ref()).map(|o| o.due).sum()
}

/// Requests that ended in each interval, well or not.
fn ended<'a>(of: &OpenLoopInput<'a>) -> impl Iterator<Item = u64> + use<'a> {
    of.measured.iter().map(|i| i.rows.iter().map(|r| r.requests + r.errors.values().sum::<u64>()).sum())
}

/// By how many requests what ended may fall short of what was requested by chance: by what was outstanding before, and
/// by what a pause at the end of a point holds up, of which the scatter of what ended in each interval knows.
fn short_by_chance(of: &OpenLoopInput<'_>) -> f64 {
    let per_interval: Vec<f64> = ended(of).map(|n| n as f64).collect();
    let half = estimate::mean_with_interval(&per_interval).half_width_95.unwrap_or(0.0);
    let scatter = THREE_ERRORS * half * per_interval.len() as f64;
    slo::chance(false, 0, outstanding::at_end(of.measured.first())).max(scatter)
}

/// Whether as many requests ended as were requested, but for what chance explains and for what fills the target: as
/// long as a request takes, fewer end than fall due in any target.
fn is_reached(of: &OpenLoopInput<'_>) -> Result<bool, DecodeError> {
    let expected = of.requested_per_s * measured_ms(of.measured) as f64 / 1e3;
    let requested = requested(due(of.measured), of.at_random, expected);
    let ended = ended(of).sum::<u64>() + outstanding::growth(of)?.filled;
    Ok(ended as f64 >= RATE_REACHED * requested - short_by_chance(of))
}

/// Requests that a schedule had for the target, of which so many are expected. What it draws at random is as many as it
/// is: that few fell due is no fault of the target. Fewer than chance draws fall due where clients were lost that
/// should have sent the rest.
fn requested(due: u64, at_random: bool, expected: f64) -> f64 {
    let by_chance = DRAWN_CHANCES * slo::chance(at_random, due, 0);
    if due as f64 >= RATE_REACHED * expected - by_chance { due as f64 } else { expected }
}

/// The same of a point.
fn requested_of(open: &OpenLoop, point: &Point) -> f64 {
    requested(open.due, open.at_random, open.requested_per_s * point.measured_ms as f64 / 1e3)
}

/// Requests that have been outstanding for longer than the bound at the end of an interval, where that is known.
fn older(interval: &Interval, bound: LatencyBound) -> Result<Option<u64>, DecodeError> {
    let Some(encoded) = interval.open.as_ref().and_then(|open| open.ages.as_ref()) else { return Ok(None) };
    let mut ages = histogram::empty();
    histogram::add_encoded(&mut ages, encoded)?;
    Ok(Some(ages.count_between(bound.bound_ns.saturating_add(1), u64::MAX)))
}

/// What a point tells the search for the highest rate; `None` for one of a closed loop, or without `--slo`.
#[must_use]
pub fn rate_visit(point: &Point) -> Option<RateVisit> {
    let open = point.open.as_ref().filter(|open| !open.bounds.is_empty())?;
    let ended = (point.ended_count() + open.growth.filled) as f64;
    let requested = requested_of(open, point);
    // Where a queue grows, what few were slow so far tells nothing of what follows.
    let is_growing = fell_behind(open);
    let known =
        |share: ExceedanceShare| ExceedanceShare { effective: if is_growing { 1.0 } else { share.effective }, ..share };
    Some(RateVisit {
        rate_per_s: open.requested_per_s,
        achieved_per_s: open.requested_per_s * if requested > 0.0 { ended / requested } else { 1.0 },
        shares: open.bounds.iter().map(|bound| known(exceedance(bound, point.measured_ms))).collect(),
        chance: open.short_by_chance,
        spent_ms: point.warmup_ms + point.measured_ms,
    })
}

/// How far the search for the highest rate may go.
#[must_use]
pub fn limits(slo: &Slo, search: &RateSearchSpec, point_ms: u64) -> RateSearchLimits {
    let shares_over = slo.0.iter().map(LatencyBound::share_over).collect();
    let (lowest_per_s, highest_per_s) = (search.lowest_per_s, search.highest_per_s);
    let (precision, budget_ms) = (search.precision, search.series_ms);
    RateSearchLimits {
        lowest_per_s,
        highest_per_s,
        precision,
        point_ms,
        budget_ms,
        ..RateSearchLimits::new(shares_over)
    }
}

/// The highest rate that the points of a series tell, and in each of its points what the search says of the bounds at
/// that rate, so that rows and answer follow one rule; nothing where no rate was searched.
pub(crate) fn judge(series: &mut Series, requested: &LoadRequest) {
    if requested.rate_search.is_none() {
        return given_rates::judge(series);
    }
    let visits: Vec<RateVisit> = series.points.iter().filter_map(rate_visit).collect();
    let Some((slo, search)) = requested.slo.as_ref().zip(requested.rate_search.as_ref()).filter(|_| !visits.is_empty())
    else {
        return;
    };
    let limits = limits(slo, search, requested.duration_ms);
    tell(series.points.iter_mut().chain(&mut series.pooled), &visits, &limits);
    series.sustained = Some(slo::judge(&visits, &limits));
}

/// Has points say of their bounds what the visits of a search show of their rates.
fn tell<'p>(points: impl Iterator<Item = &'p mut Point>, visits: &[RateVisit], limits: &RateSearchLimits) {
    let of_rates = slo::verdicts(visits, limits);
    for open in points.filter_map(|point| point.open.as_mut()) {
        let reported =
            of_rates.iter().find(|(rate, _)| *rate == open.requested_per_s).map_or(&[][..], |(_, reported)| reported);
        for (bound, (verdict, of_rate)) in open.bounds.iter_mut().zip(reported) {
            (bound.verdict, bound.of_rate) = (*verdict, Some(*of_rate));
        }
    }
}

/// By what factor a point should be longer to show that a bound holds, if requests stay as slow as they were; `None`
/// where their share is so near to what is allowed that no usual time would.
fn longer(bound: &BoundFigures) -> Option<f64> {
    let (allowed, (share, [_, high])) = (bound.bound.share_over(), bound.shown()?);
    let factor = if share <= 0.0 { high / allowed } else { ((high - share) / (allowed - share)).powi(2) };
    (share < allowed && factor.is_finite() && factor <= LONGER_MAX).then_some(factor.max(1.0))
}

/// The numbers of all visits of a point.
fn numbers(series: &Series, point: &Point) -> Vec<u32> {
    series.visits_of(point).map(|visit| visit.point).collect()
}

/// That bounds were missed, or kept without a proof: by each rate that was asked for, or by all that a search tried.
pub(crate) fn missed(label: &str, series: &Series, requested: &LoadRequest) -> Vec<Finding> {
    let Some(slo) = &requested.slo else { return Vec::new() };
    let remedy = |p: &Point| p.open.as_ref().map_or_else(String::new, |open| in_doubt(open, requested));
    let finding = |point: &Point, claim| Finding {
        kind: FindingKind::SloMissed,
        severity: Severity::Warning,
        confidence: Confidence::Certain,
        points: numbers(series, point),
        claim,
        evidence: evidence(point),
        remedy: "find the time on the timeline and what the target did then, or lower the rate".into(),
    };
    let rate = |p: &Point| p.open.as_ref().map_or(0.0, |open| open.requested_per_s);
    let reported = |p: &Point, lowest: &str| {
        let rate = count(rate(p));
        match p.open.as_ref()?.verdict()? {
            BoundVerdict::Held => None,
            BoundVerdict::Missed => Some(finding(p, format!("{slo} did not hold at {rate}/s{lowest} ({label})"))),
            BoundVerdict::InDoubt => Some(Finding {
                kind: FindingKind::SloInDoubt,
                remedy: remedy(p),
                ..finding(p, format!("{slo} is not shown to hold at {rate}/s{lowest} ({label})"))
            }),
        }
    };
    match &series.sustained {
        // Whatever is shown of higher rates: none of them is to be relied on.
        Some(sustained) if sustained.outcome == RateSearchOutcome::NoneHolds => {
            let lowest = series.at_each().into_iter().min_by(|a, b| rate(a).total_cmp(&rate(b)));
            lowest.and_then(|lowest| reported(lowest, ", the lowest rate that was tried")).into_iter().collect()
        }
        Some(sustained) if sustained.holds_per_s.is_none() => {
            let below = sustained.misses_per_s.map_or(String::new(), |misses| format!(" below {}/s", count(misses)));
            let claim = |up_to| {
                format!("{slo} is not shown to hold at any rate{below}; it seems to hold up to {up_to}/s ({label})")
            };
            let doubt_finding = |leaning: &Point| Finding {
                kind: FindingKind::SloInDoubt,
                remedy: remedy(leaning),
                ..finding(leaning, claim(count(rate(leaning))))
            };
            let leaning = series.at_each().into_iter().find(|p| Some(rate(p)) == sustained.rate_per_s);
            leaning.map(doubt_finding).into_iter().collect()
        }
        Some(_) => Vec::new(),
        None => series.at_each().into_iter().filter_map(|p| reported(p, "")).collect(),
    }
}

/// That a rate is shown to miss and a higher one to hold, with both figures.
pub(crate) fn contradicted(label: &str, series: &Series, requested: &LoadRequest) -> Option<Finding> {
    let (sustained, slo) = (series.sustained.as_ref()?, requested.slo.as_ref()?);
    let (misses, holds) = (sustained.misses_per_s?, sustained.holds_above_per_s?);
    let at = |rate: f64| {
        let is_at = |p: &&Point| p.open.as_ref().is_some_and(|open| open.requested_per_s == rate);
        series.points.iter().filter(is_at).collect::<Vec<&Point>>()
    };
    let (below, above) = (at(misses), at(holds));
    let [low, high] = [misses, holds].map(count);
    Some(Finding {
        kind: FindingKind::SloContradicted,
        severity: Severity::Warning,
        confidence: Confidence::Certain,
        points: below.iter().chain(&above).map(|p| p.point).collect(),
        claim: format!("{slo} is shown to miss at {low}/s and yet to hold at {high}/s ({label})"),
        evidence: format!("at {low}/s {}; at {high}/s {}", evidence(below.first()?), evidence(above.first()?)),
        remedy: format!(
            "the target was slower for a time, or is so at some rates only: see when on the timeline, and measure both \
             for longer with --rate {low},{high}"
        ),
    })
}

/// What a point shows of its bounds: in a search, together with all others of its rate.
fn evidence(point: &Point) -> String {
    let share = |b: &BoundFigures| {
        let (share, [low, high]) = b.shown().unwrap_or((b.over_share, [0.0, 1.0]));
        let is_around = low <= b.bound.share_over() && b.bound.share_over() < high;
        let doubt = if is_around { ", in which what is allowed lies" } else { "" };
        let slow = if b.is_short() { "; the rate was not reached" } else { "" };
        format!("{} over {} ({}{doubt}){slow}", percent(share), b.bound, percent_range([low, high]))
    };
    point.open.iter().flat_map(|open| &open.bounds).map(share).collect::<Vec<_>>().join(", ")
}

/// Whether requests were too few to show in a search that a bound holds, if none had been slow.
fn too_few(bound: &BoundFigures) -> bool {
    bound.over == 0 && !bound.is_shown() && !slo::decides(bound.count, slo::SURE, bound.bound.share_over())
}

/// What helps where bounds are shown neither to hold nor to be missed.
fn in_doubt(open: &OpenLoop, requested: &LoadRequest) -> String {
    let bounds = &open.bounds;
    if fell_behind(open) {
        return "what is outstanding grows, and latencies with it: give a lower --rate, or measure longer to see by how \
                much"
            .to_owned();
    }
    let is_search = requested.rate_search.is_some();
    if is_search && bounds.iter().any(too_few) {
        return TOO_FEW.to_owned();
    }
    if bounds.iter().any(|b| b.count == 0) {
        return "measure longer: of a bound nothing is known before a visit has lasted longer than it".to_owned();
    }
    if bounds.iter().any(|b| !b.held) {
        return "more requests were slow than allowed, which may be chance: measure longer, lower the rate, or relax \
                the bound"
            .to_owned();
    }
    let factors: Option<Vec<f64>> = bounds.iter().filter(|b| !b.is_shown()).map(longer).collect();
    match factors {
        Some(factors) => {
            let factor = factors.into_iter().fold(1.0, f64::max);
            let flag = if is_search || requested.rounds_ms.is_some() { "--time" } else { "--duration" };
            format!("measure longer: {flag} {factor:.1} times as long is enough if latencies stay the same")
        }
        None => "the share of slow requests is just at the bound: lower the rate, or relax the bound".to_owned(),
    }
}

/// The verdict on a point that reached the rate asked for: by the user, or by the search. What was due is what the
/// schedule had in the time that was measured: of few requests, one more or less than the rate times that time is much.
/// Those in flight at the end were due and are on their way; whether they grow in number is looked at apart.
pub(crate) fn limit(best: &Point, requested: &LoadRequest) -> Option<SeriesLimit> {
    let open = best.open.as_ref().filter(|open| open.due > 0)?;
    let in_flight = open.outstanding_last.saturating_sub(open.backlog);
    let is_kept = (best.requests.saturating_add(in_flight)) as f64 >= RATE_REACHED * open.due as f64;
    if !is_kept || fell_behind(open) {
        return None;
    }
    let (claim, remedy) = verdict_on_rate(open, requested);
    Some(SeriesLimit {
        bound: Bottleneck::RequestedRate,
        claim,
        evidence: format!(
            "in the time measured {} fell due and {} were answered; {in_flight} were in flight, {} waiting at its end",
            grouped(open.due),
            grouped(best.requests),
            grouped(open.backlog)
        ),
        remedy: remedy.into(),
    })
}

/// What is claimed of a rate that was requested and reached, and what helps.
fn verdict_on_rate(open: &OpenLoop, requested: &LoadRequest) -> (String, &'static str) {
    let rate = count(open.requested_per_s);
    let searched = requested.rate_search.as_ref().and(requested.slo.as_ref());
    match (searched, &requested.slo, open.verdict()) {
        (Some(slo), _, Some(BoundVerdict::InDoubt)) => {
            let remedy = if open.bounds.iter().any(too_few) { TOO_FEW } else { LONGER_SEARCH };
            (searched_to(slo, &rate, open.verdict()), remedy)
        }
        (Some(slo), _, verdict) => (searched_to(slo, &rate, verdict), WITHOUT_SLO),
        (None, Some(slo), Some(BoundVerdict::Missed)) => {
            let remedy = "give a lower --rate, or drop it: --slo then searches for the highest rate at which it holds";
            (format!("the target was too slow for {slo} at the requested {rate} requests/s"), remedy)
        }
        (None, Some(slo), Some(BoundVerdict::InDoubt)) => {
            let remedy = "measure longer to find out whether it holds";
            (format!("{slo} is in doubt at the requested {rate} requests/s"), remedy)
        }
        (None, Some(_), _) => {
            let remedy = "raise --rate to find the limit, or drop it: --slo then searches for the highest rate at \
                          which it holds";
            (not_behind(open, &rate), remedy)
        }
        (None, None, _) => {
            let remedy = "raise --rate to find the limit, or let --slo find the highest rate under a bound";
            (not_behind(open, &rate), remedy)
        }
    }
}

/// That a target was not seen to fall behind, with what would have been seen of it.
fn not_behind(open: &OpenLoop, rate: &str) -> String {
    let seen = match shortfall_seen(open) {
        Some(share) => format!("; a shortfall of {} of it or more would have been seen", percent(share)),
        None => ", in a time too short to tell".to_owned(),
    };
    format!("the target was not seen to fall behind the requested {rate} requests/s{seen}")
}

/// What a search made of the highest rate that the target answered: it tries rates at which the bounds are missed too.
fn searched_to(slo: &Slo, rate: &str, verdict: Option<BoundVerdict>) -> String {
    match verdict {
        Some(BoundVerdict::Missed) => format!("the target was too slow for {slo} at {rate} requests/s"),
        Some(BoundVerdict::InDoubt) => {
            format!("{rate} requests/s is the most that the target answered in the search for {slo}, in doubt there")
        }
        Some(BoundVerdict::Held) | None => {
            format!("{rate} requests/s is the most that the target answered in the search for {slo}")
        }
    }
}

/// What the open loop of a rate gives to say, all of its visits together.
pub(crate) fn findings(label: &str, series: &Series, point: &Point) -> Vec<Finding> {
    let Some(open) = &point.open else { return Vec::new() };
    let finding = |kind, claim, evidence, remedy: &str| Finding {
        kind,
        severity: Severity::Warning,
        confidence: Confidence::Certain,
        points: numbers(series, point),
        claim,
        evidence,
        remedy: remedy.to_owned(),
    };
    let rate = count(open.requested_per_s);
    let at_end = if series.visits_of(point).count() > 1 { "at the ends of its visits" } else { "at the end" };
    let mut found = Vec::new();
    if fell_behind(open) {
        let busy_share = point.client_busy.unwrap_or(0.0);
        let who = if busy_share >= THREADS_BUSY {
            "linerate's threads, which were saturated,"
        } else if slots::are_full(point) {
            &format!("{} requests in flight at most", grouped(point.concurrency.into()))
        } else {
            "the target, or the network path to it,"
        };
        found.push(finding(
            FindingKind::FellBehind,
            format!(
                "{who} did not keep up with {rate} requests/s: {} outstanding {at_end} ({label})",
                grouped(open.outstanding_last)
            ),
            format!(
                "{} requests were due and {} were answered; {} were outstanding {} after the start and {} \
                 {at_end}; linerate's threads were busy {:.0} % of the time",
                grouped(open.due),
                grouped(point.requests),
                grouped(open.growth.first),
                duration_ns(open.growth.from_ms as f64 * 1e6),
                grouped(open.growth.last()),
                busy_share * 100.0
            ),
            "latencies from the due time grow with the length of such a point: give a lower --rate",
        ));
    } else if slots::are_full(point) {
        found.push(finding(
            FindingKind::FellBehind,
            format!("requests waited because {} were already in flight ({label}, {rate}/s)", point.concurrency),
            slots::evidence(point),
            slots::REMEDY,
        ));
    }
    found
}

#[cfg(test)]
mod tests;
