//! What the figures of a table hide in their means, and what the order of its rows does.

use std::collections::BTreeMap;

use linerate_record::experiment::{Remark, RemarkKind};
use linerate_record::units::{bits_per_s, count};

use super::{AnalysisOptions, Stratum, arms, figures};
use crate::table::{Table, TableRow};
use crate::{bimodality, drift};

/// What one series hides or cannot be.
pub(super) fn of_stratum(stratum: &Stratum<'_>, bits: bool, requested: &AnalysisOptions) -> Vec<Remark> {
    let reported = |value: f64| if bits { bits_per_s(value) } else { count(value) };
    let about = if stratum.label.is_empty() { "the table" } else { stratum.label.as_str() };
    let remark = |kind, sentence: String| Remark { kind, about: about.to_owned(), sentence };
    let run =
        |row: &TableRow| if row.run.is_empty() { row.arm.clone() } else { format!("{} (run {})", row.arm, row.run) };
    let mut found = Vec::new();
    for row in &stratum.cells.refused {
        let link = requested.link_bits_per_s.map_or_else(String::new, bits_per_s);
        let sentence = format!(
            "line {}: {} of {} is above the link's {link}: left out, with whatever was compared with it",
            row.line,
            reported(row.value),
            run(row)
        );
        found.push(remark(RemarkKind::Impossible, sentence));
    }
    let values = without_arms(stratum);
    if let Some(groups) =
        bimodality::groups(&values, requested.seed).filter(|groups| is_mixed(stratum, &values, groups))
    {
        let [(low, at_low), (high, at_high)] = [groups.low, groups.high];
        found.push(remark(
            RemarkKind::Bimodal,
            format!(
                "two kinds of runs whatever the arm: {low} around {}, {high} around {}; find what switches between \
                 them before comparing arms, a mean hides both",
                reported(at_low.exp()),
                reported(at_high.exp())
            ),
        ));
    }
    for i in bimodality::outlying(&values, requested.seed) {
        let row = stratum.cells.rows[i];
        found.push(remark(
            RemarkKind::Outlying,
            format!("{} of {} is far from the others", reported(row.value), run(row)),
        ));
    }
    found
}

/// Runs of an arm from which its own mean is taken off, so that an effect is not taken for two kinds of runs.
const OWN_MEAN_MIN: usize = 4;

/// Logarithms of the figures, less what their arm differs by, where every arm has runs enough to say.
fn without_arms(stratum: &Stratum<'_>) -> Vec<f64> {
    let values: Vec<f64> = stratum.cells.rows.iter().map(|row| row.value.ln()).collect();
    let with_figures = arms(stratum).into_iter().map(|arm| (arm, figures(stratum, arm)));
    let by_arm: BTreeMap<&str, Vec<f64>> = with_figures.filter(|(_, figures)| !figures.is_empty()).collect();
    if by_arm.values().any(|figures| figures.len() < OWN_MEAN_MIN) {
        return values;
    }
    let middle = drift::mean(&values);
    let rows = stratum.cells.rows.iter().zip(&values);
    rows.map(|(row, v)| v - by_arm.get(row.arm.as_str()).map_or(0.0, |figures| drift::mean(figures) - middle)).collect()
}

/// Whether arms that ran more than once have runs of both groups: groups that are arms are an effect.
fn is_mixed(stratum: &Stratum<'_>, values: &[f64], groups: &bimodality::TwoGroups) -> bool {
    let between = f64::midpoint(groups.low.1, groups.high.1);
    let mut by_arm: BTreeMap<&str, [usize; 2]> = BTreeMap::new();
    for (row, value) in stratum.cells.rows.iter().zip(values) {
        by_arm.entry(row.arm.as_str()).or_default()[usize::from(*value > between)] += 1;
    }
    let several = by_arm.values().filter(|[low, high]| low + high > 1);
    let (few, all) = several.fold((0, 0), |(few, all), [low, high]| (few + low.min(high), all + low + high));
    few as f64 >= bimodality::GROUP_SHARE * all as f64
}

/// Whether concurrency rose with time in every sweep of at least three steps, or fell.
pub(super) fn always_rising(table: &Table) -> Option<Remark> {
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
             limits, what earlier steps left behind) cannot be separated; draw its order",
            all.len()
        ),
    })
}
