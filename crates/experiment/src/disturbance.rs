//! What happened while a cell was measured, in words that cells are held against each other by.
//!
//! Each is one of two words with a threshold between them that chance rarely crosses: a value that flaps would exclude
//! every second block. What a machine does not state reads `not stated`; so a key is there in every cell of a machine,
//! or in none.
//!
//! - `throttled`: `yes` from the first time on that a processor was slowed for heat, which cooling that suffices never
//!   lets happen.
//! - `cgroup.throttled`, `target.cgroup.throttled`: `yes` where a quota cut 1 % of its periods or more. Single periods
//!   are cut by how threads happen to start, and cost less than anybody can measure.
//! - `stolen`: `below 5 %` of processor time went to other guests of the hypervisor, or `5 % or more`.
//! - `foreign_load`: `below 25 %` of the time of all processors went to programs that are not of the measurement, or
//!   `25 % or more`.

use std::collections::BTreeMap;

use linerate_analysis::disturbance::{MUCH_CUT, MUCH_FOREIGN, MUCH_STOLEN};
use linerate_record::reading::{MachineShare, QuotaPeriods};

/// The words, by key.
#[must_use]
pub fn in_words(meanwhile: &MachineShare) -> BTreeMap<String, String> {
    let unread = || "unreadable: proc/stat".to_owned();
    let (stolen, foreign) = match meanwhile.processors {
        Some(shares) => (side(shares.stolen, MUCH_STOLEN), side(shares.foreign, MUCH_FOREIGN)),
        None => (unread(), unread()),
    };
    let mut words = BTreeMap::from([
        ("stolen".to_owned(), stolen),
        ("foreign_load".to_owned(), foreign),
        ("throttled".to_owned(), meanwhile.slowed.map_or("not stated", yes_or_no).to_owned()),
        ("cgroup.throttled".to_owned(), yes_or_no(are_cut(&meanwhile.client_quotas)).to_owned()),
    ]);
    if let Some(quotas) = &meanwhile.target_quotas {
        words.insert("target.cgroup.throttled".to_owned(), yes_or_no(are_cut(quotas)).to_owned());
    }
    words
}

fn side(share: f64, bound: f64) -> String {
    let percent = bound * 100.0;
    if share < bound { format!("below {percent:.0} %") } else { format!("{percent:.0} % or more") }
}

/// Whether one of the quotas cut much. Where there is none, nothing is held back by one.
fn are_cut(quotas: &[QuotaPeriods]) -> bool {
    quotas.iter().any(|quota| quota.throttled > 0 && quota.throttled as f64 >= MUCH_CUT * quota.periods as f64)
}

fn yes_or_no(is_so: bool) -> &'static str {
    if is_so { "yes" } else { "no" }
}

#[cfg(test)]
mod tests {
    use linerate_record::reading::ProcessorShares;

    use super::*;

    #[test]
    fn shares_have_two_values_and_a_threshold_each() {
        for (stolen, foreign, expected) in [
            (0.0, 0.0, ("below 5 %", "below 25 %")),
            (0.049, 0.249, ("below 5 %", "below 25 %")),
            (0.05, 0.25, ("5 % or more", "25 % or more")),
            (1.0, 0.0, ("5 % or more", "below 25 %")),
        ] {
            let processors = Some(ProcessorShares { stolen, foreign });
            let words = in_words(&MachineShare { processors, ..MachineShare::default() });
            assert_eq!((words["stolen"].as_str(), words["foreign_load"].as_str()), expected, "{stolen} {foreign}");
        }
        let words = in_words(&MachineShare::default());
        assert_eq!(words["foreign_load"], "unreadable: proc/stat");
        assert_eq!((words["throttled"].as_str(), words.get("target.cgroup.throttled")), ("not stated", None));
    }

    #[test]
    fn a_quota_holds_back_from_one_period_in_a_hundred_on() {
        for (quotas, expected) in [
            (&[][..], "no"),
            (&[(1000, 9)], "no"),
            (&[(1000, 10)], "yes"),
            (&[(0, 0)], "no"),
            (&[(10, 1)], "yes"),
            // Each by itself.
            (&[(1000, 0), (10, 4)], "yes"),
        ] {
            let quotas = quotas.iter().map(|&(periods, throttled)| QuotaPeriods { periods, throttled });
            let words = in_words(&MachineShare { target_quotas: Some(quotas.collect()), ..MachineShare::default() });
            assert_eq!(words["target.cgroup.throttled"], expected, "{words:?}");
            assert_eq!(words["cgroup.throttled"], "no");
        }
    }
}
