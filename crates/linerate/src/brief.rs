//! `-h`: what fits a screen, examples first. `--help` is the manual.

use clap::{Arg, Command, CommandFactory as _};

use crate::cli::Cli;
use crate::{epilogue, printing};

/// Lines of it, at the most.
const LINES: usize = 25;

/// Columns, at the most.
const WIDTH: usize = 100;

/// Whether it was asked for, and not the manual.
pub(crate) fn is_asked(words: &[String]) -> bool {
    let asked = words.iter().take_while(|word| *word != "--").find(|word| *word == "-h" || *word == "--help");
    asked.is_some_and(|word| word == "-h")
}

/// Of the command that the words name.
pub(crate) fn of(words: &[String]) -> String {
    let mut command = Cli::command();
    command.build();
    let mut found = &command;
    for word in words.iter().skip(1).take_while(|word| *word != "-h") {
        found = found.find_subcommand(word).unwrap_or(found);
    }
    brief_text(found, printing::look().width.min(WIDTH))
}

fn brief_text(command: &Command, width: usize) -> String {
    let about = command.get_about().map(ToString::to_string).unwrap_or_default();
    let usage = command.clone().render_usage().to_string();
    let usage = usage.lines().next().unwrap_or_default().to_owned();
    let name = command.get_bin_name().unwrap_or(command.get_name()).to_owned();
    let mut lines = wrapped(&about, "", width);
    lines.extend([String::new(), usage, String::new()]);
    let codes = if after_help(command).contains("Exit codes") { ", and exit codes" } else { "" };
    let end = format!("{name} --help shows all of it: every flag with its unit and default{codes}.");
    let end = wrapped(&end, "", width);
    let verbs = verbs(command, width);
    let room = LINES - lines.len() - end.len();
    // Each flag gets its line where all have one; else their names alone.
    let (full, names) = (flags(command, width), names(command, width));
    let of_flags = if full.len() + verbs.len() < room / 2 { full } else { names };
    lines.extend(cut(&examples(command, width), room.saturating_sub(verbs.len() + of_flags.len())));
    lines.extend(verbs);
    lines.extend(of_flags);
    lines.extend(end);
    lines.join("\n") + "\n"
}

fn after_help(command: &Command) -> String {
    command.get_after_help().map(ToString::to_string).unwrap_or_default()
}

/// The examples of a command, with an empty line behind them.
fn examples(command: &Command, width: usize) -> Vec<String> {
    let text = epilogue::laid(&after_help(command), width);
    let found = text.lines().skip_while(|line| !line.starts_with("Example")).take_while(|line| !line.is_empty());
    found.map(str::to_owned).collect()
}

/// As many whole examples as there is room for, with what explains each; none is cut in two.
fn cut(examples: &[String], room: usize) -> Vec<String> {
    if examples.is_empty() || room < 3 {
        return Vec::new();
    }
    let whole = |end: &usize| *end == examples.len() || begins(&examples[*end]);
    let most = examples.len().min(room - 1);
    let end = (0..=most).rev().find(whole).unwrap_or(0);
    if end < 2 {
        return Vec::new();
    }
    examples[..end].iter().cloned().chain([String::new()]).collect()
}

/// Whether an example begins in a line.
fn begins(line: &str) -> bool {
    ["  linerate", "  AWS_"].iter().any(|begin| line.starts_with(begin))
}

fn verbs(command: &Command, columns: usize) -> Vec<String> {
    // Nobody starts an agent by hand, and completions and manual pages are asked for once.
    let once = ["help", "agent", "completions", "man"];
    let is_left_out = |verb: &&Command| verb.is_hide_set() || once.contains(&verb.get_name());
    let all: Vec<&Command> = command.get_subcommands().filter(|verb| !is_left_out(verb)).collect();
    let width = all.iter().map(|verb| verb.get_name().len()).max().unwrap_or(0);
    let line = |verb: &&Command| {
        let about = verb.get_about().map(ToString::to_string).unwrap_or_default();
        short(&format!("  {:width$}  {about}", verb.get_name()), columns)
    };
    let mut lines: Vec<String> = all.iter().map(line).collect();
    if !lines.is_empty() {
        lines.push(String::new());
    }
    lines
}

fn shown(command: &Command) -> impl Iterator<Item = &Arg> {
    command.get_arguments().filter(|arg| !arg.is_hide_set() && !matches!(arg.get_id().as_str(), "help" | "version"))
}

/// What a flag or an argument is called.
fn called(arg: &Arg) -> String {
    let values: Vec<String> = arg.get_value_names().unwrap_or_default().iter().map(ToString::to_string).collect();
    let value = if arg.get_action().takes_values() { values.join(" ") } else { String::new() };
    match (arg.get_long(), arg.get_short()) {
        (Some(long), Some(short)) => format!("-{short}, --{long} {value}").trim_end().to_owned(),
        (Some(long), None) => format!("--{long} {value}").trim_end().to_owned(),
        _ => value,
    }
}

/// A line for each flag, with the first sentence of its help.
fn flags(command: &Command, columns: usize) -> Vec<String> {
    let width = shown(command).map(|arg| called(arg).chars().count()).max().unwrap_or(0).min(34);
    let line = |arg: &Arg| {
        let help = arg.get_help().map(ToString::to_string).unwrap_or_default();
        let sentence = help.split(". ").next().unwrap_or_default().trim_end_matches('.');
        short(&format!("  {:width$}  {sentence}", called(arg)), columns)
    };
    let mut lines: Vec<String> = shown(command).map(line).collect();
    if !lines.is_empty() {
        lines.push(String::new());
    }
    lines
}

/// The names of flags alone.
fn names(command: &Command, columns: usize) -> Vec<String> {
    let long: Vec<String> = shown(command).filter_map(Arg::get_long).map(|name| format!("--{name}")).collect();
    if long.is_empty() {
        return Vec::new();
    }
    let mut lines = wrapped(&long.join(" "), "  ", columns);
    lines.push(String::new());
    lines
}

/// A text in lines, each after the same lead.
fn wrapped(text: &str, lead: &str, width: usize) -> Vec<String> {
    let mut lines = vec![lead.to_owned()];
    for word in text.split_whitespace() {
        let line = lines.last_mut().filter(|line| line.chars().count() + 1 + word.chars().count() <= width);
        match line {
            Some(line) if line.len() == lead.len() => line.push_str(word),
            Some(line) => {
                line.push(' ');
                line.push_str(word);
            }
            None => lines.push(format!("{lead}{word}")),
        }
    }
    lines
}

/// A line as it fits.
fn short(line: &str, width: usize) -> String {
    if line.chars().count() <= width {
        return line.trim_end().to_owned();
    }
    line.chars().take(width - 1).chain(['…']).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn each(command: &Command, say: &mut dyn FnMut(&Command)) {
        say(command);
        command.get_subcommands().filter(|verb| verb.get_name() != "help").for_each(|verb| each(verb, say));
    }

    #[test]
    fn the_short_help_of_every_command_fits_a_screen_and_has_its_examples_first() {
        let mut command = Cli::command();
        command.build();
        let mut seen = 0;
        each(&command, &mut |command| {
            for width in [80, WIDTH] {
                let text = brief_text(command, width);
                let name = command.get_bin_name().unwrap_or(command.get_name());
                assert!(text.lines().count() <= LINES, "{name}: {} lines\n{text}", text.lines().count());
                let is_usage = |line: &str| line.starts_with("Usage: ");
                let fits = |line: &str| is_usage(line) || line.chars().count() <= width;
                assert!(text.lines().all(fits), "{name}: {text}");
                assert!(text.contains("Usage: linerate") && text.contains("--help shows all of"), "{name}: {text}");
                let has_examples = !examples(command, width).is_empty();
                assert_eq!(has_examples, text.contains("\nExample"), "{name}: {text}");
                let first_flag = text.find("\n  --").unwrap_or(text.len());
                assert!(!has_examples || text.find("\nExample").is_some_and(|at| at < first_flag), "{name}: {text}");
                let all = examples(command, width);
                let shown = text.lines().skip_while(|line| !line.starts_with("Example")).take_while(|l| !l.is_empty());
                let next = all.get(shown.count());
                assert!(next.is_none_or(|line| begins(line)), "{name}: cut before {next:?}");
            }
            seen += 1;
        });
        assert!(seen > 20, "{seen}");
    }

    #[test]
    fn the_manual_is_another_thing() {
        let words = |line: &str| line.split(' ').map(str::to_owned).collect::<Vec<_>>();
        assert!(is_asked(&words("linerate bench -h")) && !is_asked(&words("linerate bench --help")));
        assert!(!is_asked(&words("linerate experiment -- -h")));
        assert!(of(&words("linerate tune diff -h")).contains("Usage: linerate tune diff"));
    }
}
