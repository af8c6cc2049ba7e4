//! What something costs, whatever else the machine does.

use std::time::Duration;

/// What this thread has had of processors.
fn processor_time() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    Duration::try_from(time).expect("a time since the thread began")
}

/// The least processor time of so many calls.
pub(crate) fn least_time<T>(times: u64, mut work: impl FnMut(u64) -> T) -> Duration {
    let once = |nth| {
        let began = processor_time();
        std::hint::black_box(work(nth));
        processor_time() - began
    };
    (0..times).map(once).min().expect("once at least")
}
