//! `linerate clean`: deletes what a run left at its target.

pub(crate) mod flags;

use std::process::ExitCode;

use linerate_record::experiment::KeySource;
use linerate_record::load::TlsTrust;

use crate::cleaning::{self, CleaningOrder, clean};
use crate::credentials::alias;
use crate::failure::Failure;
use crate::{credentials, folder, interrupt, printing, timing};
use flags::CleanFlags;

/// What is wrong with the folder that the flags name.
pub(crate) fn check(flags: &CleanFlags) -> Result<(), Failure> {
    let timeout = timing::too_short(flags.timeout).map(Failure::usage);
    match (timeout, folder::read_own_manifest(&flags.run)) {
        (None, Ok(_)) => Ok(()),
        (timeout, manifest) => Err(Failure::all_of([timeout, manifest.err()])),
    }
}

pub(crate) fn run(flags: &CleanFlags) -> Result<ExitCode, Failure> {
    if let Some(why) = timing::too_short(flags.timeout) {
        return Err(Failure::usage(why));
    }
    let trust = TlsTrust { insecure: flags.insecure, ca_file: flags.ca_file.clone() };
    let named = flags.alias.clone().map_or_else(|| flags.keys.source(), KeySource::Alias);
    let command = cleaning::command(&flags.run, &trust, flags.keys.anonymous, &named);
    let what = if flags.dry_run { "nothing was deleted" } else { "objects of the run may remain at the target" };
    interrupt::end_at_once(format!("error: interrupted: {what}; clean again: {command}"))?;
    let order = CleaningOrder {
        run: &flags.run,
        dry_run: flags.dry_run,
        yes_load: flags.yes_load,
        remove_bucket: flags.remove_bucket,
        source: flags.source.as_deref(),
        trust,
        timeout: flags.timeout,
        region: flags.keys.region.as_deref(),
        consented: &[],
        command,
    };
    let (said, left) = clean(&order, |aim| match &flags.alias {
        Some(alias) => credentials::find(&alias::keys_of_hosts(alias, &aim.authorities(), aim.tls)?),
        None => credentials::find(&flags.keys),
    })?;
    printing::print(&said)?;
    left.map_or(Ok(ExitCode::SUCCESS), Err)
}
