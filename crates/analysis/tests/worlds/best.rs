//! The plainest way to a knee, against which linerate's is held: every concurrency compared with the best.

use linerate_analysis::knee::{KneeVisit, SHARE};
use linerate_analysis::student;

/// A knee and the ends of its interval, as concurrencies.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ComparedWithBest {
    pub(crate) lowest: u32,
    pub(crate) knee: u32,
    pub(crate) highest: u32,
}

/// The least concurrency whose mean is at least 95 % of the best one's. Means are compared by the spread of the visits
/// of one concurrency, pooled over all and as a share, and Student's t at its degrees of freedom. `None` where no
/// concurrency was visited twice.
pub(crate) fn compared_with_best(visits: &[KneeVisit]) -> Option<ComparedWithBest> {
    let mut at: Vec<u32> = visits.iter().map(|visit| visit.concurrency).collect();
    at.sort_unstable();
    at.dedup();
    let of_level = |concurrency: u32| {
        let all = visits.iter().filter(move |visit| visit.concurrency == concurrency);
        let values: Vec<f64> = all.map(|visit| visit.throughput.mean).collect();
        let mean = values.iter().sum::<f64>() / values.len() as f64;
        (mean, values)
    };
    let levels: Vec<(f64, Vec<f64>)> = at.iter().map(|concurrency| of_level(*concurrency)).collect();
    let (mut squares, mut freedom) = (0.0, 0.0);
    for (mean, values) in &levels {
        squares += values.iter().map(|value| (value / mean - 1.0).powi(2)).sum::<f64>();
        freedom += (values.len() - 1) as f64;
    }
    if freedom < 1.0 {
        return None;
    }
    let reach = student::quantile(0.975, freedom) * (squares / freedom).sqrt();
    let best = levels.iter().max_by(|a, b| a.0.total_cmp(&b.0))?;
    // How far a level lies above 95 % of the best, and how far that is known: both as shares of the best.
    let surplus = |level: &(f64, Vec<f64>)| {
        let share = level.0 / best.0;
        let error = (share * share / level.1.len() as f64 + SHARE * SHARE / best.1.len() as f64).sqrt();
        (share - SHARE, if level.0 == best.0 { 0.0 } else { reach * error })
    };
    let all: Vec<(f64, f64)> = levels.iter().map(surplus).collect();
    let knee = all.iter().position(|(above, _)| *above >= 0.0)?;
    let lowest = all.iter().position(|(above, error)| above + error >= 0.0)?;
    let highest = all.iter().rposition(|(above, error)| above - error < 0.0 && above + error >= 0.0);
    let highest = highest.map_or(knee, |last| (last + 1).min(at.len() - 1).max(knee));
    Some(ComparedWithBest { lowest: at[lowest], knee: at[knee], highest: at[highest] })
}
