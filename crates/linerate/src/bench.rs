//! `linerate bench`: the main job. Sets the run up, drives the grid, leaves a run folder and a report.

mod canary;
mod objects;
mod parts;
mod points;
mod setup;
mod steps;

use std::process::ExitCode;
use std::sync::atomic::AtomicBool;

use linerate_analysis::findings::{requests_failed, threshold_missed};
use linerate_record::finding::Severity;

use crate::cli::BenchFlags;
use crate::failure::{Failure, code};
use crate::progress::Progress;
use crate::{interrupt, progress, readings, report};

use objects::Objects;
use points::{Recorder, ceilings, measure};
use setup::Setup;

pub(crate) fn run(flags: &BenchFlags) -> Result<ExitCode, Failure> {
    let mut setup = Setup::make(flags)?;
    // From here on there may be something to clear up, so that signals end the run in good order.
    let interrupt = interrupt::watch()?;
    let driven = setup.open_bucket().and_then(|()| load(&mut setup, flags, &interrupt.stop));
    // Whatever became of the load, a bucket that was made for it goes.
    match setup.close_bucket() {
        Ok(true) => {}
        Ok(false) => progress::say("warning: the bucket of this run remains at the target: it is not empty"),
        Err(error) => progress::say(&format!("warning: the bucket of this run remains at the target: {error}")),
    }
    driven?;
    finish(flags, &setup, interrupt::came(&interrupt.signalled))
}

/// Drives the grid into a run folder; clears up whatever happens.
fn load(setup: &mut Setup, flags: &BenchFlags, interrupted: &AtomicBool) -> Result<(), Failure> {
    if interrupt::came(interrupted) {
        return Err(Failure::Interrupted);
    }
    let (folder, mut manifest) = setup.begin_folder()?;
    setup.make_bucket(&mut manifest)?;
    let setup = &*setup;
    let progress = Progress::new(setup.expected(), flags.output.quiet || flags.output.json);
    let reader = readings::start(&folder.path, setup.clock, setup.expected())?;
    let mut objects = Objects::new(setup);
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
    for left in findings.iter().filter(|f| f.severity >= Severity::Warning) {
        // Told even with --quiet: somebody's bucket holds what it did not before.
        progress::say(&format!("warning: {}: {}; {}", left.claim, left.evidence, left.remedy));
    }
    let unreadable = reader.stop();
    findings.extend(unreadable.as_ref().map(Clone::clone).unwrap_or_default());
    let recorded = findings.iter().try_for_each(|finding| recorder.finding(finding));
    let watched = watched.and_then(|found| found.map_or(Ok(()), |finding| recorder.finding(&finding)));
    let ended = driven.and(watched).and(recorded).and(unreadable.map(|_| ()));
    if ended.is_err() {
        // What was measured before is worth reading; that it could not be rendered matters less than why the load
        // ended.
        let _ = report::view_of(&setup.folder).and_then(|view| report::write_html(&setup.folder, &view));
        progress::say(&format!("what was measured until then: linerate report {}", setup.folder.display()));
    }
    ended
}

fn finish(flags: &BenchFlags, setup: &Setup, interrupted: bool) -> Result<ExitCode, Failure> {
    let view = report::view_of(&setup.folder)?;
    // Printed before a file is written: a disk that is full now must not keep the figures from being seen.
    if flags.output.json {
        report::print(&linerate_report::json(&view))?;
    } else if !flags.output.quiet {
        report::print(&linerate_report::terminal::render(&view, report::look()))?;
    }
    let html = report::write_html(&setup.folder, &view)?;
    if !flags.output.json && !flags.output.quiet {
        report::print(&format!("\n report  {}\n", html.display()))?;
    }
    Ok(ExitCode::from(if interrupted {
        code::INTERRUPTED
    } else if requests_failed(&view) {
        code::REQUESTS
    } else if threshold_missed(&view) {
        code::MISSED
    } else {
        0
    }))
}
