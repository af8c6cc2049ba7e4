//! What voids an effect that the blocks show: blocks that the arm itself excludes, what ran before, and cells that
//! never settled. Each makes figures differ without the arm being faster or slower for good; none is seen by a test
//! that takes the figures for what they are.

use linerate_analysis::student;
use linerate_record::experiment::{Block, Decision, MeasuredCell};

use crate::drift::{deviation, mean};
use crate::sentences::percent;
use linerate_record::rng::SeededRng;

/// How improbable it must be that as many more blocks are excluded by one arm, or cells unsettled of one, to be told.
const UNEVEN: f64 = 0.05;

/// Carry-over as improbable as this is told as such whatever the effect. From the second on, to the one side on which
/// it would make the effect, the effect must be there without it too: what would hide one needs no such doubt.
const CARRIED: f64 = 0.01;
const PERHAPS_CARRIED: f64 = 0.3;

/// Share of an arm's cells that may end unsettled: a search for the end of a ramp errs now and then.
const UNSETTLED_MAX: f64 = 0.5;

/// How improbable it must be that cells of one arm are faulty as much more often than those of the baseline for the
/// blocks without them to count as a selection. Of 20 cells against 40, four against none are, and two against none are
/// not.
const FAULTY_APART: f64 = 0.1;

/// How improbable it must be that an arm's cells rise or fall as much more than the baseline's while they are measured.
const RISING: f64 = 0.01;

/// Signs drawn for the test by intention to treat.
const DRAWS: u32 = 3999;

/// Why an effect does not hold: the verdict in its place, and the reason in words.
pub(crate) type Invalidation = (Decision, String);

/// What is claimed of an arm.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Claim {
    /// An effect of this sign.
    Effect(f64),
    /// That there is none which matters.
    NoEffect,
}

/// What voids a claim of `arm` against the cells of `baseline`.
pub(crate) fn void(
    blocks: &[Block],
    arm: u32,
    baseline: &[u32],
    claim: Claim,
    alpha: f64,
    seed: u64,
) -> Option<Invalidation> {
    excluded(blocks, arm, baseline, claim, alpha, seed)
        .or_else(|| carried(blocks, arm, baseline, claim, alpha))
        .or_else(|| unsettled(blocks, arm, baseline))
        .or_else(|| rising(blocks, arm, baseline))
}

fn cells<'a>(block: &'a Block, arms: &'a [u32]) -> impl Iterator<Item = &'a MeasuredCell> {
    block.cells.iter().filter(|cell| arms.contains(&cell.arm))
}

/// Faulty cells, and all of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FaultyCells {
    pub(crate) faulty: usize,
    pub(crate) all: usize,
}

impl FaultyCells {
    /// Of these arms.
    pub(crate) fn count(blocks: &[Block], arms: &[u32]) -> FaultyCells {
        let all: Vec<bool> = blocks.iter().flat_map(|block| cells(block, arms)).map(|cell| cell.faulty).collect();
        FaultyCells { faulty: all.iter().filter(|faulty| **faulty).count(), all: all.len() }
    }

    /// Whether chance seldom makes cells of one side as much more often faulty. A baseline with two cells a block has
    /// twice the occasions: shares are compared, not counts of blocks.
    pub(crate) fn are_apart(self, base: FaultyCells) -> bool {
        hypergeometric(self.faulty, self.all, base.faulty, base.all) <= FAULTY_APART
    }

    /// `4 of its 20 cells were faulty, 1 of the baseline's 40`
    pub(crate) fn sentence(self, base: FaultyCells) -> String {
        let FaultyCells { faulty, all } = self;
        format!("{faulty} of its {all} cells were faulty, {} of the baseline's {}", base.faulty, base.all)
    }
}

/// By intention to treat: every block in which both were tried counts, and a cell that was faulty is the worst of all.
fn excluded(blocks: &[Block], arm: u32, baseline: &[u32], claim: Claim, alpha: f64, seed: u64) -> Option<Invalidation> {
    let [own, base] = [&[arm][..], baseline].map(|arms| FaultyCells::count(blocks, arms));
    let reported = own.sentence(base);
    let share = match claim {
        Claim::Effect(_) if own.faulty * base.all == base.faulty * own.all => return None,
        Claim::Effect(share) => share,
        Claim::NoEffect => {
            let void = (Decision::ExcludesBlocks, format!("{reported}: the remaining blocks may be its better ones"));
            return own.are_apart(base).then_some(void);
        }
    };
    let tried = |block: &&Block| block.cells.iter().any(|cell| cell.arm == arm) && cells(block, baseline).count() > 0;
    let mut rng = SeededRng::new(seed, 1 << 46);
    let tried = blocks.iter().filter(tried);
    let mut signed: Vec<f64> = tried.filter_map(|block| outcome(block, arm, baseline, &mut rng)).collect();
    signed.sort_by(|a, b| a.abs().total_cmp(&b.abs()));
    let ranks: Vec<f64> = (1..).zip(&signed).map(|(rank, v): (u32, _)| f64::from(rank) * v.signum()).collect();
    let sum: f64 = ranks.iter().sum();
    let mut as_far = 1_u32;
    for number in 0..DRAWS {
        let mut rng = SeededRng::new(seed, 1 << 45 | u64::from(number));
        let other: f64 = ranks.iter().map(|rank| if rng.bits() & 1 == 1 { *rank } else { -rank }).sum();
        as_far += u32::from(if share > 0.0 { other >= sum } else { other <= sum });
    }
    let p = f64::from(as_far) / f64::from(DRAWS + 1);
    (p > alpha / 2.0).then(|| {
        (
            Decision::ExcludesBlocks,
            format!(
                "{reported}; with those counted as the worst there is no effect beyond chance (p {:.2}): the remaining \
                 blocks may be its better ones",
                2.0 * p
            ),
        )
    })
}

/// The difference of a block, faulty cells being the worst; nothing where both are, or where neither has a figure. Of
/// several cells of the baseline one is drawn: two would have two occasions to be faulty.
fn outcome(block: &Block, arm: u32, baseline: &[u32], rng: &mut SeededRng) -> Option<f64> {
    let own = block.cells.iter().find(|cell| cell.arm == arm)?;
    let of_base: Vec<&MeasuredCell> = cells(block, baseline).collect();
    let base = of_base.get(rng.below(of_base.len()))?;
    match (own.faulty, base.faulty) {
        (true, true) => None,
        (true, false) => Some(f64::NEG_INFINITY),
        (false, true) => Some(f64::INFINITY),
        (false, false) => {
            let counted = of_base.iter().filter(|cell| !cell.faulty).filter_map(|cell| cell.throughput_per_s);
            let figures: Vec<f64> = counted.map(f64::ln).collect();
            (!figures.is_empty()).then(|| Some(own.throughput_per_s?.ln() - mean(&figures)))?
        }
    }
}

/// Whether what ran before makes the effect: what the arm leaves behind, or what every arm under test does.
pub(crate) fn carried(blocks: &[Block], arm: u32, baseline: &[u32], claim: Claim, alpha: f64) -> Option<Invalidation> {
    let own = line_over_exposures(blocks, arm, baseline, |before| before == arm);
    let any = line_over_exposures(blocks, arm, baseline, |before| !baseline.contains(&before));
    let carried_by = |line: Option<Line>, what| carried_along(&line?, what, claim, alpha);
    carried_by(own, "it").or_else(|| carried_by(any, "any arm under test"))
}

/// The differences of blocks by whether such a cell ran before the arm's cell and before the baseline's.
fn line_over_exposures(blocks: &[Block], arm: u32, baseline: &[u32], exposes: impl Fn(u32) -> bool) -> Option<Line> {
    let (mut differences, mut exposures, mut before) = (Vec::new(), Vec::new(), None);
    for block in blocks {
        let (mut own, mut base, mut own_after, mut base_after) = (None, Vec::new(), 0.0, Vec::new());
        for cell in &block.cells {
            let after = f64::from(u8::from(before.is_some_and(&exposes)));
            before = Some(cell.arm);
            let figure = cell.throughput_per_s.map(f64::ln);
            if cell.arm == arm {
                (own, own_after) = (figure, after);
            } else if baseline.contains(&cell.arm) {
                base.extend(figure);
                base_after.push(after);
            }
        }
        if let Some(own) = own.filter(|_| !base.is_empty() && block.excluded.is_empty()) {
            differences.push(own - mean(&base));
            exposures.push(own_after - mean(&base_after));
        }
    }
    Line::through(&exposures, &differences)
}

/// The verdict along such a line: the effect must be there where both came after the same.
fn carried_along(line: &Line, what: &str, claim: Claim, alpha: f64) -> Option<Invalidation> {
    let t = student::quantile(1.0 - alpha / 2.0, line.df);
    let p = student::two_sided(line.slope / line.slope_error, line.df);
    let may_make_it = match claim {
        Claim::Effect(share) => {
            let stands = line.level * share.signum() > t * line.level_error;
            line.added * share > 0.0 && p / 2.0 <= PERHAPS_CARRIED && !stands
        }
        Claim::NoEffect => false,
    };
    (p <= CARRIED || may_make_it).then(|| {
        let (slope, level) = (percent(line.slope.exp_m1().abs()), percent(line.level.exp_m1().abs()));
        let way = |v: f64| if v < 0.0 { "lower" } else { "higher" };
        (
            Decision::CarriedOver,
            format!(
                "what runs after {what} measures {slope} {} (p {p:.2}), and where both came after the same it is \
                 {level} {}: what is left behind cannot be separated from what the arm does; settle longer, or restart \
                 the target between arms",
                way(line.slope),
                way(line.level)
            ),
        )
    })
}

/// A line by least squares: its value at 0 and its slope, with their errors.
struct Line {
    level: f64,
    level_error: f64,
    slope: f64,
    slope_error: f64,
    /// What the slope adds to the mean of the values.
    added: f64,
    df: f64,
}

impl Line {
    fn through(x: &[f64], y: &[f64]) -> Option<Line> {
        let n = x.len() as f64;
        let (middle, height) = (mean(x), mean(y));
        let squares: f64 = x.iter().map(|x| (x - middle).powi(2)).sum();
        if x.len() < 4 || squares <= 0.0 {
            return None;
        }
        let slope = x.iter().zip(y).map(|(x, y)| (x - middle) * y).sum::<f64>() / squares;
        let level = height - slope * middle;
        let left: f64 = x.iter().zip(y).map(|(x, y)| (y - level - slope * x).powi(2)).sum();
        let variance = (left / (n - 2.0)).max(1e-18);
        let level_error = (variance * (1.0 / n + middle * middle / squares)).sqrt();
        let (slope_error, added) = ((variance / squares).sqrt(), slope * middle);
        Some(Line { level, level_error, slope, slope_error, added, df: n - 2.0 })
    }
}

/// Whether the arm's cells rise or fall while they are measured, and the baseline's do not: a ramp that is longer than
/// a cell looks settled in each of them.
fn rising(blocks: &[Block], arm: u32, baseline: &[u32]) -> Option<Invalidation> {
    let of_block = |block: &Block| {
        let mean_trend = |arms: &[u32]| {
            let trends: Vec<f64> = cells(block, arms).filter_map(|cell| cell.trend).collect();
            (!trends.is_empty()).then(|| mean(&trends))
        };
        Some(mean_trend(&[arm])? - mean_trend(baseline)?)
    };
    let trends: Vec<f64> = blocks.iter().filter(|block| block.excluded.is_empty()).filter_map(of_block).collect();
    let (n, middle) = (trends.len() as f64, mean(&trends));
    let error = (deviation(&trends)? / n.sqrt()).max(1e-12);
    (trends.len() > 3 && student::two_sided(middle / error, n - 1.0) <= RISING).then(|| {
        let way = if middle < 0.0 { "fall" } else { "rise" };
        (
            Decision::NotSettled,
            format!(
                "its cells {way} by {} from the first half of the measured time to the second, relative to the \
                 baseline's: their final level is not known; measure longer",
                percent(middle.exp_m1().abs())
            ),
        )
    })
}

/// Whether the arm's cells, or the baseline's, mostly ended on their way, or those of one far more often.
fn unsettled(blocks: &[Block], arm: u32, baseline: &[u32]) -> Option<Invalidation> {
    let unsettled_share = |arms: &[u32]| {
        let counted = blocks.iter().filter(|block| block.excluded.is_empty());
        let all: Vec<bool> =
            counted.flat_map(|block| cells(block, arms)).map(|cell| cell.settled_ns.is_none()).collect();
        (all.iter().filter(|unsettled| **unsettled).count(), all.len())
    };
    let ((own, cells), (base, base_cells)) = (unsettled_share(&[arm]), unsettled_share(baseline));
    let mostly = |(n, all): (usize, usize)| n as f64 > UNSETTLED_MAX * all as f64;
    let uneven = own + base > 0 && hypergeometric(own, cells, base, base_cells) <= UNEVEN;
    (mostly((own, cells)) || mostly((base, base_cells)) || uneven).then(|| {
        (
            Decision::NotSettled,
            format!(
                "{own} of its {cells} cells and {base} of the baseline's {base_cells} were still on their way when \
                 they ended: their final level is not known; measure longer"
            ),
        )
    })
}

/// How probable it is that one arm has as large a part of what happened, either way (Fisher's exact test).
fn hypergeometric(own: usize, of: usize, base: usize, base_of: usize) -> f64 {
    let (all, hits) = (of + base_of, own + base);
    let log_ways = |n: usize, k: usize| (0..k).map(|i| ((n - i) as f64 / (i + 1) as f64).ln()).sum::<f64>();
    let log = |k: usize| log_ways(of, k) + log_ways(base_of, hits - k) - log_ways(all, hits);
    let (least, most) = (hits.saturating_sub(base_of), hits.min(of));
    let seen = log(own);
    (least..=most).map(log).filter(|other| *other <= seen + 1e-9).map(f64::exp).sum::<f64>().min(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::drift::cell_of_figure;

    #[test]
    fn fishers_test_is_that_of_the_tables() {
        for ((own, of), (base, base_of), p) in
            [((3, 3), (0, 3), 0.1), ((12, 12), (0, 12), 7.4e-7), ((1, 10), (1, 10), 1.0), ((0, 5), (4, 5), 0.047_619)]
        {
            let got = hypergeometric(own, of, base, base_of);
            assert!((got / p - 1.0).abs() < 0.01, "{own} of {of}, {base} of {base_of}: {got}");
        }
    }

    /// Blocks of the baseline, arm 0, and of arm 1 in turns of two, from what each measures and whether it is faulty.
    fn blocks(n: u32, new_cell: impl Fn(u32, u32, Option<u32>) -> (f64, bool, bool)) -> Vec<Block> {
        blocks_with(n, new_cell, false)
    }

    /// The same, where the arm's cells may rise to their ends.
    fn blocks_with(n: u32, new_cell: impl Fn(u32, u32, Option<u32>) -> (f64, bool, bool), ramp: bool) -> Vec<Block> {
        let mut before = None;
        (0..n)
            .map(|block| {
                let order = if SeededRng::new(u64::from(block), 2).bits() & 1 == 1 { [0, 1] } else { [1, 0] };
                let cells: Vec<MeasuredCell> = order
                    .into_iter()
                    .map(|arm| {
                        let (level, faulty, settled) = new_cell(block, arm, before);
                        before = Some(arm);
                        MeasuredCell {
                            settled_ns: settled.then_some(0),
                            trend: Some(if arm == 1 && ramp { 0.02 } else { 0.0 } + 0.001 * f64::from(block % 3)),
                            faulty,
                            ..cell_of_figure(arm, Some(1e9 * level.exp()))
                        }
                    })
                    .collect();
                let excluded = cells.iter().filter(|cell| cell.faulty).map(|cell| cell.arm.to_string()).collect();
                Block { cells, excluded }
            })
            .collect()
    }

    #[test]
    fn identical_arms_that_fail_as_often_are_not_told_as_chosen_though_the_baseline_has_two_cells() {
        let (mut voids, mut apart, mut called) = (0, 0, 0);
        for seed in 0..300_u64 {
            let mut rng = SeededRng::new(seed, 9);
            let mut blocks = |failing: [f64; 3]| -> Vec<Block> {
                let mut new_block = |_: u32| {
                    let mut new_cell = |arm: u32| {
                        let cell = cell_of_figure(arm, Some(1e9 * (0.01 * rng.unit()).exp()));
                        let faulty = rng.unit() < failing[arm as usize];
                        MeasuredCell { settled_ns: Some(0), trend: Some(0.0), faulty, ..cell }
                    };
                    let cells: Vec<MeasuredCell> = (0..3).map(&mut new_cell).collect();
                    let excluded = cells.iter().filter(|cell| cell.faulty).map(|cell| cell.arm.to_string()).collect();
                    Block { cells, excluded }
                };
                (0..20).map(&mut new_block).collect()
            };
            let [equal, worse] = [blocks([0.2; 3]), blocks([0.02, 0.4, 0.02])];
            voids += u32::from(excluded(&equal, 1, &[0, 2], Claim::NoEffect, 0.05, seed).is_some());
            apart += u32::from(excluded(&worse, 1, &[0, 2], Claim::NoEffect, 0.05, seed).is_some());
            called += u32::from(excluded(&worse, 1, &[0, 2], Claim::Effect(0.03), 0.05, seed).is_none());
        }
        assert!(voids <= 30 && apart >= 280 && called <= 3, "{voids} {apart} {called} of 300");
    }

    #[test]
    fn each_thing_that_voids_an_effect_does_and_a_sound_one_stands() {
        let noise = |block: u32, arm: u32| 0.004 * f64::from((block * 7 + arm * 3) % 5) - 0.008;
        let sound = |block: u32, arm: u32, _: Option<u32>| (0.03 * f64::from(arm) + noise(block, arm), false, true);
        let verdict =
            |blocks: &[Block]| void(blocks, 1, &[0], Claim::Effect(0.03), 0.05, 1).map(|(decision, _)| decision);
        assert_eq!(verdict(&blocks(20, sound)), None);
        assert_eq!(void(&blocks(20, sound), 1, &[0], Claim::NoEffect, 0.05, 1), None);
        let failing = |block: u32, arm: u32, before| {
            let (level, ..) = sound(block, arm, before);
            (level, arm == 1 && block % 5 < 2, true)
        };
        assert_eq!(verdict(&blocks(20, failing)), Some(Decision::ExcludesBlocks));
        let once = |block: u32, arm: u32, before| (sound(block, arm, before).0, arm == 1 && block == 3, true);
        assert_eq!(verdict(&blocks(20, once)), None, "one excluded block of twenty is not the worst of all of them");
        let left_behind = |block: u32, arm: u32, before: Option<u32>| {
            (noise(block, arm) - if before == Some(1) { 0.06 } else { 0.0 }, false, true)
        };
        assert_eq!(verdict(&blocks(20, left_behind)), Some(Decision::CarriedOver));
        let ramps = |block: u32, arm: u32, before| (sound(block, arm, before).0, false, arm == 0);
        assert_eq!(verdict(&blocks(20, ramps)), Some(Decision::NotSettled));
        assert_eq!(verdict(&blocks_with(20, sound, true)), Some(Decision::NotSettled));
    }
}
