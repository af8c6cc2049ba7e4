//! Drives, by `/proc/diskstats`: `DriveRead`, `DriveWritten`, `DriveDiscarded`, `DriveBusy`, `DriveQueue`,
//! `DriveLatency`.
//!
//! - Tells: what each whole device did between two looks, in the terms of node_exporter's `node_disk_*`. The latency is
//!   the mean of reads and writes that ended, from when they were handed to the device's queue; the queue is the mean
//!   of requests that wait or are served.
//! - Cannot tell: whose requests they were. A drive that serves several requests at a time is busy all the time long
//!   before it is full. Discards and flushes are in the queue and not in the latency. The time busy is counted in the
//!   kernel's ticks of 1 to 10 ms, as whole ticks in which something went on (`update_io_ticks`).
//! - Needs no privilege. One file of a line a device; each second is often enough. A folder for each of the engine's
//!   devices that is made of others, each 30 s.
//!
//! Left out are loop, ram, zram, partitions, and what is made of other drives (`dm-*`, `md*`, `nbd*`), so that nothing
//! counts twice; of an NVMe drive with several paths, the paths, where the drive itself is counted (Linux 6.2). Where
//! it is known which devices the engine serves from ([`super::engine_devices`]), the others are left out too: a drive
//! with logs holds no request up. A loop device that it serves from is a drive then.

use std::collections::{BTreeMap, BTreeSet};

use linerate_record::device_name::{is_partition, nvme_head_of_path};
use linerate_record::readings::ReadMeasure;

use super::Reader;
use super::counter_delta::{each_s, grown, over_s, share_of_ms};
use super::engine_devices::DeviceNumber;
use crate::disk::{BYTES_PER_SECTOR, is_drive, is_layer};
use crate::lines::{LineFault, number, number_if_any, rows};
use crate::root::{Parsed, Root, names};

/// A storage node has at most some dozens; the rest of an array that shows each path as a device is left out.
const MOST_DRIVES: usize = 128;

/// How often it is looked anew what the engine's devices are made of, in milliseconds: nobody builds volumes each
/// minute.
const MADE_OF_EACH_MS: u64 = 30_000;

/// How deep devices may be made of others: encryption over a volume over a RAID is three.
const MOST_LAYERS: usize = 6;

#[derive(Clone, Debug, PartialEq)]
pub(super) struct DriveCounters {
    name: String,
    device: DeviceNumber,
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

/// Drives that the engine's devices were found to be made of.
#[derive(Debug)]
struct EngineDrives {
    found_ms: u64,
    engine: BTreeSet<DeviceNumber>,
    /// All devices that there were: numbers are given anew where one went and another came.
    devices: Vec<(DeviceNumber, String)>,
    /// None where they could not be found.
    names: Option<Vec<String>>,
}

/// What was read last.
#[derive(Debug, Default)]
pub(super) struct DrivesRead {
    made_of: Option<EngineDrives>,
    then: Option<(u64, BTreeMap<String, DriveCounters>)>,
    /// Whether those of the last look are the engine's alone.
    pub(super) are_of_engine: bool,
    /// Those of the last look.
    pub(super) names: Vec<String>,
}

/// Looks at those on which the engine's devices are, and where these are not known, at all.
pub(super) fn look(state: &mut DrivesRead, engine: Option<&BTreeSet<DeviceNumber>>, at: &mut Reader<'_>) {
    let Some(devices) = at.parsed("proc/diskstats", parse_devices) else {
        *state = DrivesRead::default();
        return;
    };
    let of_engine = engine.and_then(|engine| of_engine(&mut state.made_of, &devices, engine, at));
    state.are_of_engine = of_engine.is_some();
    let mut now = of_engine.unwrap_or_else(|| drives(&devices));
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

fn parse_devices(text: &str) -> Parsed<Vec<DriveCounters>> {
    rows(text, drive_line)
}

/// All drives among devices.
fn drives(devices: &[DriveCounters]) -> Vec<DriveCounters> {
    devices.iter().filter(|device| is_drive(&device.name) && is_whole(&device.name, devices)).cloned().collect()
}

/// Drives of the engine, which are found anew each half minute, and where devices came or went.
fn of_engine(
    made_of: &mut Option<EngineDrives>,
    devices: &[DriveCounters],
    engine: &BTreeSet<DeviceNumber>,
    at: &Reader<'_>,
) -> Option<Vec<DriveCounters>> {
    let is_there = |known: &EngineDrives| {
        let all = devices.iter().map(|device| (device.device, &device.name));
        known.devices.iter().map(|(number, name)| (*number, name)).eq(all)
    };
    let stays = |known: &EngineDrives| {
        known.engine == *engine && at.now_ms < known.found_ms.saturating_add(MADE_OF_EACH_MS) && is_there(known)
    };
    if !made_of.as_ref().is_some_and(stays) {
        let names = serving(at.root, devices, engine).map(|kept| kept.into_iter().map(|drive| drive.name).collect());
        let all = devices.iter().map(|device| (device.device, device.name.clone())).collect();
        *made_of = Some(EngineDrives { found_ms: at.now_ms, engine: engine.clone(), devices: all, names });
    }
    let names = made_of.as_ref()?.names.as_ref()?;
    Some(devices.iter().filter(|device| names.contains(&device.name)).cloned().collect())
}

/// Drives that some devices are made of; none where that is not known of each.
fn serving(root: &Root, devices: &[DriveCounters], of: &BTreeSet<DeviceNumber>) -> Option<Vec<DriveCounters>> {
    let name_of =
        |number: &DeviceNumber| devices.iter().find(|device| device.device == *number).map(|one| one.name.clone());
    let held: Vec<String> = of.iter().map(name_of).collect::<Option<_>>()?;
    let held = below(root, devices, held)?;
    let is_on = |name: &str, drive: &str| name == drive || is_partition(name, drive);
    // Of a drive with several paths, its own name or that of a path counts, by the kernel's version.
    let holds = |drive: &str| {
        let head = nvme_head_of_path(drive);
        held.iter().any(|name| is_on(name, drive) || head.as_ref().is_some_and(|head| is_on(name, head)))
    };
    let kept = devices.iter().filter(|device| holds(&device.name) && is_whole(&device.name, devices));
    Some(kept.cloned().collect()).filter(|kept: &Vec<_>| !kept.is_empty())
}

/// What devices are made of in the end; none where that is not known of each.
fn below(root: &Root, devices: &[DriveCounters], mut names_of: Vec<String>) -> Option<Vec<String>> {
    for _ in 0..=MOST_LAYERS {
        if !names_of.iter().any(|name| is_layer(name)) {
            return Some(names_of);
        }
        let made_of = |name: String| {
            if !is_layer(&name) {
                return Some(vec![name]);
            }
            // A partition of a layer is made of what the layer is made of.
            let whole = devices.iter().map(|device| &device.name).find(|whole| is_partition(&name, whole));
            let slaves = names(root, &format!("sys/block/{}/slaves", whole.unwrap_or(&name)));
            (!slaves.is_empty()).then_some(slaves)
        };
        names_of = names_of.into_iter().map(made_of).collect::<Option<Vec<_>>>()?.concat();
    }
    None
}

/// Whether no other device counts the same.
fn is_whole(name: &str, devices: &[DriveCounters]) -> bool {
    let is_part = devices.iter().any(|parent| is_partition(name, &parent.name));
    let counts = |head: &str| devices.iter().any(|device| device.name == head && device.reads + device.writes > 0);
    !is_layer(name) && !is_part && !nvme_head_of_path(name).is_some_and(|head| counts(&head))
}

/// `Documentation/admin-guide/iostats.rst`.
fn drive_line(line: &str) -> Result<Option<DriveCounters>, LineFault> {
    if line.trim().is_empty() {
        return Ok(None);
    }
    let mut columns = line.split_whitespace();
    let mut half = || columns.next().and_then(|number| number.parse().ok()).ok_or("a device has no number");
    let device = (half()?, half()?);
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
        device,
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
    use super::super::tests::{engine, put, values};
    use super::*;
    use crate::root::Root;
    use proptest::prelude::*;

    const LINUX_6: &str = include_str!("../../tests/data/diskstats_6.txt");
    const LINUX_3_10: &str = include_str!("../../tests/data/diskstats_3_10.txt");

    fn names(text: &str) -> Vec<String> {
        drives(&parse_devices(text).0).into_iter().map(|drive| drive.name).collect()
    }

    fn one(text: &str) -> DriveCounters {
        parse_devices(text).0.remove(0)
    }

    #[test]
    fn drives_are_kept_once() {
        let line = |name: &str, reads: u64| format!("1 2 {name} {reads} 0 0 0 0 0 0 0 0 0 0\n");
        let text: String = [
            "sda",
            "sda1",
            "nvme0n1",
            "nvme0n1p1",
            "md0",
            "md_d0",
            "dm-3",
            "nbd0",
            "drbd0",
            "zd16",
            "loop1",
            "zram0",
            "sr0",
        ]
        .into_iter()
        .map(|name| line(name, 1))
        .collect();
        assert_eq!(names(&text), ["sda", "nvme0n1"]);
        assert_eq!(names(&(line("nvme0n1", 5) + &line("nvme0c0n1", 5))), ["nvme0n1"]);
        // Before Linux 6.2 only the paths count.
        assert_eq!(names(&(line("nvme0n1", 0) + &line("nvme0c0n1", 5))), ["nvme0n1", "nvme0c0n1"]);
        for text in [LINUX_6, LINUX_3_10] {
            assert!(parse_devices(text).1.is_none() && !names(text).is_empty());
        }
        assert!(parse_devices(LINUX_3_10).0.iter().all(|drive| drive.discarded_bytes.is_none()));
    }

    #[test]
    fn where_the_engine_serves_from_is_known_other_drives_are_left_out() {
        let folder = tempfile::tempdir().unwrap();
        let root = Root::captured(folder.path());
        let all = [
            ("8:0", "sda"),
            ("8:1", "sda1"),
            ("259:0", "nvme0n1"),
            ("259:1", "nvme0n1p1"),
            ("259:2", "nvme1n1"),
            ("259:9", "nvme1c2n1"),
            ("259:3", "nvme2n1"),
            ("259:20", "nvme5n1"),
            ("259:21", "nvme5n1p1"),
            ("259:22", "nvme5c1n1"),
            ("7:3", "loop3"),
            ("253:0", "dm-0"),
            ("253:1", "dm-1"),
            ("9:0", "md0"),
            ("259:8", "md0p1"),
            ("43:0", "nbd0"),
        ];
        for name in ["nvme0n1p1", "nvme2n1"] {
            put(&root, &format!("sys/block/md0/slaves/{name}"), "");
        }
        put(&root, "sys/block/dm-0/slaves/md0", "");
        // Before Linux 6.2 only paths count.
        let line = |(number, name): &(&str, &str)| {
            let count = u32::from(*name != "nvme5n1");
            format!("{} {name} {count} 0 1 1 {count} 0 0 1 0 1 1\n", number.replace(':', " "))
        };
        let devices = parse_devices(&all.iter().map(line).collect::<String>()).0;
        for (of, expected) in [
            (&[(8, 1)][..], Some(&["sda"][..])),
            (&[(259, 0), (259, 2)], Some(&["nvme0n1", "nvme1n1"])),
            (&[(7, 3)], Some(&["loop3"])),
            (&[(9, 0)], Some(&["nvme0n1", "nvme2n1"])),
            (&[(253, 0), (8, 0)], Some(&["sda", "nvme0n1", "nvme2n1"])),
            (&[(259, 8)], Some(&["nvme0n1", "nvme2n1"])),
            (&[(259, 21)], Some(&["nvme5n1", "nvme5c1n1"])),
            (&[(259, 21), (43, 0)], None),
            (&[(253, 1)], None),
            (&[(259, 0), (77, 1)], None),
        ] {
            let found = serving(&root, &devices, &of.iter().copied().collect());
            let found = found.map(|all| all.into_iter().map(|drive| drive.name).collect::<Vec<_>>());
            assert_eq!(found, expected.map(|all| all.iter().map(ToString::to_string).collect()), "{of:?}");
        }
    }

    #[test]
    fn what_devices_are_made_of_is_found_anew_each_half_minute_and_where_devices_came_or_went() {
        let folder = tempfile::tempdir().unwrap();
        let root = Root::captured(folder.path());
        let slaves = |old: &str, new: &str| {
            let _ = std::fs::remove_file(folder.path().join(format!("sys/block/md0/slaves/{old}")));
            put(&root, &format!("sys/block/md0/slaves/{new}"), "");
        };
        let mut state = DrivesRead::default();
        let mut seen = |now_ms, devices: &[(&str, &str)], of: (u32, u32)| {
            let line = |(number, name): &(&str, &str)| format!("{number} {name} 1 0 1 1 1 0 0 1 0 1 1\n");
            put(&root, "proc/diskstats", &devices.iter().map(line).collect::<String>());
            values(&root, now_ms, |at| look(&mut state, Some(&BTreeSet::from([of])), at));
            state.names.join(" ")
        };
        let all = [("9 0", "md0"), ("8 0", "sda"), ("8 16", "sdb")];
        slaves("none", "sda");
        assert_eq!(seen(0, &all, (9, 0)), "sda");
        slaves("sda", "sdb");
        assert_eq!(seen(29_999, &all, (9, 0)), "sda", "it is kept");
        assert_eq!(seen(30_000, &all, (9, 0)), "sdb");
        slaves("sdb", "sda");
        assert_eq!(seen(31_000, &all, (9, 0)), "sdb");
        assert_eq!(seen(32_000, &all, (8, 16)), "sdb", "the engine has another device");
        assert_eq!(seen(33_000, &all, (9, 0)), "sda", "and its first one again");
        slaves("sda", "sdc");
        let more = [("9 0", "md0"), ("8 16", "sdb"), ("8 32", "sdc")];
        assert_eq!(seen(34_000, &more, (9, 0)), "sdc", "one came, and one went");
    }

    #[test]
    fn a_machine_is_looked_at_by_what_its_engine_is_started_with() {
        let folder = tempfile::tempdir().unwrap();
        let root = Root::captured(folder.path());
        let drives_of = |now_ms, sectors: u64| {
            let line = |(number, name): (&str, &str)| format!("{number} {name} 1 0 {sectors} 1 1 0 0 1 0 1 1\n");
            put(&root, "proc/diskstats", &[("8 0", "sda"), ("259 1", "nvme0n1"), ("7 3", "loop3")].map(line).concat());
            now_ms
        };
        let reported = |state: &mut super::super::LiveState, now_ms| {
            let look = super::super::look(&root, state, now_ms);
            let read = look.values.into_iter().filter(|value| value.of == ReadMeasure::DriveRead);
            read.map(|value| value.part).collect::<Vec<_>>()
        };
        engine(&root, 40, "minio", 700);
        let begin = || super::super::begin(&root, &super::super::LiveRequest::default());
        let mut of_all = begin();
        reported(&mut of_all, drives_of(0, 1));
        assert_eq!(
            (reported(&mut of_all, drives_of(1_000, 2)), of_all.has_own_drives()),
            (strings(&["sda", "nvme0n1"]), false)
        );
        put(&root, "proc/40/cmdline", "minio\0server\0/data{1...2}");
        let mounts =
            ["1 2 8:0 / / rw - ext4 x rw", "1 2 259:1 / /data1 rw - xfs x rw", "1 2 7:3 / /data2 rw - xfs x rw"];
        put(&root, "proc/40/mountinfo", &mounts.join("\n"));
        let mut of_engine = begin();
        reported(&mut of_engine, drives_of(0, 1));
        let expected = (strings(&["nvme0n1", "loop3"]), true);
        assert_eq!((reported(&mut of_engine, drives_of(1_000, 2)), of_engine.has_own_drives()), expected);
        // It ended, and comes back: its drives are the same.
        std::fs::remove_dir_all(folder.path().join("proc/40")).unwrap();
        for s in [40, 80] {
            reported(&mut of_engine, drives_of(s * 1_000, 3));
        }
        assert_eq!((reported(&mut of_engine, drives_of(81_000, 4)), of_engine.has_own_drives()), expected);
    }

    fn strings(all: &[&str]) -> Vec<String> {
        all.iter().map(ToString::to_string).collect()
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
        let mut values_at = |now_ms, drives: &[(&str, u64)]| {
            let line = |(name, sectors): &(&str, u64)| format!("8 0 {name} 1 0 {sectors} 1 1 0 0 1 0 1 1\n");
            put(&root, "proc/diskstats", &drives.iter().map(line).collect::<String>());
            let found = values(&root, now_ms, |at| look(&mut state, None, at));
            let read = found.into_iter().filter(|(of, _, _)| *of == ReadMeasure::DriveRead);
            read.map(|(_, part, value)| (part, value)).collect::<Vec<_>>()
        };
        assert_eq!(values_at(0, &[("sda", 10)]), []);
        assert_eq!(values_at(1_000, &[("sda", 12), ("sdb", 9_000)]), [("sda".to_owned(), 1024.0)]);
        assert_eq!(values_at(2_000, &[("sdb", 9_001)]), [("sdb".to_owned(), 512.0)]);
        assert_eq!(values_at(3_000, &[("sda", 4), ("sdb", 3)]), [], "one is new again, the other another of its name");
    }

    #[test]
    fn a_text_cut_anywhere_keeps_its_whole_lines() {
        let whole = parse_devices(LINUX_6).0;
        let text = &LINUX_6[..LINUX_6.len().min(4_000)];
        for cut in 0..=text.len() {
            let lines = text[..cut].rfind('\n').map_or(0, |end| end + 1);
            let sure = parse_devices(&text[..lines]).0;
            let found = parse_devices(&text[..cut]).0;
            assert!(found.iter().filter(|drive| !sure.contains(drive)).count() <= 1, "{cut}");
        }
        assert!(!whole.is_empty());
    }

    proptest! {
        #[test]
        fn no_text_panics(text in "([0-9] [0-9] (nvme0n1|nvme0c1n1|sda|sda1|md0)( -?[0-9]{1,22}){0,20}\n){0,4}|.*") {
            drives(&parse_devices(&text).0);
        }
    }
}
