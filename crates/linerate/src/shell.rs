//! `linerate completions` and `linerate man`: both made from the command line's own definition.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Args, Command, CommandFactory as _};
use clap_complete::Shell;

use crate::cli::Cli;
use crate::failure::Failure;
use crate::{folder, printing, report};

#[derive(Args, Debug)]
#[command(after_help = "For bash: linerate completions bash > /etc/bash_completion.d/linerate, or\n  \
                        source <(linerate completions bash)")]
pub(crate) struct CompletionsFlags {
    /// Shell to complete in.
    #[arg(value_enum, value_name = "SHELL")]
    shell: Shell,
}

#[derive(Args, Debug)]
#[command(after_help = "To read one: linerate man -o pages && man pages/linerate-bench.1")]
pub(crate) struct ManFlags {
    /// Folder for one page per verb, made where it does not exist. [default: the page of linerate itself, to standard
    /// output]
    #[arg(long, short, value_name = "DIR")]
    output: Option<PathBuf>,
}

pub(crate) fn completions(flags: &CompletionsFlags) -> Result<ExitCode, Failure> {
    let mut script = Vec::new();
    clap_complete::generate(flags.shell, &mut Cli::command(), "linerate", &mut script);
    printing::print_own(&String::from_utf8_lossy(&script))?;
    Ok(ExitCode::SUCCESS)
}

pub(crate) fn man(flags: &ManFlags) -> Result<ExitCode, Failure> {
    let mut command = Cli::command();
    command.build();
    let Some(folder) = &flags.output else {
        printing::print_own(&String::from_utf8_lossy(&page(command, Path::new("linerate.1"))?))?;
        return Ok(ExitCode::SUCCESS);
    };
    let failed = |source| Failure::File { what: "make folder", path: folder.clone(), source };
    fs::create_dir_all(folder).map_err(failed)?;
    for command in with_verbs(&command) {
        let name = command.get_display_name().unwrap_or_else(|| command.get_name()).to_owned();
        let path = folder.join(format!("{name}.1"));
        folder::write_whole(&path, &page(command, &path)?)?;
        report::print(&format!("{}\n", path.display()))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// A command and all below it, but for `help`.
fn with_verbs(command: &Command) -> Vec<Command> {
    let verbs = command.get_subcommands().filter(|verb| verb.get_name() != "help");
    std::iter::once(command.clone()).chain(verbs.flat_map(with_verbs)).collect()
}

fn page(command: Command, path: &Path) -> Result<Vec<u8>, Failure> {
    let mut page = Vec::new();
    let failed = |source| Failure::File { what: "render", path: path.to_owned(), source };
    clap_mangen::Man::new(command).render(&mut page).map_err(failed)?;
    Ok(page)
}
