//! Whether a target was lost while a point was measured, and for how long; and for how long it answered nothing but
//! errors.
//!
//! Lost means that nobody answers: time in which connections failed or requests timed out and none succeeded, or
//! nothing ended and nothing moved for longer than any request took. A handful of refused connections, or of requests
//! that hang, may stand for minutes. A target that answers is there, whatever it answers, and so is one that asked for
//! a pause and gets it. Time in which linerate itself did not run, or asked for nothing, tells of no target.

use linerate_record::histogram;
use linerate_record::run::{Interval, is_answer};

use crate::records::{Records, point_end};
use crate::standstills::{ReadingGaps, Standstill};
use crate::view::Point;

/// Shortest time without a sign of life that can mean a target that hangs.
pub(crate) const HUNG_MIN_MS: u64 = 1_000;

/// Shortest time in which requests fail and none succeeds that can mean a target that is lost: intervals are short, and
/// one in which the only request that ended failed is none.
const LOST_MIN_MS: u64 = 200;

/// Whether no request of a point ended in its time, and one that was in flight at its end was answered after it, of an
/// open loop all that were: the target is slower than the point is long, and not lost. Where connections failed, slots
/// may have had no request.
pub(crate) fn is_answered_late(point: &Point, of_point: &[&Interval], records: &Records) -> bool {
    let Some(end) = point_end(records, point.point) else { return false };
    let Some(rows) = &end.in_flight else { return false };
    let unanswered: u64 = rows.iter().map(|row| row.failed + row.open).sum();
    let is_known = end.lost.is_empty() && !of_point.iter().any(|i| failed(i));
    let has_answered = match &point.open {
        None => unanswered < u64::from(point.concurrency),
        Some(open) => unanswered == 0 && open.backlog == 0 && rows.iter().any(|row| row.awaited.is_some()),
    };
    is_known && !point.has_ended_requests() && has_answered
}

/// For how long the target was lost, in the measured intervals of a point.
pub(crate) fn lost_ms(point: &Point, of_point: &[&Interval], records: &Records) -> u64 {
    if is_answered_late(point, of_point, records) {
        return 0;
    }
    let stood = ReadingGaps::between(&records.readings).standstills();
    // Where wrong answers are all there is, no request tells how long an answer takes.
    let only_wrong = point.requests == 0 && of_point.iter().any(|i| answers_wrongly(i) > 0);
    let mut lost_ms = 0;
    for stretch in stretches(of_point, |i| is_silent(i, &stood)) {
        let stretch_ms = length_ms(stretch);
        if 2 * late_ms(stretch, of_point) >= stretch_ms {
            continue;
        }
        let failed = stretch.iter().any(|i| failed(i));
        let hung = !only_wrong && stretch_ms >= HUNG_MIN_MS && stretch_ms * 1_000_000 > 2 * point.total.max_ns;
        lost_ms += if (failed && stretch_ms >= LOST_MIN_MS) || hung { stretch_ms } else { 0 };
    }
    // In an open loop of a low rate there may have been nothing to answer, and a short point may just be too short.
    let nothing = point.requests == 0 && point.error_count() == 0 && point.all_moved_bytes() <= 0;
    // Nor is a target lost to which a rate allowed no request: all slots waited for it, all the time.
    let waited = of_point.iter().all(|i| i.waiting_for_cap >= point.concurrency);
    let alive =
        waited || of_point.iter().any(|i| i.paused_ns > 0 || answers_wrongly(i) > 0 || stood.iter().any(|s| s.has(i)));
    if point.open.is_none() && nothing && !alive && point.measured_ms >= HUNG_MIN_MS {
        lost_ms = point.measured_ms;
    }
    lost_ms
}

/// For how long the target answered, and each answer was an error, in the measured intervals of a point: a second or
/// more at a time, in which every slot had one.
pub(crate) fn wrong_ms(point: &Point, of_point: &[&Interval]) -> u64 {
    let none_succeeds = |i: &Interval| i.rows.iter().all(|r| r.requests == 0) && (answers_wrongly(i) > 0 || silent(i));
    let wrong = stretches(of_point, none_succeeds).filter(|stretch| {
        let answers: u64 = stretch.iter().map(|i| answers_wrongly(i)).sum();
        length_ms(stretch) >= HUNG_MIN_MS && answers >= u64::from(point.concurrency)
    });
    wrong.map(length_ms).sum()
}

/// The longest stretches of intervals in which something holds.
fn stretches<'s, 'i>(
    of_point: &'s [&'i Interval],
    holds: impl Fn(&Interval) -> bool + Copy + 's,
) -> impl Iterator<Item = &'s [&'i Interval]> {
    of_point.chunk_by(move |a, b| holds(a) == holds(b)).filter(move |s| s.first().is_some_and(|i| holds(i)))
}

fn length_ms(stretch: &[&Interval]) -> u64 {
    stretch.iter().map(|i| i.to_ms - i.from_ms).sum()
}

/// Attempts in an interval that were answered with an error.
fn answers_wrongly(i: &Interval) -> u64 {
    let kinds = i.rows.iter().flat_map(|r| r.errors.iter().chain(&r.retries));
    kinds.filter(|(kind, _)| is_answer(kind)).map(|(_, n)| n).sum()
}

/// Whether requests failed in an interval, or nobody was asked since connections had failed before.
fn failed(i: &Interval) -> bool {
    i.rested_ns > 0 || i.rows.iter().any(|r| !r.errors.is_empty())
}

/// Whether nothing happened in an interval, though there was something to wait for.
pub(crate) fn silent(i: &Interval) -> bool {
    // In an open loop there may be nothing to wait for: where nothing is in flight, what is due waits for linerate, and
    // not for the target.
    let idle = i.open.as_ref().is_some_and(|o| o.in_flight == 0);
    let waits = (i.waiting_for_cap == 0 && !idle || failed(i)) && i.paused_ns == 0;
    waits && answers_wrongly(i) == 0 && i.rows.iter().all(|r| r.requests == 0 && r.all_moved_bytes() <= 0)
}

/// Whether an interval is silent and linerate ran in it.
pub(crate) fn is_silent(i: &Interval, stood: &[Standstill]) -> bool {
    silent(i) && !stood.iter().any(|s| s.has(i))
}

/// By how much the latest request that started right behind a stretch did so through linerate's own fault: where that
/// is about as long as the stretch, linerate did not run.
fn late_ms(stretch: &[&Interval], of_point: &[&Interval]) -> u64 {
    let Some(last) = stretch.last() else { return 0 };
    let behind = of_point.iter().find(|i| i.client == last.client && i.from_ms >= last.to_ms);
    let late_share = |i: &&Interval| {
        let mut late = histogram::empty();
        let is_read = histogram::add_encoded(&mut late, &i.open.as_ref()?.late).is_ok();
        is_read.then(|| late.max() / 1_000_000)
    };
    [Some(last), behind].into_iter().flatten().filter_map(late_share).max().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use linerate_record::finding::{Finding, FindingKind};
    use linerate_record::histogram;
    use linerate_record::reading::{ProcessorSample, Reading};
    use linerate_record::run::{AwaitedLatencies, InFlightRow, Interval, Op, OpenInterval, PointLine};

    use crate::build::build;
    use crate::build::tests::{readings, records};
    use crate::records::Records;

    fn is_lost(findings: &[Finding]) -> bool {
        findings.iter().any(|f| f.kind == FindingKind::TargetLost)
    }

    /// Findings of a run that goes on for 30 intervals of 100 ms in which nothing succeeds.
    fn findings(change: impl Fn(u64, &mut linerate_record::run::Interval)) -> (Vec<Finding>, bool) {
        let mut records: Records = records(&[4], |_| 5);
        let template = records.intervals.last().unwrap().clone();
        for i in 0..30 {
            let from_ms = template.to_ms + i * 100;
            let mut one = linerate_record::run::Interval { from_ms, to_ms: from_ms + 100, ..template.clone() };
            one.rows.truncate(1);
            one.rows[0] = linerate_record::run::IntervalRow::none(0, linerate_record::run::Op::Get);
            change(i, &mut one);
            one.rows.retain(|row| !row.is_none());
            records.intervals.push(one);
        }
        let view = build(&records).unwrap();
        (view.findings.clone(), view.series[0].limit.is_some())
    }

    fn errors(interval: &mut linerate_record::run::Interval, kind: &str, n: u64) {
        interval.rows[0].errors.extend((n > 0).then(|| (kind.to_owned(), n)));
    }

    #[test]
    fn a_target_that_a_rate_allowed_no_request_to_is_not_lost() {
        let is_lost_with = |waiting_for_cap: u32| {
            let mut records: Records = records(&[4], |_| 5);
            let template = records.intervals.last().unwrap().clone();
            let one = |i: u64| Interval {
                from_ms: template.from_ms + i * 100,
                to_ms: template.from_ms + (i + 1) * 100,
                waiting_for_cap,
                rows: Vec::new(),
                ..template.clone()
            };
            records.intervals = (0..30).map(one).collect();
            is_lost(&build(&records).unwrap().findings)
        };
        // Of four slots, one has a request that nobody answers.
        assert_eq!([0, 3, 4].map(is_lost_with), [true, true, false]);
    }

    #[test]
    fn lost_is_a_target_that_nobody_answers_from() {
        let lost = |findings: &[Finding]| findings.iter().any(|f| f.kind == FindingKind::TargetLost);
        for kind in ["connect: refused", "timeout", "connection reset"] {
            let (found, bound) = findings(|i, interval| errors(interval, kind, i % 2));
            assert!(lost(&found) && !bound, "{kind}: {found:?}");
        }
        for kind in ["http 500", "http 503 SlowDown", "wrong body", "short body"] {
            let (found, bound) = findings(|_, interval| errors(interval, kind, 2));
            assert!(!lost(&found) && !bound, "{kind}: {found:?}");
            let reported = found.iter().find(|f| f.evidence.contains("for 3.00 s none succeeded"));
            assert!(reported.is_some_and(|f| f.evidence.contains(kind)), "{kind}: {found:?}");
        }
        // As it asked, and an answer that comes now and then.
        let (found, _) = findings(|_, interval| interval.paused_ns = 400_000_000);
        assert!(!lost(&found), "{found:?}");
        let (found, _) = findings(|i, interval| errors(interval, "http 500", u64::from(i % 8 == 0)));
        assert!(!lost(&found), "{found:?}");
        // A host that rests since connections failed is lost for that time too; silence alone may be a slow answer.
        let back = |i: u64, interval: &mut linerate_record::run::Interval| {
            if i >= 5 {
                interval.rows[0] = crate::build::tests::row(0, 5, 1 << 20, 1_000_000);
            }
        };
        for (rested_ns, expected) in [(400_000_000, true), (0, false)] {
            let (found, _) = findings(|i, interval| {
                interval.rested_ns = if i < 5 { rested_ns } else { 0 };
                back(i, interval);
            });
            assert_eq!(lost(&found), expected, "{rested_ns}: {found:?}");
        }
        // Silence of a second and more behind an answer is silence.
        let (found, _) = findings(|i, interval| errors(interval, "http 500", u64::from(i < 5)));
        assert!(found.iter().any(|f| f.kind == FindingKind::TargetLost && f.claim.contains("2.5 s")), "{found:?}");
    }

    /// Whether a target counts as lost in an open loop in which nothing ends for 1.5 s; `change` gets the number of
    /// each interval from there on.
    fn open_loop_is_lost(change: impl Fn(usize, &mut OpenInterval), read_at_s: &[u64]) -> bool {
        let mut records: Records = records(&[4], |_| 5);
        let none = OpenInterval { due: 10, ..OpenInterval::none().map(|none| histogram::encode(&none)) };
        let last = records.intervals.last().unwrap().clone();
        for i in 0..20 {
            let from_ms = last.to_ms + i * 100;
            let rows = if i < 15 { Vec::new() } else { last.rows.clone() };
            records.intervals.push(Interval { from_ms, to_ms: from_ms + 100, rows, ..last.clone() });
        }
        let first = records.intervals.len() - 20;
        for (at, interval) in records.intervals.iter_mut().enumerate() {
            let mut open = none.clone();
            (at >= first).then(|| change(at - first, &mut open));
            interval.open = Some(open);
        }
        for line in &mut records.points {
            if let PointLine::Begin(begin) = line {
                begin.spec.rate_per_s = Some(100.0);
            }
        }
        records.readings = read_at_s.iter().map(|s| Reading { at_ms: s * 1_000, ..Reading::default() }).collect();
        is_lost(&build(&records).unwrap().findings)
    }

    #[test]
    fn a_client_that_stood_still_in_an_open_loop_is_no_target_that_is_lost() {
        let silent = |i: usize| i < 15;
        let in_flight = |i: usize, open: &mut OpenInterval| open.in_flight = if silent(i) { 2 } else { 0 };
        assert!(open_loop_is_lost(in_flight, &[]), "what is in flight hangs");
        let waiting = |i: usize, open: &mut OpenInterval| open.backlog = if silent(i) { 10 * i as u64 } else { 0 };
        assert!(!open_loop_is_lost(waiting, &[]), "what was due was never sent");
        let late = |i: usize, open: &mut OpenInterval| {
            in_flight(i, open);
            let mut late = histogram::empty();
            late.record_n(if i == 15 { 1_400_000_000 } else { 1_000 }, 3).unwrap();
            open.late = histogram::encode(&late);
        };
        assert!(!open_loop_is_lost(late, &[]), "it started late what was due meanwhile");
        assert!(!open_loop_is_lost(in_flight, &[0, 1, 6, 7]), "readings show that it did not run");
        assert!(open_loop_is_lost(in_flight, &[0, 1, 2, 3, 4, 5]), "readings show that it ran");
    }

    /// A run whose second point has nothing to show for its whole second; `left` of its two requests in flight were not
    /// answered after it.
    fn silent_second_point(left: u64) -> Records {
        let mut records = records(&[1, 2], |_| 5);
        records.intervals.iter_mut().filter(|i| i.point == 1).for_each(|i| i.rows.clear());
        for line in &mut records.points {
            if let PointLine::End(end) = line {
                let open = InFlightRow { open: left, ..InFlightRow::none(0, Op::List) };
                end.in_flight = Some(vec![open]);
            }
        }
        records
    }

    #[test]
    fn a_target_that_answers_after_its_point_is_slower_than_it_and_not_lost() {
        for (left, expected) in [(2, FindingKind::TargetLost), (1, FindingKind::TooShort), (0, FindingKind::TooShort)] {
            let view = build(&silent_second_point(left)).unwrap();
            let found = crate::findings::requests_failed(&view).unwrap();
            assert_eq!((found.kind, &found.points[..]), (expected, &[1][..]), "{left}: {found:?}");
        }
        // In an open loop more may be in flight than ended: all that were must be answered.
        for (left, expected) in [(1, FindingKind::TargetLost), (0, FindingKind::TooShort)] {
            let mut records = silent_second_point(left);
            let empty = || histogram::encode(&histogram::empty());
            for line in &mut records.points {
                match line {
                    PointLine::Begin(begin) => begin.spec.rate_per_s = Some(10.0),
                    PointLine::End(end) => {
                        let (ttfb, total, intended) = (empty(), empty(), Some(empty()));
                        let (ttfb_intended, total_intended) = (intended.clone(), intended);
                        let awaited = AwaitedLatencies { ttfb, total, ttfb_intended, total_intended };
                        end.in_flight.iter_mut().flatten().for_each(|row| row.awaited = Some(awaited.clone()));
                    }
                    _ => {}
                }
            }
            for interval in &mut records.intervals {
                interval.open = Some(OpenInterval { due: 5, backlog: 0, in_flight: 2, late: empty(), ages: None });
            }
            let view = build(&records).unwrap();
            let found = crate::findings::requests_failed(&view).unwrap();
            assert_eq!(found.kind, expected, "{left}: {found:?}");
        }
        // Where nothing ever answered, silence is all there is to say.
        let mut records = silent_second_point(2);
        records.intervals.iter_mut().for_each(|i| i.rows.clear());
        let view = build(&records).unwrap();
        let claims: Vec<&str> = view.findings.iter().map(|found| found.claim.as_str()).collect();
        assert!(claims.iter().any(|claim| claim.starts_with("no request was answered in 1000 ms")), "{claims:?}");
        assert!(claims.iter().all(|claim| !claim.contains("was lost")), "{claims:?}");
    }

    #[test]
    fn silence_while_other_programs_have_the_machine_is_a_disturbance_and_no_lost_target() {
        let mut records = silent_second_point(2);
        records.readings = readings(1.0, 0);
        let cpus = u64::from(records.manifest.machine().cpus);
        for reading in &mut records.readings {
            let used_ms = 100 * cpus;
            let own_ms = Some(used_ms / 20);
            let look =
                ProcessorSample { over_ms: 100, used_ms, own_ms, foreign_ms: used_ms * 19 / 20, ..Default::default() };
            reading.look = Some(look);
        }
        let view = build(&records).unwrap();
        assert!(crate::findings::requests_failed(&view).is_none(), "{:?}", view.findings);
        let found = crate::findings::spoilt_by_others(&view).unwrap();
        assert!(found.claim.starts_with("disturbed by other load: ") && found.points == [1], "{found:?}");
        // Nor is it one where requests were answered under the same load in a thousandth of that time.
        let mut partly = records.clone();
        let is_of_point = |i: &&mut Interval| i.point == 1;
        let template = records.intervals.iter().rfind(|i| i.point == 1).unwrap().clone();
        for (i, interval) in partly.intervals.iter_mut().filter(is_of_point).enumerate() {
            let from_ms = template.from_ms + 300 * i as u64;
            (interval.from_ms, interval.to_ms) = (from_ms, from_ms + 300);
            if i < 5 {
                interval.rows = vec![crate::build::tests::row(0, 500, 1 << 20, 1_000_000)];
            }
        }
        let view = build(&partly).unwrap();
        assert!(crate::findings::spoilt_by_others(&view).is_none(), "{:?}", view.findings);
        assert!(is_lost(&view.findings), "{:?}", view.findings);
        // A connection that is refused is no silence, however busy this machine is.
        let refused = records.intervals.iter_mut().find(|i| i.point == 1).unwrap();
        let errors = [("connect: refused".to_owned(), 1)].into();
        refused
            .rows
            .push(linerate_record::run::IntervalRow { errors, ..linerate_record::run::IntervalRow::none(0, Op::Get) });
        let view = build(&records).unwrap();
        assert!(crate::findings::spoilt_by_others(&view).is_none(), "{:?}", view.findings);
    }
}
