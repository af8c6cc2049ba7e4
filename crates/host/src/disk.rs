//! `/proc/diskstats`: what each whole block device did.
//!
//! Stacked devices (`dm-*`, `md*`, an NVMe head over its paths) stand beside what they are made of, and both carry the
//! same bytes: whoever sums must choose one layer.

use crate::lines::{LineFault, number, rows};
use crate::root::Parsed;
use linerate_record::device_name::is_partition;
use linerate_record::reading::DiskCounters;

/// The unit of the kernel's sector counters, whatever the sector size of the device is.
pub(crate) const BYTES_PER_SECTOR: u64 = 512;

/// Devices that are memory or a file of another device.
const NOT_DRIVES: [&str; 3] = ["loop", "ram", "zram"];

/// What is made of other drives, or is of the network.
const LAYERS: [&str; 6] = ["dm-", "md", "bcache", "nbd", "drbd", "zd"];

/// Optical and floppy drives.
const REMOVABLE: [&str; 2] = ["sr", "fd"];

/// Whether a block device is a disk. What has a `device` in sysfs is hardware, or the virtual hardware of a guest,
/// however it is called. Of a recorded machine that folder may be missing, and of some devices of the network it always
/// is: of these, whatever stands on other devices is none, and names decide the rest.
pub(crate) fn is_disk(name: &str, has_device: bool, is_over_others: bool) -> bool {
    if has_device {
        return !is_numbered(name, &REMOVABLE);
    }
    !is_over_others && is_drive(name) && !is_layer(name)
}

/// Whether a block device is made of others, is of the network, or has a medium that is taken out, by its name.
pub(crate) fn is_layer(name: &str) -> bool {
    is_numbered(name, &LAYERS) || is_numbered(name, &REMOVABLE) || name.starts_with("md_")
}

/// Whether a name is one of these and a number.
fn is_numbered(name: &str, kinds: &[&str]) -> bool {
    let begins =
        |kind: &&str| name.strip_prefix(*kind).is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()));
    kinds.iter().any(begins)
}

/// One row per whole block device, in the kernel's order. A machine without any has none.
///
/// Names alone say what a partition is, because a look into sysfs would cost a call per device and reading; a
/// virtual machine's lone `xvda1` without an `xvda` is a whole device.
pub(crate) fn parse_diskstats(text: &str) -> Parsed<Vec<DiskCounters>> {
    let (devices, fault) = rows(text, disk_line);
    let whole = |device: &DiskCounters| !devices.iter().any(|parent| is_partition(&device.name, &parent.name));
    let drives = devices.iter().filter(|device| is_drive(&device.name) && whole(device)).cloned().collect();
    (drives, fault)
}

fn disk_line(line: &str) -> Result<Option<DiskCounters>, LineFault> {
    if line.trim().is_empty() {
        return Ok(None);
    }
    // Kernels from 2.6.25 on write at least 11 counters; 4 of discards came in 4.18 and 2 of flushes in 5.5. Columns
    // that are not used are skipped unread: requests in flight have been seen negative.
    let mut columns = line.split_whitespace().skip(2);
    let name = columns.next().ok_or("a column is missing")?.to_owned();
    let (reads, sectors_read) = (number(columns.next())?, number(columns.nth(1))?);
    let (writes, sectors_written) = (number(columns.nth(1))?, number(columns.nth(1))?);
    let busy_ms = number(columns.nth(2))?;
    Ok(Some(DiskCounters {
        name,
        reads,
        writes,
        read_bytes: sectors_read.saturating_mul(BYTES_PER_SECTOR),
        written_bytes: sectors_written.saturating_mul(BYTES_PER_SECTOR),
        busy_ms,
    }))
}

/// Whether it is neither memory nor a file of another device.
pub(crate) fn is_drive(name: &str) -> bool {
    !NOT_DRIVES.iter().any(|kind| name.strip_prefix(kind).is_some_and(is_number))
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const LINUX_6: &str = include_str!("../tests/data/diskstats_6.txt");
    const LINUX_3_10: &str = include_str!("../tests/data/diskstats_3_10.txt");

    fn names(text: &str) -> Vec<String> {
        parse_diskstats(text).0.into_iter().map(|disk| disk.name).collect()
    }

    #[test]
    fn whole_devices_are_kept_and_partitions_and_memory_are_not() {
        assert_eq!(names(LINUX_6), ["nvme0n1", "nvme1n1", "nvme10n1", "md127", "dm-0", "dm-10", "sda", "sr0"]);
        assert_eq!(names(LINUX_3_10), ["sda", "sdaa", "dm-0"]);
        let lone = "202 1 xvda1 1 0 1 0 1 0 1 0 0 1 1\n202 16 xvdb 1 0 1 0 1 0 1 0 0 1 1\n";
        assert_eq!(names(lone), ["xvda1", "xvdb"]);
        assert_eq!(parse_diskstats(""), (vec![], None));
    }

    #[test]
    fn a_disk_is_told_by_its_device_before_its_name() {
        for (name, has_device, is_over_others, expected) in [
            ("sda", true, false, true),
            ("mdisk0", true, false, true),
            ("md0", true, false, true),
            ("sr0", true, false, false),
            ("sda", false, false, true),
            ("md127", false, true, false),
            ("md_data", false, false, false),
            ("drbd0", false, false, false),
            ("zd16", false, false, false),
            ("bcache0", false, false, false),
            ("cache0", false, true, false),
        ] {
            assert_eq!(is_disk(name, has_device, is_over_others), expected, "{name} {has_device} {is_over_others}");
        }
    }

    #[test]
    fn counters_are_the_same_with_11_15_and_17_of_them() {
        let expected = DiskCounters {
            name: "sda".to_owned(),
            reads: 1,
            read_bytes: 3 * 512,
            writes: 5,
            written_bytes: 7 * 512,
            busy_ms: 10,
        };
        let cases = [
            "8 0 sda 1 2 3 4 5 6 7 8 9 10 11",
            "   8       0 sda 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15\n",
            "8 0 sda 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17\n",
            "8 0 sda 1 2 3 4 5 6 7 8 -1 10 11\n",
        ];
        for text in cases {
            assert_eq!(parse_diskstats(text), (vec![expected.clone()], None), "{text:?}");
        }
        let huge = format!("8 0 sda 1 2 {} 4 5 6 7 8 9 10 11", u64::MAX);
        assert_eq!(parse_diskstats(&huge).0[0].read_bytes, u64::MAX);
    }

    #[test]
    fn a_line_that_no_kernel_writes_is_left_out_and_told() {
        let cases = [
            ("8 0", "a column is missing"),
            ("8 0 sda 1 2 3 4", "a column is missing"),
            ("8 0 sda 1 2 3 4 5 6 7 8 9", "a column is missing"),
            ("8 0 sda 1 2 -3 4 5 6 7 8 9 10 11", "a column is not a whole number from 0 to 2^64 - 1"),
        ];
        for (line, fault) in cases {
            let text = format!("{line}\n8 16 sdb 1 2 3 4 5 6 7 8 9 10 11\n");
            let (disks, reported) = parse_diskstats(&text);
            assert_eq!(disks.len(), 1, "{line:?}");
            assert_eq!(disks[0].name, "sdb", "{line:?}");
            assert_eq!(reported, Some(format!("line 1 {line:?}: {fault}")));
        }
    }

    proptest! {
        #[test]
        fn no_text_panics(text in "(8 0 [a-z0-9]{0,6}( -?[0-9]{1,24}){0,18}\n){0,4}|(?s).*") {
            parse_diskstats(&text);
        }
    }
}
