//! `--dry-run`: what a run would do, told and not done. Nothing is reached, started or made.

use std::fmt::Write as _;

use linerate_record::load::{Load, Server};
use linerate_record::units::duration_ns;

use super::beforehand;
use crate::failure::Failure;
use crate::{consent, timing};

pub(super) fn reported(load: &Load, id: &str, notes: &[String], yes_load: bool) -> Result<String, Failure> {
    let hosts = match &load.endpoint.server {
        Server::Hosts { authorities, .. } => authorities.len(),
        Server::Own { .. } => 1,
    };
    let timing = timing::timing(load, hosts)?;
    let most_ms = load.series() as u64 * timing.series_ms(&load.levels);
    let target = beforehand::target_in_words(load);
    let (bucket, prefix) = (&load.endpoint.bucket, &load.endpoint.prefix);
    let place = if load.objects.list_existing {
        format!("s3://{bucket}/{prefix}, what is there")
    } else {
        format!("s3://{bucket}/{prefix}linerate-{id}-xxxxxxxx/, with random digits for each x")
    };
    let mut text = format!("target   {target}\nobjects  {place}\nload     {}\n", beforehand::load_in_words(load));
    for work in &load.work {
        for size in &work.sizes {
            let _ = writeln!(text, "           {} {size}", work.workload);
        }
    }
    let _ = writeln!(text, "writes   {}", beforehand::written_in_words(load).trim_start_matches("written: "));
    let time = duration_ns(most_ms as f64 * 1e6);
    let _ = writeln!(text, "time     at most {time}, beside what is written before, deleted after, and ceilings");
    if let Server::Hosts { authorities, .. } = &load.endpoint.server
        && let Some(why) = consent::foretold(authorities, yes_load)
    {
        let _ = writeln!(text, "consent  {why}");
    }
    for note in notes {
        let _ = writeln!(text, "note     {note}");
    }
    text.push_str("nothing was reached, written or deleted\n");
    Ok(text)
}
