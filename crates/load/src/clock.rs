//! One clock for a run: nanoseconds since it began, and what that is in Unix time.

use std::time::{Instant, SystemTime, UNIX_EPOCH};

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
        u64::try_from(self.base.elapsed().as_nanos()).unwrap_or(u64::MAX)
    }
}

/// Unix time of the clock's begin, in nanoseconds: read anew once an interval, so that a stepped system clock spoils
/// signatures for no longer.
pub(crate) fn unix_base_ns(clock: &Clock) -> u64 {
    let unix_ns = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |d| d.as_nanos());
    u64::try_from(unix_ns).unwrap_or(0).saturating_sub(clock.now_ns())
}
