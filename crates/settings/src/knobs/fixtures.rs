//! For tests of rows: rows asked about the node of the example, and changes of it.

use linerate_record::knob::{Setting, SettingPlace, Snapshot};
use linerate_record::site::Site;

pub(crate) use super::example::{machine, place_of, site};
use super::{KnobRow, advise};

/// Makes a setting read as a value.
pub(crate) fn set(snapshot: &mut Snapshot, row: &KnobRow, device: Option<&str>, value: &str) {
    put(snapshot, place_of(row, device), value, &[]);
}

/// Makes a setting read as a value among choices.
pub(crate) fn set_among(snapshot: &mut Snapshot, row: &KnobRow, device: &str, value: &str, choices: &[&str]) {
    put(snapshot, place_of(row, Some(device)), value, choices);
}

fn put(snapshot: &mut Snapshot, place: SettingPlace, value: &str, choices: &[&str]) {
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

fn value(row: &KnobRow, snapshot: &Snapshot, site: &Site, place: &SettingPlace) -> Option<String> {
    advise(row, snapshot, site, place).map(|advice| advice.value)
}

/// What a row advises on a machine of [`site`].
pub(crate) fn advised(row: &KnobRow, snapshot: &Snapshot) -> Option<String> {
    value(row, snapshot, &site(), &place_of(row, None))
}

/// The same, of another site.
pub(crate) fn advised_of(row: &KnobRow, snapshot: &Snapshot, site: &Site) -> Option<String> {
    value(row, snapshot, site, &place_of(row, None))
}

/// The same, of a device.
pub(crate) fn advised_for(row: &KnobRow, snapshot: &Snapshot, device: &str) -> Option<String> {
    value(row, snapshot, &site(), &place_of(row, Some(device)))
}

/// The same, of a device at another site.
pub(crate) fn advised_on(row: &KnobRow, snapshot: &Snapshot, site: &Site, device: &str) -> Option<String> {
    value(row, snapshot, site, &place_of(row, Some(device)))
}

/// The same, where the setting reads as a value now.
pub(crate) fn advised_at(row: &KnobRow, snapshot: &Snapshot, now: &str) -> Option<String> {
    advised_among(row, snapshot, now, &[])
}

/// The same, with what the setting can be.
pub(crate) fn advised_among(row: &KnobRow, snapshot: &Snapshot, now: &str, choices: &[&str]) -> Option<String> {
    let mut snapshot = snapshot.clone();
    put(&mut snapshot, place_of(row, None), now, choices);
    advised(row, &snapshot)
}

/// An advised number.
pub(crate) fn number(advised: Option<String>) -> u64 {
    advised.expect("advice").parse().expect("a number")
}
