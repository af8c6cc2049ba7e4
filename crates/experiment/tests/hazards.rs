//! Whole experiments in worlds where something other than the arm makes it look faster: how often an effect is called
//! that is none, how often one is found that is there, and how often its interval holds it. With `LINERATE_WORLDS=N`,
//! N experiments of each take the place of the few that are enough to see a gross fault.

use linerate_experiment::design::{self, DesignRequest, design};
use linerate_experiment::protocol::{next, observe, report};
use linerate_experiment::state::{ExperimentState, begin};
use linerate_record::experiment::{CellOutcome, Decision, ExperimentStep, Report};
use linerate_worlds::{HeldShare, Order, SeededRng, TRIALS, Trial, TrialCells, most_of_5_percent, table, tries};

const SECOND: u64 = 1_000_000_000;
/// Intervals to settle in at first, and those measured after.
const SETTLE: u64 = 3;
const MEASURE: u64 = 10;
/// The same of the long cells at the end.
const LASTING: u64 = 60;
/// Most blocks of an experiment.
const BLOCKS: u32 = 20;

/// Those of which an experiment draws the order and writes everything down itself.
fn conducted() -> impl Iterator<Item = &'static Trial> {
    let is_table = ["slow runs lost", "baseline first", "one swapped"];
    TRIALS.iter().filter(move |trial| !is_table.contains(&trial.name))
}

fn run(trial: &Trial, effect: f64, same: bool, seed: u64) -> ExperimentState {
    let mut rng = SeededRng::new(seed, 7);
    let hazard = (trial.draw)(&mut rng);
    assert_eq!(hazard.order, Order::Drawn, "{}", trial.name);
    let mut cells = TrialCells::new(hazard, effect, rng);
    let defaults = design::requested("default", vec!["new".to_owned()], seed);
    let [settle_first_ns, measure_ns, lasting_ns] = [SETTLE, MEASURE, LASTING].map(|time| time * SECOND);
    let requested = DesignRequest { same, blocks_max: BLOCKS, settle_first_ns, measure_ns, lasting_ns, ..defaults };
    let mut planned = design(&requested).expect("a design that can be run");
    planned.draws = 1000;
    let arm = planned.arms.len() as u32 - 1;
    let (mut state, mut now) = (begin(planned), 0);
    while let ExperimentStep::Measure(cell) = next(&state) {
        let intervals = (cell.settle_ns + cell.measure_ns) / SECOND;
        let seen = cells.next(cell.arm == arm, cell.position == 0, intervals as usize);
        let started_ns = now;
        now += intervals * SECOND;
        let outcome = CellOutcome {
            started_ns,
            ended_ns: now,
            interval_ns: SECOND,
            throughput_per_s: seen.intervals.iter().map(|v| 1e9 * v).collect(),
            fault: seen.fails.then(|| "40 of 1000 requests failed: 40 × timeout".to_owned()),
            ..CellOutcome::default()
        };
        state = observe(state, &outcome);
    }
    state
}

/// What came of the experiments of a trial: shares called and missed by the interval, and its row of the table.
struct Found {
    called: f64,
    missed: f64,
    row: Vec<String>,
}

const COLUMNS: [&str; 8] = [
    "trial",
    "cells of the baseline in a block",
    "effect",
    "called, %",
    "voided, %",
    "missed by the interval, %",
    "estimate, mean, %",
    "cells",
];

fn found(trial: &Trial, effect: f64, same: bool) -> Found {
    let n = tries(100);
    let reports: Vec<Report> = (0..n).map(|seed| report(&run(trial, effect, same, seed))).collect();
    let share = |is: &dyn Fn(&Report) -> bool| reports.iter().filter(|r| is(r)).count() as f64 / n as f64;
    let called = share(&|r| r.effects[0].decision == Decision::Shown);
    let voids = [Decision::CarriedOver, Decision::NotSettled, Decision::AtFirst, Decision::ExcludesBlocks];
    let voided = share(&|r| voids.contains(&r.effects[0].decision));
    let truth = effect.exp_m1();
    let missed = share(&|r| {
        let effect = &r.effects[0];
        // Two are printed where long cells ran: at first, and later.
        let early = (effect.low_share, effect.high_share);
        let late = effect.lasting.as_ref().map(|late| (Some(late.low_share), Some(late.high_share)));
        let mut ends = [Some(early), late].into_iter().flatten();
        let holds = ends.any(|(low, high)| low.is_none_or(|low| low <= truth) && high.is_none_or(|high| high >= truth));
        !holds && !voids.contains(&effect.decision)
    });
    let cells: usize =
        reports.iter().flat_map(|r| r.blocks.iter().chain(&r.rounds)).map(|block| block.cells.len()).sum();
    let reported = |share: f64| HeldShare { count: n, held: (share * n as f64).round() as u64 }.in_words();
    let estimates: Vec<f64> = reports.iter().filter_map(|report| report.effects[0].share).collect();
    let row = vec![
        trial.name.to_owned(),
        if same { "2" } else { "1" }.to_owned(),
        format!("{:+.0} %", 100.0 * effect),
        reported(called),
        reported(voided),
        reported(missed),
        format!("{:+.2}", 100.0 * estimates.iter().sum::<f64>() / estimates.len().max(1) as f64),
        format!("{:.1}", cells as f64 / n as f64),
    ];
    Found { called, missed, row }
}

/// What no test of an experiment sees: `docs/method/experiments.md` says what comes of it.
const NOT_SERVED: &str = "fading carry-over";

#[test]
fn what_something_else_makes_look_faster_is_not_called() {
    let (mut rows, mut beyond) = (Vec::new(), Vec::new());
    for trial in conducted() {
        for same in [true, false] {
            let Found { called, row, .. } = found(trial, 0.0, same);
            rows.push(row);
            if called > most_of_5_percent(tries(100)) && trial.name != NOT_SERVED {
                beyond.push(format!("{}: {called} called", trial.name));
            }
        }
    }
    println!("{}", table("experiments-equal", "Experiments whose arm makes no difference", &COLUMNS, &rows));
    assert!(beyond.is_empty(), "{beyond:?}");
}

#[test]
fn effects_that_are_there_are_found_and_intervals_hold_them() {
    let mut rows = Vec::new();
    for trial in conducted() {
        // For the table alone: what the tests that void an effect cost of a smaller one.
        if tries(0) > 0 {
            rows.push(found(trial, 0.02, true).row);
        }
        let Found { called, missed, row } = found(trial, 0.04, true);
        rows.push(row);
        let is_sound = ["calm", "drift"].contains(&trial.name);
        assert!(!is_sound || called >= 0.75, "{}: {called} called", trial.name);
        let is_covered = is_sound || ["first cells", "wide arm", "narrow arm"].contains(&trial.name);
        assert!(!is_covered || missed <= most_of_5_percent(tries(100)), "{}: {missed} missed", trial.name);
    }
    println!("{}", table("experiments-better", "Experiments whose arm is 2 and 4 % faster", &COLUMNS, &rows));
}

#[test]
fn estimates_of_what_stops_early_are_as_often_above_the_truth_as_below() {
    let (effect, n) = (0.02_f64, 3 * tries(100));
    let calm = TRIALS.iter().find(|trial| trial.name == "calm").expect("it is there");
    let (mut above, mut plain_above, mut stopped) = (0_u32, 0_u32, 0_u32);
    let (mut sum, mut plain_sum) = (0.0, 0.0);
    for seed in 0..n {
        let state = run(calm, effect, false, seed);
        let differences = linerate_experiment::state::differences(&state, 1);
        let plain = differences.iter().sum::<f64>() / differences.len() as f64;
        let reported = report(&state).effects[0].share.expect("there are figures").ln_1p();
        above += u32::from(reported > effect);
        plain_above += u32::from(plain > effect);
        stopped += u32::from(state.blocks.len() < BLOCKS as usize);
        (sum, plain_sum) = (sum + reported, plain_sum + plain);
    }
    let percent = |sum: f64| 100.0 * sum / n as f64;
    println!(
        "{stopped} of {n} stopped early; true 2.00 %: told {:.2} % on average, {above} above; plain means {:.2} %, \
         {plain_above} above",
        percent(sum),
        percent(plain_sum)
    );
    // A half, but for six in a hundred that few blocks cost, and 2.6 standard errors of a binomial.
    let share = f64::from(above) / n as f64;
    assert!((share - 0.5).abs() <= 0.06 + 1.3 / (n as f64).sqrt(), "{above} of {n} above the truth");
    assert!(u64::from(stopped) > n / 5, "{stopped}");
}
