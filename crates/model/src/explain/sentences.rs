//! How forecasts read.

use linerate_record::plan::Resource;

use super::forecast::{HypotheticalSite, OperationCeiling};

/// The bottleneck, and where that is not everywhere.
pub(super) fn bottleneck(world: &HypotheticalSite, ceiling: &OperationCeiling) -> String {
    resource_in_words(world, ceiling.bottleneck, ceiling.group)
}

/// The same of any resource.
pub(super) fn resource_in_words(world: &HypotheticalSite, resource: Resource, group: Option<usize>) -> String {
    let what = resource.name();
    match (&world.outlier, group) {
        (Some(outlier), Some(group)) if outlier.group == group => {
            format!("{what}, of {}", outlier.who())
        }
        (_, Some(group)) if world.site.groups.iter().filter(|group| group.count > 0).count() > 1 => {
            format!("{what}, of {}", world.site.groups[group].name)
        }
        _ => what.to_owned(),
    }
}
