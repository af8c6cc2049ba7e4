//! Points cut out of the recorded hours of real servers, against the whole hour. Nothing of the rules was fitted to
//! these: they hold what no world was drawn for.

#[path = "../../../worlds/tests/hours/mod.rs"]
mod hours;

use hours::hours;
use linerate_analysis::estimate::REACH;
use linerate_worlds::{RecordedSeries, SeededRng};

use super::means::{LENGTHS_S, point};
use super::recorded::INTERVAL_MS;
use super::table::{HeldShare, publish, tries};

/// One visit, from a time of the hour on.
struct Seen {
    mean: f64,
    half: Option<f64>,
    from_ms: u64,
    length_ms: u64,
}

fn seen(hour: &RecordedSeries, length_ms: u64, from_ms: u64) -> Seen {
    let point = point(length_ms, 1.0, hour.intervals(from_ms, INTERVAL_MS));
    let half = point.estimate.half_width_95.filter(|_| point.settled);
    Seen { mean: point.estimate.mean, half, from_ms, length_ms }
}

/// Requests per second in the stretch of `REACH` times a point's own length about it.
fn around(hour: &RecordedSeries, seen: &Seen) -> f64 {
    let stretch_ms = (REACH * seen.length_ms).min(hour.length_ms());
    let middle_ms = seen.from_ms + seen.length_ms / 2;
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
        for length_s in LENGTHS_S {
            let (mut of_hour, mut near, mut was_reported) = <(HeldShare, HeldShare, HeldShare)>::default();
            let (mut bias, mut width) = (0.0, 0.0);
            let n = tries(FEW);
            for seed in 0..n {
                let latest_ms = hour.length_ms() - 1_000 * length_s;
                let from_ms = (SeededRng::new(seed, 31).unit() * latest_ms as f64) as u64;
                let seen = seen(hour, 1_000 * length_s, from_ms);
                was_reported.add(seen.half.is_some());
                bias += (seen.mean / truth - 1.0) / n as f64;
                let Some(half) = seen.half else { continue };
                of_hour.add((seen.mean - truth).abs() <= half);
                near.add((seen.mean - around(hour, &seen)).abs() <= half);
                width += half / seen.mean;
            }
            assert!(n < FEW || bias.abs() < 0.1, "{name} {length_s} s: {bias}");
            let percent = |x: f64| format!("{:.2}", 100.0 * x);
            rows.push(vec![
                name.clone(),
                format!("{length_s} s"),
                of_hour.in_words(),
                near.in_words(),
                was_reported.in_words(),
                percent(bias),
                percent(width / of_hour.count.max(1) as f64),
            ]);
        }
    }
    let columns = [
        "recorded hour",
        "measured",
        "covers the hour, %",
        "covers four times its own time about it, %",
        "an interval was told, %",
        "bias against the hour, %",
        "half width, %",
    ];
    publish("recorded-means", "Points cut out of recorded hours of real servers", &columns, &rows);
}
