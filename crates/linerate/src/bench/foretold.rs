//! `--dry-run`: what a run would do, told and not done. Nothing is reached, started or made.

use std::fmt::Write as _;

use linerate_record::lines::wrapped;
use linerate_record::load::{Load, Server};
use linerate_record::units::duration_ns;

use super::beforehand;
use crate::failure::Failure;
use crate::{consent, timing};

/// Columns of what a line begins with.
const LEAD: usize = 9;

/// Lines of at most `columns` columns, where that is said.
pub(super) fn reported(
    load: &Load,
    id: &str,
    notes: &[String],
    yes_load: bool,
    columns: Option<usize>,
) -> Result<String, Failure> {
    let line = |lead: &str, text: &str| {
        let text = columns.map_or_else(|| text.to_owned(), |columns| wrapped(text, columns, LEAD));
        format!("{lead:<LEAD$}{text}\n")
    };
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
    let mut text = line("target", &target) + &line("objects", &place);
    text.push_str(&line("load", &beforehand::load_in_words(load)));
    for work in &load.work {
        for size in &work.sizes {
            let _ = writeln!(text, "           {} {size}", work.workload);
        }
    }
    text.push_str(&line("writes", beforehand::written_in_words(load).trim_start_matches("written: ")));
    let time = duration_ns(most_ms as f64 * 1e6);
    let time = format!("at most {time}, beside what is written before, deleted after, and ceilings");
    text.push_str(&line("time", &time));
    if let Server::Hosts { authorities, .. } = &load.endpoint.server
        && let Some(why) = consent::foretold(authorities, yes_load)
    {
        text.push_str(&line("consent", &why));
    }
    notes.iter().for_each(|note| text.push_str(&line("note", note)));
    text.push_str("nothing was reached, written or deleted\n");
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::resolve::tests::load;

    #[test]
    fn lines_fit_a_terminal_and_are_whole_elsewhere() {
        let load = load("--bucket a-bucket-of-a-long-name");
        let of = |columns| reported(&load, "1123-1720-get-put", &["a word ".repeat(30)], false, columns).unwrap();
        let (narrow, whole) = (of(Some(80)), of(None));
        assert!(narrow.lines().all(|line| line.chars().count() <= 80), "{narrow}");
        assert!(whole.lines().any(|line| line.chars().count() > 100), "{whole}");
        let words = |text: &str| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
        assert_eq!(words(&narrow), words(&whole));
        assert!(narrow.lines().any(|line| line.starts_with("         ")), "what goes on is below what it goes on with");
    }
}
