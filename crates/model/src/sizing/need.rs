//! What a site is asked to give, as it is written: `get=1TiB/s,usable=30PB`.

use std::str::FromStr;

use linerate_record::units::Bytes;

/// What a site must give. At least one of them is stated.
#[derive(Clone, Debug, PartialEq)]
pub struct Need {
    /// As it was written.
    pub text: String,
    /// GET, all clients together.
    pub get_bytes_per_s: Option<f64>,
    /// PUT, all clients together.
    pub put_bytes_per_s: Option<f64>,
    pub usable_bytes: Option<u64>,
}

/// A need that could not be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("invalid need {input:?} in {text:?}: {fix}")]
pub struct NeedError {
    input: String,
    text: String,
    fix: &'static str,
}

const NAMES: &str = "write get=RATE, put=RATE or usable=SIZE, such as get=1TiB/s,usable=30PB";
const RATE: &str = "write a rate above 0 and below 8EiB/s, such as 100GiB/s or 8Tb/s";
const SIZE: &str = "write a size above 0 and below 8EiB, such as 30PB or 500TiB";
const TWICE: &str = "state each need once";

impl FromStr for Need {
    type Err = NeedError;

    fn from_str(text: &str) -> Result<Self, NeedError> {
        let fail = |input: &str, fix| NeedError { input: input.trim().to_owned(), text: text.to_owned(), fix };
        let mut need = Need { text: text.to_owned(), get_bytes_per_s: None, put_bytes_per_s: None, usable_bytes: None };
        for part in text.split(',') {
            let (name, value) = part.split_once('=').ok_or_else(|| fail(part, NAMES))?;
            let taken = match name.trim() {
                "get" => need.get_bytes_per_s.replace(rate(value).ok_or_else(|| fail(part, RATE))?).is_some(),
                "put" => need.put_bytes_per_s.replace(rate(value).ok_or_else(|| fail(part, RATE))?).is_some(),
                "usable" => need.usable_bytes.replace(size(value).ok_or_else(|| fail(part, SIZE))?).is_some(),
                _ => return Err(fail(part, NAMES)),
            };
            if taken {
                return Err(fail(part, TWICE));
            }
        }
        Ok(need)
    }
}

/// Bytes per second, of `1TiB/s` or of a link's `8Tb/s`. Units of bytes end in a capital B, those of bits in a small.
fn rate(text: &str) -> Option<f64> {
    let per_s = text.trim().strip_suffix("/s")?.trim();
    let bits = per_s.strip_suffix('b').filter(|rest| rest.ends_with(['k', 'K', 'M', 'G', 'T']));
    match bits {
        Some(decimal) => Some(size(&format!("{decimal}B"))? as f64 / 8.0),
        None => Some(size(per_s)? as f64),
    }
}

fn size(text: &str) -> Option<u64> {
    text.trim().parse::<Bytes>().ok().map(|bytes| bytes.0).filter(|&bytes| bytes > 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn needs_are_read_with_bytes_and_bits_in_any_order() {
        let need: Need = "get=1TiB/s,usable=30PB".parse().unwrap();
        assert_eq!(need.get_bytes_per_s, Some(2_f64.powi(40)));
        assert_eq!(need.usable_bytes, Some(30_000_000_000_000_000));
        assert_eq!(need.put_bytes_per_s, None);
        let need: Need = " put = 800Gb/s , get=5GB/s".parse().unwrap();
        assert_eq!((need.put_bytes_per_s, need.get_bytes_per_s), (Some(100e9), Some(5e9)));
    }

    #[test]
    fn what_cannot_be_read_is_quoted_with_the_fix() {
        for (text, part, fix) in [
            ("", "\"\"", "get=RATE"),
            ("got=1TiB/s", "\"got=1TiB/s\"", "get=RATE"),
            ("get=1TiB", "\"get=1TiB\"", "a rate above 0"),
            ("get=fast,usable=1PB", "\"get=fast\"", "a rate above 0"),
            ("usable=0", "\"usable=0\"", "a size above 0"),
            ("usable=9223PB,get=99999999TiB/s", "\"get=99999999TiB/s\"", "below 8EiB/s"),
            ("usable=9224PB", "\"usable=9224PB\"", "below 8EiB,"),
            ("get=0/s", "\"get=0/s\"", "a rate above 0"),
            ("get=1GB/s,get=2GB/s", "\"get=2GB/s\"", "once"),
            ("usable=1PB,", "\"\"", "get=RATE"),
        ] {
            let error = text.parse::<Need>().unwrap_err().to_string();
            assert!(error.contains(part) && error.contains(fix), "{text:?}: {error}");
        }
    }
}
