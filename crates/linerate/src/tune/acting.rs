//! Applying, confirming and taking back.

use std::fmt::Write as _;
use std::process::ExitCode;

use linerate_host::Root;
use linerate_host::apply::{self, Applied, Outcome, Rolled, Terms, TuneError};
use linerate_host::journal::{Made, State, Told};
use linerate_host::watch;
use linerate_record::journal::{Begin, Undo, Watcher};
use linerate_record::knob::ChangeSet;

use super::shown::moved_besides;
use super::{ApplyFlags, RollbackFlags, foreground, ground, read_changes, root, state, watching};
use crate::failure::{Failure, code};
use crate::progress::say;
use crate::{interrupt, report};

pub(super) fn apply(flags: &ApplyFlags) -> Result<ExitCode, Failure> {
    let set = read_changes(&flags.file)?;
    let state = state()?;
    let folder = flags.root.as_deref().map(std::path::absolute).transpose();
    let folder = folder.map_err(|source| Failure::File { what: "find", path: flags.file.clone(), source })?;
    let machine = root(folder.as_deref());
    if let Some(why) = watching::unwatched().filter(|_| folder.is_none() && !flags.foreground) {
        let why =
            format!("{why}. Use --foreground, which stays as the watch, or apply outside of it (docker --pid=host)");
        return Err(TuneError::Watch(why).into());
    }
    // Signals that come while changes are made take them back afterwards.
    let interrupt = flags.foreground.then(interrupt::watch).transpose()?;
    let terms = Terms { id: watching::new_id(), root: folder, within: flags.confirm, owner: None };
    let mut arm = |begin: &Begin| -> Result<Vec<Watcher>, String> {
        let beside = watching::start(&state, begin, &set.changes)?;
        let own = if flags.foreground { watch::this_process().ok() } else { None };
        Ok([beside].into_iter().chain(own).collect())
    };
    let applied = apply::apply(&ground(&machine, &state), &set, &terms, &mut arm, &mut |_| ());
    if matches!(applied, Err(TuneError::Reverted { left: 0, .. })) && watch::systemd_runs() {
        watch::stop_timer(&terms.id);
    }
    let applied = applied?;
    let waits = format!("{} s", flags.confirm.as_secs_f64());
    let journal = state.read(&applied.id).map_or_else(|_| Vec::new(), |told| told.made);
    report::print(&told(&set, &applied, &journal, &waits))?;
    if !applied.is_pending && watch::systemd_runs() {
        watch::stop_timer(&terms.id);
    }
    if let Some(interrupt) = interrupt.filter(|_| applied.is_pending) {
        foreground::stay(&ground(&machine, &state.held(&applied.id)?), &applied.id, &interrupt)?;
    }
    let is_whole = applied.outcomes.iter().all(|outcome| matches!(outcome, Outcome::Made | Outcome::Already));
    let why = "some settings were not changed; each is named above";
    if is_whole { Ok(ExitCode::SUCCESS) } else { Err(Failure::Tune { why: why.into(), code: code::UNCHANGED }) }
}

fn told(set: &ChangeSet, applied: &Applied, journal: &[Made], waits: &str) -> String {
    let count = |is_one: fn(&Outcome) -> bool| applied.outcomes.iter().filter(|outcome| is_one(outcome)).count();
    let made = count(|outcome| *outcome == Outcome::Made);
    let already = count(|outcome| *outcome == Outcome::Already);
    let mut text = format!("{made} settings changed, {already} were so already");
    let _ = writeln!(text, ", {} not changed", applied.outcomes.len() - made - already);
    for (change, outcome) in set.changes.iter().zip(&applied.outcomes) {
        if let Outcome::Refused(why) | Outcome::Failed(why) = outcome {
            let _ = writeln!(text, "  {}: {why}", change.place);
        }
    }
    for made in journal {
        for line in moved_besides(made) {
            // Further in than what was not changed.
            let _ = writeln!(text, "      {}: {line}", made.change.place);
        }
    }
    for place in &applied.overridden {
        let _ = writeln!(text, "  {place}: a later change of the file has moved it again");
    }
    let _ = match applied.is_pending {
        true => writeln!(text, "taken back in {waits} unless confirmed: linerate tune confirm"),
        false => writeln!(text, "nothing is changed, so nothing waits to be confirmed"),
    };
    text
}

/// Takes back what lapsed and has no watch any more, and says so.
pub(super) fn take_back_overdue() -> Result<(), Failure> {
    let Ok(state) = State::existing(crate::state::folder()?.join("tune")) else { return Ok(()) };
    let Ok(Some(told)) = state.newest(Told::is_pending) else { return Ok(()) };
    let machine = root(told.begin.root.as_deref());
    let id = &told.begin.id;
    match watch::overdue(&ground(&machine, &state), &told) {
        Ok(Some(rolled)) => {
            let said = undone(&rolled);
            say(&format!("{id} was not confirmed in time, and no watch lived to take it back: {}", said.trim_end()));
        }
        Ok(None) => {}
        // The command itself may say more.
        Err(error) => say(&format!("{id} was not confirmed in time, and cannot be taken back now: {error}")),
    }
    Ok(())
}

pub(super) fn confirm() -> Result<ExitCode, Failure> {
    let state = state()?;
    let machine = machine_of(&state, None)?;
    let told = apply::confirm(&ground(&machine, &state))?;
    if watch::systemd_runs() {
        watch::stop_timer(&told.begin.id);
    }
    let id = &told.begin.id;
    let text = format!(
        "{} settings of {id} stay until the machine boots; linerate tune rollback {id} takes them back, linerate tune \
         export keeps them over a boot\n",
        told.made.len(),
    );
    report::print(&text)?;
    Ok(ExitCode::SUCCESS)
}

pub(super) fn rollback(flags: &RollbackFlags) -> Result<ExitCode, Failure> {
    let state = state()?;
    let kept = if flags.kept { state.newest(Told::is_kept)?.map(|told| told.begin.id) } else { None };
    if flags.kept && kept.is_none() {
        return Err(Failure::usage("nothing is kept: see linerate tune log"));
    }
    let id = flags.id.as_deref().or(kept.as_deref());
    let machine = machine_of(&state, id)?;
    let rolled = apply::rollback(&ground(&machine, &state), id, flags.force, &mut |_| ())?;
    // What is left, the watch tries again.
    if rolled.left() == 0 && watch::systemd_runs() {
        watch::stop_timer(&rolled.id);
    }
    report::print(&undone(&rolled))?;
    let left = rolled.left();
    let why = format!("{left} settings could not be restored; each is named above");
    if left == 0 { Ok(ExitCode::SUCCESS) } else { Err(Failure::Tune { why, code: code::UNCHANGED }) }
}

/// The machine that an application is of: this one, or a captured one.
pub(super) fn machine_of(state: &State, id: Option<&str>) -> Result<Root, Failure> {
    let told = match id {
        Some(id) => Some(state.read(id)?),
        None => state.newest_open()?,
    };
    Ok(root(told.and_then(|told| told.begin.root).as_deref()))
}

pub(super) fn undone(rolled: &Rolled) -> String {
    if rolled.after_reboot {
        let id = &rolled.id;
        return format!("the machine has booted since {id}: its settings went with that, nothing was to be restored\n");
    }
    let is_back = |undo: &Undo| matches!(undo, Undo::Restored | Undo::Already);
    let back = rolled.undone.iter().filter(|(_, undo)| is_back(undo)).count();
    let mut text = format!("{back} of {} settings of {} are as before\n", rolled.undone.len(), rolled.id);
    for (place, undo) in &rolled.undone {
        let _ = match undo {
            Undo::Restored | Undo::Already => Ok(()),
            Undo::Gone => writeln!(
                text,
                "  {place}: not restored: it is not there; if it is moved or plugged, linerate tune rollback {} \
                 restores it when it is back{}",
                rolled.id,
                if rolled.has_given_up { ", and nothing else does" } else { "; with --force it is given up" }
            ),
            Undo::Ended => writeln!(text, "  {place}: gone, with its network namespace"),
            Undo::Left { current } => writeln!(
                text,
                "  {place}: somebody has set {current:?} since, and that stays; linerate tune rollback {} --force \
                 restores it too",
                rolled.id
            ),
            Undo::Failed { why } => writeln!(text, "  {place}: not restored: {why}"),
        };
    }
    if let Some(why) = &rolled.unrecorded {
        let _ = writeln!(text, "  the journal does not say all this: {why}");
    }
    text
}
