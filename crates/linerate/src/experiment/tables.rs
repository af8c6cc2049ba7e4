//! `linerate experiment analyze`: what tables of runs support.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, ValueEnum};
use linerate_experiment::analyze::{Asked, analyze};
use linerate_experiment::table;
use linerate_record::experiment::Decision;
use linerate_record::units::{BitRate, Share};

use crate::failure::{Failure, code};
use crate::{bounded, plan, report};

/// Largest file read as a table: some hundred thousand runs.
const TABLE_BYTES_MAX: u64 = 16 << 20;

/// Of draws: the same table gives the same answer, figure for figure.
const SEED: u64 = 1;

const ANALYZE_HELP: &str = "\
A row is a figure of one run. Columns: arm and value; where there are several, series (such as get) and concurrency;
run, or block where every arm ran once in each; order, the place in time among all. Values are rates, such as 91.9Gb/s
or 95MiB/s, or all of them bare numbers; more is better. Lines that begin with # are comments. The arm called baseline,
default or control is what the others are held against, or else the first. A run that failed has an empty value: where
one arm lacks more than the other, they are not compared.

A difference is called an effect of the arm only with --drawn, with the column order, and where that order looks like a
draw. Without, it is an association: something else may have changed with the arm.

Examples:
  linerate experiment analyze runs.csv
  linerate experiment analyze blocks.csv --drawn
  linerate experiment analyze runs.csv --link 15Gb/s --matters 1% --format json

Exit codes: 0 analysed; 1 where the file cannot be read; 2 where the table has a mistake, quoted with its line; 7
analysed, and some arm differs, or is said not to, by an association or by time, which is no effect of the arm.";

#[derive(Args, Debug)]
#[command(after_help = ANALYZE_HELP)]
pub(super) struct AnalyzeFlags {
    /// CSV file of the runs.
    #[arg(value_name = "TABLE")]
    table: PathBuf,
    /// What the slowest link on the way carries, such as `15Gb/s`: figures above it are refused.
    #[arg(long, value_name = "RATE")]
    link: Option<BitRate>,
    /// The least effect that matters.
    #[arg(long, value_name = "SHARE", default_value = "2%")]
    matters: Share,
    /// Share of the effects called that may be none; intervals are at one less this.
    #[arg(long, value_name = "SHARE", default_value = "0.05", value_parser = alpha)]
    alpha: Share,
    /// The order of runs was drawn by lot: in each block where the table has blocks, else of all runs.
    #[arg(long)]
    drawn: bool,
    /// Format.
    #[arg(long, short, value_enum, default_value_t = Format::Text)]
    format: Format,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Format {
    /// For a terminal.
    Text,
    /// Everything, with a versioned schema.
    Json,
}

pub(super) fn alpha(text: &str) -> Result<Share, String> {
    let share: Share = text.parse().map_err(|e: linerate_record::units::UnitError| e.to_string())?;
    let allowed = (0.0001..0.5).contains(&share.0);
    allowed
        .then_some(share)
        .ok_or_else(|| format!("{text:?} is no level: write one from 0.0001 to below 0.5, such as 0.05"))
}

pub(super) fn run(flags: &AnalyzeFlags) -> Result<ExitCode, Failure> {
    let failed = |source| Failure::File { what: "read", path: flags.table.clone(), source };
    let text = bounded::text(&flags.table, TABLE_BYTES_MAX).map_err(failed)?;
    let told =
        |error: table::TableError| Failure::usage(format!("{}:{}: {}", flags.table.display(), error.line, error.fault));
    let asked = Asked {
        link_bits_per_s: flags.link.map(|link| link.0),
        matters_share: flags.matters.0,
        alpha: flags.alpha.0,
        seed: SEED,
        drawn: flags.drawn,
    };
    let found = analyze(&table::read(&text).map_err(told)?, &asked)
        .map_err(|error| Failure::usage(format!("{}: {error}", flags.table.display())))?;
    let rendered = match flags.format {
        Format::Text => linerate_report::experiment::table_text(&found, report::look_for_file(false)),
        Format::Json => linerate_report::experiment::table_json(&found),
    };
    let done = plan::put_out(&rendered, None)?;
    let decisions = found.series.iter().flat_map(|series| &series.effects).map(|effect| effect.decision);
    let is_no_effect = |decision| matches!(decision, Decision::Association | Decision::Confounded);
    let why = "what differs is an association, or confounded with time: no effect of the arm";
    let no_effect = decisions.into_iter().any(is_no_effect);
    if no_effect { Err(Failure::Outcome { why: why.into(), code: code::NO_EFFECT }) } else { Ok(done) }
}
