//! Changes of later applications over those of an earlier one: what they keep is not to be rolled back with it.

use super::ApplyContext;
use crate::journal::{JournalContent, Made};

use linerate_record::journal::RollbackOutcome;

/// For each change of an application, the newest later one that has made a change of the same setting and was not
/// rolled back, whatever the value is. A journal that cannot be read keeps nothing. Nothing is begun over what waits.
pub(super) fn later_setters(apply_context: &ApplyContext<'_>, reported: &JournalContent) -> Vec<Option<String>> {
    let mut setters = vec![None; reported.made.len()];
    let ids = if reported.is_pending() { Vec::new() } else { apply_context.state.ids().unwrap_or_default() };
    for id in ids.into_iter().rev().take_while(|id| *id > reported.begin.id) {
        let Ok(later) = apply_context.state.read(&id) else { continue };
        // A boot rolls back what was set before it.
        if (&later.begin.boot, &later.begin.root) != (&reported.begin.boot, &reported.begin.root) {
            continue;
        }
        for (setter, made) in setters.iter_mut().zip(&reported.made).filter(|(setter, _)| setter.is_none()) {
            if later.made.iter().any(|other| keeps(other, made)) {
                *setter = Some(id.clone());
            }
        }
    }
    setters
}

/// Whether a change is of the same setting as another, and there.
fn keeps(other: &Made, made: &Made) -> bool {
    let is_rolled_back = matches!(other.rolled_back, Some(RollbackOutcome::Restored | RollbackOutcome::Already));
    other.change.place == made.change.place && other.net == made.net && other.became.is_some() && !is_rolled_back
}
