//! What was applied, and what settings are now.

use std::process::ExitCode;

use linerate_host::apply::{self, ApplyContext, can_be_confirmed, has_booted, since_boot_ms};
use linerate_host::journal::{JournalContent, JournalFolder, Made, UnreadableJournal};
use linerate_host::{Root, setting, watch};
use linerate_record::knob::same;
use linerate_record::lines::folded;
use linerate_report::tune::{self as report, Application, ApplicationState, Changed, CurrentValue, Moved, Problem};

use super::application::unknown;
use super::flags::LogFlags;
use crate::run::applications::{apply_context, root, state};
use crate::run::catalogue::find;
use crate::terminal::failure::{Failure, code};
use crate::terminal::printing;

/// Lines of the settings of an application, and of a list of applications, on a terminal.
const SETTINGS_LINES: usize = 14;
const LOG_LINES: usize = 25;

pub(super) fn status(all_settings: bool) -> Result<ExitCode, Failure> {
    let state = state()?;
    let mut all = open_applications(&state)?;
    if all.iter().any(is_unwatched) {
        // A watch ends right after it has done its work.
        all = open_applications(&state)?;
    }
    let (mut text, mut problems) = (String::new(), Vec::new());
    for reported in &all {
        let machine = root(reported.begin.root.as_deref());
        text.push_str(&report::application(&application_report(reported, &machine)));
        if has_booted(&machine, &reported.begin) {
            continue;
        }
        let id = || reported.begin.id.clone();
        if is_unwatched(reported) {
            text.push_str(report::UNWATCHED);
            problems.push(Problem::Unwatched { id: id() });
        }
        if reported.is_kept_in_part() {
            problems.push(Problem::KeptInPart { id: id() });
        }
        if let Some((_, _, left @ 1..)) = reported.closed {
            problems.push(Problem::NotRestored { id: id(), left });
        }
        let mut settings: Vec<Changed> =
            reported.made.iter().map(|made| present_setting(made, &apply_context(&machine, &state))).collect();
        if !all_settings && printing::columns().is_some() {
            settings.sort_by_key(|setting| matches!(setting.now, Some((CurrentValue::AsChanged, _))));
        }
        let settings: Vec<String> = settings.iter().map(report::changed).collect();
        text.push_str(&match printing::columns() {
            Some(columns) if !all_settings => report::first_rows(&settings, SETTINGS_LINES, columns, "more settings"),
            _ => settings.concat(),
        });
    }
    for UnreadableJournal { id, error } in state.unreadable()? {
        text.push_str(&report::unreadable(&id, &error.to_string()));
        problems.push(Problem::Unreadable { id });
    }
    if let Some(lost) = apply::lost(&Root::live()) {
        problems.push(Problem::JournalLost { id: lost.id.clone() });
        let apply::LostWatch { id, journals, wait_ms, file, .. } = lost;
        text.push_str(&report::lost(&report::LostJournal { id, journals, wait_ms, file }));
    }
    if text.is_empty() {
        text.push_str(if state.ids()?.is_empty() { report::NOTHING_WAS } else { report::NOTHING_IS });
    }
    print(&text)?;
    if problems.is_empty() {
        return Ok(ExitCode::SUCCESS);
    }
    Err(Failure::Tune { why: report::problems(&problems), code: code::UNCHANGED })
}

/// Prints, on a terminal in lines that fit it.
fn print(text: &str) -> Result<(), Failure> {
    printing::print(&printing::columns().map_or_else(|| text.to_owned(), |columns| folded(text, columns)))
}

/// What was applied last, and what somebody is to look at.
fn open_applications(state: &JournalFolder) -> Result<Vec<JournalContent>, Failure> {
    let mut all: Vec<JournalContent> = state.newest_open()?.journal.into_iter().collect();
    all.extend(state.newest(JournalContent::is_unsettled)?.journal);
    all.dedup_by(|one, other| one.begin.id == other.begin.id);
    Ok(all)
}

fn is_unwatched(reported: &JournalContent) -> bool {
    let has_booted = || has_booted(&root(reported.begin.root.as_deref()), &reported.begin);
    reported.is_pending() && !has_booted() && watch::is_watched(reported) == Some(false)
}

pub(super) fn log(flags: &LogFlags) -> Result<ExitCode, Failure> {
    let state = state()?;
    let mut text = String::new();
    if let Some(id) = flags.id.as_deref() {
        let reported = state.read(id).map_err(|error| unknown(id, error))?;
        let machine = root(reported.begin.root.as_deref());
        text.push_str(&report::application(&application_report(&reported, &machine)));
        for made in &reported.made {
            text.push_str(&report::changed(&changed_setting(made)));
        }
        text.push_str(&report::refused(&reported.refused));
    } else {
        let row = |id: &String| match state.read(id) {
            Ok(reported) => {
                let machine = root(reported.begin.root.as_deref());
                report::application(&application_report(&reported, &machine))
            }
            Err(error) => report::unreadable(id, &error.to_string()),
        };
        let rows: Vec<String> = state.ids()?.iter().map(row).collect();
        text.push_str(&match printing::columns() {
            Some(columns) if !flags.all => report::last_rows(&rows, LOG_LINES, columns, "older applications"),
            _ => rows.concat(),
        });
        if text.is_empty() {
            text.push_str(report::NOTHING_WAS);
        }
    }
    print(&text)?;
    Ok(ExitCode::SUCCESS)
}

fn application_report(reported: &JournalContent, machine: &Root) -> Application {
    let begin = &reported.begin;
    Application {
        id: begin.id.clone(),
        root: begin.root.clone(),
        profile: begin.profile.clone(),
        changes: reported.made.len(),
        application_state: application_state(reported, machine),
    }
}

fn application_state(reported: &JournalContent, machine: &Root) -> ApplicationState {
    if let Some((by, _, left)) = reported.closed {
        return ApplicationState::RolledBack {
            by,
            has_owner: reported.begin.owner.is_some(),
            left,
            given_up: reported.given_up(),
        };
    }
    match (reported.confirmed_ms, !has_booted(machine, &reported.begin)) {
        (Some(_), in_this_boot) => {
            ApplicationState::Confirmed { in_this_boot, is_rolling_back: in_this_boot && reported.is_rolling_back() }
        }
        (None, false) => ApplicationState::GoneWithBoot,
        (None, true) => ApplicationState::Waits {
            left_ms: reported.begin.deadline_since_boot_ms.saturating_sub(since_boot_ms()),
            is_rolling_back: reported.is_rolling_back(),
            is_whole: reported.is_applied,
            can_be_confirmed: can_be_confirmed(reported),
        },
    }
}

/// What has moved with a setting.
pub(super) fn moved_settings(made: &Made) -> Vec<Moved> {
    let after = made.became.as_ref().map_or(&[][..], |(_, alongside)| alongside);
    let moved = made.coupled.iter().filter_map(|before| {
        let after = after.iter().find(|after| after.locator == before.locator && after.value != before.value)?;
        let what = setting::alongside_in_words(&before.locator);
        Some(Moved { what, before: before.value.clone(), after: after.value.clone() })
    });
    moved.collect()
}

/// A setting that was changed, without a look at what it is now.
fn changed_setting(made: &Made) -> Changed {
    Changed {
        place: made.change.place.clone(),
        called: None,
        prior: made.prior.clone(),
        new: made.change.new.clone(),
        now: None,
        rolled_back: made.rolled_back.clone(),
        moved: moved_settings(made),
    }
}

/// The same with what it is now.
fn present_setting(made: &Made, apply_context: &ApplyContext<'_>) -> Changed {
    let place = &made.change.place;
    let knob = find(&place.knob);
    let (called, now) = apply::present(apply_context, made).unzip();
    let called = called.and_then(|now| now.device).filter(|name| Some(name) != place.device.as_ref());
    let is = |now: &str, value: &str| knob.is_some_and(|knob| same(&knob.locator, now, value));
    let how = match &now {
        None => CurrentValue::Unread,
        Some(now) if is(now, &made.change.new) => CurrentValue::AsChanged,
        Some(now) if is(now, &made.prior) => CurrentValue::AsBefore,
        Some(_) => CurrentValue::Other,
    };
    Changed { called, now: Some((how, now.unwrap_or_default())), ..changed_setting(made) }
}
