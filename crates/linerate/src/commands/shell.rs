//! `linerate completions` and `linerate man`: both made from the command line's own definition.

pub(crate) mod flags;

use std::fs;
use std::path::Path;
use std::process::ExitCode;

use clap::Command;

use crate::files::run_folder;
use crate::terminal::failure::Failure;
use crate::terminal::printing;
use flags::{CompletionsFlags, ManFlags};

pub(crate) fn completions(flags: &CompletionsFlags, mut command: Command) -> Result<ExitCode, Failure> {
    let mut script = Vec::new();
    clap_complete::generate(flags.shell, &mut command, "linerate", &mut script);
    printing::print_unmasked(&String::from_utf8_lossy(&script))?;
    Ok(ExitCode::SUCCESS)
}

pub(crate) fn man(flags: &ManFlags, mut command: Command) -> Result<ExitCode, Failure> {
    command.build();
    let Some(folder) = &flags.output else {
        printing::print_unmasked(&String::from_utf8_lossy(&page(command, Path::new("linerate.1"))?))?;
        return Ok(ExitCode::SUCCESS);
    };
    let failed = |source| Failure::File { what: "make folder", path: folder.clone(), source };
    fs::create_dir_all(folder).map_err(failed)?;
    for command in with_verbs(&command) {
        let name = command.get_display_name().unwrap_or_else(|| command.get_name()).to_owned();
        let path = folder.join(format!("{name}.1"));
        run_folder::write_atomically(&path, &page(command, &path)?)?;
        printing::print(&format!("{}\n", path.display()))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// A command and all below it, but for `help` and what is not for people.
fn with_verbs(command: &Command) -> Vec<Command> {
    let verbs = command.get_subcommands().filter(|verb| verb.get_name() != "help" && !verb.is_hide_set());
    std::iter::once(command.clone()).chain(verbs.flat_map(with_verbs)).collect()
}

fn page(command: Command, path: &Path) -> Result<Vec<u8>, Failure> {
    let mut page = Vec::new();
    let failed = |source| Failure::File { what: "render", path: path.to_owned(), source };
    clap_mangen::Man::new(command).render(&mut page).map_err(failed)?;
    Ok(page)
}
