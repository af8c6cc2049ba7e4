//! `linerate experiment analyze`: what tables of runs support.

use std::process::ExitCode;

use linerate_experiment::analyze::{AnalysisOptions, analyze};
use linerate_experiment::table;
use linerate_record::experiment::Decision;

use super::flags::{AnalyzeFlags, TableFormat};
use crate::failure::{Failure, code};
use crate::{bounded, output, printing};

/// Largest file read as a table: some hundred thousand runs.
const TABLE_BYTES_MAX: u64 = 16 << 20;

/// Of draws: the same table gives the same answer, figure for figure.
const SEED: u64 = 1;

pub(super) fn run(flags: &AnalyzeFlags) -> Result<ExitCode, Failure> {
    let text = bounded::table(&flags.table, TABLE_BYTES_MAX)?;
    let reported =
        |error: table::TableError| Failure::usage(format!("{}:{}: {}", flags.table.display(), error.line, error.fault));
    let asked = AnalysisOptions {
        link_bits_per_s: flags.link.map(|link| link.0),
        matters_share: flags.matters.0,
        alpha: flags.alpha.0,
        seed: SEED,
        drawn: flags.drawn,
    };
    let found = analyze(&table::read(&text).map_err(reported)?, &asked)
        .map_err(|error| Failure::usage(format!("{}: {error}", flags.table.display())))?;
    let rendered = match flags.format {
        TableFormat::Text => linerate_report::experiment::table_text(&found, printing::look_for_file(false)),
        TableFormat::Json => linerate_report::experiment::table_json(&found),
    };
    let done = output::put_out(&rendered, None)?;
    let decisions = found.series.iter().flat_map(|series| &series.effects).map(|effect| effect.decision);
    let is_no_effect = |decision| matches!(decision, Decision::Association | Decision::Confounded);
    let why = "what differs is an association, or confounded with time: no effect of the arm";
    let no_effect = decisions.into_iter().any(is_no_effect);
    if no_effect { Err(Failure::Outcome { why: why.into(), code: code::NO_EFFECT }) } else { Ok(done) }
}
