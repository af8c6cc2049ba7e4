//! Sizes as warp reads them (`ParseBytes` of go-humanize): letters of any case, of which a lone one is decimal.

/// Sizes of one of warp's flags as they are written here: `120M` is `120MB`, `64Ki` is `64KiB`. So are both ends of a
/// range (`1K,2K`) and the sizes of a histogram (`4K:10,8K:5`). What warp does not read is left as it is.
#[must_use]
pub fn sizes_of_warp(text: &str) -> String {
    let one = |part: &str| match part.split_once(':') {
        Some((size, weight)) => format!("{}:{weight}", size_of_warp(size)),
        None => size_of_warp(part),
    };
    text.split(',').map(one).collect::<Vec<_>>().join(",")
}

fn size_of_warp(text: &str) -> String {
    let number = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let unit = text[number.len()..].to_ascii_lowercase();
    let is_number = number.trim().starts_with(|c: char| c.is_ascii_digit() || c == '.');
    let (prefix, is_binary) = match unit.as_bytes() {
        _ if !is_number => return text.to_owned(),
        [prefix] | [prefix, b'b'] => (*prefix, false),
        [prefix, b'i'] | [prefix, b'i', b'b'] => (*prefix, true),
        _ => return text.to_owned(),
    };
    match (prefix, is_binary) {
        (b'b', false) if unit == "b" => format!("{number}B"),
        (b'k' | b'm' | b'g' | b't' | b'p' | b'e', _) => {
            let infix = if is_binary { "i" } else { "" };
            format!("{number}{}{infix}B", char::from(prefix.to_ascii_uppercase()))
        }
        _ => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::Bytes;

    #[test]
    fn a_lone_letter_of_warp_is_decimal_and_an_i_makes_it_binary() {
        for (text, here, bytes) in [
            ("120M", "120MB", 120_000_000),
            ("1k", "1KB", 1_000),
            ("1kb", "1KB", 1_000),
            ("1KB", "1KB", 1_000),
            ("64Ki", "64KiB", 65_536),
            ("10mi", "10MiB", 10 << 20),
            ("1.5GiB", "1.5GiB", 3 << 29),
            ("1 MiB", "1 MiB", 1 << 20),
            ("4096", "4096", 4_096),
            ("10b", "10B", 10),
        ] {
            assert_eq!(sizes_of_warp(text), here);
            assert_eq!(here.parse::<Bytes>(), Ok(Bytes(bytes)), "{text}");
        }
        for (text, here) in [
            ("1K,2K", "1KB,2KB"),
            ("4K:10,8192:5", "4KB:10,8192:5"),
            ("large", "large"),
            ("random:1K-2K", "random:1K-2K"),
            ("1bb", "1bb"),
            ("", ""),
        ] {
            assert_eq!(sizes_of_warp(text), here);
        }
    }
}
