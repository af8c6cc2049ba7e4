//! Whole experiments in simulated worlds: how often an effect is called that is none, whether intervals hold what they
//! say, and what a true effect takes. Every figure has its bound; the seed of a world is its number.

use std::collections::BTreeMap;
use std::thread;

use linerate_experiment::design::{self, DesignRequest, design};
use linerate_experiment::effect::effect_interval;
use linerate_experiment::protocol::{next, observe, report};
use linerate_experiment::state::{ExperimentState, begin};
use linerate_record::experiment::{CellOutcome, Decision, ExperimentStep, ExperimentStopReason};
use linerate_record::rng::SeededRng;

/// Worlds of each claim on false calls and coverage.
const WORLDS: u64 = 10_000;

/// The level of all of them.
const ALPHA: f64 = 0.05;

/// Rearrangements drawn in those: the claims are to hold with any number.
const DRAWS: u32 = 1000;

/// Standard normal quantile of 99 %: bounds are one-sided.
const Z_99: f64 = 2.326;

/// What time does in a world, in logarithms.
#[derive(Clone, Copy, Debug)]
struct World {
    /// From the first cell to the two-hundredth.
    drift: f64,
    correlation: f64,
    /// Student's t at three degrees of freedom instead of the normal distribution.
    heavy: bool,
    /// Height of a second mode, which comes and goes for some cells at a time.
    mode: f64,
    /// Standard deviation of a cell.
    sd: f64,
}

/// A world of each kind: every combination of what may be wrong, by the bits of its number.
fn world(seed: u64) -> World {
    let mut rng = SeededRng::new(seed, 77);
    let on = |bit: u64, value: f64| if seed >> bit & 1 == 1 { value } else { 0.0 };
    World {
        drift: on(0, 0.4 * (rng.unit() - 0.5)),
        correlation: on(1, 0.9 * rng.unit()),
        heavy: on(2, 1.0) > 0.0,
        mode: on(3, 0.1),
        sd: 0.01 + 0.03 * rng.unit(),
    }
}

struct Simulated {
    world: World,
    rng: SeededRng,
    noise: f64,
    high: bool,
    cells: u32,
}

fn gauss(rng: &mut SeededRng) -> f64 {
    (-2.0 * (1.0 - rng.unit()).ln()).sqrt() * (std::f64::consts::TAU * rng.unit()).cos()
}

impl Simulated {
    fn new(seed: u64, world: World) -> Self {
        Simulated { world, rng: SeededRng::new(seed, 99), noise: 0.0, high: false, cells: 0 }
    }

    /// What a cell measures, where its arm has an effect.
    fn measure(&mut self, effect: f64) -> CellOutcome {
        let World { drift, correlation, heavy, mode, sd } = self.world;
        let mut shock = gauss(&mut self.rng);
        if heavy {
            let squares: f64 = (0..3).map(|_| gauss(&mut self.rng).powi(2)).sum();
            shock /= (squares / 3.0).sqrt();
        }
        self.noise = correlation * self.noise + (1.0 - correlation * correlation).sqrt() * shock;
        self.high ^= self.rng.unit() < 0.3;
        self.cells += 1;
        let level = drift * f64::from(self.cells) / 200.0 + if self.high { mode } else { 0.0 };
        let value = 1e9 * (level + sd * self.noise + effect).exp();
        let (started_ns, ended_ns) = (u64::from(self.cells) * 10, u64::from(self.cells) * 10 + 10);
        CellOutcome { started_ns, ended_ns, interval_ns: 1, throughput_per_s: vec![value], ..CellOutcome::default() }
    }
}

fn requested(seed: u64, trials: usize, blocks_max: u32) -> DesignRequest {
    let trials = (0..trials).map(|i| format!("arm {i}")).collect();
    let defaults = design::requested("default", trials, seed);
    DesignRequest { same: false, alpha: ALPHA, blocks_max, settle_first_ns: 0, measure_ns: 1, ..defaults }
}

/// Runs an experiment to its end. Arms have the effects given, the baseline's first.
fn run(requested: &DesignRequest, simulated: &mut Simulated, effects: &[f64]) -> ExperimentState {
    run_with(requested, simulated, effects, design(requested).expect("a design that can be run").draws)
}

/// The same with fewer rearrangements drawn: less sharp, and as true.
fn run_with(requested: &DesignRequest, simulated: &mut Simulated, effects: &[f64], draws: u32) -> ExperimentState {
    let mut design = design(requested).expect("a design that can be run");
    design.draws = draws;
    let mut state = begin(design);
    while let ExperimentStep::Measure(cell) = next(&state) {
        state = observe(state, &simulated.measure(effects[cell.arm as usize]));
    }
    state
}

/// What `of` says of each world from 0 on, by two threads.
fn each<T: Send>(worlds: u64, run: impl Fn(u64) -> T + Sync) -> Vec<T> {
    let half = |from: u64| (from..worlds).step_by(2).map(&run).collect::<Vec<T>>();
    let (mut even, odd) = thread::scope(|scope| {
        let odd = scope.spawn(|| half(1));
        (half(0), odd.join().expect("no world panics"))
    });
    even.extend(odd);
    even
}

/// The largest share of `n` that a probability of `p` gives but one time in a hundred.
fn bound(p: f64, n: usize) -> f64 {
    p + Z_99 * (p * (1.0 - p) / n as f64).sqrt()
}

fn decision(state: &ExperimentState, arm: usize) -> Option<Decision> {
    state.arm_state[arm].decision
}

#[test]
fn null_worlds_are_called_effects_no_more_often_than_alpha() {
    let shown = each(WORLDS, |seed| {
        let state = run_with(&requested(seed, 1, 20), &mut Simulated::new(seed, world(seed)), &[0.0; 2], DRAWS);
        decision(&state, 1) == Some(Decision::Shown)
    });
    let share = shown.iter().filter(|shown| **shown).count() as f64 / shown.len() as f64;
    let most = bound(ALPHA, shown.len());
    println!("seeds 0..{WORLDS}: {:.2} % of null worlds called effects, at most {:.2} %", 100.0 * share, 100.0 * most);
    assert!(share <= most, "{share} of seeds 0..{WORLDS} called effects, above {most}");
    assert!(share > 0.01, "{share}: a test that never calls anything would pass too");
}

#[test]
fn intervals_hold_the_true_effect_as_often_as_they_say() {
    let held = each(WORLDS, |seed| {
        let effect = 0.08 * (SeededRng::new(seed, 55).unit() - 0.5);
        let state = run_with(&requested(seed, 1, 20), &mut Simulated::new(seed, world(seed)), &[0.0, effect], DRAWS);
        let (low, high) = effect_interval(&state, 1);
        (low.is_none_or(|low| low <= effect) && high.is_none_or(|high| effect <= high), low.is_some() && high.is_some())
    });
    let missed = held.iter().filter(|(held, _)| !held).count() as f64 / held.len() as f64;
    let bounded = held.iter().filter(|(_, bounded)| *bounded).count() as f64 / held.len() as f64;
    let most = bound(ALPHA, held.len());
    println!("seeds 0..{WORLDS}: {:.2} % of intervals miss, at most {:.2} %", 100.0 * missed, 100.0 * most);
    assert!(missed <= most, "{missed} of seeds 0..{WORLDS} missed, above {most}");
    // Arms dropped early have spent next to nothing, and their intervals hold more often; some have no ends.
    assert!(missed > 0.005 && bounded > 0.8, "{missed} missed, {bounded} bounded: wider than they need be");
}

/// The share of fixed designs of `n` differences in which a t test shows the effect.
fn power_of_fixed(n: u32, effect: f64, sd: f64, worlds: u64) -> f64 {
    let t = linerate_analysis::student::quantile(1.0 - ALPHA / 2.0, f64::from(n - 1));
    let shown = each(worlds, |seed| {
        let mut rng = SeededRng::new(seed, 33);
        let d: Vec<f64> = (0..n).map(|_| effect + sd * gauss(&mut rng)).collect();
        let mean = d.iter().sum::<f64>() / f64::from(n);
        let variance = d.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / f64::from(n - 1);
        (mean / (variance / f64::from(n)).sqrt()).abs() > t
    });
    shown.iter().filter(|shown| **shown).count() as f64 / worlds as f64
}

#[test]
fn two_percent_at_a_paired_spread_of_three_takes_fewer_blocks_than_a_fixed_design() {
    let (effect, sd, worlds) = (0.02_f64.ln_1p(), 0.03, 2000);
    let fixed = (10..40).find(|&n| power_of_fixed(n, effect, sd, 40_000) >= 0.8).expect("forty are enough");
    let largest = (1.15 * f64::from(fixed)).floor() as u32;
    let calm = World { drift: 0.1, correlation: 0.0, heavy: false, mode: 0.0, sd: sd / f64::sqrt(2.0) };
    let blocks_at = |effect: f64| {
        each(worlds, |seed| {
            let state = run(&requested(seed, 1, largest), &mut Simulated::new(seed, calm), &[0.0, effect]);
            (decision(&state, 1) == Some(Decision::Shown), state.blocks.len() as f64)
        })
    };
    let found = blocks_at(effect);
    let power = found.iter().filter(|(shown, _)| *shown).count() as f64 / worlds as f64;
    let mean = |found: &[(bool, f64)]| found.iter().map(|(_, blocks)| blocks).sum::<f64>() / found.len() as f64;
    let (with, without) = (mean(&found), mean(&blocks_at(0.0)));
    let saved = |blocks: f64| 100.0 * (1.0 - blocks / f64::from(fixed));
    println!(
        "seeds 0..{worlds}: fixed {fixed} blocks, at most {largest}; power {:.1} %; {with:.1} blocks on average, \
         {:.0} % saved; without an effect {without:.1}, {:.0} % saved",
        100.0 * power,
        saved(with),
        saved(without)
    );
    assert!(f64::from(largest) <= 1.15 * f64::from(fixed) && power >= 0.8, "{largest} of {fixed}, power {power}");
    assert!(with < f64::from(fixed), "{with} on average of {fixed}");
}

#[test]
fn the_baseline_twice_takes_fewer_blocks_and_not_a_third_more_cells() {
    let (effect, sd, worlds) = (0.02_f64.ln_1p(), 0.03, 1000);
    // Half a cell's variance less than with one cell of the baseline.
    let paired = sd * f64::sqrt(0.75);
    let [once, twice] = [sd, paired]
        .map(|sd| (8..40).find(|&n| power_of_fixed(n, effect, sd, 20_000) >= 0.8).expect("forty are enough"));
    let largest = (1.15 * f64::from(twice)).floor() as u32;
    let calm = World { drift: 0.1, correlation: 0.0, heavy: false, mode: 0.0, sd: sd / f64::sqrt(2.0) };
    let blocks_at = |effect: f64| {
        each(worlds, |seed| {
            let requested = DesignRequest { same: true, ..requested(seed, 1, largest) };
            let state = run_with(&requested, &mut Simulated::new(seed, calm), &[0.0, 0.0, effect], 2 * DRAWS);
            let cells: usize = state.blocks.iter().map(|block| block.cells.len()).sum();
            (decision(&state, 2) == Some(Decision::Shown), cells as f64)
        })
    };
    let share = |found: &[(bool, f64)]| found.iter().filter(|(shown, _)| *shown).count() as f64 / worlds as f64;
    let mean = |found: &[(bool, f64)]| found.iter().map(|(_, cells)| cells).sum::<f64>() / worlds as f64;
    let (with, without) = (blocks_at(effect), blocks_at(0.0));
    println!(
        "seeds 0..{worlds}: fixed {once} blocks of 2 cells, or {twice} of 3; at most {largest}: power {:.1} %, {:.1} \
         cells on average; without an effect {:.1} % called, {:.1} cells",
        100.0 * share(&with),
        mean(&with),
        100.0 * share(&without),
        mean(&without)
    );
    assert!(share(&with) >= 0.78 && share(&without) <= bound(ALPHA, without.len()), "{}", share(&without));
    assert!(mean(&with) < f64::from(3 * twice), "{} cells of {}", mean(&with), 3 * twice);
}

#[test]
fn of_several_arms_the_false_share_of_those_called_is_held() {
    let worlds = 800;
    // Two of six have an effect.
    let effects = [0.0, 0.04, 0.0, 0.0, 0.05, 0.0, 0.0];
    let shares = each(worlds, |seed| {
        let state = run_with(&requested(seed, 6, 24), &mut Simulated::new(seed, world(seed & !8)), &effects, 4 * DRAWS);
        let called: Vec<usize> = (1..7).filter(|&arm| decision(&state, arm) == Some(Decision::Shown)).collect();
        let wrong = called.iter().filter(|&&arm| effects[arm] == 0.0).count();
        (wrong as f64 / called.len().max(1) as f64, called.contains(&4))
    });
    let rate = shares.iter().map(|(share, _)| share).sum::<f64>() / worlds as f64;
    let found = shares.iter().filter(|(_, found)| *found).count() as f64 / worlds as f64;
    println!(
        "seeds 0..{worlds}: {:.2} % of what is called is false; +5 % found in {:.0} %",
        100.0 * rate,
        100.0 * found
    );
    // A share lies between 0 and 1, and so varies no more than a coin of the same mean.
    assert!(rate <= bound(ALPHA, shares.len()) && found > 0.5, "{rate}, {found}");
}

#[test]
fn an_arm_that_does_nothing_is_dropped_before_the_budget_and_time_ends_one_early() {
    let calm = World { drift: 0.0, correlation: 0.0, heavy: false, mode: 0.0, sd: 0.005 };
    let state = run(&requested(1, 2, 40), &mut Simulated::new(1, calm), &[0.0, 0.05, 0.0]);
    let decided = (decision(&state, 1), decision(&state, 2));
    assert_eq!(decided, (Some(Decision::Shown), Some(Decision::RuledOut)), "{:?}", report(&state).effects);
    assert!(state.ended == ExperimentStopReason::Decided && state.blocks.len() < 40, "{:?}", state.looks);
    let loud = World { sd: 0.6, ..calm };
    let state = run(&requested(2, 1, 40), &mut Simulated::new(2, loud), &[0.0, 0.0]);
    assert!(decision(&state, 1) == Some(Decision::Futile) && state.blocks.len() < 40, "{:?}", state.looks);
    let mut short = requested(3, 1, 40);
    short.time_max_ns = Some(300);
    let state = run(&short, &mut Simulated::new(3, loud), &[0.0, 0.0]);
    assert_eq!(state.ended, ExperimentStopReason::Time);
    assert!((13..=15).contains(&state.blocks.len()), "{}", state.blocks.len());
    let effect = &report(&state).effects[0];
    assert!(effect.decision == Decision::NotShown && effect.sentence.contains("takes about"), "{effect:?}");
}

#[test]
fn the_same_seed_and_outcomes_give_the_same_report_and_it_survives_a_disk() {
    let simulated_report = || report(&run(&requested(5, 2, 12), &mut Simulated::new(5, world(5)), &[0.0, 0.1, 0.0]));
    let (one, other) = (simulated_report(), simulated_report());
    assert_eq!(one, other);
    let text = serde_json::to_string(&one).unwrap();
    let back: linerate_record::experiment::Report = serde_json::from_str(&text).unwrap();
    assert_eq!(back, one);
}

#[test]
fn a_foreign_change_excludes_its_block_and_the_block_is_made_up_for() {
    let calm = World { drift: 0.0, correlation: 0.0, heavy: false, mode: 0.0, sd: 0.2 };
    let mut simulated = Simulated::new(8, calm);
    let mut with = requested(8, 1, 8);
    with.same = true;
    let mut state = begin(design(&with).unwrap());
    while let ExperimentStep::Measure(cell) = next(&state) {
        let mut outcome = simulated.measure(0.0);
        let kernel = if cell.block == 2 && cell.position == 1 { "6.13" } else { "6.12" };
        outcome.fingerprint = BTreeMap::from([("kernel".to_owned(), kernel.to_owned())]);
        state = observe(state, &outcome);
    }
    assert!(state.blocks.len() >= 5 && state.blocks.iter().filter(|b| !b.excluded.is_empty()).count() == 1);
    let report = report(&state);
    let reported = report.remarks.iter().find(|remark| remark.about == "block 3").expect("it is told");
    assert!(reported.sentence.contains("kernel is \"6.13\", and was \"6.12\" at first"), "{reported:?}");
    assert_eq!(report.effects.len(), 1, "the baseline's second cell is no arm, but part of the baseline");
}
