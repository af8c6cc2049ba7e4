//! `linerate experiment analyze`: what tables of runs support.

use std::process::ExitCode;

use linerate_experiment::analyze::{AnalysisOptions, NoEffect, analyze, require_effects};
use linerate_experiment::table;

use super::flags::{AnalyzeFlags, TableFormat};
use crate::files::{limited_read, output_format};
use crate::terminal::failure::{Failure, code};
use crate::terminal::printing;

/// Largest file read as a table: some hundred thousand runs.
const TABLE_BYTES_MAX: u64 = 16 << 20;

/// Of draws: the same table gives the same answer, figure for figure.
const SEED: u64 = 1;

pub(super) fn analyze_table(flags: &AnalyzeFlags) -> Result<ExitCode, Failure> {
    let text = limited_read::read_table(&flags.table, TABLE_BYTES_MAX)?;
    let reported =
        |error: table::TableError| Failure::usage(format!("{}:{}: {}", flags.table.display(), error.line, error.fault));
    let analysis_options = AnalysisOptions {
        link_bits_per_s: flags.link.map(|link| link.0),
        matters_share: flags.matters.0,
        alpha: flags.alpha.0,
        seed: SEED,
        drawn: flags.drawn,
    };
    let found = analyze(&table::read(&text).map_err(reported)?, &analysis_options)
        .map_err(|error| Failure::usage(format!("{}: {error}", flags.table.display())))?;
    let rendered = match flags.shown.chosen() {
        TableFormat::Text => linerate_report::experiment::table_text(&found, printing::text_style_for_file(false)),
        TableFormat::Json => linerate_report::experiment::table_json(&found),
    };
    let done = output_format::write_or_print(&rendered, None)?;
    let no_effect = |error: NoEffect| Failure::Outcome { why: error.to_string(), code: code::NO_EFFECT };
    require_effects(&found).map_err(no_effect)?;
    Ok(done)
}
