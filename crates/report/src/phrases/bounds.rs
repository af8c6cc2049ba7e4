//! Bounds on latencies in words: how one fared at a rate, and the highest rate that keeps all.

use linerate_analysis::slo::{self, BoundVerdict, RateSearchResult};
use linerate_analysis::view::{BoundFigures, OpenLoop, Point, Series};
use linerate_record::units::{count, duration_ns, percent, percent_range};

use super::{ABSENT, load, plural};

/// How a bound on latency fared at one rate: what is shown of it, and where that is nothing, what this point's figures
/// say. In a search all points of the rate show it together, and one of them may say otherwise. What is held is so but
/// for stalls that so short a time does not rule out.
pub(crate) fn outcome(bound: &BoundFigures) -> String {
    let words = match (bound.verdict, bound.held) {
        (BoundVerdict::Held, true) => "held",
        (BoundVerdict::Held, false) => "held, by all points of the rate together",
        (BoundVerdict::Missed, _) if bound.is_short() => "missed: the rate was not reached",
        (BoundVerdict::Missed, false) => "missed",
        (BoundVerdict::Missed, true) => "missed, by all points of the rate together",
        (BoundVerdict::InDoubt, _) if bound.count == 0 => "not known: measured for no longer than the bound",
        (BoundVerdict::InDoubt, true) => "held here, not shown to hold",
        (BoundVerdict::InDoubt, false) => "missed here, not shown to miss",
    };
    let stalls = bound.held_but_for_stops_of_ms().map(longer_stalls);
    stalls.map_or_else(|| words.to_owned(), |stalls| format!("{words}; {stalls} are not ruled out"))
}

/// Stalls that a time without one does not rule out, given the longest that it does.
fn longer_stalls(ruled_out_ms: f64) -> String {
    format!("rare stalls that each make over {} of requests too slow", duration_ns(ruled_out_ms * 1e6))
}

/// The share of requests that took longer than a bound, with the interval from which the verdict follows.
pub(crate) fn share_over(bound: &BoundFigures) -> String {
    if bound.count == 0 {
        return "no request counts yet: none was due for as long as the bound".to_owned();
    }
    let own = percent(bound.over_share);
    match (bound.of_rate, bound.share_95) {
        (Some(all), _) if all.points > 1 => {
            let (share, points) = (percent(all.share), plural(u64::from(all.points), "point"));
            format!("{own} took longer, at {points} of the rate {share} (99 %: {})", percent_range(all.share_99))
        }
        (Some(all), _) => format!("{own} (99 %: {}) took longer", percent_range(all.share_99)),
        (None, Some(interval)) => format!("{own} ({}) took longer", percent_range(interval)),
        (None, None) => format!("{own} took longer"),
    }
}

/// How all bounds of `--slo` fared at the rate of a point, in a word or two; `–` without one.
pub(crate) fn bounds(open: &OpenLoop) -> &'static str {
    open.verdict().map_or(ABSENT, verdict)
}

const fn verdict(verdict: BoundVerdict) -> &'static str {
    match verdict {
        BoundVerdict::Held => "held",
        BoundVerdict::Missed => "missed",
        BoundVerdict::InDoubt => "in doubt",
    }
}

/// What is not ruled out where the bounds of `--slo` are held at rates that were given: by the point that rules out
/// least. `None` where none is held, and where rates were searched, whose answer says it.
pub(crate) fn held_but_for(series: &Series) -> Option<String> {
    let bounds = series.at_each().into_iter().filter_map(|point| point.open.as_ref()).flat_map(|open| &open.bounds);
    let least_ms = bounds.filter_map(BoundFigures::held_but_for_stops_of_ms).reduce(f64::min)?;
    series.sustained.is_none().then(|| format!("but for {}", longer_stalls(least_ms)))
}

/// Where the best of a series was measured; in an open loop with bounds, also whether it keeps them.
pub(crate) fn best_at(point: &Point) -> String {
    let at = load(point);
    let Some((open, verdict)) = point.open.as_ref().and_then(|open| Some((open, open.verdict()?))) else {
        return format!("best, at {at}");
    };
    let names: Vec<String> = open.bounds.iter().map(|b| b.bound.to_string()).collect();
    let names = names.join(",");
    match verdict {
        BoundVerdict::Held => format!("best within {names}, at {at}"),
        BoundVerdict::InDoubt if open.seems_within() => format!("best that seems to meet {names}, at {at}"),
        BoundVerdict::InDoubt => format!("at {at}, where {names} is in doubt"),
        BoundVerdict::Missed => format!("at {at}, where {names} is missed"),
    }
}

/// The highest rate that keeps the bounds, and how far that is known.
pub(crate) fn sustained(sustained: &RateSearchResult, slo: &str) -> String {
    let per_s = |rate: f64| format!("{}/s", count(rate));
    let up_to = |rate: f64| {
        let holds = if sustained.holds_per_s == Some(rate) { "holds" } else { "seems to hold" };
        format!("{slo} {holds} up to {}", per_s(rate))
    };
    let reported = match (sustained.outcome, sustained.rate_per_s) {
        (slo::RateSearchOutcome::NeverMissed, Some(rate)) => format!("{}, the highest rate allowed", up_to(rate)),
        (slo::RateSearchOutcome::Found, Some(rate)) => up_to(rate),
        _ if sustained.misses_per_s.is_none() => format!("{slo} is in doubt at each rate that was tried"),
        _ => format!("{slo} is not shown to hold at the lowest rate that was tried"),
    };
    let holds = match (sustained.holds_per_s, sustained.misses_per_s) {
        (Some(rate), _) => {
            let stalls = sustained.stop_ruled_out_ms.map(longer_stalls);
            let stalls = stalls.map_or_else(String::new, |stalls| format!(" but for {stalls}"));
            format!("{} is shown to hold{stalls}", per_s(rate))
        }
        (None, Some(misses)) => format!("nothing below {} is shown to hold", per_s(misses)),
        (None, None) => "nothing is shown to hold".to_owned(),
    };
    let misses = sustained.misses_per_s.map_or_else(|| "nothing".to_owned(), per_s);
    let above = sustained.holds_above_per_s;
    let above = above.map_or_else(String::new, |rate| format!(", and yet {} is shown to hold", per_s(rate)));
    let points = plural(u64::from(sustained.points), "point");
    format!("{reported} ({holds}, {misses} is shown to miss{above}; {points})")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_answer_of_a_search_says_of_no_rate_what_its_row_does_not() {
        let search_in_words = |outcome, rate_per_s, holds_per_s, misses_per_s, holds_above_per_s| {
            let (points, spent_ms) = (9, 0);
            let all = RateSearchResult {
                outcome,
                rate_per_s,
                holds_per_s,
                misses_per_s,
                holds_above_per_s,
                stop_ruled_out_ms: holds_per_s.map(|_| 33.3),
                points,
                spent_ms,
            };
            sustained(&all, "p99=60ms")
        };
        let (found, none) = (slo::RateSearchOutcome::Found, slo::RateSearchOutcome::NoneHolds);
        for (reported, text) in [
            (
                search_in_words(found, Some(238.0), Some(238.0), Some(259.0), Some(367.0)),
                "p99=60ms holds up to 238/s (238/s is shown to hold but for rare stalls that each make over \
                 33.3 ms of requests too slow, 259/s is shown to miss, and yet 367/s is shown to hold; 9 points)",
            ),
            (
                search_in_words(found, Some(238.0), None, Some(259.0), None),
                "p99=60ms seems to hold up to 238/s (nothing below 259/s is shown to hold, 259/s is shown to miss; 9 \
                 points)",
            ),
            (
                search_in_words(slo::RateSearchOutcome::NeverMissed, Some(9.0), None, None, None),
                "p99=60ms seems to hold up to 9/s, the highest rate allowed (nothing is shown to hold, nothing is \
                 shown to miss; 9 points)",
            ),
            (
                search_in_words(none, None, None, None, None),
                "p99=60ms is in doubt at each rate that was tried (nothing is shown to hold, nothing is shown to miss; \
                 9 points)",
            ),
            (
                search_in_words(none, None, None, Some(1.0), None),
                "p99=60ms is not shown to hold at the lowest rate that was tried (nothing below 1/s is shown to hold, \
                 1/s is shown to miss; 9 points)",
            ),
        ] {
            assert_eq!(reported, text);
        }
    }

    #[test]
    fn a_share_has_the_interval_from_which_its_verdict_follows() {
        let rate = |points, share_99| {
            Some(slo::RateExceedance { points, share: 0.08, share_99, stop_ruled_out_ms: Some(500.0) })
        };
        let bound_figures = |held, verdict, of_rate| BoundFigures {
            bound: "p95=60ms".parse().expect("a bound"),
            count: 50,
            over: 5,
            measured_ms: Some(10_000),
            over_share: 0.1,
            effective: 10.0,
            freedom: Some(4.0),
            held,
            verdict,
            share_95: Some([0.02, 0.3]),
            of_rate,
            stop_ruled_out_ms: Some(166.7),
        };
        for (bound, share, fared) in [
            (
                bound_figures(false, BoundVerdict::InDoubt, None),
                "10.0 % (2.00 % to 30.0 %) took longer",
                "missed here, not shown to miss",
            ),
            (
                bound_figures(false, BoundVerdict::Missed, rate(3, [0.06, 0.1])),
                "10.0 % took longer, at 3 points of the rate 8.00 % (99 %: 6.00 % to 10.0 %)",
                "missed",
            ),
            (
                bound_figures(false, BoundVerdict::Missed, rate(1, [2e-11, 0.4])),
                "10.0 % (99 %: 0 % to 40.0 %) took longer",
                "missed: the rate was not reached",
            ),
            (
                bound_figures(false, BoundVerdict::Missed, rate(1, [0.01, 0.4])),
                "10.0 % (99 %: 1.00 % to 40.0 %) took longer",
                "missed: the rate was not reached",
            ),
            (
                bound_figures(true, BoundVerdict::Held, None),
                "10.0 % (2.00 % to 30.0 %) took longer",
                "held; rare stalls that each make over 167 ms of requests too slow are not ruled out",
            ),
            (
                bound_figures(false, BoundVerdict::Held, rate(3, [0.01, 0.04])),
                "10.0 % took longer, at 3 points of the rate 8.00 % (99 %: 1.00 % to 4.00 %)",
                "held, by all points of the rate together; rare stalls that each make over 500 ms of requests too slow \
                 are not ruled out",
            ),
        ] {
            assert_eq!((share_over(&bound), outcome(&bound)), (share.to_owned(), fared.to_owned()));
        }
    }
}
