//! `linerate bench`: the main job. Sets the run up, drives the load, leaves a run folder and a report.

pub(crate) mod alias;
mod beforehand;
mod canary;
mod clients;
mod counts;
pub(crate) mod flags;
mod foretold;
mod kept;
mod losses;
mod needs;
mod objects;
mod points;
mod recorder;
pub(crate) mod resolve;
mod resolved;
mod setup;
mod stored;

use std::process::ExitCode;
use std::sync::atomic::AtomicBool;

use linerate_analysis::findings::{LeftAtTarget, left_behind, requests_failed, threshold_missed};
use linerate_analysis::view::View;
use linerate_load::bucket::{BucketError, Removal};
use linerate_record::finding::{Finding, FindingKind, Severity};
use linerate_record::shell;
use linerate_record::shown::clause;

use crate::cleaning::in_words;
use crate::failure::{Failure, code};
use crate::progress::Progress;
use crate::{folder, interrupt, printing, progress, readings, views};

use flags::{BenchFlags, Output};
use objects::RunObjects;
use points::{ceilings, measure};
use recorder::Recorder;
use setup::{RunContext, Setup};

pub(crate) fn run(flags: &BenchFlags) -> Result<ExitCode, Failure> {
    let (asked, notes) = resolve::resolve(flags)?;
    let (keys, output, fleet) = (&flags.keys, &flags.output, &flags.fleet);
    let beside = RunContext { keys, output, fleet, yes_load: flags.target.yes_load };
    let needs = needs::find(&asked, &beside)?;
    if flags.output.dry_run {
        printing::print(&foretold::dry_run_text(&asked, &needs, notes, beside.yes_load, printing::columns())?)?;
        return Ok(ExitCode::SUCCESS);
    }
    interrupt::before_the_load()?;
    if !flags.output.quiet {
        notes.iter().for_each(|note| progress::say(&format!("note: {note}")));
    }
    let mut setup = Setup::make(asked, beside, needs)?;
    // From here on there may be something to clear up, so that signals end the run in good order.
    let interrupt = interrupt::watch_and_tell(setup.remains.clone())?;
    setup.heed(&interrupt.signalled);
    let opened = setup.open_bucket().map_err(|failure| setup.of_this_machine(failure));
    let met = opened.and_then(|()| setup.meet_clients(&interrupt.stop));
    let driven = met.and_then(|()| load(&mut setup, &interrupt.stop));
    let required = setup.clients.take().and_then(|clients| clients.required());
    // Whatever became of the load, a bucket that was made for it goes.
    if let Closed::Remains(found) = close(&setup) {
        // That the folder takes no more is told by what is read of it next.
        let _ = folder::lines(&setup.folder, "findings.jsonl").and_then(|mut lines| lines.push(&found));
    }
    driven?;
    let finished = finish(&flags.output, &setup, interrupt::came(&interrupt.signalled));
    let Some(required) = required else { return finished };
    tell_folder(&setup, views::view_beside_site(&setup.folder).ok().as_ref());
    // What was interrupted, failed or missed goes before a client that was lost.
    let goes_before = |failure: &Failure| [code::INTERRUPTED, code::REQUESTS, code::MISSED].contains(&failure.code());
    Err(finished.err().filter(goes_before).unwrap_or(required))
}

/// Where to find what a run has that ends with an error.
fn tell_folder(setup: &Setup<'_>, view: Option<&View>) {
    progress::say(&if view.is_some_and(has_figures) {
        format!("see the measurements so far with linerate report {}", shell::path(&setup.folder))
    } else {
        format!("nothing was measured; the folder of the run is {}", setup.folder.display())
    });
}

/// What became of a bucket that the run made.
enum Closed {
    /// The run made none, or removes none, or that was told already.
    Stays,
    /// It is gone, with whatever was in it.
    Gone,
    /// It remains, and that is no failure: others use it by now.
    InUse,
    /// It remains, or may.
    Remains(Finding),
}

/// Removes the bucket where the run made it. One that others use by now is theirs; one that the target does not let go,
/// or in which something of the run still is, is left behind.
fn close(setup: &Setup<'_>) -> Closed {
    let closed = match setup.close_bucket() {
        None => return Closed::Stays,
        Some(Ok(Removal::Removed)) => return Closed::Gone,
        Some(_) if setup.has_own_target() => return Closed::Stays,
        Some(closed) => closed,
    };
    let name = &setup.session.bucket;
    let (left, why) = match closed {
        Err(error) => {
            let (name, why) = (name.clone(), error.to_string());
            // A call that was not made took nothing away.
            let is_known = error.is_an_answer() || matches!(error, BucketError::Unmade(_));
            let left = if is_known { LeftAtTarget::Bucket(name, why) } else { LeftAtTarget::UnseenBucket(name, why) };
            (Some((is_known, left)), error.to_string())
        }
        Ok(Removal::Removed) => return Closed::Gone,
        Ok(Removal::Kept(found)) => {
            let why = in_words(&found, &setup.session.run_prefix);
            // What keeps a bucket is somebody's only where it is seen: before, the bucket is what this run left.
            let is_ours = found.own || found.is_unseen();
            (is_ours.then(|| (true, LeftAtTarget::Bucket(name.clone(), why.clone()))), why)
        }
    };
    let is_known = left.as_ref().is_none_or(|(is_known, _)| *is_known);
    let (remains, cleaning) = (if is_known { "remains" } else { "may remain" }, objects::cleaning(setup));
    progress::say(&format!(
        "warning: bucket {name:?}, which this run created, {remains} at the target: {}; {cleaning} removes it once it \
         is empty",
        clause(&why)
    ));
    left.map_or(Closed::InUse, |(_, left)| Closed::Remains(objects::remaining(setup, &left)))
}

/// Drives the load into a run folder; clears up whatever happens.
fn load(setup: &mut Setup, interrupted: &AtomicBool) -> Result<(), Failure> {
    if interrupt::came(interrupted) {
        return Err(Failure::Interrupted);
    }
    let (folder, mut manifest) = setup.begin_folder()?;
    setup.make_bucket(&mut manifest)?;
    let setup = &*setup;
    let progress = Progress::new(setup.expected(), setup.output.quiet || setup.output.json);
    // Where clients load, their machines are read, and not this one.
    let reader = match &setup.clients {
        None => Some(readings::start(&folder.path, setup.clock, setup.expected(), setup.target_here())?),
        Some(clients) => {
            clients.write_readings(folder::lines(&folder.path, "readings.jsonl")?)?;
            None
        }
    };
    let mut objects = RunObjects::new(setup);
    let mut recorder = Recorder::new(folder, manifest, setup);
    let mut beside = None;
    let driven = ceilings(setup, interrupted, &progress, &mut recorder)
        .and_then(|()| canary::start(setup, &mut objects, interrupted, &progress))
        .map(|started| beside = started)
        .and_then(|()| {
            beside.iter().for_each(|canary| recorder.heed(canary.tripped.clone()));
            measure(setup, interrupted, &progress, &mut recorder, &mut objects)
        });
    let watched = beside.map_or(Ok(None), |canary| canary.stop(&mut objects));
    let mut findings = objects.clear_all(&progress);
    progress.end();
    let closed = close(setup);
    if matches!(closed, Closed::Gone) {
        // What was in it, or may have come into it later, has gone with it.
        findings.retain(|found| found.kind != FindingKind::LeftBehind);
    }
    let is_left = matches!(closed, Closed::Remains(_) | Closed::InUse)
        || findings.iter().any(|found| found.kind == FindingKind::LeftBehind);
    if !is_left {
        setup.remains.set(None);
    }
    for left in findings.iter().filter(|f| f.severity >= Severity::Warning) {
        // Told even with --quiet: somebody's bucket holds what it did not before.
        let lead = if left.severity == Severity::Critical { "error" } else { "warning" };
        progress::say(&format!("{lead}: {}: {}; {}", left.claim, clause(&left.evidence), left.remedy));
    }
    // That is told already.
    findings.extend(if let Closed::Remains(found) = closed { Some(found) } else { None });
    let unreadable = reader.map_or(Ok(Vec::new()), readings::ReadingThread::stop);
    findings.extend(unreadable.as_ref().map(Clone::clone).unwrap_or_default());
    let caught_up = setup.clients.as_ref().map_or(Ok(()), clients::BenchClients::catch_up);
    findings.extend(setup.clients.iter().flat_map(|clients| clients.findings(None)));
    let recorded = findings.iter().try_for_each(|finding| recorder.finding(finding));
    let watched = watched.and_then(|found| found.map_or(Ok(()), |finding| recorder.finding(&finding)));
    let ended = driven.and(watched).and(recorded).and(caught_up).and(unreadable.map(|_| ()));
    if ended.is_err() {
        // What was measured before is worth reading; that it could not be rendered matters less than why the load
        // ended.
        let view = views::view_beside_site(&setup.folder).ok();
        view.iter().for_each(|view| drop(views::write_html(&setup.folder, view)));
        tell_folder(setup, view.as_ref());
    }
    ended
}

/// Whether a point has figures.
fn has_figures(view: &View) -> bool {
    view.series.iter().any(|series| !series.points.is_empty())
}

fn finish(output: &Output, setup: &Setup, interrupted: bool) -> Result<ExitCode, Failure> {
    let view = views::view_beside_site(&setup.folder)?;
    // Printed before a file is written: a disk that is full now must not keep the figures from being seen.
    let printed = if output.json {
        printing::print(&linerate_report::json(&view))
    } else if !output.quiet {
        printing::print(&linerate_report::terminal::render(&view, printing::look()))
    } else {
        Ok(())
    };
    let html = views::write_html(&setup.folder, &view)?;
    printed?;
    if !output.json && !output.quiet {
        printing::print(&linerate_report::terminal::page_written(&html))?;
    }
    outcome(&view, setup, interrupted).map_or(Ok(ExitCode::SUCCESS), Err)
}

/// What the run ends with where that is no success: one line, the last, also with --quiet.
fn outcome(view: &View, setup: &Setup, interrupted: bool) -> Option<Failure> {
    let run = shell::path(&setup.folder);
    if interrupted {
        let why = match has_figures(view) {
            true => format!("interrupted; see the measurements so far with linerate report {run}"),
            false => format!("interrupted; nothing was measured; the folder of the run is {}", setup.folder.display()),
        };
        return Some(Failure::Outcome { why, code: code::INTERRUPTED });
    }
    let failed = requests_failed(view).map(|found| (found, code::REQUESTS));
    let missed = || threshold_missed(view).map(|found| (found, code::MISSED));
    let left = || left_behind(view).map(|found| (found, code::TARGET));
    let (found, code) = failed.or_else(missed).or_else(left)?;
    let to_do = if code == code::TARGET { found.remedy.clone() } else { format!("see linerate report {run}") };
    // What was said as it was found is not said twice: the last line is why the run ends as it does.
    let is_told = matches!(found.kind, FindingKind::LeftBehind | FindingKind::NotStored);
    let evidence =
        if is_told || found.evidence.is_empty() { String::new() } else { format!(": {}", clause(&found.evidence)) };
    Some(Failure::Outcome { why: format!("{}{evidence}; {to_do}", found.claim), code })
}
