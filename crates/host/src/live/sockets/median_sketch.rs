//! The median of many values in little room: counts of steps that grow with the value.

/// Steps in which a value doubles, all of one width: a median is at most 1/16, 6.3 %, from the true one.
const STEPS: u32 = 8;

/// Counts by step, for steps that have one. Round-trip times of 1 µs to 100 s have 216 steps, and sockets to one
/// address few of them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Medians {
    counts: Vec<(u16, u32)>,
}

impl Medians {
    /// Counts a value; 0 is none.
    pub(super) fn add(&mut self, value: u64) {
        if value == 0 {
            return;
        }
        let step = step(value);
        match self.counts.binary_search_by_key(&step, |(step, _)| *step) {
            Ok(at) => self.counts[at].1 = self.counts[at].1.saturating_add(1),
            Err(at) => self.counts.insert(at, (step, 1)),
        }
    }

    /// The median, as the middle of its step; 0 without values.
    pub(super) fn median(&self) -> u64 {
        let all: u64 = self.counts.iter().map(|(_, count)| u64::from(*count)).sum();
        let mut below = 0;
        let it = self.counts.iter().find(|(_, count)| {
            below += u64::from(*count);
            2 * below >= all
        });
        it.map_or(0, |(step, _)| middle(*step))
    }
}

/// Values below 16 have a step each; above, the highest four bits tell.
fn step(value: u64) -> u16 {
    let shift = (u64::BITS - value.leading_zeros()).saturating_sub(STEPS.ilog2() + 1);
    // At most 8 · 60 + 15.
    u16::try_from(u64::from(STEPS * shift) + (value >> shift)).unwrap_or(u16::MAX)
}

fn middle(step: u16) -> u64 {
    let (steps, step) = (u64::from(STEPS), u64::from(step));
    let shift = (step / steps).saturating_sub(1);
    let first = (step - shift * steps) << shift;
    first + ((1 << shift) - 1) / 2
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_median_of_nothing_is_nothing_and_of_small_values_is_exact() {
        assert_eq!(Medians::default().median(), 0);
        for (values, expected) in [(&[0, 7][..], 7), (&[1, 2, 9], 2), (&[1, 2, 9, 10], 2), (&[u64::MAX], u64::MAX)] {
            let mut medians = Medians::default();
            values.iter().for_each(|value| medians.add(*value));
            let apart = medians.median().abs_diff(expected) as f64;
            assert!(apart <= 0.07 * expected as f64 && (expected > 15 || apart == 0.0), "{values:?}: {medians:?}");
        }
    }

    proptest! {
        #[test]
        fn a_median_is_near_the_true_one(values in proptest::collection::vec(1_u64..1 << 45, 1..50)) {
            let mut medians = Medians::default();
            values.iter().for_each(|value| medians.add(*value));
            let mut sorted = values;
            sorted.sort_unstable();
            let truly = sorted[(sorted.len() - 1) / 2] as f64;
            prop_assert!((medians.median() as f64 - truly).abs() <= 0.0667 * truly, "{} {truly}", medians.median());
        }
    }
}
