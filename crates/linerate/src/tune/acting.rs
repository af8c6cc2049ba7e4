//! Applying, confirming and taking back.

use std::fmt::Write as _;
use std::process::ExitCode;

use linerate_host::Root;
use linerate_host::apply::{self, Applied, Outcome, Rolled, Terms, TuneError};
use linerate_host::journal::State;
use linerate_host::watch;
use linerate_record::journal::{Begin, Undo};
use linerate_record::knob::ChangeSet;

use super::{ApplyFlags, RollbackFlags, ground, read_changes, root, state, watching};
use crate::failure::{Failure, code};
use crate::report;

pub(super) fn apply(flags: &ApplyFlags) -> Result<ExitCode, Failure> {
    let set = read_changes(&flags.file)?;
    let state = state()?;
    let folder = flags.root.as_deref().map(std::path::absolute).transpose();
    let folder = folder.map_err(|source| Failure::File { what: "find", path: flags.file.clone(), source })?;
    let machine = root(folder.as_deref());
    let terms = Terms { id: watching::new_id(), root: folder, within: flags.confirm, owner: None };
    let mut arm = |begin: &Begin| watching::start(&state, begin, &set.changes);
    let applied = apply::apply(&ground(&machine, &state), &set, &terms, &mut arm, &mut |_| ());
    if matches!(applied, Err(TuneError::Reverted { left: 0, .. })) && watch::systemd_runs() {
        watch::stop_timer(&terms.id);
    }
    let applied = applied?;
    let waits = format!("{} s", flags.confirm.as_secs_f64());
    report::print(&told(&set, &applied, &waits))?;
    let is_whole = applied.outcomes.iter().all(|outcome| matches!(outcome, Outcome::Made | Outcome::Already));
    Ok(if is_whole { ExitCode::SUCCESS } else { ExitCode::from(code::UNCHANGED) })
}

fn told(set: &ChangeSet, applied: &Applied, waits: &str) -> String {
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
    for place in &applied.overridden {
        let _ = writeln!(text, "  {place}: a later change of the file has moved it again");
    }
    let _ = writeln!(text, "taken back in {waits} unless confirmed: linerate tune confirm");
    text
}

pub(super) fn confirm() -> Result<ExitCode, Failure> {
    let state = state()?;
    let machine = machine_of(&state, None)?;
    let told = apply::confirm(&ground(&machine, &state))?;
    if watch::systemd_runs() {
        watch::stop_timer(&told.begin.id);
    }
    let text = format!(
        "{} settings of {} stay until the machine boots; linerate tune rollback takes them back, linerate tune export \
         keeps them over a boot\n",
        told.made.len(),
        told.begin.id
    );
    report::print(&text)?;
    Ok(ExitCode::SUCCESS)
}

pub(super) fn rollback(flags: &RollbackFlags) -> Result<ExitCode, Failure> {
    let state = state()?;
    let machine = machine_of(&state, flags.id.as_deref())?;
    let rolled = apply::rollback(&ground(&machine, &state), flags.id.as_deref(), flags.force, &mut |_| ())?;
    // What is left, the watch tries again.
    if rolled.left() == 0 && watch::systemd_runs() {
        watch::stop_timer(&rolled.id);
    }
    report::print(&undone(&rolled))?;
    Ok(if rolled.left() == 0 { ExitCode::SUCCESS } else { ExitCode::from(code::UNCHANGED) })
}

/// The machine that an application is of: this one, or a captured one.
pub(super) fn machine_of(state: &State, id: Option<&str>) -> Result<Root, Failure> {
    let told = match id {
        Some(id) => Some(state.read(id)?),
        None => state.newest_open()?,
    };
    Ok(root(told.and_then(|told| told.begin.root).as_deref()))
}

fn undone(rolled: &Rolled) -> String {
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
            Undo::Gone => writeln!(text, "  {place}: gone, with its namespace or device"),
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
