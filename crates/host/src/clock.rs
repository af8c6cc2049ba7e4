//! The clock since boot, the same for every process of a machine: a time namespace of its own shifts it.

use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::sync::OnceLock;

use rustix::time::{ClockId, clock_gettime};

use crate::root::{Root, text};

/// The inode of the time namespace in which the machine booted: `TIME_NS_INIT_INO` in `linux/nsfs.h`.
const INITIAL_TIME_NAMESPACE: u64 = 0xEFFF_FFFA;

/// Milliseconds since this machine booted, time asleep included: one clock for all processes, which nobody sets.
#[must_use]
pub fn since_boot_ms() -> u64 {
    let time = clock_gettime(ClockId::Boottime);
    let own_ms = time.tv_sec.saturating_mul(1000).saturating_add(time.tv_nsec / 1_000_000);
    u64::try_from(own_ms.saturating_sub(shift_ms())).unwrap_or(0)
}

/// By how much this process's clock is ahead of the machine's, in milliseconds: `time_namespaces(7)`.
pub(crate) fn shift_ms() -> i64 {
    static SHIFT: OnceLock<i64> = OnceLock::new();
    *SHIFT.get_or_init(|| read_shift_ms().unwrap_or(0))
}

fn read_shift_ms() -> io::Result<i64> {
    let inode = |name: &str| std::fs::metadata(format!("/proc/self/ns/{name}")).map(|metadata| metadata.ino());
    // Before Linux 5.6 there is none. The file tells of the namespace of children, which is this process's own but for
    // one that has made it and not entered it.
    if inode("time")? == INITIAL_TIME_NAMESPACE || inode("time")? != inode("time_for_children")? {
        return Ok(0);
    }
    let offsets = text(&Root::live(), "proc/self/timens_offsets", &mut Vec::new())?.into_owned();
    parse_shift_ms(&offsets).ok_or_else(|| io::Error::from(io::ErrorKind::InvalidData))
}

/// `boottime  SECONDS  NANOSECONDS`, the latter never negative.
fn parse_shift_ms(offsets: &str) -> Option<i64> {
    let line = offsets.lines().find_map(|line| line.strip_prefix("boottime"))?;
    let mut fields = line.split_whitespace().map(str::parse::<i64>);
    let (seconds, ns) = (fields.next()?.ok()?, fields.next()?.ok()?);
    seconds.checked_mul(1000)?.checked_add(ns / 1_000_000)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_shift_of_a_time_namespace_is_understood() {
        let offsets = |line: &str| format!("monotonic           0         0\n{line}\n");
        for (line, shift_ms) in [
            ("boottime       86400         0", Some(86_400_000)),
            ("boottime          -2 500000000", Some(-1_500)),
            ("boottime           1", None),
            ("boottime           x         0", None),
            ("", None),
        ] {
            assert_eq!(parse_shift_ms(&offsets(line)), shift_ms, "{line}");
        }
        let uptime = text(&Root::live(), "proc/uptime", &mut Vec::new()).unwrap().into_owned();
        let uptime_s: f64 = uptime.split(' ').next().unwrap().parse().unwrap();
        let apart_s = since_boot_ms() as f64 / 1e3 + shift_ms() as f64 / 1e3 - uptime_s;
        assert!((-0.1..60.0).contains(&apart_s), "{apart_s}");
    }
}
