//! Changes of settings as text: what is planned, what became of it, how an application stands, and what is rolled back.

mod expired;
mod planned;
mod problems;
mod skipped;

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use linerate_record::journal::{RollbackOutcome, RolledBackBy};
use linerate_record::knob::SettingId;
use linerate_record::lines::folded;

use crate::line_budget::fitting;

pub use expired::{never_written, overdue, overdue_still, unwritten};
pub use planned::{Followers, PlannedChanges, planned};
pub use problems::{Problem, problems};
pub use skipped::{SkippedSetting, skipped};

/// How an application of changes stands.
#[derive(Clone, Debug)]
pub enum ApplicationState {
    RolledBack {
        by: RolledBackBy,
        /// Whether it ended with a process.
        has_owner: bool,
        /// Settings that are not restored.
        left: u32,
        /// Settings that were not there, and are given up.
        given_up: usize,
    },
    /// Confirmed, in this boot or in one before.
    Confirmed {
        /// Whether it was in this boot.
        in_this_boot: bool,
        /// Whether somebody began to roll it back since.
        is_rolling_back: bool,
    },
    /// Never confirmed, and gone with a boot.
    GoneWithBoot,
    /// It waits to be confirmed.
    Waits {
        /// For how much longer.
        left_ms: u64,
        /// Whether some of it is rolled back already.
        is_rolling_back: bool,
        /// Whether all changes were gone through.
        is_whole: bool,
        /// Whether it can be confirmed.
        can_be_confirmed: bool,
    },
}

/// An application of changes.
#[derive(Clone, Debug)]
pub struct Application {
    pub id: String,
    /// The captured machine, where it is one.
    pub root: Option<PathBuf>,
    /// The profile that it follows.
    pub profile: String,
    /// How many changes were made.
    pub changes: usize,
    pub application_state: ApplicationState,
}

/// What has moved with a setting.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Moved {
    pub what: String,
    pub before: String,
    pub after: String,
}

/// What a setting is now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CurrentValue {
    /// It cannot be read.
    Unread,
    /// What it was changed to.
    AsChanged,
    /// What it was before.
    AsBefore,
    Other,
}

/// A setting that was changed.
#[derive(Clone, Debug)]
pub struct Changed {
    pub place: SettingId,
    /// What its device is called by now, where that is another name.
    pub called: Option<String>,
    pub prior: String,
    /// What it was changed to.
    pub new: String,
    /// What it is now, where it was looked at.
    pub now: Option<(CurrentValue, String)>,
    /// What came of rolling it back, the last time.
    pub rolled_back: Option<RollbackOutcome>,
    /// What has moved with it.
    pub moved: Vec<Moved>,
}

/// A journal that is not where it was.
#[derive(Clone, Debug)]
pub struct LostJournal {
    /// Name of the application.
    pub id: String,
    /// Where its journal was.
    pub journals: PathBuf,
    /// Time until its watch has rolled it back; 0 where none is known to do so.
    pub wait_ms: u64,
    /// The file that says so.
    pub file: PathBuf,
}

/// What is said below an application that nothing watches.
pub const UNWATCHED: &str = "  no watch is running, so nothing rolls this back automatically: run linerate tune \
                             rollback; any linerate tune command except diff and log does it too, once the time is \
                             over\n";

/// One application in a line: its name, profile, how many changes, and how it stands.
#[must_use]
pub fn application(of: &Application) -> String {
    let root = of.root.as_ref().map(|folder| format!(" of {}", folder.display())).unwrap_or_default();
    let changes = counted(of.changes, "change");
    format!("{}  {}  {changes}{root}  {}\n", of.id, of.profile, application_state(&of.application_state))
}

/// `1 change`, `2 changes`.
#[must_use]
pub fn counted(n: usize, what: &str) -> String {
    format!("{n} {what}{}", if n == 1 { "" } else { "s" })
}

fn application_state(of: &ApplicationState) -> String {
    match *of {
        ApplicationState::RolledBack { by, has_owner, left, given_up } => {
            let who = match by {
                RolledBackBy::Command => "rolled back",
                RolledBackBy::Lapse if has_owner => "rolled back: its process ended, or its time was over",
                RolledBackBy::Lapse => "rolled back: not confirmed in time",
                RolledBackBy::Failure => "rolled back: it could not continue",
                RolledBackBy::Unchanged => "nothing was changed",
                RolledBackBy::Reboot => "reset by a reboot of the machine",
            };
            match (left, given_up) {
                (0, 0) => who.to_owned(),
                (0, 1) => format!("{who}, except 1 setting whose device is missing, which is given up"),
                (0, given_up) => format!(
                    "{who}, except {given_up} settings whose devices are missing, which are given \
                                          up"
                ),
                _ => format!("{who}, except {}", counted(left as usize, "setting")),
            }
        }
        ApplicationState::Confirmed { is_rolling_back: true, .. } => {
            "confirmed, and being rolled back; if not, run linerate tune rollback".to_owned()
        }
        ApplicationState::Confirmed { in_this_boot: true, .. } => "confirmed".to_owned(),
        ApplicationState::Confirmed { in_this_boot: false, .. } => {
            "confirmed, and reset by a reboot of the machine".to_owned()
        }
        ApplicationState::GoneWithBoot => "reset by a reboot of the machine".to_owned(),
        ApplicationState::Waits { left_ms: left_ms @ 1.., is_rolling_back: true, .. } => {
            format!("partly rolled back: the rest is tried again in {} s", left_ms.div_ceil(1000))
        }
        ApplicationState::Waits { left_ms, is_whole, can_be_confirmed, .. } => {
            let whole = if is_whole { "" } else { "ended before all were made, " };
            if left_ms == 0 {
                return format!("{whole}not confirmed in time: being rolled back; if not, run linerate tune rollback");
            }
            let unless = if can_be_confirmed { " unless confirmed" } else { "" };
            format!("{whole}rolled back in {} s{unless}", left_ms.div_ceil(1000))
        }
    }
}

/// A setting that was changed, as it is now or as it was rolled back, with what has moved with it.
#[must_use]
pub fn changed(of: &Changed) -> String {
    let Changed { place, prior, new, .. } = of;
    let called = of.called.as_ref().map(|name| format!(" (called {name} by now)")).unwrap_or_default();
    let after = match &of.now {
        None => after(of.rolled_back.as_ref()),
        Some((now, value)) => {
            let note = match now {
                CurrentValue::Unread => " (cannot be read)",
                CurrentValue::AsChanged => "",
                CurrentValue::AsBefore => " (as before)",
                CurrentValue::Other => " (somebody has changed it since)",
            };
            format!(", now {value:?}{note}")
        }
    };
    let mut text = format!("  {place}{called}: {prior:?} → {new:?}{after}\n");
    for moved in &of.moved {
        let _ = writeln!(text, "      {}", moved_line(moved));
    }
    text
}

fn moved_line(moved: &Moved) -> String {
    format!("changed with it: {} {:?} → {:?}", moved.what, moved.before, moved.after)
}

fn after(rolled_back: Option<&RollbackOutcome>) -> String {
    match rolled_back {
        None => String::new(),
        Some(RollbackOutcome::Restored) => ", restored".to_owned(),
        Some(RollbackOutcome::Already) => ", already had its previous value".to_owned(),
        Some(RollbackOutcome::Gone) => ", not restored: it was not there".to_owned(),
        Some(RollbackOutcome::Ended) => ", gone with its network namespace".to_owned(),
        Some(RollbackOutcome::Left { current, by }) => {
            format!(", left at {current:?}, which {} has set", by.as_deref().unwrap_or("somebody else"))
        }
        Some(RollbackOutcome::Failed { why }) => format!(", not restored: {why}"),
    }
}

/// Settings that were not changed, with the reason.
#[must_use]
pub fn refused(of: &[(SettingId, String)]) -> String {
    of.iter().map(|(place, why)| format!("  {place}: not changed: {why}\n")).collect()
}

/// A journal that is not where it was, and what to do.
#[must_use]
pub fn lost(of: &LostJournal) -> String {
    let (id, journals) = (&of.id, of.journals.display());
    let what = format!("{id}  its journal was in {journals} and is not there: restore it");
    match of.wait_ms {
        0 => format!(
            "{what} for linerate tune rollback {id}; it is not known whether a watch rolled it back; once its settings \
             are correct, {} can be removed\n",
            of.file.display()
        ),
        wait_ms => format!("{what}, or wait {} s until its watch rolls it back\n", wait_ms.div_ceil(1000)),
    }
}

/// What is said where a command stays to watch changes itself.
pub const STAYING: &str = "running as their watch: Ctrl-C and SIGTERM roll them back at once";

/// What is said beside [`STAYING`] where nothing outlives the command.
#[must_use]
pub fn staying_in_container(id: &str) -> String {
    format!("a container that is killed rolls nothing back: run linerate tune rollback {id} then")
}

/// What is said where changes were confirmed from elsewhere.
pub const CONFIRMED: &str = "confirmed: they stay until the machine reboots\n";

/// What is said where so many changes of an application were confirmed.
#[must_use]
pub fn confirmed(id: &str, changes: usize) -> String {
    format!(
        "{} of {id} kept until the machine reboots; linerate tune rollback {id} restores the previous values, linerate \
         tune export keeps the new ones across reboots\n",
        counted(changes, "setting"),
    )
}

/// An application whose journal cannot be read, in a line.
#[must_use]
pub fn unreadable(id: &str, why: &str) -> String {
    format!("{id}  {why}\n")
}

/// Where planned changes are written to, and what makes them.
#[must_use]
pub fn written(file: Option<&Path>) -> String {
    match file {
        Some(path) => format!("written to {}; linerate tune apply makes the changes\n", path.display()),
        None => "nothing is written: name a file with -o\n".to_owned(),
    }
}

/// The first rows, as many as so many lines of a terminal hold, and how many others there are.
#[must_use]
pub fn first_rows(rows: &[String], lines: usize, columns: usize, others: &str) -> String {
    let rows: Vec<String> = rows.iter().map(|row| folded(row, columns)).collect();
    let shown = at_least_one(rows.iter(), lines);
    rows[..shown].concat() + &others_text(rows.len() - shown, others)
}

/// The same of the last rows.
#[must_use]
pub fn last_rows(rows: &[String], lines: usize, columns: usize, others: &str) -> String {
    let rows: Vec<String> = rows.iter().map(|row| folded(row, columns)).collect();
    let unshown = rows.len() - at_least_one(rows.iter().rev(), lines);
    others_text(unshown, others) + &rows[unshown..].concat()
}

/// How many rows so many lines hold, one at least where there is any.
fn at_least_one<'r>(rows: impl ExactSizeIterator<Item = &'r String>, lines: usize) -> usize {
    let count = rows.len();
    fitting(rows, lines).max(count.min(1))
}

fn others_text(count: usize, others: &str) -> String {
    if count == 0 { String::new() } else { format!("… and {count} {others}: --all\n") }
}

/// What is said where nothing is applied any more.
pub const NOTHING_IS: &str = "nothing is applied: every change was rolled back, or none was made\n";

/// What is said where nothing ever was applied.
pub const NOTHING_WAS: &str = "nothing was ever applied\n";

/// What became of changes that were applied.
#[derive(Clone, Debug)]
pub struct ChangesMade {
    /// How many were made.
    pub made: usize,
    /// How many settings had their value already.
    pub already: usize,
    /// What was not changed, and why.
    pub refused: Vec<(SettingId, String)>,
    /// What has moved with settings that were changed.
    pub moved: Vec<(SettingId, Moved)>,
    /// Settings that a later change has moved again.
    pub overridden: Vec<SettingId>,
    /// Seconds for which it waits to be confirmed; absent where nothing was changed.
    pub waits_s: Option<f64>,
}

/// What became of changes that were applied.
#[must_use]
pub fn made(of: &ChangesMade) -> String {
    let were = if of.already == 1 { "was" } else { "were" };
    let mut text = format!("{} changed, {} {were} already set", counted(of.made, "setting"), of.already);
    let _ = writeln!(text, ", {} not changed", of.refused.len());
    for (place, why) in &of.refused {
        let _ = writeln!(text, "  {place}: {why}");
    }
    for (place, moved) in &of.moved {
        // Further in than what was not changed.
        let _ = writeln!(text, "      {place}: {}", moved_line(moved));
    }
    for place in &of.overridden {
        let _ = writeln!(text, "  {place}: a later change in the file has changed it again");
    }
    let _ = match of.waits_s {
        Some(waits) => writeln!(text, "rolled back in {waits} s unless confirmed: linerate tune confirm"),
        None => writeln!(text, "nothing is changed, so there is nothing to confirm"),
    };
    text
}

/// What came of rolling changes back.
#[derive(Clone, Copy, Debug)]
pub struct RolledBack<'r> {
    /// Name of the application.
    pub id: &'r str,
    /// What came of each change, the last first.
    pub rolled_back: &'r [(SettingId, RollbackOutcome)],
    /// Whether the machine has booted since.
    pub after_reboot: bool,
    /// Whether what was not there is not tried again.
    pub has_given_up: bool,
    /// Why the journal does not say all this, where it does not.
    pub unrecorded: Option<&'r str>,
}

/// What came of rolling changes back.
#[must_use]
pub fn rolled(of: RolledBack<'_>) -> String {
    let id = of.id;
    if of.after_reboot {
        return format!("the machine has rebooted since {id}, which reset its settings: nothing had to be restored\n");
    }
    let is_back = |outcome: &RollbackOutcome| matches!(outcome, RollbackOutcome::Restored | RollbackOutcome::Already);
    let back = of.rolled_back.iter().filter(|(_, outcome)| is_back(outcome)).count();
    let are = if of.rolled_back.len() == 1 { "is" } else { "are" };
    let mut text = format!("{back} of {} of {id} {are} as before\n", counted(of.rolled_back.len(), "setting"));
    for (place, outcome) in of.rolled_back {
        let _ = match outcome {
            RollbackOutcome::Restored | RollbackOutcome::Already => Ok(()),
            RollbackOutcome::Gone => writeln!(
                text,
                "  {place}: not restored: it is not there; if it is moved or plugged, linerate tune rollback {id} \
                 restores it when it is back{}",
                if of.has_given_up { ", and nothing else does" } else { "; --force gives it up" }
            ),
            RollbackOutcome::Ended => writeln!(text, "  {place}: gone, with its network namespace"),
            RollbackOutcome::Left { current, by: Some(later) } => writeln!(
                text,
                "  {place}: {later} has set {current:?} since, which is kept: linerate tune rollback {later} first, or \
                 give --force to restore it too"
            ),
            RollbackOutcome::Left { current, by: None } => writeln!(
                text,
                "  {place}: somebody has set {current:?} since, which is kept; linerate tune rollback {id} --force \
                 restores it too"
            ),
            RollbackOutcome::Failed { why } => writeln!(text, "  {place}: not restored: {why}"),
        };
    }
    if let Some(why) = of.unrecorded {
        let _ = writeln!(text, "  the journal does not say all this: {why}");
    }
    text
}

#[cfg(test)]
mod tests {
    use linerate_record::knob::Space;

    use super::*;

    fn place(knob: &str) -> SettingId {
        SettingId { knob: knob.to_owned(), device: None, space: Space::Host }
    }

    #[test]
    fn an_application_says_how_it_stands() {
        let waits = |left_ms, is_rolling_back, is_whole| ApplicationState::Waits {
            left_ms,
            is_rolling_back,
            is_whole,
            can_be_confirmed: true,
        };
        let back = |by, left, given_up| ApplicationState::RolledBack { by, has_owner: false, left, given_up };
        let kept = |is_rolling_back| ApplicationState::Confirmed { in_this_boot: true, is_rolling_back };
        for (of, expected) in [
            (waits(1500, false, true), "rolled back in 2 s unless confirmed"),
            (waits(1500, false, false), "ended before all were made, rolled back in 2 s unless confirmed"),
            (waits(1500, true, true), "partly rolled back: the rest is tried again in 2 s"),
            (waits(0, true, true), "not confirmed in time: being rolled back; if not, run linerate tune rollback"),
            (back(RolledBackBy::Lapse, 0, 0), "rolled back: not confirmed in time"),
            (
                back(RolledBackBy::Command, 0, 2),
                "rolled back, except 2 settings whose devices are missing, which are given up",
            ),
            (back(RolledBackBy::Command, 3, 0), "rolled back, except 3 settings"),
            (kept(false), "confirmed"),
            (kept(true), "confirmed, and being rolled back; if not, run linerate tune rollback"),
            (ApplicationState::GoneWithBoot, "reset by a reboot of the machine"),
        ] {
            assert_eq!(application_state(&of), expected);
        }
        let waiting_application = Application {
            id: "1123-1".to_owned(),
            root: Some("captures/x".into()),
            profile: "values by hand".to_owned(),
            changes: 2,
            application_state: ApplicationState::GoneWithBoot,
        };
        let line = "1123-1  values by hand  2 changes of captures/x  reset by a reboot of the machine\n";
        assert_eq!(application(&waiting_application), line);
    }

    #[test]
    fn a_changed_setting_says_what_it_is_or_what_came_of_taking_it_back() {
        let moved = Moved { what: "the MTU of b".to_owned(), before: "1".to_owned(), after: "2".to_owned() };
        let changed_setting = |now, rolled_back| Changed {
            place: place("vm.swappiness"),
            called: None,
            prior: "60".to_owned(),
            new: "1".to_owned(),
            now,
            rolled_back,
            moved: vec![moved.clone()],
        };
        for (now, rolled_back, after) in [
            (Some((CurrentValue::AsChanged, "1".to_owned())), None, ", now \"1\""),
            (Some((CurrentValue::AsBefore, "60".to_owned())), None, ", now \"60\" (as before)"),
            (Some((CurrentValue::Unread, String::new())), None, ", now \"\" (cannot be read)"),
            (None, Some(RollbackOutcome::Restored), ", restored"),
            (None, None, ""),
        ] {
            let text = changed(&changed_setting(now, rolled_back));
            let first = format!("  vm.swappiness: \"60\" → \"1\"{after}\n");
            assert_eq!(text, first + "      changed with it: the MTU of b \"1\" → \"2\"\n");
        }
    }

    #[test]
    fn what_is_not_restored_is_named_with_what_to_do() {
        let rolled_back = [
            (place("a"), RollbackOutcome::Restored),
            (place("b"), RollbackOutcome::Left { current: "5".to_owned(), by: None }),
            (place("c"), RollbackOutcome::Gone),
            (place("d"), RollbackOutcome::Left { current: "6".to_owned(), by: Some("y".to_owned()) }),
        ];
        let rolled_back = RolledBack {
            id: "x",
            rolled_back: &rolled_back,
            after_reboot: false,
            has_given_up: false,
            unrecorded: None,
        };
        let text = rolled(rolled_back);
        assert!(text.starts_with("1 of 4 settings of x are as before\n  b: somebody has set \"5\" since"), "{text}");
        assert!(text.contains("  c: not restored: it is not there"), "{text}");
        assert!(text.contains("  d: y has set \"6\" since, which is kept: linerate tune rollback y first"), "{text}");
        assert!(
            rolled(RolledBack { after_reboot: true, ..rolled_back }).starts_with("the machine has rebooted since x")
        );
    }

    #[test]
    fn what_was_confirmed_or_written_is_said_with_what_to_do() {
        let id = "x";
        for (text, expected) in [
            (
                confirmed(id, 2),
                "2 settings of x kept until the machine reboots; linerate tune rollback x restores the previous \
                 values, linerate tune export keeps the new ones across reboots\n",
            ),
            (unreadable(id, "why"), "x  why\n"),
            (written(Some(Path::new("f"))), "written to f; linerate tune apply makes the changes\n"),
            (written(None), "nothing is written: name a file with -o\n"),
            (
                staying_in_container(id),
                "a container that is killed rolls nothing back: run linerate tune rollback x then",
            ),
        ] {
            assert_eq!(text, expected);
        }
        assert!(confirmed(id, 1).starts_with("1 setting of x kept"));
    }

    #[test]
    fn one_of_a_thing_is_in_the_singular() {
        let back = |given_up, left| ApplicationState::RolledBack {
            by: RolledBackBy::Command,
            has_owner: false,
            left,
            given_up,
        };
        assert_eq!(
            application_state(&back(1, 0)),
            "rolled back, except 1 setting whose device is missing, which is given up"
        );
        assert_eq!(application_state(&back(0, 1)), "rolled back, except 1 setting");
    }

    #[test]
    fn rows_beyond_a_screen_are_counted() {
        let rows: Vec<String> = (1..=6).map(|n| format!("row {n}\n")).collect();
        assert_eq!(first_rows(&rows[..5], 5, 80, "more"), rows[..5].concat());
        assert_eq!(first_rows(&rows, 5, 80, "more"), rows[..4].concat() + "… and 2 more: --all\n");
        assert_eq!(last_rows(&rows[..5], 5, 80, "older"), rows[..5].concat());
        assert_eq!(last_rows(&rows, 5, 80, "older"), "… and 2 older: --all\n".to_owned() + &rows[2..].concat());
        // A row that is folded takes its lines, and one is there however long it is.
        let long = vec!["word ".repeat(30) + "\n"; 3];
        let text = first_rows(&long, 1, 30, "more");
        assert!(text.lines().count() > 4 && text.ends_with("… and 2 more: --all\n"), "{text}");
    }

    #[test]
    fn applied_changes_are_counted_and_those_refused_are_named() {
        let outcome = ChangesMade {
            made: 2,
            already: 1,
            refused: vec![(place("a"), "no".to_owned())],
            moved: Vec::new(),
            overridden: vec![place("b")],
            waits_s: Some(0.5),
        };
        assert_eq!(
            made(&outcome),
            "2 settings changed, 1 was already set, 1 not changed\n  a: no\n  b: a later change in the file has \
             changed it again\nrolled back in 0.5 s unless confirmed: linerate tune confirm\n"
        );
        assert!(
            made(&ChangesMade { waits_s: None, ..outcome })
                .ends_with("nothing is changed, so there is nothing to confirm\n")
        );
    }
}
