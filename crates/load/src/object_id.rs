//! Objects of a run: their identity, their keys, and nothing stored about them.
//!
//! An object is a number in a set; its key, size and body follow from these and the run's seed. A run that wrote a
//! billion objects remembers one counter per thread, and cleaning up is counting.

/// One object of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ObjectId {
    /// The set that it was written in: one per point and purpose.
    pub set: u32,
    /// Its number in the set, below 2⁴⁰.
    pub seq: u64,
}

impl ObjectId {
    /// A number of its own among all objects of a run.
    #[must_use]
    pub const fn number(self) -> u64 {
        (self.set as u64) << 40 | self.seq
    }
}

/// Appends the key of an object below the run's prefix: `SET/SEQ-SIZE`, set and number in hex, size in decimal.
pub fn push_key(run_prefix: &str, id: ObjectId, size_bytes: u64, out: &mut Vec<u8>) {
    out.extend_from_slice(run_prefix.as_bytes());
    push_hex(u64::from(id.set), 3, out);
    out.push(b'/');
    push_hex(id.seq, 8, out);
    out.push(b'-');
    push_decimal(size_bytes, out);
}

/// The number and size of an object that the last part of its key names: `SEQ-SIZE`.
pub(crate) fn parse_object_key(name: &str) -> Option<(u64, u64)> {
    let (seq, size) = name.split_once('-')?;
    Some((u64::from_str_radix(seq, 16).ok()?, size.parse().ok()?))
}

/// Appends `n` in hex, with leading zeros up to `width` digits.
fn push_hex(n: u64, width: usize, out: &mut Vec<u8>) {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let digits = (64 - n.leading_zeros() as usize).div_ceil(4).max(width);
    for i in (0..digits).rev() {
        out.push(DIGITS[(n >> (4 * i)) as usize & 15]);
    }
}

/// Appends `n` in decimal.
pub fn push_decimal(n: u64, out: &mut Vec<u8>) {
    let mut digits = [0u8; 20];
    let (mut at, mut rest) = (digits.len(), n);
    loop {
        at -= 1;
        digits[at] = b'0' + (rest % 10) as u8;
        rest /= 10;
        if rest == 0 {
            break;
        }
    }
    out.extend_from_slice(&digits[at..]);
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    fn key(set: u32, seq: u64, size: u64) -> String {
        let mut out = Vec::new();
        push_key("p/run/", ObjectId { set, seq }, size, &mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn keys_tell_set_number_and_size() {
        assert_eq!(key(1, 0xAB, 4096), "p/run/001/000000ab-4096");
        assert_eq!(key(0xFFFF, 0x12_3456_789A, 0), "p/run/ffff/123456789a-0");
    }

    #[test]
    fn a_key_tells_its_object() {
        let key = key(3, 300, 4096);
        assert_eq!(parse_object_key(key.strip_prefix("p/run/003/").unwrap()), Some((300, 4096)));
        assert_eq!((parse_object_key("x-1"), parse_object_key("1-"), parse_object_key("1")), (None, None, None));
    }

    #[test]
    fn numbers_and_keys_of_different_objects_differ() {
        let (mut numbers, mut keys) = (HashSet::new(), HashSet::new());
        for set in [0, 1, 2, 4095, u32::MAX >> 8] {
            for seq in [0, 1, 255, 1 << 20, (1 << 40) - 1] {
                assert!(numbers.insert(ObjectId { set, seq }.number()));
                assert!(keys.insert(key(set, seq, 1)));
            }
        }
    }

    #[test]
    fn decimals_are_those_of_the_standard_library() {
        for n in [0, 9, 10, 4096, u64::MAX] {
            let mut out = Vec::new();
            push_decimal(n, &mut out);
            assert_eq!(out, n.to_string().into_bytes());
        }
    }
}
