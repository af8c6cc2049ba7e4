//! Whether what was read can have come from the target's memory.
//!
//! A target keeps what it was just given in its page cache. Reads of a set that fits its memory say how fast memory and
//! network are, and nothing of drives. Where the target is on this machine, its drives' counters decide: if they read
//! less than a tenth of what was served, the rest was in memory. Elsewhere the set is held against the memory that the
//! user told; without that, a note says once that it is not known. For linerate's own targets it is but a note:
//! nobody measures drives with them.

use linerate_record::finding::{Confidence, Finding, FindingKind, Severity};
use linerate_record::run::{PointLine, TargetKind};
use linerate_record::units::bytes_iec;

use super::{PointFinding, Run, worst};
use crate::view::{Point, Series};

/// Share of the bytes served that drives have to have read, for memory not to be told.
const FROM_DRIVES: f64 = 0.10;

const REMEDY: &str = "read a set of twice the target's memory: raise --objects, or --list-existing over more of them";

pub(super) fn of_series(run: &Run<'_>, label: &str, series: &Series) -> Option<Finding> {
    worst(FindingKind::PageCache, REMEDY, label, series, |point| of_point(run, point))
}

/// That it is not known, once for all reads of a run.
pub(super) fn unknown(run: &Run<'_>) -> Option<Finding> {
    let (target, requested) = (&run.records.manifest.target, &run.records.manifest.requested);
    if target.on_this_machine || requested.target_memory_bytes.is_some() {
        return None;
    }
    let points = run.view.series.iter().flat_map(|s| &s.points);
    let sets: Vec<(u32, u64)> = points.filter_map(|p| Some((p.point, read_set_bytes(run, p.point)?))).collect();
    let largest = sets.iter().map(|(_, bytes)| *bytes).max()?;
    Some(Finding {
        kind: FindingKind::PageCache,
        severity: Severity::Note,
        confidence: Confidence::Possible,
        points: sets.iter().map(|(point, _)| *point).collect(),
        claim: "reads may have come from the target's memory".into(),
        evidence: format!("reads chose from {} or less; the target's memory is not known", bytes_iec(largest as f64)),
        remedy: "state it with --target-memory, or read a set that is larger than any memory (--objects)".into(),
    })
}

fn of_point(run: &Run<'_>, point: &Point) -> Option<PointFinding> {
    let (manifest, set_bytes) = (&run.records.manifest, read_set_bytes(run, point.point)?);
    if manifest.target.kind.is(&TargetKind::Null) || point.moved_bytes <= 0 {
        return None;
    }
    let reported = |severity, confidence, memory_bytes: u64, seen: &str| PointFinding {
        severity,
        confidence,
        badness: memory_bytes as f64 / set_bytes.max(1) as f64,
        claim: "reads came from the target's memory".into(),
        evidence: format!(
            "reads chose from {}, and the target has {} of memory{seen}",
            bytes_iec(set_bytes as f64),
            bytes_iec(memory_bytes as f64)
        ),
    };
    if manifest.target.on_this_machine {
        let (memory_bytes, (read, served)) = (manifest.machine().memory_bytes, read_and_served(run, point)?);
        let own = !manifest.target.kind.is(&TargetKind::S3);
        let severity = if own { Severity::Note } else { Severity::Warning };
        let seen = format!("; its drives read {} of {} served", bytes_iec(read), bytes_iec(served));
        return (read < FROM_DRIVES * served && set_bytes < memory_bytes)
            .then(|| reported(severity, Confidence::Certain, memory_bytes, &seen));
    }
    let memory_bytes = manifest.requested.target_memory_bytes?.saturating_mul(manifest.target.hosts.len() as u64);
    (set_bytes < memory_bytes).then(|| reported(Severity::Warning, Confidence::Likely, memory_bytes, ""))
}

/// Bytes of the objects that a point's reads chose from.
fn read_set_bytes(run: &Run<'_>, point: u32) -> Option<u64> {
    run.records.points.iter().find_map(|line| match line {
        PointLine::Begin(begin) if begin.point == point => begin.read_set_bytes,
        _ => None,
    })
}

/// What this machine's drives read while a point was measured, and what bodies moved; `None` without readings of
/// drives. Devices that stand on others count the same bytes again: the largest is nearest to the truth, and a set of
/// independent drives adds up to more.
fn read_and_served(run: &Run<'_>, point: &Point) -> Option<(f64, f64)> {
    let measured = run.measured(point.point);
    let (from, to) = (measured.first()?.from_ms, measured.last()?.to_ms);
    let inside = |r: &&linerate_record::reading::Reading| (from..=to).contains(&r.at_ms) && !r.disks.is_empty();
    let mut readings = run.records.readings.iter().filter(inside);
    let (first, last) = (readings.next()?, readings.next_back()?);
    let of_disk = |name: &str| first.disks.iter().find(|d| d.name == name).map_or(0, |d| d.read_bytes);
    let read: u64 = last.disks.iter().map(|d| d.read_bytes.saturating_sub(of_disk(&d.name))).sum();
    let share = (last.at_ms - first.at_ms) as f64 / point.measured_ms.max(1) as f64;
    Some((read as f64, point.moved_bytes as f64 * share.min(1.0)))
}

#[cfg(test)]
mod tests {
    use linerate_record::reading::{DiskCounters, Reading};

    use super::*;
    use crate::build::build;
    use crate::build::tests::records;
    use crate::records::Records;

    /// The finding of reads of 100 MiB/s from a set of 10 MiB.
    fn finding_of(change: impl Fn(&mut Records)) -> Option<Finding> {
        let mut records = records(&[1, 2], |_| 5);
        for line in &mut records.points {
            if let PointLine::Begin(begin) = line {
                begin.read_set_bytes = Some(10 << 20);
            }
        }
        change(&mut records);
        build(&records).unwrap().findings.into_iter().find(|f| f.kind == FindingKind::PageCache)
    }

    /// A target on this machine, of 64 GiB, whose drive reads so many MiB/s.
    fn here(records: &mut Records, mib_per_s: u64) {
        records.manifest.target.on_this_machine = true;
        records.manifest.clients[0].machine.memory_bytes = 64 << 30;
        let disk = |i: u64| DiskCounters {
            name: "nvme0n1".into(),
            read_bytes: i * mib_per_s * (1 << 20) / 10,
            ..DiskCounters::default()
        };
        records.readings =
            (0..30).map(|i| Reading { at_ms: i * 100, disks: vec![disk(i)], ..Reading::default() }).collect();
    }

    #[test]
    fn drives_that_read_nothing_give_the_page_cache_away() {
        let found = finding_of(|r| here(r, 1)).unwrap();
        assert_eq!((found.severity, found.confidence), (Severity::Warning, Confidence::Certain));
        assert!(
            found.claim.contains("came from the target's memory") && found.evidence.contains("10.0 MiB"),
            "{found:?}"
        );
        assert_eq!(finding_of(|r| here(r, 90)), None, "drives read what was served");
        let own = finding_of(|r| {
            here(r, 1);
            r.manifest.target.kind = TargetKind::Embedded.into();
        });
        assert_eq!(own.unwrap().severity, Severity::Note);
    }

    #[test]
    fn elsewhere_the_memory_told_decides_and_is_asked_for() {
        let requested = finding_of(|_| ()).unwrap();
        assert!(requested.severity == Severity::Note && requested.remedy.contains("--target-memory"), "{requested:?}");
        let fits = finding_of(|r| r.manifest.requested.target_memory_bytes = Some(64 << 30)).unwrap();
        assert_eq!((fits.severity, fits.points.as_slice()), (Severity::Warning, [0, 1].as_slice()));
        assert!(fits.evidence.contains("128 GiB"), "of both hosts: {fits:?}");
        assert_eq!(finding_of(|r| r.manifest.requested.target_memory_bytes = Some(4 << 20)), None);
    }

    #[test]
    fn what_reads_nothing_is_left_alone() {
        let writes = |records: &mut Records| {
            for line in &mut records.points {
                if let PointLine::Begin(begin) = line {
                    begin.read_set_bytes = None;
                }
            }
        };
        assert_eq!(finding_of(writes), None);
    }
}
