//! Drives, by `/proc/diskstats`: `DriveRead`, `DriveWritten`, `DriveDiscarded`, `DriveBusy`, `DriveQueue`,
//! `DriveLatency`.
//!
//! - Tells: what each whole device did between two looks, in the terms of node_exporter's `node_disk_*`. The latency is
//!   the mean of reads and writes that ended, from when they were handed to the device's queue; the queue is the mean
//!   of requests that wait or are served.
//! - Cannot tell: whose requests they were. A drive that serves several requests at a time is busy all the time long
//!   before it is full. Discards and flushes are in the queue and not in the latency. The time busy is counted in the
//!   kernel's ticks of 1 to 10 ms, as whole ticks in which something went on (`update_io_ticks`).
//! - Needs no privilege. One file of a line a device; each second is often enough.
//!
//! Left out are loop, ram, zram, partitions, and what is made of other drives (`dm-*`, `md*`, `nbd*`), so that nothing
//! counts twice; of an NVMe drive with several paths, the paths, where the drive itself is counted (Linux 6.2).

use std::collections::BTreeMap;

use linerate_record::readings::ReadMeasure;

use super::Looking;
use super::since::{each_s, grown, over_s, share_of_ms};
use crate::disk::{BYTES_PER_SECTOR, is_drive, is_partition};
use crate::lines::{LineFault, number, number_if_any, rows};
use crate::root::Parsed;

/// A storage node has at most some dozens; the rest of an array that shows each path as a device is left out.
const MOST_DRIVES: usize = 128;

/// What is made of other drives, or is none.
const LAYERS: [&str; 5] = ["dm-", "md", "nbd", "sr", "fd"];

/// Counters of one.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct DriveCounters {
    name: String,
    reads: u64,
    read_bytes: u64,
    read_ms: u64,
    writes: u64,
    written_bytes: u64,
    write_ms: u64,
    busy_ms: u64,
    queued_ms: u64,
    /// None before Linux 4.18.
    discarded_bytes: Option<u64>,
}

/// What was read last.
#[derive(Debug, Default)]
pub(super) struct DrivesRead {
    then: Option<(u64, BTreeMap<String, DriveCounters>)>,
    /// Those of the last look.
    pub(super) names: Vec<String>,
}

pub(super) fn look(state: &mut DrivesRead, at: &mut Looking<'_>) {
    let Some(mut now) = at.parsed("proc/diskstats", parse_drives) else {
        *state = DrivesRead::default();
        return;
    };
    if now.len() > MOST_DRIVES {
        at.remark(format!("{} drives beyond {MOST_DRIVES} are left out", now.len() - MOST_DRIVES));
        now.truncate(MOST_DRIVES);
    }
    state.names = now.iter().map(|drive| drive.name.clone()).collect();
    if let Some((over_s, then)) = state.then.as_ref().and_then(|(ms, then)| Some((over_s(*ms, at.now_ms)?, then))) {
        for drive in &now {
            let Some(then) = then.get(&drive.name) else { continue };
            for (of, value) in between(then, drive, over_s).into_iter().flatten() {
                at.tell_any(of, &drive.name, value);
            }
        }
    }
    state.then = Some((at.now_ms, now.into_iter().map(|drive| (drive.name.clone(), drive)).collect()));
}

/// None of a drive that counts anew. Its times have 32 bits, and go round on their own.
fn between(then: &DriveCounters, now: &DriveCounters, over_s: f64) -> Option<[(ReadMeasure, Option<f64>); 6]> {
    let requests = grown(then.reads, now.reads)? + grown(then.writes, now.writes)?;
    let read = each_s(then.read_bytes, now.read_bytes, over_s)?;
    let written = each_s(then.written_bytes, now.written_bytes, over_s)?;
    let took_ms = grown(then.read_ms, now.read_ms).zip(grown(then.write_ms, now.write_ms));
    let latency = took_ms.filter(|_| requests > 0.0).map(|(reads, writes)| (reads + writes) / 1e3 / requests);
    let discarded = then.discarded_bytes.zip(now.discarded_bytes);
    Some([
        (ReadMeasure::DriveRead, Some(read)),
        (ReadMeasure::DriveWritten, Some(written)),
        (ReadMeasure::DriveBusy, share_of_ms(then.busy_ms, now.busy_ms, over_s)),
        (ReadMeasure::DriveQueue, each_s(then.queued_ms, now.queued_ms, 1e3 * over_s)),
        (ReadMeasure::DriveLatency, latency),
        (ReadMeasure::DriveDiscarded, discarded.and_then(|(then, now)| each_s(then, now, over_s))),
    ])
}

fn parse_drives(text: &str) -> Parsed<Vec<DriveCounters>> {
    let (devices, fault) = rows(text, drive_line);
    let is_part = |name: &str| devices.iter().any(|parent| is_partition(name, &parent.name));
    let counts = |head: &str| devices.iter().any(|device| device.name == head && device.reads + device.writes > 0);
    let is_whole = |name: &str| is_drive(name) && !is_layer(name) && !is_part(name);
    let is_path = |name: &str| head_of_path(name).is_some_and(|head| counts(&head));
    let kept = devices.iter().filter(|device| is_whole(&device.name) && !is_path(&device.name));
    (kept.cloned().collect(), fault)
}

fn is_layer(name: &str) -> bool {
    let begins =
        |kind: &str| name.strip_prefix(kind).is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()));
    LAYERS.iter().any(|kind| begins(kind)) || name.starts_with("md_")
}

/// The drive of a path of NVMe: `nvme0n1` of `nvme0c3n1`.
pub(super) fn head_of_path(name: &str) -> Option<String> {
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let (subsystem, rest) = name.strip_prefix("nvme")?.split_once('c')?;
    let (controller, space) = rest.split_once('n')?;
    [subsystem, controller, space].into_iter().all(is_number).then(|| format!("nvme{subsystem}n{space}"))
}

/// `Documentation/admin-guide/iostats.rst`.
fn drive_line(line: &str) -> Result<Option<DriveCounters>, LineFault> {
    if line.trim().is_empty() {
        return Ok(None);
    }
    let mut columns = line.split_whitespace().skip(2);
    let name = columns.next().filter(|name| !name.contains('/')).ok_or("a column is missing")?.to_owned();
    let bytes = |sectors: u64| sectors.saturating_mul(BYTES_PER_SECTOR);
    let (reads, read_sectors) = (number(columns.next())?, number(columns.nth(1))?);
    let (read_ms, writes) = (number(columns.next())?, number(columns.next())?);
    let (written_sectors, write_ms) = (number(columns.nth(1))?, number(columns.next())?);
    // Requests in flight have been seen negative, and are skipped unread.
    let (busy_ms, queued_ms) = (number(columns.nth(1))?, number(columns.next())?);
    let discards = columns.next();
    let discarded = number_if_any(columns.nth(1))?;
    Ok(Some(DriveCounters {
        name,
        reads,
        read_bytes: bytes(read_sectors),
        read_ms,
        writes,
        written_bytes: bytes(written_sectors),
        write_ms,
        busy_ms,
        queued_ms,
        discarded_bytes: discards.map(|_| bytes(discarded)),
    }))
}

#[cfg(test)]
mod tests {
    use super::super::tests::{put, values};
    use super::*;
    use crate::root::Root;
    use proptest::prelude::*;

    const LINUX_6: &str = include_str!("../../tests/data/diskstats_6.txt");
    const LINUX_3_10: &str = include_str!("../../tests/data/diskstats_3_10.txt");

    fn names(text: &str) -> Vec<String> {
        parse_drives(text).0.into_iter().map(|drive| drive.name).collect()
    }

    fn one(text: &str) -> DriveCounters {
        parse_drives(text).0.remove(0)
    }

    #[test]
    fn drives_are_kept_once() {
        let line = |name: &str, reads: u64| format!("1 2 {name} {reads} 0 0 0 0 0 0 0 0 0 0\n");
        let text: String =
            ["sda", "sda1", "nvme0n1", "nvme0n1p1", "md0", "md_d0", "dm-3", "nbd0", "loop1", "zram0", "sr0"]
                .into_iter()
                .map(|name| line(name, 1))
                .collect();
        assert_eq!(names(&text), ["sda", "nvme0n1"]);
        assert_eq!(names(&(line("nvme0n1", 5) + &line("nvme0c0n1", 5))), ["nvme0n1"]);
        // Before Linux 6.2 only the paths count.
        assert_eq!(names(&(line("nvme0n1", 0) + &line("nvme0c0n1", 5))), ["nvme0n1", "nvme0c0n1"]);
        assert_eq!(head_of_path("nvme12c3n45").as_deref(), Some("nvme12n45"));
        assert_eq!([head_of_path("nvme0n1"), head_of_path("nvmecn"), head_of_path("sda")], [None, None, None]);
        for text in [LINUX_6, LINUX_3_10] {
            assert!(parse_drives(text).1.is_none() && !names(text).is_empty());
        }
        assert!(parse_drives(LINUX_3_10).0.iter().all(|drive| drive.discarded_bytes.is_none()));
    }

    #[test]
    fn what_a_drive_did_is_told_as_node_exporter_has_it() {
        let then = one("259 0 nvme0n1 100 0 1000 50 200 0 2000 70 0 400 900 10 0 80 5 0 0");
        let now = one("259 0 nvme0n1 150 0 3000 90 250 0 4000 130 -1 1400 2900 10 0 180 5 0 0");
        let found = between(&then, &now, 2.0).unwrap().map(|(_, value)| value);
        assert_eq!(found, [512_000.0, 512_000.0, 0.5, 1.0, 0.001, 25_600.0].map(Some));
        // A drive at rest has no latency.
        assert_eq!(between(&then, &then, 2.0).unwrap()[4], (ReadMeasure::DriveLatency, None));
    }

    #[test]
    fn a_drive_that_counts_anew_gives_nothing_and_a_time_that_went_round_no_value() {
        let then = one("259 0 nvme0n1 100 0 1000 4294967290 200 0 2000 70 0 400 4294967000");
        let now = one("259 0 nvme0n1 150 0 3000 90 250 0 4000 130 0 1400 2900");
        let found = between(&then, &now, 1.0).unwrap().map(|(_, value)| value);
        assert_eq!(found, [Some(1_024_000.0), Some(1_024_000.0), Some(1.0), None, None, None]);
        assert_eq!(between(&now, &then, 1.0), None);
        let fewer_writes = DriveCounters { writes: 10, ..now.clone() };
        assert_eq!(between(&now, &fewer_writes, 1.0), None);
    }

    #[test]
    fn a_drive_that_came_or_went_is_counted_from_its_second_look() {
        let folder = tempfile::tempdir().unwrap();
        let root = Root::captured(folder.path());
        let mut state = DrivesRead::default();
        let mut of = |now_ms, drives: &[(&str, u64)]| {
            let line = |(name, sectors): &(&str, u64)| format!("8 0 {name} 1 0 {sectors} 1 1 0 0 1 0 1 1\n");
            put(&root, "proc/diskstats", &drives.iter().map(line).collect::<String>());
            let found = values(&root, now_ms, |at| look(&mut state, at));
            let read = found.into_iter().filter(|(of, _, _)| *of == ReadMeasure::DriveRead);
            read.map(|(_, part, value)| (part, value)).collect::<Vec<_>>()
        };
        assert_eq!(of(0, &[("sda", 10)]), []);
        assert_eq!(of(1_000, &[("sda", 12), ("sdb", 9_000)]), [("sda".to_owned(), 1024.0)]);
        assert_eq!(of(2_000, &[("sdb", 9_001)]), [("sdb".to_owned(), 512.0)]);
        assert_eq!(of(3_000, &[("sda", 4), ("sdb", 3)]), [], "one is new again, the other another of its name");
    }

    #[test]
    fn a_text_cut_anywhere_keeps_its_whole_lines() {
        let whole = parse_drives(LINUX_6).0;
        let text = &LINUX_6[..LINUX_6.len().min(4_000)];
        for cut in 0..=text.len() {
            let lines = text[..cut].rfind('\n').map_or(0, |end| end + 1);
            let sure = parse_drives(&text[..lines]).0;
            let found = parse_drives(&text[..cut]).0;
            assert!(found.iter().filter(|drive| !sure.contains(drive)).count() <= 1, "{cut}");
        }
        assert!(!whole.is_empty());
    }

    proptest! {
        #[test]
        fn no_text_panics(text in "([0-9] [0-9] (nvme0n1|nvme0c1n1|sda|sda1|md0)( -?[0-9]{1,22}){0,20}\n){0,4}|.*") {
            parse_drives(&text);
        }
    }
}
