//! `linerate bench`: the main job. Sets the run up, drives the grid, leaves a run folder and a report.

mod objects;
mod points;
mod setup;

use std::process::ExitCode;

use linerate_analysis::limits::requests_failed;

use crate::cli::BenchFlags;
use crate::failure::{Failure, code};
use crate::progress::Progress;
use crate::{interrupt, readings, report};

use objects::Objects;
use points::{Recorder, ceilings, measure};
use setup::Setup;

pub(crate) fn run(flags: &BenchFlags) -> Result<ExitCode, Failure> {
    let interrupted = interrupt::watch()?;
    let mut setup = Setup::make(flags)?;
    setup.open_bucket()?;
    if interrupt::came(&interrupted) {
        setup.close_bucket()?;
        return Err(Failure::Interrupted);
    }
    let (folder, manifest) = setup.begin_folder()?;
    let progress = Progress::new(setup.expected(), flags.output.quiet || flags.output.json);
    let reader = readings::start(&folder.path, setup.clock, setup.expected())?;
    let mut objects = Objects::new(&setup);
    let mut recorder = Recorder::new(folder, manifest, setup.clock);

    let driven = ceilings(&setup, &interrupted, &progress, &mut recorder)
        .and_then(|()| measure(&setup, &interrupted, &progress, &mut recorder, &mut objects));
    // Whatever became of the load, what was written is cleared and what was measured is kept.
    for finding in objects.clear_all(&progress) {
        recorder.finding(&finding)?;
    }
    if let Err(error) = setup.close_bucket() {
        recorder.finding(&objects::left_behind(&setup, &error.to_string()))?;
    }
    for finding in reader.stop()? {
        recorder.finding(&finding)?;
    }
    progress.end();
    driven?;
    finish(flags, &setup, interrupt::came(&interrupted))
}

fn finish(flags: &BenchFlags, setup: &Setup, interrupted: bool) -> Result<ExitCode, Failure> {
    let view = report::view_of(&setup.folder)?;
    let html = report::write_html(&setup.folder, &view)?;
    if flags.output.json {
        report::print(&linerate_report::json(&view))?;
    } else if !flags.output.quiet {
        report::print(&linerate_report::terminal::render(&view, report::look()))?;
        report::print(&format!("\n report  {}\n", html.display()))?;
    }
    Ok(ExitCode::from(if interrupted {
        code::INTERRUPTED
    } else if requests_failed(&view) {
        code::REQUESTS
    } else {
        0
    }))
}
