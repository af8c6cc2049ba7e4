//! The changes that lead to a profile, or to values given.

use std::process::ExitCode;

use linerate_host::{Root, setting};
use linerate_record::knob::{Change, ChangeSet, SpaceIdentity};
use linerate_report::tune::{Followers, PlannedChanges, planned, written};
use linerate_settings::audit::relief_weight;

use super::flags::DiffFlags;
use crate::files::{captured_machine, site_file};
use crate::run::catalogue::{find, profile_named};
use crate::run::wanted_changes::{WantedValues, all_manual_values, changes_to, space_identity, write};
use crate::terminal::failure::Failure;
use crate::terminal::printing;

/// The profile where neither one nor values are named.
const PROFILE: &str = "s3-storage-node";

/// What is wrong with what the flags name.
pub(super) fn check(flags: &DiffFlags) -> Result<(), Failure> {
    wanted_state(flags).map(|_| ())
}

/// What the flags ask for.
struct WantedState {
    root: Root,
    /// What stood behind the space before anything was read there.
    space_before: Option<SpaceIdentity>,
    values: WantedValues,
}

/// What the flags ask for; all that is wrong with it is told at once.
fn wanted_state(flags: &DiffFlags) -> Result<WantedState, Failure> {
    let (root, space) = (captured_machine::root(flags.place.root.as_deref()), flags.place.space());
    let space_before = root.as_ref().map_or(Ok(None), |root| space_identity(root, &space));
    // In a place that is none, there is nothing to be wrong with a value.
    let by_hand = match (&root, &space_before) {
        (Ok(root), Ok(_)) => all_manual_values(root, &space, &flags.set),
        _ => Ok(Vec::new()),
    };
    let name = flags.profile.as_deref().or(flags.set.is_empty().then_some(PROFILE));
    let profile = name.map(profile_named).transpose();
    let site = match flags.site.as_deref() {
        Some(path) if name.is_none() => Err(Failure::usage(format!(
            "--site {} is what values of a profile follow from, and --set alone has none: give --profile, or drop \
             --site",
            path.display()
        ))),
        path => path.map(site_file::read_site).transpose(),
    };
    match (root, space_before, profile, site, by_hand) {
        (Ok(root), Ok(space_before), Ok(profile), Ok(site), Ok(by_hand)) => {
            Ok(WantedState { root, space_before, values: WantedValues { by_hand, profile, site } })
        }
        (root, space_before, profile, site, by_hand) => {
            Err(Failure::combine([root.err(), space_before.err(), profile.err(), site.err(), by_hand.err()]))
        }
    }
}

pub(super) fn run(flags: &DiffFlags) -> Result<ExitCode, Failure> {
    let WantedState { root, space_before, values } = wanted_state(flags)?;
    let (set, left_out) = changes_to(&root, &flags.place.space(), space_before.as_ref(), values)?;
    if let Some(path) = &flags.output {
        write(path, &set)?;
    }
    let weights: Vec<f64> = set.changes.iter().map(|change| weight(&change.place.knob)).collect();
    let (followers, end) = (followers(&root, &set), written(flags.output.as_deref()));
    let of = PlannedChanges { set: &set, followers: &followers, weights: &weights, left_out: &left_out };
    printing::print(&planned(of, &end, flags.all, printing::columns()))?;
    Ok(ExitCode::SUCCESS)
}

/// How much a change of a knob weighs: as the resource that it relieves does.
pub(super) fn weight(knob: &str) -> f64 {
    find(knob).map_or(0.0, |knob| relief_weight(knob.relief))
}

/// What moves with each change.
fn followers(root: &Root, set: &ChangeSet) -> Vec<Followers> {
    let followers_of = |change: &Change| {
        let knob = find(&change.place.knob);
        knob.map(|knob| setting::followers(root, knob, &change.place, &change.new)).unwrap_or_default()
    };
    set.changes.iter().map(followers_of).collect()
}
