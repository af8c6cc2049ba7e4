//! The changes that lead to a profile, or to values given.

use std::process::ExitCode;

use linerate_host::apply::machine_hash;
use linerate_host::{Root, setting};
use linerate_record::knob::{CHANGES_SCHEMA, Change, ChangeSet, Space, SpaceIdentity};
use linerate_record::site::Site;
use linerate_report::tune::{Followers, planned, written};
use linerate_settings::profiles::Profile;

use super::flags::DiffFlags;
use crate::catalogue::{find, profile_named};
use crate::changes::{ByHand, ProfileChanges, at_odds, by_hand, in_order, of_profile, spaces, stands, write};
use crate::failure::Failure;
use crate::{captured, printing, sites};

/// The profile where neither one nor values are named.
const PROFILE: &str = "s3-storage-node";

/// What is wrong with what the flags name.
pub(super) fn check(flags: &DiffFlags) -> Result<(), Failure> {
    asked(flags).map(|_| ())
}

/// What the flags ask for.
struct Wanted {
    root: Root,
    /// What stood behind the space before anything was read there.
    stood: Option<SpaceIdentity>,
    by_hand: Vec<ByHand>,
    profile: Option<&'static Profile>,
    site: Option<Site>,
}

/// What the flags ask for; all that is wrong with it is told at once.
fn asked(flags: &DiffFlags) -> Result<Wanted, Failure> {
    let (root, space) = (captured::root(flags.place.root.as_deref()), flags.place.space());
    let stood = root.as_ref().map_or(Ok(None), |root| stands(root, &space));
    // In a place that is none, there is nothing to be wrong with a value.
    let by_hand = match (&root, &stood) {
        (Ok(root), Ok(_)) => all_by_hand(root, &space, &flags.set),
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
        path => path.map(sites::read_site).transpose(),
    };
    match (root, stood, profile, site, by_hand) {
        (Ok(root), Ok(stood), Ok(profile), Ok(site), Ok(by_hand)) => Ok(Wanted { root, stood, by_hand, profile, site }),
        (root, stood, profile, site, by_hand) => {
            Err(Failure::all_of([root.err(), stood.err(), profile.err(), site.err(), by_hand.err()]))
        }
    }
}

pub(super) fn run(flags: &DiffFlags) -> Result<ExitCode, Failure> {
    let Wanted { root, stood, by_hand, profile, site } = asked(flags)?;
    let space = flags.place.space();
    let changes = by_hand.iter().filter_map(|given| given.change.clone()).collect();
    let mut found = ProfileChanges { by_hand, changes, left_out: Vec::new() };
    if let Some(profile) = profile {
        of_profile(&root, &space, profile, site, &mut found);
    }
    in_order(&mut found.changes);
    let name = profile.map_or("values by hand", |profile| profile.name);
    let spaces = spaces(&root, &found.changes)?;
    if spaces.iter().any(|now| now.space == space) && stood != stands(&root, &space)? {
        return Err(Failure::usage("the process or namespace was replaced while it was read: try again"));
    }
    let machine = machine_hash(&root)?;
    let set = ChangeSet { schema: CHANGES_SCHEMA, machine, profile: name.to_owned(), changes: found.changes, spaces };
    let mut text = planned(&set, &followers(&root, &set), &found.left_out, printing::columns());
    if let Some(path) = &flags.output {
        write(path, &set)?;
    }
    text.push_str(&written(flags.output.as_deref()));
    printing::print(&text)?;
    Ok(ExitCode::SUCCESS)
}

/// The values given by hand; all that is wrong with them is told at once.
fn all_by_hand(root: &Root, space: &Space, given: &[String]) -> Result<Vec<ByHand>, Failure> {
    let (mut seen, mut mistakes): (Vec<ByHand>, _) = (Vec::new(), Vec::new());
    for text in given {
        match by_hand(root, space, text, false) {
            Ok(value) if seen.iter().any(|before| before.place == value.place) => {
                mistakes.push(format!("invalid change {text:?}: {} is already set: set each one once", value.place));
            }
            Ok(value) => seen.push(value),
            Err(failure) => mistakes.extend(failure.mistakes()),
        }
    }
    mistakes.extend(at_odds(seen.iter().map(|given| (&given.place, given.value.as_str()))));
    if mistakes.is_empty() { Ok(seen) } else { Err(Failure::of_mistakes(mistakes)) }
}

/// What moves with each change.
fn followers(root: &Root, set: &ChangeSet) -> Vec<Followers> {
    let of = |change: &Change| {
        let knob = find(&change.place.knob);
        knob.map(|knob| setting::followers(root, knob, &change.place, &change.new)).unwrap_or_default()
    };
    set.changes.iter().map(of).collect()
}
