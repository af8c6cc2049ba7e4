//! Numbers as they are typed, and rates as other tools take them.

use super::BitRate;

/// A number of digits with at most one point: no sign, no exponent, nothing that is not a number.
#[must_use]
pub fn decimal(text: &str) -> Option<f64> {
    let digits = !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit() || b == b'.');
    text.parse::<f64>().ok().filter(|number| digits && number.is_finite())
}

/// A rate of bits as it is written here, where it was given as iperf3 and tc take it: `100M`, `1g`, `100Mbit`.
#[must_use]
pub fn bits_meant(text: &str) -> Option<String> {
    let text = text.trim();
    let number = text.trim_end_matches(|letter: char| letter.is_ascii_alphabetic());
    // A capital B is of bytes.
    let unit = Some(&text[number.len()..]).filter(|unit| !unit.ends_with('B'))?.to_ascii_lowercase();
    let prefix = ["bits", "bit", "b"].iter().find_map(|end| unit.strip_suffix(end)).unwrap_or(&unit);
    let prefix = match prefix {
        "k" => "k",
        "m" => "M",
        "g" => "G",
        "t" => "T",
        _ => return None,
    };
    decimal(number).map(|_| format!("{number}{prefix}b/s"))
}

/// What a rate of bits is in bytes, as rates of bytes are written: `152Gb/s` is `19GB/s`.
pub(super) fn bytes_of_bits(text: &str) -> Option<String> {
    let BitRate(bits_per_s) = text.parse().ok()?;
    let bytes_per_s = bits_per_s / 8.0;
    let units = [(1e12, "TB/s"), (1e9, "GB/s"), (1e6, "MB/s"), (1e3, "KB/s"), (1.0, "B/s")];
    // What rounds up to the next unit is written in that.
    let (unit, name) = *units.iter().find(|(unit, _)| bytes_per_s >= unit * 0.999_999)?;
    let digits = format!("{:.3}", bytes_per_s / unit);
    Some(format!("{}{name}", digits.trim_end_matches('0').trim_end_matches('.')))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::ByteRate;

    #[test]
    fn a_rate_of_another_tool_is_known_and_bytes_and_bare_numbers_are_not() {
        for (text, meant) in [
            ("100M", Some("100Mb/s")),
            ("1g", Some("1Gb/s")),
            ("100Mbit", Some("100Mb/s")),
            ("2.5Gbits", Some("2.5Gb/s")),
            ("64K", Some("64kb/s")),
            ("10mb", Some("10Mb/s")),
            ("100MB", None),
            ("100MiB", None),
            ("100", None),
            ("M", None),
            ("", None),
            ("fast", None),
            ("100M/10", None),
        ] {
            let found = bits_meant(text);
            assert_eq!(found.as_deref(), meant, "{text:?}");
            assert!(found.is_none_or(|meant| meant.parse::<BitRate>().is_ok()), "{text:?}");
        }
    }

    #[test]
    fn bits_in_place_of_bytes_are_refused_with_their_value_in_bytes() {
        for (text, bytes) in [
            ("152Gb/s", "19GB/s"),
            ("6.360 Gb/s", "795MB/s"),
            ("100Gbps", "12.5GB/s"),
            ("25Gbit/s", "3.125GB/s"),
            ("0.01Tb/s", "1.25GB/s"),
            ("1.23456Gb/s", "154.32MB/s"),
            ("8b/s", "1B/s"),
            ("7.999999999Gb/s", "1GB/s"),
        ] {
            let error = text.parse::<ByteRate>().expect_err(text).to_string();
            assert!(error.contains(&format!("{text:?}: that is {bytes} in bytes: write")), "{error}");
            assert!(bytes.parse::<ByteRate>().is_ok(), "{bytes}");
        }
    }
}
