//! What a table of somebody's runs supports: the statistics of an experiment, where there is enough to have any.
//!
//! Rows of one series and concurrency are compared with each other. In blocks, differences are taken within them and
//! given signs; else it is rearranged which runs were of the arm. All tests of the table are one family, held by
//! Benjamini and Hochberg.

use std::collections::BTreeMap;

use linerate_record::experiment::{
    Decision, EXPERIMENT_SCHEMA, Effect, Remark, RemarkKind, Role, TableReport, TableSeries,
};
use linerate_record::units::{bits_per_s, count};

use crate::randomisation::{Pool, arrangements, interval, p_value, pool, pool_of_groups};
use crate::table::{Row, Table};
use crate::{answer, design, drift, modality, state};

/// Names that say that an arm is the baseline.
const BASELINES: [&str; 3] = ["baseline", "default", "control"];

/// What is asked of a table.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Asked {
    /// What the slowest link on the way carries, in bits per second.
    pub link_bits_per_s: Option<f64>,
    /// The least effect that matters, as a share.
    pub matters_share: f64,
    /// Share of the effects called that may be none.
    pub alpha: f64,
    /// Of draws, where there are too many rearrangements to go through.
    pub seed: u64,
}

/// A table that holds nothing to analyse.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AnalyzeError {
    /// One arm, or none.
    #[error("one arm alone, {0:?}: a comparison takes two, by the column \"arm\"")]
    OneArm(String),
    /// No rows.
    #[error("no rows below the names of the columns: write one for each run")]
    Empty,
    /// A link cannot be held against numbers without a unit.
    #[error("a link was given, but values have no unit: write them as rates, such as 95MiB/s")]
    NoUnit,
}

/// Rows of one series at one concurrency.
struct Stratum<'a> {
    label: String,
    rows: Vec<&'a Row>,
    refused: Vec<&'a Row>,
}

/// Analyses a table.
///
/// # Errors
/// [`AnalyzeError`] where there is nothing to compare.
pub fn analyze(table: &Table, asked: &Asked) -> Result<TableReport, AnalyzeError> {
    let first = table.rows.first().ok_or(AnalyzeError::Empty)?;
    if table.rows.iter().all(|row| row.arm == first.arm) {
        return Err(AnalyzeError::OneArm(first.arm.clone()));
    }
    if asked.link_bits_per_s.is_some() && !table.bits_per_s {
        return Err(AnalyzeError::NoUnit);
    }
    let named = table.rows.iter().find(|row| BASELINES.contains(&row.arm.to_ascii_lowercase().as_str()));
    let baseline = &named.unwrap_or(first).arm;
    let strata = strata(table, asked.link_bits_per_s);
    let mut series: Vec<TableSeries> =
        strata.iter().map(|stratum| one_series(stratum, baseline, table.blocked, asked)).collect();
    judge(&mut series, &strata, asked);
    let mut remarks: Vec<Remark> = strata.iter().flat_map(|s| of_stratum(s, table.bits_per_s, asked)).collect();
    remarks.extend(arms_apart(&strata, baseline, table.blocked));
    remarks.extend(always_rising(table));
    remarks.sort_by_key(|remark| remark.kind);
    Ok(TableReport {
        schema: EXPERIMENT_SCHEMA,
        alpha: asked.alpha,
        matters_share: asked.matters_share,
        link_bits_per_s: asked.link_bits_per_s,
        seed: asked.seed,
        bits_per_s: table.bits_per_s,
        series,
        remarks,
    })
}

fn strata(table: &Table, link_bits_per_s: Option<f64>) -> Vec<Stratum<'_>> {
    let mut strata: Vec<Stratum<'_>> = Vec::new();
    for row in &table.rows {
        let at = row.concurrency.map_or_else(String::new, |n| format!("× {n}"));
        let label = format!("{} {at}", row.series).trim().to_owned();
        let known = strata.iter().position(|stratum| stratum.label == label).unwrap_or_else(|| {
            strata.push(Stratum { label, rows: Vec::new(), refused: Vec::new() });
            strata.len() - 1
        });
        let impossible = link_bits_per_s.is_some_and(|link| row.value > link);
        let rows = if impossible { &mut strata[known].refused } else { &mut strata[known].rows };
        rows.push(row);
    }
    strata
}

/// Logarithms of an arm's figures.
fn figures(stratum: &Stratum<'_>, arm: &str) -> Vec<f64> {
    stratum.rows.iter().filter(|row| row.arm == arm).map(|row| row.value.ln()).collect()
}

/// Arms of a stratum, refused ones too, in the order of the table.
fn arms<'a>(stratum: &Stratum<'a>) -> Vec<&'a str> {
    let mut rows: Vec<&Row> = stratum.rows.iter().chain(&stratum.refused).copied().collect();
    rows.sort_by_key(|row| row.line);
    let mut arms: Vec<&str> = Vec::new();
    for row in rows {
        if !arms.contains(&row.arm.as_str()) {
            arms.push(&row.arm);
        }
    }
    arms
}

fn one_series(stratum: &Stratum<'_>, baseline: &str, blocked: bool, asked: &Asked) -> TableSeries {
    let of_baseline = figures(stratum, baseline);
    let others = arms(stratum).into_iter().filter(|arm| *arm != baseline);
    TableSeries {
        label: stratum.label.clone(),
        baseline: baseline.to_owned(),
        baseline_runs: of_baseline.len() as u32,
        baseline_value: (!of_baseline.is_empty()).then(|| drift::mean(&of_baseline).exp()),
        blocked,
        effects: others.map(|arm| effect(stratum, baseline, arm, blocked, asked)).collect(),
    }
}

/// Differences of an arm from the baseline within blocks.
fn within_blocks(stratum: &Stratum<'_>, baseline: &str, arm: &str) -> Vec<f64> {
    let of = |row: &&&Row| row.arm == arm;
    let other = |run: &str| stratum.rows.iter().find(|row| row.arm == baseline && row.run == run);
    stratum.rows.iter().filter(of).filter_map(|row| Some(row.value.ln() - other(&row.run)?.value.ln())).collect()
}

/// An arm against the baseline, not yet judged: that takes the whole family.
fn effect(stratum: &Stratum<'_>, baseline: &str, arm: &str, blocked: bool, asked: &Asked) -> Effect {
    let (of_arm, of_baseline) = (figures(stratum, arm), figures(stratum, baseline));
    let draws = design::draws(asked.alpha);
    let (pool, ways, error, df, sd, runs) = if blocked {
        let d = within_blocks(stratum, baseline, arm);
        let n = d.len() as u32;
        let sd = state::deviation(&d);
        let error = sd.map(|sd| sd / f64::from(n).sqrt());
        (pool(&d, &[n], n, draws, asked.seed), f64::from(n).exp2(), error, d.len() as f64 - 1.0, sd, [n, n])
    } else {
        let (within, df) = pooled(stratum);
        let runs = [of_arm.len() as u32, of_baseline.len() as u32];
        let error = within.map(|sd| sd * runs.iter().map(|&n| 1.0 / f64::from(n)).sum::<f64>().sqrt());
        // A difference within a block has two figures' worth of spread.
        let sd = within.map(|sd| sd * f64::sqrt(2.0));
        let ways = arrangements(of_arm.len() + of_baseline.len(), of_arm.len());
        (pool_of_groups(&of_arm, &of_baseline, draws, asked.seed), ways, error, df, sd, runs)
    };
    let has = runs.iter().all(|&n| n > 0);
    let testable = has && ways * asked.alpha / 2.0 >= 1.0 - 1e-9;
    let (low, high) = if testable { interval(&pool, &[asked.alpha / 2.0]) } else { (None, None) };
    let needed = sd.map(|sd| design::needed(asked.matters_share.ln_1p(), sd, asked.alpha));
    Effect {
        arm: arm.to_owned(),
        role: Role::Trial,
        runs: runs[0],
        baseline_runs: runs[1],
        share: has.then(|| pool.estimate().exp_m1()),
        low_share: low.map(f64::exp_m1),
        high_share: high.map(f64::exp_m1),
        p: has.then(|| p_of(&pool)),
        detectable_share: error
            .filter(|error| has && *error > 0.0)
            .map(|error| design::detectable(error, df, asked.alpha).exp_m1()),
        runs_needed: needed,
        needed_ns: None,
        effective: None,
        decision: if has || stratum.refused.is_empty() { Decision::CannotTell } else { Decision::Refused },
        sentence: String::new(),
    }
}

fn p_of(pool: &Pool) -> f64 {
    p_value(pool, |alpha| vec![alpha / 2.0])
}

/// Standard deviation of runs of one arm, over all arms that ran more than once, and its degrees of freedom. Runs
/// that all agree say how figures were rounded, and nothing of their spread.
fn pooled(stratum: &Stratum<'_>) -> (Option<f64>, f64) {
    let (mut squares, mut df) = (0.0, 0.0);
    for arm in arms(stratum) {
        let figures = figures(stratum, arm);
        if let Some(sd) = state::deviation(&figures) {
            squares += sd * sd * (figures.len() - 1) as f64;
            df += (figures.len() - 1) as f64;
        }
    }
    ((squares > 0.0).then(|| (squares / df).sqrt()), df)
}

/// Judges the family: Benjamini and Hochberg over every arm, series and concurrency that could have shown anything.
fn judge(series: &mut [TableSeries], strata: &[Stratum<'_>], asked: &Asked) {
    let mut tested: Vec<f64> =
        series.iter().flat_map(|s| &s.effects).filter(|e| testable(e)).filter_map(|e| e.p).collect();
    tested.sort_by(f64::total_cmp);
    let family = tested.len() as f64;
    let within = tested.iter().zip(1_u32..).filter(|(p, k)| **p <= asked.alpha * f64::from(*k) / family + 1e-9);
    let bound = within.map(|(p, _)| *p).fold(0.0, f64::max);
    for (series, stratum) in series.iter_mut().zip(strata) {
        let (baseline, blocked) = (series.baseline.clone(), series.blocked);
        for effect in &mut series.effects {
            if testable(effect) {
                let called = effect.p.is_some_and(|p| p <= bound);
                let inside = |end: Option<f64>| end.is_some_and(|end| end.abs() < asked.matters_share);
                let bounded = inside(effect.low_share) && inside(effect.high_share);
                let by_time = !blocked && apart(stratum, &baseline, &effect.arm);
                effect.decision = match (called, bounded, by_time) {
                    (false, false, _) => Decision::NotShown,
                    (_, _, true) => Decision::Confounded,
                    (true, ..) => Decision::Shown,
                    _ => Decision::RuledOut,
                };
            }
            let unit = if blocked { "block" } else { "run" };
            effect.sentence = match effect.decision {
                Decision::Refused => refusal(stratum, &baseline, &effect.arm, asked),
                _ => answer::sentence(effect, &baseline, asked.alpha, asked.matters_share, unit),
            };
        }
    }
}

/// Whether a test could have shown anything: then there is an interval.
const fn testable(effect: &Effect) -> bool {
    effect.low_share.is_some() || effect.high_share.is_some()
}

fn refusal(stratum: &Stratum<'_>, baseline: &str, arm: &str, asked: &Asked) -> String {
    let link = asked.link_bits_per_s.map_or_else(String::new, bits_per_s);
    let of = |arm: &str| stratum.refused.iter().filter(|row| row.arm == arm).map(|row| row.value).fold(0.0, f64::max);
    let (own, other) = (of(arm), of(baseline));
    let told = |name: &str, most: f64| {
        format!("refused: {name} is told at {}, above the link's {link}; it did not cross that link", bits_per_s(most))
    };
    match figures(stratum, baseline).as_slice() {
        _ if own == 0.0 => told(baseline, other),
        [] => told(arm, own),
        of_baseline => {
            let mean = bits_per_s(drift::mean(of_baseline).exp());
            format!("{}, and is not comparable with {baseline}'s {mean}", told(arm, own))
        }
    }
}

/// Whether all runs of an arm came before or after all of the baseline.
fn apart(stratum: &Stratum<'_>, baseline: &str, arm: &str) -> bool {
    let orders = |name: &str| -> Vec<u32> {
        stratum.rows.iter().filter(|row| row.arm == name).filter_map(|row| row.order).collect()
    };
    let (a, b) = (orders(arm), orders(baseline));
    let ends = |orders: &[u32]| Some((*orders.iter().min()?, *orders.iter().max()?));
    match (ends(&a), ends(&b)) {
        (Some((a_first, a_last)), Some((b_first, b_last))) => a_first > b_last || a_last < b_first,
        _ => false,
    }
}

/// What one series hides or cannot be.
fn of_stratum(stratum: &Stratum<'_>, bits: bool, asked: &Asked) -> Vec<Remark> {
    let told = |value: f64| if bits { bits_per_s(value) } else { count(value) };
    let about = if stratum.label.is_empty() { "the table" } else { stratum.label.as_str() };
    let remark = |kind, sentence: String| Remark { kind, about: about.to_owned(), sentence };
    let run = |row: &Row| if row.run.is_empty() { row.arm.clone() } else { format!("{} (run {})", row.arm, row.run) };
    let mut found = Vec::new();
    for row in &stratum.refused {
        let link = asked.link_bits_per_s.map_or_else(String::new, bits_per_s);
        let sentence = format!(
            "line {}: {} of {} is above the link's {link}: left out, with whatever was compared with it",
            row.line,
            told(row.value),
            run(row)
        );
        found.push(remark(RemarkKind::Impossible, sentence));
    }
    let values: Vec<f64> = stratum.rows.iter().map(|row| row.value.ln()).collect();
    if let Some(groups) = modality::groups(&values, asked.seed) {
        let [(low, at_low), (high, at_high)] = [groups.low, groups.high];
        found.push(remark(
            RemarkKind::Bimodal,
            format!(
                "two kinds of runs whatever the arm: {low} around {}, {high} around {}; find what switches between \
                 them before comparing arms, a mean hides both",
                told(at_low.exp()),
                told(at_high.exp())
            ),
        ));
    }
    for i in modality::outlying(&values) {
        let row = stratum.rows[i];
        found.push(remark(RemarkKind::Outlying, format!("{} of {} is far from the others", told(row.value), run(row))));
    }
    found
}

/// Arms whose runs are not interleaved with the baseline's.
fn arms_apart(strata: &[Stratum<'_>], baseline: &str, blocked: bool) -> Option<Remark> {
    let (mut all, mut separate) = (0, 0);
    for stratum in strata {
        for arm in arms(stratum).into_iter().filter(|arm| *arm != baseline && !figures(stratum, arm).is_empty()) {
            all += 1;
            separate += u32::from(apart(stratum, baseline, arm));
        }
    }
    (separate > 0 && !blocked).then(|| Remark {
        kind: RemarkKind::ConfoundedWithTime,
        about: "arms".to_owned(),
        sentence: format!(
            "in {separate} of {all} comparisons all runs of the arm came before or after all of {baseline}: an effect \
             of the arm and one of time look the same; interleave them"
        ),
    })
}

/// Whether concurrency rose with time in every sweep of at least three steps, or fell.
fn always_rising(table: &Table) -> Option<Remark> {
    let mut sweeps: BTreeMap<[&str; 3], Vec<(u32, u32)>> = BTreeMap::new();
    for row in &table.rows {
        let (Some(order), Some(concurrency)) = (row.order, row.concurrency) else { continue };
        sweeps.entry([&row.series, &row.arm, &row.run]).or_default().push((order, concurrency));
    }
    let mut all: Vec<Vec<(u32, u32)>> = sweeps.into_values().filter(|steps| steps.len() > 2).collect();
    all.iter_mut().for_each(|steps| steps.sort_unstable());
    let each = |way: fn(&u32, &u32) -> bool| {
        let rises = |steps: &Vec<(u32, u32)>| steps.windows(2).all(|pair| way(&pair[0].1, &pair[1].1));
        !all.is_empty() && all.iter().all(rises)
    };
    let way = if each(|a, b| a < b) { "rose" } else { "fell" };
    (way == "rose" || each(|a, b| a > b)).then(|| Remark {
        kind: RemarkKind::ConfoundedWithTime,
        about: "concurrency".to_owned(),
        sentence: format!(
            "concurrency {way} with time in all {} sweeps: what concurrency does and what time does (caches, thermal \
             limits, what earlier steps left behind) cannot be told apart; draw its order",
            all.len()
        ),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table::read;

    fn asked() -> Asked {
        Asked { link_bits_per_s: None, matters_share: 0.02, alpha: 0.05, seed: 1 }
    }

    fn of(text: &str) -> TableReport {
        analyze(&read(text).unwrap(), &asked()).unwrap()
    }

    /// Blocks of two arms: the second is `share` faster, give or take a spread that changes sign each block.
    fn blocks(n: u32, share: f64, spread: f64, column: &str) -> String {
        let row = |i: u32| {
            let (level, away) = (100.0 + f64::from(i), if i.is_multiple_of(2) { spread } else { -spread });
            format!("default,{i},{},{level}\nlarger,{i},{},{}\n", 2 * i, 2 * i + 1, level * (1.0 + share + away))
        };
        format!("arm,{column},order,value\n{}", (0..n).map(row).collect::<String>())
    }

    #[test]
    fn blocks_show_an_effect_rule_one_out_or_say_what_they_would_have_seen() {
        for (n, share, spread, decision, part) in [
            (12, 0.05, 0.01, Decision::Shown, "5.0 % higher than default (+"),
            (12, 0.0, 0.005, Decision::RuledOut, "no effect larger than 0."),
            (12, 0.0, 0.05, Decision::NotShown, "no effect shown (−"),
            (5, 0.05, 0.01, Decision::CannotTell, "cannot tell; detectable effect"),
        ] {
            let report = of(&blocks(n, share, spread, "block"));
            let effect = &report.series[0].effects[0];
            assert!(effect.decision == decision && effect.sentence.contains(part), "{effect:?}");
        }
    }

    #[test]
    fn interleaved_runs_without_blocks_are_tested_less_sharply_and_separated_ones_are_confounded() {
        let report = of(&blocks(12, 0.3, 0.01, "run"));
        assert_eq!(report.series[0].effects[0].decision, Decision::Shown, "{report:?}");
        let rows = |arm: &str, from: u32, level: u32| -> String {
            (0..6).map(|i| format!("{arm},{},{}\n", from + i, level + i)).collect()
        };
        let text = format!("arm,order,value\n{}{}", rows("default", 0, 100), rows("larger", 6, 150));
        let report = of(&text);
        assert_eq!(report.series[0].effects[0].decision, Decision::Confounded, "{report:?}");
        assert!(report.remarks.iter().any(|r| r.kind == RemarkKind::ConfoundedWithTime && r.about == "arms"));
    }

    #[test]
    fn nothing_to_compare_is_an_error() {
        let table = |text: &str| read(text).unwrap();
        assert_eq!(analyze(&table("arm,value\n"), &asked()), Err(AnalyzeError::Empty));
        assert_eq!(analyze(&table("arm,value\na,1\na,2\n"), &asked()), Err(AnalyzeError::OneArm("a".to_owned())));
        let link = Asked { link_bits_per_s: Some(1e9), ..asked() };
        assert_eq!(analyze(&table("arm,value\na,1\nb,2\n"), &link), Err(AnalyzeError::NoUnit));
    }
}
