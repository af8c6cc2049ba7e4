//! A histogram as run folders have them: HdrHistogram V2 in base64, by its published format.

const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// Where the occupied buckets begin: at about 40 µs.
const FIRST: i64 = 1_400;

/// One with so many occupied buckets, one value in each.
pub(super) fn of_buckets(buckets: usize) -> String {
    let mut counts = zigzag(-FIRST);
    (0..buckets).for_each(|_| counts.extend(zigzag(1)));
    let mut bytes = Vec::new();
    let length = u32::try_from(counts.len()).unwrap_or(u32::MAX);
    // The version, the counts' length, no offset, and two significant digits.
    [0x1c84_9313, length, 0, 2].into_iter().for_each(|word: u32| bytes.extend(word.to_be_bytes()));
    // From 64 ns to an hour.
    [64, 3_600_000_000_000].into_iter().for_each(|limit: u64| bytes.extend(limit.to_be_bytes()));
    bytes.extend(1.0_f64.to_be_bytes());
    bytes.extend(counts);
    base64(&bytes)
}

/// A number in as many bytes as it takes; of zeros, how many there are, negative.
fn zigzag(number: i64) -> Vec<u8> {
    let mut rest = ((number << 1) ^ (number >> 63)).cast_unsigned();
    let mut bytes = Vec::new();
    while rest >= 0x80 {
        bytes.push((rest & 0x7f) as u8 | 0x80);
        rest >>= 7;
    }
    bytes.push(rest as u8);
    bytes
}

fn base64(bytes: &[u8]) -> String {
    let mut text = String::new();
    for three in bytes.chunks(3) {
        let word = three.iter().fold(0_u32, |word, byte| word << 8 | u32::from(*byte)) << (8 * (3 - three.len()));
        for place in 0..4 {
            let of_alphabet = ALPHABET[(word >> (18 - 6 * place)) as usize & 63];
            text.push(if place <= three.len() { char::from(of_alphabet) } else { '=' });
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_is_that_of_the_rfc() {
        for (bytes, text) in [("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foobar", "Zm9vYmFy")] {
            assert_eq!(base64(bytes.as_bytes()), text);
        }
    }

    #[test]
    fn numbers_take_as_many_bytes_as_they_need() {
        assert_eq!((zigzag(1), zigzag(-1), zigzag(-1_400)), (vec![2], vec![1], vec![0xef, 0x15]));
    }
}
