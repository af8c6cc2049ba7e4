//! Words of knobs, and what locators know of themselves.

use super::*;

#[test]
fn a_layer_is_called_the_same_in_text_and_in_json() {
    for layer in Layer::ALL {
        assert_eq!(serde_json::to_string(&layer).unwrap(), format!("\"{layer}\""));
    }
}

#[test]
fn settings_of_devices_know_their_class() {
    let cases = [
        (Locator::Sysctl { name: "vm.swappiness" }, None),
        (Locator::Sysfs { path: "block/{disk}/queue/scheduler" }, Some(DeviceClass::Disk)),
        (Locator::Sysfs { path: "class/net/{bond}/bonding/mode" }, Some(DeviceClass::Bond)),
        (Locator::Interrupts, Some(DeviceClass::Nic)),
        (Locator::MountOption { fs: "xfs", option: "noatime" }, Some(DeviceClass::Mount)),
    ];
    for (locator, class) in cases {
        assert_eq!(locator.device_class(), class, "{locator}");
    }
}
