//! Experiments conducted on recorded hours of real servers, whose arms differ by what is planted: how often an effect
//! is called that is none, and how often an interval leaves one out that is there. `LINERATE_WORLDS=N` conducts N.

#[path = "../../worlds/tests/hours/mod.rs"]
mod hours;

use linerate_experiment::design::{self, DesignRequest, design};
use linerate_experiment::protocol::{next, observe, report};
use linerate_experiment::state::{ExperimentState, begin};
use linerate_record::experiment::{CellOutcome, Decision, Effect, ExperimentStep};
use linerate_worlds::{HeldShare, RecordedSeries, SeededRng, table, tries};

use self::hours::hours;

const SECOND: u64 = 1_000_000_000;
/// Seconds to settle in, and those measured after.
const SETTLE: u64 = 2;
const MEASURE: u64 = 8;
/// Most blocks of an experiment: with both cells of the baseline it lasts 40 minutes.
const BLOCKS: u32 = 24;

/// An experiment that begins somewhere in the hour; from its end it goes on with the hour's begin.
fn conducted(hour: &RecordedSeries, effect: f64, seed: u64) -> ExperimentState {
    let requested = DesignRequest {
        blocks_max: BLOCKS,
        settle_first_ns: SETTLE * SECOND,
        measure_ns: MEASURE * SECOND,
        ..design::requested("default", vec!["new".to_owned()], seed)
    };
    let mut planned = design(&requested).expect("a design that can be run");
    planned.draws = 1000;
    let arm = planned.arms.len() as u32 - 1;
    let seconds: Vec<u64> = hour.intervals(0, 1000).collect();
    let begin_s = (SeededRng::new(seed, 37).unit() * seconds.len() as f64) as usize;
    let (mut state, mut now_s) = (begin(planned), 0);
    while let ExperimentStep::Measure(cell) = next(&state) {
        let lasts_s = (cell.settle_ns / SECOND + MEASURE) as usize;
        let factor = if cell.arm == arm { effect.exp() } else { 1.0 };
        let of_second = |s: usize| seconds[(begin_s + now_s + s) % seconds.len()] as f64 * factor;
        let outcome = CellOutcome {
            started_ns: now_s as u64 * SECOND,
            ended_ns: (now_s + lasts_s) as u64 * SECOND,
            interval_ns: SECOND,
            throughput_per_s: (0..lasts_s).map(of_second).collect(),
            ..CellOutcome::default()
        };
        now_s += lasts_s;
        state = observe(state, &outcome);
    }
    state
}

/// What came of experiments of one hour and one effect.
#[derive(Default)]
struct Came {
    called: HeldShare,
    void: HeldShare,
    missed: HeldShare,
    half_widths: Vec<f64>,
    cells: usize,
}

fn came(hour: &RecordedSeries, effect: f64, n: u64) -> Came {
    let (mut came, truth) = (Came::default(), effect.exp_m1());
    for seed in 0..n {
        let report = report(&conducted(hour, effect, seed));
        let Effect { decision, low_share, high_share, .. } = report.effects[0].clone();
        let is_void = [Decision::CarriedOver, Decision::NotSettled, Decision::AtFirst, Decision::ExcludesBlocks]
            .contains(&decision);
        came.called.add(decision == Decision::Shown);
        came.void.add(is_void);
        if !is_void {
            came.missed.add(low_share.is_some_and(|low| low > truth) || high_share.is_some_and(|high| high < truth));
        }
        came.half_widths.extend(high_share.zip(low_share).map(|(high, low)| (high - low) / 2.0));
        came.cells += report.blocks.iter().map(|block| block.cells.len()).sum::<usize>();
    }
    came.half_widths.sort_by(f64::total_cmp);
    came
}

const COLUMNS: [&str; 7] = [
    "recorded hour",
    "effect, %",
    "called, %",
    "void, %",
    "missed by the interval, %",
    "half width (median), %",
    "cells",
];

#[test]
fn on_recorded_hours_no_more_is_called_than_alpha_and_intervals_hold_what_is_planted() {
    let (mut rows, mut falsely, mut missed) = (Vec::new(), HeldShare::default(), HeldShare::default());
    let (hours, n) = (hours(), tries(40));
    assert!(hours.len() >= 6, "{} recorded hours", hours.len());
    for (name, hour) in &hours {
        for effect in [0.0, 0.1_f64] {
            let came = came(hour, effect, n);
            let median = came.half_widths.get(came.half_widths.len() / 2).copied().unwrap_or(f64::NAN);
            rows.push(vec![
                name.clone(),
                format!("{:+.1}", 100.0 * effect.exp_m1()),
                came.called.in_words(),
                came.void.in_words(),
                came.missed.in_words(),
                format!("{:.1}", 100.0 * median),
                format!("{:.1}", came.cells as f64 / n as f64),
            ]);
            let sum = |all: HeldShare, some: HeldShare| HeldShare {
                count: all.count + some.count,
                held: all.held + some.held,
            };
            missed = sum(missed, came.missed);
            falsely = if effect == 0.0 { sum(falsely, came.called) } else { falsely };
        }
    }
    println!("{}", table("experiments-recorded", "Experiments on recorded hours of real servers", &COLUMNS, &rows));
    // Five in a hundred, and 2.6 standard errors of so many.
    let most = |n: u64| 0.05 + 2.576 * (0.05 * 0.95 / n as f64).sqrt();
    assert!(falsely.value() <= most(falsely.count), "called falsely: {}", falsely.in_words());
    assert!(missed.value() <= most(missed.count), "left out what was planted: {}", missed.in_words());
}
