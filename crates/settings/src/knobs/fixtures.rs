//! For tests of rows: what a row advises on the node of the example, and changes of that node.

use linerate_record::knob::{Setting, SettingId, Snapshot};
use linerate_record::site::Site;

use super::advise;
pub(crate) use super::example::{machine, place_of, site};

/// The place of a knob on [`machine`].
pub(crate) fn place(id: &str, device: Option<&str>) -> SettingId {
    place_of(super::find(id).expect(id), device)
}

/// Makes a setting read as a value.
pub(crate) fn set(snapshot: &mut Snapshot, id: &str, device: Option<&str>, value: &str) {
    put(snapshot, place(id, device), value, &[]);
}

/// Makes a setting read as a value among choices.
pub(crate) fn set_among(snapshot: &mut Snapshot, id: &str, device: &str, value: &str, choices: &[&str]) {
    put(snapshot, place(id, Some(device)), value, choices);
}

fn put(snapshot: &mut Snapshot, place: SettingId, value: &str, choices: &[&str]) {
    snapshot.settings.retain(|setting| setting.place != place);
    let choices = choices.iter().map(|&choice| choice.to_owned()).collect();
    snapshot.settings.push(Setting { place, value: Some(value.to_owned()), choices, missing: None });
}

pub(crate) fn set_bond_mode(snapshot: &mut Snapshot, mode: &str) {
    for bond in snapshot.machine.nics.iter_mut().filter_map(|nic| nic.bond.as_mut()) {
        mode.clone_into(&mut bond.mode);
    }
}

/// Gives the two ports of the bond a speed in Gb/s.
pub(crate) fn set_port_speeds(snapshot: &mut Snapshot, gbit: u64) {
    for nic in snapshot.machine.nics.iter_mut().filter(|nic| nic.name.starts_with("ens1f")) {
        nic.speed_bits_per_s = Some(gbit * 1_000_000_000);
    }
}

fn value(id: &str, snapshot: &Snapshot, site: &Site, device: Option<&str>) -> Option<String> {
    advise(super::find(id).expect(id), snapshot, site, &place(id, device)).map(|advice| advice.value)
}

/// The value that is advised for a knob on a machine of [`site`].
pub(crate) fn advised(id: &str, snapshot: &Snapshot) -> Option<String> {
    value(id, snapshot, &site(), None)
}

/// The same, at another site.
pub(crate) fn advised_at_site(id: &str, snapshot: &Snapshot, site: &Site) -> Option<String> {
    value(id, snapshot, site, None)
}

/// The same, for a device.
pub(crate) fn advised_for(id: &str, snapshot: &Snapshot, device: &str) -> Option<String> {
    value(id, snapshot, &site(), Some(device))
}

/// The same, for a device at another site.
pub(crate) fn advised_on(id: &str, snapshot: &Snapshot, site: &Site, device: &str) -> Option<String> {
    value(id, snapshot, site, Some(device))
}

/// The same, where the setting reads as a value now.
pub(crate) fn advised_at(id: &str, snapshot: &Snapshot, now: &str) -> Option<String> {
    advised_among(id, snapshot, now, &[])
}

/// The same, with the values that the setting can have.
pub(crate) fn advised_among(id: &str, snapshot: &Snapshot, now: &str, choices: &[&str]) -> Option<String> {
    let mut snapshot = snapshot.clone();
    put(&mut snapshot, place(id, None), now, choices);
    advised(id, &snapshot)
}

pub(crate) fn number(advised: Option<String>) -> u64 {
    advised.expect("advice").parse().expect("a number")
}
