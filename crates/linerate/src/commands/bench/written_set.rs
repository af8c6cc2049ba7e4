//! What a run wrote of a set, as far as the target said.

use linerate_analysis::findings::ConfirmedSet;
use linerate_record::load::Sizes;

/// Objects of a set that may exist at the target.
pub(super) struct WrittenSet {
    pub(super) set: u32,
    pub(super) sizes: Sizes,
    /// What the target said of them.
    pub(super) confirmed: ConfirmedSet,
    /// Numbers of some that it said that it stored, and that no request deletes; empty where none are known.
    pub(super) sample: Vec<u64>,
    /// Whether it was compared with what the target shows.
    pub(super) is_checked: bool,
}
