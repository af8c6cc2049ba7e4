//! Other processes: what `/proc` tells of them, and the guard that ends a child.

use std::process::Child;

/// `/proc/PID/stat` counts in hundredths of a second on every Linux that matters here (`USER_HZ`).
pub(crate) const TICKS_PER_S: f64 = 100.0;

/// A child that does not outlive its place.
pub(crate) struct Running(pub(crate) Child);

impl Drop for Running {
    fn drop(&mut self) {
        // Both fail only where the child has ended already, which is what they are for.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// User and system time out of `/proc/PID/stat`, threads that ended included; the command's name may contain spaces
/// and parentheses.
pub(crate) fn stat_cpu_s(stat: &str) -> Option<f64> {
    let mut fields = stat.rsplit_once(") ")?.1.split_whitespace().skip(11);
    let ticks = fields.next()?.parse::<u64>().ok()? + fields.next()?.parse::<u64>().ok()?;
    Some(ticks as f64 / TICKS_PER_S)
}

/// A number out of `/proc/PID/status`: `VmRSS:      5120 kB` and the like.
pub(crate) fn status_field(status: &str, name: &str) -> Option<u64> {
    let value = status.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))?;
    value.split_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stat_line_is_read_past_any_name() {
        let line = "42 (a) b (c)) S 1 42 42 0 -1 4194560 100 0 0 0 150 50 0 0 20 0 3 0 100 0 0";
        assert_eq!(stat_cpu_s(line), Some(2.0));
        assert_eq!(stat_cpu_s("42 (x"), None);
    }

    #[test]
    fn a_process_is_read_as_the_kernel_tells_of_it() {
        assert_eq!(stat_cpu_s("42 (a) b (c)) S 1 42 42 0 -1 4194560 100 0 0 0 150 50 9 9 20 0 3 0 100 0 0"), Some(2.0));
        assert_eq!(status_field("VmHWM:\t  300 kB\nVmRSS:\t     123 kB\n", "VmRSS"), Some(123));
    }

    #[test]
    fn a_field_of_a_status_is_found_by_its_whole_name() {
        let status = "VmRSSx:\t1 kB\nVmRSS:\t    5120 kB\nThreads:\t3\n";
        let found = ["VmRSS", "Threads", "VmLck"].map(|name| status_field(status, name));
        assert_eq!(found, [Some(5120), Some(3), None]);
    }
}
