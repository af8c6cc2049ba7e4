//! The changes that lead to a profile, or to values given.

use std::process::ExitCode;

use linerate_host::{Root, setting};
use linerate_record::knob::{Change, ChangeSet, SpaceIdentity};
use linerate_record::site::Site;
use linerate_report::tune::{Followers, planned, written};
use linerate_settings::profiles::Profile;

use super::flags::DiffFlags;
use crate::catalogue::{find, profile_named};
use crate::changes::{ByHand, all_by_hand, changes_to, stands, write};
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
    let (set, left_out) = changes_to(&root, &flags.place.space(), stood.as_ref(), (by_hand, profile, site))?;
    let mut text = planned(&set, &followers(&root, &set), &left_out, printing::columns());
    if let Some(path) = &flags.output {
        write(path, &set)?;
    }
    text.push_str(&written(flags.output.as_deref()));
    printing::print(&text)?;
    Ok(ExitCode::SUCCESS)
}

/// What moves with each change.
fn followers(root: &Root, set: &ChangeSet) -> Vec<Followers> {
    let of = |change: &Change| {
        let knob = find(&change.place.knob);
        knob.map(|knob| setting::followers(root, knob, &change.place, &change.new)).unwrap_or_default()
    };
    set.changes.iter().map(of).collect()
}
