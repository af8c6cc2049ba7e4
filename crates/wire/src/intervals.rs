//! Intervals: how a thread counts its own, and how what the threads report of each is put together.

use std::collections::BTreeMap;

use crate::clock::thread_cpu_ns;

/// The interval that a thread is in.
#[derive(Debug)]
pub struct Ticks {
    length_ns: u64,
    number: u64,
    ends_ns: u64,
    /// The thread's processor time when it began.
    cpu_ns: u64,
}

impl Ticks {
    /// The first interval, of the thread that calls.
    #[must_use]
    pub fn new(begin_ns: u64, length_ns: u64) -> Self {
        Ticks { length_ns, number: 0, ends_ns: begin_ns + length_ns, cpu_ns: thread_cpu_ns() }
    }

    /// Its number, from 0.
    #[must_use]
    pub const fn number(&self) -> u64 {
        self.number
    }

    #[must_use]
    pub const fn ends_ns(&self) -> u64 {
        self.ends_ns
    }

    /// Goes on to the next interval; returns the number of the one that ended, and the thread's processor time in it.
    pub fn turn(&mut self) -> (u64, u64) {
        let (number, cpu_ns) = (self.number, thread_cpu_ns());
        let used_ns = cpu_ns - self.cpu_ns;
        (self.number, self.cpu_ns) = (number + 1, cpu_ns);
        self.ends_ns += self.length_ns;
        (number, used_ns)
    }

    /// From now on, no interval ends.
    pub const fn stop(&mut self) {
        self.ends_ns = u64::MAX;
    }
}

/// Reports of intervals that not every thread has reported yet.
#[derive(Debug)]
pub struct IntervalMerge<R> {
    threads: usize,
    waiting: BTreeMap<u64, Vec<R>>,
}

impl<R> IntervalMerge<R> {
    /// Of so many threads.
    #[must_use]
    pub const fn new(threads: usize) -> Self {
        IntervalMerge { threads, waiting: BTreeMap::new() }
    }

    /// Takes what a thread reports of an interval; returns what all do, once the last of them does.
    pub fn take(&mut self, interval: u64, report: R) -> Option<Vec<R>> {
        let of_interval = self.waiting.entry(interval).or_default();
        of_interval.push(report);
        if of_interval.len() < self.threads { None } else { self.waiting.remove(&interval) }
    }

    /// What is left of intervals that some threads never reported, in their order.
    pub fn left(&mut self) -> BTreeMap<u64, Vec<R>> {
        std::mem::take(&mut self.waiting)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interval_is_told_when_its_last_thread_has_reported_it_whatever_the_order() {
        let mut gathering = IntervalMerge::new(2);
        assert_eq!(gathering.take(0, "a0"), None);
        assert_eq!(gathering.take(1, "a1"), None);
        assert_eq!(gathering.take(2, "a2"), None);
        assert_eq!(gathering.take(1, "b1"), Some(vec!["a1", "b1"]));
        assert_eq!(gathering.take(0, "b0"), Some(vec!["a0", "b0"]));
        assert_eq!(gathering.left(), BTreeMap::from([(2, vec!["a2"])]));
        assert_eq!(gathering.left(), BTreeMap::new());
    }

    #[test]
    fn ticks_are_evenly_spaced_however_late_they_are_noticed() {
        let mut ticks = Ticks::new(1_000, 500);
        for number in 0..4 {
            assert_eq!((ticks.number(), ticks.ends_ns()), (number, 1_500 + 500 * number));
            assert_eq!(ticks.turn().0, number);
        }
        ticks.stop();
        assert_eq!(ticks.ends_ns(), u64::MAX);
    }
}
