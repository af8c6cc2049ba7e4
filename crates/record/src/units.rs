//! Units: how sizes, durations and rates are read from flags and shown to people.
//!
//! Bytes are IEC (`4MiB`, 1024-based) unless a decimal unit is written (`4MB`); links are decimal bits (`25 Gb/s`).
//! A lone `M` is binary; where a tool takes it for decimal, as warp does, its sizes are translated.

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use serde::{Deserialize, Serialize};

mod dates;
mod parse;
mod shares;
mod unit;
mod warp_sizes;

pub use dates::utc;
pub use parse::{bits_meant, decimal};
pub use shares::share_in_words;
pub use unit::Unit;
pub use warp_sizes::sizes_of_warp;

/// A quantity that could not be read: quotes the input and names the form that would be right.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("invalid {what} {input:?}: {fix}")]
pub struct UnitError {
    pub(crate) what: &'static str,
    pub(crate) input: String,
    /// What would be right.
    pub fix: Cow<'static, str>,
}

impl UnitError {
    /// Whether bytes were written with the sign of bits.
    pub(crate) fn is_of_bits(&self) -> bool {
        self.fix == BITS
    }
}

/// A number of bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Bytes(pub u64);

const BYTE_UNITS: [(&str, u64); 18] = [
    ("KIB", 1 << 10),
    ("MIB", 1 << 20),
    ("GIB", 1 << 30),
    ("TIB", 1 << 40),
    ("PIB", 1 << 50),
    ("EIB", 1 << 60),
    ("KB", 1_000),
    ("MB", 1_000_000),
    ("GB", 1_000_000_000),
    ("TB", 1_000_000_000_000),
    ("PB", 1_000_000_000_000_000),
    ("EB", 1_000_000_000_000_000_000),
    ("K", 1 << 10),
    ("M", 1 << 20),
    ("G", 1 << 30),
    ("T", 1 << 40),
    ("P", 1 << 50),
    ("B", 1),
];

/// What to write in place of a small b.
const BITS: &str = "a small b is for bits: write bytes with a capital B, such as 10MB or 10MiB, and 80 Mb as 10MB";

/// Whether a size or rate of bytes is written with the sign of bits: `10Mb`, `80Mb/s`. All in small letters, `mib` is
/// taken for `MiB`: nobody counts in mebibits.
fn is_of_bits(text: &str) -> bool {
    let text = text.trim();
    let text = text.strip_suffix("/s").unwrap_or(text);
    let is_small = ["kib", "mib", "gib", "tib", "pib", "eib"].iter().any(|unit| text.ends_with(unit));
    let before = text.strip_suffix('b').and_then(|rest| rest.chars().next_back());
    !is_small && before.is_some_and(|c| c.is_ascii_digit() || " kKmMgGtTpPeEi".contains(c))
}

impl FromStr for Bytes {
    type Err = UnitError;

    /// Reads `4096`, `64KiB`, `1.5GiB`, `4MB`; a lone `K`, `M`, `G`, `T` or `P` is binary. A small `b` is
    /// refused: `10Mb` are bits, and eight times less.
    fn from_str(text: &str) -> Result<Self, UnitError> {
        let fail = |fix| UnitError { what: "size", input: text.to_owned(), fix: Cow::Borrowed(fix) };
        if is_of_bits(text) {
            return Err(fail(BITS));
        }
        let upper = text.trim().to_ascii_uppercase();
        let (number, unit) = BYTE_UNITS
            .iter()
            .find_map(|(name, factor)| Some((upper.strip_suffix(name)?, *factor)))
            .unwrap_or((&upper, 1));
        match scaled(number.trim(), unit) {
            Some(bytes) => Ok(Bytes(bytes)),
            None => Err(fail("write a number with KiB, MiB, GiB, TiB, KB, MB, GB, TB or nothing, such as 64KiB")),
        }
    }
}

/// `number × unit` where the product is a whole number of bytes (after rounding) and fits 63 bits.
fn scaled(number: &str, unit: u64) -> Option<u64> {
    if let Ok(whole) = number.parse::<u64>() {
        return whole.checked_mul(unit).filter(|&b| b <= i64::MAX as u64);
    }
    if !number.bytes().all(|b| b.is_ascii_digit() || b == b'.') {
        return None;
    }
    let bytes = number.parse::<f64>().ok()? * unit as f64;
    (bytes.is_finite() && bytes < i64::MAX as f64).then_some(bytes.round() as u64)
}

impl fmt::Display for Bytes {
    /// The shortest exact form: `64 KiB`, `4 MiB`, `1000 B`; two decimals where no unit divides it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const STEPS: [(u64, &str); 4] = [(1 << 40, "TiB"), (1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")];
        for (unit, name) in STEPS {
            if self.0 >= unit && self.0.is_multiple_of(unit) {
                return f.pad(&format!("{} {name}", self.0 / unit));
            }
        }
        f.pad(&bytes_iec(self.0 as f64))
    }
}

/// Bytes with an IEC unit and three significant digits: `1.23 MiB`.
#[must_use]
pub fn bytes_iec(bytes: f64) -> String {
    let (value, unit) = stepped(bytes, 1024.0, &["B", "KiB", "MiB", "GiB", "TiB", "PiB"]);
    format!("{} {unit}", three_digits(value))
}

/// Bytes with a decimal unit, as drives are sold: `15.4 TB`.
#[must_use]
pub fn bytes_si(bytes: f64) -> String {
    let (value, unit) = stepped(bytes, 1000.0, &["B", "kB", "MB", "GB", "TB", "PB", "EB"]);
    format!("{} {unit}", three_digits(value))
}

/// Throughput with an IEC unit: `1.23 GiB/s`.
#[must_use]
pub fn bytes_per_s_iec(bytes_per_s: f64) -> String {
    format!("{}/s", bytes_iec(bytes_per_s))
}

/// A link's rate in decimal bits: `24.1 Gb/s`.
#[must_use]
pub fn bits_per_s(bits_per_s: f64) -> String {
    let (value, unit) = stepped(bits_per_s, 1000.0, &["b/s", "kb/s", "Mb/s", "Gb/s", "Tb/s", "Pb/s"]);
    format!("{} {unit}", three_digits(value))
}

/// A count or rate of things: `912`, `14.2 k`, `3.10 M`.
#[must_use]
pub fn count(n: f64) -> String {
    let n = without_sign_of_zero(n);
    if n < 10_000.0 {
        return if n >= 100.0 || n.fract() == 0.0 { format!("{n:.0}") } else { three_digits(n) };
    }
    let (value, unit) = stepped(n, 1000.0, &["", "k", "M", "G", "T"]);
    format!("{} {unit}", three_digits(value))
}

/// A count to the last one: `2277`, and from five digits on in groups of three, parted by thin spaces: `1 204 331`.
#[must_use]
pub fn grouped(n: u64) -> String {
    let digits = n.to_string();
    if digits.len() < 5 {
        return digits;
    }
    let mut text = String::with_capacity(digits.len() * 2);
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            text.push('\u{202f}');
        }
        text.push(digit);
    }
    text
}

/// A duration in the unit that suits it: `850 ns`, `22.4 µs`, `1.30 ms`, `2.05 s`, `4 min 05 s`, `1 h 40 min`.
#[must_use]
pub fn duration_ns(ns: f64) -> String {
    if ns >= 60e9 {
        let seconds = (ns / 1e9).round() as u64;
        if seconds < 3600 {
            return format!("{} min {:02} s", seconds / 60, seconds % 60);
        }
        let minutes = (seconds + 30) / 60;
        return format!("{} h {:02} min", minutes / 60, minutes % 60);
    }
    let (value, unit) = stepped(ns, 1000.0, &["ns", "µs", "ms", "s"]);
    format!("{} {unit}", three_digits(value))
}

/// The sum of nothing is -0.0, and prints as such.
fn without_sign_of_zero(value: f64) -> f64 {
    value + 0.0
}

/// Divides by `step` until the value prints below it.
fn stepped(value: f64, step: f64, units: &[&'static str]) -> (f64, &'static str) {
    let (mut value, mut i) = (without_sign_of_zero(value), 0);
    // What would round up to the next unit steps on: 999.7 µs prints as 1.00 ms.
    while value.abs() >= step - 0.5 && i + 1 < units.len() {
        value /= step;
        i += 1;
    }
    (value, units[i])
}

fn three_digits(value: f64) -> String {
    let magnitude = value.abs();
    if magnitude >= 99.95 || value == 0.0 {
        format!("{value:.0}")
    } else if magnitude >= 9.995 {
        format!("{value:.1}")
    } else {
        format!("{value:.2}")
    }
}

/// A share, from 0 to 1, in percent with three significant digits: `0.612 %`, `34.0 %`, `100 %`. What is below the
/// whole does not read as the whole.
#[must_use]
pub fn percent(share: f64) -> String {
    let value = 100.0 * without_sign_of_zero(share);
    let value = if share < 1.0 { value.min(99.9) } else { value };
    if value == 0.0 {
        return "0 %".to_owned();
    }
    // Below a millionth of a percent, digits say nothing.
    if value.abs() < LEAST_PERCENT {
        return if value > 0.0 { format!("under {LEAST_PERCENT} %") } else { "0 %".to_owned() };
    }
    let decimals = (2.0 - value.abs().log10().floor()).clamp(0.0, 6.0) as usize;
    let rounded: f64 = format!("{value:.decimals$}").parse().unwrap_or(value);
    let carried = rounded.abs().log10().floor() > value.abs().log10().floor();
    format!("{value:.0$} %", if carried { decimals.saturating_sub(1) } else { decimals })
}

/// The least share that has digits, in percent.
const LEAST_PERCENT: f64 = 0.000_001;

/// An interval of a share, from 0 to 1: `1.20 % to 3.40 %`. A lower end that is nothing beside the upper one has no
/// digits: `0 % to 0.460 %`.
#[must_use]
pub fn percent_range([low, high]: [f64; 2]) -> String {
    let low = if low.abs() < high.abs() / 1000.0 { 0.0 } else { low };
    format!("{} to {}", percent(low), percent(high))
}

/// A duration in nanoseconds; more than 584 years are that many.
#[must_use]
pub fn whole_ns(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

/// Reads `500ms`, `10s`, `1m30s`, `2h`, as Go and warp write durations; a bare number is refused.
///
/// # Errors
/// [`UnitError`] where the text is none of these, is zero parts long, or exceeds 365 days.
pub fn parse_duration(text: &str) -> Result<Duration, UnitError> {
    let fail = || UnitError {
        what: "duration",
        input: text.to_owned(),
        fix: "write a number with ms, s, m or h, such as 30s or 1m30s".into(),
    };
    let mut rest = text.trim();
    let mut total_s = 0.0;
    if rest.is_empty() {
        return Err(fail());
    }
    while !rest.is_empty() {
        let digits = rest.find(|c: char| !c.is_ascii_digit() && c != '.').ok_or_else(fail)?;
        let number: f64 = rest[..digits].parse().map_err(|_| fail())?;
        let unit_end = rest[digits..].find(|c: char| c.is_ascii_digit()).map_or(rest.len(), |i| digits + i);
        total_s += number
            * match &rest[digits..unit_end] {
                "us" | "µs" => 1e-6,
                "ms" => 1e-3,
                "s" => 1.0,
                "m" | "min" => 60.0,
                "h" => 3600.0,
                _ => return Err(fail()),
            };
        rest = &rest[unit_end..];
    }
    if total_s > 365.0 * 86_400.0 {
        return Err(fail());
    }
    Ok(Duration::from_secs_f64(total_s))
}

/// A share of a whole: more than 0 and less than 1.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Share(pub f64);

impl FromStr for Share {
    type Err = UnitError;

    /// Reads `5%`, `0.5 %` and `0.05`.
    fn from_str(text: &str) -> Result<Self, UnitError> {
        let fail = || UnitError {
            what: "share",
            input: text.to_owned(),
            fix: "write a share above 0 and below the whole, such as 5%".into(),
        };
        let trimmed = text.trim();
        let (number, whole) = trimmed.strip_suffix('%').map_or((trimmed, 1.0), |percent| (percent.trim(), 100.0));
        let share = number.parse::<f64>().map_err(|_| fail())? / whole;
        if share > 0.0 && share < 1.0 { Ok(Share(share)) } else { Err(fail()) }
    }
}

/// A cap on load: requests or body bytes per second. As text, `500/s` or `209715200B/s`.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum Rate {
    /// Requests per second.
    Requests(f64),
    /// Body bytes per second.
    Bytes(f64),
}

impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Rate::Requests(per_s) => f.pad(&format!("{per_s}/s")),
            Rate::Bytes(per_s) => f.pad(&format!("{per_s}B/s")),
        }
    }
}

impl FromStr for Rate {
    type Err = UnitError;

    /// Reads `500/s`, `500`, `1.5k/s` (requests) and `200MiB/s`, `1GB/s` (bytes; the unit decides).
    fn from_str(text: &str) -> Result<Self, UnitError> {
        let fail = || UnitError {
            what: "rate",
            input: text.to_owned(),
            fix: "write requests per second such as 500/s, or bytes per second such as 200MiB/s".into(),
        };
        if is_of_bits(text) {
            return Err(UnitError { fix: BITS.into(), ..fail() });
        }
        let trimmed = text.trim();
        let trimmed = trimmed.strip_suffix("/s").unwrap_or(trimmed);
        let rate = if trimmed.ends_with(['B', 'b']) {
            Rate::Bytes(trimmed.parse::<Bytes>().map_err(|_| fail())?.0 as f64)
        } else if let Some(thousands) = trimmed.strip_suffix('k') {
            Rate::Requests(thousands.trim().parse::<f64>().map_err(|_| fail())? * 1e3)
        } else {
            Rate::Requests(trimmed.parse::<f64>().map_err(|_| fail())?)
        };
        let (Rate::Requests(n) | Rate::Bytes(n)) = rate;
        if n.is_finite() && n >= 0.001 { Ok(rate) } else { Err(fail()) }
    }
}

impl TryFrom<String> for Rate {
    type Error = UnitError;

    fn try_from(text: String) -> Result<Self, UnitError> {
        text.parse()
    }
}

impl From<Rate> for String {
    fn from(rate: Rate) -> String {
        rate.to_string()
    }
}

/// Bytes per second, as drives and goals are written.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ByteRate(pub f64);

impl FromStr for ByteRate {
    type Err = UnitError;

    /// Reads `6.5GB/s`, `152 GiB/s`. The `B` is a capital one: `Gb/s` are bits, and eight times less.
    fn from_str(text: &str) -> Result<Self, UnitError> {
        let fail = || {
            let write = "write bytes per second with a capital B";
            let fix = match parse::bytes_of_bits(text) {
                Some(bytes) => format!("that is {bytes} in bytes: {write}"),
                None => format!("{write}, such as 6.5GB/s or 152GiB/s"),
            };
            UnitError { what: "rate of bytes", input: text.to_owned(), fix: fix.into() }
        };
        let size = text.trim().strip_suffix("/s").ok_or_else(fail)?.trim_end();
        if !size.ends_with('B') {
            return Err(fail());
        }
        size.parse::<Bytes>().map(|bytes| ByteRate(bytes.0 as f64)).map_err(|_| fail())
    }
}

/// Bits per second, as links are sold.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BitRate(pub f64);

const BIT_UNITS: [(&str, f64); 5] = [("k", 1e3), ("M", 1e6), ("G", 1e9), ("T", 1e12), ("", 1.0)];

impl FromStr for BitRate {
    type Err = UnitError;

    /// Reads `25Gb/s`, `200 Mbit/s`, `400Gbps`, `100GbE`. The `b` is a small one: `GB/s` are bytes.
    fn from_str(text: &str) -> Result<Self, UnitError> {
        let fail = || UnitError {
            what: "rate of bits",
            input: text.to_owned(),
            fix: "write bits per second with a small b, such as 25Gb/s or 200Mbit/s".into(),
        };
        let scaled =
            ["bit/s", "b/s", "bps", "bE"].iter().find_map(|end| text.trim().strip_suffix(end)).ok_or_else(fail)?;
        let (number, unit) =
            BIT_UNITS.iter().find_map(|(prefix, unit)| Some((scaled.strip_suffix(prefix)?, *unit))).ok_or_else(fail)?;
        Ok(BitRate(decimal(number.trim()).ok_or_else(fail)? * unit))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn shares_are_shown_with_three_digits_and_less_than_all_is_not_all() {
        for (share, text) in [
            (0.0, "0 %"),
            (-0.0, "0 %"),
            (1.0, "100 %"),
            (0.99999, "99.9 %"),
            (0.34, "34.0 %"),
            (0.09996, "10.0 %"),
            (0.006_123, "0.612 %"),
            (0.009_999_9, "1.00 %"),
            (0.000_012_34, "0.00123 %"),
            (1.234e-8, "0.000001 %"),
            (1e-12, "under 0.000001 %"),
            (2.5, "250 %"),
            (-0.05, "-5.00 %"),
        ] {
            assert_eq!(percent(share), text, "{share}");
        }
    }

    #[test]
    fn the_lower_end_of_an_interval_has_no_more_zeros_than_the_upper_has_digits() {
        for (interval, text) in [
            ([0.0, 0.0046], "0 % to 0.460 %"),
            ([3e-12, 0.0046], "0 % to 0.460 %"),
            ([0.000_01, 0.0046], "0.00100 % to 0.460 %"),
            ([0.02, 0.3], "2.00 % to 30.0 %"),
            ([0.0, 0.0], "0 % to 0 %"),
        ] {
            assert_eq!(percent_range(interval), text, "{interval:?}");
        }
    }

    #[test]
    fn a_count_of_four_digits_is_written_like_a_rate_and_a_longer_one_in_groups() {
        for (n, text) in [
            (0, "0"),
            (999, "999"),
            (2277, "2277"),
            (10_000, "10\u{202f}000"),
            (123_456, "123\u{202f}456"),
            (1_234_567, "1\u{202f}234\u{202f}567"),
        ] {
            assert_eq!(grouped(n), text);
        }
        assert_eq!(grouped(2277), count(2277.0));
    }

    #[test]
    fn shares_read_as_percent_or_as_numbers() {
        for (text, share) in [("5%", 0.05), (" 0.5 % ", 0.005), ("0.2", 0.2)] {
            assert!((text.parse::<Share>().unwrap().0 - share).abs() < 1e-12, "{text}");
        }
        for text in ["5", "0", "100%", "-1%", "x%", "", "nan"] {
            let error = text.parse::<Share>().unwrap_err().to_string();
            assert!(error.contains(&format!("{text:?}")) && error.contains("such as 5%"), "{error}");
        }
    }

    #[test]
    fn sizes_read_as_people_write_them() {
        for (text, bytes) in [
            ("4096", 4096),
            ("64KiB", 65_536),
            ("4 MiB", 4 << 20),
            ("1.5GiB", 3 << 29),
            ("4MB", 4_000_000),
            ("10k", 10_240),
            ("1m", 1 << 20),
            ("0", 0),
            ("7B", 7),
            ("1EiB", 1 << 60),
        ] {
            assert_eq!(text.parse(), Ok(Bytes(bytes)), "{text}");
        }
        for text in ["", "MiB", "-1", "4 MiBs", "1e3", "nan", "inf", "9999999999TiB", "0x10"] {
            let error = text.parse::<Bytes>().expect_err(text).to_string();
            assert!(error.contains(&format!("{text:?}")) && error.contains("64KiB"), "{error}");
        }
    }

    #[test]
    fn quantities_show_three_digits_and_never_a_fourth() {
        assert_eq!(bytes_per_s_iec(11.31 * (1u64 << 30) as f64), "11.3 GiB/s");
        assert_eq!(bytes_iec(1023.6), "1.00 KiB");
        assert_eq!(bytes_iec(999.0), "999 B");
        assert_eq!(bytes_per_s_iec(std::iter::empty::<f64>().sum()), "0 B/s");
        assert_eq!(bytes_si(15.36e12), "15.4 TB");
        assert_eq!(duration_ns(999_700.0), "1.00 ms");
        assert_eq!(duration_ns(22_400.0), "22.4 µs");
        assert_eq!(duration_ns(0.0), "0 ns");
        assert_eq!(duration_ns(90e9), "1 min 30 s");
        assert_eq!(duration_ns(6000e9), "1 h 40 min");
        assert_eq!(bits_per_s(24.1e9), "24.1 Gb/s");
        assert_eq!(count(14_230.0), "14.2 k");
        assert_eq!(count(912.4), "912");
        assert_eq!(Bytes(65_536).to_string(), "64 KiB");
        assert_eq!(Bytes(1000).to_string(), "1000 B");
    }

    #[test]
    fn durations_read_as_go_writes_them() {
        assert_eq!(parse_duration("1m30s").unwrap(), Duration::from_secs(90));
        assert_eq!(parse_duration("500ms").unwrap(), Duration::from_millis(500));
        for text in ["", "10", "s", "10x", "1..2s", "9999999h"] {
            assert!(parse_duration(text).is_err(), "{text}");
        }
    }

    #[test]
    fn bits_are_no_bytes() {
        for text in ["10Mb", "64Gb", "4 Mb", "10mb", "64kb", "1.5Kb", "7b", "7 b", "4Mib"] {
            let reported = text.parse::<Bytes>().expect_err(text).to_string();
            assert!(reported.contains(&format!("{text:?}")) && reported.contains("capital B"), "{reported}");
            let rate = format!("{text}/s");
            let reported = rate.parse::<Rate>().expect_err(&rate).to_string();
            assert!(reported.contains(&format!("{rate:?}")) && reported.contains("capital B"), "{reported}");
        }
        for text in ["10MB", "10MiB", "10mib", "64kib", "10kB", "7B"] {
            assert!(text.parse::<Bytes>().is_ok() && format!("{text}/s").parse::<Rate>().is_ok(), "{text}");
        }
    }

    #[test]
    fn rates_tell_requests_from_bytes_by_their_unit() {
        assert_eq!("500/s".parse(), Ok(Rate::Requests(500.0)));
        assert_eq!("1.5k".parse(), Ok(Rate::Requests(1500.0)));
        assert_eq!("200MiB/s".parse(), Ok(Rate::Bytes(200.0 * 1_048_576.0)));
        for text in ["500/s", "1.5/s", "209715200B/s"] {
            assert_eq!(text.parse::<Rate>().unwrap().to_string(), text);
        }
        for text in ["", "0/s", "-5", "fast", "nan"] {
            assert!(text.parse::<Rate>().is_err(), "{text}");
        }
    }

    #[test]
    fn bits_and_bytes_are_told_apart_by_their_letter() {
        for (text, rate) in [("6.5GB/s", 6.5e9), ("152 GiB/s", 152.0 * f64::from(1 << 30)), ("1TiB/s", 2f64.powi(40))] {
            assert_eq!(text.parse(), Ok(ByteRate(rate)), "{text}");
        }
        for (text, rate) in [("25Gb/s", 25e9), ("200 Mbit/s", 200e6), ("400Gbps", 400e9), ("100GbE", 100e9)] {
            assert_eq!(text.parse(), Ok(BitRate(rate)), "{text}");
        }
        for text in ["6.5Gb/s", "6.5GB", "6.5", "-1GB/s", "GB/s", "nanGB/s", "", "1e3GB/s"] {
            let error = text.parse::<ByteRate>().expect_err(text).to_string();
            assert!(error.contains(&format!("{text:?}")) && error.contains("capital B"), "{error}");
        }
        for text in ["25GB/s", "25G", "25", "-1Gb/s", "Gb/s", "nanGb/s", "", "1.2.3Gb/s", "infb/s"] {
            let error = text.parse::<BitRate>().expect_err(text).to_string();
            assert!(error.contains(&format!("{text:?}")) && error.contains("small b"), "{error}");
        }
    }

    proptest! {
        #[test]
        fn parsing_never_panics(text in ".{0,24}") {
            let _ = (text.parse::<ByteRate>(), text.parse::<BitRate>());
            let _ = text.parse::<Bytes>();
            let _ = parse_duration(&text);
            let _ = text.parse::<Rate>();
        }

        #[test]
        fn what_a_size_says_of_itself_is_a_size(bytes in 0u64..=1 << 62) {
            prop_assert!(Bytes(bytes).to_string().parse::<Bytes>().is_ok(), "{}", Bytes(bytes));
        }

        #[test]
        fn whole_sizes_survive_display(kib in 1u64..=1 << 30) {
            let bytes = Bytes(kib << 10);
            if !bytes.to_string().contains('.') {
                prop_assert_eq!(bytes.to_string().parse::<Bytes>(), Ok(bytes));
            }
        }
    }
}
