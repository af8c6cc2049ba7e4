//! How long points run, how they are cut into intervals, and what of them is warm-up.

use std::time::Duration;

use linerate_analysis::knee::KneeProbe;
use linerate_analysis::series_search::{LevelTime, visits_max};
use linerate_analysis::slo::RateProbe;
use linerate_analysis::{steady, warm_up};
use linerate_record::load::{Levels, Load};
use linerate_record::run::INTERVALS_BYTES_MAX;

use crate::terminal::failure::Failure;

/// Largest row of `intervals.jsonl`: two histograms with every bucket in use; twice as much in an open loop.
pub(crate) const ROW_BYTES_MAX: u64 = 32 << 10;

/// A row that intervals are planned for: a usual one is 0.5 to 3 KiB.
const ROW_BYTES: u64 = 4 << 10;

/// How a point is cut into intervals, and when it ends.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Timing {
    pub(crate) interval_ms: u64,
    /// The warm-up where it is given, in whole intervals.
    pub(crate) warmup_ms: Option<u64>,
    /// Most intervals, those of the warm-up included.
    pub(crate) all: u64,
    /// What all visits of a series may take, where that is said.
    pub(crate) series_ms: Option<u64>,
    /// Largest size of `intervals.jsonl` in a run of so many points.
    pub(crate) bytes_max: u64,
}

impl Timing {
    /// Longest time of a point in milliseconds.
    pub(crate) const fn point_ms(&self) -> u64 {
        self.interval_ms * self.all
    }

    /// About how long all points of a series take in milliseconds, and the longest of a search.
    pub(crate) fn series_ms(&self, levels: &Levels) -> u64 {
        let points_ms = self.point_ms() * visits_max(levels, self.series_ms, self.point_ms()) as u64;
        if levels.given().is_some() { points_ms } else { self.series_ms.unwrap_or(points_ms) }
    }

    /// Up to when a visit warms up, as far as that is known while it lasts.
    pub(crate) fn warmup_so_far_ms(&self) -> u64 {
        self.warmup_ms.unwrap_or_else(|| warm_up::usual_ms(self.point_ms()))
    }

    /// The same for a point of a series, which may be shorter.
    pub(crate) fn for_level(self, time: LevelTime) -> Self {
        let given = self.warmup_ms.unwrap_or(0) / self.interval_ms;
        let all = match time {
            // Where requests take long, a visit does too.
            LevelTime::Visit(ms) => ms.div_ceil(self.interval_ms).max(given + 1),
            LevelTime::Knee(KneeProbe { at_most_ms, .. }) | LevelTime::Rate(RateProbe { at_most_ms, .. }) => {
                (at_most_ms / self.interval_ms).clamp(given + 1, self.all)
            }
        };
        Timing { all, ..self }
    }

    /// For points of deletes: what a warm-up deleted could not be deleted again.
    pub(crate) fn without_warm_up(mut self) -> Self {
        self.all -= self.warmup_ms.unwrap_or(0) / self.interval_ms;
        self.warmup_ms = Some(0);
        self
    }
}

/// As many intervals as statistics need; fewer and longer ones where the run folder would grow too large.
pub(crate) fn timing(load: &Load, hosts: usize) -> Result<Timing, Failure> {
    let is_open = load.levels.is_open();
    let duration = Duration::from_nanos(load.time.duration_ns);
    let (duration_ms, series_ms) = (load.time.duration_ns / 1_000_000, load.time.series_ns.map(|ns| ns / 1_000_000));
    let warmup_ms = warm_up::known_ms(load.time.warmup_ns, &load.levels, duration_ms);
    if duration_ms < 100 {
        let shown = duration_text(duration);
        return Err(Failure::usage(match series_ms {
            None => format!("--duration {shown:?} is too short: give 100ms or more"),
            Some(_) => format!(
                "visits of {shown} are too short: give 100ms or more for each, by a longer --time or --duration, or \
                 fewer concurrencies or rates"
            ),
        }));
    }
    let points = load.series() * visits_max(&load.levels, series_ms, duration_ms);
    let histograms = if is_open { 2 } else { 1 };
    let rows = (hosts * load.ops_max() * points) as u64 * histograms;
    let lines_max = (INTERVALS_BYTES_MAX / (rows * ROW_BYTES).max(1)).max(4);
    let for_size_ms = (duration_ms + warmup_ms.unwrap_or(0)).div_ceil(lines_max);
    let interval_ms = steady::interval_ms(duration_ms).max(for_size_ms).min(duration_ms);
    let warmup = warmup_ms.map(|w| w.div_ceil(interval_ms));
    let all = warmup.unwrap_or(0) + duration_ms.div_ceil(interval_ms);
    Ok(Timing {
        interval_ms,
        warmup_ms: warmup.map(|w| w * interval_ms),
        all,
        series_ms,
        bytes_max: all * rows * ROW_BYTES_MAX,
    })
}

/// A time as people write it: no time at all is of seconds.
fn duration_text(time: Duration) -> String {
    if time.is_zero() { "0s".to_owned() } else { format!("{time:?}") }
}

/// Why a time limit is too short for anything.
pub(crate) fn timeout_error(timeout: Duration) -> Option<String> {
    let shown = duration_text(timeout);
    (timeout < Duration::from_millis(1)).then(|| format!("--timeout {shown:?} fails every request: give 1ms or more"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::commands::bench::resolve::tests::load;

    #[test]
    fn a_point_of_a_search_is_no_longer_than_any_and_a_visit_may_be() {
        let whole = Timing { interval_ms: 50, warmup_ms: None, all: 200, series_ms: None, bytes_max: 0 };
        assert_eq!(whole.for_level(LevelTime::Visit(10_000)), whole);
        assert_eq!(whole.for_level(LevelTime::Visit(41_020)).all, 821);
        for (at_most_ms, all) in [(2_000, 40), (6_000, 120), (60_000, 200), (0, 1)] {
            assert_eq!(whole.for_level(LevelTime::Knee(KneeProbe { concurrency: 4, at_most_ms })).all, all);
            // At a rate at which thousands of requests fall due in a second, too: what stops now and then, time tells.
            let rate = RateProbe { rate_per_s: 50_000.0, at_most_ms };
            assert_eq!(whole.for_level(LevelTime::Rate(rate)).all, all);
        }
        let given = Timing { warmup_ms: Some(500), ..whole };
        assert_eq!((given.for_level(LevelTime::Visit(100)).all, given.warmup_so_far_ms()), (11, 500));
        assert_eq!(whole.warmup_so_far_ms(), 1_000);
    }

    /// The timing of GETs, at so many sizes.
    fn timed(flags: &str, sizes: usize, hosts: usize) -> Timing {
        let sizes = vec!["4KiB"; sizes].join(",");
        timing(&load(&format!("--op get --obj.size {sizes} {flags}")), hosts).unwrap()
    }

    #[test]
    fn intervals_are_two_hundred_a_point_and_bounded_on_disk() {
        let short = timed("--concurrent 8 --duration 2s --warmup 520ms", 24, 1);
        assert_eq!((short.interval_ms, short.warmup_ms, short.all), (50, Some(550), 51));
        let usual = timed("--concurrent 8 --duration 10s", 64, 4);
        assert_eq!((usual.interval_ms, usual.warmup_ms, usual.all), (50, None, 200));
        assert_eq!(timed("--concurrent 8 --duration 60s --warmup 10s", 1, 4).point_ms(), 70_200);
        for (flags, points, hosts) in
            [("--concurrent 8 --duration 24h", 1, 16), ("--concurrent 8 --duration 60s", 64, 16)]
        {
            let long = timed(flags, points, hosts);
            let usual_bytes = long.bytes_max / ROW_BYTES_MAX * ROW_BYTES;
            assert!(usual_bytes <= INTERVALS_BYTES_MAX + (hosts * points) as u64 * ROW_BYTES, "{long:?}");
        }
        assert!(timed("--concurrent 8 --duration 10s", 400, 1024).all >= 3, "a point keeps a few intervals");
    }

    #[test]
    fn a_series_takes_the_time_that_is_said_for_it_and_its_visits_their_share() {
        for (flags, visit_ms, series_ms) in [
            ("--concurrent 8", 10_000, 120_000),
            ("--concurrent 1,4,16", 10_000, 120_000),
            ("--concurrent 1..8 --time 12m", 10_000, 720_000),
            ("--concurrent 1,2,4 --time 15s", 5_000, 15_000),
            ("--concurrent 8 --duration 2s", 2_000, 2_000),
            ("--concurrent 1,4 --duration 2s --time 1m", 2_000, 60_000),
            ("", 10_000, 120_000),
            ("--time 12m", 30_000, 720_000),
            ("--time 15s", 1_250, 15_000),
            ("--duration 2s", 2_000, 24_000),
            ("--rate 100/s", 12_000, 120_000),
            ("--rate 100/s --duration 10s", 11_000, 11_000),
            ("--rate 100/s,200/s --duration 2s --time 24s", 2_400, 24_000),
            ("--rate 100/s,200/s --time 1m", 15_050, 60_200),
            ("--concurrent 1,4,16 --warmup 2s", 13_350, 120_150),
        ] {
            let timing = timed(flags, 1, 1);
            let levels = load(&format!("--op get {flags}")).levels;
            assert_eq!((timing.point_ms(), timing.series_ms(&levels)), (visit_ms, series_ms), "{flags:?}");
        }
    }

    #[test]
    fn points_of_deletes_have_no_warm_up() {
        let given = timed("--duration 1s --warmup 200ms", 1, 1).without_warm_up();
        assert_eq!((given.warmup_ms, given.all), (Some(0), 20));
        let found = timed("--duration 1s", 1, 1).without_warm_up();
        assert_eq!((found.warmup_ms, found.all), (Some(0), 20));
    }
}
