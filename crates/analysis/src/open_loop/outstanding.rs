//! What is outstanding in an open loop: whether it grows, and what growth a point would have shown.

use linerate_record::histogram::{self, DecodeError};
use linerate_record::run::Interval;

use super::OpenLoopInput;
use crate::slo;
use crate::view::{OpenLoop, OutstandingGrowth, OutstandingThird};

/// Growth of what is outstanding, as a share of what fell due, from which a target does not keep up.
pub(super) const GROWTH_SHARE: f64 = 0.01;

/// The quantile of latency after which what is outstanding has settled: what takes longer than that adds no more than
/// [`GROWTH_SHARE`] of what falls due.
const SETTLED_PERCENT: f64 = 99.0;

/// The part of a visit that must be left behind that latency. Where all of a visit is outstanding at its end, its ages
/// leave a hundredth, and nothing tells what is slow from what never ends.
const LEFT_PART: u64 = 20;

/// Standard errors by which a shortfall lies beyond the rule in 95 % of points that have it: in 96 % by growth over all
/// of the time, and in all but one of those in each third.
const SEEN: f64 = 1.75;

/// Parts of the time in each of which a target that falls behind does so.
const THIRDS: usize = 3;

/// Shortfalls that are looked at, in thousandths of the rate: of what answers less than half, the share that was
/// answered says it.
const SHORTFALLS: std::ops::RangeInclusive<u32> = 1..=500;

/// Requests that are outstanding at the end of an interval.
pub(super) fn at_end(interval: Option<&&Interval>) -> u64 {
    interval.and_then(|i| i.open.as_ref()).map_or(0, |o| o.backlog + u64::from(o.in_flight))
}

/// How what is outstanding grows from the first interval on that begins a p99 latency after the start of the visit:
/// until then it grows in any target, since nothing that takes as long has ended. What had not ended took at least
/// as long as it was outstanding.
///
/// # Errors
/// [`DecodeError`] where a histogram is damaged.
pub(super) fn growth(of: &OpenLoopInput<'_>) -> Result<OutstandingGrowth, DecodeError> {
    let Some(end) = of.measured.last() else { return Ok(OutstandingGrowth::default()) };
    let settled_ms = of.started_ms.saturating_add(p99_ns(of)?.div_ceil(1_000_000));
    let from = of.measured.iter().position(|i| i.from_ms >= settled_ms).unwrap_or(of.measured.len() - 1);
    let (first, since) = (of.measured[from], &of.measured[from + 1..]);
    let (visit_ms, left_ms) = (end.to_ms.saturating_sub(of.started_ms), end.to_ms.saturating_sub(first.to_ms));
    let is_known = since.len() >= THIRDS && left_ms * LEFT_PART >= visit_ms;
    let from_interval = if is_known { first } else { *end };
    Ok(OutstandingGrowth {
        from_ms: from_interval.to_ms.saturating_sub(of.started_ms),
        measured_ms: if is_known { left_ms } else { 0 },
        visit_ms,
        first: at_end(Some(&from_interval)),
        thirds: if is_known { thirds(first.to_ms, left_ms, since) } else { Default::default() },
        filled: at_end(Some(&from_interval)).saturating_sub(at_end(of.before.as_ref())),
    })
}

/// The thirds of so long a time, of which there are at least three intervals.
fn thirds(from_ms: u64, left_ms: u64, mut since: &[&Interval]) -> [OutstandingThird; THIRDS] {
    std::array::from_fn(|third| {
        let to_ms = from_ms + left_ms * (third as u64 + 1) / THIRDS as u64;
        let within = since.iter().take_while(|i| i.to_ms <= to_ms).count();
        let (inside, rest) = since.split_at(within.clamp(1, since.len().saturating_sub(THIRDS - 1 - third).max(1)));
        since = rest;
        let due = inside.iter().filter_map(|i| i.open.as_ref()).map(|open| open.due).sum();
        OutstandingThird { due, outstanding: at_end(inside.last()) }
    })
}

/// The growth of several visits of a rate. Those that are too short to judge add only what they filled.
pub(super) fn together<'a>(visits: impl Iterator<Item = &'a OutstandingGrowth>) -> OutstandingGrowth {
    visits.fold(OutstandingGrowth::default(), |sum, one| {
        let filled = sum.filled + one.filled;
        if one.due() == 0 {
            return OutstandingGrowth { filled, ..sum };
        }
        let third = |place: usize| OutstandingThird {
            due: sum.thirds[place].due + one.thirds[place].due,
            outstanding: sum.thirds[place].outstanding + one.thirds[place].outstanding,
        };
        OutstandingGrowth {
            from_ms: sum.from_ms.max(one.from_ms),
            measured_ms: sum.measured_ms + one.measured_ms,
            visit_ms: sum.visit_ms + one.visit_ms,
            first: sum.first + one.first,
            thirds: std::array::from_fn(third),
            filled,
        }
    })
}

/// The p99 latency, from when requests were due, of what ended, and of what had not as long as it had been outstanding.
fn p99_ns(of: &OpenLoopInput<'_>) -> Result<u64, DecodeError> {
    let mut known = histogram::empty();
    for row in of.measured.iter().flat_map(|i| &i.rows) {
        row.total_intended.as_ref().map_or(Ok(()), |e| histogram::add_encoded(&mut known, e))?;
    }
    let ages = of.measured.last().and_then(|i| i.open.as_ref()?.ages.as_ref());
    ages.map_or(Ok(()), |e| histogram::add_encoded(&mut known, e))?;
    Ok(if known.is_empty() { 0 } else { known.value_at_percentile(SETTLED_PERCENT) })
}

/// By how many requests what is outstanding may grow while so many fall due, before a target fell behind.
fn most(at_random: bool, due: f64, first: f64) -> f64 {
    GROWTH_SHARE * due + slo::chance(at_random, due as u64, first as u64)
}

/// Whether requests fell due faster than they were answered: more were outstanding at the end than once the first were
/// through, by more than chance, and by more than a trifle in each third of the time. A target that becomes slower
/// once, or stops once, holds up more from then on, and answers as much as before.
pub(super) fn fell_behind(open: &OpenLoop) -> bool {
    let growth = &open.growth;
    let (due, first) = (growth.due(), growth.first as f64);
    let mut before = first;
    let grows_in_each = growth.thirds.iter().all(|third| {
        let grown = third.outstanding as f64 - before;
        before = third.outstanding as f64;
        grown > GROWTH_SHARE * third.due as f64
    });
    due > 0 && grows_in_each && growth.last() as f64 - first > most(open.at_random, due as f64, first)
}

/// The least share of its rate of which 95 of 100 points like this one would have shown that the target does not
/// answer it; `None` where none up to half would be shown surely. The target is taken to queue what it does not
/// answer from the start of a visit: at its end it has been late by that share of the visit for what it answers then,
/// and less of the visit is left behind its p99 latency. Both what falls due at random and what is answered scatter by
/// the root of their number.
#[must_use]
pub fn shortfall_seen(open: &OpenLoop) -> Option<f64> {
    let growth = Some(open.growth).filter(|growth| growth.due() > 0)?;
    let visits_ms = growth.visit_ms as f64;
    let per_ms = growth.due() as f64 / growth.measured_ms.max(1) as f64;
    let is_seen = |shortfall: &f64| {
        let due = per_ms * (visits_ms * (1.0 - shortfall)).min(growth.measured_ms as f64);
        let first = growth.first as f64 + shortfall * (per_ms * visits_ms - due).max(0.0);
        let scatter = (due * if open.at_random { 2.0 } else { 1.0 }).sqrt();
        shortfall * due > most(open.at_random, due, first) + SEEN * scatter
    };
    let falling = SHORTFALLS.rev().map(|thousandths| f64::from(thousandths) / 1e3);
    falling.take_while(is_seen).last()
}
