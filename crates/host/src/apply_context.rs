//! Where changes are made.

use linerate_record::knob::Knob;

use crate::journal::JournalFolder;
use crate::root::Root;

/// Where changes are made, and by which catalogue.
#[derive(Clone, Copy)]
pub struct ApplyContext<'a> {
    pub root: &'a Root,
    pub state: &'a JournalFolder,
    /// The row of an id.
    pub find: &'a dyn Fn(&str) -> Option<&'static Knob>,
}
