//! `linerate compare`: two runs, or two groups of runs, side by side.

pub(crate) mod flags;

use std::path::PathBuf;
use std::process::ExitCode;

use linerate_analysis::compare::{Comparison, RUNS_MIN, compare};
use linerate_analysis::net::view::NetView;
use linerate_analysis::records::Records;
use linerate_report::comparison;

use crate::failure::{Failure, code};
use crate::output::put_out;
use crate::{folder, links, named, printing, views};
use flags::{CompareFlags, CompareFormat};

/// What is wrong with the runs that the flags name.
pub(crate) fn check(flags: &CompareFlags) -> Result<(), Failure> {
    match of_links(flags)? {
        Some(sides) => links_views(sides).map(drop),
        None => read_both(flags).map(drop),
    }
}

/// The runs of links of both sides that the flags name; none where they name runs of bench.
fn of_links(flags: &CompareFlags) -> Result<Option<[&[PathBuf]; 2]>, Failure> {
    let (a, b) = (flags.a.0.as_slice(), flags.b.0.as_slice());
    let (nets, others): (Vec<&PathBuf>, Vec<&PathBuf>) = a.iter().chain(b).partition(|path| links::is_net_folder(path));
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
fn links_views(sides: [&[PathBuf]; 2]) -> Result<[Vec<NetView>; 2], Failure> {
    let of = |side: &[PathBuf]| side.iter().map(|path| links::view_of(path)).collect::<Result<Vec<_>, _>>();
    Ok([of(sides[0])?, of(sides[1])?])
}

fn compare_links(flags: &CompareFlags, sides: [&[PathBuf]; 2]) -> Result<ExitCode, Failure> {
    if flags.fail_if_slower.is_some() {
        return Err(Failure::usage("--fail-if-slower is of runs of bench, not of linerate net: leave it out"));
    }
    let [of_a, of_b] = links_views(sides)?;
    let all: Vec<(&PathBuf, &NetView)> = sides[0].iter().zip(&of_a).chain(sides[1].iter().zip(&of_b)).collect();
    for (place, (path, view)) in all.iter().enumerate() {
        let is_same = |other: &NetView| (view.began_unix_ms, view.seed) == (other.began_unix_ms, other.seed);
        if let Some((first, _)) = all[..place].iter().find(|(_, other)| is_same(other)) {
            let (first, path) = (first.display(), path.display());
            return Err(Failure::usage(format!("{first} and {path} are the same run: name each run once")));
        }
    }
    let found = linerate_analysis::net::compared::compare_blocks(&of_a, &of_b).map_err(Failure::usage)?;
    let rendered = match flags.shown.chosen() {
        CompareFormat::Text => {
            linerate_report::net::comparison_text(&found, printing::look_for_file(flags.output.is_some()))
        }
        CompareFormat::Json => linerate_report::net::comparison_json(&found),
        CompareFormat::Csv => linerate_report::net::comparison_csv(&found),
        CompareFormat::Html => {
            return Err(Failure::usage("two runs of linerate net have no page: choose text, json or csv"));
        }
    };
    put_out(&rendered, flags.output.as_deref())
}

/// The runs of either side; those that cannot be read are told at once.
fn read_both(flags: &CompareFlags) -> Result<(Vec<Records>, Vec<Records>), Failure> {
    let (mut failures, mut sides) = (Vec::new(), [Vec::new(), Vec::new()]);
    for (side, runs) in sides.iter_mut().zip([&flags.a.0, &flags.b.0]) {
        for run in runs {
            match folder::read(run) {
                Ok(records) => side.push(records),
                Err(failure) => failures.push(failure),
            }
        }
    }
    let [a, b] = sides;
    if failures.is_empty() { Ok((a, b)) } else { Err(Failure::all_of(failures.into_iter().map(Some))) }
}

pub(crate) fn run(flags: &CompareFlags) -> Result<ExitCode, Failure> {
    if let Some(sides) = of_links(flags)? {
        return compare_links(flags, sides);
    }
    let (a, b) = read_both(flags)?;
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
        first.map_or_else(|| Failure::usage(&error), |(path, records)| views::damaged(path, records, &error))
    })?;
    if found.series.iter().all(|series| series.points.is_empty()) {
        return Err(Failure::usage(format!(
            "the runs have no point in common: {}; measure the same operations, sizes and requests in flight",
            found.unmatched.join(", ")
        )));
    }
    let rendered = match flags.shown.chosen() {
        CompareFormat::Text => comparison::text(&found, printing::look_for_file(flags.output.is_some())),
        CompareFormat::Json => comparison::json(&found),
        CompareFormat::Csv => comparison::csv(&found),
        CompareFormat::Html => comparison::html(&found),
    };
    match &flags.output {
        Some(path) => named::write(path, printing::for_file(&rendered).as_bytes(), 0o644)?,
        None => printing::print(&rendered)?,
    }
    let why = "threshold missed: B is slower than --fail-if-slower allows, as the comparison says";
    if missed(&found) { Err(Failure::Outcome { why: why.into(), code: code::MISSED }) } else { Ok(ExitCode::SUCCESS) }
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

fn missed(found: &Comparison) -> bool {
    found.threshold.as_ref().is_some_and(|threshold| !threshold.missed.is_empty())
}
