//! What comes of an explanation as a whole: whether something unknown outweighs it, which hypotheses lead together,
//! which explain every figure, and whose remedy is worth a try.

use linerate_record::explanation::{ExplanationVerdict, FamilyStanding, Hypothesis, Kind};

use super::cause_families::are_of_first;

/// Where a cause that was not enumerated has more than this, it outweighs all that was.
const OUTWEIGHED: f64 = 0.5;

/// A kind with so much of the weight of the first does not stand behind it: judgements about how often causes occur
/// differ by more (`docs/method/explain.md`).
const ABREAST: f64 = 0.5;

/// Of survivors, the weightiest first, the kinds that they are of, the families of causes if there are only totals, and
/// the weight of what was not enumerated.
pub(super) fn verdict(
    survivors: &[Hypothesis],
    kinds: &[Kind],
    families: Option<&[FamilyStanding]>,
    none_of_these: f64,
) -> ExplanationVerdict {
    let outweighed = none_of_these > OUTWEIGHED;
    let is_whole = |place: &usize| survivors[*place].residuals.iter().all(|of| of.explained);
    let not_separated = if outweighed { Vec::new() } else { abreast(survivors, kinds) };
    let is_one_remedy = || {
        let mut changes = not_separated.iter().map(|&place| &survivors[place].remedy.change);
        changes.next().is_none_or(|first| changes.all(|other| other == first))
    };
    // No advice where something unknown is likelier than all that no figure tells from the first, where another cause
    // weighs as much and takes another remedy, or where totals leave other families than its own: that nothing is wrong
    // is no cause to do anything about.
    let is_described = survivors.first().is_some_and(|first| first.deviations.is_empty());
    let is_of_family = || families.is_none_or(|families| are_of_first(families, survivors));
    let is_named = is_described || (is_of_family() && is_one_remedy());
    let is_advised = is_named && kinds.first().is_some_and(|kind| kind.weight >= none_of_these);
    ExplanationVerdict {
        outweighed,
        not_separated,
        whole: (0..survivors.len()).filter(is_whole).collect(),
        advised: survivors.first().filter(|_| is_advised).map(|_| 0),
    }
}

/// The first of each of the first two kinds, where weights do not tell which of them leads.
fn abreast(survivors: &[Hypothesis], kinds: &[Kind]) -> Vec<usize> {
    let first_of = |kind: &Kind| kind.survivors.first().copied();
    let first_two = kinds.first().and_then(first_of).zip(kinds.get(1).and_then(first_of));
    let weight = |place: usize| survivors.get(place).map_or(0.0, |of| of.weight);
    first_two.filter(|(a, b)| weight(*b) >= ABREAST * weight(*a)).map_or(Vec::new(), |(a, b)| vec![a, b])
}

#[cfg(test)]
mod tests {
    use linerate_record::explanation::{CauseFamily, Deviation, Quantity, Remedy, Residual};

    use super::*;
    use crate::explain::indistinguishable::kinds;

    fn test_hypothesis(id: &str, weight: f64, explained: bool) -> Hypothesis {
        let (change, gives, risks) = (String::new(), String::new(), String::new());
        let residual = Residual {
            what: Quantity::Put,
            observed_bytes_per_s: 1.0,
            predicted_bytes_per_s: 1.0,
            least_bytes_per_s: None,
            instead_bytes_per_s: None,
            instead_least_bytes_per_s: None,
            residual_share: 0.0,
            above_sigmas: None,
            bottleneck: String::new(),
            explained,
        };
        Hypothesis {
            id: id.to_owned(),
            deviations: Vec::new(),
            residuals: vec![residual],
            weight,
            indistinguishable: Vec::new(),
            remedy: Remedy { change, gives, risks, gains: Vec::new(), condition: None, is_known: true },
        }
    }

    #[test]
    fn two_that_weigh_alike_are_not_separated_and_nothing_leads_what_is_outweighed() {
        type Row<'r> = (&'r [(f64, bool)], f64, ExplanationVerdict);
        let rows: [Row<'_>; 5] = [
            (&[], 1.0, ExplanationVerdict { outweighed: true, not_separated: vec![], whole: vec![], advised: None }),
            (
                &[(0.5, false), (0.3, true)],
                0.2,
                ExplanationVerdict { outweighed: false, not_separated: vec![0, 1], whole: vec![1], advised: Some(0) },
            ),
            (
                &[(0.6, true), (0.2, true)],
                0.2,
                ExplanationVerdict { outweighed: false, not_separated: vec![], whole: vec![0, 1], advised: Some(0) },
            ),
            (
                &[(0.2, true), (0.2, true)],
                0.6,
                ExplanationVerdict { outweighed: true, not_separated: vec![], whole: vec![0, 1], advised: None },
            ),
            (
                &[(0.4, true), (0.1, false)],
                0.5,
                ExplanationVerdict { outweighed: false, not_separated: vec![], whole: vec![0], advised: None },
            ),
        ];
        for (weights, none, expected) in rows {
            let survivors: Vec<Hypothesis> = weights
                .iter()
                .enumerate()
                .map(|(place, row)| test_hypothesis(&place.to_string(), row.0, row.1))
                .collect();
            assert_eq!(verdict(&survivors, &kinds(&survivors), None, none), expected, "{weights:?} {none}");
        }
    }

    #[test]
    fn of_two_that_are_not_separated_a_remedy_is_advised_only_if_both_take_it() {
        let hypothesis = |id: &str, weight, change: &str| {
            let mut made = test_hypothesis(id, weight, true);
            made.remedy.change = change.to_owned();
            let (value, claim, shown_by) = (String::new(), String::new(), String::new());
            made.deviations =
                vec![Deviation { id: id.to_owned(), value, claim, cost: 1.0, shown_by, contradicts: vec![] }];
            made
        };
        let advised = |second: Hypothesis| {
            let survivors = [hypothesis("tx", 0.5, "repair node3"), second];
            verdict(&survivors, &kinds(&survivors), None, 0.1).advised
        };
        assert_eq!(advised(hypothesis("rx", 0.4, "repair node3")), Some(0));
        assert_eq!(advised(hypothesis("cpu", 0.4, "add processors")), None);
        assert_eq!(advised(hypothesis("cpu", 0.1, "add processors")), Some(0), "the first leads");
    }

    #[test]
    fn a_remedy_against_totals_needs_that_they_leave_the_family_of_the_first_alone() {
        let family = |family, remains| FamilyStanding {
            family,
            remains,
            weight: 0.5,
            fits: remains,
            misses_sigmas: if remains { 0.0 } else { 9.0 },
            misses: Quantity::Get,
        };
        let deviation = |id: &str| Deviation {
            id: id.to_owned(),
            value: String::new(),
            claim: String::new(),
            cost: 3.0,
            shown_by: String::new(),
            contradicts: Vec::new(),
        };
        let mut first = test_hypothesis("cpu", 0.9, true);
        first.deviations = vec![deviation("cpu")];
        let advised = |first: &Hypothesis, families: &[FamilyStanding]| {
            let survivors = [first.clone()];
            verdict(&survivors, &kinds(&survivors), Some(families), 0.1).advised
        };
        use CauseFamily::{AsDescribed, Drives, Processors};
        assert_eq!(advised(&first, &[family(Processors, true), family(Drives, false)]), Some(0));
        assert_eq!(advised(&first, &[family(Processors, true), family(Drives, true)]), None);
        assert_eq!(advised(&first, &[family(Drives, true), family(Processors, false)]), None);
        assert_eq!(advised(&first, &[family(Processors, false)]), None);
        assert_eq!(advised(&first, &[]), None);
        // Two causes of different families are of none; that nothing is wrong needs no family.
        first.deviations.push(deviation("drives"));
        assert_eq!(advised(&first, &[family(Processors, true)]), None);
        first.deviations.clear();
        assert_eq!(advised(&first, &[family(AsDescribed, true), family(Drives, true)]), Some(0));
    }
}
