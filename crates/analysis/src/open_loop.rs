//! What an open loop shows beyond a closed one: whether the target kept up, and whether linerate did.

use linerate_record::finding::{Confidence, Finding, FindingKind, Severity};
use linerate_record::histogram::{self, DecodeError};
use linerate_record::run::{Interval, LoadRequest, PointSpec, RateSearchSpec};
use linerate_record::slo::{LatencyBound, Slo};
use linerate_record::units::{count, percent};

use crate::slo::{self, BoundVerdict, SloLimits, SloMeasurement, SloOutcome};
use crate::view::{Bottleneck, BoundFigures, Latency, OpenLoop, Point, Series, SeriesLimit};

/// Share of the rate asked for from which it counts as reached.
const RATE_REACHED: f64 = 0.98;

/// Growth of what is outstanding, as a share of what fell due, from which a target does not keep up.
const GROWTH_SHARE: f64 = 0.01;

/// How many times as long a point may have to be to be worth advising.
const LONGER_MAX: f64 = 100.0;

/// Share of their time from which linerate's threads are to be suspected first.
const THREADS_BUSY: f64 = 0.85;

/// What an open loop is judged by.
pub struct Measuring<'a> {
    /// Requests per second that were asked for.
    pub asked_per_s: f64,
    /// Whether they fell due at random, and not evenly.
    pub at_random: bool,
    /// The last interval of the warm-up.
    pub before: Option<&'a Interval>,
    /// Those that were measured.
    pub measured: &'a [&'a Interval],
}

/// The open loop of a point; `None` for a closed one. `ttfb` and `total` are from when requests were due.
///
/// # Errors
/// [`DecodeError`] where a histogram is damaged.
pub(crate) fn figures(
    spec: &PointSpec,
    slo: Option<&Slo>,
    of: &Measuring<'_>,
    (ttfb, total): (Latency, Latency),
) -> Result<Option<OpenLoop>, DecodeError> {
    if spec.rate_per_s.is_none() {
        return Ok(None);
    }
    let (measured, asked_per_s) = (of.measured, of.asked_per_s);
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
    Ok(Some(OpenLoop {
        asked_per_s,
        at_random: of.at_random,
        due: of_intervals.iter().map(|o| o.due).sum(),
        bounds,
        backlog: last.backlog,
        backlog_max: of_intervals.iter().map(|o| o.backlog).max().unwrap_or(0),
        outstanding_first: outstanding(first.backlog, first.in_flight),
        outstanding_last: outstanding(last.backlog, last.in_flight),
        intervals_with_backlog: of_intervals.iter().filter(|o| o.backlog > 0 && o.in_flight >= spec.concurrency).count()
            as u32,
        late: histogram::summarize(&late),
        ttfb_intended: ttfb,
        total_intended: total,
    }))
}

/// How one bound fared. A request's fate is known when it ends within the bound, when it fails, and when it has been
/// due for as long as the bound: one that is outstanding then took longer, whatever becomes of it, and one that is
/// younger at the end is not counted. So a stall counts the same in the middle of a point and at its end.
///
/// # Errors
/// [`DecodeError`] where a histogram is damaged.
pub fn bound_figures(bound: LatencyBound, of: &Measuring<'_>) -> Result<BoundFigures, DecodeError> {
    let mut of_intervals = Vec::new();
    let mut older_before = of.before.map_or(Ok(Some(0)), |i| older(i, bound))?;
    for interval in of.measured {
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
        None => outstanding(of.measured.last()).saturating_sub(outstanding(of.measured.first())),
    };
    let due: u64 = of.measured.iter().filter_map(|i| i.open.as_ref()).map(|o| o.due).sum();
    let chance = slo::chance(of.at_random, due, outstanding(of.measured.first()));
    if let Some(last) = of_intervals.last_mut().filter(|_| growth as f64 > GROWTH_SHARE * due as f64 + chance) {
        *last = (last.0.saturating_add(growth), last.1.saturating_add(growth));
    }
    let (count, over) = of_intervals.iter().fold((0, 0), |sum, i| (sum.0 + i.0, sum.1 + i.1));
    let (effective, share_95) = (slo::effective(&of_intervals), Some(slo::share_interval(&of_intervals)));
    let mut figures = BoundFigures {
        bound,
        count,
        over,
        over_share: over as f64 / count.max(1) as f64,
        effective,
        held: false,
        verdict: BoundVerdict::InDoubt,
        share_95,
    };
    let spent_s = of.measured.iter().map(|i| i.to_ms - i.from_ms).sum::<u64>() as f64 / 1e3;
    let rows = of.measured.iter().flat_map(|i| &i.rows);
    let ended: u64 = rows.map(|r| r.requests + r.errors.values().sum::<u64>()).sum();
    let visit = visit(of.asked_per_s, ended as f64 / spent_s.max(1e-3), &[figures], chance, 0);
    figures.held = slo::judge(&[visit], &SloLimits::new(vec![bound.share_over()])).rate_per_s.is_some();
    figures.verdict = verdict(&figures);
    Ok(figures)
}

/// What one point alone shows of a bound: by the interval of the share, or because the rate was not reached.
fn verdict(figures: &BoundFigures) -> BoundVerdict {
    let allowed = figures.bound.share_over();
    let kept = figures.over as f64 <= allowed * figures.count as f64;
    match figures.share_95 {
        _ if kept && !figures.held && figures.count > 0 => BoundVerdict::Missed,
        Some([_, high]) if high <= allowed => BoundVerdict::Held,
        Some([low, _]) if low > allowed => BoundVerdict::Missed,
        _ => BoundVerdict::InDoubt,
    }
}

/// Requests that have been outstanding for longer than the bound at the end of an interval, where that is known.
fn older(interval: &Interval, bound: LatencyBound) -> Result<Option<u64>, DecodeError> {
    let Some(encoded) = interval.open.as_ref().and_then(|open| open.ages.as_ref()) else { return Ok(None) };
    let mut ages = histogram::empty();
    histogram::add_encoded(&mut ages, encoded)?;
    Ok(Some(ages.count_between(bound.bound_ns.saturating_add(1), u64::MAX)))
}

fn outstanding(interval: Option<&&Interval>) -> u64 {
    interval.and_then(|i| i.open.as_ref()).map_or(0, |o| o.backlog + u64::from(o.in_flight))
}

fn visit(rate_per_s: f64, achieved_per_s: f64, bounds: &[BoundFigures], chance: f64, spent_ms: u64) -> SloMeasurement {
    SloMeasurement {
        rate_per_s,
        achieved_per_s,
        count: bounds.iter().map(|b| b.count).max().unwrap_or(0),
        effective: bounds.iter().map(|b| b.effective).collect(),
        over: bounds.iter().map(|b| b.over).collect(),
        chance,
        spent_ms,
    }
}

/// What a point tells the search for the highest rate; `None` for one of a closed loop, or without `--slo`.
#[must_use]
pub fn visit_of(point: &Point) -> Option<SloMeasurement> {
    let open = point.open.as_ref().filter(|open| !open.bounds.is_empty())?;
    let spent_ms = point.warmup_ms + point.measured_ms;
    let failed_per_s = point.error_count() as f64 * 1e3 / point.measured_ms.max(1) as f64;
    let chance = slo::chance(open.at_random, open.due, open.outstanding_first);
    Some(visit(open.asked_per_s, point.requests_per_s.mean + failed_per_s, &open.bounds, chance, spent_ms))
}

/// How far the search for the highest rate may go.
#[must_use]
pub fn limits(slo: &Slo, search: &RateSearchSpec, point_ms: u64) -> SloLimits {
    let shares_over = slo.0.iter().map(LatencyBound::share_over).collect();
    let (lowest_per_s, highest_per_s) = (search.lowest_per_s, search.highest_per_s);
    let (precision, budget_ms) = (search.precision, search.series_ms);
    SloLimits { lowest_per_s, highest_per_s, precision, point_ms, budget_ms, ..SloLimits::new(shares_over) }
}

/// The highest rate that the points of a series tell, and in each of its points what the search says of the bounds at
/// that rate, so that rows and answer follow one rule; nothing where no rate was searched.
pub(crate) fn judge(series: &mut Series, asked: &LoadRequest) {
    let visits: Vec<SloMeasurement> = series.points.iter().filter_map(visit_of).collect();
    let Some((slo, search)) = asked.slo.as_ref().zip(asked.rate_search.as_ref()).filter(|_| !visits.is_empty()) else {
        return;
    };
    let limits = limits(slo, search, asked.duration_ms);
    let of_rates = slo::verdicts(&visits, &limits);
    for open in series.points.iter_mut().filter_map(|point| point.open.as_mut()) {
        let reported =
            of_rates.iter().find(|(rate, _)| *rate == open.asked_per_s).map_or(&[][..], |(_, reported)| reported);
        open.bounds.iter_mut().zip(reported).for_each(|(bound, verdict)| bound.verdict = *verdict);
    }
    series.sustained = Some(slo::judge(&visits, &limits));
}

/// By what factor a point should be longer to show that a bound holds, if requests stay as slow as they were; `None`
/// where their share is so near to what is allowed that no usual time would.
fn longer(bound: &BoundFigures) -> Option<f64> {
    let (allowed, [_, high]) = (bound.bound.share_over(), bound.share_95?);
    let share = bound.over_share;
    let factor = if bound.over == 0 { high / allowed } else { ((high - share) / (allowed - share)).powi(2) };
    (share < allowed && factor.is_finite() && factor <= LONGER_MAX).then_some(factor.max(1.0))
}

/// That bounds were missed, or kept without a proof: by each rate that was asked for, or by the lowest that a search
/// may try.
pub(crate) fn missed(label: &str, series: &Series, asked: &LoadRequest) -> Vec<Finding> {
    let Some(slo) = &asked.slo else { return Vec::new() };
    let share = |b: &BoundFigures| {
        let interval = b.share_95.map_or(String::new(), |[low, high]| {
            let is_around = (low..high).contains(&b.bound.share_over());
            let doubt = if is_around { ", in which what is allowed lies" } else { "" };
            format!(" ({} to {}{doubt})", percent(low), percent(high))
        });
        format!("{} over {}{interval}", percent(b.over_share), b.bound)
    };
    let bounds = |p: &Point| p.open.clone().map_or(Vec::new(), |open| open.bounds);
    let finding = |point: &Point, claim| Finding {
        kind: FindingKind::SloMissed,
        severity: Severity::Warning,
        confidence: Confidence::Certain,
        points: vec![point.point],
        claim,
        evidence: bounds(point).iter().map(share).collect::<Vec<_>>().join(", "),
        remedy: "see when on the timeline, and what the target did then; or ask for less".into(),
    };
    let rate = |p: &Point| p.open.as_ref().map_or(0.0, |open| open.asked_per_s);
    let reported = |p: &Point, lowest: &str| {
        let rate = count(rate(p));
        match p.open.as_ref()?.verdict()? {
            BoundVerdict::Held => None,
            BoundVerdict::Missed => Some(finding(p, format!("{slo} did not hold at {rate}/s{lowest} ({label})"))),
            BoundVerdict::InDoubt => Some(Finding {
                kind: FindingKind::SloInDoubt,
                remedy: in_doubt(&bounds(p)),
                ..finding(p, format!("{slo} is not shown to hold at {rate}/s{lowest} ({label})"))
            }),
        }
    };
    match &series.sustained {
        // Whatever is shown of higher rates: none of them is to be relied on.
        Some(sustained) if sustained.outcome == SloOutcome::NoneHolds => {
            let lowest = series.points.iter().min_by(|a, b| rate(a).total_cmp(&rate(b)));
            lowest.and_then(|lowest| reported(lowest, ", the lowest rate that was tried")).into_iter().collect()
        }
        Some(_) => Vec::new(),
        None => series.points.iter().filter_map(|p| reported(p, "")).collect(),
    }
}

/// What helps where bounds are shown neither to hold nor to be missed.
fn in_doubt(bounds: &[BoundFigures]) -> String {
    if bounds.iter().any(|b| !b.held) {
        return "more requests were slow than are allowed, which may be chance: measure longer, ask for less, or allow \
                more"
            .to_owned();
    }
    let factors: Option<Vec<f64>> = bounds.iter().filter(|b| !b.is_shown()).map(longer).collect();
    match factors {
        Some(factors) => {
            let factor = factors.into_iter().fold(1.0, f64::max);
            format!("measure longer: with --duration {factor:.1} times as long, if requests stay as slow as they were")
        }
        None => "as many requests are slow as are just allowed: ask for less, or allow more".to_owned(),
    }
}

/// Whether requests fell due faster than they were answered: more were outstanding at the end than at the beginning,
/// by more than chance, and by more than a trifle.
fn fell_behind(open: &OpenLoop) -> bool {
    let growth = open.outstanding_last as f64 - open.outstanding_first as f64;
    growth > GROWTH_SHARE * open.due as f64 + slo::chance(open.at_random, open.due, open.outstanding_first)
}

/// The verdict on a point that reached the rate asked for.
pub(crate) fn limit(best: &Point) -> Option<SeriesLimit> {
    let open = best.open.as_ref()?;
    let reached = best.requests_per_s.mean / open.asked_per_s;
    (reached >= RATE_REACHED && !fell_behind(open)).then(|| SeriesLimit {
        bound: Bottleneck::AskedRate,
        claim: format!("the target kept up with the {} requests/s that were asked for", count(open.asked_per_s)),
        evidence: format!("{} of them were answered, {} were waiting at the end", percent(reached), open.backlog),
        remedy: "raise --rate to find the limit, or let --slo find the highest rate under a bound".into(),
    })
}

/// What the open loop of a point gives to say.
pub(crate) fn findings(label: &str, point: &Point) -> Vec<Finding> {
    let Some(open) = &point.open else { return Vec::new() };
    let finding = |kind, claim, evidence, remedy: &str| Finding {
        kind,
        severity: Severity::Warning,
        confidence: Confidence::Certain,
        points: vec![point.point],
        claim,
        evidence,
        remedy: remedy.to_owned(),
    };
    let rate = count(open.asked_per_s);
    let mut found = Vec::new();
    if fell_behind(open) {
        let busy_share = point.client_busy.unwrap_or(0.0);
        let busy = busy_share >= THREADS_BUSY;
        found.push(finding(
            FindingKind::FellBehind,
            format!(
                "{} not keep up with {rate} requests/s: backlog {} at the end ({label})",
                if busy { "linerate's threads, full, did" } else { "the target, or the way to it, did" },
                open.backlog
            ),
            format!(
                "{} requests fell due and {} were answered; outstanding rose from {} to {}; linerate's threads ran \
                 {:.0} % of the time",
                open.due,
                point.requests,
                open.outstanding_first,
                open.outstanding_last,
                busy_share * 100.0
            ),
            "latencies from when requests were due grow with the length of such a point: ask for a lower --rate",
        ));
    } else if open.intervals_with_backlog * 2 > point.requests_per_s.intervals {
        found.push(finding(
            FindingKind::FellBehind,
            format!("requests waited because {} were in flight already ({label}, {rate}/s)", point.concurrency),
            format!("a backlog in {} intervals, at most {}", open.intervals_with_backlog, open.backlog_max),
            "raise --concurrent: an open loop needs as many slots as the target needs at its slowest",
        ));
    }
    found
}

#[cfg(test)]
mod tests {
    use linerate_record::run::{IntervalRow, OpenInterval};
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;
    use crate::build::tests::point;
    use crate::view::{Estimate, Latency};

    fn open(due: u64, first: u64, last: u64) -> OpenLoop {
        OpenLoop {
            asked_per_s: 100.0,
            at_random: true,
            due,
            backlog: last,
            backlog_max: last,
            outstanding_first: first,
            outstanding_last: last,
            bounds: Vec::new(),
            intervals_with_backlog: 0,
            late: Latency::default(),
            ttfb_intended: Latency::default(),
            total_intended: Latency { p99_ns: 10_000_000, ..Latency::default() },
        }
    }

    fn spec(rate_per_s: Option<f64>) -> PointSpec {
        PointSpec { workload: "get".into(), size: "4KiB".into(), concurrency: 4, rate_per_s }
    }

    fn at(open: OpenLoop, per_s: f64) -> Point {
        let requests_per_s = Estimate { mean: per_s, intervals: 10, ..Estimate::default() };
        Point { open: Some(open), requests_per_s, ..point(1024, 0.0) }
    }

    fn of<'a>(asked_per_s: f64, measured: &'a [&'a Interval]) -> Measuring<'a> {
        Measuring { asked_per_s, at_random: true, before: None, measured }
    }

    /// A hundred intervals of 0.1 s of eighty requests a second that take 5 ms, but for a stall.
    fn stalled(from: u64, to: u64) -> Vec<Interval> {
        let mut waiting: Vec<u64> = Vec::new();
        let one = |i: u64| {
            let due = |k: u64| i * 100 + k * 100 / 8;
            waiting.extend((0..8).map(due));
            let (mut intended, mut ages) = (histogram::empty(), histogram::empty());
            let end_ms = (i + 1) * 100;
            if (from..to).contains(&i) {
                waiting.iter().for_each(|due_ms| ages.record((end_ms - due_ms) * 1_000_000).unwrap());
            } else {
                let ended = |due_ms: u64| if due_ms < i * 100 { i * 100 - due_ms } else { 5 };
                waiting.drain(..).for_each(|due_ms| intended.record(ended(due_ms) * 1_000_000).unwrap());
            }
            let row = IntervalRow {
                total_intended: Some(histogram::encode(&intended)),
                ..crate::build::tests::row(0, intended.len(), 0, 1_000_000)
            };
            let open = OpenInterval {
                due: 8,
                backlog: 0,
                in_flight: ages.len() as u32,
                late: histogram::encode(&histogram::empty()),
                ages: Some(histogram::encode(&ages)),
            };
            let (from_ms, to_ms) = (i * 100, end_ms);
            Interval { from_ms, to_ms, open: Some(open), rows: vec![row], ..crate::build::tests::interval() }
        };
        (0..100).map(one).collect()
    }

    #[test]
    fn a_stall_counts_the_same_in_the_middle_of_a_point_and_at_its_end() {
        let slo: Slo = "p99=100ms".parse().unwrap();
        for from in [0, 20, 50, 80, 91, 92] {
            let intervals = stalled(from, from + 8);
            let measured: Vec<&Interval> = intervals.iter().collect();
            let of = Measuring { asked_per_s: 80.0, at_random: false, before: None, measured: &measured };
            let none = (Latency::default(), Latency::default());
            let open = figures(&spec(Some(80.0)), Some(&slo), &of, none).unwrap().unwrap();
            let [bound] = open.bounds[..] else { panic!("one bound") };
            assert!((54..=58).contains(&bound.over) && !bound.held, "{from}: {bound:?}");
            assert!((785..=800).contains(&bound.count), "{from}: {bound:?}");
            assert_eq!(fell_behind(&open), from == 92, "{from}");
        }
    }

    fn kinds(point: &Point) -> Vec<FindingKind> {
        findings("get 4KiB", point).iter().map(|f| f.kind).collect()
    }

    #[test]
    fn a_target_that_keeps_up_is_told_from_one_that_does_not() {
        let kept = at(open(1_000, 5, 9), 100.0);
        assert_eq!(kinds(&kept), []);
        assert_eq!(limit(&kept).map(|l| l.bound), Some(Bottleneck::AskedRate));
        let lost = at(open(1_000, 5, 400), 60.0);
        assert_eq!(kinds(&lost), [FindingKind::FellBehind]);
        assert_eq!(limit(&lost), None);
        // Even a rate that was reached may hide a queue that grows.
        assert_eq!(limit(&at(open(100_000, 5, 1_990), 98.1)), None);
        // What a Poisson process gathers by chance is no trend.
        assert_eq!(kinds(&at(open(1_000, 5, 80), 97.0)), []);
    }

    #[test]
    fn who_is_suspected_follows_from_the_threads_time() {
        let mut lost = at(open(1_000, 5, 400), 60.0);
        assert!(findings("get", &lost)[0].claim.starts_with("the target"));
        lost.client_busy = Some(0.97);
        assert!(findings("get", &lost)[0].claim.starts_with("linerate's threads"));
    }

    #[test]
    fn too_few_slots_are_told_where_a_backlog_stays_and_does_not_grow() {
        let point = at(OpenLoop { intervals_with_backlog: 6, ..open(1_000, 50, 50) }, 100.0);
        assert!(findings("get", &point)[0].remedy.contains("--concurrent"));
    }

    #[test]
    fn figures_add_up_over_intervals_and_a_closed_loop_has_none() {
        let late = {
            let mut late = histogram::empty();
            late.record_n(20_000, 5).unwrap();
            histogram::encode(&late)
        };
        let interval = |backlog, in_flight| Interval {
            open: Some(OpenInterval { due: 50, backlog, in_flight, late: late.clone(), ages: None }),
            ..crate::build::tests::interval()
        };
        let (a, b, c) = (interval(0, 3), interval(9, 4), interval(2, 4));
        let none = || (Latency::default(), Latency::default());
        let open = figures(&spec(Some(100.0)), None, &of(100.0, &[&a, &b, &c]), none()).unwrap().unwrap();
        assert_eq!((open.due, open.backlog, open.backlog_max, open.intervals_with_backlog), (150, 2, 9, 2));
        assert_eq!((open.outstanding_first, open.outstanding_last, open.late.count), (3, 6, 15));
        assert_eq!(figures(&spec(None), None, &of(100.0, &[&a]), none()).unwrap(), None);
    }

    #[test]
    fn what_failed_and_what_was_left_unanswered_took_longer_than_any_bound() {
        let slo: Slo = "p90=10ms,p50=1ms".parse().unwrap();
        let mut intended = histogram::empty();
        intended.record_n(500_000, 60).unwrap();
        intended.record_n(5_000_000, 30).unwrap();
        intended.record_n(50_000_000, 3).unwrap();
        let row = IntervalRow {
            total_intended: Some(histogram::encode(&intended)),
            errors: [("timeout".to_owned(), 6)].into(),
            ..crate::build::tests::row(0, 93, 0, 1_000_000)
        };
        let interval = |in_flight| Interval {
            from_ms: 0,
            to_ms: 1_000,
            open: Some(OpenInterval {
                due: 100,
                backlog: 0,
                in_flight,
                late: histogram::encode(&histogram::empty()),
                ages: None,
            }),
            rows: vec![row.clone()],
            ..crate::build::tests::interval()
        };
        let none = || (Latency::default(), Latency::default());
        let (steady, grown) = (interval(3), interval(53));
        let bounds = |measured: &[&Interval]| {
            figures(&spec(Some(100.0)), Some(&slo), &of(100.0, measured), none()).unwrap().unwrap().bounds
        };
        let kept = bounds(&[&steady, &steady]);
        assert_eq!((kept[0].count, kept[0].over, kept[0].held), (198, 18, true), "nine of ninety-nine");
        assert_eq!((kept[1].count, kept[1].over, kept[1].held), (198, 78, true));
        let lost = bounds(&[&steady, &grown]);
        assert_eq!((lost[0].count, lost[0].over, lost[0].held), (248, 68, false), "fifty were left unanswered");
        let slow = figures(&spec(Some(300.0)), Some(&slo), &of(300.0, &[&steady]), none()).unwrap().unwrap();
        assert!(!slow.bounds[0].held, "a rate that was not reached does not hold");
    }

    /// A series of points at rates, each with requests and how many of them were over 10 ms.
    fn series(points: &[(u32, u64, u64)]) -> Series {
        let slo: Slo = "p90=10ms".parse().unwrap();
        let of = |(number, &(rate, count, over)): (u32, &(u32, u64, u64))| {
            let (rate, over) = (f64::from(rate) * 50.0, over.min(count));
            let share_95 = Some(slo::share_interval(&[(count, over)]));
            let (effective, held, verdict) = (count as f64, over * 10 <= count, BoundVerdict::InDoubt);
            let over_share = over as f64 / count.max(1) as f64;
            let mut bound =
                BoundFigures { bound: slo.0[0], count, over, over_share, effective, held, verdict, share_95 };
            bound.verdict = super::verdict(&bound);
            let open = OpenLoop { asked_per_s: rate, bounds: vec![bound], ..open(count, 1, 1) };
            Point { point: number, ..at(open, rate) }
        };
        let points = (0..).zip(points).map(of).collect();
        let (workload, size, measure) = ("get".to_owned(), "4KiB".to_owned(), crate::view::Measure::Requests);
        Series {
            range_bytes: None,
            workload,
            size,
            measure,
            points,
            pooled: Vec::new(),
            knee: None,
            scaling: None,
            sustained: None,
            limit: None,
            summary: crate::view::Summary::default(),
        }
    }

    /// What is asked by `--slo p90=10ms`, with a search or as a check.
    fn asked(is_search: bool) -> LoadRequest {
        let (lowest_per_s, highest_per_s, precision) = (50.0, 400.0, 0.05);
        let search = RateSearchSpec { lowest_per_s, highest_per_s, precision, series_ms: 9_000, series: Vec::new() };
        let slo = Some("p90=10ms".parse().unwrap());
        LoadRequest { slo, rate_search: Some(search).filter(|_| is_search), ..crate::build::tests::asked(Vec::new()) }
    }

    #[test]
    fn a_rate_in_doubt_is_not_said_to_have_missed_whichever_way_it_leans() {
        for (over, kind, claim) in [
            (20, None, ""),
            (95, Some(FindingKind::SloInDoubt), "p90=10ms is not shown to hold at 300/s (get 4KiB)"),
            (105, Some(FindingKind::SloInDoubt), "p90=10ms is not shown to hold at 300/s (get 4KiB)"),
            (200, Some(FindingKind::SloMissed), "p90=10ms did not hold at 300/s (get 4KiB)"),
        ] {
            let reported = missed("get 4KiB", &series(&[(6, 1_000, over)]), &asked(false));
            assert_eq!(reported.first().map(|f| f.kind), kind, "{over}");
            assert!(reported.iter().all(|f| f.claim == claim), "{reported:?}");
        }
    }

    proptest! {
        #[test]
        fn the_rows_of_a_search_and_its_answer_never_contradict_each_other(
            points in vec((1u32..9, 0u64..2_000, 0u64..400), 1..14),
        ) {
            let (mut series, asked) = (series(&points), asked(true));
            judge(&mut series, &asked);
            let found = series.sustained.clone().unwrap();
            let row = |p: &Point| p.open.as_ref().map(|open| (open.asked_per_s, open.verdict().unwrap())).unwrap();
            for (rate, verdict) in series.points.iter().map(row) {
                let mut others = series.points.iter().map(row).filter(|other| other.0 == rate);
                let same = others.all(|other| other.1 == verdict);
                prop_assert!(same, "rows of one rate agree");
                // Each end is a rate whose rows say so, and rows say nothing that the ends leave out.
                prop_assert!(found.misses_per_s != Some(rate) || verdict == BoundVerdict::Missed);
                prop_assert!(found.misses_per_s.is_some_and(|m| m <= rate) || verdict != BoundVerdict::Missed);
                let is_above = found.misses_per_s.is_some_and(|m| m < rate);
                let holds = if is_above { found.holds_above_per_s } else { found.holds_per_s };
                prop_assert!(holds != Some(rate) || verdict == BoundVerdict::Held);
                prop_assert!(holds.is_some_and(|h| h >= rate) || verdict != BoundVerdict::Held);
                prop_assert!(found.rate_per_s != Some(rate) || verdict != BoundVerdict::Missed);
            }
            let reported = missed("get 4KiB", &series, &asked);
            prop_assert_eq!(reported.len(), usize::from(found.outcome == SloOutcome::NoneHolds));
            let lowest = row(&series.points.iter().min_by(|a, b| row(a).0.total_cmp(&row(b).0)).unwrap().clone()).1;
            let kind = if lowest == BoundVerdict::Missed { FindingKind::SloMissed } else { FindingKind::SloInDoubt };
            prop_assert!(reported.iter().all(|f| f.kind == kind), "{:?}", reported);
        }
    }
}
