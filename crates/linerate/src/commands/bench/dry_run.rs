//! `--dry-run`: what a run would do, printed and not done. Nothing is reached, started or made.

use linerate_record::load::{Load, Server};
use linerate_report::dry_run::{DryRun, clients_in_words, dry_run};

use super::clients::load_scope_per_client;
use super::preparation::prepared_data;
use super::prerequisites::Prerequisites;
use crate::run::{consent, point_timing};
use crate::terminal::failure::Failure;

/// Lines of at most `columns` columns, where that is said.
pub(super) fn dry_run_text(
    load: &Load,
    prerequisites: &Prerequisites,
    mut notes: Vec<String>,
    yes_load: bool,
    columns: Option<usize>,
) -> Result<String, Failure> {
    let (hosts, consent) = match &load.endpoint.server {
        Server::Hosts { authorities, .. } => (authorities.len(), consent::expected_consent(authorities, yes_load)),
        Server::Own { .. } => (1, None),
    };
    let numbers = prerequisites.clients.as_ref().map_or(1, |clients| clients.counts.len());
    let most = prerequisites.clients.as_ref().map_or(1, |clients| clients.most() as usize);
    let timing = point_timing::timing(load, hosts * most * numbers)?;
    let most_ms = load.series() as u64 * numbers as u64 * timing.series_ms(&load.levels);
    let each = load_scope_per_client(load);
    notes.extend(prerequisites.clients.iter().map(|clients| clients_in_words(&clients.names(), &clients.counts, each)));
    let (id, before, consent) = (&prerequisites.id, prepared_data(load, numbers), consent.as_deref());
    let planned_run = DryRun { load, numbers, id, before, most_ms, consent, notes: &notes };
    Ok(dry_run(&planned_run, columns))
}
