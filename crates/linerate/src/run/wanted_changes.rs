//! From a profile, or from values given by hand, to changes of this machine.

use std::collections::BTreeSet;
use std::path::Path;

use linerate_host::apply::{machine_hash, refusal};
use linerate_host::setting::{Changeable, KernelBuild};
use linerate_host::{Root, SnapshotRequest, setting};
use linerate_record::audit::Difference;
use linerate_record::knob::{
    BY_HAND, CHANGES_SCHEMA, Change, ChangeSet, DeviceClass, Knob, Missing, Scope, SettingId, Snapshot, Space,
    SpaceIdentity, reaches,
};
use linerate_record::site::Site;
use linerate_report::tune::{SkippedSetting, skipped};
use linerate_settings::audit::site_from_machine;
use linerate_settings::change_plan::{
    self as settings_changes, Applicability, DifferingSetting, SettingValue, are_at_odds, change, changes,
};
use linerate_settings::knobs::{self, KNOBS};
use linerate_settings::profiles::Profile;

use crate::files::{output_file, site_file};
use crate::run::catalogue::{find, profile_named};
use crate::terminal::failure::Failure;

/// What was found: changes, and settings that are not as wanted and are left alone, with the reason.
#[derive(Default)]
pub(crate) struct ProfileChanges {
    /// What was given by hand, which a profile leaves alone.
    pub(crate) by_hand: Vec<ManualValue>,
    pub(crate) changes: Vec<Change>,
    pub(crate) left_out: Vec<(SettingId, String)>,
}

/// A value given by hand.
#[derive(Clone)]
pub(crate) struct ManualValue {
    pub(crate) place: SettingId,
    pub(crate) value: String,
    /// The change that leads to it, absent where it is so already.
    pub(crate) change: Option<Change>,
}

/// The space of `--pid` or else of `--netns`, where one is given.
pub(crate) fn space_of_flags(pid: Option<u32>, netns: Option<&str>) -> Space {
    let named = || netns.map(|name| Space::Netns(name.to_owned()));
    pid.map(Space::Pid).or_else(named).unwrap_or_default()
}

/// What stands behind the spaces of changes: apply refuses where it is something else. A setting that the whole machine
/// has once is the same from everywhere.
pub(crate) fn space_identities<'c>(
    root: &Root,
    changes: impl IntoIterator<Item = &'c Change>,
) -> Result<Vec<SpaceIdentity>, Failure> {
    let is_reported = |change: &&Change| change.place.space != Space::Host || change.scope != Scope::Host;
    let spaces: BTreeSet<&Space> = changes.into_iter().filter(is_reported).map(|change| &change.place.space).collect();
    let identities: Result<Vec<_>, _> = spaces.into_iter().map(|space| space_identity(root, space)).collect();
    Ok(identities?.into_iter().flatten().collect())
}

pub(crate) fn space_identity(root: &Root, space: &Space) -> Result<Option<SpaceIdentity>, Failure> {
    setting::space_identity(root, space).map_err(Failure::usage)
}

/// One value given by hand. It must be one that can be changed: who asks for it wants to know at once. A setting that
/// has one value for the whole machine is that of the machine with `elsewhere`, whatever the space.
pub(crate) fn manual_value(root: &Root, space: &Space, text: &str, elsewhere: bool) -> Result<ManualValue, Failure> {
    let usage = |why: &str| Failure::usage(format!("invalid change {text:?}: {why}"));
    let (name, new) = text.split_once('=').ok_or_else(|| usage("write KNOB=VALUE or KNOB@DEVICE=VALUE"))?;
    let (name, new) = (name.trim(), new.trim());
    let (id, device) = name.split_once('@').map_or((name, None), |(id, device)| (id, Some(device.to_owned())));
    let row = knobs::find(id).ok_or_else(|| match knobs::nearest(id).first() {
        Some(near) => usage(&format!("did you mean {near}?")),
        None => usage("there is no such knob: see linerate knobs"),
    })?;
    let place = SettingId { knob: id.to_owned(), device, space: manual_space(&row.knob, space, elsewhere) };
    require_device(root, &row.knob, &place).map_err(|why| usage(&why))?;
    let built = KernelBuild::new(root);
    refusal(&built, &find, &place, new).map_err(|why| usage(&why))?;
    let read = setting::read(root, &row.knob, &place);
    let Some(prior) = read.value else {
        let why = unreadable_setting(&place, read.missing.as_ref());
        let is_there = |class| {
            let named = place.device.as_ref();
            named.is_none_or(|device| setting::devices(root, &place.space, class).contains(device))
        };
        let class = row.knob.locator.device_class().filter(|class| !is_there(*class));
        let there =
            class.map(|class| format!("; {}", available_devices(root, &place.space, class))).unwrap_or_default();
        return Err(usage(&format!("{why}{there}")));
    };
    let doubt = setting::doubt(&built, &row.knob, new).map(|doubt| format!("; {doubt}")).unwrap_or_default();
    let change = change(&row.knob, &place, &prior, new, &format!("set by hand{doubt}"));
    Ok(ManualValue { place, value: new.to_owned(), change })
}

/// The space in which a value given by hand is set: with `elsewhere` the machine's where the knob has none of its own.
fn manual_space(knob: &Knob, space: &Space, elsewhere: bool) -> Space {
    if elsewhere && !reaches(knob, space) { Space::Host } else { space.clone() }
}

/// Most devices that are named where one is missing.
const DEVICES_SHOWN: usize = 12;

/// Refuses a device of a setting that has none, and none of a setting of devices, with those that there are.
fn require_device(root: &Root, knob: &Knob, place: &SettingId) -> Result<(), String> {
    let (id, class) = (knob.id, knob.locator.device_class());
    let Some(class) = class else {
        return match &place.device {
            Some(_) => Err(format!("it does not belong to a device: write {id}=VALUE")),
            None => Ok(()),
        };
    };
    if place.device.is_some() {
        return Ok(());
    }
    let there = available_devices(root, &place.space, class);
    Err(format!("each device has its own value: write {id}@DEVICE=VALUE; {there}"))
}

/// The devices of a class that there are.
fn available_devices(root: &Root, space: &Space, class: DeviceClass) -> String {
    let there = setting::devices(root, space, class);
    let shown = there.iter().take(DEVICES_SHOWN).map(String::as_str).collect::<Vec<_>>().join(", ");
    match there.len().saturating_sub(DEVICES_SHOWN) {
        0 if shown.is_empty() => "there is no such device here".to_owned(),
        0 => format!("devices here: {shown}"),
        more => format!("devices here: {shown} and {more} more"),
    }
}

/// The values given by hand; all that is wrong with them is told at once.
pub(crate) fn all_manual_values(root: &Root, space: &Space, given: &[String]) -> Result<Vec<ManualValue>, Failure> {
    let (mut seen, mut mistakes): (Vec<ManualValue>, _) = (Vec::new(), Vec::new());
    for text in given {
        match manual_value(root, space, text, false) {
            Ok(value) if seen.iter().any(|before| before.place == value.place) => {
                mistakes.push(format!("invalid change {text:?}: {} is already set: set each one once", value.place));
            }
            Ok(value) => seen.push(value),
            Err(failure) => mistakes.extend(failure.mistakes()),
        }
    }
    mistakes.extend(at_odds(seen.iter().map(|given| (&given.place, given.value.as_str()))));
    if mistakes.is_empty() { Ok(seen) } else { Err(Failure::from_errors(mistakes)) }
}

/// Pairs of values given by hand of which the kernel keeps one alone, each as a mistake.
pub(crate) fn at_odds<'a>(given: impl IntoIterator<Item = SettingValue<'a>>) -> Vec<String> {
    let given: Vec<SettingValue<'_>> = given.into_iter().collect();
    let odd = settings_changes::at_odds(&given, &setting::zero_each_other);
    let reported = odd.into_iter().map(|((one, of_one), (other, of_other))| {
        let (one, other) = (format!("{}={of_one}", one.knob), format!("{}={of_other}", other.knob));
        format!(
            "invalid changes {one:?} and {other:?}: the kernel resets one to 0 when the other is written: set only \
                 one"
        )
    });
    reported.collect()
}

/// Why a setting cannot be read, and what to do.
fn unreadable_setting(place: &SettingId, missing: Option<&Missing>) -> String {
    let location = place.device.as_ref().map_or("this machine".to_owned(), |device| format!("device {device:?}"));
    match missing {
        Some(Missing::Absent) | None => {
            format!("{location} has no such setting here; linerate knobs {} says where it applies", place.knob)
        }
        Some(Missing::NotPermitted) => "it cannot be read without more privileges: run as root".to_owned(),
        Some(Missing::Unreadable(why)) => format!("it cannot be read: {why}"),
    }
}

/// The changes that lead to a profile, and what differs and is left alone, with the reason.
pub(crate) fn changes_to_profile(
    root: &Root,
    space: &Space,
    name: &str,
    site: Option<&Path>,
) -> Result<ProfileChanges, Failure> {
    let mut found = ProfileChanges::default();
    let site = site.map(site_file::read_site).transpose()?;
    collect_profile_changes(root, space, profile_named(name)?, site, &mut found);
    in_order(&mut found.changes);
    Ok(found)
}

/// Changes that move other settings come first, so that those are what they shall be in the end.
pub(crate) fn in_order(changes: &mut [Change]) {
    settings_changes::in_order(changes, &setting::moves_others);
}

/// Why, where the profile has the value itself.
const PROFILE_REASON: &str = "the profile says so";

pub(crate) fn collect_profile_changes(
    root: &Root,
    space: &Space,
    profile: &Profile,
    site: Option<Site>,
    found: &mut ProfileChanges,
) {
    let snapshot = snapshot(root, space);
    let site = site.unwrap_or_else(|| site_from_machine(&snapshot));
    let (built, zero) = (KernelBuild::new(root), &setting::zero_each_other);
    let mut differing = changes(&snapshot, &site, profile);
    differing.sort_by_key(|differing| profile.position(differing.row.knob.id));
    for DifferingSetting { row, setting, present, wanted, effect } in differing {
        let (place, new) = (&setting.place, &wanted.value);
        if effect == Applicability::Ignored {
            found.left_out.push((place.clone(), skipped(present, new, SkippedSetting::Ignored(row.knob.until))));
            continue;
        }
        if found.by_hand.iter().any(|given| given.place == *place) {
            continue;
        }
        let kept = found.by_hand.iter().find(|given| are_at_odds((&given.place, &given.value), (place, new), zero));
        if let Some(kept) = kept {
            found.left_out.push((place.clone(), skipped(present, new, SkippedSetting::Zeroes(&kept.place))));
            continue;
        }
        match refusal(&built, &find, place, new) {
            Ok(knob) => {
                found.changes.extend(change(knob, place, present, new, wanted.why.as_deref().unwrap_or(PROFILE_REASON)))
            }
            Err(reason) => {
                found.left_out.push((place.clone(), skipped(present, new, SkippedSetting::Refused(&reason))));
            }
        }
    }
}

/// Why the changes of the host that [`changes_to`] finds do not have a difference of an audit; nothing where they do.
pub(crate) fn reason_left_out(built: &KernelBuild<'_>, difference: &Difference) -> Option<String> {
    let knob = find(&difference.knob)?;
    let elsewhere = match &difference.space {
        Space::Host => None,
        Space::Pid(pid) => Some(format!("it is of process {pid}: linerate tune diff --pid {pid} has it")),
        Space::Netns(name) => Some(format!("it is of namespace {name}: linerate tune diff --netns {name} has it")),
    };
    if setting::changeable(&knob.locator) == Changeable::Yes && elsewhere.is_some() {
        return elsewhere;
    }
    let devices = difference.devices.iter().cloned().map(Some);
    let whole = difference.devices.is_empty().then_some(None);
    let refused = |device| {
        let place = SettingId { knob: difference.knob.clone(), device, space: Space::Host };
        refusal(built, &find, &place, &difference.wanted).err()
    };
    devices.chain(whole).find_map(refused)
}

/// What is wanted.
pub(crate) struct WantedValues {
    pub(crate) by_hand: Vec<ManualValue>,
    pub(crate) profile: Option<&'static Profile>,
    /// The site that the values of the profile follow from; absent where they follow from the machine.
    pub(crate) site: Option<Site>,
}

/// The changes that lead to what is wanted, and what is left alone with the reason. `stood` is what stood behind the
/// space before anything was read there.
pub(crate) fn changes_to(
    root: &Root,
    space: &Space,
    stood: Option<&SpaceIdentity>,
    wanted: WantedValues,
) -> Result<(ChangeSet, Vec<(SettingId, String)>), Failure> {
    let WantedValues { by_hand, profile, site } = wanted;
    let changes = by_hand.iter().filter_map(|given| given.change.clone()).collect();
    let mut found = ProfileChanges { by_hand, changes, left_out: Vec::new() };
    if let Some(profile) = profile {
        collect_profile_changes(root, space, profile, site, &mut found);
    }
    in_order(&mut found.changes);
    let name = profile.map_or(BY_HAND, |profile| profile.name);
    let spaces = space_identities(root, &found.changes)?;
    if spaces.iter().any(|now| now.space == *space)
        && !setting::is_unmoved(stood, space_identity(root, space)?.as_ref())
    {
        return Err(Failure::usage("the process or namespace was replaced while it was read: try again"));
    }
    let machine = machine_hash(root)?;
    let profile = name.to_owned();
    Ok((ChangeSet { schema: CHANGES_SCHEMA, machine, profile, changes: found.changes, spaces }, found.left_out))
}

/// What advice needs of the machine: its devices and what it is made of, and its settings in these namespaces.
pub(crate) fn snapshot(root: &Root, space: &Space) -> Snapshot {
    let devices_only = SnapshotRequest { knobs: &[], pids: &[], netns: None };
    let settings = setting::read_all(root, space, KNOBS.iter().map(|row| &row.knob));
    Snapshot { settings, ..linerate_host::snapshot(root, &devices_only) }
}

/// Writes a file of changes, for its owner alone.
pub(crate) fn write(path: &Path, set: &ChangeSet) -> Result<(), Failure> {
    let failed = |source| Failure::File { what: "write", path: path.to_owned(), source };
    let text = serde_json::to_string_pretty(set).map_err(|error| failed(error.into()))?;
    output_file::write_output(path, format!("{text}\n").as_bytes(), 0o600)
}

#[cfg(test)]
mod tests {
    use linerate_host::setting::changeable;
    use linerate_record::knob::Setting;
    use linerate_settings::change_plan::Applicability;
    use linerate_settings::profiles::{Pick, Value};

    use super::*;

    /// What an audit says of the reach of a knob whose setting in a place is not as a profile wants it.
    fn audited(knob: &'static Knob, place: &SettingId) -> bool {
        let picks: &'static [Pick] = vec![Pick { knob: knob.id, value: Value::Literal("1") }].leak();
        let profile = Profile { name: "one", summary: "", picks };
        let setting = Setting { place: place.clone(), value: Some("2".to_owned()), choices: Vec::new(), missing: None };
        let snapshot = Snapshot { settings: vec![setting], ..Snapshot::default() };
        let found = changes(&snapshot, &site_from_machine(&snapshot), &profile);
        assert_eq!(found.len(), 1, "{place}");
        found[0].effect != Applicability::OutOfReach
    }

    #[test]
    fn audit_tune_and_experiment_agree_on_where_each_knob_can_be_set() {
        let folder = tempfile::tempdir().unwrap();
        let root = Root::captured(folder.path());
        let (mut within, mut interfaces) = (0, 0);
        for knob in KNOBS.iter().map(|row| &row.knob) {
            let is_nics = knob.scope == Scope::Device && knob.locator.device_class() == Some(DeviceClass::Nic);
            for space in [Space::Host, Space::Pid(4711), Space::Netns("lab".to_owned())] {
                let device = knob.locator.device_class().map(|_| "eth0".to_owned());
                let place = SettingId { knob: knob.id.to_owned(), device, space: space.clone() };
                let reached = audited(knob, &place);
                assert_eq!(manual_space(knob, &space, true) == space, reached, "{place}: experiment");
                assert_eq!(manual_space(knob, &space, false), space, "{place}: tune");
                if changeable(&knob.locator) == Changeable::Yes {
                    let refused = refusal(&KernelBuild::new(&root), &find, &place, "1").err().unwrap_or_default();
                    let is_refused = refused.contains("one value for the whole machine");
                    assert_eq!(!is_refused, reached, "{place}: tune: {refused}");
                }
                assert!(reached || space != Space::Host, "{place}");
                within += usize::from(reached && space != Space::Host);
                interfaces += usize::from(reached && is_nics && matches!(space, Space::Netns(_)));
            }
        }
        assert!(within > 60 && interfaces > 10, "{within} {interfaces}");
    }
}
