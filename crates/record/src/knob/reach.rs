//! Where a knob can be set.

use super::{DeviceClass, Knob, Scope, Space};

/// Whether a knob has a value of its own in a space, so that it can be set there: an audit, a change and an experiment
/// ask this alone. A named network namespace has interfaces of its own, and those of a process's are taken to be a
/// pod's, which whoever made them sets.
#[must_use]
pub fn reaches(knob: &Knob, space: &Space) -> bool {
    match (space, knob.scope) {
        (Space::Host, _) | (_, Scope::NetworkNamespace | Scope::Process) => true,
        (Space::Netns(_), Scope::Device) => knob.locator.device_class() == Some(DeviceClass::Nic),
        _ => false,
    }
}
