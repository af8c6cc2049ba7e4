//! Why changes are not applied, confirmed or rolled back, and what to do about it.

use std::io;
use std::path::PathBuf;

use linerate_record::knob::SettingId;
use linerate_record::rollout::RolloutName;

/// Why changes were not applied, confirmed or rolled back.
#[derive(Debug, thiserror::Error)]
pub enum TuneError {
    /// A file of the journal.
    #[error("cannot use {}: {source}", path.display())]
    State {
        path: PathBuf,
        /// What the kernel said.
        source: io::Error,
    },
    /// Others could write what is written to settings later.
    #[error("{} must be a folder that only its owner writes to: chown it to yourself and chmod 700", path.display())]
    Permissions {
        /// The folder of journals.
        path: PathBuf,
    },
    /// Others could put another folder in its place.
    #[error(
        "others could replace {}, because they can write to {}: chown that to yourself and chmod go-w it, or set \
         LINERATE_STATE to another folder",
        path.display(),
        above.display()
    )]
    Above {
        /// The folder of journals.
        path: PathBuf,
        /// Which folder or link above it.
        above: PathBuf,
    },
    /// A journal that says what no linerate writes.
    #[error("cannot understand {}: {why}", path.display())]
    Journal { path: PathBuf, why: String },
    /// A journal that cannot be read may be of changes that wait.
    #[error(
        "{0}; whether its changes are pending is not known: repair that file, or move it to another folder once its \
         settings are correct. Other applications can be confirmed and rolled back by their names"
    )]
    Unreadable(Box<TuneError>),
    /// A journal without a first line: nothing was changed under its name.
    #[error("{} is empty: it was cut off before anything was changed", path.display())]
    Empty { path: PathBuf },
    /// No name of an application.
    #[error("{0:?} is not the name of an application: see linerate tune log")]
    Id(String),
    /// Somebody else changes settings now.
    #[error("another linerate is changing settings: wait until it has finished")]
    Busy,
    /// An application waits to be confirmed.
    #[error("{} is pending: {} first", .0, ending(.0))]
    Pending(String),
    /// An application waits that cannot be confirmed.
    #[error("{0} can no longer be confirmed, and is not rolled back yet: run linerate tune rollback first")]
    Lapsing(String),
    /// One of other journals does: made on top of it, changes could not be rolled back in any order.
    #[error(
        "{id}, whose journal is in {}, is pending: {} with LINERATE_STATE={} first",
        journals.display(),
        if *can_be_confirmed {
            "run linerate tune confirm or linerate tune rollback"
        } else {
            "run linerate tune rollback"
        },
        journals.parent().unwrap_or(journals).display()
    )]
    Elsewhere {
        id: String,
        /// The folder of its journal.
        journals: PathBuf,
        /// Whether it can be confirmed.
        can_be_confirmed: bool,
    },
    /// The same, where its journal cannot be read: it was moved or removed, or is a container's.
    #[error(
        "{id} is pending, and its journal in {} cannot be read from here: restore the journal, or wait {} s until its \
         watch rolls it back. Once its settings are correct, {} can be removed",
        journals.display(),
        wait_ms.div_ceil(1000),
        file.display()
    )]
    Unseen {
        id: String,
        /// The folder of its journal.
        journals: PathBuf,
        /// How long its watch may take.
        wait_ms: u64,
        file: PathBuf,
    },
    /// There is nothing to confirm or roll back.
    #[error("{0}")]
    Nothing(String),
    /// The file of changes cannot be used on this machine.
    #[error("{0}")]
    File(String),
    /// Some of its changes cannot be made, so that none was.
    #[error("nothing is changed, because {} of {of} changes cannot be made{}", .refused.len(), refused_text(.refused))]
    Refused { of: usize, refused: Vec<(SettingId, String)> },
    /// Nothing would roll the changes back.
    #[error("no watch could be started, so nothing was changed: {0}")]
    Watch(String),
    /// Another process has written to a journal that this one was writing: its watch, which found it standing still.
    #[error("another linerate has continued with {} in the meantime", path.display())]
    Overtaken { path: PathBuf },
    /// It could not go on, and rolled back what was done.
    #[error("{why}; every change made so far was rolled back{}", left_text(*.left))]
    Reverted {
        /// Why it could not go on.
        why: String,
        /// Settings that could not be restored.
        left: u32,
    },
}

/// How an application that waits is ended: one that is of several machines, on all of them.
fn ending(id: &str) -> &'static str {
    match RolloutName::of_application(id) {
        Some(_) => "run linerate tune confirm --fleet or linerate tune rollback --fleet",
        None => "run linerate tune confirm or linerate tune rollback",
    }
}

fn refused_text(refused: &[(SettingId, String)]) -> String {
    refused.iter().map(|(place, why)| format!("\n  {place}: {why}")).collect()
}

fn left_text(left: u32) -> String {
    if left == 0 { String::new() } else { format!(", except {left}: see linerate tune status") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_waits_on_several_machines_is_ended_on_all_of_them() {
        let of_one = "20260102T030405123456Z-7".to_owned();
        let of_several = RolloutName { token: 7, nodes: 2 }.application(&of_one);
        let said = |id: String| TuneError::Pending(id).to_string();
        assert!(said(of_one).ends_with("is pending: run linerate tune confirm or linerate tune rollback first"));
        let several = said(of_several);
        assert!(several.contains("n2 is pending: run linerate tune confirm --fleet or"), "{several}");
    }
}
