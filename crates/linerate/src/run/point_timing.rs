//! How long points run, how they are cut into intervals, and what of them is warm-up.

use std::time::Duration;

use linerate_analysis::knee::KneeProbe;
use linerate_analysis::series_search::{LevelTime, points_max};
use linerate_analysis::slo::RateProbe;
use linerate_analysis::stopping_rule::Rule;
use linerate_analysis::{open_loop, steady};
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
    /// Share of the mean at which a point ends.
    pub(crate) precision: Option<f64>,
    /// Largest size of `intervals.jsonl` in a run of so many points.
    pub(crate) bytes_max: u64,
}

impl Timing {
    /// Longest time of a point in milliseconds.
    pub(crate) const fn point_ms(&self) -> u64 {
        self.interval_ms * self.all
    }

    /// Longest time of all points of a series in milliseconds.
    pub(crate) fn series_ms(&self, levels: &Levels) -> u64 {
        self.point_ms() * points_max(levels) as u64
    }

    /// The same for a point of a series, which may be shorter.
    pub(crate) fn for_level(self, time: LevelTime) -> Self {
        match time {
            LevelTime::Whole => self,
            LevelTime::Knee(probe) => self.for_knee_search(&probe),
            LevelTime::Rate(RateProbe { at_most_ms, .. }) => self.for_rate_search(at_most_ms),
        }
    }

    /// The same for a point of a search, which has limits of its own. Where no precision was asked for, none is.
    fn for_knee_search(mut self, ask: &KneeProbe) -> Self {
        let given = self.warmup_ms.unwrap_or(0) / self.interval_ms;
        self.all = (ask.at_most_ms / self.interval_ms).clamp(given + 1, self.all);
        self.precision = self.precision.map(|requested| requested.max(ask.precision));
        self
    }

    /// The same for a point of a search for a rate, of what is left of the time of all.
    fn for_rate_search(mut self, at_most_ms: u64) -> Self {
        let given = self.warmup_ms.unwrap_or(0) / self.interval_ms;
        self.all = (at_most_ms / self.interval_ms).clamp(given + 1, self.all);
        self
    }

    /// When a point of this concurrency ends.
    pub(crate) const fn rule(&self, concurrency: u32) -> Rule {
        Rule { warmup_ms: self.warmup_ms, precision: self.precision, concurrency }
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
    let (points, is_open) = (load.series() * points_max(&load.levels), load.levels.is_open());
    let duration = Duration::from_nanos(load.time.duration_ns);
    let duration_ms = load.time.duration_ns / 1_000_000;
    let warmup_ms = match load.time.warmup_ns.0 {
        None if is_open => Some(open_loop::warmup_ms(duration_ms)),
        None => None,
        Some(warmup_ns) => Some(warmup_ns / 1_000_000),
    };
    if duration_ms < 100 {
        let shown = duration_text(duration);
        return Err(Failure::usage(format!("--duration {shown:?} is too short: give 100ms or more")));
    }
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
        // Throughput is the schedule's: what is to be known well are latencies, which need the time.
        precision: load.time.precision.0.filter(|_| !is_open),
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
    use linerate_analysis::stopping_rule::FLOOR_MS;

    use super::*;
    use crate::commands::bench::resolve::tests::load;

    #[test]
    fn a_point_of_a_search_is_no_longer_than_any_and_no_more_precise_than_asked() {
        let whole = Timing { interval_ms: 50, warmup_ms: None, all: 200, precision: Some(0.01), bytes_max: 0 };
        assert_eq!(whole.for_level(LevelTime::Whole), whole);
        let probe = |precision, at_most_ms| LevelTime::Knee(KneeProbe { concurrency: 4, precision, at_most_ms });
        let short = whole.for_level(probe(0.05, 2_000));
        assert_eq!((short.all, short.precision), (40, Some(0.05)));
        let long = whole.for_level(probe(0.001, 60_000));
        assert_eq!((long.all, long.precision), (200, Some(0.01)));
        let fixed = Timing { precision: None, ..whole };
        assert_eq!(fixed.for_level(probe(0.05, 2_000)).precision, None);
        // At a rate at which thousands of requests fall due in a second, too: what stops now and then, time tells.
        for (at_most_ms, all) in [(60_000, 200), (6_000, 120)] {
            let rate = RateProbe { rate_per_s: 50_000.0, at_most_ms };
            assert_eq!(whole.for_level(LevelTime::Rate(rate)).all, all);
        }
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
    fn a_point_that_precision_may_end_has_three_times_the_shortest_time_for_it() {
        for (flags, ms) in [
            ("--concurrent 8", 30_000),
            ("--concurrent 1..8 --precision 5%", 30_000),
            ("--concurrent 8 --precision none", 10_000),
            ("", 10_000),
            ("--rate 100/s", 11_000),
            ("--concurrent 8 --duration 2s", 2_000),
        ] {
            let timing = timed(flags, 1, 1);
            assert_eq!(timing.point_ms(), ms, "{flags:?}");
        }
        // Whatever it is, precision can end a point before its time where that is the default.
        assert!(timed("--concurrent 8", 1, 1).point_ms() > FLOOR_MS);
    }

    #[test]
    fn points_of_deletes_have_no_warm_up() {
        let given = timed("--duration 1s --warmup 200ms", 1, 1).without_warm_up();
        assert_eq!((given.warmup_ms, given.all), (Some(0), 20));
        let found = timed("--duration 1s", 1, 1).without_warm_up();
        assert_eq!((found.warmup_ms, found.all), (Some(0), 20));
    }
}
