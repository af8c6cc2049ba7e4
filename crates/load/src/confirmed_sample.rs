//! A few of the objects that a target confirmed, each as likely as any other, however many there are.
//!
//! Every object has a random number of its own, and those with the smallest are kept: samples of several threads make
//! one of all of them.

use std::collections::BinaryHeap;

use linerate_record::rng::nth_bits;

/// Objects of a sample at most. If one in five objects is lost, fewer than one sample in a million has none of them; if
/// one in fifty is, 27 of 100.
pub const SAMPLE_MAX: usize = 64;

/// Objects of one set, by their numbers.
#[derive(Clone, Debug)]
pub(crate) struct ConfirmedSample {
    seed: u64,
    /// Random number and number, of the smallest.
    kept: BinaryHeap<(u64, u64)>,
}

impl ConfirmedSample {
    pub(crate) fn new(seed: u64) -> Self {
        ConfirmedSample { seed, kept: BinaryHeap::with_capacity(SAMPLE_MAX + 1) }
    }

    /// Adds an object that the target confirmed.
    pub(crate) fn add(&mut self, seq: u64) {
        self.keep((nth_bits(self.seed, seq), seq));
    }

    fn keep(&mut self, drawn: (u64, u64)) {
        if self.kept.len() < SAMPLE_MAX || self.kept.peek().is_some_and(|largest| drawn < *largest) {
            self.kept.push(drawn);
            if self.kept.len() > SAMPLE_MAX {
                self.kept.pop();
            }
        }
    }

    /// The numbers of a sample of all, in rising order.
    pub(crate) fn together<'a>(parts: impl Iterator<Item = &'a ConfirmedSample>) -> Vec<u64> {
        let mut all = ConfirmedSample::new(0);
        parts.flat_map(|part| &part.kept).for_each(|drawn| all.keep(*drawn));
        let mut numbers: Vec<u64> = all.kept.into_iter().map(|(_, seq)| seq).collect();
        numbers.sort_unstable();
        numbers
    }
}

/// The same of a set of which every object below `until` was confirmed: one from each part of it.
#[must_use]
pub fn sample_below(seed: u64, until: u64) -> Vec<u64> {
    let parts = until.min(SAMPLE_MAX as u64);
    let start = |part: u64| u64::try_from(u128::from(until) * u128::from(part) / u128::from(parts)).unwrap_or(until);
    (0..parts).map(|part| start(part) + nth_bits(seed, part) % (start(part + 1) - start(part))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_of_threads_are_one_of_all_that_they_confirmed() {
        let sample = |threads: u64, confirmed: &dyn Fn(&u64) -> bool| {
            let of_thread = |thread: u64| {
                let mut sample = ConfirmedSample::new(7);
                (0..10_000).filter(|seq| seq % threads == thread).filter(confirmed).for_each(|seq| sample.add(seq));
                sample
            };
            let parts: Vec<ConfirmedSample> = (0..threads).map(of_thread).collect();
            ConfirmedSample::together(parts.iter())
        };
        assert_eq!(sample(1, &|_| true), sample(3, &|_| true));
        assert_eq!(sample(2, &|seq| *seq < 5), [0, 1, 2, 3, 4]);
        let odd = sample(2, &|seq| seq % 2 == 1);
        assert!(odd.len() == SAMPLE_MAX && odd.iter().all(|seq| seq % 2 == 1), "{odd:?}");
        for quarter in 0..4 {
            let inside = odd.iter().filter(|seq| **seq / 2_500 == quarter).count();
            assert!((6..=28).contains(&inside), "{inside} in quarter {quarter}");
        }
    }

    #[test]
    fn a_sample_of_a_whole_set_has_one_of_each_part() {
        for (until, expected) in [(0, 0), (1, 1), (63, 63), (64, 64), (65, 64), (1 << 40, 64), (u64::MAX, 64)] {
            let sample = sample_below(3, until);
            assert!(sample.len() == expected && sample.windows(2).all(|pair| pair[0] < pair[1]), "{until}: {sample:?}");
            assert!(sample.iter().all(|seq| *seq < until), "{until}: {sample:?}");
        }
    }
}
