//! What fingerprints of cells say of the settings that arms change: whether they are in place, and in which keys arms
//! are meant to differ.

use std::collections::{BTreeMap, BTreeSet};

use linerate_record::experiment::ArmSetup;
use linerate_record::fingerprint::{
    TARGET_HOSTS, TARGET_SERVER, TARGET_STARTED, TARGET_TLS, is_of_setting, is_of_target, of_setting,
};
use linerate_record::knob::{Knob, Locator, SettingId, same};

pub type FingerprintTexts = BTreeMap<String, String>;

/// The knob of an id.
pub type KnobLookup<'f> = &'f dyn Fn(&str) -> Option<&'static Knob>;

/// What is not as an arm has it: somebody else has changed it meanwhile, or a restart has. Settings that other arms
/// change and this one does not must be as they were.
#[must_use]
pub fn displaced(
    fingerprint_texts: &FingerprintTexts,
    all: &[ArmSetup],
    means: &ArmSetup,
    find: KnobLookup<'_>,
) -> Option<String> {
    let is_own = |place: &SettingId| means.changes.iter().any(|change| change.place == *place);
    let of_others = all.iter().flat_map(|other| &other.changes).filter(|change| !is_own(&change.place));
    let expected = means.changes.iter().map(|change| (&change.place, &change.new));
    expected.chain(of_others.map(|change| (&change.place, &change.prior))).find_map(|(place, expected)| {
        let now = fingerprint_texts.get(&of_setting(place)).map_or("none", String::as_str);
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
    means: &[ArmSetup],
    prints: &[FingerprintTexts],
    restarts: bool,
    find: KnobLookup<'_>,
    is_moved_by: &dyn Fn(&str, &Locator) -> bool,
) -> Vec<String> {
    let mut factors = BTreeSet::new();
    for change in means.iter().flat_map(|means| &means.changes) {
        factors.insert(of_setting(&change.place));
        let Some(knob) = find(&change.place.knob) else { continue };
        let keys = prints.iter().flat_map(|fingerprint_texts| fingerprint_texts.keys());
        factors.extend(keys.filter(|key| is_moved_by(key, &knob.locator)).cloned());
    }
    let Some(first) = prints.first() else { return factors.into_iter().collect() };
    for fingerprint_texts in &prints[1..] {
        let keys: BTreeSet<&String> = fingerprint_texts.keys().chain(first.keys()).collect();
        factors.extend(keys.into_iter().filter(|key| fingerprint_texts.get(*key) != first.get(*key)).cloned());
    }
    if restarts {
        factors.insert(TARGET_STARTED.to_owned());
    }
    factors.into_iter().collect()
}

/// The keys of who answers, which is known of a load only: arms that load different targets differ in them, and an
/// experiment on a target of linerate's own starts another one when it is resumed.
#[must_use]
pub fn factors_of_targets(differ: bool, is_own: bool) -> Vec<String> {
    let of_different = [TARGET_SERVER, TARGET_TLS, TARGET_HOSTS].into_iter().filter(|_| differ);
    let of_own = [TARGET_HOSTS, TARGET_STARTED].into_iter().filter(|_| is_own);
    let keys: BTreeSet<&str> = of_different.chain(of_own).collect();
    keys.into_iter().map(str::to_owned).collect()
}

/// What must be said of arms that differ in more than the settings that they change.
#[must_use]
pub fn differ_besides(means: &[ArmSetup], factors: &[String]) -> Option<String> {
    let requested: Vec<String> =
        means.iter().flat_map(|means| &means.changes).map(|change| of_setting(&change.place)).collect();
    let besides: Vec<&str> =
        factors.iter().filter(|key| !requested.contains(key) && *key != TARGET_STARTED).map(String::as_str).collect();
    (!besides.is_empty()).then(|| format!("the arms differ in {} as well", besides.join(", ")))
}

/// A key in which arms are said to differ, and that no fingerprint has: what it is to excuse would not be excused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("--may-differ {key:?} is not a key of the fingerprint: write one of {known}, or \"setting KNOB\"")]
pub struct UnknownKey {
    pub key: String,
    /// Those that there are, without the settings, which are some hundreds.
    pub known: String,
}

/// Refuses keys that no fingerprint has. Those of a target are known of a load only, and `is_later` says which others
/// are not known yet.
///
/// # Errors
/// The first [`UnknownKey`].
pub fn require_keys(
    wanted: &[String],
    known: &BTreeSet<&String>,
    is_later: impl Fn(&str) -> bool,
) -> Result<(), UnknownKey> {
    let is_known = |key: &String| known.contains(key) || is_of_target(key) || is_later(key);
    let Some(unknown) = wanted.iter().find(|key| !is_known(key)) else { return Ok(()) };
    let names: Vec<&str> = known.iter().filter(|key| !is_of_setting(key)).map(|key| key.as_str()).collect();
    Err(UnknownKey { key: unknown.clone(), known: names.join(", ") })
}

#[cfg(test)]
mod tests {
    use linerate_record::knob::{Change, Scope, Space, TakesEffect};

    use super::*;

    fn keys(keys: &[&str]) -> Vec<String> {
        keys.iter().map(|key| (*key).to_owned()).collect()
    }

    #[test]
    fn arms_that_load_different_targets_differ_in_who_answers() {
        for (differ, is_own, expected) in [
            (false, false, &[][..]),
            (true, false, &["target.hosts", "target.server", "target.tls"]),
            (false, true, &["target.hosts", "target.started"]),
            (true, true, &["target.hosts", "target.server", "target.started", "target.tls"]),
        ] {
            assert_eq!(factors_of_targets(differ, is_own), expected, "{differ} {is_own}");
        }
    }

    #[test]
    fn only_what_an_arm_moves_beside_its_own_settings_is_remarked_on() {
        let change = Change {
            place: SettingId { knob: "net.core.rmem_max".to_owned(), device: None, space: Space::Host },
            prior: "1".to_owned(),
            new: "2".to_owned(),
            scope: Scope::Host,
            takes_effect: TakesEffect::AtOnce,
            why: String::new(),
            risk: String::new(),
        };
        let means = [ArmSetup::default(), ArmSetup { changes: vec![change], ..ArmSetup::default() }];
        let own = ["setting net.core.rmem_max", "target.started"];
        assert_eq!(differ_besides(&means, &keys(&own)), None);
        let more = [own[0], "nic.eth0.mtu", "nic.eth1.mtu"];
        let expected = "the arms differ in nic.eth0.mtu, nic.eth1.mtu as well";
        assert_eq!(differ_besides(&means, &keys(&more)).as_deref(), Some(expected));
    }

    #[test]
    fn a_key_that_no_fingerprint_has_is_refused_with_those_that_there_are() {
        let known = keys(&["foreign_load", "kernel", "setting vm.swappiness"]);
        let known: BTreeSet<&String> = known.iter().collect();
        for key in ["foreign_load", "setting vm.swappiness", "target.netns", "nic.eth7.mtu"] {
            assert_eq!(require_keys(&keys(&[key]), &known, |key| key.starts_with("nic.")), Ok(()), "{key}");
        }
        assert_eq!(
            require_keys(&keys(&["kernel", "kernal"]), &known, |_| false).unwrap_err().to_string(),
            "--may-differ \"kernal\" is not a key of the fingerprint: write one of foreign_load, kernel, or \
             \"setting KNOB\""
        );
    }
}
