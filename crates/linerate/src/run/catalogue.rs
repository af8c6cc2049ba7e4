//! The catalogue of settings and of profiles, by their names.

use linerate_record::knob::Knob;
use linerate_settings::knobs::{self, KNOBS};
use linerate_settings::profiles::{self, PROFILES, Profile};

use crate::terminal::failure::Failure;

/// Every knob of the catalogue, as it is read.
pub(crate) fn knobs() -> Vec<&'static Knob> {
    KNOBS.iter().map(|row| &row.knob).collect()
}

/// The knob of an id.
pub(crate) fn find(id: &str) -> Option<&'static Knob> {
    knobs::find(id).map(|row| &row.knob)
}

/// The profile of a name.
pub(crate) fn profile_named(name: &str) -> Result<&'static Profile, Failure> {
    profiles::find(name).ok_or_else(|| {
        let names: Vec<&str> = PROFILES.iter().map(|profile| profile.name).collect();
        Failure::usage(format!("there is no profile {name:?}: there are {}", names.join(", ")))
    })
}
