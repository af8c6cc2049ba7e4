//! Queues of processors for received packets, by `/proc/net/softnet_stat`: `QueueDrops`.
//!
//! - Tells: packets that a processor's backlog (`net.core.netdev_max_backlog`) had no room for, summed over processors,
//!   as node_exporter's `node_softnet_dropped_total`.
//! - Cannot tell: of which interface, and nothing of drivers that hand packets on by NAPI alone: only loopback,
//!   tunnels, pods' links and packets that RPS steers go by the backlog. Rings are `rings.rs`.
//! - Needs no privilege; of the whole machine, whichever namespace reads it. One line a processor; each second is often
//!   enough.

use linerate_record::readings::ReadMeasure;

use super::Reader;
use super::counter_delta::{each_s, over_s};
use crate::lines::{LineFault, some_rows};
use crate::root::Parsed;

/// What was read last, a number an online processor.
#[derive(Debug, Default)]
pub(super) struct SoftnetDrops {
    then: Option<(u64, Vec<u64>)>,
}

pub(super) fn look(state: &mut SoftnetDrops, at: &mut Reader<'_>) {
    let path = at.network("softnet_stat");
    let now = at.parsed_wholly(&path, parse_softnet).map(|now| (at.now_ms, now));
    let then = std::mem::replace(&mut state.then, now);
    let (Some((then_ms, then)), Some((now_ms, now))) = (then, &state.then) else { return };
    at.tell_any(ReadMeasure::QueueDrops, "", over_s(then_ms, *now_ms).and_then(|over_s| drops(&then, now, over_s)));
}

/// None where processors came or went, or one counts anew: its counter has 32 bits.
fn drops(then: &[u64], now: &[u64], over_s: f64) -> Option<f64> {
    let both = || then.iter().zip(now);
    (then.len() == now.len()).then(|| both().map(|(then, now)| each_s(*then, *now, over_s)).sum()).flatten()
}

/// Packets that each processor had no room for: the second column, hexadecimal (`softnet_seq_show`).
fn parse_softnet(text: &str) -> Parsed<Vec<u64>> {
    some_rows(text, "no line of a processor", |line| {
        let hex = |column: Option<&str>| -> Result<u64, LineFault> {
            let digits = column.filter(|digits| digits.len() == 8).ok_or("a column of 8 digits is missing")?;
            u64::from_str_radix(digits, 16).map_err(|_| "a column is no hexadecimal number")
        };
        let mut columns = line.split_whitespace();
        hex(columns.next())?;
        hex(columns.next()).map(Some)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Linux 6.18 with two processors, and 2.6.32, which has fewer columns.
    const LINUX_6: &str = "0d92631e 00000526 00000025 00000000 00000000 00000000 00000000 00000000 00000000 00000003 \
                           00000000 00000000 00000000 00000000 00000000\n\
                           0d785512 000002e7 0000001c 00000000 00000000 00000000 00000000 00000000 00000000 00000000 \
                           00000000 00000000 00000001 00000000 00000000\n";
    const LINUX_2_6: &str = "0012ab34 0000000a 00000003 00000000 00000000 00000000 00000000 00000000 00000000\n";

    #[test]
    fn drops_are_the_second_column_in_hexadecimal() {
        assert_eq!(parse_softnet(LINUX_6), (vec![0x526, 0x2e7], None));
        assert_eq!(parse_softnet(LINUX_2_6), (vec![10], None));
        assert!(parse_softnet("").1.is_some() && parse_softnet("0d92631e 0000052g\n").1.is_some());
    }

    #[test]
    fn a_text_cut_anywhere_gives_no_number_that_was_not_there() {
        for cut in 0..=LINUX_6.len() {
            let (found, _) = parse_softnet(&LINUX_6[..cut]);
            assert!([&[][..], &[0x526], &[0x526, 0x2e7]].contains(&found.as_slice()), "{cut}: {found:?}");
        }
    }

    #[test]
    fn drops_are_summed_and_a_counter_that_is_lower_gives_none() {
        assert_eq!(drops(&[1, 2], &[3, 6], 2.0), Some(3.0));
        assert_eq!(drops(&[1, 2], &[3, 1], 2.0), None);
        assert_eq!(drops(&[1], &[3, 6], 2.0), None);
    }

    proptest! {
        #[test]
        fn no_text_panics(text in "([0-9a-f]{7,9}( [0-9a-f]{7,9}){0,4}\n){0,4}|(?s).*") {
            parse_softnet(&text);
        }
    }
}
