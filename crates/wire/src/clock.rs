//! One clock for a run: nanoseconds since it began, and what that is in Unix time. Beside it, processor time.

use std::time::{Instant, SystemTime, UNIX_EPOCH};

use linerate_record::units::whole_ns;
use rustix::time::{ClockId, clock_gettime};

/// Nanoseconds since a run began. Monotonic.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    base: Instant,
}

impl Clock {
    /// A clock that begins now.
    #[must_use]
    pub fn start() -> Self {
        Clock { base: Instant::now() }
    }

    /// Nanoseconds since the clock began.
    #[must_use]
    pub fn now_ns(&self) -> u64 {
        whole_ns(self.base.elapsed())
    }
}

/// Unix time of the clock's begin, in nanoseconds, by what the system's clock says now.
#[must_use]
pub fn unix_base_ns(clock: &Clock) -> u64 {
    let unix_ns = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |d| d.as_nanos());
    u64::try_from(unix_ns).unwrap_or(0).saturating_sub(clock.now_ns())
}

/// Unix time in seconds, by the system's clock at its last tick, a few milliseconds ago (`CLOCK_REALTIME_COARSE`). It
/// costs a few nanoseconds, so that each request can be signed by what the clock says then, stepped or not.
#[must_use]
pub fn unix_s() -> u64 {
    u64::try_from(clock_gettime(ClockId::RealtimeCoarse).tv_sec).unwrap_or(0)
}

/// Processor time that this process has used since it began, in nanoseconds.
#[must_use]
pub fn own_cpu_ns() -> u64 {
    cpu_ns(ClockId::ProcessCPUTime)
}

/// Processor time that this thread has used since it began, in nanoseconds.
#[must_use]
pub fn thread_cpu_ns() -> u64 {
    cpu_ns(ClockId::ThreadCPUTime)
}

fn cpu_ns(clock: ClockId) -> u64 {
    let time = clock_gettime(clock);
    u64::try_from(time.tv_sec).unwrap_or(0) * 1_000_000_000 + u64::try_from(time.tv_nsec).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sys::process_cpu_ns;

    #[test]
    fn the_second_is_that_of_the_systems_clock() {
        let before = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs();
        let now = unix_s();
        let after = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs();
        // The last tick may have been in the second before.
        assert!((before - 1..=after).contains(&now), "{now}");
    }

    #[test]
    fn a_threads_processor_time_is_a_part_of_its_process() {
        let worked = std::thread::spawn(|| {
            while thread_cpu_ns() < 5_000_000 {
                std::hint::spin_loop();
            }
            thread_cpu_ns()
        });
        let of_thread = worked.join().unwrap();
        let own = own_cpu_ns();
        assert!(of_thread >= 5_000_000 && of_thread <= own, "{of_thread} of {own}");
        assert!(process_cpu_ns(std::process::id()).unwrap() >= own);
    }
}
