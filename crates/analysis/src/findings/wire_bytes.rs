//! Bytes that requests moved, against bytes that this machine's interfaces carried.
//!
//! Bodies cannot have moved without an interface having carried them: where fewer bytes were carried, the figures are
//! wrong, or the target was reached by a way that was not looked at. Readings from before the point began to after it
//! had ended hold every one of its bytes. A reading is before the point where its last counter was read before it: on a
//! full machine that is some time after its instant. What a point moved before such a reading was done is not counted,
//! and neither is what it had sent of requests that nobody answered, which may have stayed in the sockets' buffers. A
//! twentieth is left for counters that are not quite those of one instant.
//! Frames, headers and TLS add less than a tenth to bodies of 64 KiB or more; from 30 % on, segments are sent again, or
//! others share the interfaces. An interface that stands on others (a bond, a VLAN, a bridge) counts their bytes again
//! and is left out. Clients of a fleet may be on a machine of the target's, which nobody tells: bytes of their loopback
//! count beside those of their links.

use linerate_record::finding::{Confidence, Finding, FindingKind, Severity};
use linerate_record::reading::Reading;
use linerate_record::run::{Interval, Op, PointLine};
use linerate_record::units::bytes_iec;

use super::{PointFinding, Run, worst};
use crate::view::{Measure, Point, Series};

/// Share of the bodies that may be missing from the interfaces' counters.
const MISSING: f64 = 0.05;

/// Share that the interfaces may carry on top of bodies.
const OVERHEAD: f64 = 0.30;

/// Fewest bytes of bodies that are worth comparing.
const BODIES_MIN: f64 = (16u64 << 20) as f64;

const UNACCOUNTED_REMEDY: &str = "do not use these figures: compare with the target's own counters, and report this";

const OVERHEAD_REMEDY: &str = "look for retransmits, and for other traffic of this machine at that time; use a \
                               dedicated machine";

/// Bodies that no interface carried.
pub(super) fn unaccounted(run: &Run<'_>, label: &str, series: &Series) -> Option<Finding> {
    worst(FindingKind::BytesUnaccounted, UNACCOUNTED_REMEDY, label, series, |point| missing_bytes(run, series, point))
}

/// Bytes on the interfaces that no body explains.
pub(super) fn overhead(run: &Run<'_>, label: &str, series: &Series) -> Option<Finding> {
    let bodies = series.measure == Measure::Bytes;
    let here = run.records.manifest.target.on_this_machine;
    let ways = if here { TargetInterfaces::Loopback } else { TargetInterfaces::Links };
    let check = |point: &Point| if bodies { excess_overhead(run, ways, point) } else { None };
    worst(FindingKind::WireOverhead, OVERHEAD_REMEDY, label, series, check)
}

/// Bytes into this machine and out of it.
#[derive(Clone, Copy)]
struct InterfaceBytes {
    into: f64,
    out: f64,
}

/// By which interfaces the target is reached.
#[derive(Clone, Copy, PartialEq, Eq)]
enum TargetInterfaces {
    Loopback,
    Links,
    /// It is not known whether the target is here.
    Either,
}

fn missing_bytes(run: &Run<'_>, series: &Series, point: &Point) -> Option<PointFinding> {
    let ways = match (run.records.manifest.target.on_this_machine, series.clients) {
        (true, _) => TargetInterfaces::Loopback,
        (false, None) => TargetInterfaces::Links,
        (false, Some(_)) => TargetInterfaces::Either,
    };
    let (begin, end) = bounds(run, point.point)?;
    let readings = &run.records.readings;
    // Some drivers count a second or two late: one reading more on either side.
    let first = readings.iter().rposition(|r| r.at_ms <= begin)?.saturating_sub(1);
    let before = readings[..=first].iter().rposition(|r| read_by_ms(r) <= begin).unwrap_or(first);
    let after = (readings.iter().position(|r| r.at_ms >= end)? + 1).min(readings.len() - 1);
    let carried = carried(run, ways, &readings[before], &readings[after])?;
    let of_point: Vec<&Interval> = run.records.intervals.iter().filter(|i| i.point == point.point).collect();
    let mut bodies = surely_between(&of_point, read_by_ms(&readings[before]));
    bodies.out -= unanswered_bytes(&of_point);
    let check = |bodies: f64, carried: f64, verb: &str| {
        (bodies >= BODIES_MIN && carried < bodies * (1.0 - MISSING)).then(|| PointFinding {
            severity: Severity::Critical,
            confidence: Confidence::Likely,
            badness: bodies / carried.max(1.0),
            claim: format!("linerate counted more bytes than this machine's interfaces {verb}"),
            evidence: format!("bodies of {}, {} {verb}", bytes_iec(bodies), bytes_iec(carried)),
        })
    };
    check(bodies.into, carried.into, "received").or_else(|| check(bodies.out, carried.out, "sent"))
}

fn excess_overhead(run: &Run<'_>, ways: TargetInterfaces, point: &Point) -> Option<PointFinding> {
    let measured = run.measured(point.point);
    let (from, to) = (measured.first()?.from_ms, measured.last()?.to_ms);
    let mut inside = run.records.readings.iter().filter(|r| (from..=to).contains(&r.at_ms));
    let (first, last) = (inside.next()?, inside.next_back()?);
    let bodies = bodies(&measured, first.at_ms as f64, last.at_ms as f64);
    let carried = carried(run, ways, first, last)?;
    let check = |bodies: f64, carried: f64, verb: &str| {
        let more = carried / bodies - 1.0;
        (bodies >= BODIES_MIN && more > OVERHEAD).then(|| PointFinding {
            severity: Severity::Note,
            confidence: Confidence::Certain,
            badness: more,
            claim: format!("this machine's interfaces {verb} {:.0} % more than bodies", more * 100.0),
            evidence: format!("bodies of {}, {} {verb}", bytes_iec(bodies), bytes_iec(carried)),
        })
    };
    check(bodies.into, carried.into, "received").or_else(|| check(bodies.out, carried.out, "sent"))
}

/// When the last counter of a reading was read.
const fn read_by_ms(reading: &Reading) -> u64 {
    reading.at_ms.saturating_add(reading.took_ms)
}

/// Body bytes of the intervals that begin at this instant or later.
fn surely_between(intervals: &[&Interval], from_ms: u64) -> InterfaceBytes {
    let whole: Vec<&Interval> = intervals.iter().filter(|i| i.from_ms >= from_ms).copied().collect();
    bodies(&whole, 0.0, f64::INFINITY)
}

/// What was sent of requests that were not answered while they were counted.
fn unanswered_bytes(intervals: &[&Interval]) -> f64 {
    let rows = intervals.iter().flat_map(|i| i.whole_rows()).filter(|row| matches!(row.op, Op::Put | Op::Multipart));
    rows.map(|row| row.moved_bytes as f64 - row.bytes as f64).sum::<f64>().max(0.0)
}

/// When a point began and ended, its warm-up and its last writes included.
fn bounds(run: &Run<'_>, point: u32) -> Option<(u64, u64)> {
    let lines = &run.records.points;
    let begin = lines.iter().find_map(|line| match line {
        PointLine::Begin(begin) if begin.point == point => Some(begin.at_ms),
        _ => None,
    });
    let end = lines.iter().find_map(|line| match line {
        PointLine::End(end) if end.point == point => Some(end.at_ms),
        _ => None,
    });
    begin.zip(end)
}

/// Body bytes between two instants, intervals that these cut taken in part.
fn bodies(intervals: &[&Interval], from_ms: f64, to_ms: f64) -> InterfaceBytes {
    let mut moved = InterfaceBytes { into: 0.0, out: 0.0 };
    for interval in intervals {
        let (begin, end) = (interval.from_ms as f64, interval.to_ms as f64);
        let share = ((end.min(to_ms) - begin.max(from_ms)) / (end - begin).max(1.0)).clamp(0.0, 1.0);
        for row in interval.whole_rows() {
            let bytes = row.moved_bytes as f64 * share;
            match row.op {
                Op::Get => moved.into += bytes,
                Op::Put | Op::Multipart => moved.out += bytes,
                _ => {}
            }
        }
    }
    moved
}

/// What the interfaces on the way to the target carried between two readings. `None` where they are not known, or a
/// counter went backwards.
fn carried(run: &Run<'_>, ways: TargetInterfaces, from: &Reading, to: &Reading) -> Option<InterfaceBytes> {
    let is_way =
        |name: &str| ways == TargetInterfaces::Either || (name == "lo") == (ways == TargetInterfaces::Loopback);
    let stands_on_others =
        |name: &str| run.records.manifest.machine().nics.iter().any(|nic| nic.name == name && !nic.over.is_empty());
    let (mut moved, mut any) = (InterfaceBytes { into: 0.0, out: 0.0 }, false);
    for nic in to.nics.iter().filter(|n| is_way(&n.name) && !stands_on_others(&n.name)) {
        let Some(before) = from.nics.iter().find(|n| n.name == nic.name) else { continue };
        moved.into += nic.rx_bytes.checked_sub(before.rx_bytes)? as f64;
        moved.out += nic.tx_bytes.checked_sub(before.tx_bytes)? as f64;
        any = true;
    }
    any.then_some(moved)
}

#[cfg(test)]
mod tests {
    use linerate_record::machine::MachineNic;
    use linerate_record::reading::NicCounters;

    use super::*;
    use crate::build::build;
    use crate::build::tests::{kinds, readings, records};

    /// Findings of GETs of 100 MiB/s, `times` of which interfaces received; on each interface alike.
    fn kinds_of_run(times: f64, interfaces: &[&str], change: fn(&mut crate::records::Records)) -> Vec<FindingKind> {
        let mut records = records(&[1, 2], |_| 5);
        records.readings = readings(0.2, 0);
        for (reading, i) in records.readings.iter_mut().zip(0u32..) {
            let rx_bytes = (f64::from(i) * times * 10.0 * 1_048_576.0) as u64;
            let nic = |name: &&str| NicCounters { name: (*name).into(), rx_bytes, ..NicCounters::default() };
            reading.nics = interfaces.iter().map(nic).collect();
        }
        change(&mut records);
        let wire = [FindingKind::BytesUnaccounted, FindingKind::WireOverhead];
        kinds(&build(&records).unwrap()).into_iter().filter(|k| wire.contains(k)).collect()
    }

    #[test]
    fn bodies_that_no_interface_carried_and_bytes_that_no_body_explains_are_told() {
        for (times, expected) in [
            (0.5, vec![FindingKind::BytesUnaccounted]),
            (1.0, vec![]),
            (1.1, vec![]),
            (1.6, vec![FindingKind::WireOverhead]),
        ] {
            assert_eq!(kinds_of_run(times, &["eth0"], |_| ()), expected, "{times}");
        }
    }

    #[test]
    fn a_reading_that_was_done_late_is_no_evidence_of_what_moved_before() {
        // The first reading is of the instant at which the point began, and was done half of a second later: what was
        // received until then is in it already.
        let late = |records: &mut crate::records::Records| {
            let then = records.readings[5].nics.clone();
            records.readings.drain(1..=5);
            (records.readings[0].took_ms, records.readings[0].nics) = (500, then);
        };
        assert_eq!(kinds_of_run(1.0, &["eth0"], late), []);
        assert_eq!(kinds_of_run(0.5, &["eth0"], late), [FindingKind::BytesUnaccounted], "a count that is double");
        let hidden = |records: &mut crate::records::Records| {
            let then = records.readings[5].nics.clone();
            records.readings.drain(1..=5);
            records.readings[0].nics = then;
        };
        assert_eq!(
            kinds_of_run(1.0, &["eth0"], hidden),
            [FindingKind::BytesUnaccounted],
            "nobody knows of such readings"
        );
    }

    #[test]
    fn what_nobody_answered_may_have_stayed_in_sockets() {
        let put = |answered: f64| {
            let mut records = records(&[1, 2], |_| 5);
            records.readings = readings(0.2, 0);
            for (reading, i) in records.readings.iter_mut().zip(0u64..) {
                let tx_bytes = (i * 5) << 20;
                reading.nics = vec![NicCounters { name: "eth0".into(), tx_bytes, ..NicCounters::default() }];
            }
            for row in records.intervals.iter_mut().flat_map(|interval| &mut interval.rows) {
                row.op = Op::Put;
                row.bytes = (row.moved_bytes as f64 * answered) as u64;
            }
            let reported = kinds(&build(&records).unwrap());
            reported.into_iter().filter(|kind| *kind == FindingKind::BytesUnaccounted).count()
        };
        assert_eq!((put(0.5), put(1.0)), (0, 1), "half of it was sent");
    }

    #[test]
    fn loopback_counts_where_the_target_is_on_this_machine_and_only_there() {
        assert_eq!(kinds_of_run(1.0, &["lo"], |r| r.manifest.target.on_this_machine = true), []);
        assert_eq!(
            kinds_of_run(0.1, &["lo"], |r| r.manifest.target.on_this_machine = true),
            [FindingKind::BytesUnaccounted]
        );
        assert_eq!(kinds_of_run(1.0, &["lo"], |_| ()), [], "no interface on the way is known");
    }

    #[test]
    fn a_client_of_a_fleet_may_reach_the_target_by_loopback() {
        let of_fleet = |records: &mut crate::records::Records| {
            for line in &mut records.points {
                if let PointLine::Begin(begin) = line {
                    begin.spec.clients = Some(1);
                }
            }
            // All else was silent.
            for nic in records.readings.iter_mut().flat_map(|reading| &mut reading.nics).filter(|nic| nic.name != "lo")
            {
                nic.rx_bytes = 0;
            }
        };
        assert_eq!(kinds_of_run(1.0, &["lo", "eth0"], of_fleet), []);
        assert_eq!(kinds_of_run(0.5, &["lo", "eth0"], of_fleet), [FindingKind::BytesUnaccounted]);
        let silent = |records: &mut crate::records::Records| {
            records.readings.iter_mut().for_each(|reading| reading.nics[1].rx_bytes = 0);
        };
        let alone = kinds_of_run(1.0, &["lo", "eth0"], silent);
        assert_eq!(alone, [FindingKind::BytesUnaccounted], "one machine knows where its target is");
    }

    #[test]
    fn bonds_and_vlans_do_not_count_what_they_stand_on_twice() {
        let stacked = |records: &mut crate::records::Records| {
            let over = |name: &str, over: &[&str]| MachineNic {
                name: name.into(),
                over: over.iter().map(|n| (*n).into()).collect(),
                ..MachineNic::default()
            };
            records.manifest.clients[0].machine.nics =
                vec![over("ens1", &[]), over("ens2", &[]), over("bond0", &["ens1", "ens2"]), over("vlan", &["bond0"])];
        };
        assert_eq!(kinds_of_run(0.5, &["ens1", "ens2", "bond0", "vlan"], stacked), []);
        assert_eq!(kinds_of_run(0.5, &["ens1", "ens2", "bond0", "vlan"], |_| ()), [FindingKind::WireOverhead]);
    }

    #[test]
    fn counters_that_went_backwards_say_nothing() {
        let restarted = |records: &mut crate::records::Records| {
            let at_restart = records.readings[15].nics[0].rx_bytes;
            records.readings.iter_mut().skip(15).for_each(|r| r.nics[0].rx_bytes -= at_restart);
        };
        assert!(!kinds_of_run(1.0, &["eth0"], restarted).contains(&FindingKind::BytesUnaccounted));
    }
}
