//! What the catalogue of settings advises for components of Kubernetes, with what source 000 sets beside it.

use linerate_record::knob::{Locator, SettingPlace, Space};
use linerate_record::site::{NodeGroup, Site};
use linerate_settings::knobs::{KNOBS, KnobRow, advise, find};
use linerate_settings::profiles::{self, Value};

use crate::expected::machine_of;

/// What the first source sets in a cluster, value for value.
const SOURCE: [&str; 2] = ["source-000-kubernetes", "source-000-cilium"];

/// A setting of a component.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ComponentSetting {
    /// The component's own name of it.
    pub(crate) key: &'static str,
    pub(crate) value: String,
    /// The knob, its reason, and what the source sets.
    pub(crate) why: String,
}

/// What is advised for a component on machines of a kind, in the order of the catalogue.
pub(crate) fn settings(site: &Site, group: &NodeGroup, component: &str) -> Vec<ComponentSetting> {
    let of_component = |row: &&'static KnobRow| match row.knob.locator {
        Locator::Component { component: name, .. } => name == component,
        _ => false,
    };
    KNOBS.iter().filter(of_component).filter_map(|row| setting_of(site, group, row)).collect()
}

/// What is advised for a knob.
pub(crate) fn setting(site: &Site, group: &NodeGroup, knob: &str) -> Option<ComponentSetting> {
    setting_of(site, group, find(knob)?)
}

fn setting_of(site: &Site, group: &NodeGroup, row: &KnobRow) -> Option<ComponentSetting> {
    let (Locator::Component { key, .. } | Locator::MountOption { option: key, .. }) = row.knob.locator else {
        return None;
    };
    let (value, why) = advised(site, group, row)?;
    Some(ComponentSetting { key, value, why: reason(row.knob.id, &why) })
}

/// A value and its reason, as the row advises them.
pub(crate) fn advised(site: &Site, group: &NodeGroup, row: &KnobRow) -> Option<(String, String)> {
    let place = SettingPlace { knob: row.knob.id.to_owned(), device: None, space: Space::Host };
    let advice = advise(row, &machine_of(group), site, &place)?;
    Some((advice.value, advice.why))
}

/// A reason that names its knob, and what source 000 sets.
pub(crate) fn reason(knob: &str, why: &str) -> String {
    let source = source(knob).map(|source| format!(" Source 000: {source}.")).unwrap_or_default();
    format!("{knob}: {why}.{source}")
}

/// What source 000 sets.
pub(crate) fn source(knob: &str) -> Option<&'static str> {
    SOURCE.iter().find_map(|profile| match profiles::find(profile)?.pick(knob)?.value {
        Value::Literal(value) => Some(value),
        Value::Advised => None,
    })
}
