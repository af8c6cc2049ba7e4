//! Points cut out of the recorded hours of real servers, against the whole hour. Nothing of the rules was fitted to
//! these: they hold what no world was drawn for.

#[path = "../../../worlds/tests/hours/mod.rs"]
mod hours;

use hours::hours;
use linerate_analysis::estimate::REACH;
use linerate_worlds::{RecordedSeries, SeededRng};

use super::means::{HOWS, How, Point, point};
use super::recorded::INTERVAL_MS;
use super::table::{HeldShare, publish, tries};

/// One point, from a time of the hour on.
struct Seen {
    mean: f64,
    half: Option<f64>,
    early: bool,
    /// All of it, with its warm-up.
    from_ms: u64,
    spent_ms: u64,
}

fn seen(hour: &RecordedSeries, how: How, from_ms: u64) -> Seen {
    let Point { estimate, early, settled, spent_ms, .. } = point(how, 4, 1.0, hour.intervals(from_ms, INTERVAL_MS));
    Seen { mean: estimate.mean, half: estimate.half_width_95.filter(|_| settled), early, from_ms, spent_ms }
}

/// Requests per second in the stretch of `REACH` times a point's own length about it.
fn around(hour: &RecordedSeries, seen: &Seen) -> f64 {
    let stretch_ms = (REACH * seen.spent_ms).min(hour.length_ms());
    let middle_ms = seen.from_ms + seen.spent_ms / 2;
    let from_ms = middle_ms.saturating_sub(stretch_ms / 2).min(hour.length_ms() - stretch_ms);
    let ended: u64 = hour.intervals(from_ms, INTERVAL_MS).take((stretch_ms / INTERVAL_MS) as usize).sum();
    ended as f64 * 1e3 / stretch_ms as f64
}

/// Points of each hour unless it is said: means of fewer differ by a tenth by chance.
const FEW: u64 = 60;

#[test]
fn what_points_tell_of_recorded_hours_is_held_against_the_whole_hour() {
    let hours = hours();
    assert!(hours.len() >= 6, "{} recorded hours", hours.len());
    let mut rows = Vec::new();
    for (name, hour) in &hours {
        let truth = hour.rate_per_s();
        for how in HOWS {
            let (mut of_hour, mut near, mut was_reported, mut early) =
                <(HeldShare, HeldShare, HeldShare, HeldShare)>::default();
            let (mut bias, mut width, mut spent_s) = (0.0, 0.0, 0.0);
            let n = tries(FEW);
            for seed in 0..n {
                let latest_ms = hour.length_ms() - how.at_most_ms;
                let from_ms = (SeededRng::new(seed, 31).unit() * latest_ms as f64) as u64;
                let seen = seen(hour, how, from_ms);
                was_reported.add(seen.half.is_some());
                early.add(seen.early);
                bias += (seen.mean / truth - 1.0) / n as f64;
                spent_s += seen.spent_ms as f64 / 1e3 / n as f64;
                let Some(half) = seen.half else { continue };
                of_hour.add((seen.mean - truth).abs() <= half);
                near.add((seen.mean - around(hour, &seen)).abs() <= half);
                width += half / seen.mean;
            }
            // A point ends early where it is quiet: that must not make it better than the hour.
            assert!(n < FEW || bias.abs() < 0.1, "{name} {}: {bias}", how.name);
            let percent = |x: f64| format!("{:.2}", 100.0 * x);
            rows.push(vec![
                name.clone(),
                how.name.to_owned(),
                of_hour.in_words(),
                near.in_words(),
                was_reported.in_words(),
                early.in_words(),
                percent(bias),
                percent(width / of_hour.count.max(1) as f64),
                format!("{spent_s:.1}"),
            ]);
        }
    }
    let columns = [
        "recorded hour",
        "measured",
        "covers the hour, %",
        "covers four times its own time about it, %",
        "an interval was told, %",
        "ended early, %",
        "bias against the hour, %",
        "half width, %",
        "time, s",
    ];
    publish("recorded-means", "Points cut out of recorded hours of real servers", &columns, &rows);
}
