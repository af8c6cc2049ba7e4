//! Applying, confirming and rolling back.

use std::process::ExitCode;
use std::time::Duration;

use linerate_host::Root;
use linerate_host::apply::{self, Applied, ApplyTerms, ChangeOutcome, RollbackResult, TuneError};
use linerate_host::journal::{JournalContent, JournalFolder, Made};
use linerate_host::watch;
use linerate_record::journal::{Begin, Watcher};
use linerate_record::knob::ChangeSet;
use linerate_record::rollout::RolloutName;
use linerate_report::tune as report;

use super::flags::{ApplyFlags, ConfirmFlags, RollbackFlags};
use super::status::moved_settings;
use super::{foreground, read_changes};
use crate::files::captured_machine;
use crate::run::applications::{apply_context, root, state};
use crate::run::{applications, interrupt};
use crate::terminal::failure::{Failure, code};
use crate::terminal::printing;
use crate::terminal::progress::print_error;

pub(super) fn apply(flags: &ApplyFlags) -> Result<ExitCode, Failure> {
    let set = read_changes(&flags.file)?;
    captured_machine::root(flags.root.as_deref())?;
    let state = state()?;
    let folder = flags.root.as_deref().map(std::path::absolute).transpose();
    let folder = folder.map_err(|source| Failure::File { what: "find", path: flags.file.clone(), source })?;
    let machine = root(folder.as_deref());
    if let Some(why) = applications::why_unwatched().filter(|_| folder.is_none() && !flags.foreground) {
        let why = format!(
            "{why}. Use --foreground, which keeps running as the watch, or apply outside of the container \
                     (docker --pid=host)"
        );
        return Err(TuneError::Watch(why).into());
    }
    // Signals that come while changes are made roll them back afterwards.
    let again = "error: interrupted again: settings may be changed; linerate tune status lists them, and linerate tune \
                 rollback restores them";
    let interrupt = flags.foreground.then(|| interrupt::watch_signals(again.to_owned())).transpose()?;
    let id = applications::new_id(&state);
    let terms = ApplyTerms { id, root: folder, within: flags.confirm, owner: None, wave: None };
    let mut arm = |begin: &Begin| -> Result<Vec<Watcher>, String> {
        let alongside = applications::start_watch(&state, begin, &set.changes)?;
        let own = if flags.foreground { watch::this_process().ok() } else { None };
        Ok([alongside].into_iter().chain(own).collect())
    };
    let applied = apply::apply(&apply_context(&machine, &state), &set, &terms, &mut arm, &mut |_| ());
    if matches!(applied, Err(TuneError::Reverted { left: 0, .. })) && watch::systemd_runs() {
        watch::stop_timer(&terms.id);
    }
    let applied = applied?;
    let journal = state.read(&applied.id).map_or_else(|_| Vec::new(), |reported| reported.made);
    let printed = printing::print(&report::made(&changes_made_report(&set, &applied, &journal, flags.confirm)));
    if !applied.is_pending && watch::systemd_runs() {
        watch::stop_timer(&terms.id);
    }
    if let Some(interrupt) = interrupt.filter(|_| applied.is_pending) {
        // This process is the watch: it stays, whether or not anybody reads what it prints.
        let held = state.held(&applied.id).unwrap_or_else(|_| state.clone());
        foreground::stay_until_settled(&apply_context(&machine, &held), &applied.id, &interrupt)?;
    }
    printed?;
    let is_whole =
        applied.outcomes.iter().all(|outcome| matches!(outcome, ChangeOutcome::Made | ChangeOutcome::Already));
    let why = "some settings were not changed; each is named above";
    if is_whole { Ok(ExitCode::SUCCESS) } else { Err(Failure::Tune { why: why.into(), code: code::UNCHANGED }) }
}

fn changes_made_report(set: &ChangeSet, applied: &Applied, journal: &[Made], within: Duration) -> report::ChangesMade {
    let count = |is_one: fn(&ChangeOutcome) -> bool| applied.outcomes.iter().filter(|outcome| is_one(outcome)).count();
    let refused = set.changes.iter().zip(&applied.outcomes).filter_map(|(change, outcome)| match outcome {
        ChangeOutcome::Refused(why) | ChangeOutcome::Failed(why) => Some((change.place.clone(), why.clone())),
        ChangeOutcome::Made | ChangeOutcome::Already => None,
    });
    let moved = journal.iter().flat_map(|made| {
        let place = made.change.place.clone();
        moved_settings(made).into_iter().map(move |moved| (place.clone(), moved))
    });
    report::ChangesMade {
        made: count(|outcome| *outcome == ChangeOutcome::Made),
        already: count(|outcome| *outcome == ChangeOutcome::Already),
        refused: refused.collect(),
        moved: moved.collect(),
        overridden: applied.overridden.clone(),
        waits_s: applied.is_pending.then_some(within.as_secs_f64()),
    }
}

/// Rolls back what lapsed and has no watch any more, and says so.
pub(super) fn roll_back_overdue() -> Result<(), Failure> {
    let Ok(state) = JournalFolder::existing(crate::files::local_state::folder()?.join("tune")) else { return Ok(()) };
    let pending = state.newest(JournalContent::is_pending).ok().and_then(|found| found.journal);
    let Some(reported) = pending else { return Ok(()) };
    let machine = root(reported.begin.root.as_deref());
    let id = &reported.begin.id;
    match watch::overdue(&apply_context(&machine, &state), &reported) {
        Ok(Some(rolled)) => print_error(&report::overdue(rollback_report(&rolled))),
        Ok(None) => {}
        // The command itself may say more.
        Err(error) => print_error(&report::overdue_still(id, &error.to_string())),
    }
    Ok(())
}

pub(super) fn confirm(flags: &ConfirmFlags) -> Result<ExitCode, Failure> {
    let state = state()?;
    let id = flags.id.as_deref();
    let machine = match id {
        Some(id) => {
            require_single_machine(id)?;
            machine_of(&state, Some(id))?
        }
        None => {
            let waits = state.newest(JournalContent::is_pending)?.journal;
            waits.map_or(Ok(()), |waits| require_single_machine(&waits.begin.id))?;
            machine_of(&state, None)?
        }
    };
    let apply_context = apply_context(&machine, &state);
    let reported = id.map_or_else(|| apply::confirm(&apply_context), |id| apply::confirm_only(&apply_context, id))?;
    if watch::systemd_runs() {
        watch::stop_timer(&reported.begin.id);
    }
    printing::print(&report::confirmed(&reported.begin.id, reported.made.len()))?;
    Ok(ExitCode::SUCCESS)
}

/// Refuses to keep on one machine what is for all machines of a rollout or for none.
fn require_single_machine(id: &str) -> Result<(), Failure> {
    let Some(rollout) = RolloutName::of_application(id).filter(|rollout| rollout.nodes > 1) else { return Ok(()) };
    Err(Failure::usage(format!(
        "{id} is of a rollout on {} nodes, which is confirmed on all of them or on none: run linerate tune confirm \
         --fleet FLEET {rollout} where all are reached; linerate tune rollback here ends it for all",
        rollout.nodes
    )))
}

pub(super) fn rollback(flags: &RollbackFlags) -> Result<ExitCode, Failure> {
    let state = state()?;
    let kept = if flags.kept { state.newest(JournalContent::is_kept)?.certain()? } else { None };
    let kept = kept.map(|reported| reported.begin.id);
    if flags.kept && kept.is_none() {
        return Err(Failure::usage("the changes are not kept: see linerate tune log"));
    }
    let id = flags.id.as_deref().or(kept.as_deref());
    let machine = machine_of(&state, id)?;
    let rolled = apply::rollback(&apply_context(&machine, &state), id, flags.force, &mut |_| ())?;
    // What is left, or was not noted, the watch tries again.
    if rolled.left() == 0 && rolled.unrecorded.is_none() && watch::systemd_runs() {
        watch::stop_timer(&rolled.id);
    }
    printing::print(&restored_text(&rolled))?;
    let left = rolled.left();
    let why = format!("{} could not be restored; each is named above", report::counted(left as usize, "setting"));
    if left == 0 { Ok(ExitCode::SUCCESS) } else { Err(Failure::Tune { why, code: code::UNCHANGED }) }
}

/// The machine that an application is of: this one, or a captured one. Without a name, that of the one that is
/// confirmed or rolled back then, or else of the newest.
pub(super) fn machine_of(state: &JournalFolder, id: Option<&str>) -> Result<Root, Failure> {
    if let Some(id) = id {
        let reported = state.read(id).map_err(|error| unknown(id, error))?;
        return Ok(root(reported.begin.root.as_deref()));
    }
    let kinds: [fn(&JournalContent) -> bool; 3] =
        [JournalContent::is_pending, JournalContent::is_unsettled, |reported| !reported.is_closed()];
    for is_meant in kinds {
        if let Some(meant) = state.newest(is_meant)?.journal {
            return Ok(root(meant.begin.root.as_deref()));
        }
    }
    Ok(root(None))
}

/// A name that no application has is bad usage, and no fault of the machine.
pub(super) fn unknown(id: &str, error: TuneError) -> Failure {
    match error {
        TuneError::State { source, .. } if source.kind() == std::io::ErrorKind::NotFound => {
            Failure::usage(format!("no application of changes is named {id:?}: see linerate tune log"))
        }
        other => other.into(),
    }
}

pub(super) fn restored_text(rolled: &RollbackResult) -> String {
    report::rolled(rollback_report(rolled))
}

fn rollback_report(rolled: &RollbackResult) -> report::RolledBack<'_> {
    report::RolledBack {
        id: &rolled.id,
        rolled_back: &rolled.rolled_back,
        after_reboot: rolled.after_reboot,
        has_given_up: rolled.has_given_up,
        unrecorded: rolled.unrecorded.as_deref(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_of_several_machines_is_not_kept_on_one() {
        let application_id = |nodes| RolloutName { token: 7, nodes }.application("20260102T030405123456Z-7");
        let why = require_single_machine(&application_id(2)).unwrap_err();
        assert_eq!(why.code(), code::USAGE);
        assert!(why.to_string().contains("on 2 nodes") && why.to_string().contains("r0000000000000007n2"), "{why}");
        for id in [application_id(1), "20260102T030405123456Z-7".to_owned()] {
            assert!(require_single_machine(&id).is_ok(), "{id}");
        }
    }
}
