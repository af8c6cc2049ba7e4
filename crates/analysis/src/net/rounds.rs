//! Which pairs are measured at the same time, and in what order.
//!
//! In a round no machine's port carries two flows the same way, except in an incast, whose purpose that is. Every
//! ordered pair is in exactly one round, so that no link is judged by more flows than another.

use std::collections::{BTreeMap, BTreeSet};

use linerate_record::net::NetWay;
use linerate_record::rng::{SeededRng, shuffle};

/// Streams of a seed: which rounds are drawn, and their order. A seed of a folder repeats its order for ever.
const SAMPLE: u64 = 0x61c8_8646_80b5_83ec;
const ORDER: u64 = 0x61c8_8646_80b5_83ed;

/// One visit that is due: a round with a number of streams, for the first or another time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct NetVisitPlan {
    /// Which round, from 0.
    pub round: u32,
    /// Streams of each pair.
    pub streams: u32,
    /// Which time, from 1.
    pub repetition: u32,
}

/// The pairs of each round, as senders and receivers, by their places among so many machines. None of a bisection, for
/// which racks are needed: those are of [`splits`](super::splits::splits).
#[must_use]
pub fn rounds(nodes: u32, way: NetWay) -> Vec<Vec<(u32, u32)>> {
    if nodes < 2 {
        return Vec::new();
    }
    match way {
        NetWay::Ring => (1..nodes).map(|step| (0..nodes).map(|from| (from, (from + step) % nodes)).collect()).collect(),
        NetWay::OneWay => matchings(nodes).iter().flat_map(|matching| one_way(matching)).collect(),
        NetWay::BothWays => matchings(nodes).iter().map(|matching| both_ways(matching)).collect(),
        NetWay::Incast => {
            let senders = |to| (0..nodes).filter(move |from| *from != to);
            (0..nodes).map(|to| senders(to).map(|from| (from, to)).collect()).collect()
        }
        NetWay::Bisection => Vec::new(),
    }
}

/// Each two machines in exactly one matching, by the circle method: one keeps its place, the others go round, and those
/// that are opposite meet. With an odd number, who would meet the machine that is not there rests.
fn matchings(nodes: u32) -> Vec<Vec<(u32, u32)>> {
    let around = nodes + nodes % 2 - 1;
    let of_turn = |turn: u32| {
        let opposite = (1..=around / 2).map(|step| ((turn + step) % around, (turn + around - step) % around));
        let fixed = (around < nodes).then_some((turn, around));
        fixed.into_iter().chain(opposite).collect()
    };
    (0..around).map(of_turn).collect()
}

/// Half of a matching's machines send, and then the other half. Who begins alternates, so that senders are not always
/// the same machines where few rounds are measured.
fn one_way(matching: &[(u32, u32)]) -> [Vec<(u32, u32)>; 2] {
    let turned = |outlier: usize| {
        matching.iter().enumerate().map(move |(i, &(a, b))| if i % 2 == outlier { (b, a) } else { (a, b) })
    };
    [turned(1).collect(), turned(0).collect()]
}

fn both_ways(matching: &[(u32, u32)]) -> Vec<(u32, u32)> {
    matching.iter().flat_map(|&(a, b)| [(a, b), (b, a)]).collect()
}

/// Rounds of machines of which several may be on one host. In a round each host is in one pair, unless these are the
/// two ways between the same machines: machines of one host share its ports and its processors. Hosts are by machines.
///
/// Rounds are in groups. The first has the pairs of machines on one host, and may be empty. In each of the others,
/// hosts are two by two, and each machine of one meets each machine of the other: hosts of which one class of pairs is
/// measured are measured in every class, so that one can be held against another.
#[must_use]
pub fn rounds_of_hosts(hosts: &[usize], way: NetWay) -> Vec<Vec<Vec<(u32, u32)>>> {
    let are_both = way == NetWay::BothWays;
    let mut pairs_by_hosts: BTreeMap<usize, Vec<u32>> = BTreeMap::new();
    for (machine, host) in (0_u32..).zip(hosts) {
        pairs_by_hosts.entry(*host).or_default().push(machine);
    }
    let machines: Vec<Vec<u32>> = pairs_by_hosts.into_values().collect();
    let own: Vec<Vec<(u32, u32)>> = machines
        .iter()
        .map(|own| product(own, own).into_iter().filter(|(a, b)| if are_both { a < b } else { a != b }).collect())
        .collect();
    let mut groups = vec![side_by_side(&own, are_both)];
    let count = u32::try_from(machines.len()).unwrap_or(u32::MAX);
    let all = if count < 2 { Vec::new() } else { matchings(count) };
    for matching in all {
        let directions = if are_both { vec![matching] } else { Vec::from(one_way(&matching)) };
        let rounds_of = |hosts: &Vec<(u32, u32)>| {
            let between = |&(from, to): &(u32, u32)| product(&machines[from as usize], &machines[to as usize]);
            side_by_side(&hosts.iter().map(between).collect::<Vec<_>>(), are_both)
        };
        let parts: Vec<Vec<Vec<(u32, u32)>>> = directions.iter().map(rounds_of).collect();
        let most = parts.iter().map(Vec::len).max().unwrap_or(0);
        groups.push((0..most).flat_map(|step| parts.iter().filter_map(move |part| part.get(step).cloned())).collect());
    }
    groups
}

fn product(from: &[u32], to: &[u32]) -> Vec<(u32, u32)> {
    from.iter().flat_map(|from| to.iter().map(move |to| (*from, *to))).collect()
}

/// Rounds of one pair of each column. Columns begin at different places, so that a round has pairs of several classes.
fn side_by_side(columns: &[Vec<(u32, u32)>], are_both: bool) -> Vec<Vec<(u32, u32)>> {
    let rounds = columns.iter().map(Vec::len).max().unwrap_or(0);
    let of_round = |step: usize| {
        let going = columns.iter().enumerate().filter(|(_, column)| step < column.len());
        let pairs: Vec<(u32, u32)> = going.map(|(place, column)| column[(step + place) % column.len()]).collect();
        if are_both { both_ways(&pairs) } else { pairs }
    };
    (0..rounds).map(of_round).collect()
}

/// So many rounds of the groups of [`rounds_of_hosts`]: whole groups as far as they go, each as probable as any other,
/// and the first rounds of one more. Pairs on one host, which few rounds have, come after the first group of others.
#[must_use]
pub fn sampled_of_hosts(groups: &[Vec<Vec<(u32, u32)>>], count: usize, seed: u64) -> Vec<Vec<(u32, u32)>> {
    let Some((own, others)) = groups.split_first() else { return Vec::new() };
    let mut order: Vec<&Vec<Vec<(u32, u32)>>> = others.iter().collect();
    shuffle(&mut order, &mut SeededRng::new(seed, SAMPLE));
    order.insert(order.len().min(1), own);
    order.into_iter().flatten().take(count).cloned().collect()
}

/// So many of the rounds, each as probable as any other, in their order: whole ones, so that machines take part alike.
/// Rounds that come in twos, one way and the other, are drawn in twos: else a machine might only send.
#[must_use]
pub fn sampled(rounds: &[Vec<(u32, u32)>], count: usize, seed: u64) -> Vec<Vec<(u32, u32)>> {
    let are_mirrors = |two: &[Vec<(u32, u32)>]| {
        let [one, other] = two else { return false };
        one.len() == other.len() && one.iter().zip(other).all(|(a, b)| *a == (b.1, b.0))
    };
    let together = if rounds.chunks(2).all(are_mirrors) { 2 } else { 1 };
    let mut places: Vec<usize> = (0..rounds.len()).step_by(together).collect();
    shuffle(&mut places, &mut SeededRng::new(seed, SAMPLE));
    let drawn = places.into_iter().flat_map(|first| first..first + together).take(count);
    let drawn: BTreeSet<usize> = drawn.collect();
    drawn.into_iter().filter_map(|place| rounds.get(place).cloned()).collect()
}

/// The order of visits: every round with every number of streams once, in random order, then all of them again. What
/// changes while a run goes on meets all alike.
#[must_use]
pub fn turns(rounds: usize, streams: &[u32], visits: u32, seed: u64) -> Vec<NetVisitPlan> {
    let rounds = u32::try_from(rounds).unwrap_or(u32::MAX);
    let mut rng = SeededRng::new(seed, ORDER);
    let mut all = Vec::new();
    for repetition in 1..=visits {
        let of_round = |round| streams.iter().map(move |&streams| NetVisitPlan { round, streams, repetition });
        let mut each: Vec<NetVisitPlan> = (0..rounds).flat_map(of_round).collect();
        shuffle(&mut each, &mut rng);
        all.append(&mut each);
    }
    all
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const WAYS: [NetWay; 4] = [NetWay::Ring, NetWay::OneWay, NetWay::BothWays, NetWay::Incast];

    fn times(machine: u32, round: &[(u32, u32)]) -> (usize, usize) {
        let sends = round.iter().filter(|(from, _)| *from == machine).count();
        (sends, round.iter().filter(|(_, to)| *to == machine).count())
    }

    /// Whether every machine takes part in a round as its way says.
    fn covers_all(way: NetWay, nodes: u32, round: &[(u32, u32)]) -> bool {
        let is_outlier = nodes % 2 == 1;
        let rests = (0..nodes).filter(|machine| times(*machine, round) == (0, 0)).count();
        let is_fair = |machine: u32| match (way, times(machine, round)) {
            (NetWay::Ring, times) => times == (1, 1),
            (NetWay::OneWay, times) => matches!(times, (0, 0) | (1, 0) | (0, 1)),
            (NetWay::BothWays, times) => matches!(times, (0, 0) | (1, 1)),
            (NetWay::Incast, times) => times == (1, 0) || times == (0, nodes as usize - 1),
            (NetWay::Bisection, _) => false,
        };
        let is_meeting = |&(from, to): &(u32, u32)| way != NetWay::BothWays || round.contains(&(to, from));
        let is_matching = matches!(way, NetWay::OneWay | NetWay::BothWays);
        (0..nodes).all(is_fair) && round.iter().all(is_meeting) && rests == usize::from(is_outlier && is_matching)
    }

    /// Each ordered pair of hosts with the pairs of their machines.
    fn by_hosts(rounds: &[Vec<(u32, u32)>], hosts: &[usize]) -> BTreeMap<(usize, usize), BTreeSet<(u32, u32)>> {
        let mut pairs_by_hosts: BTreeMap<(usize, usize), BTreeSet<(u32, u32)>> = BTreeMap::new();
        for &(from, to) in rounds.iter().flatten() {
            assert!(pairs_by_hosts.entry((hosts[from as usize], hosts[to as usize])).or_default().insert((from, to)));
        }
        pairs_by_hosts
    }

    #[test]
    fn rounds_of_machines_that_share_hosts_have_each_host_in_one_pair() {
        // Three on each of three hosts, two on a fourth, one on a fifth.
        let hosts = [0, 1, 2, 0, 1, 2, 0, 1, 2, 3, 3, 4];
        for way in [NetWay::OneWay, NetWay::BothWays] {
            let groups = rounds_of_hosts(&hosts, way);
            let all: Vec<Vec<(u32, u32)>> = groups.iter().flatten().cloned().collect();
            let each = by_hosts(&all, &hosts);
            assert_eq!(each.values().map(BTreeSet::len).sum::<usize>(), 12 * 11, "{way:?}: each pair once");
            for round in &all {
                let mut used: Vec<usize> = Vec::new();
                for &(from, to) in round.iter().filter(|(from, to)| from < to || !round.contains(&(*to, *from))) {
                    let own = BTreeSet::from([hosts[from as usize], hosts[to as usize]]);
                    assert!(own.iter().all(|host| !used.contains(host)), "{way:?}: {round:?}");
                    used.extend(own);
                }
                let is_met = |&(from, to): &(u32, u32)| round.contains(&(to, from));
                assert!(round.iter().all(|pair| is_met(pair) == (way == NetWay::BothWays)), "{way:?}: {round:?}");
            }
            assert!(by_hosts(&groups[0], &hosts).keys().all(|(from, to)| from == to));
            // Five hosts meet in five matchings, each of all pairs between its hosts.
            assert_eq!(groups.len(), 1 + 5, "{way:?}");
            for group in &groups[1..] {
                assert!(by_hosts(group, &hosts).iter().all(|(hosts, pairs)| *pairs == each[hosts]), "{way:?}");
            }
        }
        // Where each has a host of its own, rounds are those of machines.
        let groups = rounds_of_hosts(&[0, 1, 2, 3, 4, 5], NetWay::OneWay);
        assert_eq!(groups.concat(), rounds(6, NetWay::OneWay));
        assert_eq!(rounds_of_hosts(&[7, 7], NetWay::OneWay).concat(), [[(0, 1)], [(1, 0)]]);
        assert!(rounds_of_hosts(&[], NetWay::OneWay).concat().is_empty());
    }

    #[test]
    fn a_sample_of_hosts_has_every_class_of_the_hosts_that_it_has() {
        // Two pods and an agent of the host on each of 56.
        let hosts: Vec<usize> = (0..168).map(|machine| machine / 3).collect();
        let groups = rounds_of_hosts(&hosts, NetWay::OneWay);
        assert_eq!(groups.iter().map(Vec::len).sum::<usize>(), 6 + 55 * 18);
        for seed in 0..4 {
            let some = sampled_of_hosts(&groups, 64, seed);
            assert_eq!((some.len(), &some), (64, &sampled_of_hosts(&groups, 64, seed)));
            let each = by_hosts(&some, &hosts);
            // Three whole matchings of 28, both ways; and all that is on one host.
            let whole = each.iter().filter(|((from, to), pairs)| from != to && pairs.len() == 9).count();
            assert_eq!(whole, 3 * 56);
            assert_eq!(each.iter().filter(|((from, to), pairs)| from == to && pairs.len() == 6).count(), 56);
        }
        assert_eq!(sampled_of_hosts(&groups, usize::MAX, 1).len(), 6 + 55 * 18);
        // Few rounds are those of links.
        assert!(sampled_of_hosts(&groups, 2, 1).iter().flatten().all(|(a, b)| a / 3 != b / 3));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(60))]

        #[test]
        fn every_ordered_pair_is_in_one_round_and_no_port_in_two_pairs_of_one(nodes in 2u32..=200, at in 0usize..4) {
            let way = WAYS[at];
            let all = rounds(nodes, way);
            prop_assert_eq!(all.len(), way.rounds(nodes) as usize, "{:?}", way);
            let mut pairs: Vec<(u32, u32)> = all.iter().flatten().copied().collect();
            prop_assert!(pairs.iter().all(|(from, to)| from != to && *from < nodes && *to < nodes));
            pairs.sort_unstable();
            pairs.dedup();
            prop_assert_eq!(pairs.len(), (nodes * (nodes - 1)) as usize, "{:?}", way);
            prop_assert_eq!(all.iter().map(Vec::len).sum::<usize>(), pairs.len(), "{:?}", way);
            let around = nodes + nodes % 2 - 1;
            let expected = match way {
                NetWay::Ring => nodes - 1,
                NetWay::OneWay => 2 * around,
                NetWay::BothWays => around,
                NetWay::Incast => nodes,
                NetWay::Bisection => 0,
            };
            prop_assert_eq!(all.len(), expected as usize, "{:?}", way);
            // A round costs the square of its machines to check: some of them tell.
            let step = 1 + all.len() / 8;
            prop_assert!(all.iter().step_by(step).all(|round| covers_all(way, nodes, round)), "{:?}", way);
        }

        #[test]
        fn a_sample_is_of_whole_rounds_and_lets_machines_take_part_alike(
            nodes in 2u32..=60, at in 0usize..4, count in 0usize..20, seed: u64,
        ) {
            let all = rounds(nodes, WAYS[at]);
            let some = sampled(&all, count, seed);
            prop_assert_eq!(some.len(), count.min(all.len()));
            prop_assert!(some.iter().all(|round| all.contains(round)));
            prop_assert_eq!(&some, &sampled(&all, count, seed));
            if WAYS[at] == NetWay::OneWay && count % 2 == 0 && nodes % 2 == 0 {
                let sends = |machine| some.iter().map(|round| times(machine, round).0).sum::<usize>();
                prop_assert!((0..nodes).all(|machine| sends(machine) * 2 == some.len()));
            }
        }

        #[test]
        fn turns_are_every_round_with_every_number_of_streams_and_each_repetition_is_whole(
            rounds in 0usize..30, visits in 0u32..4, seed: u64,
        ) {
            let all = turns(rounds, &[1, 4, 16], visits, seed);
            prop_assert_eq!(all.len(), rounds * 3 * visits as usize);
            prop_assert!(all.is_sorted_by_key(|turn| turn.repetition));
            for repetition in 1..=visits {
                let visits = all.iter().filter(|turn| turn.repetition == repetition);
                let mut visits: Vec<NetVisitPlan> = visits.copied().collect();
                visits.sort_unstable();
                visits.dedup();
                prop_assert_eq!(visits.len(), rounds * 3);
            }
            prop_assert_eq!(&all, &turns(rounds, &[1, 4, 16], visits, seed));
        }
    }

    #[test]
    fn one_machine_has_no_pairs() {
        for way in WAYS {
            assert!(rounds(0, way).is_empty() && rounds(1, way).is_empty(), "{way:?}");
        }
    }

    #[test]
    fn small_fleets_go_round_as_one_would_write_it_down() {
        assert_eq!(rounds(3, NetWay::Ring), [[(0, 1), (1, 2), (2, 0)], [(0, 2), (1, 0), (2, 1)]]);
        assert_eq!(rounds(2, NetWay::OneWay), [[(0, 1)], [(1, 0)]]);
        assert_eq!(rounds(2, NetWay::BothWays), [[(0, 1), (1, 0)]]);
        assert_eq!(rounds(3, NetWay::Incast), [[(1, 0), (2, 0)], [(0, 1), (2, 1)], [(0, 2), (1, 2)]]);
    }

    #[test]
    fn each_round_is_drawn_as_often_as_any_other_and_orders_differ() {
        let all = rounds(9, NetWay::Ring);
        let mut hits = [0_u32; 8];
        for seed in 0..8_000 {
            sampled(&all, 2, seed).iter().for_each(|round| hits[round[0].1 as usize - 1] += 1);
        }
        assert!(hits.iter().all(|hits| hits.abs_diff(2_000) < 200), "{hits:?}");
        let firsts: BTreeSet<u32> = (0..100).map(|seed| turns(8, &[1], 1, seed)[0].round).collect();
        assert_eq!(firsts.len(), 8);
    }
}
