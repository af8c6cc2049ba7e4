//! Readings of bonds' members beside figures: hypotheses that say of members what is not read lose their weight, and
//! those that say it gain what they lose.

use linerate_record::diagnosis::MemberUse;
use linerate_record::explanation::{Explanation, Hypothesis};

use super::{indistinguishable, verdicts};

/// What the share of a bond's busiest member scatters by about what is expected of so many members in use: hashes
/// spread few flows unevenly.
const SCATTER: f64 = 0.12;

/// The most that one reading takes from a hypothesis, in log odds: an interface may be another than it was taken for.
const MOST: f64 = 6.0;

/// Members that a hypothesis says carry the traffic of a link; all of them where it says nothing of that.
fn used(hypothesis: &Hypothesis, link: &str, members: u32) -> u32 {
    let of_link = |value: &str| -> bool {
        let name = value.split(':').next().unwrap_or_default();
        name.split(|c: char| !(c.is_alphanumeric() || "-_.".contains(c))).any(|word| word == link)
    };
    let said =
        hypothesis.deviations.iter().filter(|deviation| of_link(&deviation.value)).find_map(
            |deviation| match deviation.id.as_str() {
                "bond-members-in-use" => deviation.value.rsplit(": ").next()?.split(' ').next()?.parse().ok(),
                "bond-mode" if deviation.value.ends_with("active-backup") => Some(1),
                _ => None,
            },
        );
    said.unwrap_or(members)
}

/// The log likelihood of a reading under a hypothesis, relative to the best there could be.
fn ln_likelihood(hypothesis: &Hypothesis, read: &MemberUse) -> f64 {
    let used = used(hypothesis, &read.link, read.members).max(1);
    let off = (read.busiest_share - 1.0 / f64::from(used)) / SCATTER;
    -(0.5 * off * off).min(MOST)
}

/// The explanation with weights that know what was read of members. The weight of what was not enumerated is that of an
/// unknown cause, of which no reading says anything: it stays as it was beside the others, and grows where the reading
/// is unlike all that they say.
#[must_use]
pub fn with_members(mut explanation: Explanation, read: &[MemberUse]) -> Explanation {
    if read.is_empty() {
        return explanation;
    }
    let survivors = &mut explanation.survivors;
    for hypothesis in survivors.iter_mut() {
        hypothesis.weight *= read.iter().map(|one| ln_likelihood(hypothesis, one)).sum::<f64>().exp();
    }
    let sum = survivors.iter().map(|one| one.weight).sum::<f64>() + explanation.none_of_these;
    survivors.iter_mut().for_each(|one| one.weight /= sum);
    explanation.none_of_these /= sum;
    // The reading tells apart what figures do not.
    let says = |one: &Hypothesis| -> Vec<u32> { read.iter().map(|of| used(one, &of.link, of.members)).collect() };
    let said: Vec<(String, Vec<u32>)> = survivors.iter().map(|one| (one.id.clone(), says(one))).collect();
    for (place, hypothesis) in survivors.iter_mut().enumerate() {
        let own = &said[place].1;
        hypothesis.indistinguishable.retain(|id| said.iter().any(|(other, says)| other == id && says == own));
    }
    survivors.sort_by(|a, b| b.weight.total_cmp(&a.weight));
    explanation.kinds = indistinguishable::kinds(&explanation.survivors);
    explanation.kinds.sort_by(|a, b| b.weight.total_cmp(&a.weight));
    // The answer is one to totals alone no longer.
    explanation.families = Vec::new();
    explanation.verdict =
        verdicts::verdict(&explanation.survivors, &explanation.kinds, None, explanation.none_of_these);
    // What would have told them apart has been read.
    explanation.separator = explanation.separator.filter(|separator| separator.reading != BOND_MEMBERS);
    explanation
}

/// The reading that this is, as it is called where it is advised.
const BOND_MEMBERS: &str = "bytes per bond member, per node";

#[cfg(test)]
mod tests {
    use linerate_record::explanation::{Observations, Observed, Quantity};

    use super::*;
    use crate::explain::explain;
    use crate::explain::readings::READINGS;
    use crate::test_site::site;

    fn read(busiest_share: f64) -> MemberUse {
        MemberUse {
            bond: "bond0".to_owned(),
            link: "public".to_owned(),
            group: "storage".to_owned(),
            is_sent: true,
            members: 2,
            busiest_share,
            busiest_used_share: 0.97,
            on_one_nodes: 16,
            nodes: 16,
        }
    }

    /// GET at what one of two members carries on every node.
    fn explained() -> Explanation {
        let bytes_per_s = 16.0 * 100e9 / 8.0 * 0.95;
        let figure = Observed { what: Quantity::Get, bytes_per_s, error_share: None, in_flight: None };
        let observed = Observations { figures: vec![figure], error_share: 0.02, nodes_alone: false };
        explain(&site(), &observed).unwrap()
    }

    #[test]
    fn a_reading_of_members_raises_what_says_it_and_drops_what_does_not() {
        let weight = |explanation: &Explanation, used: u32| -> f64 {
            let says = |one: &&Hypothesis| super::used(one, "public", 2) == used;
            explanation.survivors.iter().filter(says).map(|one| one.weight).sum()
        };
        let before = explained();
        let (one, both) = (with_members(before.clone(), &[read(1.0)]), with_members(before.clone(), &[read(0.52)]));
        assert!(weight(&before, 1) > 0.02, "{}", weight(&before, 1));
        assert!(weight(&one, 1) > 10.0 * weight(&one, 2), "{} and {}", weight(&one, 1), weight(&one, 2));
        assert!(weight(&both, 1) < 0.02, "{}", weight(&both, 1));
        for after in [&one, &both] {
            let sum = after.survivors.iter().map(|one| one.weight).sum::<f64>() + after.none_of_these;
            assert!((sum - 1.0).abs() < 1e-9, "{sum}");
            assert!(after.survivors.is_sorted_by(|a, b| a.weight >= b.weight));
        }
        assert_eq!(with_members(before.clone(), &[]), before);
    }

    #[test]
    fn what_has_been_read_is_called_as_where_it_is_advised() {
        assert!(READINGS.iter().any(|row| row.what == BOND_MEMBERS));
    }
}
