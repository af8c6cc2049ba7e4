//! Times of day in UTC.

/// A time of day in UTC: `2025-11-20 09:31:07 UTC`.
pub fn utc(unix_ms: u64) -> String {
    let seconds = unix_ms / 1000;
    let (year, month, day) = civil(seconds / 86_400);
    let (hour, minute, second) = (seconds / 3600 % 24, seconds / 60 % 60, seconds % 60);
    format!("{year:04}-{month:02}-{day:02} {hour:02}:{minute:02}:{second:02} UTC")
}

/// Year, month and day of a day counted from 1970-01-01.
fn civil(days: u64) -> (u64, u64, u64) {
    // Years that begin in March keep the leap day last, so that months have fixed offsets (Hinnant's algorithm).
    let shifted = days + 719_468;
    let era_day = shifted % 146_097;
    let era_year = (era_day - era_day / 1460 + era_day / 36_524 - era_day / 146_096) / 365;
    let year_day = era_day - (365 * era_year + era_year / 4 - era_year / 100);
    let march_month = (5 * year_day + 2) / 153;
    let day = year_day - (153 * march_month + 2) / 5 + 1;
    let month = if march_month < 10 { march_month + 3 } else { march_month - 9 };
    let year = era_year + shifted / 146_097 * 400 + u64::from(month <= 2);
    (year, month, day)
}
