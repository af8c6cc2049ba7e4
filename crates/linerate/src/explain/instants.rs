//! Instants as people write them: of a clock, of a calendar, or so long before now.

use jiff::civil::DateTime;
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};
use linerate_record::units::parse_duration;

/// Milliseconds since 1970 of an instant.
pub(crate) fn instant(text: &str, now: Timestamp, zone: &TimeZone) -> Result<i64, String> {
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
        return ago(before, now).map_err(|why| format!("{text:?} is no time: {why}: {fix}"));
    }
    if let Some(before) = text.strip_prefix('-') {
        return ago(before, now).map_err(|why| format!("{text:?} is no time: {why}: {fix}"));
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

fn ago(text: &str, now: Timestamp) -> Result<i64, String> {
    let before = match days(text.trim()) {
        Some(days) => SignedDuration::from_hours(24 * i64::from(days)),
        None => {
            let before = parse_duration(text.trim()).map_err(|error| error.to_string())?;
            SignedDuration::try_from(before).map_err(|error| error.to_string())?
        }
    };
    now.checked_sub(before).map(Timestamp::as_millisecond).map_err(|error| error.to_string())
}

/// `2d`, `1w`: whole days and weeks, as Grafana and Prometheus write them.
fn days(text: &str) -> Option<u32> {
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
            assert_eq!(instant(text, now, &zone).map(|at| noon - at), Ok(before_ms), "{text}");
        }
        for text in ["yesterday", "now+1h", "now-", "2026-13-01", "-1x", "nan", ""] {
            let why = instant(text, now, &zone).unwrap_err();
            assert!(why.contains("write 2026-11-20T09:31:00Z"), "{text}: {why}");
        }
    }
}
