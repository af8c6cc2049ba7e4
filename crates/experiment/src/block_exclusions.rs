//! What makes a block not count: a figure that cannot be, a difference that is not the one under test, and what went
//! wrong while it was measured.

use std::collections::{BTreeMap, BTreeSet};

use linerate_record::experiment::{CellOutcome, Design, MeasuredCell};
use linerate_record::units::{bits_per_s, bytes_per_s_iec};

/// What may have been on its way, in buffers of sockets and of the link, when the time to settle was over: it is
/// counted in the time measured, and crossed the link before.
const BUFFERED_NS: f64 = 50e6;

/// What a cell is held against.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CellReference<'a> {
    /// The fingerprint of the experiment's first cell.
    pub(crate) fingerprint: &'a BTreeMap<String, String>,
    /// What happened in the first cell of its block.
    pub(crate) moment: &'a BTreeMap<String, String>,
}

/// Why what was measured of an arm excludes its block; nothing where it does not.
pub(crate) fn faults(
    design: &Design,
    cell: &MeasuredCell,
    outcome: &CellOutcome,
    reference: CellReference<'_>,
) -> Vec<String> {
    let arm = design.arms.get(cell.arm as usize).map_or("an arm", |arm| arm.name.as_str());
    let mut faults: Vec<String> = outcome.fault.iter().map(|fault| format!("{arm}: {fault}")).collect();
    // Of a cell that was never loaded there is nothing more to say: its arm was not in place.
    if outcome.fault.is_some() && outcome.fingerprint.is_empty() && outcome.moment.is_empty() {
        return faults;
    }
    let buffered = 1.0 + BUFFERED_NS / (design.measure_ns as f64).max(BUFFERED_NS);
    match (cell.throughput_per_s, design.link_bytes_per_s) {
        (None, _) => faults.push(format!("{arm}: nothing was measured once the time to settle was over")),
        (Some(got), Some(link)) if got > link * buffered => faults.push(format!(
            "{arm}: {} is above what the link carries, {} ({}): it did not cross that link",
            bytes_per_s_iec(got),
            bytes_per_s_iec(link),
            bits_per_s(8.0 * link)
        )),
        _ => {}
    }
    let differ = differing(design, &outcome.fingerprint, reference.fingerprint);
    faults.extend(differ.map(|reported| format!("{arm}: {reported} at first")));
    let differ = differing(design, &outcome.moment, reference.moment);
    faults.extend(differ.map(|reported| format!("{arm}: {reported} in the first cell of the block")));
    faults
}

/// What differs beyond the factors: `kernel is "6.13", and was "6.12"`.
fn differing<'a>(
    design: &'a Design,
    now: &'a BTreeMap<String, String>,
    then: &'a BTreeMap<String, String>,
) -> impl Iterator<Item = String> + 'a {
    let keys: BTreeSet<&String> = now.keys().chain(then.keys()).collect();
    keys.into_iter().filter(|key| !design.factors.contains(key) && now.get(*key) != then.get(*key)).map(|key| {
        let reported = |value: Option<&String>| value.map_or_else(|| "nothing".to_owned(), |v| format!("{v:?}"));
        format!("{key} is {}, and was {}", reported(now.get(key)), reported(then.get(key)))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::design::{design, tests::requested};

    fn cell(throughput_per_s: Option<f64>) -> MeasuredCell {
        MeasuredCell {
            arm: 0,
            started_ns: 0,
            ended_ns: 1,
            throughput_per_s,
            settled_ns: Some(0),
            trend: None,
            later: None,
            settle_ns: 0,
            faulty: false,
            secondary: BTreeMap::new(),
        }
    }

    #[test]
    fn of_an_arm_that_was_not_in_place_nothing_else_is_said() {
        let design = design(&requested()).unwrap();
        let first = BTreeMap::from([("node n1 boot".to_owned(), "b".to_owned())]);
        let reference = CellReference { fingerprint: &first, moment: &BTreeMap::new() };
        let refused = crate::error::arm_not_in_place("n1: no");
        let found = faults(&design, &cell(None), &refused, reference);
        assert_eq!(found, ["default: the arm was not in place on all nodes: n1: no"]);
        let seen = CellOutcome { fingerprint: first.clone(), ..refused };
        assert_eq!(faults(&design, &cell(None), &seen, reference).len(), 2, "it was loaded, and gave nothing");
    }

    #[test]
    fn what_differs_beyond_the_factor_and_what_cannot_be_is_told() {
        let mut requested = requested();
        (requested.link_bytes_per_s, requested.factors) = (Some(1.875e9), vec!["rmem".to_owned()]);
        let design = design(&requested).unwrap();
        let fingerprint_texts = |pairs: &[(&str, &str)]| {
            pairs.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect::<BTreeMap<_, _>>()
        };
        let first = fingerprint_texts(&[("kernel", "6.12"), ("rmem", "1")]);
        for (got, now, expected) in [
            (Some(1e9), fingerprint_texts(&[("kernel", "6.12"), ("rmem", "2")]), &[][..]),
            (
                Some(1e9),
                fingerprint_texts(&[("kernel", "6.13"), ("rmem", "1")]),
                &["kernel is \"6.13\", and was \"6.12\""],
            ),
            (Some(1e9), fingerprint_texts(&[("rmem", "1")]), &["kernel is nothing"]),
            (Some(11e9), first.clone(), &["(15.0 Gb/s): it did not cross that link"]),
            (Some(1.88e9), first.clone(), &[]),
            (None, first.clone(), &["nothing was measured"]),
        ] {
            let cell = cell(got);
            let outcome = CellOutcome { fingerprint: now, ..CellOutcome::default() };
            let calm = fingerprint_texts(&[("stolen", "no")]);
            let outcome = CellOutcome { moment: calm.clone(), ..outcome };
            let reference = CellReference { fingerprint: &first, moment: &calm };
            let found = faults(&design, &cell, &outcome, reference);
            assert_eq!(found.len(), expected.len(), "{found:?}");
            assert!(found.iter().zip(expected).all(|(found, part)| found.contains(part)), "{found:?}");
            let interrupted = CellOutcome { fault: Some("interrupted".to_owned()), ..outcome };
            assert_eq!(faults(&design, &cell, &interrupted, reference)[0], "default: interrupted");
            let stolen = CellOutcome { moment: fingerprint_texts(&[("stolen", "yes")]), ..interrupted };
            let reported = faults(&design, &cell, &stolen, reference);
            assert!(
                reported.iter().any(|reported| reported.contains("was \"no\" in the first cell of the block")),
                "{reported:?}"
            );
        }
    }
}
