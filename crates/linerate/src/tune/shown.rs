//! What was applied, and what settings are now.

use std::fmt::Write as _;
use std::process::ExitCode;

use linerate_host::apply::{self, Ground, Lost, can_be_confirmed, has_booted, since_boot_ms};
use linerate_host::journal::{Made, State, Told};
use linerate_host::{Root, setting, watch};
use linerate_record::journal::{By, Undo};
use linerate_record::knob::same;

use super::{find, ground, root, state};
use crate::failure::{Failure, code};
use crate::report;

const UNWATCHED: &str = "  no watch lives, so nothing takes this back by itself: linerate tune rollback does, and so \
    does any linerate tune command but diff and log once its time is over\n";

pub(super) fn status() -> Result<ExitCode, Failure> {
    let state = state()?;
    let mut all = unsettled(&state)?;
    if all.iter().any(is_unwatched) {
        // A watch ends right after it has done its work.
        all = unsettled(&state)?;
    }
    let (mut text, mut amiss) = (String::new(), Vec::new());
    for told in &all {
        let machine = root(told.begin.root.as_deref());
        let _ = writeln!(text, "{}", line(told, &machine));
        if has_booted(&machine, &told.begin) {
            continue;
        }
        let id = &told.begin.id;
        if is_unwatched(told) {
            text.push_str(UNWATCHED);
            amiss.push(format!("no watch lives to take {id} back"));
        }
        if let Some((_, _, left @ 1..)) = told.closed {
            amiss.push(format!("{left} settings of {id} are not restored: linerate tune rollback {id}"));
        }
        for made in &told.made {
            let _ = writeln!(text, "  {}", present(made, &ground(&machine, &state)));
            for line in moved_besides(made) {
                let _ = writeln!(text, "      {line}");
            }
        }
    }
    if let Some(lost) = apply::lost(&Root::live()) {
        let _ = writeln!(text, "{}", told_lost(&lost));
        amiss.push(format!("the journal of {} is not there", lost.id));
    }
    if text.is_empty() {
        text.push_str("nothing is applied: every change was taken back, or none was made\n");
    }
    report::print(&text)?;
    if amiss.is_empty() {
        return Ok(ExitCode::SUCCESS);
    }
    Err(Failure::Tune { why: amiss.join("; "), code: code::UNCHANGED })
}

/// What was applied last, and what somebody is to look at.
fn unsettled(state: &State) -> Result<Vec<Told>, Failure> {
    let mut all: Vec<Told> = state.newest_open()?.into_iter().collect();
    all.extend(state.newest(Told::is_unsettled)?);
    all.dedup_by(|one, other| one.begin.id == other.begin.id);
    Ok(all)
}

fn is_unwatched(told: &Told) -> bool {
    let has_booted = || has_booted(&root(told.begin.root.as_deref()), &told.begin);
    told.is_pending() && !has_booted() && watch::is_watched(told) == Some(false)
}

fn told_lost(lost: &Lost) -> String {
    let (id, journals) = (&lost.id, lost.journals.display());
    let what = format!("{id}  its journal was in {journals} and is not there: put it back");
    match lost.wait_ms {
        0 => format!(
            "{what} for linerate tune rollback {id}; no watch is known to have taken it back; once its settings are \
             seen to, {} can be removed",
            lost.file.display()
        ),
        wait_ms => format!("{what}, or wait for {} s, in which its watch takes it back", wait_ms.div_ceil(1000)),
    }
}

pub(super) fn log(id: Option<&str>) -> Result<ExitCode, Failure> {
    let state = state()?;
    let mut text = String::new();
    if let Some(id) = id {
        let told = state.read(id)?;
        let machine = root(told.begin.root.as_deref());
        let _ = writeln!(text, "{}", line(&told, &machine));
        for made in &told.made {
            let _ = writeln!(text, "  {}: {:?} → {:?}{}", made.change.place, made.prior, made.change.new, after(made));
            for line in moved_besides(made) {
                let _ = writeln!(text, "      {line}");
            }
        }
        for (place, why) in &told.refused {
            let _ = writeln!(text, "  {place}: not changed: {why}");
        }
    } else {
        for id in state.ids()?.iter().rev() {
            let _ = match state.read(id) {
                Ok(told) => writeln!(text, "{}", line(&told, &root(told.begin.root.as_deref()))),
                Err(error) => writeln!(text, "{id}  {error}"),
            };
        }
        if text.is_empty() {
            text.push_str("nothing was ever applied\n");
        }
    }
    report::print(&text)?;
    Ok(ExitCode::SUCCESS)
}

/// One application in a line: its name, profile, how many changes, and how it stands.
fn line(told: &Told, machine: &Root) -> String {
    let begin = &told.begin;
    let of = begin.root.as_ref().map(|folder| format!(" of {}", folder.display())).unwrap_or_default();
    format!("{}  {}  {} changes{of}  {}", begin.id, begin.profile, told.made.len(), standing(told, machine))
}

fn standing(told: &Told, machine: &Root) -> String {
    let is_of_this_boot = !has_booted(machine, &told.begin);
    if let Some((by, _, left)) = told.closed {
        let who = match by {
            By::Command => "taken back",
            By::Lapse if told.begin.owner.is_some() => "taken back: its process ended, or its time was over",
            By::Lapse => "taken back: not confirmed in time",
            By::Failure => "taken back: it could not go on",
            By::Unchanged => "nothing was changed",
            By::Reboot => "gone with a boot of the machine",
        };
        return match (left, told.given_up()) {
            (0, 0) => who.to_owned(),
            (0, given_up) => format!("{who}, but for {given_up} settings that were not there, and are given up"),
            _ => format!("{who}, but for {left} settings"),
        };
    }
    match (told.confirmed_ms, is_of_this_boot) {
        (Some(_), true) => "confirmed".to_owned(),
        (Some(_), false) => "confirmed, and gone with a boot of the machine".to_owned(),
        (None, false) => "gone with a boot of the machine".to_owned(),
        (None, true) => {
            let left_ms = told.begin.deadline_since_boot_ms.saturating_sub(since_boot_ms());
            let whole = if told.is_applied { "" } else { "ended before all were made, " };
            match left_ms {
                1.. if told.is_being_undone() => {
                    format!("partly taken back: what is left is tried again in {} s", left_ms.div_ceil(1000))
                }
                0 => format!("{whole}not confirmed in time: being taken back; if not, linerate tune rollback"),
                _ => {
                    let unless = if can_be_confirmed(told) { " unless confirmed" } else { "" };
                    format!("{whole}taken back in {} s{unless}", left_ms.div_ceil(1000))
                }
            }
        }
    }
}

/// What has moved with a setting.
pub(super) fn moved_besides(made: &Made) -> Vec<String> {
    let after = made.became.as_ref().map_or(&[][..], |(_, beside)| beside);
    let moved = made.beside.iter().filter_map(|before| {
        let after = after.iter().find(|after| after.address == before.address && after.value != before.value)?;
        Some(format!("moved with it: {} {:?} → {:?}", setting::told_beside(&before.address), before.value, after.value))
    });
    moved.collect()
}

fn present(made: &Made, ground: &Ground<'_>) -> String {
    let place = &made.change.place;
    let knob = find(&place.knob);
    let (called, now) = apply::present(ground, made).unzip();
    let called = called.and_then(|now| now.device).filter(|name| Some(name) != place.device.as_ref());
    let called = called.map(|name| format!(" (called {name} by now)")).unwrap_or_default();
    let is = |now: &str, value: &str| knob.is_some_and(|knob| same(&knob.locator, now, value));
    let note = match &now {
        None => " (cannot be read)",
        Some(now) if is(now, &made.change.new) => "",
        Some(now) if is(now, &made.prior) => " (as before)",
        Some(_) => " (somebody has changed it since)",
    };
    let now = now.unwrap_or_default();
    format!("{place}{called}: {:?} → {:?}, now {now:?}{note}", made.prior, made.change.new)
}

fn after(made: &Made) -> String {
    match &made.undone {
        None => String::new(),
        Some(Undo::Restored) => ", restored".to_owned(),
        Some(Undo::Already) => ", was as before already".to_owned(),
        Some(Undo::Gone) => ", not restored: it was not there".to_owned(),
        Some(Undo::Ended) => ", gone with its network namespace".to_owned(),
        Some(Undo::Left { current }) => format!(", left at somebody else's {current:?}"),
        Some(Undo::Failed { why }) => format!(", not restored: {why}"),
    }
}
