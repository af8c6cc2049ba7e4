//! Who bound a point.
//!
//! The verdict is drawn from readings, in this order, and names them: requests that the target never answered; the rate
//! or cap that the user set; linerate's rests after failures; its own threads; a NIC of this machine; what disturbed
//! the point; this machine's processors, where the target shares them; what disturbed the series; the requests in
//! flight that an open loop may have; and only when none of these was full or disturbed, and it was not lost for a
//! while, the target.

use linerate_record::run::Interval;
use linerate_record::units::{Rate, bits_per_s, count};

use crate::backoff;
use crate::counters::{of_processors, samples_of};
use crate::disturbance::{self, OtherLoad};
use crate::hanging;
use crate::knee::SHARE;
use crate::open_loop;
use crate::records::Records;
use crate::target_outages::{lost_ms, wrong_ms};
use crate::view::{Bottleneck, ClientCeiling, MachineSample, Measure, Point, Series, SeriesLimit};

/// Share of its time from which an event-loop thread counts as full.
pub(crate) const THREAD_FULL: f64 = 0.90;

/// Share of the machine's processors from which it counts as full.
const MACHINE_FULL: f64 = 0.93;

/// Share of a link's speed from which a NIC counts as full: framing takes up to 6 % of it.
pub(crate) const NIC_FULL: f64 = 0.90;

/// Share of `--max-rate` from which it counts as reached.
const CAP_REACHED: f64 = 0.85;

/// Share of the cap from which a curve that levels off does so at the cap: that of the best that a knee has.
const CAP_LEVELS_OFF: f64 = SHARE;

/// Share of the null target's throughput from which linerate itself is taken to be the limit.
pub(crate) const CEILING_NEAR: f64 = 0.90;

/// Share of its time below which an event-loop thread is no bottleneck: of two that share a processor with the null
/// target and the kernel's work for both, each has a quarter.
const CLIENT_IDLE: f64 = 0.25;

/// Mean share of this machine's processors in use during the measured part of a point; `None` without a reading in it.
#[must_use]
pub fn machine_busy(samples: &[MachineSample], intervals: &[&Interval]) -> Option<f64> {
    let inside = of_processors(&samples_of(samples, intervals));
    (!inside.is_empty()).then(|| inside.iter().map(|s| s.cpu_busy).sum::<f64>() / inside.len() as f64)
}

/// Mean utilisation of the event-loop threads over some intervals, 0 to 1; `None` where none of them is known.
#[must_use]
pub fn client_busy<H>(intervals: &[&Interval<H>]) -> Option<f64> {
    let threads = intervals.iter().map(|i| i.thread_cpu_ns.len()).max().filter(|&threads| threads > 0)?;
    let ran_ns: u64 = intervals.iter().flat_map(|i| &i.thread_cpu_ns).sum();
    let length_ms: u64 = intervals.iter().map(|i| i.length_ms()).sum();
    let seconds = length_ms as f64 / 1e3;
    (length_ms > 0).then(|| (ran_ns as f64 / 1e9 / seconds / threads as f64).min(1.0))
}

const MORE_CLIENT: &str = "raise --threads if processors are idle, or drive the load from more machines";

/// Who bound the best point of a series.
#[must_use]
pub fn find(
    series: &Series,
    ceiling: Option<&ClientCeiling>,
    records: &Records,
    samples: &[MachineSample],
) -> Option<SeriesLimit> {
    let measure = series.measure;
    let best = series.best_point()?;
    // Without the client's processor time, nothing can be said of who waited for whom.
    if best.requests == 0 || best.client_busy.is_none() {
        return None;
    }
    let visits: Vec<&Point> = series.visits_of(best).collect();
    let is_of_visit = |i: &&Interval| visits.iter().any(|visit| visit.point == i.point);
    let intervals: Vec<&Interval> = records.intervals.iter().filter(is_of_visit).collect();
    let others = disturbance::of_point(best, &intervals, records, samples).unwrap_or_default();
    hanging::limit(best)
        .or_else(|| open_loop::limit(best, &records.manifest.requested))
        .or_else(|| rate_cap(best, &intervals, records))
        .or_else(|| backoff::limit(best))
        .or_else(|| client(best, ceiling, measure, records))
        .or_else(|| nic(&intervals, records, samples))
        .or_else(|| disturbance::limit(best, &others))
        .or_else(|| machine(best, series.clients.is_some(), &others, records))
        .or_else(|| disturbance::of_series(best, series, records, samples))
        .or_else(|| {
            let is_whole = !visits.iter().any(|visit| was_lost(visit, &intervals, records));
            is_whole.then(|| {
                let limit = open_loop::slots::limit(best).unwrap_or_else(|| target(best, ceiling, measure, records));
                let disturbed = disturbance::of_others(series, records, samples);
                SeriesLimit { evidence: limit.evidence.clone() + &disturbed, ..limit }
            })
        })
}

/// Whether the target was lost for a part of a visit, or answered nothing but errors: what it gave then is no limit of
/// it.
fn was_lost(visit: &Point, intervals: &[&Interval], records: &Records) -> bool {
    let measured: Vec<&Interval> = intervals.iter().copied().filter(|i| i.point == visit.point && !i.warmup).collect();
    lost_ms(visit, &measured, records) + wrong_ms(visit, &measured) > 0
}

/// Whether the best of a series is what `--max-rate` lets through: its knee would be the cap's.
pub(crate) fn is_capped(series: &Series, records: &Records) -> bool {
    let bottleneck = || {
        let best = series.best_point()?;
        let visits: Vec<u32> = series.visits_of(best).map(|visit| visit.point).collect();
        let is_of_visit = |i: &&Interval| visits.contains(&i.point);
        cap_binds(best, &records.intervals.iter().filter(is_of_visit).collect::<Vec<_>>(), records)
    };
    bottleneck().is_some()
}

/// How `--max-rate` bound a point.
enum CapBinds {
    /// Requests waited for it in so many of so many intervals.
    Held { held: usize, of: usize },
    /// The throughput is this share of it.
    At(f64),
}

/// Whether `--max-rate` bound a point, of whose visits these are the intervals: the one rule of verdict and knee.
fn cap_binds(best: &Point, intervals: &[&Interval], records: &Records) -> Option<CapBinds> {
    // Many requests that end at once make some wait, also where the target could not keep up with the cap for long.
    let share = cap_share(best, records).filter(|share| *share >= CAP_REACHED)?;
    let measured: Vec<_> = intervals.iter().filter(|i| !i.warmup).collect();
    let (held, of) = (measured.iter().filter(|i| i.waiting_for_cap > 0).count(), measured.len());
    let is_held = held * 2 > of;
    is_held.then_some(CapBinds::Held { held, of }).or((share >= CAP_LEVELS_OFF).then_some(CapBinds::At(share)))
}

/// The throughput of a point as a share of the cap.
fn cap_share(point: &Point, records: &Records) -> Option<f64> {
    Some(match *records.manifest.requested.max_rate.as_ref()?.known()? {
        Rate::Requests(per_s) => point.requests_per_s.mean / per_s,
        Rate::Bytes(per_s) => point.bytes_per_s.mean / per_s,
    })
}

fn rate_cap(best: &Point, intervals: &[&Interval], records: &Records) -> Option<SeriesLimit> {
    let rate = count(best.requests_per_s.mean);
    let (claim, evidence) = match cap_binds(best, intervals, records)? {
        CapBinds::Held { held, of } => (
            "--max-rate is the bottleneck: the target could do more",
            format!("requests waited for the cap in {held} of {of} intervals, at {rate} requests/s"),
        ),
        CapBinds::At(share) => (
            "--max-rate is the bottleneck: whether the target could do more is not shown",
            format!("{:.0} % of the cap, at {rate} requests/s, and requests seldom waited for it", share * 100.0),
        ),
    };
    Some(SeriesLimit {
        bound: Bottleneck::RateCap,
        claim: claim.into(),
        evidence,
        remedy: "raise or drop --max-rate to find the limit".into(),
    })
}

fn client(best: &Point, ceiling: Option<&ClientCeiling>, measure: Measure, records: &Records) -> Option<SeriesLimit> {
    let near = ceiling.map(|c| best.throughput(measure).mean / c.point.throughput(measure).mean);
    let threads = records.manifest.threads();
    if let Some(busy) = best.client_busy.filter(|&busy| busy >= THREAD_FULL) {
        return Some(SeriesLimit {
            bound: Bottleneck::Client,
            claim: "linerate itself is the bottleneck: its threads were saturated".into(),
            evidence: format!("{threads} event-loop threads were busy {:.0} % of the time", busy * 100.0),
            remedy: MORE_CLIENT.into(),
        });
    }
    near.filter(|&n| is_ceiling_reached(n, best.client_busy)).map(|n| SeriesLimit {
        bound: Bottleneck::Client,
        claim: "linerate itself is the bottleneck: the null target was no faster".into(),
        evidence: format!("{:.0} % of what linerate drove against the null target on this machine", n * 100.0),
        remedy: MORE_CLIENT.into(),
    })
}

/// Whether what was driven, as a share of the ceiling, shows that a client could drive no more. A ceiling below what
/// was measured is none: something held the measurement of it back. A client whose threads had nearly all their time
/// left waited, whatever the null target gave.
pub(crate) fn is_ceiling_reached(share: f64, client_busy: Option<f64>) -> bool {
    (CEILING_NEAR..=1.0).contains(&share) && client_busy.is_none_or(|busy| busy >= CLIENT_IDLE)
}

fn nic(intervals: &[&Interval], records: &Records, samples: &[MachineSample]) -> Option<SeriesLimit> {
    let inside = samples_of(samples, intervals);
    for nic in &records.manifest.machine().nics {
        let Some(speed) = nic.speed_bits_per_s.filter(|&s| s > 0) else { continue };
        let of_nic = inside.iter().flat_map(|s| &s.nics).filter(|n| n.name == nic.name);
        let rates: Vec<f64> = of_nic.map(|n| n.rx_bytes_per_s.max(n.tx_bytes_per_s) * 8.0).collect();
        let mean = rates.iter().sum::<f64>() / rates.len().max(1) as f64;
        if mean >= NIC_FULL * speed as f64 {
            return Some(SeriesLimit {
                bound: Bottleneck::Nic,
                claim: format!("this machine's NIC {} is the bottleneck", nic.name),
                evidence: format!("{} of {} in one direction", bits_per_s(mean), bits_per_s(speed as f64)),
                remedy: "drive the load from more machines or over a faster link".into(),
            });
        }
    }
    None
}

fn machine(best: &Point, is_of_clients: bool, others: &OtherLoad, records: &Records) -> Option<SeriesLimit> {
    let busy = best.machine_busy.filter(|&b| b >= MACHINE_FULL && records.manifest.target.on_this_machine)?;
    let cpus = records.manifest.machine().cpus;
    let used = format!(
        "{:.0} % of {cpus} processors busy; linerate used {:.2} of them",
        busy * 100.0,
        best.client_cpu.unwrap_or_default().cores
    );
    let Some(target) = others.of_target(best) else {
        return Some(SeriesLimit {
            bound: Bottleneck::Machine,
            claim: "this machine's processors are the bottleneck".into(),
            evidence: format!("{used}, other programs the rest{}", others.named()),
            // Clients of a fleet name no process.
            remedy: match is_of_clients {
                true => "look which programs use them, or drive the load from machines without the target".into(),
                false => "name the target's process (--target-pid) to distinguish it from other programs".into(),
            },
        });
    };
    let who = others.share().map_or("client and target", |_| "client, target and other programs");
    let rest = others.share().map(|cores| format!(", other programs {cores:.2}{}", others.named())).unwrap_or_default();
    Some(SeriesLimit {
        bound: Bottleneck::Machine,
        claim: format!("this machine's processors are the bottleneck: {who} share them"),
        evidence: format!("{used}, {target}{rest}"),
        remedy: "drive the load from another machine, so that the target has its processors to itself".into(),
    })
}

fn target(best: &Point, ceiling: Option<&ClientCeiling>, measure: Measure, records: &Records) -> SeriesLimit {
    let headroom = ceiling.map_or_else(String::new, |c| {
        let times = c.point.throughput(measure).mean / best.throughput(measure).mean;
        match times {
            ..1.0 => {
                "; the ceiling of the client could not be measured: it came out below what was measured".to_owned()
            }
            _ => format!("; against the null target linerate drove {times:.1} × as much"),
        }
    });
    let threads =
        format!("linerate's threads were busy {:.0} % of the time", best.client_busy.unwrap_or_default() * 100.0);
    if best.machine_busy.is_none() && records.manifest.target.on_this_machine {
        return SeriesLimit {
            bound: Bottleneck::Unread,
            claim: "the target is the bottleneck, or this machine's processors, which it shares".into(),
            evidence: format!("{threads}{headroom}; this point has no reading of this machine's processors"),
            remedy: "measure longer (--duration 10s), so that each point has readings of this machine".into(),
        };
    }
    let machine =
        best.machine_busy.map_or_else(String::new, |b| format!(", this machine's processors {:.0} %", b * 100.0));
    SeriesLimit {
        bound: Bottleneck::Target,
        claim: "the target, or the network path to it, is the bottleneck".into(),
        evidence: format!("{threads}{machine}{headroom}"),
        remedy: "check the target's own processors, drives and links at that time".into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_are_as_busy_as_they_ran_on_average() {
        let interval = |from_ms, to_ms, ran_ms: &[u64]| -> Interval {
            Interval {
                from_ms,
                to_ms,
                thread_cpu_ns: ran_ms.iter().map(|ms| ms * 1_000_000).collect(),
                ..Interval::default()
            }
        };
        let (half, full, over) =
            (interval(0, 250, &[50, 200]), interval(250, 500, &[250, 250]), interval(0, 250, &[251, 251]));
        for (intervals, expected) in [
            (&[&half][..], Some(0.5)),
            (&[&half, &full], Some(0.75)),
            (&[&over], Some(1.0)),
            (&[&interval(0, 100, &[])], None),
            (&[&interval(100, 100, &[5])], None),
            (&[], None),
        ] {
            assert_eq!(client_busy(intervals), expected, "{intervals:?}");
        }
    }

    #[test]
    fn a_ceiling_below_what_was_measured_and_an_idle_client_bind_nothing() {
        let cases = [
            (0.95, Some(0.6), true),
            (0.95, None, true),
            (1.0, Some(0.3), true),
            (1.2, Some(0.6), false),
            (1.2, None, false),
            (0.95, Some(0.003), false),
            (0.8, Some(0.6), false),
        ];
        for (share, busy, expected) in cases {
            assert_eq!(is_ceiling_reached(share, busy), expected, "{share} {busy:?}");
        }
    }
}
