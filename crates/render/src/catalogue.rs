//! What the catalogue of settings advises for machines and components of Kubernetes, with what source 000 sets beside
//! it.

use linerate_record::knob::{Locator, SettingId, Space};
use linerate_record::site::{NodeGroup, Site};
use linerate_settings::knobs::{KNOBS, KnobRow, advise, find};
use linerate_settings::profiles::{self, Value};

use crate::expected_machine::expected_machine_for;

/// The profile of storage nodes.
pub(crate) const PROFILE: &str = "s3-storage-node";

/// The knobs of that profile.
pub(crate) fn of_profile() -> impl Iterator<Item = &'static KnobRow> {
    profiles::find(PROFILE).into_iter().flat_map(|profile| profile.picks).filter_map(|pick| find(pick.knob))
}

/// What the first source sets in a cluster and on its machines, value for value.
const SOURCE: [&str; 3] = ["source-000-kubernetes", "source-000-cilium", "source-000-os"];

/// What the first source sets on machines a second time, by `TuneD`, with some other values.
const SOURCE_TUNED: &str = "source-000-tuned";

/// A knob, and the one by which the first source sets the same: the kernel keeps one of the two.
const COUNTERPARTS: [(&str, &str); 2] =
    [("vm.dirty_bytes", "vm.dirty_ratio"), ("vm.dirty_background_bytes", "vm.dirty_background_ratio")];

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
    KNOBS.iter().filter(of_component).filter_map(|row| component_setting(site, group, row)).collect()
}

/// What is advised for a knob.
pub(crate) fn setting(site: &Site, group: &NodeGroup, knob: &str) -> Option<ComponentSetting> {
    component_setting(site, group, find(knob)?)
}

fn component_setting(site: &Site, group: &NodeGroup, row: &KnobRow) -> Option<ComponentSetting> {
    let (Locator::Component { key, .. } | Locator::MountOption { option: key, .. }) = row.knob.locator else {
        return None;
    };
    let (value, why) = advised(site, group, row)?;
    Some(ComponentSetting { key, value, why: reason(row.knob.id, &why) })
}

/// A value and its reason, as the row advises them.
pub(crate) fn advised(site: &Site, group: &NodeGroup, row: &KnobRow) -> Option<(String, String)> {
    let place = SettingId { knob: row.knob.id.to_owned(), device: None, space: Space::Host };
    let advice = advise(row, &expected_machine_for(group), site, &place)?;
    Some((advice.value, advice.why))
}

/// A reason that names its knob, and what source 000 sets.
pub(crate) fn reason(knob: &str, why: &str) -> String {
    let source = source(knob).map(|source| format!(" Source 000: {source}.")).unwrap_or_default();
    format!("{knob}: {why}.{source}")
}

/// What source 000 sets.
pub(crate) fn source(knob: &str) -> Option<String> {
    let counterpart = || COUNTERPARTS.iter().find(|(ours, _)| *ours == knob);
    set_by_source(knob)
        .or_else(|| counterpart().and_then(|(_, theirs)| Some(format!("{theirs} = {}", set_by_source(theirs)?))))
}

fn set_by_source(knob: &str) -> Option<String> {
    let literal = |profile: &str| match profiles::find(profile)?.pick(knob)?.value {
        Value::Literal(value) => Some(value),
        Value::Advised => None,
    };
    match (SOURCE.into_iter().find_map(literal), literal(SOURCE_TUNED)) {
        (Some(one), Some(other)) if one != other => Some(format!("{one}, {other} by TuneD")),
        (one, other) => one.or(other).map(str::to_owned),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_source_sets_is_told_by_whatever_knob_and_tool_it_does() {
        for (knob, expected) in [
            ("kubelet.qps", Some("150")),
            ("vm.swappiness", Some("0")),
            ("vm.dirty_bytes", Some("vm.dirty_ratio = 10")),
            ("vm.dirty_background_bytes", Some("vm.dirty_background_ratio = 3")),
            ("net.core.somaxconn", Some("16384")),
            ("net.ipv4.tcp_fin_timeout", Some("20")),
            ("net.ipv4.tcp_max_syn_backlog", Some("16384, 65535 by TuneD")),
            ("net.ipv4.tcp_keepalive_time", None),
        ] {
            assert_eq!(source(knob).as_deref(), expected, "{knob}");
        }
    }
}
