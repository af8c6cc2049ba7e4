//! What makes a block not count: a figure that cannot be, and a difference that is not the one under test.

use std::collections::{BTreeMap, BTreeSet};

use linerate_record::experiment::{Design, Measured};
use linerate_record::units::{bits_per_s, bytes_per_s_iec};

/// Why what was measured of an arm spoils its block; nothing where it does not. Fingerprints are held against that of
/// the experiment's first cell.
pub(crate) fn faults(
    design: &Design,
    cell: &Measured,
    fingerprint: &BTreeMap<String, String>,
    reference: &BTreeMap<String, String>,
) -> Vec<String> {
    let arm = design.arms.get(cell.arm as usize).map_or("an arm", |arm| arm.name.as_str());
    let mut faults = Vec::new();
    match (cell.throughput_per_s, design.link_bytes_per_s) {
        (None, _) => faults.push(format!("{arm}: nothing was measured once the time to settle was over")),
        (Some(got), Some(link)) if got > link => faults.push(format!(
            "{arm}: {} is above what the link carries, {} ({}): it did not cross that link",
            bytes_per_s_iec(got),
            bytes_per_s_iec(link),
            bits_per_s(8.0 * link)
        )),
        _ => {}
    }
    let keys: BTreeSet<&String> = fingerprint.keys().chain(reference.keys()).collect();
    for key in keys.into_iter().filter(|key| !design.factors.contains(key)) {
        let (now, first) = (fingerprint.get(key), reference.get(key));
        if now != first {
            let told = |value: Option<&String>| value.map_or_else(|| "nothing".to_owned(), |v| format!("{v:?}"));
            faults.push(format!("{arm}: {key} is {}, and was {} at first", told(now), told(first)));
        }
    }
    faults
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::design::{design, tests::asked};

    #[test]
    fn what_differs_beyond_the_factor_and_what_cannot_be_is_told() {
        let mut asked = asked();
        (asked.link_bytes_per_s, asked.factors) = (Some(1.875e9), vec!["rmem".to_owned()]);
        let design = design(&asked).unwrap();
        let print = |pairs: &[(&str, &str)]| {
            pairs.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect::<BTreeMap<_, _>>()
        };
        let first = print(&[("kernel", "6.12"), ("rmem", "1")]);
        for (got, now, expected) in [
            (Some(1e9), print(&[("kernel", "6.12"), ("rmem", "2")]), &[][..]),
            (Some(1e9), print(&[("kernel", "6.13"), ("rmem", "1")]), &["kernel is \"6.13\", and was \"6.12\""]),
            (Some(1e9), print(&[("rmem", "1")]), &["kernel is nothing"]),
            (Some(11e9), first.clone(), &["(15.0 Gb/s): it did not cross that link"]),
            (None, first.clone(), &["nothing was measured"]),
        ] {
            let cell = Measured {
                arm: 0,
                started_ns: 0,
                ended_ns: 1,
                throughput_per_s: got,
                settled_ns: Some(0),
                secondary: BTreeMap::new(),
            };
            let found = faults(&design, &cell, &now, &first);
            assert_eq!(found.len(), expected.len(), "{found:?}");
            assert!(found.iter().zip(expected).all(|(found, part)| found.contains(part)), "{found:?}");
        }
    }
}
