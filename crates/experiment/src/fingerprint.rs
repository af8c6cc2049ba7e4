//! What fingerprints of cells say of the settings that arms change: whether they are in place, and in which keys arms
//! are meant to differ.

use std::collections::{BTreeMap, BTreeSet};

use linerate_record::experiment::Means;
use linerate_record::fingerprint::{TARGET_STARTED, of_setting};
use linerate_record::knob::{Knob, Locator, SettingPlace, same};

/// Texts by key.
pub type Print = BTreeMap<String, String>;

/// The knob of an id.
pub type Find<'f> = &'f dyn Fn(&str) -> Option<&'static Knob>;

/// What is not as an arm has it: somebody else has changed it meanwhile, or a restart has. Settings that other arms
/// change and this one does not must be as they were.
#[must_use]
pub fn displaced(print: &Print, all: &[Means], means: &Means, find: Find<'_>) -> Option<String> {
    let is_own = |place: &SettingPlace| means.changes.iter().any(|change| change.place == *place);
    let of_others = all.iter().flat_map(|other| &other.changes).filter(|change| !is_own(&change.place));
    let expected = means.changes.iter().map(|change| (&change.place, &change.new));
    expected.chain(of_others.map(|change| (&change.place, &change.prior))).find_map(|(place, expected)| {
        let now = print.get(&of_setting(place)).map_or("none", String::as_str);
        let is_same = find(&place.knob).is_some_and(|knob| same(&knob.locator, now, expected));
        (!is_same).then(|| {
            format!("{place} was {now:?} when the load ended, not {expected:?}: something changed it in the meantime")
        })
    })
}

/// The keys in which arms are meant to differ: those of the settings that they change, of what moves with those by
/// `is_moved_by`, and in which they were seen to differ when each was put in place for a moment.
#[must_use]
pub fn factors(
    means: &[Means],
    prints: &[Print],
    restarts: bool,
    find: Find<'_>,
    is_moved_by: &dyn Fn(&str, &Locator) -> bool,
) -> Vec<String> {
    let mut factors = BTreeSet::new();
    for change in means.iter().flat_map(|means| &means.changes) {
        factors.insert(of_setting(&change.place));
        let Some(knob) = find(&change.place.knob) else { continue };
        let keys = prints.iter().flat_map(|print| print.keys());
        factors.extend(keys.filter(|key| is_moved_by(key, &knob.locator)).cloned());
    }
    let Some(first) = prints.first() else { return factors.into_iter().collect() };
    for print in &prints[1..] {
        let keys: BTreeSet<&String> = print.keys().chain(first.keys()).collect();
        factors.extend(keys.into_iter().filter(|key| print.get(*key) != first.get(*key)).cloned());
    }
    if restarts {
        factors.insert(TARGET_STARTED.to_owned());
    }
    factors.into_iter().collect()
}
