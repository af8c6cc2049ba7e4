//! The formats that several commands share, and where what they rendered goes.

use std::path::Path;
use std::process::ExitCode;

use clap::ValueEnum;

use crate::failure::Failure;
use crate::{named, printing};

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum OutputFormat {
    /// For a terminal.
    Text,
    /// Everything, with a versioned schema.
    Json,
    /// One self-contained file.
    Html,
}

/// Writes to the file that was named, or prints.
pub(crate) fn put_out(rendered: &str, output: Option<&Path>) -> Result<ExitCode, Failure> {
    match output {
        Some(path) => named::write(path, printing::for_file(rendered).as_bytes(), 0o644)?,
        None => printing::print(rendered)?,
    }
    Ok(ExitCode::SUCCESS)
}
