//! The catalogue of knobs: what each setting is, and what this machine and this site want of it.
//!
//! A table a layer, or a subject within it. A row is data; where its advice is not the same for every machine, a pure
//! function next to the table computes it from the snapshot and the site, and a machine that follows it is advised
//! nothing else. Nothing here reads or writes a setting.

mod block;
mod bond;
mod boot;
mod cni;
mod conntrack;
mod cpu;
mod dns;
mod example;
pub(crate) mod facts;
#[cfg(test)]
pub(crate) mod fixtures;
mod fs;
mod kernel;
mod kubernetes;
mod limits;
pub mod manual;
mod names;
mod net;
mod nic;
mod table;
#[cfg(test)]
mod tests;
mod vm;

use linerate_record::knob::{Advice, Knob, Scope, SettingId, Snapshot, Space, reaches};
use linerate_record::site::Site;

pub use names::{called, find, nearest};
pub use table::KNOBS;

/// What a row advises.
#[derive(Clone, Copy, Debug)]
pub enum Advise {
    /// Nothing: the knob is only reported.
    Nothing,
    /// The same value for every machine, and the reason.
    Constant(&'static str, &'static str),
    /// What follows from the machine, the site and the place; `None` where nothing does.
    Computed(fn(&Snapshot, &Site, &SettingId) -> Option<Advice>),
}

/// A knob and its advice.
#[derive(Clone, Copy, Debug)]
pub struct KnobRow {
    pub knob: Knob,
    /// Its advice alone, without the conditions that [`advise`] checks first.
    pub advise: Advise,
}

/// What is advised for a place: nothing where the machine's kernel does not have the knob, where it belongs to somebody
/// else, where it cannot be set in that namespace, where it is of a device that the snapshot does not describe since it
/// is in another one, or where the row has nothing to say.
#[must_use]
pub fn advise(row: &KnobRow, snapshot: &Snapshot, site: &Site, place: &SettingId) -> Option<Advice> {
    let knob = &row.knob;
    let is_described = knob.scope != Scope::Device || place.space == Space::Host;
    if knob.owned_by.is_some() || !works(knob, snapshot) || !reaches(knob, &place.space) || !is_described {
        return None;
    }
    match row.advise {
        Advise::Nothing => None,
        Advise::Constant(value, why) => facts::advice(value, why),
        Advise::Computed(advise) => advise(snapshot, site, place),
    }
}

/// Whether the machine's kernel has the knob; a kernel that is not known is taken to.
#[must_use]
pub fn works(knob: &Knob, snapshot: &Snapshot) -> bool {
    facts::kernel(snapshot).is_none_or(|kernel| {
        knob.since.is_none_or(|since| kernel >= since) && knob.until.is_none_or(|until| kernel < until)
    })
}
