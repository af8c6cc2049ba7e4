//! `/proc/net/dev`: what each network interface of the namespace carried.

use crate::lines::{LineFault, number, some_rows};
use crate::root::Parsed;
use linerate_record::reading::NicCounters;

/// One row per network interface, up or not, in the kernel's order.
pub(crate) fn parse_net_dev(text: &str) -> Parsed<Vec<NicCounters>> {
    some_rows(text, "no line of an interface", nic_line)
}

fn nic_line(line: &str) -> Result<Option<NicCounters>, LineFault> {
    // The two lines of the heading have `|` and no colon. Old kernels put no space after the colon; names hold none.
    let Some((name, counters)) = line.split_once(':') else {
        return if line.contains('|') || line.trim().is_empty() { Ok(None) } else { Err("not a line of an interface") };
    };
    let name = valid_name(name.trim())?;
    let mut columns = counters.split_whitespace();
    let (rx_bytes, rx_packets) = (number(columns.next())?, number(columns.next())?);
    let (rx_errors, rx_dropped) = (number(columns.next())?, number(columns.next())?);
    // Four receive columns are not used: fifo, frame, compressed, multicast.
    let (tx_bytes, tx_packets) = (number(columns.nth(4))?, number(columns.next())?);
    let (tx_errors, tx_dropped) = (number(columns.next())?, number(columns.next())?);
    Ok(Some(NicCounters {
        name: name.to_owned(),
        rx_bytes,
        tx_bytes,
        rx_packets,
        tx_packets,
        rx_dropped,
        tx_dropped,
        rx_errors,
        tx_errors,
    }))
}

/// A name that the kernel would give an interface. Names become parts of paths, so a captured folder must not be able
/// to point outside itself with them.
pub(crate) fn valid_name(name: &str) -> Result<&str, LineFault> {
    let fits = !name.is_empty() && name != "." && name != "..";
    let plain = !name.contains(|character: char| character == '/' || character == '\0' || character.is_whitespace());
    if fits && plain { Ok(name) } else { Err("not a name of an interface") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const BONDED: &str = include_str!("../tests/data/net_dev_bonded.txt");
    const HEADING: &str = "Inter-|   Receive |  Transmit\n face |bytes packets errs|bytes packets errs\n";

    #[test]
    fn every_interface_gives_its_counters() {
        let (nics, reported) = parse_net_dev(BONDED);
        assert_eq!(reported, None);
        let names: Vec<&str> = nics.iter().map(|nic| nic.name.as_str()).collect();
        assert_eq!(names, ["lo", "ens1f0np0", "ens1f1np1", "bond0", "bond0.120", "lxc4f1a@if7"]);
        let expected = NicCounters {
            name: "ens1f0np0".to_owned(),
            rx_bytes: 98_213_442_112_039,
            rx_packets: 11_873_220_114,
            rx_errors: 3,
            rx_dropped: 1207,
            tx_bytes: 77_120_998_412_004,
            tx_packets: 9_004_113_227,
            tx_errors: 1,
            tx_dropped: 2,
        };
        assert_eq!(nics[1], expected);
    }

    #[test]
    fn columns_may_follow_the_colon_at_once() {
        let cases = [
            "  eth0:1 2 3 4 0 0 0 0 5 6 7 8 0 0 0 0\n",
            "eth0: 1 2 3 4 0 0 0 0 5 6 7 8 0 0 0 0",
            "eth0:  1 2 3 4 0 0 0 0 5 6 7 8",
        ];
        let expected = NicCounters {
            name: "eth0".to_owned(),
            rx_bytes: 1,
            rx_packets: 2,
            rx_errors: 3,
            rx_dropped: 4,
            tx_bytes: 5,
            tx_packets: 6,
            tx_errors: 7,
            tx_dropped: 8,
        };
        for line in cases {
            assert_eq!(parse_net_dev(&format!("{HEADING}{line}")), (vec![expected.clone()], None), "{line:?}");
        }
    }

    #[test]
    fn a_line_that_no_kernel_writes_is_left_out_and_told() {
        let whole = "eth1: 1 2 3 4 0 0 0 0 5 6 7 8 0 0 0 0\n";
        let cases = [
            ("eth0: 1 2 3 4 0 0 0 0 5 6 7\n", "a column is missing"),
            ("eth0: 1 2 3 4 0 0 0 0 5 -6 7 8\n", "a column is not a whole number from 0 to 2^64 - 1"),
            ("../../x: 1 2 3 4 0 0 0 0 5 6 7 8\n", "not a name of an interface"),
            ("..: 1 2 3 4 0 0 0 0 5 6 7 8\n", "not a name of an interface"),
            (": 1 2 3 4 0 0 0 0 5 6 7 8\n", "not a name of an interface"),
            ("eth0 1 2 3\n", "not a line of an interface"),
        ];
        for (line, fault) in cases {
            let (nics, reported) = parse_net_dev(&format!("{line}{whole}"));
            assert_eq!(nics.len(), 1, "{line:?}");
            assert_eq!(nics[0].name, "eth1", "{line:?}");
            let reported = reported.unwrap();
            assert!(reported.starts_with("line 1 ") && reported.ends_with(fault), "{line:?}: {reported}");
        }
        assert_eq!(parse_net_dev(HEADING).1.as_deref(), Some("no line of an interface"));
    }

    proptest! {
        #[test]
        fn no_text_panics(text in "([a-z0-9.@/]{0,5}:?( -?[0-9]{1,24}){0,18}\n){0,4}|(?s).*") {
            parse_net_dev(&text);
        }
    }
}
