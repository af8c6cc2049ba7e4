//! Names of flows that were taken: each is good for one flow, so that who listened to a flow cannot repeat its begin.

use std::collections::{BTreeMap, BTreeSet};

use linerate_record::net::NET_NODES_MAX;

use crate::flow_handshake::{FlowName, ONCE};

/// Numbers of one sender that are kept beside those below which all are taken. A sender counts its flows, so that there
/// are as many as it makes at the same time, and those that failed.
const KEPT_MAX: usize = 1 << 16;

/// Senders that are kept: of flows that stay and of those that do not.
const SENDERS_MAX: usize = 2 * NET_NODES_MAX;

#[derive(Debug, Default)]
pub(crate) struct UsedNames {
    /// The newest point of which a flow was taken: none of an older one is.
    newest: u32,
    /// Of it, by sender and whether flows are closed at once.
    of: BTreeMap<(u32, bool), Taken>,
}

#[derive(Debug, Default)]
struct Taken {
    /// All numbers below it are taken, or count as that.
    below: u32,
    above: BTreeSet<u32>,
}

impl UsedNames {
    /// Takes a name; whether it was free.
    pub(crate) fn take(&mut self, name: FlowName) -> bool {
        if name.point > self.newest {
            self.newest = name.point;
            self.of.clear();
        }
        let key = (name.from, name.is_once());
        let has_room = self.of.len() < SENDERS_MAX || self.of.contains_key(&key);
        name.point == self.newest && has_room && self.of.entry(key).or_default().take(name.flow & !ONCE)
    }
}

impl Taken {
    fn take(&mut self, number: u32) -> bool {
        if number < self.below || !self.above.insert(number) {
            return false;
        }
        if self.above.len() > KEPT_MAX {
            self.below = self.above.first().copied().unwrap_or(self.below);
        }
        while self.above.first() == Some(&self.below) {
            self.above.pop_first();
            self.below += 1;
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn name(point: u32, flow: u32) -> FlowName {
        FlowName { point, from: 7, to: 1, flow }
    }

    #[test]
    fn a_name_is_taken_once_and_those_of_points_that_are_over_not_at_all() {
        let mut names = UsedNames::default();
        for flow in [0, 2, 1, ONCE, ONCE | 5] {
            assert!(names.take(name(1, flow)) && !names.take(name(1, flow)), "{flow}");
        }
        assert!(names.take(FlowName { from: 8, ..name(1, 0) }), "another's");
        assert!(names.take(name(3, 0)));
        assert!(!names.take(name(1, 9)) && !names.take(name(2, 0)), "of points that are over");
        assert_eq!(names.of.len(), 1, "{names:?}");
    }

    #[test]
    fn millions_of_names_take_little_room_and_stay_taken() {
        let mut names = UsedNames::default();
        // One of them never came, and others come in the order of their twos.
        for number in (2..1_000_000).map(|number| number ^ 1).filter(|number| *number != 77) {
            assert!(names.take(name(1, ONCE | number)), "{number}");
        }
        let kept: usize = names.of.values().map(|taken| taken.above.len()).sum();
        assert!(kept <= KEPT_MAX, "{kept}");
        for number in [2, 77, 500_000, 999_999] {
            assert!(!names.take(name(1, ONCE | number)), "{number}");
        }
    }
}
