//! `/proc/meminfo`: what memory is free for, and what waits to be written.

use crate::lines::{LineFault, number, value_after};
use crate::root::Parsed;
use linerate_record::reading::Memory;

/// Memory now. Kernels before 3.14 state no available memory: there it is estimated, and that is told.
pub(crate) fn parse_meminfo(text: &str) -> Parsed<Memory> {
    let mut first_fault = None;
    let mut field = |name: &str| {
        field_bytes(text, name).unwrap_or_else(|fault| {
            first_fault.get_or_insert(format!("{name}: {fault}"));
            0
        })
    };
    let mut memory = Memory { available_bytes: 0, cached_bytes: field("Cached"), dirty_bytes: field("Dirty") };
    if value_after(text, "MemAvailable").is_some() {
        memory.available_bytes = field("MemAvailable");
        return (memory, first_fault);
    }
    memory.available_bytes = field("MemFree").saturating_add(field("Buffers")).saturating_add(memory.cached_bytes);
    let estimated = "MemAvailable is missing (kernels before 3.14): estimated as free + buffers + cached";
    (memory, first_fault.or_else(|| Some(estimated.to_owned())))
}

/// Memory of the machine in bytes, as far as the kernel uses it.
pub(crate) fn parse_total(text: &str) -> Parsed<u64> {
    match field_bytes(text, "MemTotal") {
        Ok(bytes) => (bytes, None),
        Err(fault) => (0, Some(format!("MemTotal: {fault}"))),
    }
}

fn field_bytes(text: &str, name: &str) -> Result<u64, LineFault> {
    let value = value_after(text, name).ok_or("the line is missing")?;
    let mut columns = value.split_whitespace();
    let amount = number(columns.next())?;
    match columns.next() {
        Some("kB") => Ok(amount.saturating_mul(1024)),
        _ => Err("the unit is not kB"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const LINUX_6: &str = include_str!("../tests/data/meminfo_6.txt");
    const LINUX_3_10: &str = include_str!("../tests/data/meminfo_3_10.txt");

    #[test]
    fn memory_is_read_in_bytes() {
        let expected = Memory {
            available_bytes: 1_001_223_344 * 1024,
            cached_bytes: 198_123_004 * 1024,
            dirty_bytes: 70_312 * 1024,
        };
        assert_eq!(parse_meminfo(LINUX_6), (expected, None));
        assert_eq!(parse_total(LINUX_6), (1_056_364_188 * 1024, None));
    }

    #[test]
    fn an_old_kernel_gets_an_estimate_that_says_so() {
        let (memory, reported) = parse_meminfo(LINUX_3_10);
        assert_eq!(memory.available_bytes, (21_000_000 + 400_000 + 32_000_000) * 1024);
        assert!(reported.unwrap().starts_with("MemAvailable is missing"));
    }

    #[test]
    fn what_is_missing_or_odd_is_told() {
        let cases = [
            ("", "Cached: the line is missing"),
            ("Cached: 1 kB\nDirty: 1 kB\nMemAvailable: 1\n", "MemAvailable: the unit is not kB"),
            ("Cached: 1 kB\nMemAvailable: 1 kB\n", "Dirty: the line is missing"),
            ("Cached: 1 MB\nMemAvailable: 1 kB\n", "Cached: the unit is not kB"),
            (
                "Cached: -1 kB\nDirty: 1 kB\nMemAvailable: 1 kB\n",
                "Cached: a column is not a whole number from 0 to 2^64 - 1",
            ),
            ("Cached: 1 kB\nDirty: 1 kB\nMemAvailable:\n", "MemAvailable: a column is missing"),
        ];
        for (text, fault) in cases {
            assert_eq!(parse_meminfo(text).1.as_deref(), Some(fault), "{text:?}");
        }
        assert_eq!(parse_total("MemTotal: x kB").0, 0);
        assert_eq!(parse_meminfo(&format!("MemAvailable: {} kB", u64::MAX)).0.available_bytes, u64::MAX);
    }

    proptest! {
        #[test]
        fn no_text_panics(text in "((Cached|Dirty|MemAvailable|MemFree): -?[0-9]{0,24} ?(kB)?\n){0,5}|(?s).*") {
            parse_meminfo(&text);
            parse_total(&text);
        }
    }
}
