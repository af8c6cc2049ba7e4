//! Settings that are not as the profile wants them.

use linerate_record::audit::Difference;
use linerate_record::knob::Snapshot;
use linerate_record::site::Site;

use super::{command, cost};
use crate::change_plan::{Applicability, DifferingSetting, changes};
use crate::knobs;
use crate::profiles::Profile;

/// Why, where the profile is a source's and has the value itself.
const OF_SOURCE: &str = "the source has this value";

/// Differences, the weightiest first; devices with the same difference are one.
pub(super) fn differences(snapshot: &Snapshot, site: &Site, profile: &Profile) -> Vec<Difference> {
    let mut found: Vec<Difference> = Vec::new();
    let acts = |differing: &DifferingSetting<'_>| differing.effect == Applicability::Acts;
    for differing in changes(snapshot, site, profile).into_iter().filter(acts) {
        let place = &differing.setting.place;
        let is_same = |other: &&mut Difference| {
            let same_values = other.present == differing.present && other.wanted == differing.wanted.value;
            other.knob == place.knob && other.space == place.space && same_values
        };
        match found.iter_mut().find(is_same) {
            Some(other) => other.devices.extend(place.device.clone()),
            None => found.push(difference(snapshot, differing)),
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

fn difference(snapshot: &Snapshot, differing: DifferingSetting<'_>) -> Difference {
    let DifferingSetting { row, setting, present, wanted, .. } = differing;
    let (knob, place) = (&row.knob, &setting.place);
    let is_sure = wanted.why.is_some() && !wanted.is_uncertain;
    let confidence = cost::confidence(snapshot, knob.scope, &place.space, is_sure);
    Difference {
        knob: knob.id.to_owned(),
        space: place.space.clone(),
        devices: place.device.iter().cloned().collect(),
        present: present.to_owned(),
        wanted: wanted.value,
        why: wanted.why.unwrap_or_else(|| OF_SOURCE.to_owned()),
        relieves: knob.relieves.to_owned(),
        weight: cost::relief_weight(knob.relief) * cost::confidence_weight(confidence),
        confidence,
        scope: knob.scope,
        takes_effect: knob.takes_effect,
        risk: knob.risk.to_owned(),
        commands: Vec::new(),
        not_in_changes: None,
    }
}
