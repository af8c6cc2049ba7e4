//! The formats that several commands share, and where what they rendered goes.

use std::path::Path;
use std::process::ExitCode;

use clap::{Args, ValueEnum};

use crate::files::output_file;
use crate::terminal::failure::Failure;
use crate::terminal::printing;

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum OutputFormat {
    /// For a terminal.
    Text,
    /// Everything, with a versioned schema.
    Json,
    /// One self-contained file.
    Html,
}

/// Formats of a result, of which one is JSON.
pub(crate) trait ResultFormat: ValueEnum + Clone + Send + Sync + 'static {
    const JSON: Self;
}

impl ResultFormat for OutputFormat {
    const JSON: Self = OutputFormat::Json;
}

/// How a command prints its result: the same two flags wherever there is a choice of formats.
#[derive(Args, Clone, Debug)]
pub(crate) struct FormatFlags<F: ResultFormat> {
    /// JSON: the same as --format json.
    #[arg(long, conflicts_with = "format")]
    json: bool,
    /// Format.
    #[arg(long, short, value_enum, default_value = "text")]
    format: F,
}

impl<F: ResultFormat> FormatFlags<F> {
    pub(crate) fn chosen(&self) -> F {
        if self.json { F::JSON } else { self.format.clone() }
    }
}

/// Writes to the file that was named, or prints.
pub(crate) fn write_or_print(rendered: &str, output: Option<&Path>) -> Result<ExitCode, Failure> {
    match output {
        Some(path) => output_file::write_output(path, printing::text_for_file(rendered).as_bytes(), 0o644)?,
        None => printing::print(rendered)?,
    }
    Ok(ExitCode::SUCCESS)
}

#[cfg(test)]
mod tests {
    use clap::{Command, CommandFactory as _};

    use crate::cli::definition::Cli;

    /// What prints a page of its own format, or a file: no result of which there could be JSON.
    const OTHERS: [&str; 1] = ["linerate tune export"];

    fn commands(command: &Command, found: &mut Vec<Command>) {
        found.push(command.clone());
        command.get_subcommands().for_each(|sub| commands(sub, found));
    }

    #[test]
    fn whatever_has_a_format_has_json_as_a_flag_too() {
        let mut cli = Cli::command();
        cli.build();
        let mut all = Vec::new();
        commands(&cli, &mut all);
        let has = |command: &Command, name: &str| command.get_arguments().any(|arg| arg.get_long() == Some(name));
        let mut with_both = Vec::new();
        for command in all.iter().filter(|command| has(command, "format")) {
            let name = command.get_bin_name().unwrap_or_default().to_owned();
            assert!(has(command, "json") || OTHERS.contains(&name.as_str()), "{name}");
            with_both.push(name);
        }
        for name in ["explain", "plan", "audit", "report", "compare", "experiment", "experiment analyze"] {
            assert!(with_both.contains(&format!("linerate {name}")), "{name}: {with_both:?}");
        }
    }
}
