//! How forecasts read.

use super::forecast::{HypotheticalSite, OperationCeiling};

/// The bottleneck, and where that is not everywhere.
pub(super) fn bottleneck(world: &HypotheticalSite, ceiling: &OperationCeiling) -> String {
    let what = ceiling.bottleneck.name();
    match (&world.odd, ceiling.group) {
        (Some(odd), Some(group)) if odd.group == group => {
            format!("{what}, of {}", odd.who())
        }
        (_, Some(group)) if world.site.groups.iter().filter(|group| group.count > 0).count() > 1 => {
            format!("{what}, of {}", world.site.groups[group].name)
        }
        _ => what.to_owned(),
    }
}
