//! The changes that lead to a profile, or to values given.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::Path;
use std::process::ExitCode;

use linerate_host::apply::{machine_hash, refusal};
use linerate_host::{Asked, Root, setting};
use linerate_model::audit::site_of;
use linerate_model::knobs::{self, KNOBS, Row, advise, works};
use linerate_model::profiles::{Pick, Profile, Value};
use linerate_record::knob::{
    CHANGES_SCHEMA, Change, ChangeSet, Knob, Place, Scope, Setting, Snapshot, Space, Standing, same,
};
use linerate_record::site::Site;

use super::{DiffFlags, find};
use crate::audit::profile_named;
use crate::failure::Failure;
use crate::{named, plan, report};

/// The profile where neither one nor values are named.
const PROFILE: &str = "s3-storage-node";

/// What was found: changes, and settings that are not as wanted and are left alone, with the reason.
#[derive(Default)]
pub(crate) struct Found {
    pub(crate) changes: Vec<Change>,
    pub(crate) left_out: Vec<(Place, String)>,
}

pub(super) fn run(flags: &DiffFlags) -> Result<ExitCode, Failure> {
    let (root, space) = (flags.place.root(), flags.place.space());
    let stood = stands(&root, &space)?;
    let mut found = Found { changes: all_by_hand(&root, &space, &flags.set)?, left_out: Vec::new() };
    let profile = match (&flags.profile, flags.set.is_empty()) {
        (Some(name), _) => Some(profile_named(name)?),
        (None, true) => Some(profile_named(PROFILE)?),
        (None, false) => None,
    };
    if let Some(profile) = profile {
        let site = flags.site.as_deref().map(plan::read_site).transpose()?;
        of_profile(&root, &space, profile, site, &mut found);
    }
    in_order(&mut found.changes);
    let name = profile.map_or("values by hand", |profile| profile.name);
    let spaces = spaces(&root, &found.changes)?;
    if spaces.iter().any(|now| now.space == space) && stood != stands(&root, &space)? {
        return Err(Failure::usage("the process or namespace became another while it was read: try again"));
    }
    let machine = machine_hash(&root)?;
    let set = ChangeSet { schema: CHANGES_SCHEMA, machine, profile: name.to_owned(), changes: found.changes, spaces };
    let mut text = shown(&root, &set, &found.left_out);
    match &flags.output {
        Some(path) => {
            write(path, &set)?;
            let _ = writeln!(text, "written to {}; linerate tune apply makes the changes", path.display());
        }
        None => text.push_str("nothing is written: name a file with -o\n"),
    }
    report::print(&text)?;
    Ok(ExitCode::SUCCESS)
}

/// The changes that lead to values given by hand; all that is wrong with them is told at once.
fn all_by_hand(root: &Root, space: &Space, given: &[String]) -> Result<Vec<Change>, Failure> {
    let (mut changes, mut mistakes) = (Vec::new(), Vec::new());
    let mut seen: Vec<Place> = Vec::new();
    for text in given {
        match by_hand(root, space, text, false) {
            Ok((place, _)) if seen.contains(&place) => {
                mistakes.push(format!("invalid change {text:?}: {place} is set before: set each once"));
            }
            Ok((place, change)) => {
                seen.push(place);
                changes.extend(change);
            }
            Err(failure) => mistakes.extend(failure.mistakes()),
        }
    }
    if mistakes.is_empty() { Ok(changes) } else { Err(Failure::of_mistakes(mistakes)) }
}

/// What stands behind the spaces of changes: apply refuses where it is something else. A setting that the whole machine
/// has once is the same from everywhere.
pub(crate) fn spaces<'c>(root: &Root, changes: impl IntoIterator<Item = &'c Change>) -> Result<Vec<Standing>, Failure> {
    let is_told = |change: &&Change| change.place.space != Space::Host || change.scope != Scope::Host;
    let spaces: BTreeSet<&Space> = changes.into_iter().filter(is_told).map(|change| &change.place.space).collect();
    let standing: Result<Vec<_>, _> = spaces.into_iter().map(|space| stands(root, space)).collect();
    Ok(standing?.into_iter().flatten().collect())
}

fn stands(root: &Root, space: &Space) -> Result<Option<Standing>, Failure> {
    setting::standing(root, space).map_err(Failure::usage)
}

/// One value given by hand: where it is, and the change that leads to it, absent where it is so already. It must be one
/// that can be changed: who asks for it wants to know at once. A setting that has one value for the whole machine is
/// that of the machine with `elsewhere`, whatever the space.
pub(crate) fn by_hand(
    root: &Root,
    space: &Space,
    text: &str,
    elsewhere: bool,
) -> Result<(Place, Option<Change>), Failure> {
    let usage = |why: &str| Failure::usage(format!("invalid change {text:?}: {why}"));
    let (name, new) = text.split_once('=').ok_or_else(|| usage("write KNOB=VALUE or KNOB@DEVICE=VALUE"))?;
    let (id, device) = name.split_once('@').map_or((name, None), |(id, device)| (id, Some(device.to_owned())));
    let row = knobs::find(id).ok_or_else(|| match knobs::nearest(id).first() {
        Some(near) => usage(&format!("did you mean {near}?")),
        None => usage("no knob is called so: see linerate knobs"),
    })?;
    let is_machines = elsewhere && setting::out_of_reach(&row.knob, space).is_some();
    let space = if is_machines { Space::Host } else { space.clone() };
    let place = Place { knob: id.to_owned(), device, space };
    refusal(root, &find, &place, new).map_err(|why| usage(&why))?;
    let read = setting::read(root, &row.knob, &place);
    let Some(prior) = read.value else {
        return Err(usage(&format!("it cannot be read: {:?}", read.missing)));
    };
    let differs = !same(&row.knob.locator, &prior, new);
    let change = differs.then(|| change(&row.knob, place.clone(), prior, new, "set by hand".to_owned()));
    Ok((place, change))
}

/// The changes that lead to a profile, and what differs and is left alone, with the reason.
pub(crate) fn to_profile(root: &Root, space: &Space, name: &str, site: Option<&Path>) -> Result<Found, Failure> {
    let mut found = Found::default();
    let site = site.map(plan::read_site).transpose()?;
    of_profile(root, space, profile_named(name)?, site, &mut found);
    in_order(&mut found.changes);
    Ok(found)
}

/// Changes that move other settings come first, so that those are what they shall be in the end.
pub(crate) fn in_order(changes: &mut [Change]) {
    changes.sort_by_key(|change| !find(&change.place.knob).is_some_and(|knob| setting::moves_others(&knob.locator)));
}

fn of_profile(root: &Root, space: &Space, profile: &Profile, site: Option<Site>, found: &mut Found) {
    let snapshot = snapshot(root, space);
    let site = site.unwrap_or_else(|| site_of(&snapshot));
    let rows = profile.picks.iter().filter_map(|pick| Some((pick, knobs::find(pick.knob)?)));
    for (pick, row) in rows {
        let settings = snapshot.settings.iter().filter(|setting| setting.place.knob == row.knob.id);
        for setting in settings {
            if let Some(left) = without_effect(pick, &row.knob, &snapshot, setting) {
                found.left_out.push((setting.place.clone(), left));
                continue;
            }
            let by_hand = found.changes.iter().any(|change| change.place == setting.place);
            if let Some((new, why)) = wanted(pick, row, &snapshot, &site, setting).filter(|_| !by_hand) {
                judged(root, &row.knob, setting, new, why, found);
            }
        }
    }
}

/// What a profile wants of a setting that this kernel has and ignores, and since when; `None` where it does not, or it
/// is so already.
fn without_effect(pick: &Pick, knob: &Knob, snapshot: &Snapshot, setting: &Setting) -> Option<String> {
    let (Value::Literal(new), Some(prior)) = (pick.value, &setting.value) else { return None };
    if works(knob, snapshot) || same(&knob.locator, prior, new) {
        return None;
    }
    let since = knob.until.map_or_else(String::new, |(major, minor)| format!(" since Linux {major}.{minor}"));
    Some(format!("{prior:?}, {new:?} wanted: the kernel ignores it{since}"))
}

fn wanted(pick: &Pick, row: &Row, snapshot: &Snapshot, site: &Site, setting: &Setting) -> Option<(String, String)> {
    match pick.value {
        Value::Literal(text) => Some((text.to_owned(), "the profile says so".to_owned())),
        Value::Advised => advise(row, snapshot, site, &setting.place).map(|advice| (advice.value, advice.why)),
    }
}

fn judged(root: &Root, knob: &'static Knob, setting: &Setting, new: String, why: String, found: &mut Found) {
    let Some(prior) = &setting.value else { return };
    if same(&knob.locator, prior, &new) {
        return;
    }
    match refusal(root, &find, &setting.place, &new) {
        Ok(knob) => found.changes.push(change(knob, setting.place.clone(), prior.clone(), &new, why)),
        Err(reason) => {
            let text = format!("{prior:?}, {new:?} wanted: {reason}");
            found.left_out.push((setting.place.clone(), text));
        }
    }
    debug_assert_eq!(setting.place.knob, knob.id);
}

fn change(knob: &Knob, place: Place, prior: String, new: &str, why: String) -> Change {
    let (scope, takes_effect, risk) = (knob.scope, knob.takes_effect, knob.risk.to_owned());
    Change { place, prior, new: new.to_owned(), scope, takes_effect, why, risk }
}

/// What advice needs of the machine: its devices and what it is made of, and its settings in these namespaces.
pub(crate) fn snapshot(root: &Root, space: &Space) -> Snapshot {
    let devices_only = Asked { knobs: &[], pids: &[], netns: None };
    let settings = setting::read_all(root, space, KNOBS.iter().map(|row| &row.knob));
    Snapshot { settings, ..linerate_host::snapshot(root, &devices_only) }
}

fn shown(root: &Root, set: &ChangeSet, left_out: &[(Place, String)]) -> String {
    let mut text = format!("{} changes for {}\n", set.changes.len(), set.profile);
    for change in &set.changes {
        let (place, prior, new) = (&change.place, &change.prior, &change.new);
        let _ = writeln!(text, "  {place}: {prior:?} → {new:?} ({}, {})", change.scope, change.takes_effect);
        let follow = find(&place.knob).map(|knob| setting::followers(root, knob, place, new)).unwrap_or_default();
        for (name, own, then) in follow {
            let _ = writeln!(text, "      moves with it: the MTU of {name}, {own} → {then}");
        }
        let _ = writeln!(text, "      why   {}", change.why);
        let _ = writeln!(text, "      risk  {}", change.risk);
    }
    if !left_out.is_empty() {
        let _ = writeln!(text, "{} settings differ and are not changed by linerate", left_out.len());
    }
    for (place, why) in left_out {
        let _ = writeln!(text, "  {place}: {why}");
    }
    text
}

/// Writes a file of changes, for its owner alone.
pub(crate) fn write(path: &Path, set: &ChangeSet) -> Result<(), Failure> {
    let failed = |source| Failure::File { what: "write", path: path.to_owned(), source };
    let text = serde_json::to_string_pretty(set).map_err(|error| failed(error.into()))?;
    named::write(path, format!("{text}\n").as_bytes(), 0o600)
}
