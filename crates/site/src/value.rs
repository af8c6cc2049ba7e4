//! A single value of a site: its text, by the shape that the table gives it.

use std::borrow::Cow;

use linerate_record::sanitize::masked;
use linerate_record::site::Kernel;
use linerate_record::units::{self, BitRate, ByteRate, Bytes};

pub(crate) mod text;

use super::keys::{NumberKind, Shape};
use super::word_lists::{self, Word};

/// A value that was read.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum SiteValue {
    Text(String),
    Switch(bool),
    Whole(u64),
    /// In the unit of its kind: bytes, bytes or bits per second, operations per second, nanoseconds, years, shares.
    Number(f64),
    Word(&'static str),
    Kernel(Kernel),
    Protected(Protected),
}

/// What is written behind `protection`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Protected {
    /// `10+4`.
    Shards { data: u32, parity: u32 },
    /// `EC:4`.
    Parity(u32),
    /// `3x`.
    Copies(u32),
}

/// What is wrong with a value, and what to write instead.
pub(super) type ValueMistake = (String, String);

/// Whether a text is a name that a site can have: of itself, a link or a kind of nodes.
#[must_use]
pub fn is_name(text: &str) -> bool {
    name(text).is_some()
}

/// Reads a scalar. `key` is what the messages call it.
pub(super) fn read(shape: &Shape, key: &str, text: &str) -> Result<SiteValue, ValueMistake> {
    let invalid = |fix: String| (format!("invalid {key} {}", quoted(text)), fix);
    match shape {
        Shape::Name | Shape::Names => name(text).ok_or_else(|| {
            invalid("write letters, digits, \"-\", \"_\" and \".\", 63 at most, a letter or digit first".to_owned())
        }),
        Shape::Switch => word("switch", key, word_lists::SWITCHES, text).map(|word| SiteValue::Switch(word == "true")),
        Shape::Whole(min, max) => match text.parse::<u64>() {
            Ok(whole) if (*min..=*max).contains(&whole) => Ok(SiteValue::Whole(whole)),
            _ => Err(invalid(format!("write a whole number from {min} to {max}"))),
        },
        Shape::Quantity(kind, min, max) => {
            let number = quantity(*kind, text).map_err(|fix| invalid(fix.into_owned()))?;
            if (*min..=*max).contains(&number) {
                return Ok(SiteValue::Number(number));
            }
            let bounds = format!("from {} to {}", shown(*kind, *min), shown(*kind, *max));
            Err((format!("{key} {} is out of range", quoted(text)), format!("write something {bounds}")))
        }
        Shape::Words(what, list) => word(what, key, list, text).map(SiteValue::Word),
        Shape::Kernel => {
            kernel(text).map(SiteValue::Kernel).ok_or_else(|| invalid("write it as 6.8 or 5.14.0-427".to_owned()))
        }
        Shape::Protection => protected(text).map(SiteValue::Protected).ok_or_else(|| {
            invalid("write data and parity such as 10+4, parity alone such as EC:4, or copies such as 3x".to_owned())
        }),
        Shape::Text(kind) | Shape::Texts(kind) => {
            if text::is_text_kind(*kind, text) {
                return Ok(SiteValue::Text(text.to_owned()));
            }
            Err(invalid(text::fix(*kind).to_owned()))
        }
        Shape::Mapping(what, keys) | Shape::Short(what, _, keys) | Shape::OneOrMany(what, keys, _) => {
            let names: Vec<_> = keys.iter().map(|key| key.name).collect();
            Err((format!("{key} {} is not a mapping", quoted(text)), format!("keys of {what}: {}", names.join(", "))))
        }
    }
}

/// A value as it stands in a message: in quotes, without credentials of an address, and cut where it is long.
#[must_use]
pub fn quoted(text: &str) -> String {
    let text = &*masked(text);
    let mut short: String = text.chars().take(60).collect();
    if short.len() < text.len() {
        short.push('…');
    }
    format!("{short:?}")
}

fn name(text: &str) -> Option<SiteValue> {
    let fits = (1..=63).contains(&text.len())
        && text.starts_with(|c: char| c.is_ascii_alphanumeric())
        && text.bytes().all(|b| b.is_ascii_alphanumeric() || b"-_.".contains(&b));
    fits.then(|| SiteValue::Text(text.to_owned()))
}

fn word(what: &str, key: &str, list: &'static [Word], text: &str) -> Result<&'static str, ValueMistake> {
    if let Some(word) = list.iter().find(|word| word.name == text) {
        return Ok(word.name);
    }
    if what == "switch" {
        return Err((format!("invalid {key} {}", quoted(text)), "write true or false".to_owned()));
    }
    if what == "engine" && ["librados", "rados", "rbd", "cephfs"].contains(&text) {
        let advice = "only S3 is modelled: write ceph-rgw for Ceph behind its gateways";
        return Err((format!("unknown {what} {}", quoted(text)), advice.to_owned()));
    }
    let meant = word_lists::meant(text, list).map_or_else(String::new, |word| format!("did you mean {word:?}? "));
    Err((format!("unknown {what} {}", quoted(text)), format!("{meant}{}: {}", plural(what), word_lists::listed(list))))
}

/// `bond mode` to `Modes`, `place of clients` to `Places`.
fn plural(what: &str) -> String {
    let what = what.split(" of ").next().unwrap_or(what);
    let noun = what.rsplit(' ').next().unwrap_or(what);
    let (first, rest) = noun.split_at(1);
    let rest = match rest.strip_suffix('y') {
        Some(stem) => format!("{stem}ies"),
        None if rest.ends_with('h') && !rest.ends_with("th") => format!("{rest}es"),
        None => format!("{rest}s"),
    };
    format!("{}{rest}", first.to_uppercase())
}

fn kernel(text: &str) -> Option<Kernel> {
    let mut parts = text.split(['.', '-', '+', '~']);
    let mut part = || parts.next()?.parse::<u32>().ok().filter(|number| *number < 1000);
    Some(Kernel { major: part()?, minor: part()? })
}

fn protected(text: &str) -> Option<Protected> {
    let number = |text: &str| text.trim().parse::<u32>().ok().filter(|number| *number <= 255);
    let upper = text.trim().to_ascii_uppercase();
    if let Some(parity) = upper.strip_prefix("EC:") {
        return Some(Protected::Parity(number(parity)?));
    }
    if let Some(copies) = upper.strip_suffix('X') {
        return number(copies).filter(|copies| *copies > 0).map(Protected::Copies);
    }
    let (data, parity) = upper.split_once('+')?;
    Some(Protected::Shards { data: number(data).filter(|data| *data > 0)?, parity: number(parity)? })
}

fn quantity(kind: NumberKind, text: &str) -> Result<f64, Cow<'static, str>> {
    let text = text.trim();
    let after = |ends: &[(&str, f64)]| {
        ends.iter().find_map(|(end, scale)| Some(units::decimal(text.strip_suffix(end)?.trim_end())? * scale))
    };
    match kind {
        NumberKind::Bytes if text.ends_with('b') => Err("write bytes with a capital B, such as 7.68TB".into()),
        NumberKind::Bytes => text.parse::<Bytes>().map(|bytes| bytes.0 as f64).map_err(|error| error.fix),
        NumberKind::BytesPerS => text.parse::<ByteRate>().map(|rate| rate.0).map_err(|error| error.fix),
        NumberKind::BitsPerS => text.parse::<BitRate>().map(|rate| rate.0).map_err(|error| error.fix),
        NumberKind::Operations => {
            after(&[("k", 1e3), ("M", 1e6), ("", 1.0)]).ok_or("write operations per second, such as 800k".into())
        }
        NumberKind::Time => units::parse_duration(text).map(|time| time.as_nanos() as f64).map_err(|error| error.fix),
        NumberKind::Years => after(&[("y", 1.0), ("mo", 1.0 / 12.0), ("d", 1.0 / 365.25)])
            .ok_or("write years, months or days, such as 3y, 18mo or 90d".into()),
        NumberKind::Growth => after(&[("%", 0.01), ("", 1.0)]).ok_or("write a share a year, such as 30% or 0.3".into()),
        NumberKind::Ratio => after(&[(":1", 1.0), ("", 1.0)]).ok_or("write a ratio, such as 3:1 or 3".into()),
        NumberKind::Plain => after(&[("", 1.0)]).ok_or("write a number, such as 0.5".into()),
    }
}

/// A bound, as people write it.
fn shown(kind: NumberKind, number: f64) -> String {
    match kind {
        NumberKind::Bytes => units::bytes_iec(number),
        NumberKind::BytesPerS => units::bytes_per_s_iec(number),
        NumberKind::BitsPerS => units::bits_per_s(number),
        NumberKind::Operations => units::count(number),
        NumberKind::Time if number % 1e9 == 0.0 => format!("{}s", number / 1e9),
        NumberKind::Time => units::duration_ns(number),
        NumberKind::Years => format!("{number}y"),
        NumberKind::Growth => format!("{}%", number * 100.0),
        NumberKind::Ratio => format!("{number}:1"),
        NumberKind::Plain => format!("{number}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantities_read_in_the_units_of_their_kind() {
        for (kind, text, number) in [
            (NumberKind::Bytes, "7.68TB", 7.68e12),
            (NumberKind::BytesPerS, "6.5GB/s", 6.5e9),
            (NumberKind::BitsPerS, "25Gb/s", 25e9),
            (NumberKind::Operations, "800k", 8e5),
            (NumberKind::Operations, "1.5M", 1.5e6),
            (NumberKind::Time, "50ms", 5e7),
            (NumberKind::Years, "18mo", 1.5),
            (NumberKind::Growth, "30 %", 0.3),
            (NumberKind::Ratio, "3:1", 3.0),
            (NumberKind::Plain, "0.25", 0.25),
        ] {
            let read = quantity(kind, text).expect(text);
            assert!((read / number - 1.0).abs() < 1e-12, "{text}: {read}");
        }
        for (kind, text) in [
            (NumberKind::Bytes, "7.68Tb"),
            (NumberKind::Bytes, "-1GB"),
            (NumberKind::BytesPerS, "6.5Gb/s"),
            (NumberKind::Operations, "-5"),
            (NumberKind::Operations, "1e9"),
            (NumberKind::Years, "3"),
            (NumberKind::Growth, "nan"),
            (NumberKind::Ratio, "inf"),
            (NumberKind::Plain, "50%"),
        ] {
            assert!(quantity(kind, text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_kernel_is_no_number_with_a_fraction() {
        for (text, major, minor) in [("6.10", 6, 10), ("5.14.0-427.66.1.el9_4", 5, 14), ("6.8-rc1", 6, 8)] {
            assert_eq!(kernel(text), Some(Kernel { major, minor }), "{text}");
        }
        for text in ["6", "", "six.eight", "6.", "-6.8", "99999.1"] {
            assert_eq!(kernel(text), None, "{text}");
        }
    }

    #[test]
    fn protections_read_as_people_call_them() {
        for (text, protection) in [
            ("10+4", Some(Protected::Shards { data: 10, parity: 4 })),
            ("EC:4", Some(Protected::Parity(4))),
            ("ec:0", Some(Protected::Parity(0))),
            ("3x", Some(Protected::Copies(3))),
            ("0x", None),
            ("0+4", None),
            ("10", None),
            ("+", None),
            ("-1+4", None),
            ("4294967296+1", None),
        ] {
            assert_eq!(protected(text), protection, "{text}");
        }
    }

    #[test]
    fn lists_of_words_are_named_in_the_plural() {
        for (what, many) in [("bond mode", "Modes"), ("transmit hash", "Hashes"), ("traffic policy", "Policies")] {
            assert_eq!(plural(what), many);
        }
        assert_eq!((plural("entry path").as_str(), plural("place of clients").as_str()), ("Paths", "Places"));
    }
}
