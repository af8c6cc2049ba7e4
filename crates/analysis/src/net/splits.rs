//! Rounds of a bisection: half of the racks against the other half, and machines within their racks.
//!
//! In a round *across*, racks are in two halves. Each machine of one half sends to a machine of the other and receives
//! from one of it, all at the same time. In the round *within* that belongs to it, each machine sends to another one of
//! its own rack and receives from one. So both ask the same of machines' own ports, and only the first one asks
//! anything of what is between racks.

use std::collections::{BTreeMap, BTreeSet};

use linerate_record::rng::{SeededRng, shuffle};

/// The stream of a seed by which halves are drawn.
const HALVES: u64 = 0x61c8_8646_80b5_83ee;

/// So many halves are not counted further: twice as many rounds fit a count of a run.
const HALVES_COUNTED: usize = (u32::MAX / 2) as usize;

/// Up to so many racks, all halves are written down: 2,047 ways to part them. Of more, some are drawn.
const RACKS_LISTED: usize = 12;

/// The rounds of a bisection.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NetSplits {
    /// A round across and the one within that belongs to it, in turn.
    pub rounds: Vec<Vec<(u32, u32)>>,
    /// As many rounds as there would be with all halves.
    pub all_rounds: usize,
}

/// Rounds of machines of which the racks are known, up to so many, at least two: those of all halves if that suffices,
/// else of some that are drawn. None with fewer than two racks.
#[must_use]
pub fn splits(racks: &[usize], most_rounds: usize, seed: u64) -> NetSplits {
    let mut nodes_by_rack: BTreeMap<usize, Vec<u32>> = BTreeMap::new();
    for (machine, rack) in (0_u32..).zip(racks) {
        nodes_by_rack.entry(*rack).or_default().push(machine);
    }
    let machines: Vec<Vec<u32>> = nodes_by_rack.into_values().collect();
    if machines.len() < 2 {
        return NetSplits::default();
    }
    let sizes: Vec<usize> = machines.iter().map(Vec::len).collect();
    let (halves, all) = halves(&sizes, most_rounds.div_ceil(2).max(1), seed);
    let both = |(turn, half): (usize, &Vec<bool>)| [across(&machines, half, turn), within(&machines, turn)];
    // Where each machine is alone in its rack, there is nothing within.
    let rounds = halves.iter().enumerate().flat_map(both).filter(|round| !round.is_empty()).collect();
    NetSplits { rounds, all_rounds: all.saturating_mul(2) }
}

/// Which racks are in the first half, so many times, and how many times there are. The first rack always is: a half and
/// what it leaves are one split.
fn halves(sizes: &[usize], most: usize, seed: u64) -> (Vec<Vec<bool>>, usize) {
    let mut rng = SeededRng::new(seed, HALVES);
    if sizes.len() > RACKS_LISTED {
        return (drawn(sizes, most, &mut rng), of_so_many(sizes.len()));
    }
    let mut all = even(sizes);
    let count = all.len();
    if count > most {
        shuffle(&mut all, &mut rng);
        all.truncate(most);
    }
    (all, count)
}

/// All halves that are as even as they can be, or by less than the smallest rack: as many machines as can have a
/// partner, and those that have none are of one rack.
fn even(sizes: &[usize]) -> Vec<Vec<bool>> {
    let total: usize = sizes.iter().sum();
    let is_first = |parts: usize, rack: usize| rack == 0 || (parts >> (rack - 1)) & 1 == 1;
    let half = |parts: usize| (0..sizes.len()).map(|rack| is_first(parts, rack)).collect::<Vec<bool>>();
    let differs = |half: &Vec<bool>| {
        let first: usize = sizes.iter().zip(half).filter(|(_, is_first)| **is_first).map(|(size, _)| size).sum();
        (2 * first).abs_diff(total)
    };
    let all = (0..1_usize << (sizes.len() - 1)).map(half).map(|half| (differs(&half), half));
    // Of all in one half, nobody has a partner.
    let all: Vec<(usize, Vec<bool>)> = all.filter(|(differs, _)| *differs < total).collect();
    let least = all.iter().map(|(differs, _)| *differs).min().unwrap_or(0);
    let most = least.max(sizes.iter().copied().min().unwrap_or(0));
    all.into_iter().filter(|(differs, _)| *differs <= most).map(|(_, half)| half).collect()
}

/// So many halves at random, each once: racks in random order, each to the half that has fewer machines by then.
fn drawn(sizes: &[usize], most: usize, rng: &mut SeededRng) -> Vec<Vec<bool>> {
    let mut one = || {
        let mut order: Vec<usize> = (0..sizes.len()).collect();
        shuffle(&mut order, rng);
        let (mut half, mut machines) = (vec![false; sizes.len()], [0_usize; 2]);
        for rack in order {
            let is_first = machines[0] <= machines[1];
            half[rack] = is_first;
            machines[usize::from(!is_first)] += sizes[rack];
        }
        let is_turned = !half[0];
        half.iter().map(|is_first| is_first ^ is_turned).collect::<Vec<bool>>()
    };
    let (mut known, mut all) = (BTreeSet::new(), Vec::new());
    // One that came before is drawn again, but not for ever.
    for _ in 0..most.saturating_mul(4) {
        if all.len() == most {
            break;
        }
        let half = one();
        if known.insert(half.clone()) {
            all.push(half);
        }
    }
    all
}

/// How many halves of so many racks there are with as many racks in each, or one more in one; at the most
/// [`HALVES_COUNTED`].
fn of_so_many(racks: usize) -> usize {
    let half = racks / 2;
    // C(n, k) of C(n, k - 1) is whole in each step.
    let all = (1..=half).try_fold(1_usize, |all, k| Some(all.checked_mul(racks - half + k)? / k));
    let sides = if racks.is_multiple_of(2) { 2 } else { 1 };
    all.map_or(HALVES_COUNTED, |all| (all / sides).min(HALVES_COUNTED))
}

/// The round of one split. Of the half that has more machines, some rest: as few racks as possible, and others in
/// another split. Machines of one rack meet as many racks of the other half as they can.
fn across(machines: &[Vec<u32>], half: &[bool], turn: usize) -> Vec<(u32, u32)> {
    let side = |is_first: bool| {
        let mut racks: Vec<&Vec<u32>> =
            machines.iter().zip(half).filter(|(_, of)| **of == is_first).map(|(rack, _)| rack).collect();
        let count = racks.len().max(1);
        racks.rotate_left(turn % count);
        racks
    };
    let (first, second) = (side(true), side(false));
    let count = |racks: &[&Vec<u32>]| racks.iter().map(|rack| rack.len()).sum::<usize>();
    let both = count(&first).min(count(&second));
    let first: Vec<u32> = first.into_iter().flatten().copied().take(both).collect();
    let second = dealt(&second, both);
    let pairs = (0..both).flat_map(|place| {
        let met = second[(place + turn) % both];
        // Who sends to it is not whom it sends to, but where each half has one machine.
        [(first[place], met), (met, first[(place + 1) % both])]
    });
    pairs.collect()
}

/// The first so many machines, rack by rack, and of these one of each rack after another.
fn dealt(racks: &[&Vec<u32>], count: usize) -> Vec<u32> {
    let mut left = count;
    let mut columns: Vec<&[u32]> = Vec::new();
    for rack in racks {
        let taken = left.min(rack.len());
        columns.push(&rack[..taken]);
        left -= taken;
    }
    let longest = columns.iter().map(|column| column.len()).max().unwrap_or(0);
    (0..longest).flat_map(|row| columns.iter().filter_map(move |column| column.get(row).copied())).collect()
}

/// The round in which racks are rings of their own. Who is alone in a rack rests.
fn within(machines: &[Vec<u32>], turn: usize) -> Vec<(u32, u32)> {
    let ring = |rack: &Vec<u32>| {
        let step = 1 + turn % (rack.len() - 1);
        (0..rack.len()).map(|place| (rack[place], rack[(place + step) % rack.len()])).collect::<Vec<_>>()
    };
    machines.iter().filter(|rack| rack.len() > 1).flat_map(ring).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn of_sizes(sizes: &[usize]) -> Vec<usize> {
        sizes.iter().enumerate().flat_map(|(rack, size)| vec![rack; *size]).collect()
    }

    /// Each machine sends to one at the most, and receives from one at the most.
    fn is_proper(round: &[(u32, u32)], machines: usize) -> bool {
        let is_once = |mut of: Vec<u32>| {
            let count = of.len();
            of.sort_unstable();
            of.dedup();
            of.len() == count && of.iter().all(|machine| (*machine as usize) < machines)
        };
        is_once(round.iter().map(|pair| pair.0).collect()) && is_once(round.iter().map(|pair| pair.1).collect())
    }

    fn rack_for(racks: &[usize], machine: u32) -> usize {
        racks[machine as usize]
    }

    /// How many racks have some, but not all of their machines in a round.
    fn torn(racks: &[usize], round: &[(u32, u32)]) -> usize {
        let all: BTreeSet<usize> = racks.iter().copied().collect();
        let is_torn = |rack: &usize| {
            let size = racks.iter().filter(|of| *of == rack).count();
            let sends = round.iter().filter(|(from, _)| rack_for(racks, *from) == *rack).count();
            sends > 0 && sends < size
        };
        all.iter().filter(|rack| is_torn(rack)).count()
    }

    #[test]
    fn two_racks_of_four_meet_with_all_of_their_machines() {
        let split_rounds = splits(&of_sizes(&[4, 4]), 16, 1);
        assert_eq!((split_rounds.rounds.len(), split_rounds.all_rounds), (2, 2));
        let across = [(0, 4), (4, 1), (1, 5), (5, 2), (2, 6), (6, 3), (3, 7), (7, 0)];
        assert_eq!(split_rounds.rounds[0], across);
        assert_eq!(split_rounds.rounds[1], [(0, 1), (1, 2), (2, 3), (3, 0), (4, 5), (5, 6), (6, 7), (7, 4)]);
    }

    #[test]
    fn all_halves_of_few_racks_are_met_and_of_many_some() {
        // Racks, and how many halves there are.
        let cases: [(&[usize], usize); 8] = [
            (&[4, 4], 1),
            (&[4, 4, 4], 3),
            (&[4; 4], 3),
            (&[2; 6], 10),
            (&[3; 8], 35),
            // All of the large one have a partner only if all others are in the other half.
            (&[8, 2, 2, 2, 2], 1),
            (&[5, 3], 1),
            (&[4, 4, 4, 3], 3),
        ];
        for (sizes, count) in cases {
            let all = splits(&of_sizes(sizes), usize::MAX, 1);
            assert_eq!((all.rounds.len(), all.all_rounds), (2 * count, 2 * count), "{sizes:?}");
            let some = splits(&of_sizes(sizes), 4, 1);
            assert_eq!(some.rounds.len(), 2 * count.min(2), "{sizes:?}");
            assert!(some.rounds.iter().step_by(2).all(|round| torn(&of_sizes(sizes), round) <= 1), "{sizes:?}");
        }
        let racks = of_sizes(&[14; 14]);
        let one = splits(&racks, 16, 1);
        // Half of 14 over 7.
        assert_eq!((one.rounds.len(), one.all_rounds), (16, 2 * 1_716));
        assert!(one == splits(&racks, 16, 1) && one != splits(&racks, 16, 2));
        assert!(one.rounds.iter().all(|round| round.len() == 14 * 14), "nobody rests");
        assert_eq!((of_so_many(13), of_so_many(14)), (1_716, 1_716));
        assert_eq!((of_so_many(34), of_so_many(1_024)), (1_166_803_110, HALVES_COUNTED));
    }

    #[test]
    fn machines_of_a_rack_meet_several_racks_of_the_other_half() {
        let racks = of_sizes(&[4; 4]);
        for round in splits(&racks, 16, 1).rounds.iter().step_by(2) {
            for rack in 0..4 {
                let met = |(from, to): &(u32, u32)| (rack_for(&racks, *from) == rack).then(|| rack_for(&racks, *to));
                assert_eq!(round.iter().filter_map(met).collect::<BTreeSet<usize>>().len(), 2, "{rack}: {round:?}");
            }
        }
    }

    #[test]
    fn one_rack_has_no_halves_and_racks_of_one_machine_have_nothing_within() {
        assert_eq!(splits(&of_sizes(&[5]), 16, 1), NetSplits::default());
        assert_eq!(splits(&[], 16, 1), NetSplits::default());
        let alone = splits(&of_sizes(&[1, 1]), 16, 1);
        assert_eq!(alone.rounds, [[(0, 1), (1, 0)]]);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(200))]

        #[test]
        fn each_machine_sends_once_and_receives_once_and_always_across_or_always_within(
            nodes in 2usize..=200, racks in 2usize..=24, most in 1usize..40, seed: u64,
        ) {
            // Uneven ones, in no order: machines are dealt by the seed.
            let mut rng = SeededRng::new(seed, 1);
            let racks: Vec<usize> = (0..nodes).map(|_| rng.below(racks)).collect();
            let split_rounds = splits(&racks, most, seed);
            let sizes = racks.iter().fold(BTreeMap::new(), |mut all: BTreeMap<usize, usize>, rack| {
                *all.entry(*rack).or_default() += 1;
                all
            });
            prop_assert_eq!(split_rounds.rounds.is_empty(), sizes.len() < 2);
            let count = split_rounds.rounds.len();
            prop_assert!(count <= most.next_multiple_of(2) && count <= split_rounds.all_rounds);
            prop_assert_eq!(&split_rounds, &splits(&racks, most, seed));
            for round in &split_rounds.rounds {
                prop_assert!(is_proper(round, nodes), "{:?}", round);
                let is_across = |(from, to): &(u32, u32)| rack_for(&racks, *from) != rack_for(&racks, *to);
                let across = round.iter().filter(|pair| is_across(pair)).count();
                prop_assert!(across == 0 || across == round.len(), "{:?}", round);
                let sends: BTreeSet<u32> = round.iter().map(|pair| pair.0).collect();
                let receives: BTreeSet<u32> = round.iter().map(|pair| pair.1).collect();
                prop_assert_eq!(&sends, &receives, "who sends receives too");
                if across == 0 {
                    let all = sizes.values().filter(|size| **size > 1).sum::<usize>();
                    prop_assert_eq!(round.len(), all, "all take part that have a neighbour");
                } else {
                    // Who has no partner is of the larger half alone, and that by no more than its largest racks.
                    let largest = sizes.values().max().copied().unwrap_or(0);
                    let others = nodes - largest;
                    prop_assert!(round.len() >= 2 * others.min(largest).min(nodes / 4), "{:?}", sizes);
                }
            }
        }
    }
}
