//! What is said of changes whose time is over.

use super::{RolledBack, rolled};

/// What is said of changes that were to be rolled back before, without a line feed.
#[must_use]
pub fn overdue(of: RolledBack<'_>) -> String {
    let reported = rolled(of);
    let late = "was not confirmed in time, and no watch was running to roll it back";
    format!("{} {late}: {}", of.id, reported.trim_end())
}

/// The same where that fails now.
#[must_use]
pub fn overdue_still(id: &str, why: &str) -> String {
    format!("{id} was not confirmed in time, and cannot be rolled back now: {why}")
}

/// What a watch says that has rolled an application back, and cannot write that to its journal, without a line feed.
#[must_use]
pub fn unwritten(id: &str, why: &str) -> String {
    format!("{id} was rolled back, and its journal cannot say so yet: {why}; trying again")
}

/// The same once it gives that up.
#[must_use]
pub fn never_written(id: &str) -> String {
    format!("{id} was rolled back, and its journal still says that it is pending: run linerate tune rollback {id}")
}

#[cfg(test)]
mod tests {
    use linerate_record::journal::RollbackOutcome;
    use linerate_record::knob::{SettingId, Space};

    use super::*;

    #[test]
    fn what_is_late_is_said_with_what_became_of_it() {
        let place = SettingId { knob: "a".to_owned(), device: None, space: Space::Host };
        let (rolled_back, id) = ([(place, RollbackOutcome::Restored)], "x");
        let back =
            RolledBack { id, rolled_back: &rolled_back, after_reboot: false, has_given_up: false, unrecorded: None };
        let late = "x was not confirmed in time, and";
        for (text, expected) in [
            (overdue(back), format!("{late} no watch was running to roll it back: 1 of 1 setting of x is as before")),
            (overdue_still(id, "why"), format!("{late} cannot be rolled back now: why")),
            (
                unwritten(id, "why"),
                "x was rolled back, and its journal cannot say so yet: why; trying again".to_owned(),
            ),
            (
                never_written(id),
                "x was rolled back, and its journal still says that it is pending: run linerate tune rollback x"
                    .to_owned(),
            ),
        ] {
            assert_eq!(text, expected);
        }
    }
}
