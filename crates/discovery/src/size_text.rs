//! Sizes and rates as a site file has them.

/// `7.68TB`, `480GB`: decimal, as drives are sold.
pub(crate) fn decimal(bytes: u64) -> String {
    let bytes = bytes as f64;
    let (unit, name) =
        [(1e12, "TB"), (1e9, "GB"), (1e6, "MB")].into_iter().find(|(unit, _)| bytes >= *unit).unwrap_or((1e3, "KB"));
    format!("{}{name}", digits(bytes / unit))
}

/// `503.5GiB`.
pub(crate) fn binary(bytes: u64) -> String {
    format!("{}GiB", digits(bytes as f64 / f64::from(1 << 30)))
}

/// `25Gb/s`, `200Mb/s`.
pub(crate) fn speed(bits_per_s: u64) -> String {
    let bits = bits_per_s as f64;
    let (unit, name) = if bits >= 1e9 { (1e9, "Gb/s") } else { (1e6, "Mb/s") };
    format!("{}{name}", digits(bits / unit))
}

/// At most three decimals, without zeros at the end.
fn digits(number: f64) -> String {
    let text = format!("{number:.3}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_as_people_write_them() {
        assert_eq!(decimal(7_681_501_126_656), "7.682TB");
        assert_eq!((decimal(480_000_000_000), decimal(314_572_800)), ("480GB".to_owned(), "314.573MB".to_owned()));
        assert_eq!((binary(540_000_000_000), binary(512 << 30)), ("502.914GiB".to_owned(), "512GiB".to_owned()));
        assert_eq!((speed(25_000_000_000), speed(200_000_000)), ("25Gb/s".to_owned(), "200Mb/s".to_owned()));
    }
}
