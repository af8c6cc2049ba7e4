//! Rates of links, as flags of those who fill them.

use linerate_record::threshold::link_rate;
use linerate_record::units::bits_meant;

/// A rate as links are sold, or as bytes are counted, in bytes per second.
pub(crate) fn parse_rate(text: &str) -> Result<f64, String> {
    match link_rate(text) {
        Ok(rate) if (1e3..=1e13).contains(&rate) => Ok(rate),
        Ok(_) => Err(format!("{text:?} is not from 8kb/s to 80Tb/s, which are 1kB/s to 10TB/s")),
        Err(_) => match bits_meant(text) {
            Some(meant) => Err(format!("no rate in {text:?}: write {meant}")),
            None => Err(format!("no rate in {text:?}: write 1Gb/s, or 100MiB/s")),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_are_of_bits_and_of_bytes() {
        assert_eq!((parse_rate("1Gb/s"), parse_rate("100MiB/s")), (Ok(125e6), Ok(104_857_600.0)));
        for (text, why) in [
            ("100M", "no rate in \"100M\": write 100Mb/s"),
            ("1g", "no rate in \"1g\": write 1Gb/s"),
            ("100Mbit", "no rate in \"100Mbit\": write 100Mb/s"),
            ("fast", "no rate in \"fast\": write 1Gb/s, or 100MiB/s"),
            ("1b/s", "is not from 8kb/s to 80Tb/s, which are 1kB/s"),
            ("", "no rate"),
        ] {
            let error = parse_rate(text).unwrap_err();
            assert!(error.contains(why), "{error}");
        }
    }
}
