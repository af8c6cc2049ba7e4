//! `linerate clean`: deletes what a run left at its target.

pub(crate) mod flags;

use std::process::ExitCode;

use linerate_record::experiment::KeySource;
use linerate_record::load::TlsTrust;

use crate::credentials::keys;
use crate::credentials::keys::alias;
use crate::files::run_folder;
use crate::run::cleanup::{self, CleanupRequest, clean};
use crate::run::{interrupt, point_timing};
use crate::terminal::failure::Failure;
use crate::terminal::printing;
use flags::CleanFlags;

/// What is wrong with the folder that the flags name.
pub(crate) fn check(flags: &CleanFlags) -> Result<(), Failure> {
    let timeout = point_timing::timeout_error(flags.timeout).map(Failure::usage);
    match (timeout, run_folder::read_owned_manifest(&flags.run)) {
        (None, Ok(_)) => Ok(()),
        (timeout, manifest) => Err(Failure::combine([timeout, manifest.err()])),
    }
}

pub(crate) fn run(flags: &CleanFlags) -> Result<ExitCode, Failure> {
    if let Some(why) = point_timing::timeout_error(flags.timeout) {
        return Err(Failure::usage(why));
    }
    let trust = TlsTrust { insecure: flags.insecure, ca_file: flags.ca_file.clone() };
    let named = flags.alias.clone().map_or_else(|| flags.keys.source(), KeySource::Alias);
    let command = cleanup::command(&flags.run, &trust, flags.keys.anonymous, &named);
    let what = if flags.dry_run { "nothing was deleted" } else { "objects of the run may remain at the target" };
    interrupt::end_at_once(format!("error: interrupted: {what}; clean again: {command}"))?;
    let order = CleanupRequest {
        run: &flags.run,
        dry_run: flags.dry_run,
        yes_load: flags.yes_load,
        remove_bucket: flags.remove_bucket,
        source: flags.source.as_deref(),
        trust,
        timeout: flags.timeout,
        region: flags.keys.region.as_deref(),
        consented: Vec::new(),
        command,
    };
    let (said, left) = clean(&order, |aim| match &flags.alias {
        Some(alias) => keys::find_signing(&alias::keys_for_hosts(alias, &aim.authorities(), aim.tls)?),
        None => keys::find_signing(&flags.keys),
    })?;
    printing::print(&said)?;
    left.map_or(Ok(ExitCode::SUCCESS), Err)
}
