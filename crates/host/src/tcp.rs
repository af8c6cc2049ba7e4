//! `/proc/net/snmp`: what TCP sent in this network namespace.

use crate::lines::{LineFault, number};
use crate::root::Parsed;
use linerate_record::reading::TcpCounters;

/// The TCP counters, found by the names in the heading: kernels have added columns between others.
pub(crate) fn parse_snmp(text: &str) -> Parsed<TcpCounters> {
    match tcp_counters(text) {
        Ok(counters) => (counters, None),
        Err(fault) => (TcpCounters::default(), Some(fault.to_owned())),
    }
}

fn tcp_counters(text: &str) -> Result<TcpCounters, LineFault> {
    let mut lines = text.lines().filter_map(|line| line.strip_prefix("Tcp:"));
    let names = lines.next().ok_or("no line Tcp:")?;
    let values = lines.next().ok_or("no second line Tcp:")?;
    // Only the columns that are used are parsed: others may be negative (MaxConn is -1).
    let named = |name: &str| {
        let index = names.split_whitespace().position(|found| found == name).ok_or("no column OutSegs or RetransSegs");
        index.and_then(|index| number(values.split_whitespace().nth(index)))
    };
    Ok(TcpCounters { out_segments: named("OutSegs")?, retransmitted_segments: named("RetransSegs")? })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const LINUX_6: &str = include_str!("../tests/data/snmp_6.txt");
    const LINUX_3_10: &str = include_str!("../tests/data/snmp_3_10.txt");

    #[test]
    fn counters_are_found_by_name() {
        let cases = [
            (LINUX_6, 918_223_471_220, 1_204_771),
            (LINUX_3_10, 88_120, 42),
            ("Tcp: RetransSegs MaxConn OutSegs\nTcp: 1 -1 2\n", 2, 1),
            ("TcpExt: OutSegs RetransSegs\nTcpExt: 7 7\nTcp: OutSegs New RetransSegs\nTcp: 5 -9 6", 5, 6),
        ];
        for (text, out_segments, retransmitted_segments) in cases {
            assert_eq!(parse_snmp(text), (TcpCounters { out_segments, retransmitted_segments }, None), "{text}");
        }
    }

    #[test]
    fn what_is_missing_is_told() {
        let cases = [
            ("", "no line Tcp:"),
            ("Tcp: OutSegs RetransSegs\n", "no second line Tcp:"),
            ("Tcp: OutSegs\nTcp: 1\n", "no column OutSegs or RetransSegs"),
            ("Tcp: OutSegs RetransSegs\nTcp: 1\n", "a column is missing"),
            ("Tcp: OutSegs RetransSegs\nTcp: 1 -1\n", "a column is not a whole number from 0 to 2^64 - 1"),
        ];
        for (text, fault) in cases {
            assert_eq!(parse_snmp(text), (TcpCounters::default(), Some(fault.to_owned())), "{text:?}");
        }
    }

    proptest! {
        #[test]
        fn no_text_panics(text in "(Tcp:( OutSegs| RetransSegs| -?[0-9]{1,24}){0,6}\n){0,4}|(?s).*") {
            parse_snmp(&text);
        }
    }
}
