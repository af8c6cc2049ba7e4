//! Which boot of a machine this is: run-time settings go with each.

use linerate_record::journal::Begin;

use crate::error::TuneError;
use crate::root::{Root, text};

const BOOT_ID: &str = "proc/sys/kernel/random/boot_id";

/// The boot id; empty where it cannot be read.
#[must_use]
pub fn boot_id(root: &Root) -> String {
    let mut bytes = Vec::new();
    text(root, BOOT_ID, &mut bytes).map(|id| id.trim().to_owned()).unwrap_or_default()
}

/// Whether the machine has booted since an application began. An id that cannot be read is none of another boot: then
/// its changes are there, and are rolled back.
#[must_use]
pub fn has_booted(root: &Root, begin: &Begin) -> bool {
    are_two_boots(&begin.boot, &boot_id(root))
}

pub(crate) fn are_two_boots(then: &str, now: &str) -> bool {
    !then.is_empty() && !now.is_empty() && then != now
}

/// Refuses to begin without a boot id on a machine that boots: a later boot could not be told from this one. A capture
/// may lack it.
pub(crate) fn known_boot(id: String, is_live: bool) -> Result<String, TuneError> {
    if id.is_empty() && is_live {
        return Err(TuneError::File(format!(
            "cannot read /{BOOT_ID}, which is needed to detect a reboot: mount /proc"
        )));
    }
    Ok(id)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_two_known_and_different_ids_are_a_boot() {
        for (then, now, is_boot) in [("a", "b", true), ("a", "a", false), ("a", "", false), ("", "b", false)] {
            assert_eq!(are_two_boots(then, now), is_boot, "{then:?} {now:?}");
        }
    }

    #[test]
    fn nothing_is_begun_on_a_live_machine_whose_boot_cannot_be_told() {
        let why = known_boot(String::new(), true).unwrap_err().to_string();
        assert!(why.contains("/proc/sys/kernel/random/boot_id"), "{why}");
        assert_eq!(known_boot(String::new(), false).unwrap(), "", "a capture may lack it");
        assert_eq!(known_boot("a".to_owned(), true).unwrap(), "a");
    }
}
