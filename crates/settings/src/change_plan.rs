//! What decides a change: a setting that was read, held against what a profile wants of it.
//!
//! An audit tells these differences, `tune` writes them as a file of changes and an experiment tries them. Whether two
//! texts mean the same is [`same`]'s to say, as it is for who applies changes and looks afterwards.

use linerate_record::knob::{Change, Domain, Knob, Layer, Locator, Setting, SettingId, Snapshot, reaches, same};
use linerate_record::site::Site;

use crate::knobs::{self, KnobRow, advise, works};
use crate::profiles::{Pick, Profile, Value};

/// What a profile wants of a setting.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WantedSetting {
    pub value: String,
    /// Why the row advises it; absent where the profile itself has the value.
    pub why: Option<String>,
    /// Whether that follows from a reading that is not to be believed.
    pub is_uncertain: bool,
}

/// Whether a change of a knob may interrupt what a machine serves for a moment: drivers stop an interface and start it
/// again for other rings, queues and lengths of packets, many for offloads too, and a bond that is set up anew lets its
/// members go. Other settings are read at the next packet, request or page.
#[must_use]
pub fn may_interrupt(knob: &Knob) -> bool {
    let is_of_interface =
        matches!(knob.locator, Locator::Mtu | Locator::Ring { .. } | Locator::Channels | Locator::Offload { .. });
    is_of_interface || knob.layer == Layer::Bond
}

/// Whether a value would act where it is wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Applicability {
    Acts,
    /// This kernel has the setting and ignores it.
    Ignored,
    /// The setting does not belong to that namespace.
    OutOfReach,
    /// This machine does not have the value.
    NotOffered,
}

/// A setting that is not as a profile wants it.
#[derive(Clone, Debug)]
pub struct DifferingSetting<'s> {
    /// The row of its knob.
    pub row: &'static KnobRow,
    pub setting: &'s Setting,
    pub present: &'s str,
    /// What it is to be.
    pub wanted: WantedSetting,
    /// Whether that would act.
    pub effect: Applicability,
}

/// The settings of a snapshot that are not as a profile wants them, in the order of the snapshot. What could not be
/// read, what the profile does not name and what its row advises nothing of is not among them.
#[must_use]
pub fn changes<'s>(snapshot: &'s Snapshot, site: &Site, profile: &Profile) -> Vec<DifferingSetting<'s>> {
    let differing = |setting: &'s Setting| {
        let (present, row) = (setting.value.as_deref()?, knobs::find(&setting.place.knob)?);
        let wanted = wanted(snapshot, site, row, profile.pick(row.knob.id)?, &setting.place)?;
        let effect = match effect(&row.knob, snapshot, &setting.place) {
            Applicability::Acts if !is_offered(&row.knob, setting, &wanted.value) => Applicability::NotOffered,
            other => other,
        };
        let differs = !same(&row.knob.locator, present, &wanted.value);
        differs.then_some(DifferingSetting { row, setting, present, wanted, effect })
    };
    snapshot.settings.iter().filter_map(differing).collect()
}

/// What a pick of a profile wants of one place; `None` where it is to be as advised and nothing is.
pub(crate) fn wanted(
    snapshot: &Snapshot,
    site: &Site,
    row: &KnobRow,
    pick: &Pick,
    place: &SettingId,
) -> Option<WantedSetting> {
    match pick.value {
        Value::Literal(value) => Some(WantedSetting { value: value.to_owned(), why: None, is_uncertain: false }),
        Value::Advised => {
            let advice = advise(row, snapshot, site, place)?;
            Some(WantedSetting { value: advice.value, why: Some(advice.why), is_uncertain: advice.is_uncertain })
        }
    }
}

/// Whether a value of a knob would act in a place.
pub(crate) fn effect(knob: &Knob, snapshot: &Snapshot, place: &SettingId) -> Applicability {
    if !works(knob, snapshot) {
        Applicability::Ignored
    } else if !reaches(knob, &place.space) {
        Applicability::OutOfReach
    } else {
        Applicability::Acts
    }
}

/// Whether a word is among those that a setting can be, where the machine says which those are.
fn is_offered(knob: &Knob, setting: &Setting, value: &str) -> bool {
    let is_word = matches!(knob.takes, Domain::Words(_));
    !is_word || setting.choices.is_empty() || setting.choices.iter().any(|choice| choice == value)
}

/// The change that leads from what a setting is to a value; `None` where the two mean the same.
#[must_use]
pub fn change(knob: &Knob, place: &SettingId, prior: &str, new: &str, why: &str) -> Option<Change> {
    (!same(&knob.locator, prior, new)).then(|| Change {
        place: place.clone(),
        prior: prior.to_owned(),
        new: new.to_owned(),
        scope: knob.scope,
        takes_effect: knob.takes_effect,
        why: why.to_owned(),
        risk: knob.risk.to_owned(),
    })
}

/// A setting and what it is to be.
pub type SettingValue<'t> = (&'t SettingId, &'t str);

/// Whether the kernel zeroes each of two settings when the other is written, which whoever writes them knows.
pub type ZeroEachOther<'z> = &'z dyn Fn(&Locator, &Locator) -> bool;

/// Whether each of two values is lost when the other is written. One that is 0 is what the other makes of it.
#[must_use]
pub fn are_at_odds(
    (one, of_one): SettingValue<'_>,
    (other, of_other): SettingValue<'_>,
    zero: ZeroEachOther<'_>,
) -> bool {
    let locator = |place: &SettingId| knobs::find(&place.knob).map(|row| row.knob.locator);
    let zero_each_other = || Some(zero(&locator(one)?, &locator(other)?));
    of_one != "0" && of_other != "0" && one.space == other.space && zero_each_other() == Some(true)
}

/// Pairs of values of which the kernel keeps one alone.
#[must_use]
pub fn at_odds<'t>(given: &[SettingValue<'t>], zero: ZeroEachOther<'_>) -> Vec<(SettingValue<'t>, SettingValue<'t>)> {
    let pairs = given.iter().enumerate().flat_map(|(i, one)| given[..i].iter().map(move |before| (*before, *one)));
    pairs.filter(|(one, other)| are_at_odds(*one, *other, zero)).collect()
}

/// Puts changes that move other settings first, so that those are what they shall be in the end. Which do, whoever
/// writes them knows.
pub fn in_order(changes: &mut [Change], moves_others: &dyn Fn(&Locator) -> bool) {
    let moves = |change: &Change| knobs::find(&change.place.knob).is_some_and(|row| moves_others(&row.knob.locator));
    changes.sort_by_key(|change| !moves(change));
}

/// Whether two changes lead to the same value of the same setting.
#[must_use]
pub fn lead_to_same(one: &Change, other: &Change) -> bool {
    let is_same = || match knobs::find(&one.place.knob) {
        Some(row) => same(&row.knob.locator, &one.new, &other.new),
        None => one.new == other.new,
    };
    one.place == other.place && is_same()
}

/// The places in which what is changed differs between two sets of changes.
#[must_use]
pub fn differ(baseline: &[Change], arm: &[Change]) -> Vec<SettingId> {
    let of_arm = arm.iter().filter(|change| !baseline.iter().any(|other| lead_to_same(change, other)));
    let of_baseline = baseline.iter().filter(|change| arm.iter().all(|other| other.place != change.place));
    of_arm.chain(of_baseline).map(|change| change.place.clone()).collect()
}

#[cfg(test)]
mod tests {
    use linerate_record::knob::Space;

    use super::*;
    use crate::audit::audit;
    use crate::knobs::fixtures::{machine, set, site};
    use crate::knobs::{Advise, KNOBS, find};
    use crate::profiles::PROFILES;

    fn row(id: &str) -> &'static KnobRow {
        find(id).expect("a row")
    }

    fn to(id: &str, new: &str) -> Change {
        let place = SettingId { knob: id.to_owned(), device: None, space: Space::Host };
        change(&row(id).knob, &place, "", new, "").expect("a change")
    }

    #[test]
    fn what_stops_an_interface_may_interrupt_and_what_the_kernel_reads_anew_does_not() {
        let may = |id: &str| may_interrupt(&row(id).knob);
        assert!(may("nic.mtu") && may("nic.tso"));
        assert!(!may("net.core.somaxconn") && !may("vm.swappiness") && !may("block.scheduler"));
        assert!(KNOBS.iter().any(|row| row.knob.layer == Layer::Bond && may_interrupt(&row.knob)));
    }

    #[test]
    fn a_knob_reaches_namespaces_that_have_a_value_of_their_own() {
        let (pid, lab) = (Space::Pid(1), Space::Netns("lab".to_owned()));
        for (id, of_process, of_namespace) in [
            ("vm.swappiness", false, false),
            ("block.scheduler", false, false),
            ("net.ipv4.tcp_rmem", true, true),
            ("limits.nofile", true, true),
            ("nic.mtu", false, true),
            ("bond.mode", false, false),
        ] {
            let knob = &row(id).knob;
            let found = [&Space::Host, &pid, &lab].map(|space| reaches(knob, space));
            assert_eq!(found, [true, of_process, of_namespace], "{id}");
        }
    }

    #[test]
    fn nothing_is_advised_of_a_device_of_another_namespace() {
        let (mut snapshot, mtu) = (machine(), row("nic.mtu"));
        set(&mut snapshot, "nic.mtu", Some("eth0"), "1500");
        let here = snapshot.settings.iter().find(|s| s.place.knob == "nic.mtu").expect("it was set").place.clone();
        let there = SettingId { space: Space::Netns("lab".to_owned()), ..here.clone() };
        let advised =
            |place| advise(&KnobRow { advise: Advise::Constant("9000", "so"), ..*mtu }, &snapshot, &site(), place);
        assert_eq!((advised(&here).is_some(), advised(&there).is_some()), (true, false));
    }

    #[test]
    fn a_value_that_means_the_same_is_no_change() {
        let mut snapshot = machine();
        let source = crate::profiles::find("source-003-full").expect("a profile");
        let tcp_rmem = "net.ipv4.tcp_rmem";
        set(&mut snapshot, tcp_rmem, None, "67108864\t134217728  268435456");
        assert!(changes(&snapshot, &site(), source).is_empty());
        set(&mut snapshot, tcp_rmem, None, "4096\t131072\t6291456");
        let found = changes(&snapshot, &site(), source);
        assert_eq!((found.len(), found[0].wanted.value.as_str()), (1, "67108864 134217728 268435456"));
        assert_eq!((found[0].wanted.why.as_ref(), found[0].effect), (None, Applicability::Acts));
    }

    #[test]
    fn what_the_kernel_ignores_is_told_apart_and_no_audit_asks_for_it() {
        let mut snapshot = machine();
        let source = crate::profiles::find("source-000-os").expect("a profile");
        let dead = source.picks.iter().find(|pick| row(pick.knob).knob.until.is_some()).expect("one that is gone");
        set(&mut snapshot, dead.knob, None, "12345");
        let found = changes(&snapshot, &site(), source);
        assert_eq!(found.iter().map(|differing| differing.effect).collect::<Vec<_>>(), [Applicability::Ignored]);
        assert_eq!(audit(&snapshot, &site(), source).differences, []);
    }

    #[test]
    fn no_audit_asks_for_a_word_that_the_machine_does_not_have() {
        let mut snapshot = machine();
        set(&mut snapshot, "net.core.default_qdisc", None, "pfifo_fast");
        let profile = crate::profiles::find("s3-storage-node").expect("a profile");
        let asks = |snapshot: &Snapshot, profile: &Profile| {
            audit(snapshot, &site(), profile).differences.iter().any(|found| found.knob == "net.core.default_qdisc")
        };
        const FQ: &[Pick] = &[Pick { knob: "net.core.default_qdisc", value: Value::Literal("fq") }];
        let literal = Profile { picks: FQ, ..*profile };
        assert!(asks(&snapshot, profile) && asks(&snapshot, &literal));
        let setting = snapshot.settings.iter_mut().find(|setting| setting.place.knob == "net.core.default_qdisc");
        setting.expect("it was set").choices = ["pfifo_fast", "pfifo"].map(str::to_owned).to_vec();
        assert!(!asks(&snapshot, profile) && !asks(&snapshot, &literal));
        let found = changes(&snapshot, &site(), &literal);
        assert_eq!(found.iter().map(|differing| differing.effect).collect::<Vec<_>>(), [Applicability::NotOffered]);
    }

    #[test]
    fn an_audit_tells_of_every_change_that_acts_and_of_no_other() {
        let mut snapshot = machine();
        for row in KNOBS {
            set(&mut snapshot, row.knob.id, None, "3");
        }
        let mut total = 0;
        for profile in PROFILES {
            let found = changes(&snapshot, &site(), profile);
            let mut acting: Vec<&str> =
                found.iter().filter(|d| d.effect == Applicability::Acts).map(|d| d.row.knob.id).collect();
            let audit = audit(&snapshot, &site(), profile);
            let mut reported: Vec<&str> = audit.differences.iter().map(|d| d.knob.as_str()).collect();
            acting.sort_unstable();
            reported.sort_unstable();
            assert_eq!(reported, acting, "{}", profile.name);
            total += reported.len();
        }
        assert!(total > 100, "{total}");
    }

    #[test]
    fn values_are_at_odds_where_the_kernel_keeps_one_and_neither_is_zero() {
        let zero = |one: &Locator, other: &Locator| {
            let is = |locator: &Locator, is: &str| matches!(locator, Locator::Sysctl { name } if *name == is);
            is(one, "vm.dirty_bytes") && is(other, "vm.dirty_ratio")
                || is(one, "vm.dirty_ratio") && is(other, "vm.dirty_bytes")
        };
        let at = |knob: &str, space| SettingId { knob: knob.to_owned(), device: None, space };
        let (bytes, ratio) = (at("vm.dirty_bytes", Space::Host), at("vm.dirty_ratio", Space::Host));
        let (swappiness, in_process) = (at("vm.swappiness", Space::Host), at("vm.dirty_ratio", Space::Pid(1)));
        let odd = |given: &[SettingValue<'_>]| at_odds(given, &zero).len();
        assert_eq!(odd(&[(&bytes, "1"), (&swappiness, "1"), (&ratio, "2")]), 1);
        assert_eq!(odd(&[(&bytes, "0"), (&ratio, "2")]), 0);
        assert_eq!(odd(&[(&bytes, "1"), (&in_process, "2")]), 0);
        assert_eq!(odd(&[(&bytes, "1"), (&swappiness, "2")]), 0);
    }

    #[test]
    fn what_moves_others_comes_first_and_the_rest_stays_in_its_order() {
        let mut changes = ["vm.swappiness", "net.ipv4.tcp_rmem", "vm.dirty_ratio"].map(|id| to(id, "1"));
        in_order(&mut changes, &|locator| matches!(locator, Locator::Sysctl { name } if name.starts_with("net.")));
        let ids: Vec<&str> = changes.iter().map(|change| change.place.knob.as_str()).collect();
        assert_eq!(ids, ["net.ipv4.tcp_rmem", "vm.swappiness", "vm.dirty_ratio"]);
    }

    #[test]
    fn sets_of_changes_differ_where_values_mean_something_else() {
        let (one, spaced) = (to("net.ipv4.tcp_rmem", "1 2 3"), to("net.ipv4.tcp_rmem", "1\t2  3"));
        let (other, swappiness) = (to("net.ipv4.tcp_rmem", "1 2 4"), to("vm.swappiness", "1"));
        let differ = |baseline: &[&Change], arm: &[&Change]| -> Vec<String> {
            let owned = |changes: &[&Change]| changes.iter().map(|&change| change.clone()).collect::<Vec<_>>();
            differ(&owned(baseline), &owned(arm)).iter().map(ToString::to_string).collect()
        };
        assert_eq!(differ(&[&one], &[&spaced]), [""; 0]);
        assert_eq!(differ(&[&one], &[&other]), ["net.ipv4.tcp_rmem"]);
        assert_eq!(differ(&[&one], &[&swappiness]), ["vm.swappiness", "net.ipv4.tcp_rmem"]);
        assert_eq!(differ(&[], &[]), [""; 0]);
    }
}
