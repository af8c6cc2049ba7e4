//! Instants as people write them: of a clock, of a calendar, or so long before now.

use jiff::civil::DateTime;
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};
use linerate_record::units::parse_duration;

/// Milliseconds since 1970 of an instant.
pub(crate) fn parse_instant(text: &str, now: Timestamp, zone: &TimeZone) -> Result<i64, String> {
    let fix = "write 2026-11-20T09:31:00Z, \"2026-11-20 09:31\" in local time, seconds since 1970, now-2h, or now-2d";
    let text = text.trim();
    if let Some(before) = text.strip_prefix("now") {
        let Some(before) = before.trim().strip_prefix('-') else {
            return if before.is_empty() {
                Ok(now.as_millisecond())
            } else {
                Err(format!("{text:?} is no time: {fix}"))
            };
        };
        return before_now(text, before, now);
    }
    if let Some(before) = text.strip_prefix('-') {
        return before_now(text, before, now);
    }
    if let Ok(seconds) = text.parse::<f64>() {
        // Milliseconds, as dashboards have them, lie three digits further on.
        let ms = if seconds.abs() < 1e11 { seconds * 1000.0 } else { seconds };
        let is_sane = (0.0..1e14).contains(&ms);
        return if is_sane { Ok(ms as i64) } else { Err(format!("{text:?} is no time: {fix}")) };
    }
    if let Ok(at) = text.parse::<Timestamp>() {
        return Ok(at.as_millisecond());
    }
    let civil = text.parse::<DateTime>().map_err(|_| format!("{text:?} is no time: {fix}"))?;
    let zoned = civil.to_zoned(zone.clone()).map_err(|error| format!("{text:?} is no time here: {error}"))?;
    Ok(zoned.timestamp().as_millisecond())
}

/// What may stand behind `now-`.
const UNITS: &str = "s, m, h, d and w";

/// An instant before now. `given` is the argument, of which `before` is the time.
fn before_now(given: &str, before: &str, now: Timestamp) -> Result<i64, String> {
    let before = before.trim();
    let not = |why: String| {
        format!(
            "{given:?} is no time: {why}: write how long before now, with the units {UNITS}, such as now-90s or now-2h"
        )
    };
    let unit = before.trim_start_matches(|c: char| c.is_ascii_digit() || c == '.');
    let why = || match (before, unit) {
        ("", _) => "nothing follows the minus sign".to_owned(),
        (_, "") => format!("{before:?} has no unit"),
        _ if ["s", "m", "min", "h", "d", "w"].contains(&unit) => format!("{before:?} is out of range"),
        _ => format!("{before:?} has a part that is no number with such a unit"),
    };
    let timed = || parse_duration(before).ok().and_then(|length| SignedDuration::try_from(length).ok());
    let length = whole_days(before).map(|days| SignedDuration::from_hours(24 * i64::from(days))).or_else(timed);
    let length = length.ok_or_else(|| not(why()))?;
    now.checked_sub(length).map(Timestamp::as_millisecond).map_err(|_| not(format!("{before:?} is out of range")))
}

/// `2d`, `1w`: whole days and weeks, as Grafana and Prometheus write them.
fn whole_days(text: &str) -> Option<u32> {
    let (number, days) = text.strip_suffix('d').map(|number| (number, 1)).or(text.strip_suffix('w').map(|n| (n, 7)))?;
    number.parse::<u32>().ok()?.checked_mul(days)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn instants_are_read_as_people_write_them() {
        let now: Timestamp = "2026-11-20T12:00:00Z".parse().unwrap();
        let noon = now.as_millisecond();
        let zone = TimeZone::fixed(jiff::tz::offset(1));
        for (text, before_ms) in [
            ("now", 0),
            ("now-2h", 7_200_000),
            ("-90s", 90_000),
            ("now-2d", 172_800_000),
            ("now-1w", 604_800_000),
            ("2026-11-20T11:59:00Z", 60_000),
            ("2026-11-20T13:59:00+02:00", 60_000),
            ("2026-11-20 12:59", 60_000),
            ("2026-11-20T12:59:30", 30_000),
            ("1795175940", 60_000),
            ("1795175940000", 60_000),
        ] {
            assert_eq!(parse_instant(text, now, &zone).map(|at| noon - at), Ok(before_ms), "{text}");
        }
        for text in ["yesterday", "now+1h", "2026-13-01", "nan", ""] {
            let why = parse_instant(text, now, &zone).unwrap_err();
            assert!(why.contains("write 2026-11-20T09:31:00Z"), "{text}: {why}");
        }
        for (text, part) in [
            ("now-2x", "\"2x\" has a part that is no number with such a unit"),
            ("-1x", "\"1x\" has a part"),
            ("now-2", "\"2\" has no unit"),
            ("now-", "nothing follows the minus sign"),
            ("now-9999999h", "is out of range"),
        ] {
            let why = parse_instant(text, now, &zone).unwrap_err();
            assert!(why.starts_with(&format!("{text:?} is no time: ")) && why.contains(part), "{text}: {why}");
            // Units are listed, and forms that nobody tried are not advised.
            assert!(why.contains("s, m, h, d and w") && !why.contains("1970") && !why.contains(" ms"), "{text}: {why}");
        }
    }
}
