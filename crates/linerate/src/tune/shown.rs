//! What was applied, and what settings are now.

use std::process::ExitCode;

use linerate_host::apply::{self, Ground, can_be_confirmed, has_booted, since_boot_ms};
use linerate_host::journal::{JournalContent, JournalFolder, Made};
use linerate_host::{Root, setting, watch};
use linerate_record::knob::same;
use linerate_record::lines::folded;
use linerate_report::tune::{self as report, Amiss, Application, Changed, Moved, Now, Standing};

use super::acting::unknown;
use crate::applying::{ground, root, state};
use crate::catalogue::find;
use crate::failure::{Failure, code};
use crate::printing;

pub(super) fn status() -> Result<ExitCode, Failure> {
    let state = state()?;
    let mut all = unsettled(&state)?;
    if all.iter().any(is_unwatched) {
        // A watch ends right after it has done its work.
        all = unsettled(&state)?;
    }
    let (mut text, mut amiss) = (String::new(), Vec::new());
    for reported in &all {
        let machine = root(reported.begin.root.as_deref());
        text.push_str(&report::application(&application(reported, &machine)));
        if has_booted(&machine, &reported.begin) {
            continue;
        }
        let id = || reported.begin.id.clone();
        if is_unwatched(reported) {
            text.push_str(report::UNWATCHED);
            amiss.push(Amiss::Unwatched { id: id() });
        }
        if reported.is_kept_in_part() {
            amiss.push(Amiss::KeptInPart { id: id() });
        }
        if let Some((_, _, left @ 1..)) = reported.closed {
            amiss.push(Amiss::NotRestored { id: id(), left });
        }
        for made in &reported.made {
            text.push_str(&report::changed(&present(made, &ground(&machine, &state))));
        }
    }
    if let Some(lost) = apply::lost(&Root::live()) {
        amiss.push(Amiss::JournalLost { id: lost.id.clone() });
        let apply::LostWatch { id, journals, wait_ms, file, .. } = lost;
        text.push_str(&report::lost(&report::Lost { id, journals, wait_ms, file }));
    }
    if text.is_empty() {
        text.push_str(report::NOTHING_IS);
    }
    print(&text)?;
    if amiss.is_empty() {
        return Ok(ExitCode::SUCCESS);
    }
    Err(Failure::Tune { why: report::amiss(&amiss), code: code::UNCHANGED })
}

/// Prints, on a terminal in lines that fit it.
fn print(text: &str) -> Result<(), Failure> {
    printing::print(&printing::columns().map_or_else(|| text.to_owned(), |columns| folded(text, columns)))
}

/// What was applied last, and what somebody is to look at.
fn unsettled(state: &JournalFolder) -> Result<Vec<JournalContent>, Failure> {
    let mut all: Vec<JournalContent> = state.newest_open()?.into_iter().collect();
    all.extend(state.newest(JournalContent::is_unsettled)?);
    all.dedup_by(|one, other| one.begin.id == other.begin.id);
    Ok(all)
}

fn is_unwatched(reported: &JournalContent) -> bool {
    let has_booted = || has_booted(&root(reported.begin.root.as_deref()), &reported.begin);
    reported.is_pending() && !has_booted() && watch::is_watched(reported) == Some(false)
}

pub(super) fn log(id: Option<&str>) -> Result<ExitCode, Failure> {
    let state = state()?;
    let mut text = String::new();
    if let Some(id) = id {
        let reported = state.read(id).map_err(|error| unknown(id, error))?;
        let machine = root(reported.begin.root.as_deref());
        text.push_str(&report::application(&application(&reported, &machine)));
        for made in &reported.made {
            text.push_str(&report::changed(&changed(made)));
        }
        text.push_str(&report::refused(&reported.refused));
    } else {
        for id in state.ids()?.iter().rev() {
            match state.read(id) {
                Ok(reported) => {
                    text.push_str(&report::application(&application(&reported, &root(reported.begin.root.as_deref()))))
                }
                Err(error) => text.push_str(&report::unreadable(id, &error.to_string())),
            }
        }
        if text.is_empty() {
            text.push_str(report::NOTHING_WAS);
        }
    }
    print(&text)?;
    Ok(ExitCode::SUCCESS)
}

fn application(reported: &JournalContent, machine: &Root) -> Application {
    let begin = &reported.begin;
    Application {
        id: begin.id.clone(),
        root: begin.root.clone(),
        profile: begin.profile.clone(),
        changes: reported.made.len(),
        standing: standing(reported, machine),
    }
}

fn standing(reported: &JournalContent, machine: &Root) -> Standing {
    if let Some((by, _, left)) = reported.closed {
        return Standing::TakenBack {
            by,
            has_owner: reported.begin.owner.is_some(),
            left,
            given_up: reported.given_up(),
        };
    }
    match (reported.confirmed_ms, !has_booted(machine, &reported.begin)) {
        (Some(_), in_this_boot) => {
            Standing::Confirmed { in_this_boot, is_being_undone: in_this_boot && reported.is_being_undone() }
        }
        (None, false) => Standing::GoneWithBoot,
        (None, true) => Standing::Waits {
            left_ms: reported.begin.deadline_since_boot_ms.saturating_sub(since_boot_ms()),
            is_being_undone: reported.is_being_undone(),
            is_whole: reported.is_applied,
            can_be_confirmed: can_be_confirmed(reported),
        },
    }
}

/// What has moved with a setting.
pub(super) fn moved_besides(made: &Made) -> Vec<Moved> {
    let after = made.became.as_ref().map_or(&[][..], |(_, beside)| beside);
    let moved = made.beside.iter().filter_map(|before| {
        let after = after.iter().find(|after| after.address == before.address && after.value != before.value)?;
        let what = setting::beside_in_words(&before.address);
        Some(Moved { what, before: before.value.clone(), after: after.value.clone() })
    });
    moved.collect()
}

/// A setting that was changed, without a look at what it is now.
fn changed(made: &Made) -> Changed {
    Changed {
        place: made.change.place.clone(),
        called: None,
        prior: made.prior.clone(),
        new: made.change.new.clone(),
        now: None,
        undone: made.undone.clone(),
        moved: moved_besides(made),
    }
}

/// The same with what it is now.
fn present(made: &Made, ground: &Ground<'_>) -> Changed {
    let place = &made.change.place;
    let knob = find(&place.knob);
    let (called, now) = apply::present(ground, made).unzip();
    let called = called.and_then(|now| now.device).filter(|name| Some(name) != place.device.as_ref());
    let is = |now: &str, value: &str| knob.is_some_and(|knob| same(&knob.locator, now, value));
    let how = match &now {
        None => Now::Unread,
        Some(now) if is(now, &made.change.new) => Now::AsChanged,
        Some(now) if is(now, &made.prior) => Now::AsBefore,
        Some(_) => Now::Other,
    };
    Changed { called, now: Some((how, now.unwrap_or_default())), ..changed(made) }
}
