//! What a table of somebody's runs supports: the statistics of an experiment, where there is enough to have any.
//!
//! Rows of one series and concurrency are compared with each other. In blocks, differences are taken within them and
//! given signs; else it is rearranged which runs were of the arm, by studentised differences. All tests of the table
//! are one family, held by Benjamini and Hochberg. A difference is an effect of the arm only where the order of runs is
//! said to have been drawn, is in the table, and looks like a draw; and nothing is compared of which one arm lacks more
//! than the other.

use std::collections::BTreeMap;

use linerate_record::experiment::{
    ArmVerdict, Decision, EXPERIMENT_SCHEMA, Effect, Remark, RemarkKind, Role, TableReport, TableSeries,
};
use linerate_record::units::bits_per_s;

use crate::missing_data::{ConcurrencyRows, lacking};
use crate::permutation_test::{self, arrangements};
use crate::randomisation::{interval, p_value, pool};
use crate::run_order::{self, PlaceOrder};
use crate::sentences::{self, ExperimentalUnit};
use crate::table::{Table, TableRow};
use crate::{decisions, design, drift};

mod carry_over;
mod remarks;

/// Names that say that an arm is the baseline.
const BASELINES: [&str; 3] = ["baseline", "default", "control"];

/// Figures rearranged for a whole table, about: some seconds. What a level needs at least is drawn whatever comes of
/// it.
const FIGURES_MAX: f64 = 1e9;

/// What is asked of a table.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AnalysisOptions {
    /// What the slowest link on the way carries, in bits per second.
    pub link_bits_per_s: Option<f64>,
    /// The least effect that matters, as a share.
    pub matters_share: f64,
    /// Share of the effects called that may be none.
    pub alpha: f64,
    /// Of draws, where there are too many rearrangements to go through.
    pub seed: u64,
    /// Whether the order of runs was drawn: in each block where there are blocks, else of all.
    pub drawn: bool,
}

/// A table that holds nothing to analyse.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AnalyzeError {
    /// One arm, or none.
    #[error("one arm alone, {0:?}: a comparison takes two, by the column \"arm\"")]
    OneArm(String),
    #[error("no rows below the names of the columns: write one for each run")]
    Empty,
    /// A link cannot be held against numbers without a unit.
    #[error("a link was given, but values have no unit: write them as rates, such as 95MiB/s")]
    NoUnit,
}

/// Rows of one series at one concurrency.
struct Stratum<'a> {
    label: String,
    series: &'a str,
    cells: ConcurrencyRows<'a>,
}

/// What all comparisons of a table share.
struct Family<'a> {
    baseline: &'a str,
    blocked: bool,
    draws: u32,
    requested: &'a AnalysisOptions,
}

/// An arm against the baseline, with what its decision takes beside the figures.
struct Compared {
    effect: Effect,
    order: PlaceOrder,
    lacking: [usize; 2],
    testable: bool,
    /// Whether too few runs could be rearranged, so that Welch's t alone judged them.
    is_by_t_alone: bool,
}

/// Analyses a table.
///
/// # Errors
/// [`AnalyzeError`] where there is nothing to compare.
pub fn analyze(table: &Table, requested: &AnalysisOptions) -> Result<TableReport, AnalyzeError> {
    let first = table.rows.first().ok_or(AnalyzeError::Empty)?;
    let all = || table.rows.iter().chain(&table.missing);
    if all().all(|row| row.arm == first.arm) {
        return Err(AnalyzeError::OneArm(first.arm.clone()));
    }
    if requested.link_bits_per_s.is_some() && !table.bits_per_s {
        return Err(AnalyzeError::NoUnit);
    }
    let named = all().find(|row| BASELINES.contains(&row.arm.to_ascii_lowercase().as_str()));
    let baseline = named.unwrap_or(first).arm.as_str();
    let strata = strata(table, requested.link_bits_per_s);
    let others = |stratum: &Stratum<'_>| arms(stratum).into_iter().filter(|arm| *arm != baseline).count();
    let tests: usize = strata.iter().map(others).sum();
    let family = Family { baseline, blocked: table.blocked, draws: draws(table, tests, requested.alpha), requested };
    let mut compared: Vec<Vec<Compared>> = (0..strata.len()).map(|at| one_series(&strata, at, &family)).collect();
    judge(&mut compared, &strata, &family);
    let mut remarks: Vec<Remark> =
        strata.iter().flat_map(|s| remarks::of_stratum(s, table.bits_per_s, requested)).collect();
    remarks.extend(uneven(&compared));
    remarks.extend(remarks::always_rising(table));
    remarks.sort_by_key(|remark| remark.kind);
    Ok(TableReport {
        schema: EXPERIMENT_SCHEMA,
        alpha: requested.alpha,
        matters_share: requested.matters_share,
        link_bits_per_s: requested.link_bits_per_s,
        seed: requested.seed,
        bits_per_s: table.bits_per_s,
        drawn: requested.drawn,
        series: strata.iter().zip(compared).map(|(stratum, found)| table_series(stratum, found, &family)).collect(),
        remarks,
    })
}

/// What differs in a table is no effect of an arm.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("what differs is an association, confounded with time, or carried over: no effect of the arm")]
pub struct NoEffect;

/// Refuses a table in which an arm differs by something that need not be the arm.
///
/// # Errors
/// [`NoEffect`].
pub fn require_effects(found: &TableReport) -> Result<(), NoEffect> {
    let mut effects = found.series.iter().flat_map(|series| &series.effects);
    let is_none = |effect: &Effect| {
        matches!(effect.decision, Decision::Association | Decision::Confounded | Decision::CarriedOver)
    };
    if effects.any(is_none) { Err(NoEffect) } else { Ok(()) }
}

/// Rearrangements drawn of each comparison: as many as the least level takes that one of the family is held against.
fn draws(table: &Table, tests: usize, alpha: f64) -> u32 {
    let afforded = FIGURES_MAX / table.rows.len().max(1) as f64;
    design::draws(alpha / tests.max(1) as f64).min(afforded as u32).max(design::draws(alpha))
}

fn strata(table: &Table, link_bits_per_s: Option<f64>) -> Vec<Stratum<'_>> {
    let mut strata: Vec<Stratum<'_>> = Vec::new();
    let is_missing = |row: &TableRow| row.value <= 0.0;
    for row in table.rows.iter().chain(&table.missing) {
        let at = row.concurrency.map_or_else(String::new, |n| format!("× {n}"));
        let label = format!("{} {at}", row.series).trim().to_owned();
        let known = strata.iter().position(|stratum| stratum.label == label).unwrap_or_else(|| {
            strata.push(Stratum { label, series: &row.series, cells: ConcurrencyRows::default() });
            strata.len() - 1
        });
        let cells = &mut strata[known].cells;
        let is_impossible = link_bits_per_s.is_some_and(|link| row.value > link);
        match (is_missing(row), is_impossible) {
            (true, _) => cells.missing.push(row),
            (_, true) => cells.refused.push(row),
            _ => cells.rows.push(row),
        }
    }
    strata
}

/// Logarithms of an arm's figures.
fn figures(stratum: &Stratum<'_>, arm: &str) -> Vec<f64> {
    stratum.cells.rows.iter().filter(|row| row.arm == arm).map(|row| row.value.ln()).collect()
}

/// Arms of a stratum, those without a figure that counts too, in the order of the table.
fn arms<'a>(stratum: &Stratum<'a>) -> Vec<&'a str> {
    let mut rows: Vec<&TableRow> = stratum.cells.all().collect();
    rows.sort_by_key(|row| row.line);
    let mut arms: Vec<&str> = Vec::new();
    for row in rows {
        if !arms.contains(&row.arm.as_str()) {
            arms.push(&row.arm);
        }
    }
    arms
}

fn one_series(strata: &[Stratum<'_>], at: usize, family: &Family<'_>) -> Vec<Compared> {
    let stratum = &strata[at];
    let elsewhere: Vec<&ConcurrencyRows<'_>> = strata
        .iter()
        .enumerate()
        .filter(|(i, other)| *i != at && other.series == stratum.series)
        .map(|(_, other)| &other.cells)
        .collect();
    let others = arms(stratum).into_iter().filter(|arm| *arm != family.baseline);
    others.map(|arm| compared(stratum, &elsewhere, arm, family)).collect()
}

fn table_series(stratum: &Stratum<'_>, found: Vec<Compared>, family: &Family<'_>) -> TableSeries {
    let of_baseline = figures(stratum, family.baseline);
    // Without blocks the spread of runs is that of the whole series, and so is what an effect takes.
    let needed = found.iter().filter_map(|one| one.effect.runs_needed).max();
    let effects = found.into_iter().map(|one| Effect { verdict: decisions::verdict(&one.effect), ..one.effect });
    TableSeries {
        label: stratum.label.clone(),
        baseline: family.baseline.to_owned(),
        baseline_runs: of_baseline.len() as u32,
        baseline_value: (!of_baseline.is_empty()).then(|| drift::mean(&of_baseline).exp()),
        blocked: family.blocked,
        runs_needed: needed.filter(|_| !family.blocked),
        effects: effects.collect(),
    }
}

/// The arm's row of each block beside the baseline's.
fn pairs<'a>(stratum: &Stratum<'a>, baseline: &str, arm: &str) -> Vec<(&'a TableRow, &'a TableRow)> {
    let rows_by_run = |name: &str| -> BTreeMap<&'a str, &'a TableRow> {
        stratum.cells.rows.iter().filter(|row| row.arm == name).map(|row| (row.run.as_str(), *row)).collect()
    };
    let base = rows_by_run(baseline);
    let of_arm = stratum.cells.rows.iter().filter(|row| row.arm == arm);
    of_arm.filter_map(|row| Some((*row, *base.get(row.run.as_str())?))).collect()
}

/// What the figures of an arm come to, by either test.
struct Tested {
    share: f64,
    p: f64,
    /// Whether any figures of this number could have been called.
    testable: bool,
    is_by_t_alone: bool,
    ends: (Option<f64>, Option<f64>),
}

/// An arm against the baseline, not yet judged: that takes the whole family.
fn compared(stratum: &Stratum<'_>, elsewhere: &[&ConcurrencyRows<'_>], arm: &str, family: &Family<'_>) -> Compared {
    let (requested, blocked) = (family.requested, family.blocked);
    let pairs = pairs(stratum, family.baseline, arm);
    let (of_arm, of_baseline) = (figures(stratum, arm), figures(stratum, family.baseline));
    let (tested, sd, error, df, runs, order) = if blocked {
        let d: Vec<f64> = pairs.iter().map(|(own, base)| own.value.ln() - base.value.ln()).collect();
        let (n, sd) = (d.len() as u32, drift::deviation(&d));
        let places: Vec<_> = pairs.iter().map(|(own, base)| own.order.zip(base.order)).collect();
        let order = run_order::within_blocks(&places, family.baseline);
        let error = sd.map(|sd| sd / f64::from(n).sqrt());
        (by_blocks(&d, family), sd, error, f64::from(n) - 1.0, [n, n], order)
    } else {
        let (within, df) = pooled(stratum);
        let groups = permutation_test::groups(&of_arm, &of_baseline, family.draws, requested.seed, requested.alpha);
        let places = |name: &str| -> Vec<Option<u32>> {
            stratum.cells.rows.iter().filter(|row| row.arm == name).map(|row| row.order).collect()
        };
        let order = run_order::of_runs(&places(arm), &places(family.baseline), family.baseline, requested.seed);
        let error = groups.as_ref().map(permutation_test::Groups::error);
        let runs = [of_arm.len() as u32, of_baseline.len() as u32];
        // A difference within a block has two figures' worth of spread.
        (by_groups(groups, requested.alpha), within.map(|sd| sd * f64::sqrt(2.0)), error, df, runs, order)
    };
    let testable = tested.as_ref().is_some_and(|tested| tested.testable);
    let is_by_t_alone = tested.as_ref().is_some_and(|tested| tested.is_by_t_alone);
    let (low, high) = tested.as_ref().map_or((None, None), |tested| tested.ends);
    // A known spread and a test that could have used it; else there is none to tell.
    let detectable = error.filter(|error| testable && sd.is_some() && *error > 0.0);
    let effect = Effect {
        arm: arm.to_owned(),
        role: Role::Trial,
        runs: runs[0],
        baseline_runs: runs[1],
        share: tested.as_ref().map(|tested| tested.share.exp_m1()),
        low_share: low.map(f64::exp_m1),
        high_share: high.map(f64::exp_m1),
        p: tested.as_ref().map(|tested| tested.p),
        detectable_share: detectable.map(|error| design::detectable(error, df, requested.alpha).exp_m1()),
        runs_needed: sd.map(|sd| design::needed(requested.matters_share.ln_1p(), sd, requested.alpha)),
        needed_ns: None,
        effective: None,
        lasting: None,
        decision: Decision::CannotTell,
        verdict: ArmVerdict::default(),
        sentence: String::new(),
    };
    let lacking = lacking(&stratum.cells, elsewhere, arm, family.baseline, blocked);
    Compared { effect, order, lacking, testable, is_by_t_alone }
}

fn by_blocks(d: &[f64], family: &Family<'_>) -> Option<Tested> {
    let (n, alpha) = (d.len() as u32, family.requested.alpha);
    let pool = pool(d, &[n], n, family.draws, family.requested.seed);
    let testable = f64::from(n).exp2() * alpha / 2.0 >= 1.0 - 1e-9;
    (n > 0).then(|| Tested {
        share: pool.estimate(),
        p: p_value(&pool, |alpha| vec![alpha / 2.0]),
        testable,
        is_by_t_alone: false,
        ends: if testable { interval(&pool, &[alpha / 2.0]) } else { (None, None) },
    })
}

fn by_groups(groups: Option<permutation_test::Groups>, alpha: f64) -> Option<Tested> {
    groups.map(|groups| {
        let testable = groups.can_reject();
        let ends = if testable { groups.interval(alpha) } else { (None, None) };
        let is_by_t_alone = groups.is_by_t_alone();
        Tested { share: groups.estimate(), p: groups.p_value(), testable, is_by_t_alone, ends }
    })
}

/// Standard deviation of runs of one arm, over all arms that ran more than once, and its degrees of freedom. Runs
/// that all agree say how figures were rounded, and nothing of their spread.
fn pooled(stratum: &Stratum<'_>) -> (Option<f64>, f64) {
    let (mut squares, mut df) = (0.0, 0.0);
    for arm in arms(stratum) {
        let figures = figures(stratum, arm);
        if let Some(sd) = drift::deviation(&figures) {
            squares += sd * sd * (figures.len() - 1) as f64;
            df += (figures.len() - 1) as f64;
        }
    }
    ((squares > 0.0).then(|| (squares / df).sqrt()), df)
}

/// Judges the family: Benjamini and Hochberg over every arm, series and concurrency that could have shown anything.
fn judge(compared: &mut [Vec<Compared>], strata: &[Stratum<'_>], family: &Family<'_>) {
    let requested = family.requested;
    let candidates = compared.iter().flatten().filter(|one| one.testable && one.lacking[0] == one.lacking[1]);
    let mut tested: Vec<f64> = candidates.filter_map(|one| one.effect.p).collect();
    tested.sort_by(f64::total_cmp);
    let level = |k: usize| requested.alpha * k as f64 / tested.len() as f64;
    let bound = (1..).zip(&tested).filter(|(k, p)| **p <= level(*k) + 1e-9).map(|(_, p)| *p).fold(0.0, f64::max);
    for (found, stratum) in compared.iter_mut().zip(strata) {
        for one in found {
            let called = one.effect.p.is_some_and(|p| p <= bound);
            let none_can_be = one.effect.share.is_none() && !stratum.cells.refused.is_empty();
            one.effect.decision = if none_can_be { Decision::Refused } else { decision(one, called, requested) };
            // What its own place in the family asks, where it is not enough by itself.
            let asks = one.effect.p.map_or(0.0, |p| level(tested.partition_point(|other| *other <= p)));
            one.effect.sentence = match carry_over::reason(one, stratum, family) {
                Some(why) => {
                    one.effect.decision = Decision::CarriedOver;
                    sentences::void(&one.effect, family.baseline, requested.alpha, "", &why)
                }
                None => sentence(one, stratum, family, tested.len(), asks),
            };
        }
    }
}

fn decision(one: &Compared, called: bool, requested: &AnalysisOptions) -> Decision {
    let effect = &one.effect;
    if one.lacking[0] != one.lacking[1] {
        return Decision::Refused;
    }
    if !one.testable {
        return Decision::CannotTell;
    }
    let inside = |end: Option<f64>| end.is_some_and(|end| end.abs() < requested.matters_share);
    let bounded = inside(effect.low_share) && inside(effect.high_share);
    match (&one.order, requested.drawn) {
        _ if !called && !bounded => Decision::NotShown,
        (PlaceOrder::Uneven(_), _) => Decision::Confounded,
        (PlaceOrder::Even, true) if called => Decision::Shown,
        (PlaceOrder::Even, true) => Decision::RuledOut,
        _ => Decision::Association,
    }
}

fn sentence(one: &Compared, stratum: &Stratum<'_>, family: &Family<'_>, tests: usize, asks: f64) -> String {
    let (effect, requested, baseline) = (&one.effect, family.requested, family.baseline);
    let unit = if family.blocked { ExperimentalUnit::Block } else { ExperimentalUnit::Run };
    let plain = || {
        let by_t = if one.is_by_t_alone { " (Welch's t)" } else { "" };
        sentences::sentence(effect, baseline, requested.alpha, requested.matters_share, unit) + by_t
    };
    let by_chance = effect.p.is_some_and(|p| p <= requested.alpha);
    match (effect.decision, &one.order) {
        (Decision::Refused, _) => refusal(one, stratum, family),
        (Decision::CannotTell, order) => {
            let ways = arrangements((effect.runs + effect.baseline_runs) as usize, effect.runs as usize);
            let ways = if family.blocked { f64::from(effect.runs).exp2() } else { ways };
            let spread = pooled(stratum).0.filter(|_| !family.blocked);
            let order = if let PlaceOrder::Uneven(how) = order { Some(how.as_str()) } else { None };
            sentences::cannot_tell(effect, ways, spread, order, requested.alpha, unit)
        }
        (Decision::NotShown, _) if by_chance => {
            sentences::lost_in_family(effect, baseline, requested.alpha, tests, asks)
        }
        (Decision::Confounded, PlaceOrder::Uneven(how)) => format!("{}, but {how}: {}", plain(), sentences::OR_TIME),
        (Decision::Association, order) => {
            let why = match (requested.drawn, order) {
                (true, _) => "the places of its runs in time are not in the table (column \"order\")",
                _ => "nothing states that the order of runs was drawn (--drawn)",
            };
            format!("association: {}; {why}, and {}", plain(), sentences::OR_ALONGSIDE)
        }
        _ => plain(),
    }
}

/// Why nothing is said of an arm.
fn refusal(one: &Compared, stratum: &Stratum<'_>, family: &Family<'_>) -> String {
    let (arm, baseline, [own, other]) = (one.effect.arm.as_str(), family.baseline, one.lacking);
    let link = family.requested.link_bits_per_s.map_or_else(String::new, bits_per_s);
    let most = |arm: &str| {
        let of_arm = stratum.cells.refused.iter().filter(|row| row.arm == arm);
        of_arm.map(|row| row.value).max_by(f64::total_cmp)
    };
    let above = |name: &str, most: f64| {
        format!(
            "refused: {name} is reported at {}, above the link's {link}; it did not cross that link",
            bits_per_s(most)
        )
    };
    match (most(arm), most(baseline)) {
        (Some(most), _) => match figures(stratum, baseline).as_slice() {
            [] => above(arm, most),
            of_baseline => {
                let mean = bits_per_s(drift::mean(of_baseline).exp());
                format!("{}, and is not comparable with {baseline}'s {mean}", above(arm, most))
            }
        },
        (_, Some(most)) => above(baseline, most),
        _ => format!(
            "refused: {} and {} lack a figure that the other has; runs that failed may be the slow ones, so the rest \
             says nothing about the arm: measure them again",
            sentences::counted(own, arm, family.blocked),
            sentences::counted(other, baseline, family.blocked)
        ),
    }
}

/// Arms whose runs did not come when a draw would have put them.
fn uneven(compared: &[Vec<Compared>]) -> Option<Remark> {
    let with_figures = compared.iter().flatten().filter(|one| one.effect.share.is_some());
    let all = with_figures.clone().count();
    let found: Vec<&str> = with_figures
        .filter_map(|one| if let PlaceOrder::Uneven(how) = &one.order { Some(how.as_str()) } else { None })
        .collect();
    found.first().map(|how| Remark {
        kind: RemarkKind::ConfoundedWithTime,
        about: "arms".to_owned(),
        sentence: format!(
            "in {} of {all} comparisons runs did not come when a draw puts them (the first: {how}): an effect of the \
             arm and one of time or place look the same; draw the order",
            found.len()
        ),
    })
}

#[cfg(test)]
mod tests;
