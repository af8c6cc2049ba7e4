//! The pages of `docs`: each verb has one, with tables of its flags, made from the command line's definition, on it or
//! on its reference page.

#![cfg(test)]

mod documented_fields;
mod documented_readings;
#[path = "../../tests/pages/markdown.rs"]
mod markdown;

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;

use clap::{Arg, ArgAction, Command, CommandFactory as _, Parser as _};

use crate::cli::definition::Cli;
use markdown::{blocks, commands};

const BEGIN: &str = "<!-- flags: ";
const END: &str = "<!-- end of flags -->\n";

/// Why a block of commands is not typed by the tests, or not everywhere.
const UNTESTED_REASONS: [&str; 4] = ["needs a cluster", "needs a machine id", "changes this machine", "builds"];

fn docs() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../docs")
}

/// The page of a verb, and its reference page if it has one.
fn pages_of(verb: &str) -> Vec<PathBuf> {
    let reference = docs().join(format!("reference/{verb}.md"));
    std::iter::once(docs().join(format!("{verb}.md"))).chain(reference.is_file().then_some(reference)).collect()
}

fn built() -> Command {
    let mut command = Cli::command();
    command.build();
    command
}

/// A command and all below it that a user can name, but for `help`.
fn commands_with_verbs(command: &Command) -> Vec<&Command> {
    let verbs = command.get_subcommands().filter(|verb| verb.get_name() != "help" && !verb.is_hide_set());
    std::iter::once(command).chain(verbs.flat_map(commands_with_verbs)).collect()
}

fn name(command: &Command) -> &str {
    command.get_bin_name().unwrap_or(command.get_name())
}

/// A page with its tables made anew, and the commands that it has tables of.
fn with_new_tables(page: &str, all: &[&Command]) -> (String, Vec<String>) {
    let (mut made, mut names, mut rest) = (String::new(), Vec::new(), page);
    while let Some((before, marked)) = rest.split_once(BEGIN) {
        let (named, marked) = marked.split_once(" -->\n").expect("a marker is a line");
        let command = all.iter().find(|command| name(command) == named);
        let command = command.unwrap_or_else(|| panic!("{named} is no command"));
        rest = marked.split_once(END).unwrap_or_else(|| panic!("the table of {named} has no end")).1;
        made.push_str(&format!("{before}{BEGIN}{named} -->\n{}{END}", table(command)));
        names.push(named.to_owned());
    }
    made.push_str(rest);
    (made, names)
}

/// Usage and flags of a command, a table for each heading of its help.
fn table(command: &Command) -> String {
    let usage = command.clone().render_usage().to_string();
    let usage: Vec<String> = usage.lines().map(|line| line.trim().trim_start_matches("Usage: ").to_owned()).collect();
    let mut text = format!("```text\n{}\n```\n", usage.join("\n"));
    let is_reported = |arg: &&Arg| !arg.is_hide_set() && !matches!(arg.get_id().as_str(), "help" | "version");
    let args: Vec<&Arg> = command.get_arguments().filter(is_reported).collect();
    let mut headings: Vec<Option<&str>> = Vec::new();
    for arg in &args {
        if !headings.contains(&arg.get_help_heading()) {
            headings.push(arg.get_help_heading());
        }
    }
    for heading in headings {
        let title = heading.map(|heading| format!("\n**{heading}**\n")).unwrap_or_default();
        text.push_str(&format!("{title}\n| flag | meaning | default |\n|---|---|---|\n"));
        args.iter().filter(|arg| arg.get_help_heading() == heading).for_each(|arg| text.push_str(&row(arg)));
    }
    text
}

fn row(arg: &Arg) -> String {
    let help = arg.get_long_help().or(arg.get_help()).map(ToString::to_string).unwrap_or_default();
    let mut meaning = help.split_whitespace().collect::<Vec<_>>().join(" ");
    let (takes_value, mut environment) = (arg.get_action().takes_values(), String::new());
    let values = arg.get_default_values().iter().filter(|_| takes_value);
    let mut default = values.map(|value| code(&value.to_string_lossy())).collect::<Vec<_>>().join(", ");
    // What follows from other things stands in brackets at the end of the text.
    while let Some((text, reported)) = meaning.strip_suffix(']').and_then(|text| text.rsplit_once('[')) {
        match reported.split_once(": ") {
            Some(("default", reported)) => default = escaped(reported),
            Some(("env", reported)) => {
                let names: Vec<String> = reported.split(", ").map(code).collect();
                environment = format!(" Environment: {}.", names.join(", "));
            }
            _ => break,
        }
        meaning = text.trim_end().to_owned();
    }
    let end = if meaning.ends_with('.') || meaning.ends_with(".)") { "" } else { "." };
    format!("| {} | {}{end}{}{environment} | {default} |\n", flag_with_value(arg), escaped(&meaning), choices(arg))
}

/// A flag with its value, as it is typed.
fn flag_with_value(arg: &Arg) -> String {
    let values =
        arg.get_value_names().unwrap_or_default().iter().map(ToString::to_string).collect::<Vec<_>>().join(" ");
    let value = if arg.get_action().takes_values() { format!(" {values}") } else { String::new() };
    match (arg.get_short(), arg.get_long()) {
        (Some(short), Some(long)) => format!("{}, {}", code(&format!("-{short}")), code(&format!("--{long}{value}"))),
        (None, Some(long)) => code(&format!("--{long}{value}")),
        _ => code(value.trim()),
    }
}

/// The values that a flag with a choice takes.
fn choices(arg: &Arg) -> String {
    if !arg.get_action().takes_values() {
        return String::new();
    }
    let reported = |value: &clap::builder::PossibleValue| {
        let help = value.get_help().map(|help| format!(": {}", escaped(help.to_string().trim_end_matches('.'))));
        format!(" <br>{}{}", code(value.get_name()), help.unwrap_or_default())
    };
    arg.get_possible_values().iter().filter(|value| !value.is_hide_set()).map(reported).collect()
}

fn code(text: &str) -> String {
    if text.is_empty() { "none".to_owned() } else { format!("`{}`", text.replace('|', "\\|")) }
}

/// A text as a cell of a table: outside of code, nothing of it is taken for Markdown or HTML.
fn escaped(text: &str) -> String {
    let part = |(index, part): (usize, &str)| {
        let part = part.replace('|', "\\|");
        if index % 2 == 1 { part } else { part.replace('<', "\\<").replace('*', "\\*") }
    };
    text.split('`').enumerate().map(part).collect::<Vec<_>>().join("`")
}

/// The words of a command as a shell would give them: up to what it pipes or writes, without its environment.
fn words(line: &str) -> Vec<String> {
    let (mut words, mut word, mut quoted) = (Vec::new(), None::<String>, false);
    for letter in line.chars() {
        match letter {
            '\'' => {
                quoted = !quoted;
                word.get_or_insert_default();
            }
            ' ' if !quoted => words.extend(word.take()),
            _ => word.get_or_insert_default().push(letter),
        }
    }
    words.extend(word);
    let ends = |word: &&String| !matches!(word.as_str(), ">" | "|" | "||" | "&&" | "&" | "<");
    words.iter().skip_while(|word| *word != "linerate").take_while(ends).cloned().collect()
}

/// `REGENERATE=1 cargo test -p linerate --lib pages` writes the tables anew.
#[test]
fn every_verb_has_a_page_with_its_flags_as_they_are() {
    let command = built();
    let all = commands_with_verbs(&command);
    let mut reported = BTreeSet::new();
    for verb in command.get_subcommands().filter(|verb| verb.get_name() != "help") {
        for path in pages_of(verb.get_name()) {
            let page = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
            let (made, names) = with_new_tables(&page, &all);
            if std::env::var_os("REGENERATE").is_some() {
                fs::write(&path, &made).unwrap();
            } else {
                assert!(made == page, "{} is stale: REGENERATE=1 cargo test -p linerate --lib pages", path.display());
            }
            for name in names {
                assert!(reported.insert(name.clone()), "{name} has two tables");
            }
        }
        let path = docs().join(format!("{}.md", verb.get_name()));
        let page = fs::read_to_string(&path).expect("the page of a verb");
        for heading in ["## Flags", "## Errors and exit codes"] {
            assert!(page.contains(heading), "{}: no {heading:?}", path.display());
        }
    }
    let expected: BTreeSet<String> = all.iter().skip(1).map(|command| name(command).to_owned()).collect();
    assert_eq!(reported, expected);
}

#[test]
fn every_command_of_the_pages_is_one() {
    let folders = [docs(), docs().join("reference")].map(|folder| fs::read_dir(folder).unwrap());
    let pages = folders.into_iter().flatten().flatten().map(|entry| entry.path());
    let pages = pages.filter(|path| path.extension().is_some_and(|end| end == "md"));
    let mut parsed = 0;
    for path in pages.chain([docs().join("../README.md")]) {
        let page = fs::read_to_string(&path).unwrap();
        for block in blocks(&page).into_iter().filter(|block| block.language == "sh") {
            assert!(
                block.note.is_none_or(|note| UNTESTED_REASONS.contains(&note)),
                "{}: {:?}",
                path.display(),
                block.note
            );
            for line in commands(block.text).iter().filter(|line| words(line).len() > 1) {
                Cli::try_parse_from(words(line)).unwrap_or_else(|e| panic!("{}: {line}: {e}", path.display()));
                parsed += 1;
            }
        }
    }
    assert!(parsed > 60, "{parsed}");
}

#[test]
fn a_table_says_what_the_help_says() {
    let help = "Weights, `a|b`, of <X>. [env: A, B] [default: a|b]";
    let command = Command::new("x").arg(Arg::new("mix").long("mix").short('m').value_name("OP").help(help));
    let number = Arg::new("n").long("n").value_name("N").default_value("3").value_parser(["3", "4"]).help("A number");
    let mut command = command.arg(number).arg(Arg::new("q").long("q").action(ArgAction::SetTrue).help("A switch"));
    command.build();
    let text = table(&command);
    assert!(text.starts_with("```text\nx [OPTIONS]\n```\n\n| flag | meaning | default |\n"), "{text}");
    let row = "| `-m`, `--mix OP` | Weights, `a\\|b`, of \\<X>. Environment: `A`, `B`. | a\\|b |\n";
    assert!(text.contains(row), "{text}");
    assert!(text.contains("| `--n N` | A number. <br>`3` <br>`4` | `3` |\n"), "{text}");
    assert!(text.contains("| `--q` | A switch. |  |\n"), "{text}");
    let page = format!("a\n{BEGIN}x -->\nold\n{END}b\n");
    let (made, names) = with_new_tables(&page, &[&command]);
    assert_eq!((made, names), (format!("a\n{BEGIN}x -->\n{text}{END}b\n"), vec!["x".to_owned()]));
    assert_eq!(words("A=b linerate x 'a b' > c"), ["linerate", "x", "a b"]);
}

/// Blocks of YAML in a text, in which nothing marks them: a key with a list below it, up to an empty line.
fn yaml_blocks(text: &str) -> Vec<String> {
    let lines: Vec<&str> = text.lines().collect();
    let begins = |at: &usize| {
        let is_item = lines.get(at + 1).is_some_and(|next| next.trim_start().starts_with("- "));
        is_item && lines[*at].starts_with(' ') && lines[*at].trim_end().ends_with(':')
    };
    let block = |at: usize| {
        let indent = lines[at].len() - lines[at].trim_start().len();
        let own = lines[at..].iter().take_while(|line| !line.trim().is_empty());
        own.map(|line| format!("{}\n", line.get(indent..).unwrap_or_default())).collect::<String>()
    };
    (0..lines.len()).filter(begins).map(block).collect()
}

/// What is wrong with a text of YAML: by the language of the file that it is, and by YAML where it is another's.
fn yaml_error(text: &str) -> Option<String> {
    if text.contains("role:") {
        return linerate_fleet::description::read(text, "fleet.yaml").err().map(|error| error.to_string());
    }
    if text.contains("nodes:") {
        return linerate_site::read(text, "site.yaml").err().map(|error| error.to_string());
    }
    let mut events = saphyr_parser::Parser::new_from_str(text);
    events.find_map(|event| event.err().map(|error| error.to_string()))
}

#[test]
fn every_example_of_yaml_in_help_reads_however_wide_the_terminal_is() {
    let mut count = 0;
    for command in commands_with_verbs(&built()) {
        let Some(text) = command.get_after_help().map(ToString::to_string) else { continue };
        for width in 50..=120 {
            for list in yaml_blocks(&crate::cli::help_footer::laid(&text, width)) {
                count += 1;
                assert_eq!(yaml_error(&list), None, "{} at {width}:\n{list}", name(command));
            }
        }
    }
    assert!(count >= 71, "that of fleet, at each width: {count}");
}

#[test]
fn every_example_of_yaml_in_the_pages_reads() {
    let (mut folders, mut count) = (vec![docs()], 0);
    while let Some(folder) = folders.pop() {
        for path in fs::read_dir(folder).expect("a folder").flatten().map(|entry| entry.path()) {
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|end| end == "md") {
                let page = fs::read_to_string(&path).expect("text");
                for block in blocks(&page).iter().filter(|block| block.language == "yaml") {
                    count += 1;
                    assert_eq!(yaml_error(block.text), None, "{}:\n{}", path.display(), block.text);
                }
            }
        }
    }
    assert!(count >= 4, "{count}");
}
