//! `-h`: what fits a screen, examples first. `--help` is the manual.

use clap::{Arg, Command, CommandFactory as _};

use crate::cli::definition::Cli;
use crate::cli::help_footer;
use crate::terminal::printing;

/// Lines of it, at the most.
const LINES: usize = 40;

/// Examples of a command with many flags.
const EXAMPLES_MAX: usize = 3;

/// Verbs by what they are for, but for [`ONCE`].
const GROUPS: &[(&str, &[&str])] = &[
    ("Measure", &["bench", "net", "report", "runs", "compare", "import", "clean", "target"]),
    ("Predict", &["plan", "render"]),
    ("Diagnose", &["doctor", "discover", "explain", "audit", "capture", "knobs"]),
    ("Change", &["tune", "experiment"]),
    ("Machines", &["fleet", "lab"]),
];

/// Verbs that are in no group, and named in a line: nobody starts an agent by hand, and completions and manual pages
/// are requested once.
const ONCE: [&str; 3] = ["agent", "completions", "man"];

/// The flags that matter of commands with too many for a screen, at most twelve each.
const MAIN_FLAGS: &[(&str, &[&str])] = &[
    (
        "linerate bench",
        &[
            "host",
            "yes-load",
            "access-key",
            "op",
            "obj.size",
            "concurrent",
            "rate",
            "slo",
            "time",
            "fleet",
            "fail-if",
            "dry-run",
        ],
    ),
    (
        "linerate experiment",
        &[
            "knob", "profile", "arm", "with", "restart", "host", "yes-load", "fleet", "measure", "blocks", "link",
            "dry-run",
        ],
    ),
    (
        "linerate explain",
        &[
            "run",
            "observed",
            "concurrent",
            "prometheus",
            "live",
            "fleet",
            "for",
            "link",
            "record",
            "replay",
            "why",
            "json",
        ],
    ),
    (
        "linerate net",
        &[
            "fleet",
            "token-file",
            "yes-load",
            "preset",
            "op",
            "streams",
            "duration",
            "rounds",
            "compare",
            "max-rate",
            "into",
            "dry-run",
        ],
    ),
];

/// Columns, at the most: those of a terminal that nobody has widened.
const WIDTH: usize = 80;

/// Whether it was asked for, and not the manual.
pub(crate) fn is_short_help_wanted(words: &[String]) -> bool {
    let help_word = words.iter().take_while(|word| *word != "--").find(|word| *word == "-h" || *word == "--help");
    help_word.is_some_and(|word| word == "-h")
}

/// Of the command that the words name.
pub(crate) fn short_help(words: &[String]) -> String {
    let mut command = Cli::command();
    command.build();
    let mut found = &command;
    for word in words.iter().skip(1).take_while(|word| *word != "-h") {
        found = found.find_subcommand(word).unwrap_or(found);
    }
    brief_text(found, printing::text_style().width.min(WIDTH))
}

fn brief_text(command: &Command, width: usize) -> String {
    let about = command.get_about().map(ToString::to_string).unwrap_or_default();
    let usage = command.clone().render_usage().to_string();
    let usage = usage.lines().next().unwrap_or_default().to_owned();
    let name = command.get_bin_name().unwrap_or(command.get_name()).to_owned();
    let mut lines = wrapped(&about, "", width);
    lines.push(String::new());
    lines.extend(hanging_lines(USAGE, usage.strip_prefix(USAGE).unwrap_or(&usage), width));
    lines.push(String::new());
    let codes = if after_help(command).contains("Exit codes") { "; exit codes" } else { "" };
    let end = format!("{name} --help shows all of it: every flag, its unit and default{codes}.");
    let end = wrapped(&end, "", width);
    let (mut examples, verbs) = (examples(command, width), verb_rows(command, width));
    let next = examples.iter().enumerate().filter(|(_, line)| begins_example(line)).nth(EXAMPLES_MAX);
    examples.truncate(next.map_or(examples.len(), |(place, _)| place));
    let room = LINES.saturating_sub(lines.len() + end.len());
    let for_examples = |flags: &[String]| fitting_examples(&examples, room.saturating_sub(verbs.len() + flags.len()));
    // Each flag gets its sentence where there is room for all, and for examples too; else those that matter.
    let full = flag_rows(command, width, |_| true, first_sentence);
    let fits = full.len() + verbs.len() <= room && (examples.is_empty() || !for_examples(&full).is_empty());
    let main = MAIN_FLAGS.iter().find(|(of, _)| *of == name).map_or(&[][..], |(_, flags)| *flags);
    let is_main = |arg: &Arg| arg.get_long().is_none_or(|long| main.contains(&long));
    let flag_lines = if fits { full } else { flag_rows(command, width, is_main, gist) };
    lines.extend(for_examples(&flag_lines));
    lines.extend(verbs);
    lines.extend(flag_lines);
    lines.extend(end);
    lines.join("\n") + "\n"
}

/// What a usage begins with.
const USAGE: &str = "Usage: ";

fn after_help(command: &Command) -> String {
    command.get_after_help().map(ToString::to_string).unwrap_or_default()
}

/// The examples of a command, with an empty line behind them.
fn examples(command: &Command, width: usize) -> Vec<String> {
    let text = help_footer::laid(&after_help(command), width);
    let found = text.lines().skip_while(|line| !line.starts_with("Example")).take_while(|line| !line.is_empty());
    found.map(str::to_owned).collect()
}

/// As many whole examples as there is room for, with what explains each; none is cut in two.
fn fitting_examples(examples: &[String], room: usize) -> Vec<String> {
    if examples.is_empty() || room < 3 {
        return Vec::new();
    }
    let whole = |end: &usize| *end == examples.len() || begins_example(&examples[*end]);
    let most = examples.len().min(room - 1);
    let end = (0..=most).rev().find(whole).unwrap_or(0);
    if end < 2 {
        return Vec::new();
    }
    examples[..end].iter().cloned().chain([String::new()]).collect()
}

/// Whether an example begins in a line.
fn begins_example(line: &str) -> bool {
    ["  linerate", "  AWS_"].iter().any(|begin| line.starts_with(begin))
}

fn verb_rows(command: &Command, columns: usize) -> Vec<String> {
    let all: Vec<&Command> =
        command.get_subcommands().filter(|verb| !verb.is_hide_set() && verb.get_name() != "help").collect();
    let width = all.iter().map(|verb| verb.get_name().len()).max().unwrap_or(0);
    let row = |verb: &Command| {
        let about = verb.get_about().map(ToString::to_string).unwrap_or_default();
        hanging_lines(&format!("  {:width$}  ", verb.get_name()), &about, columns)
    };
    let mut lines: Vec<String> = if command.get_name() == "linerate" {
        let mut lines = Vec::new();
        for (title, names) in GROUPS {
            lines.push(format!("{title}:"));
            lines.extend(names.iter().filter_map(|name| command.find_subcommand(name)).flat_map(row));
        }
        lines.push(format!("Also: {}", ONCE.join(", ")));
        lines
    } else {
        all.into_iter().flat_map(row).collect()
    };
    if !lines.is_empty() {
        lines.push(String::new());
    }
    lines
}

fn visible_arguments(command: &Command) -> impl Iterator<Item = &Arg> {
    command.get_arguments().filter(|arg| !arg.is_hide_set() && !matches!(arg.get_id().as_str(), "help" | "version"))
}

/// What a flag or an argument is called.
fn argument_name(arg: &Arg) -> String {
    let values: Vec<String> = arg.get_value_names().unwrap_or_default().iter().map(ToString::to_string).collect();
    let value = if arg.get_action().takes_values() { values.join(" ") } else { String::new() };
    match (arg.get_long(), arg.get_short()) {
        (Some(long), Some(short)) => format!("-{short}, --{long} {value}").trim_end().to_owned(),
        (Some(long), None) => format!("--{long} {value}").trim_end().to_owned(),
        _ => value,
    }
}

/// The first sentence of a flag's help.
fn first_sentence(arg: &Arg) -> String {
    let help = arg.get_help().map(ToString::to_string).unwrap_or_default();
    help.split(". ").next().unwrap_or_default().trim_end_matches('.').to_owned()
}

/// What a flag means, before examples, reasons and exceptions.
fn gist(arg: &Arg) -> String {
    let sentence = first_sentence(arg);
    let end = [": ", "; ", " (", ", such as"].iter().filter_map(|end| sentence.find(end)).min();
    sentence[..end.unwrap_or(sentence.len())].to_owned()
}

/// A row for each flag that is chosen, with what it means.
fn flag_rows(
    command: &Command,
    columns: usize,
    is_chosen: impl Fn(&Arg) -> bool,
    meaning: fn(&Arg) -> String,
) -> Vec<String> {
    let chosen: Vec<&Arg> = visible_arguments(command).filter(|arg| is_chosen(arg)).collect();
    let width = chosen.iter().map(|arg| argument_name(arg).chars().count()).max().unwrap_or(0).min(34);
    let row = |arg: &&Arg| hanging_lines(&format!("  {:width$}  ", argument_name(arg)), &meaning(arg), columns);
    let mut lines: Vec<String> = chosen.iter().flat_map(row).collect();
    if !lines.is_empty() {
        lines.push(String::new());
    }
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

/// A text behind a label, in lines: those that go on stand below the text.
fn hanging_lines(label: &str, text: &str, width: usize) -> Vec<String> {
    let indent = label.chars().count();
    let mut lines = wrapped(text, &" ".repeat(indent), width);
    if let Some(first) = lines.first_mut() {
        first.replace_range(..indent, label);
        first.truncate(first.trim_end().len());
    }
    lines
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
        let (mut seen, mut brief) = (0, Vec::new());
        each(&command, &mut |command| {
            let name = command.get_bin_name().unwrap_or(command.get_name());
            let text = brief_text(command, WIDTH);
            assert!(text.lines().count() <= LINES, "{name}: {} lines\n{text}", text.lines().count());
            assert!(text.lines().all(|line| line.chars().count() <= WIDTH), "{name}: {text}");
            assert!(text.contains("Usage: linerate") && text.contains("--help shows all of"), "{name}: {text}");
            if !says_all(name, command, &text) {
                brief.push(name.to_owned());
            }
            let all = examples(command, WIDTH);
            assert_eq!(all.is_empty(), !text.contains("\nExample"), "{name}: {text}");
            let first_flag = text.find("\n  --").unwrap_or(text.len());
            assert!(all.is_empty() || text.find("\nExample").is_some_and(|at| at < first_flag), "{name}: {text}");
            let shown = text.lines().skip_while(|line| !line.starts_with("Example")).take_while(|l| !l.is_empty());
            let next = all.get(shown.count());
            assert!(next.is_none_or(|line| begins_example(line)), "{name}: cut before {next:?}");
            seen += 1;
        });
        assert!(seen > 20, "{seen}");
        brief.sort_unstable();
        assert_eq!(brief, MAIN_FLAGS.iter().map(|(of, _)| *of).collect::<Vec<_>>(), "others have room for all flags");
    }

    #[test]
    fn every_verb_is_in_one_group_but_those_that_are_run_once() {
        let mut grouped: Vec<&str> = GROUPS.iter().flat_map(|(_, verbs)| verbs.iter().copied()).collect();
        grouped.extend(ONCE);
        grouped.sort_unstable();
        let command = Cli::command();
        let mut verbs: Vec<&str> = command.get_subcommands().map(Command::get_name).collect();
        verbs.sort_unstable();
        assert_eq!(grouped, verbs);
        let text = short_help(&["linerate".to_owned(), "-h".to_owned()]);
        assert!(text.contains("\n  import ") && text.contains("\nAlso: agent, completions, man\n"), "{text}");
    }

    /// Holds that every verb has its whole sentence, and every flag has, or those that matter are there; whether all
    /// flags are.
    fn says_all(name: &str, command: &Command, text: &str) -> bool {
        let spaced = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
        let text = &spaced(text);
        for verb in command.get_subcommands().filter(|verb| verb_rows(command, WIDTH).iter().any(|l| names_it(l, verb)))
        {
            let about = spaced(&verb.get_about().map(ToString::to_string).unwrap_or_default());
            assert!(text.contains(&format!("{} {about}", verb.get_name())), "{name}: {about}: {text}");
        }
        let full = |arg: &Arg| text.contains(&spaced(&format!("{} {}", argument_name(arg), first_sentence(arg))));
        let is_full = visible_arguments(command).all(full);
        if !is_full {
            let (_, main) = MAIN_FLAGS.iter().find(|(of, _)| *of == name).unwrap_or_else(|| panic!("{name}: {text}"));
            let brief = |arg: &&Arg| text.contains(&spaced(&format!("{} {}", argument_name(arg), gist(arg))));
            let shown = visible_arguments(command).filter(|arg| arg.get_long().is_some()).filter(brief);
            assert_eq!(shown.count(), main.len(), "{name}: {text}");
            assert!(main.len() <= 12, "{name}: {main:?}");
        }
        is_full
    }

    fn names_it(line: &str, verb: &Command) -> bool {
        line.split_whitespace().next() == Some(verb.get_name())
    }

    #[test]
    fn what_does_not_fit_a_line_goes_on_below_its_text() {
        assert_eq!(hanging_lines("  --a…  ", "one two three", 15), ["  --a…  one two", "        three"]);
        assert_eq!(hanging_lines("  a  ", "", 15), ["  a"]);
    }

    #[test]
    fn the_manual_is_another_thing() {
        let words = |line: &str| line.split(' ').map(str::to_owned).collect::<Vec<_>>();
        assert!(
            is_short_help_wanted(&words("linerate bench -h")) && !is_short_help_wanted(&words("linerate bench --help"))
        );
        assert!(!is_short_help_wanted(&words("linerate experiment -- -h")));
        let export = short_help(&words("linerate tune export -h"));
        assert!(export.contains("Usage: linerate tune export") && export.contains("Tool whose format to"), "{export}");
    }
}
