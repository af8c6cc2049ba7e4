//! `linerate bench`: the main job. Sets the run up, drives the load, leaves a run folder and a report.

pub(crate) mod alias;
mod canary;
mod client_counts;
mod clients;
mod deletion;
mod dry_run;
pub(crate) mod flags;
mod lost_clients;
mod objects;
mod open_run;
mod point_ending;
mod points;
mod preparation;
mod prerequisites;
mod recorder;
pub(crate) mod resolve;
mod resolved_load;
mod setup;
mod stored_check;
mod target_calls;
mod versioned_bucket;
mod versioning_check;
mod written_set;

use std::process::ExitCode;
use std::sync::atomic::AtomicBool;

use linerate_analysis::findings::{LeftAtTarget, left_behind, requests_failed, spoilt_by_others, threshold_missed};
use linerate_analysis::thresholds;
use linerate_analysis::view::View;
use linerate_load::bucket::{BucketError, Removal};
use linerate_record::finding::{Finding, FindingKind, Severity};
use linerate_record::sanitize::clause;
use linerate_record::shell;
use linerate_record::threshold::Threshold;
use linerate_report::dry_run::quick_look_beforehand;

use crate::files::{run_folder, run_view};
use crate::run::cleanup::bucket_contents_text;
use crate::run::{interrupt, machine_readings};
use crate::terminal::failure::{Failure, code};
use crate::terminal::progress::Progress;
use crate::terminal::{printing, progress};

use flags::{BenchFlags, Output};
use objects::RunObjects;
use open_run::OpenRun;
use points::{drive_series, measure_client_ceilings};
use prerequisites::RunContext;
use recorder::Recorder;
use setup::PreparedRun;

pub(crate) fn run(flags: &BenchFlags) -> Result<ExitCode, Failure> {
    let (load_description, notes) = resolve::resolve(flags)?;
    let (keys, output, fleet) = (&flags.keys, &flags.output, &flags.fleet);
    let run_context = RunContext { keys, output, fleet, yes_load: flags.target.yes_load };
    let prerequisites = prerequisites::gather(&load_description, &run_context)?;
    if flags.output.dry_run {
        printing::print(&dry_run::dry_run_text(
            &load_description,
            &prerequisites,
            notes,
            run_context.yes_load,
            printing::columns(),
        )?)?;
        return Ok(ExitCode::SUCCESS);
    }
    interrupt::end_before_load()?;
    if !flags.output.quiet {
        notes.iter().for_each(|note| progress::print_error(&format!("note: {note}")));
        let quick_look = quick_look_beforehand(&load_description).filter(|_| !flags.output.json);
        quick_look.iter().for_each(|text| progress::print_error(text));
    }
    let prepared = PreparedRun::prepare(load_description, run_context, prerequisites)?;
    // From here on there may be something to clear up, so that signals end the run in good order.
    let interrupt = interrupt::watch_and_tell(prepared.leftovers.clone())?;
    let mut run = OpenRun::open(prepared, &interrupt)?;
    let driven = drive_load(&mut run, &interrupt.stop);
    let required = run.clients.take().and_then(|clients| clients.fatal_loss());
    // Whatever became of the load, a bucket that was made for it goes.
    if let BucketEnding::RunLeftovers(found) = close_run_bucket(&run) {
        // That the folder takes no more is reported by what is read of it next.
        let _ = run_folder::open_lines(&run.prepared.folder, "findings.jsonl").and_then(|mut lines| lines.push(&found));
    }
    driven?;
    let finished = print_result(&flags.output, &run, interrupt::is_set(&interrupt.signalled));
    let Some(required) = required else { return finished };
    say_where_folder_is(&run, run_view::read_view_with_site(&run.prepared.folder).ok().as_ref());
    // What was interrupted, failed or missed goes before a client that was lost.
    let goes_before = |failure: &Failure| {
        [code::INTERRUPTED, code::REQUESTS, code::MISSED, code::DISTURBED].contains(&failure.code())
    };
    Err(finished.err().filter(goes_before).unwrap_or(required))
}

/// Where to find what a run has that ends with an error.
fn say_where_folder_is(run: &OpenRun<'_>, view: Option<&View>) {
    progress::print_error(&if view.is_some_and(has_figures) {
        format!("see the measurements so far with linerate report {}", shell::path(&run.prepared.folder))
    } else {
        format!("nothing was measured; the folder of the run is {}", run.prepared.folder.display())
    });
}

/// What became of a bucket that the run made.
enum BucketEnding {
    /// The run made none, or removes none, or that was reported already.
    Stays,
    /// It is gone, with whatever was in it.
    Gone,
    /// It remains, and that is no failure: others use it by now.
    InUse,
    /// It remains, or may.
    RunLeftovers(Finding),
}

/// Removes the bucket where the run made it. One that others use by now is theirs; one that the target does not let go,
/// or in which something of the run still is, is left behind.
fn close_run_bucket(run: &OpenRun<'_>) -> BucketEnding {
    let closed = match run.close_bucket() {
        None => return BucketEnding::Stays,
        Some(Ok(Removal::Removed)) => return BucketEnding::Gone,
        Some(_) if run.prepared.has_own_target() => return BucketEnding::Stays,
        Some(closed) => closed,
    };
    let name = &run.prepared.session.bucket;
    let (left, why) = match closed {
        Err(error) => {
            let (name, why) = (name.clone(), error.to_string());
            // A call that was not made took nothing away.
            let is_known = error.is_an_answer() || matches!(error, BucketError::Unmade(_));
            let left = if is_known { LeftAtTarget::Bucket(name, why) } else { LeftAtTarget::UnseenBucket(name, why) };
            (Some((is_known, left)), error.to_string())
        }
        Ok(Removal::Removed) => return BucketEnding::Gone,
        Ok(Removal::Kept(found)) => {
            let why = bucket_contents_text(&found, &run.prepared.session.run_prefix);
            // What keeps a bucket is somebody's only where it is seen: before, the bucket is what this run left.
            let is_ours = found.own || found.is_unseen();
            (is_ours.then(|| (true, LeftAtTarget::Bucket(name.clone(), why.clone()))), why)
        }
    };
    let is_known = left.as_ref().is_none_or(|(is_known, _)| *is_known);
    let (leftovers, cleanup_command) = (if is_known { "remains" } else { "may remain" }, run.cleanup_command());
    progress::print_error(&format!(
        "warning: bucket {name:?}, which this run created, {leftovers} at the target: {}; {cleanup_command} removes \
         it once it is empty",
        clause(&why)
    ));
    left.map_or(BucketEnding::InUse, |(_, left)| BucketEnding::RunLeftovers(objects::leftover_finding(run, &left)))
}

/// Drives the load into a run folder; clears up whatever happens.
fn drive_load(run: &mut OpenRun, interrupted: &AtomicBool) -> Result<(), Failure> {
    if interrupt::is_set(interrupted) {
        return Err(Failure::Interrupted);
    }
    let (folder, mut manifest) = run.begin_folder()?;
    run.make_bucket(&mut manifest)?;
    let run = &*run;
    let progress =
        Progress::new(run.prepared.expected_duration(), run.prepared.output.quiet || run.prepared.output.json);
    // Where clients load, their machines are read, and not this one.
    let reader = match &run.clients {
        None => Some(machine_readings::start(
            &folder.path,
            run.prepared.clock,
            run.prepared.expected_duration(),
            run.prepared.local_target(),
        )?),
        Some(clients) => {
            clients.write_readings(run_folder::open_lines(&folder.path, "readings.jsonl")?)?;
            None
        }
    };
    let mut objects = RunObjects::new(run);
    let mut recorder = Recorder::new(folder, manifest, run);
    let mut run_context = None;
    let driven = measure_client_ceilings(run, interrupted, &progress, &mut recorder)
        .and_then(|()| canary::start(run, &mut objects, interrupted, &progress))
        .map(|started| run_context = started)
        .and_then(|()| {
            run_context.iter().for_each(|canary| recorder.stop_on(canary.tripped.clone()));
            drive_series(run, interrupted, &progress, &mut recorder, &mut objects)
        });
    let watched = run_context.map_or(Ok(None), |canary| canary.stop(&mut objects));
    let mut findings = objects.clear_all(&progress);
    progress.end();
    let closed = close_run_bucket(run);
    if matches!(closed, BucketEnding::Gone) {
        // What was in it, or may have come into it later, has gone with it.
        findings.retain(|found| found.kind != FindingKind::LeftBehind);
    }
    let is_left = matches!(closed, BucketEnding::RunLeftovers(_) | BucketEnding::InUse)
        || findings.iter().any(|found| found.kind == FindingKind::LeftBehind);
    if !is_left {
        run.prepared.leftovers.set(None);
    }
    for left in findings.iter().filter(|f| f.severity >= Severity::Warning) {
        // Told even with --quiet: somebody's bucket holds what it did not before.
        let lead = if left.severity == Severity::Critical { "error" } else { "warning" };
        progress::print_error(&format!("{lead}: {}: {}; {}", left.claim, clause(&left.evidence), left.remedy));
    }
    // That is reported already.
    findings.extend(if let BucketEnding::RunLeftovers(found) = closed { Some(found) } else { None });
    let unreadable = reader.map_or(Ok(Vec::new()), machine_readings::ReadingThread::stop);
    findings.extend(unreadable.as_ref().map(Clone::clone).unwrap_or_default());
    let caught_up = run.clients.as_ref().map_or(Ok(()), clients::ClientFleet::catch_up);
    findings.extend(run.clients.iter().flat_map(|clients| clients.findings(None)));
    let recorded = findings.iter().try_for_each(|finding| recorder.finding(finding));
    let watched = watched.and_then(|found| found.map_or(Ok(()), |finding| recorder.finding(&finding)));
    let ended = driven.and(watched).and(recorded).and(caught_up).and(unreadable.map(|_| ()));
    if ended.is_err() {
        // What was measured before is worth reading; that it could not be rendered matters less than why the load
        // ended.
        let view = run_view::read_view_with_site(&run.prepared.folder).ok();
        view.iter().for_each(|view| drop(run_view::write_html(&run.prepared.folder, view)));
        say_where_folder_is(run, view.as_ref());
    }
    ended
}

/// Whether a point has figures.
fn has_figures(view: &View) -> bool {
    view.series.iter().any(|series| !series.points.is_empty())
}

fn print_result(output: &Output, run: &OpenRun, interrupted: bool) -> Result<ExitCode, Failure> {
    let view = run_view::read_view_with_site(&run.prepared.folder)?;
    // Printed before a file is written: a disk that is full now must not keep the figures from being seen.
    let printed = if output.json {
        printing::print(&linerate_report::json(&view))
    } else if !output.quiet {
        printing::print(&linerate_report::terminal::render(&view, output.why, printing::text_style()))
    } else {
        Ok(())
    };
    let html = run_view::write_html(&run.prepared.folder, &view)?;
    printed?;
    if !output.json && !output.quiet {
        printing::print(&linerate_report::terminal::page_written(&html))?;
        if !output.why {
            printing::print(&linerate_report::terminal::more_with_why(&run.prepared.folder))?;
        }
    }
    let missed = || missed_thresholds(&view, &output.fail_if);
    outcome(&view, run, interrupted).or_else(missed).map_or(Ok(ExitCode::SUCCESS), Err)
}

/// Thresholds of `--fail-if` that the run misses. One that it has no figure for was refused before the run.
fn missed_thresholds(view: &View, thresholds: &[Threshold]) -> Option<Failure> {
    let held = thresholds::held(view, thresholds).unwrap_or_default();
    thresholds::missed(&held).map(|why| Failure::Outcome { why, code: code::MISSED })
}

/// What the run ends with where that is no success: one line, the last, also with --quiet.
fn outcome(view: &View, run: &OpenRun, interrupted: bool) -> Option<Failure> {
    let (folder, typed) = (run.prepared.folder.display(), shell::path(&run.prepared.folder));
    if interrupted {
        let why = match has_figures(view) {
            true => format!("interrupted; see the measurements so far with linerate report {typed}"),
            false => format!("interrupted; nothing was measured; the folder of the run is {folder}"),
        };
        return Some(Failure::Outcome { why, code: code::INTERRUPTED });
    }
    let failed = requests_failed(view).map(|found| (found, code::REQUESTS));
    let missed = || threshold_missed(view).map(|found| (found, code::MISSED));
    let spoilt = || spoilt_by_others(view).map(|found| (found, code::DISTURBED));
    let left = || left_behind(view).map(|found| (found, code::TARGET));
    let (found, code) = failed.or_else(spoilt).or_else(missed).or_else(left)?;
    let to_do = if code == code::TARGET { found.remedy.clone() } else { format!("see linerate report {typed}") };
    // What was said as it was found is not said twice: the last line is why the run ends as it does.
    let is_reported = matches!(found.kind, FindingKind::LeftBehind | FindingKind::NotStored);
    let evidence =
        if is_reported || found.evidence.is_empty() { String::new() } else { format!(": {}", clause(&found.evidence)) };
    Some(Failure::Outcome { why: format!("{}{evidence}; {to_do}", found.claim), code })
}
