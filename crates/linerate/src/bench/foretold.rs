//! `--dry-run`: what a run would do, told and not done. Nothing is reached, started or made.

use std::fmt::Write as _;

use linerate_record::run::Op;
use linerate_record::units::duration_ns;

use super::together;
use crate::cli::{BenchFlags, TargetKind, name_of};
use crate::endpoint;
use crate::failure::Failure;
use crate::grid;
use crate::timing;

pub(super) fn told(flags: &BenchFlags) -> Result<String, Failure> {
    let (grid, notes) = together::check(flags)?;
    let named = endpoint::named(&flags.target)?;
    let hosts = named.as_ref().map_or(1, |(_, named)| named.authorities.len());
    let of = |w: &grid::Named| w.name.matches('=').count().max(1) + usize::from(w.workload.has(Op::Multipart));
    let ops = grid.workloads.iter().map(of).max().unwrap_or(1);
    let series = grid.series();
    let points = series.len() * timing::points_worth(&grid.levels);
    let timing = timing::timing(&flags.work, points, hosts, ops)?;
    let most_ms = series.len() as u64 * timing.series_ms(&grid.levels);
    let target = match &named {
        Some((_, named)) => named.authorities.join(", "),
        None => {
            let kind = flags.target.target.unwrap_or(TargetKind::Embedded);
            format!("linerate's own {} target, started for the run", name_of(kind))
        }
    };
    let mut text = format!("target   {target}\nload     {}\n", grid::load_in_words(&grid, &flags.work));
    for one in &series {
        let _ = writeln!(text, "           {} {}", one.workload, one.size);
    }
    let _ = writeln!(text, "writes   {}", grid::written_in_words(&grid, &flags.work).trim_start_matches("written: "));
    let time = duration_ns(most_ms as f64 * 1e6);
    let _ = writeln!(text, "time     at most {time}, beside what is written before, deleted after, and ceilings");
    for note in notes {
        let _ = writeln!(text, "note     {note}");
    }
    text.push_str("nothing was reached, written or deleted\n");
    Ok(text)
}
