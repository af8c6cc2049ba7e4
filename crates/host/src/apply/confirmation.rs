//! What becomes of an application that waits: it is kept, put off, or was never begun and shall not be.

use std::time::Duration;

use linerate_record::journal::{Begin, JournalLine, RolledBackBy};

use super::rollback::{is_now, settle};
use super::{ApplyContext, ApplyTerms, TuneError, begin, has_booted, lock, since_boot_ms, unix_ms};
use crate::journal::{Journal, JournalContent};
use crate::{owner, pending};

/// Keeps the changes of the application that waits.
///
/// # Errors
/// Where none waits, it waits no more, it has an owner, or it was not gone through to its end.
pub fn confirm(apply_context: &ApplyContext<'_>) -> Result<JournalContent, TuneError> {
    kept(apply_context, None)
}

/// The same of the application of this name, and of no other.
///
/// # Errors
/// As of [`confirm`], and where another waits.
pub fn confirm_only(apply_context: &ApplyContext<'_>, id: &str) -> Result<JournalContent, TuneError> {
    kept(apply_context, Some(id))
}

fn kept(apply_context: &ApplyContext<'_>, id: Option<&str>) -> Result<JournalContent, TuneError> {
    let _lock = lock(apply_context)?;
    let (reported, mut journal) = confirmable(apply_context, id)?;
    let id = &reported.begin.id;
    journal.append(&JournalLine::Confirmed { at_ms: unix_ms() })?;
    pending::end(apply_context, id);
    apply_context.state.read(id)
}

/// Puts off the instant at which the application of this name is rolled back, to so long from now, and never to an
/// earlier one. That it can be shows that its journal can be written, and that it could be confirmed now.
///
/// # Errors
/// As of [`confirm_only`]; then the instant is as it was.
pub fn extend(apply_context: &ApplyContext<'_>, id: &str, within: Duration) -> Result<JournalContent, TuneError> {
    let _lock = lock(apply_context)?;
    let (reported, mut journal) = confirmable(apply_context, Some(id))?;
    let within_ms = u64::try_from(within.as_millis()).unwrap_or(u64::MAX);
    let later_ms = since_boot_ms().saturating_add(within_ms);
    let deadline_since_boot_ms = reported.begin.deadline_since_boot_ms.max(later_ms);
    // Who finds its journal gone waits for the watch until then.
    pending::begin(apply_context, &Begin { deadline_since_boot_ms, ..reported.begin })?;
    journal.append(&JournalLine::Extended { deadline_since_boot_ms, at_ms: Some(unix_ms()) })?;
    apply_context.state.read(id)
}

/// Sees to it that nothing is changed under names of which something is so: what was begun under one of them is given,
/// and where nothing was, a journal is begun and closed, with the reason where there is one, which whoever comes later
/// finds.
///
/// # Errors
/// Where that cannot be written, or another linerate changes settings: then something may be changed yet.
pub fn forbid(
    apply_context: &ApplyContext<'_>,
    terms: &ApplyTerms,
    profile: &str,
    why: Option<&str>,
    is_one: &dyn Fn(&str) -> bool,
) -> Result<Option<JournalContent>, TuneError> {
    let _lock = lock(apply_context)?;
    if let Some(id) = apply_context.state.ids()?.into_iter().rev().find(|id| is_one(id)) {
        return match apply_context.state.read(&id) {
            // It was cut before its first line was whole: nothing was changed under its name, and nothing will be.
            Err(TuneError::Empty { .. }) => Ok(None),
            reported => reported.map(Some),
        };
    }
    let begin = begin(apply_context.root, profile, terms)?;
    let mut journal = Journal::begin(apply_context.state, &begin)?;
    let why = why.map(str::to_owned);
    journal.append(&JournalLine::Closed { by: RolledBackBy::Unchanged, at_ms: unix_ms(), left: 0, why })?;
    Ok(None)
}

/// The application that waits, and its journal to go on with, under the lock.
fn confirmable(apply_context: &ApplyContext<'_>, named: Option<&str>) -> Result<(JournalContent, Journal), TuneError> {
    let is_meant = |reported: &JournalContent| named.is_none_or(|named| named == reported.begin.id);
    let found = settle(apply_context)?;
    // Of the one that is named, what it says itself counts.
    let waits = if named.is_some() { found.journal } else { found.known()? };
    let reported = match waits {
        Some(reported) if is_meant(&reported) => reported,
        _ => {
            let folder = apply_context.state.path().display();
            let what = named.map_or("no changes are".to_owned(), |named| format!("{named} is not"));
            return Err(TuneError::Nothing(format!("{what} pending in the journals in {folder}")));
        }
    };
    let id = &reported.begin.id;
    if has_booted(apply_context.root, &reported.begin) {
        let why = "the machine has been rebooted since, which reset its run-time settings";
        return Err(TuneError::Nothing(format!("{id} cannot be confirmed: {why}; apply the file again")));
    }
    if let Some(owner) = reported.begin.owner {
        let pid = owner.pid;
        let why =
            if owner::is_gone(owner) { "has ended: they are being rolled back" } else { "rolls them back itself" };
        return Err(TuneError::Nothing(format!(
            "{id} cannot be confirmed: its changes are process {pid}'s, which {why}"
        )));
    }
    if !reported.is_applied {
        let why = "it ended before all changes were made";
        return Err(TuneError::Nothing(format!(
            "{id} cannot be confirmed: {why}; roll it back: linerate tune rollback"
        )));
    }
    if reported.is_rolling_back() {
        let why = "it is partly rolled back";
        return Err(TuneError::Nothing(format!("{id} cannot be confirmed: {why}; finish with linerate tune rollback")));
    }
    // Where the disk was full, nothing else tells that it was rolled back.
    if reported.made.iter().all(|made| is_now(apply_context, made, &made.prior)) {
        let why = "each of its settings is as it was before";
        return Err(TuneError::Nothing(format!("{id} cannot be confirmed: {why}; finish with linerate tune rollback")));
    }
    // Opened before the time is looked at: where somebody rolls it back from here on, the line is refused.
    let journal = Journal::resume(apply_context.state, id)?;
    if since_boot_ms() >= reported.begin.deadline_since_boot_ms || apply_context.state.read(id)? != reported {
        return Err(TuneError::Nothing(format!(
            "{id} cannot be confirmed: its time is over, and it is being rolled back"
        )));
    }
    Ok((reported, journal))
}
