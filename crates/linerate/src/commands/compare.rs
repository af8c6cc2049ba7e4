//! `linerate compare`: two runs, or two groups of runs, side by side.

pub(crate) mod flags;

use std::path::PathBuf;
use std::process::ExitCode;

use linerate_analysis::compare::{Comparison, RUNS_MIN, compare};
use linerate_analysis::net::view::NetView;
use linerate_analysis::records::Records;
use linerate_report::comparison;

use crate::files::output_format::write_or_print;
use crate::files::{net_folder, output_file, run_folder, run_view};
use crate::terminal::failure::{Failure, code};
use crate::terminal::printing;
use flags::{CompareFlags, CompareFormat};

/// What is wrong with the runs that the flags name.
pub(crate) fn check(flags: &CompareFlags) -> Result<(), Failure> {
    match links_sides(flags)? {
        Some(sides) => read_links_sides(sides).map(drop),
        None => read_sides(flags).map(drop),
    }
}

/// The runs of links of both sides that the flags name; none where they name runs of bench.
fn links_sides(flags: &CompareFlags) -> Result<Option<[&[PathBuf]; 2]>, Failure> {
    let (a, b) = (flags.a.0.as_slice(), flags.b.0.as_slice());
    let (nets, others): (Vec<&PathBuf>, Vec<&PathBuf>) =
        a.iter().chain(b).partition(|path| net_folder::is_net_folder(path));
    match (nets.first(), others.first()) {
        (None, _) => Ok(None),
        (Some(net), Some(other)) => Err(Failure::usage(format!(
            "{} is a run of linerate net, and {} is none: name runs of one kind",
            net.display(),
            other.display()
        ))),
        (Some(_), None) => Ok(Some([a, b])),
    }
}

/// What runs of links of both sides say.
fn read_links_sides(sides: [&[PathBuf]; 2]) -> Result<[Vec<NetView>; 2], Failure> {
    let read_side =
        |side: &[PathBuf]| side.iter().map(|path| net_folder::read_view(path)).collect::<Result<Vec<_>, _>>();
    Ok([read_side(sides[0])?, read_side(sides[1])?])
}

fn compare_links(flags: &CompareFlags, sides: [&[PathBuf]; 2]) -> Result<ExitCode, Failure> {
    if flags.fail_if_slower.is_some() {
        return Err(Failure::usage("--fail-if-slower is of runs of bench, not of linerate net: leave it out"));
    }
    let [views_a, views_b] = read_links_sides(sides)?;
    let all: Vec<(&PathBuf, &NetView)> = sides[0].iter().zip(&views_a).chain(sides[1].iter().zip(&views_b)).collect();
    for (place, (path, view)) in all.iter().enumerate() {
        let is_same = |other: &NetView| (view.began_unix_ms, view.seed) == (other.began_unix_ms, other.seed);
        if let Some((first, _)) = all[..place].iter().find(|(_, other)| is_same(other)) {
            let (first, path) = (first.display(), path.display());
            return Err(Failure::usage(format!("{first} and {path} are the same run: name each run once")));
        }
    }
    let found = linerate_analysis::net::comparison::compare_blocks(&views_a, &views_b).map_err(Failure::usage)?;
    let rendered = match flags.shown.chosen() {
        CompareFormat::Text => {
            linerate_report::net::comparison_text(&found, printing::text_style_for_file(flags.output.is_some()))
        }
        CompareFormat::Json => linerate_report::net::comparison_json(&found),
        CompareFormat::Csv => linerate_report::net::comparison_csv(&found),
        CompareFormat::Html => {
            return Err(Failure::usage("two runs of linerate net have no page: choose text, json or csv"));
        }
    };
    write_or_print(&rendered, flags.output.as_deref())
}

/// The runs of either side; those that cannot be read are told at once.
fn read_sides(flags: &CompareFlags) -> Result<(Vec<Records>, Vec<Records>), Failure> {
    let (mut failures, mut sides) = (Vec::new(), [Vec::new(), Vec::new()]);
    for (side, runs) in sides.iter_mut().zip([&flags.a.0, &flags.b.0]) {
        for run in runs {
            match run_folder::read(run) {
                Ok(records) => side.push(records),
                Err(failure) => failures.push(failure),
            }
        }
    }
    let [a, b] = sides;
    if failures.is_empty() { Ok((a, b)) } else { Err(Failure::combine(failures.into_iter().map(Some))) }
}

pub(crate) fn run(flags: &CompareFlags) -> Result<ExitCode, Failure> {
    if let Some(sides) = links_sides(flags)? {
        return compare_links(flags, sides);
    }
    let (a, b) = read_sides(flags)?;
    refuse_repeated(&flags.a.0.iter().chain(&flags.b.0).zip(a.iter().chain(&b)).collect::<Vec<_>>())?;
    let threshold = flags.fail_if_slower.map(|share| share.0);
    let runs = a.len().min(b.len());
    if threshold.is_some() && runs < RUNS_MIN {
        let given = format!("--fail-if-slower with {} of A and {} of B", plural(a.len()), plural(b.len()));
        let why = "two runs of the same system differ too: give at least three of each side, as RUN,RUN,RUN";
        return Err(Failure::usage(format!("{given}: {why}. {}", comparison::HOW_TO_MAKE_RUNS)));
    }
    // The folders' lines have been read: only a histogram inside one can still be damaged.
    let found = compare(&a, &b, threshold).map_err(|error| {
        let mut all = flags.a.0.iter().chain(&flags.b.0).zip(a.iter().chain(&b));
        let first = all.find(|(_, records)| records.damaged().is_some());
        first.map_or_else(|| Failure::usage(&error), |(path, records)| run_view::damaged_failure(path, records, &error))
    })?;
    if found.series.iter().all(|series| series.points.is_empty()) {
        return Err(Failure::usage(format!(
            "the runs have no point in common: {}; measure the same operations, sizes and requests in flight",
            found.unmatched.join(", ")
        )));
    }
    let rendered = match flags.shown.chosen() {
        CompareFormat::Text => {
            comparison::text(&found, flags.all, printing::text_style_for_file(flags.output.is_some()))
        }
        CompareFormat::Json => comparison::json(&found),
        CompareFormat::Csv => comparison::csv(&found),
        CompareFormat::Html => comparison::html(&found),
    };
    match &flags.output {
        Some(path) => output_file::write_output(path, printing::text_for_file(&rendered).as_bytes(), 0o644)?,
        None => printing::print(&rendered)?,
    }
    let why = "threshold missed: B is slower than --fail-if-slower allows, as the comparison says";
    if is_slower_than_allowed(&found) {
        Err(Failure::Outcome { why: why.into(), code: code::MISSED })
    } else {
        Ok(ExitCode::SUCCESS)
    }
}

/// A run says no more where it is given twice: by another path, a link, a copy, or on both sides.
fn refuse_repeated(runs: &[(&PathBuf, &Records)]) -> Result<(), Failure> {
    for (i, (path, one)) in runs.iter().enumerate() {
        let same = |other: &Records| {
            let (one, other) = (&one.manifest, &other.manifest);
            (&one.id, one.seed, one.started_unix_ms) == (&other.id, other.seed, other.started_unix_ms)
        };
        if let Some((first, _)) = runs[..i].iter().find(|(_, other)| same(other)) {
            let (first, path) = (first.display(), path.display());
            let why = "name each run once: a copy of or a link to a run is the same run";
            return Err(Failure::usage(format!("{first} and {path} are the same run: {why}")));
        }
    }
    Ok(())
}

fn plural(runs: usize) -> String {
    if runs == 1 { "1 run".to_owned() } else { format!("{runs} runs") }
}

fn is_slower_than_allowed(found: &Comparison) -> bool {
    found.threshold.as_ref().is_some_and(|threshold| !threshold.missed.is_empty())
}
