//! `--dry-run`: what a run would do, told and not done. Nothing is reached, started or made.

use linerate_record::load::{Load, Server};
use linerate_report::foretold::{ForetoldRun, dry_run};

use super::beforehand::beforehand;
use crate::failure::Failure;
use crate::{consent, timing};

pub(super) fn reported(load: &Load, id: &str, notes: &[String], yes_load: bool) -> Result<String, Failure> {
    let (hosts, consent) = match &load.endpoint.server {
        Server::Hosts { authorities, .. } => (authorities.len(), consent::foretold(authorities, yes_load)),
        Server::Own { .. } => (1, None),
    };
    let timing = timing::timing(load, hosts)?;
    let most_ms = load.series() as u64 * timing.series_ms(&load.levels);
    Ok(dry_run(&ForetoldRun { load, id, before: beforehand(load), most_ms, consent: consent.as_deref(), notes }))
}
