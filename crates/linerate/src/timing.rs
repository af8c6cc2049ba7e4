//! How long points run, how they are cut into intervals, and what of them is warm-up.

use std::str::FromStr;
use std::time::Duration;

use linerate_analysis::knee::Ask;
use linerate_analysis::precision::{FLOOR_MS, Rule};
use linerate_record::run::INTERVALS_BYTES_MAX;
use linerate_record::units::parse_duration;

use crate::cli::Work;
use crate::failure::Failure;
use crate::grid::{self, Levels};

/// Largest row of `intervals.jsonl`: two histograms with every bucket in use; twice as much in an open loop.
pub(crate) const ROW_BYTES_MAX: u64 = 32 << 10;

/// A row that intervals are planned for: a usual one is 0.5 to 3 KiB.
const ROW_BYTES: u64 = 4 << 10;

/// Intervals in the longest time of a point: enough to find a warm-up in, and to see it settle.
const INTERVALS: u32 = 200;

/// Points of full length that the search of one series may take: `--concurrent` and the documents say twelve.
const SEARCH_POINTS: usize = 12;

/// Warm-up of an open loop that is not given one.
const OPEN_WARMUP_MS: u64 = 1_000;

/// How many of the shortest times that `--precision` knows a point may take, unless it is said.
const FLOORS: u64 = 3;

/// `--warmup`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WarmUp {
    /// Found in what was measured.
    Auto,
    /// Given.
    Given(Duration),
}

impl FromStr for WarmUp {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text == "auto" {
            return Ok(WarmUp::Auto);
        }
        parse_duration(text).map(WarmUp::Given).map_err(|e| format!("{e}, or auto"))
    }
}

/// `--precision`: half the width of the 95 % interval as a share of the mean, or none.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Precision(pub(crate) Option<f64>);

impl FromStr for Precision {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let fail = || format!("invalid precision {text:?}: write a share such as 2%, or none for the whole --duration");
        if matches!(text, "none" | "0" | "0%") {
            return Ok(Precision(None));
        }
        let percent = text.strip_suffix('%').ok_or_else(fail)?.trim().parse::<f64>().map_err(|_| fail())?;
        if (0.01..=50.0).contains(&percent) { Ok(Precision(Some(percent / 100.0))) } else { Err(fail()) }
    }
}

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
        self.point_ms() * points_worth(levels) as u64
    }

    /// The same for a point of a search, which has limits of its own. Where no precision was asked for, none is.
    pub(crate) fn asked(mut self, ask: &Ask) -> Self {
        let given = self.warmup_ms.unwrap_or(0) / self.interval_ms;
        self.all = (ask.at_most_ms / self.interval_ms).clamp(given + 1, self.all);
        self.precision = self.precision.map(|asked| asked.max(ask.precision));
        self
    }

    /// The same for a point that may end with so many requests, at a rate.
    pub(crate) fn with_requests(mut self, requests: u64, rate_per_s: f64, at_most_ms: u64) -> Self {
        let (given_ms, needed_ms) = (self.warmup_ms.unwrap_or(0), (requests as f64 * 1e3 / rate_per_s).max(1e3) as u64);
        let intervals = at_most_ms.min(given_ms + needed_ms) / self.interval_ms;
        self.all = intervals.clamp(given_ms / self.interval_ms + 1, self.all);
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

/// Points of full length that the search for the highest rate of one series may take.
const RATE_SEARCH_POINTS: usize = 18;

/// How many points of full length a series takes at the most.
pub(crate) fn points_worth(levels: &Levels) -> usize {
    match levels {
        Levels::Given(all) => all.len(),
        Levels::Searched(_) => SEARCH_POINTS,
        Levels::Rates { all, .. } => all.len(),
        Levels::HighestRate { .. } => RATE_SEARCH_POINTS,
    }
}

/// The longest time of a point, unless it is said. No point ends sooner than at the floor of `--precision`, so that one
/// that may end sooner has three of those. A search visits what decides several times instead, and the points of an
/// open loop take all of their time.
fn longest(work: &Work) -> Duration {
    let may_end_sooner = work.precision.0.is_some() && grid::is_given(work);
    Duration::from_millis(if may_end_sooner { FLOORS * FLOOR_MS } else { FLOOR_MS })
}

/// Two hundred intervals in the longest time of a point, each of 50 ms to a second; longer where the run folder would
/// grow too large.
pub(crate) fn timing(work: &Work, points: usize, hosts: usize, ops: usize) -> Result<Timing, Failure> {
    let ms = |d: Duration| u64::try_from(d.as_millis()).unwrap_or(u64::MAX);
    let duration = work.duration.unwrap_or_else(|| longest(work));
    let duration_ms = ms(duration);
    let warmup_ms = match work.warmup {
        // Throughput follows the schedule from the first interval on and tells of no warm-up: what connecting does to
        // latencies is over soon.
        WarmUp::Auto if work.is_open() => Some((duration_ms / 5).min(OPEN_WARMUP_MS)),
        WarmUp::Auto => None,
        WarmUp::Given(warmup) => Some(ms(warmup)),
    };
    if duration_ms < 100 {
        return Err(Failure::usage(format!("--duration {duration:?} is too short: give 100ms or more")));
    }
    let histograms = if work.is_open() { 2 } else { 1 };
    let rows = (hosts * ops * points) as u64 * histograms;
    let lines_max = (INTERVALS_BYTES_MAX / (rows * ROW_BYTES).max(1)).max(4);
    let for_size_ms = (duration_ms + warmup_ms.unwrap_or(0)).div_ceil(lines_max);
    let fine_ms = (duration_ms / u64::from(INTERVALS)).clamp(50, 1_000) / 10 * 10;
    let interval_ms = fine_ms.max(for_size_ms).min(duration_ms);
    let warmup = warmup_ms.map(|w| w.div_ceil(interval_ms));
    let all = warmup.unwrap_or(0) + duration_ms.div_ceil(interval_ms);
    Ok(Timing {
        interval_ms,
        warmup_ms: warmup.map(|w| w * interval_ms),
        all,
        // Throughput is the schedule's: what is to be known well are latencies, which need the time.
        precision: work.precision.0.filter(|_| !work.is_open()),
        bytes_max: all * rows * ROW_BYTES_MAX,
    })
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;

    use super::*;
    use crate::cli::{Cli, Verb};

    fn timed(flags: &str, points: usize, hosts: usize, ops: usize) -> Timing {
        let words = ["linerate", "bench"].into_iter().chain(flags.split_whitespace());
        let Verb::Bench(flags) = Cli::try_parse_from(words).unwrap().verb else { unreachable!("the verb is bench") };
        timing(&flags.work, points, hosts, ops).unwrap()
    }

    #[test]
    fn intervals_are_two_hundred_a_point_and_bounded_on_disk() {
        let short = timed("--duration 2s --warmup 520ms", 24, 1, 1);
        assert_eq!((short.interval_ms, short.warmup_ms, short.all), (50, Some(550), 51));
        let usual = timed("--duration 10s", 64, 4, 1);
        assert_eq!((usual.interval_ms, usual.warmup_ms, usual.all), (50, None, 200));
        assert_eq!(timed("--duration 60s --warmup 10s", 1, 4, 1).point_ms(), 70_200);
        for (flags, points, hosts) in [("--duration 24h", 1, 16), ("--duration 60s", 64, 16)] {
            let long = timed(flags, points, hosts, 1);
            let usual_bytes = long.bytes_max / ROW_BYTES_MAX * ROW_BYTES;
            assert!(usual_bytes <= INTERVALS_BYTES_MAX + (hosts * points) as u64 * ROW_BYTES, "{long:?}");
        }
        assert!(timed("--duration 10s", 400, 1024, 5).all >= 3, "a point keeps a few intervals");
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
            let timing = timed(flags, 1, 1, 1);
            assert_eq!(timing.point_ms(), ms, "{flags:?}");
        }
        // Whatever it is, precision can end a point before its time where that is the default.
        assert!(timed("--concurrent 8", 1, 1, 1).point_ms() > FLOOR_MS);
    }

    #[test]
    fn points_of_deletes_have_no_warm_up() {
        let given = timed("--duration 1s --warmup 200ms", 1, 1, 1).without_warm_up();
        assert_eq!((given.warmup_ms, given.all), (Some(0), 20));
        let found = timed("--duration 1s", 1, 1, 1).without_warm_up();
        assert_eq!((found.warmup_ms, found.all), (Some(0), 20));
    }

    #[test]
    fn warm_up_and_precision_read_as_people_write_them() {
        assert_eq!("auto".parse(), Ok(WarmUp::Auto));
        assert_eq!("1500ms".parse(), Ok(WarmUp::Given(Duration::from_millis(1_500))));
        assert!("soon".parse::<WarmUp>().unwrap_err().contains("auto"));
        for (text, share) in [("2%", Some(0.02)), ("0.5 %", Some(0.005)), ("none", None), ("0", None)] {
            assert_eq!(text.parse(), Ok(Precision(share)), "{text}");
        }
        for text in ["2", "-1%", "60%", "%", "tight"] {
            let error = text.parse::<Precision>().unwrap_err();
            assert!(error.contains(&format!("{text:?}")) && error.contains("none"), "{error}");
        }
    }
}
