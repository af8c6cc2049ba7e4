//! What changes of an application moved besides what they change: a later one finds there another value than was
//! planned, and nobody else has interfered.

use linerate_record::journal::CoupledSetting;
use linerate_record::knob::{DeviceClass, Knob, same};

use crate::setting;

/// A setting that an earlier change moved.
pub(super) struct SideEffect {
    pub(super) net: Option<u64>,
    /// The processor whose setting was changed: those of one policy share their files.
    pub(super) processor: Option<String>,
    /// Where it lives, and what it became.
    pub(super) coupled: CoupledSetting,
}

impl SideEffect {
    /// What a change of this setting moved.
    pub(super) fn new(
        knob: &Knob,
        device: Option<&str>,
        net: Option<u64>,
        became: &[CoupledSetting],
    ) -> Vec<SideEffect> {
        let is_processor = knob.locator.device_class() == Some(DeviceClass::Cpu);
        let processor = device.filter(|_| is_processor).map(str::to_owned);
        became
            .iter()
            .map(|coupled| SideEffect { net, processor: processor.clone(), coupled: coupled.clone() })
            .collect()
    }

    /// Whether it left this value in a setting of this device.
    pub(super) fn has_left(&self, knob: &Knob, device: Option<&str>, net: Option<u64>, now: &str) -> bool {
        let shared = self.processor.as_deref().filter(|_| knob.locator.device_class() == Some(DeviceClass::Cpu));
        let is_at = |device| setting::is_at(&self.coupled.locator, &knob.locator, device);
        let is_there = is_at(device) || (shared.is_some() && is_at(shared));
        self.net == net && is_there && same(&knob.locator, &self.coupled.value, now)
    }
}

#[cfg(test)]
mod tests {
    use linerate_record::journal::RecordedLocator;
    use linerate_record::knob::{Locator, Scope};

    use super::*;
    use crate::setting::tests::knob as row;

    fn knob(locator: Locator) -> Knob {
        row("x", locator, Scope::Device)
    }

    #[test]
    fn what_was_moved_is_known_by_its_place_its_namespace_and_its_value() {
        let governor = knob(Locator::Sysfs { path: "devices/system/cpu/{cpu}/cpufreq/scaling_governor" });
        let preference = "devices/system/cpu/{cpu}/cpufreq/energy_performance_preference";
        let depth = Locator::Sysfs { path: "block/{disk}/queue/nr_requests" };
        let file = |path: &str| RecordedLocator::Sysfs(path.to_owned());
        let depth_of_sda = file("block/sda/queue/nr_requests");
        let of_cpu0 = file("devices/system/cpu/cpu0/cpufreq/energy_performance_preference");
        let sysctl = |name: &str| RecordedLocator::Sysctl(name.to_owned());
        let mtu_of_eth0 = file("class/net/eth0/mtu");
        let cases = [
            (&depth_of_sda, depth, Some("sda"), true),
            (&depth_of_sda, depth, Some("sdb"), false),
            (&depth_of_sda, depth, None, false),
            (&mtu_of_eth0, Locator::Mtu, Some("eth0"), true),
            (&mtu_of_eth0, Locator::Mtu, Some("eth1"), false),
            (&of_cpu0, Locator::Sysfs { path: preference }, Some("cpu0"), true),
            // Of one policy, or else its value is another.
            (&of_cpu0, Locator::Sysfs { path: preference }, Some("cpu1"), true),
            (&of_cpu0, governor.locator, Some("cpu0"), false),
            (&sysctl("vm.dirty_ratio"), Locator::Sysctl { name: "vm.dirty_ratio" }, None, true),
            (&sysctl("vm.dirty_ratio"), Locator::Sysctl { name: "vm.dirty_bytes" }, None, false),
        ];
        for (recorded, locator, device, expected) in cases {
            let became = [CoupledSetting { locator: recorded.clone(), value: "7".to_owned() }];
            let moved = SideEffect::new(&governor, Some("cpu0"), Some(1), &became);
            let other = knob(locator);
            let has_left = |net, now| moved[0].has_left(&other, device, net, now);
            assert_eq!(has_left(Some(1), "7"), expected, "{recorded:?} {:?} {device:?}", other.locator);
            assert!(!has_left(Some(2), "7") && !has_left(None, "7") && !has_left(Some(1), "8"), "{recorded:?}");
        }
    }
}
