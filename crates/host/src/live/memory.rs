//! Memory, by `/proc/meminfo`: `MemoryAvailable`.
//!
//! - Tells: `MemAvailable` as a share of `MemTotal`: what programs could have without swapping, page cache included.
//! - Cannot tell: who has it, limits of cgroups, huge pages that are set aside, nor one NUMA node that is full.
//! - Needs no privilege. One small file; each second is often enough.

use linerate_record::readings::ReadMeasure;

use super::Reader;
use crate::memory::{parse_meminfo, parse_total};
use crate::root::Parsed;

pub(super) fn look(at: &mut Reader<'_>) {
    let share = at.parsed("proc/meminfo", available).flatten();
    at.tell_any(ReadMeasure::MemoryAvailable, "", share);
}

fn available(text: &str) -> Parsed<Option<f64>> {
    let ((memory, odd), (total_bytes, no_total)) = (parse_meminfo(text), parse_total(text));
    // Where available memory is not understood, it is 0; where it is estimated, it is not.
    let is_reported = total_bytes > 0 && (odd.is_none() || memory.available_bytes > 0);
    let share = is_reported.then(|| (memory.available_bytes as f64 / total_bytes as f64).min(1.0));
    (share, odd.or(no_total))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_a_share_or_nothing() {
        let text = |available: &str| format!("MemTotal: 1000 kB\n{available}Cached: 300 kB\nDirty: 2 kB\n");
        assert_eq!(available(&text("MemAvailable: 600 kB\n")), (Some(0.6), None));
        let (share, reported) = available(&text("MemFree: 100 kB\nBuffers: 100 kB\n"));
        assert!(share == Some(0.5) && reported.is_some_and(|reported| reported.contains("estimated")));
        assert!(matches!(available(&text("MemAvailable: x kB\n")), (None, Some(_))));
        assert!(matches!(available("MemAvailable: 600 kB\nCached: 1 kB\nDirty: 1 kB\n"), (None, Some(_))));
    }

    #[test]
    fn a_text_cut_anywhere_gives_a_share_or_nothing() {
        let whole = include_str!("../../tests/data/meminfo_6.txt");
        let share = available(whole).0.unwrap();
        for cut in 0..=whole.len() {
            assert!(available(&whole[..cut]).0.is_none_or(|cut| (0.0..=1.0).contains(&cut)), "{cut}");
        }
        assert!(share > 0.0, "{share}");
    }
}
