//! Which streams of a visit left by another member than predicted: halves of them are sent again, from the same ports,
//! and halves of those of which some stray, until each is alone.

use std::collections::BTreeMap;
use std::ops::Range;
use std::slice::from_ref;

use linerate_record::net::{NET_HALVED_ROUNDS_MAX, NetHalved, NetPredictedMembers, NetRun, NetStray, NetVisit};

use super::{members, pairs};

/// Streams of a pair that strayed in a visit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StrayedStreams {
    /// How many, as bytes tell.
    pub streams: u32,
    /// The member that carried the most of what it should not.
    pub by: String,
}

/// Streams of a pair that strayed in a visit in which all were to leave by one member; absent where that cannot be
/// judged.
#[must_use]
pub fn strayed(run: &NetRun, visit: &NetVisit, pair: (u32, u32)) -> Option<StrayedStreams> {
    all_strayed(run, visit).remove(&pair)
}

/// The same of each pair of a visit.
#[must_use]
pub fn all_strayed(run: &NetRun, visit: &NetVisit) -> BTreeMap<(u32, u32), StrayedStreams> {
    let seen = pairs::seen(run, from_ref(visit));
    let of_this = seen.pairs.iter().filter(|((_, _, streams), _)| *streams == visit.streams);
    let strayed = |(&(from, to, _), of): (&(u32, u32, u32), &pairs::PairSamples<'_>)| {
        let (streams, by) = members::strayed_in(&seen, of)?;
        Some(((from, to), StrayedStreams { streams, by: by.to_owned() }))
    };
    of_this.filter_map(strayed).collect()
}

/// Streams some of which stray, and what is known of their halves.
#[derive(Clone, Debug)]
struct SplitStreams {
    whole: Range<u32>,
    /// Those that were not sent alone yet, the next one last.
    halves: Vec<Range<u32>>,
    /// Whether any of one did stray.
    has_found: bool,
}

/// How far the streams of a visit are parted.
#[derive(Clone, Debug)]
pub struct StraySearch {
    /// From all of them to the fewest.
    parted: Vec<SplitStreams>,
    rounds: u32,
    /// How many strayed when all were sent.
    strayed: u32,
    /// Streams that strayed alone, and by which member.
    alone: Vec<(u32, String)>,
    unparted: Vec<Range<u32>>,
}

impl StraySearch {
    /// Of so many streams, some of which strayed.
    #[must_use]
    pub fn new(streams: u32, first: &StrayedStreams) -> StraySearch {
        let strayed = first.streams;
        let mut halving =
            StraySearch { parted: Vec::new(), rounds: 0, strayed, alone: Vec::new(), unparted: Vec::new() };
        halving.parts(0..streams, &first.by);
        halving
    }

    /// Streams of which some stray: a single one is known, others are halved.
    fn parts(&mut self, whole: Range<u32>, by: &str) {
        if whole.end - whole.start < 2 {
            self.alone.push((whole.start, by.to_owned()));
            return;
        }
        let middle = whole.start + (whole.end - whole.start) / 2;
        let halves = vec![middle..whole.end, whole.start..middle];
        self.parted.push(SplitStreams { whole, halves, has_found: false });
    }

    /// The places of the streams that are to be sent next; none once all is known, or after too many rounds.
    #[must_use]
    pub fn wants(&self) -> Option<Range<u32>> {
        let is_on = self.rounds < NET_HALVED_ROUNDS_MAX;
        self.parted.last().filter(|_| is_on).and_then(|parted| parted.halves.last().cloned())
    }

    /// Takes what became of these; nothing where that cannot be judged.
    pub fn take(&mut self, strayed: Option<&StrayedStreams>) {
        let Some(parted) = self.parted.last_mut() else { return };
        let Some(half) = parted.halves.pop() else { return };
        self.rounds += 1;
        if let Some(strayed) = strayed.filter(|strayed| strayed.streams > 0) {
            parted.has_found = true;
            self.parts(half, &strayed.by);
        }
        while let Some(parted) = self.parted.pop_if(|parted| parted.halves.is_empty()) {
            self.unparted.extend((!parted.has_found).then_some(parted.whole));
        }
    }

    /// What was found, of streams of which this was known.
    #[must_use]
    pub fn found(self, aim: &NetPredictedMembers) -> NetHalved {
        let stray = |(stream, carried): (u32, String)| {
            let place = stream as usize;
            let predicted = aim.members.get(*aim.streams.get(place)? as usize)?.clone();
            Some(NetStray { stream, port: *aim.ports.get(place)?, predicted, carried })
        };
        // Those that were halved when there was no more time, and, if others strayed than are named, the halves that
        // had no turn: the others may be among them.
        let are_all_named = self.alone.len() >= self.strayed as usize;
        let left = |parted: SplitStreams| match parted {
            SplitStreams { whole, has_found: false, .. } => vec![whole],
            _ if are_all_named => Vec::new(),
            SplitStreams { halves, .. } => halves,
        };
        let begun = self.parted.into_iter().flat_map(left);
        let unparted = self.unparted.into_iter().chain(begun).map(|whole| [whole.start, whole.end - 1]).collect();
        NetHalved { rounds: self.rounds, strays: self.alone.into_iter().filter_map(stray).collect(), unparted }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn aim(streams: u32) -> NetPredictedMembers {
        NetPredictedMembers {
            members: vec!["a0".to_owned(), "a1".to_owned()],
            streams: vec![0; streams as usize],
            ports: (0..streams).map(|stream| 40_000 + stream as u16).collect(),
            ..NetPredictedMembers::default()
        }
    }

    /// So many that left by the second member.
    fn by_other(streams: usize) -> StrayedStreams {
        StrayedStreams { streams: streams as u32, by: "a1".to_owned() }
    }

    /// Halves streams of a bond by whose second member these leave, wherever they should, in so many rounds at the
    /// most.
    fn halved_in(streams: u32, strays: &[u32], rounds: u32) -> NetHalved {
        let mut halving = StraySearch::new(streams, &by_other(strays.len()));
        for _ in 0..rounds {
            let Some(requested) = halving.wants() else { break };
            halving.take(Some(&by_other(strays.iter().filter(|stray| requested.contains(stray)).count())));
        }
        halving.found(&aim(streams))
    }

    fn halved(streams: u32, strays: &[u32]) -> NetHalved {
        halved_in(streams, strays, u32::MAX)
    }

    #[test]
    fn each_stray_is_named_with_its_port_and_its_members() {
        for (streams, strays, rounds) in [
            (1, &[0][..], 0),
            (2, &[1], 2),
            (8, &[0], 6),
            (8, &[7], 6),
            (7, &[3], 6),
            (8, &[2, 5], 10),
            (256, &[100], 16),
        ] {
            let found = halved(streams, strays);
            let named: Vec<u32> = found.strays.iter().map(|stray| stray.stream).collect();
            assert_eq!((named.as_slice(), found.unparted.len()), (strays, 0), "{streams}: {found:?}");
            assert!(found.rounds <= rounds, "{streams} {strays:?}: {} rounds", found.rounds);
            assert_eq!(found.check(streams), Ok(()));
            let first = &found.strays[0];
            assert_eq!(u32::from(first.port), 40_000 + first.stream);
            assert_eq!((first.predicted.as_str(), first.carried.as_str()), ("a0", "a1"));
        }
    }

    #[test]
    fn rounds_are_bounded_and_what_is_left_is_said() {
        let all: Vec<u32> = (0..256).collect();
        let found = halved(256, &all);
        assert_eq!((found.rounds, found.check(256)), (NET_HALVED_ROUNDS_MAX, Ok(())));
        assert!(!found.strays.is_empty() && found.strays.len() < 20, "{found:?}");
        let left: u32 = found.unparted.iter().map(|[first, last]| last - first + 1).sum();
        assert_eq!(left as usize + found.strays.len(), 256, "{found:?}");
    }

    #[test]
    fn halves_that_had_no_turn_are_told_where_somebody_else_strayed() {
        // 0 to 3, 0 and 1, and 0 are sent: the only one that strayed is known.
        let found = halved_in(8, &[0], 3);
        assert!(found.strays.len() == 1 && found.unparted.is_empty(), "{found:?}");
        let found = halved_in(8, &[0, 5], 3);
        assert_eq!((found.strays.len(), found.unparted.as_slice()), (1, &[[4, 7], [2, 3], [1, 1]][..]));
        assert_eq!(found.check(8), Ok(()));
        let found = halved_in(8, &[0, 5], 0);
        assert_eq!((found.strays.len(), found.unparted.as_slice()), (0, &[[0, 7]][..]));
    }

    #[test]
    fn what_strays_only_with_others_or_cannot_be_judged_is_not_named() {
        let mut halving = StraySearch::new(8, &by_other(1));
        while let Some(requested) = halving.wants() {
            // Of all eight one strays, of four too, and of two none any more.
            let strayed =
                StrayedStreams { streams: u32::from(requested.end - requested.start > 2), by: "a1".to_owned() };
            halving.take(Some(&strayed));
        }
        let found = halving.found(&aim(8));
        assert_eq!((found.strays.len(), found.unparted.as_slice()), (0, &[[0, 3], [4, 7]][..]));
        let mut halving = StraySearch::new(4, &by_other(1));
        while halving.wants().is_some() {
            halving.take(None);
        }
        assert_eq!(halving.found(&aim(4)).unparted, [[0, 3]]);
    }
}
