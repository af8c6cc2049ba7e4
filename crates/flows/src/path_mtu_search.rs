//! Which lengths of packets a path carries, as far as probes tell, and which is to be tried next.

use std::collections::BTreeMap;

use linerate_record::net::{NET_PROBE_TRIES, NET_PROBE_TRIES_AT_END, NetProbeSize};

/// The sizes that were tried between two ends.
#[derive(Clone, Debug)]
pub(crate) struct PathSizes {
    least_bytes: u32,
    most_bytes: u32,
    tried: BTreeMap<u32, NetProbeSize>,
}

impl PathSizes {
    pub(crate) fn new(least_bytes: u32, most_bytes: u32) -> PathSizes {
        PathSizes { least_bytes: least_bytes.min(most_bytes), most_bytes, tried: BTreeMap::new() }
    }

    pub(crate) const fn most_bytes(&self) -> u32 {
        self.most_bytes
    }

    /// The count of a size.
    pub(crate) fn entry(&mut self, bytes: u32) -> &mut NetProbeSize {
        self.tried.entry(bytes).or_insert(NetProbeSize { bytes, ..NetProbeSize::default() })
    }

    /// How often a size was tried.
    pub(crate) fn tries(&self, bytes: u32) -> u32 {
        self.tried.get(&bytes).map_or(0, NetProbeSize::tries)
    }

    /// All that were tried, in ascending order.
    pub(crate) fn all(&self) -> Vec<NetProbeSize> {
        self.tried.values().copied().collect()
    }

    /// The size to try next; none where the search has ended. It follows from what came alone, so that one that came
    /// late is as good as one that came in time.
    pub(crate) fn to_try(&self) -> Option<u32> {
        let again = |bytes: u32, most: u32| (self.tries(bytes) < most).then_some(bytes);
        let Some(carried) = self.tried.values().rev().find(|of| of.received > 0).map(|of| of.bytes) else {
            // Most paths carry what the interface does.
            return again(self.most_bytes, NET_PROBE_TRIES).or_else(|| again(self.least_bytes, NET_PROBE_TRIES_AT_END));
        };
        if carried >= self.most_bytes {
            return None;
        }
        match self.tried.range(carried + 1..).map(|(_, of)| of).find(|of| of.is_lost()) {
            None => Some(self.most_bytes),
            Some(lost) if lost.bytes > carried + 1 => Some(carried + (lost.bytes - carried) / 2),
            Some(lost) => again(lost.bytes, NET_PROBE_TRIES_AT_END),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a search finds on a path of this MTU that besides loses probes with these numbers: the largest size that
    /// came, the least beyond it that did not, and how many were sent.
    fn found(most: u32, mtu: u32, is_lost: impl Fn(u32) -> bool) -> (u32, u32, u32) {
        let mut sizes = PathSizes::new(576, most);
        let mut number = 0;
        while let Some(bytes) = sizes.to_try() {
            let entry = sizes.entry(bytes);
            entry.sent += 1;
            entry.received += u32::from(bytes <= mtu && !is_lost(number));
            number += 1;
            assert!(number < 200, "it ends: {sizes:?}");
        }
        let all = sizes.all();
        let carried = all.iter().filter(|of| of.received > 0).map(|of| of.bytes).max().unwrap_or(0);
        let lost = all.iter().filter(|of| of.bytes > carried && of.is_lost()).map(|of| of.bytes).min().unwrap_or(0);
        (carried, lost, number)
    }

    #[test]
    fn a_path_that_carries_all_is_known_by_one_probe() {
        for most in [576, 1_280, 1_500, 9_000, 65_535] {
            assert_eq!(found(most, most, |_| false), (most, 0, 1), "{most}");
        }
    }

    #[test]
    fn the_largest_packet_is_found_to_the_byte_with_few_probes() {
        for most in [1_500, 9_000, 65_535] {
            for mtu in [576, 577, 1_279, 1_400, 1_499, 1_500, 8_999, 30_000, 65_534] {
                if mtu < most {
                    let (carried, lost, sent) = found(most, mtu, |_| false);
                    assert_eq!((carried, lost), (mtu, mtu + 1), "{most}");
                    assert!(sent <= 3 + 1 + 3 * 17 + 3, "{most}, {mtu}: {sent}");
                }
            }
        }
    }

    #[test]
    fn what_is_lost_by_chance_in_the_middle_of_a_search_moves_no_end() {
        for first in 0..40 {
            let (carried, lost, _) = found(9_000, 1_450, |number| (first..first + 3).contains(&number));
            assert_eq!((carried, lost), (1_450, 1_451), "from {first} on");
            let (carried, ..) = found(9_000, 9_000, |number| (first..first + 3).contains(&number));
            assert_eq!(carried, 9_000, "from {first} on");
        }
        // One of two, as a rule.
        let (carried, lost, _) = found(9_000, 1_450, |number| number.is_multiple_of(2));
        assert_eq!((carried, lost), (1_450, 1_451));
    }

    #[test]
    fn where_nothing_comes_the_search_ends_with_the_least() {
        assert_eq!(found(1_500, 0, |_| false), (0, 576, 9));
        assert_eq!(found(300, 0, |_| false), (0, 300, 6), "an interface below the least");
    }

    #[test]
    fn one_that_comes_after_the_search_had_ended_takes_it_up_again() {
        let mut sizes = PathSizes::new(576, 1_500);
        while let Some(bytes) = sizes.to_try() {
            let entry = sizes.entry(bytes);
            entry.sent += 1;
            entry.received += u32::from(bytes <= 1_000);
        }
        sizes.entry(1_500).received += 1;
        assert_eq!((sizes.to_try(), sizes.all().last().unwrap().bytes), (None, 1_500), "all of it");
        let mut sizes = PathSizes::new(576, 1_500);
        (0..3).for_each(|_| sizes.entry(1_500).refused += 1);
        assert_eq!(sizes.to_try(), Some(576), "what the own kernel refuses is as good as lost");
    }
}
