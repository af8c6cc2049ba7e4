//! `--dry-run`: what a run would do, told and not done. Nothing is reached, started or made.

use linerate_record::load::{Load, Server};
use linerate_report::foretold::{ForetoldRun, clients_in_words, dry_run};

use super::beforehand::beforehand;
use super::clients::per_client;
use super::needs::Needs;
use crate::failure::Failure;
use crate::{consent, timing};

/// Lines of at most `columns` columns, where that is said.
pub(super) fn dry_run_text(
    load: &Load,
    needs: &Needs,
    mut notes: Vec<String>,
    yes_load: bool,
    columns: Option<usize>,
) -> Result<String, Failure> {
    let (hosts, consent) = match &load.endpoint.server {
        Server::Hosts { authorities, .. } => (authorities.len(), consent::foretold(authorities, yes_load)),
        Server::Own { .. } => (1, None),
    };
    let numbers = needs.clients.as_ref().map_or(1, |clients| clients.counts.len());
    let most = needs.clients.as_ref().map_or(1, |clients| clients.most() as usize);
    let timing = timing::timing(load, hosts * most * numbers)?;
    let most_ms = load.series() as u64 * numbers as u64 * timing.series_ms(&load.levels);
    let each = per_client(load);
    notes.extend(needs.clients.iter().map(|clients| clients_in_words(&clients.names(), &clients.counts, each)));
    let (id, before, consent) = (&needs.id, beforehand(load, numbers), consent.as_deref());
    let foretold = ForetoldRun { load, numbers, id, before, most_ms, consent, notes: &notes };
    Ok(dry_run(&foretold, columns))
}
