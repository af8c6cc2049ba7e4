//! Settings that are not as the profile wants them.

use linerate_record::audit::Difference;
use linerate_record::knob::{Setting, Snapshot, same};
use linerate_record::site::Site;

use super::{command, weight};
use crate::knobs::{self, Row, reaches, works};
use crate::profiles::{Pick, Profile, Value};

/// What a profile wants of a setting that was read, and why; `None` where it wants nothing.
pub(super) fn wanted(
    snapshot: &Snapshot,
    site: &Site,
    row: &Row,
    pick: &Pick,
    setting: &Setting,
) -> Option<(String, String)> {
    match pick.value {
        Value::Advised => {
            let advice = knobs::advise(row, snapshot, site, &setting.place)?;
            Some((advice.value, advice.why))
        }
        Value::Literal(value) if works(&row.knob, snapshot) && reaches(&row.knob, &setting.place.space) => {
            Some((value.to_owned(), "the source has this value".to_owned()))
        }
        Value::Literal(_) => None,
    }
}

/// Differences, the weightiest first; devices with the same difference are one.
pub(super) fn differences(snapshot: &Snapshot, site: &Site, profile: &Profile) -> Vec<Difference> {
    let mut found: Vec<Difference> = Vec::new();
    for setting in &snapshot.settings {
        let pick = profile.picks.iter().find(|pick| pick.knob == setting.place.knob);
        let (Some(present), Some(pick), Some(row)) = (&setting.value, pick, knobs::find(&setting.place.knob)) else {
            continue;
        };
        let Some((value, why)) = wanted(snapshot, site, row, pick, setting) else { continue };
        if same(&row.knob.locator, present, &value) {
            continue;
        }
        let is_same = |other: &&mut Difference| {
            let same_values = other.present == *present && other.wanted == value;
            other.knob == row.knob.id && other.space == setting.place.space && same_values
        };
        match found.iter_mut().find(is_same) {
            Some(other) => other.devices.extend(setting.place.device.clone()),
            None => found.push(difference(snapshot, row, pick, setting, (present, value, why))),
        }
    }
    for difference in &mut found {
        if let Some(row) = knobs::find(&difference.knob) {
            difference.commands = command::commands(row, difference);
        }
    }
    found.sort_by(|a, b| b.weight.total_cmp(&a.weight));
    found
}

fn difference(
    snapshot: &Snapshot,
    row: &Row,
    pick: &Pick,
    setting: &Setting,
    (present, wanted, why): (&str, String, String),
) -> Difference {
    let knob = &row.knob;
    let confidence = weight::confidence(snapshot, knob.scope, &setting.place.space, pick.value);
    Difference {
        knob: knob.id.to_owned(),
        space: setting.place.space.clone(),
        devices: setting.place.device.iter().cloned().collect(),
        present: present.to_owned(),
        wanted,
        why,
        relieves: knob.relieves.to_owned(),
        weight: weight::of_relief(knob.relieves) * weight::of_confidence(confidence),
        confidence,
        scope: knob.scope,
        takes_effect: knob.takes_effect,
        risk: knob.risk.to_owned(),
        commands: Vec::new(),
    }
}
