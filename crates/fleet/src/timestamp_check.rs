//! When what an agent says can have been, by its own clock and what is thought of that.

use linerate_record::plausibility::TIME_MS_MAX;

use crate::clock_offset::{ClockOffset, DRIFT_SHARE};
use crate::load_protocol::LoadMessage;

/// How far an instant may lie outside the time in which it can have been, beyond what its clock may be wrong by.
const SLACK_NS: i64 = 2_000_000_000;

/// Refuses intervals before their point began, and whatever is yet to come.
///
/// `told_zero_ns` is what its clock says where its instants are 0.
///
/// # Errors
/// Which.
pub(crate) fn check_instants(
    said: &LoadMessage,
    reported_zero_ns: i64,
    begun_ns: i64,
    clock: ClockOffset,
    now_ns: i64,
) -> Result<(), String> {
    let here =
        |zero_ns: i64, at_ms: u64| i128::from(zero_ns) + i128::from(at_ms) * 1_000_000 - i128::from(clock.offset_ns);
    // What is thought of its clock may have changed since the point began.
    let drift_ns = (now_ns.saturating_sub(begun_ns).max(0) as f64 * DRIFT_SHARE) as i64;
    let slack_ns = i128::from(SLACK_NS) + i128::from(clock.bound_ns) + i128::from(drift_ns);
    let latest_ns = i128::from(now_ns) + slack_ns;
    let (what, from_ns, to_ns, earliest_ns) = match said {
        LoadMessage::Loaded { zero_ns, .. } => {
            let zero_here = here(*zero_ns, 0);
            ("a clock", zero_here, zero_here, i128::from(now_ns) - i128::from(TIME_MS_MAX) * 1_000_000)
        }
        LoadMessage::Interval(part) => {
            let local_instant = |at_ms| here(reported_zero_ns, at_ms);
            let (from_ns, to_ns) = (local_instant(part.interval.from_ms), local_instant(part.interval.to_ms));
            ("an interval", from_ns, to_ns, i128::from(begun_ns) - slack_ns)
        }
        LoadMessage::Reading(reading) => {
            let at_ns = here(reported_zero_ns, reading.at_ms);
            ("a reading", at_ns, at_ns, i128::MIN)
        }
        _ => return Ok(()),
    };
    let seconds = |ns: i128| ns.max(0) / 1_000_000_000;
    if to_ns > latest_ns {
        return Err(format!("{what} {} seconds ahead of now", seconds(to_ns - i128::from(now_ns))));
    }
    if from_ns < earliest_ns {
        return Err(format!("{what} {} seconds too early", seconds(earliest_ns - from_ns)));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use linerate_record::reading::Reading;

    use super::*;
    use crate::driven_load::tests::part;

    #[test]
    fn nothing_was_measured_before_its_point_or_is_yet_to_come() {
        let second = 1_000_000_000_i64;
        let (begun_ns, now_ns) = (1_000 * second, 1_010 * second);
        let clock = |offset_ns| ClockOffset { offset_ns, bound_ns: second / 10 };
        // Its clock is a year ahead, and its instants count from 900 seconds on.
        let year = 365 * 86_400 * second;
        let reading = |at_ms| LoadMessage::Reading(Box::new(Reading { at_ms, ..Reading::default() }));
        let loaded = |zero_ns| LoadMessage::Loaded { zero_ns, threads: 1 };
        let long = part(105_000, |interval| interval.to_ms = 3_710_000);
        for (said, expected) in [
            (part(100_000, |_| ()), None),
            (part(99_000, |_| ()), None),
            (part(111_500, |_| ()), None),
            (part(97_000, |_| ()), Some("an interval 0 seconds too early")),
            (part(0, |_| ()), Some("an interval 97 seconds too early")),
            (part(3_710_000, |_| ()), Some("an interval 3600 seconds ahead of now")),
            (long, Some("an interval 3600 seconds ahead of now")),
            (reading(0), None),
            (reading(110_000), None),
            (reading(3_710_000), Some("a reading 3600 seconds ahead of now")),
            (loaded(year + 900 * second), None),
            (loaded(i64::MAX), Some("a clock 9191835026 seconds ahead of now")),
            (loaded(i64::MIN), Some("a clock")),
        ] {
            let found = check_instants(&said, year + 900 * second, begun_ns, clock(year), now_ns).err();
            assert_eq!(found.is_some(), expected.is_some(), "{said:?}: {found:?}");
            assert!(expected.is_none_or(|part| found.as_ref().unwrap().starts_with(part)), "{expected:?}: {found:?}");
        }
    }
}
