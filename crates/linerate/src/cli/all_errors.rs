//! All that is wrong with a command line, told at once: clap stops at the first mistake.
//!
//! The line is cut into arguments, each a flag with its value or a word by itself, and each is read by clap alone:
//! unknown flags and bad values show there, whatever else is wrong. Then the line is read as a whole, without the
//! unknown flags and with any value where one was bad, so that nothing seems to be missing because it was wrong: what
//! excludes or lacks another shows there. What is left is held against the verb's own checks, and of those none is told
//! that speaks of a flag that was taken out.

mod misspelling;

use std::ffi::OsString;
use std::ops::Range;
use std::path::Path;

use clap::builder::ValueParser;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Arg, Command, CommandFactory as _, Parser as _};

use crate::cli::clap_error_text::{UNQUOTED_TEXT, clap_error_text};
use crate::cli::definition::Cli;
use crate::cli::{iperf3, warp};
use crate::files::site_file;
use crate::terminal::failure::Failure;
use crate::terminal::printing;

/// Most words of a line that is looked at whole: each is read by itself.
const WORDS_MAX: usize = 300;

/// What is said of a longer one.
const THERE_MAY_BE_MORE: &str =
    "The line has more than 300 words, and only its first mistake is reported: there may be more.";

/// What is said of `-op`.
const ONE_DASH: &str = "has one dash, which means other flags: write -";

/// A flag with its value, or a word that is none.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Argument {
    /// Its words of the line.
    words: Range<usize>,
    /// What clap calls it; absent where it knows none.
    id: Option<String>,
    is_word: bool,
}

/// A mistake, and the word of the line that it is about.
struct LineError {
    at: usize,
    text: String,
}

/// What a verb finds wrong with a line that clap takes.
pub(crate) type VerbCheck<'a> = &'a dyn Fn(Vec<OsString>) -> Result<(), Failure>;

/// What to say of a line that clap refused: of one mistake what clap says, or all of them.
pub(crate) fn all_errors_of(args: &[OsString], first: &clap::Error, check: VerbCheck<'_>) -> Failure {
    let words: Vec<String> = args.iter().map(|word| word.to_string_lossy().into_owned()).collect();
    if let Some((mut mistakes, line)) = iperf3::translate(args) {
        let more = Cli::command().try_get_matches_from(&line).err();
        mistakes.extend(more.map(|error| error_lines(&line, &error, check)).unwrap_or_default());
        return Failure::from_errors(mistakes);
    }
    let warp_explanation = warp::explain(first, &words);
    let mut mistakes = error_lines(args, first, check);
    if mistakes.len() < 2 {
        let text = match warp_explanation {
            // clap does not say which argument it is.
            None if first.kind() == ErrorKind::InvalidUtf8 => mistakes.remove(0),
            _ if mistakes[0].contains(ONE_DASH) => mistakes.remove(0),
            None => clap_error_text(first),
            Some(text) => text,
        };
        let more = if words.len() > WORDS_MAX { format!("\n\n{THERE_MAY_BE_MORE}") } else { String::new() };
        return Failure::Usage(text + &more);
    }
    let whole = warp_explanation.as_deref().and_then(|text| text.split_once(warp::AS_A_WHOLE));
    match whole {
        Some((_, whole)) => Failure::Usage(format!("{}\nas a whole:\n{whole}", Failure::from_errors(mistakes))),
        None => Failure::from_errors(mistakes),
    }
}

/// Every mistake in a line of its own, sorted as on the command line. Where it cannot be told what else is wrong, the
/// first mistake alone, which is clap's.
pub(crate) fn error_lines(args: &[OsString], first: &clap::Error, check: VerbCheck<'_>) -> Vec<String> {
    let all = if args.len() > WORDS_MAX { None } else { printing::try_without_panic(|| find_all_errors(args, check)) };
    all.filter(|all| !all.is_empty()).unwrap_or_else(|| vec![one_line_error(first)])
}

/// Nothing where the line names no verb.
fn find_all_errors(args: &[OsString], check: VerbCheck<'_>) -> Vec<String> {
    let (mut texts, rest) = misplaced_flags(args);
    let mut found = match Line::new(&rest, check) {
        Some(line) => line.found(),
        None if texts.is_empty() => Vec::new(),
        None => {
            let error = Cli::command().try_get_matches_from(&rest).err();
            let reported = error.filter(|error| error.kind() == ErrorKind::InvalidSubcommand);
            reported.map(|error| LineError { at: 0, text: one_line_error(&error) }).into_iter().collect()
        }
    };
    found.sort_by_key(|mistake| mistake.at);
    // Words that go unquoted are told apart by their places.
    let strays: Vec<usize> = found.iter().filter(|m| m.text.contains(UNQUOTED_TEXT)).map(|m| m.at).collect();
    let are_many = strays.len() > 1;
    let text = |mistake: LineError| {
        let is_stray = are_many && strays.contains(&mistake.at) && mistake.text.contains(UNQUOTED_TEXT);
        if is_stray { format!("{} (argument {})", mistake.text, mistake.at) } else { mistake.text }
    };
    texts.extend(found.into_iter().map(text));
    texts.dedup();
    texts
}

/// What is wrong with flags that stand where a verb is to stand, and the line without them and their values.
fn misplaced_flags(args: &[OsString]) -> (Vec<String>, Vec<OsString>) {
    let mut command = Cli::command();
    command.build();
    let (mut texts, mut kept) = (Vec::new(), args.get(..1).unwrap_or_default().to_vec());
    let mut rest = args.get(1..).unwrap_or_default().iter().peekable();
    while let Some(word) = rest.next_if(|_| command.is_subcommand_required_set()) {
        let is_verb = |word: &OsString| word.to_str().is_some_and(|word| command.find_subcommand(word).is_some());
        if is_verb(word) {
            kept.push(word.clone());
            let below = word.to_str().and_then(|word| command.find_subcommand(word)).cloned();
            command = below.unwrap_or(command);
            continue;
        }
        let begins_as_flag = |word: &OsString| word.as_encoded_bytes().starts_with(b"-");
        let error = Cli::command().try_get_matches_from(kept.iter().chain([word])).err();
        match error.filter(|error| error.kind() == ErrorKind::UnknownArgument && begins_as_flag(word)) {
            Some(error) => texts.push(one_line_error(&error)),
            None => {
                kept.push(word.clone());
                break;
            }
        }
        rest.next_if(|next| !begins_as_flag(next) && !is_verb(next));
    }
    kept.extend(rest.cloned());
    (texts, kept)
}

/// A command line, cut.
struct Line<'a> {
    args: &'a [OsString],
    words: Vec<String>,
    /// The verb, and what is below it.
    verbs: Vec<String>,
    command: Command,
    arguments: Vec<Argument>,
    check: VerbCheck<'a>,
}

impl<'a> Line<'a> {
    /// None where it names no command, of which alone there is something to say.
    fn new(args: &'a [OsString], check: VerbCheck<'a>) -> Option<Self> {
        let words: Vec<String> = args.iter().map(|word| word.to_string_lossy().into_owned()).collect();
        let mut command = Cli::command();
        command.build();
        let mut verbs = Vec::new();
        while let Some(below) = words.get(1 + verbs.len()).and_then(|word| command.find_subcommand(word)) {
            verbs.push(below.get_name().to_owned());
            command = below.clone();
        }
        // What follows `help` is known to clap's own parser only.
        if verbs.is_empty() || command.is_subcommand_required_set() || verbs.iter().any(|verb| verb == "help") {
            return None;
        }
        let mut line = Line { args, words, verbs, command, arguments: Vec::new(), check };
        line.split_arguments();
        Some(line)
    }

    fn split_arguments(&mut self) {
        let mut at = 1 + self.verbs.len();
        while at < self.words.len() {
            let argument = self.argument(at);
            at = argument.words.end;
            self.arguments.push(argument);
        }
        self.attach_values_to_unknown_flags();
    }

    /// The argument that begins with a word.
    fn argument(&self, at: usize) -> Argument {
        let word = self.words[at].as_str();
        let argument = |end, id: Option<&Arg>, is_word| Argument {
            words: at..end,
            id: id.map(|arg| arg.get_id().to_string()),
            is_word,
        };
        if word == "--" {
            return argument(self.words.len(), None, true);
        }
        if !word.starts_with('-') || word == "-" {
            let before = self.arguments.iter().filter(|argument| argument.is_word).count();
            return argument(at + 1, positional(&self.command, before), true);
        }
        let is_long = word.starts_with("--") || self.has_single_dash(word);
        let (arg, has_value) = if is_long { self.long_flag(word) } else { self.short_flag(word) };
        let takes_next = match arg {
            Some(arg) => arg.get_action().takes_values() && !has_value && self.is_value(at + 1),
            // As the flag that was probably meant does; of a verb without words of its own, none is left over.
            None if has_value => false,
            None => match self.meant(word) {
                Some(meant) => meant.get_action().takes_values() && self.is_value(at + 1),
                None => self.command.get_positionals().next().is_none() && self.is_value(at + 1),
            },
        };
        argument(at + 1 + usize::from(takes_next), arg, false)
    }

    /// The flag of a word such as `--name` or `--name=value`, and whether the value is in the word.
    fn long_flag(&self, word: &str) -> (Option<&Arg>, bool) {
        let name = word.trim_start_matches('-');
        let (name, has_value) = name.split_once('=').map_or((name, false), |(name, _)| (name, true));
        (flag(&self.command, name), has_value)
    }

    /// Whether it is the name of a flag behind one dash, as some tools have it.
    fn has_single_dash(&self, word: &str) -> bool {
        let name = word.strip_prefix('-').filter(|name| !name.starts_with('-') && name.len() > 1);
        name.is_some_and(|_| self.long_flag(word).0.is_some())
    }

    /// The same of `-f`, `-fvalue` and `-qf`: the flag that takes a value, or the first.
    fn short_flag(&self, word: &str) -> (Option<&Arg>, bool) {
        let flag_with_letter = |sign: char| self.command.get_arguments().find(|arg| arg.get_short() == Some(sign));
        for (i, sign) in word.char_indices().skip(1) {
            match flag_with_letter(sign) {
                Some(arg) if arg.get_action().takes_values() => {
                    return (Some(arg), word.len() > i + sign.len_utf8());
                }
                Some(_) => {}
                None => return (None, true),
            }
        }
        (word.chars().nth(1).and_then(flag_with_letter), false)
    }

    /// Whether a word can be the value of what stands before it: clap takes what begins with a dash for a flag; one
    /// that there is not was rather meant as the value, such as a number below zero.
    fn is_value(&self, at: usize) -> bool {
        let Some(word) = self.words.get(at) else { return false };
        let is_flag = word.starts_with("--") || word.len() > 1 && self.short_flag(word).0.is_some();
        !word.starts_with('-') || word == "-" || !is_flag
    }

    /// The flag that was probably meant by an unknown one.
    fn meant(&self, word: &str) -> Option<&Arg> {
        let word = flag_name_of_word(word);
        let error = self.clap_error_for(&[word.into()])?;
        let name = match error.get(ContextKind::SuggestedArg)? {
            ContextValue::String(name) => name.clone(),
            ContextValue::Strings(names) => names.first()?.clone(),
            _ => return None,
        };
        let name = name.split(['=', ' ']).next()?.trim_start_matches("--");
        flag(&self.command, name).filter(|_| misspelling::is_misspelt(word.trim_start_matches('-'), name))
    }

    /// Where there are more words than the verb takes, those behind unknown flags are their values.
    fn attach_values_to_unknown_flags(&mut self) {
        let most: usize = self.command.get_positionals().map(|arg| if arg.is_last_set() { 0 } else { 1 }).sum();
        let words = |line: &Self| line.arguments.iter().filter(|a| a.is_word && !line.is_after_double_dash(a)).count();
        let mut i = 0;
        while i + 1 < self.arguments.len() && words(self) > most {
            let (this, next) = (&self.arguments[i], &self.arguments[i + 1]);
            let is_unknown = this.id.is_none() && !this.is_word && !self.words[this.words.start].contains('=');
            if is_unknown && this.words.len() == 1 && next.is_word && !self.is_after_double_dash(next) {
                self.arguments[i].words.end = next.words.end;
                self.arguments.remove(i + 1);
            }
            i += 1;
        }
        // Those that are left are counted anew.
        let mut before = 0;
        for i in 0..self.arguments.len() {
            if self.arguments[i].is_word && !self.is_after_double_dash(&self.arguments[i]) {
                self.arguments[i].id = positional(&self.command, before).map(|arg| arg.get_id().to_string());
                before += 1;
            }
        }
    }

    /// Whether it is what follows `--`.
    fn is_after_double_dash(&self, argument: &Argument) -> bool {
        self.words[argument.words.start] == "--"
    }

    /// The words of the verb itself and these arguments.
    fn words_of<'b>(&self, arguments: impl IntoIterator<Item = &'b Argument>) -> Vec<OsString> {
        let verb_words = self.args[..=self.verbs.len()].iter();
        let rest = arguments.into_iter().flat_map(|argument| &self.args[argument.words.clone()]);
        verb_words.chain(rest).cloned().collect()
    }

    /// What clap says of these words behind the verb.
    fn clap_error_for(&self, words: &[OsString]) -> Option<clap::Error> {
        let line = self.words_of(&[]).into_iter().chain(words.iter().cloned());
        Cli::command().try_get_matches_from(line).err()
    }

    /// What is wrong with an argument by itself.
    fn argument_error(&self, argument: &Argument) -> Option<clap::Error> {
        // A word is known by its place: those before it stand there too, whatever they are.
        let before = self.arguments.iter().take_while(|other| other.words.start < argument.words.start);
        let before: Vec<&Argument> = before.filter(|other| argument.is_word && other.is_word).collect();
        let any: Vec<&str> = before.iter().filter_map(|other| other.id.as_deref()).collect();
        let command = accept_any_value(Cli::command(), &self.verbs, &any);
        let line = self.words_of(before.iter().copied().chain([argument]));
        let error = command.try_get_matches_from(line).err()?;
        let is_its_own = matches!(
            error.kind(),
            ErrorKind::UnknownArgument
                | ErrorKind::InvalidValue
                | ErrorKind::ValueValidation
                | ErrorKind::NoEquals
                | ErrorKind::TooManyValues
                | ErrorKind::TooFewValues
                | ErrorKind::WrongNumberOfValues
                | ErrorKind::InvalidUtf8
        );
        is_its_own.then_some(error)
    }

    fn found(&self) -> Vec<LineError> {
        let (mut found, mut kept, mut bad) = (Vec::new(), Vec::new(), Vec::new());
        // Names of flags of which nothing more is to be said.
        let mut out: Vec<String> = Vec::new();
        for argument in &self.arguments {
            let word = &self.words[argument.words.start];
            if self.has_single_dash(word) {
                found.push(LineError {
                    at: argument.words.start,
                    text: format!("'{}' {ONE_DASH}{0}", flag_name_of_word(word)),
                });
                out.extend(self.long_flag(word).0.and_then(name));
                continue;
            }
            let Some(error) = self.argument_error(argument) else {
                kept.push(argument);
                continue;
            };
            let text = match error.kind() {
                ErrorKind::InvalidUtf8 => self.not_utf8_text(argument),
                _ => one_line_error(&error),
            };
            found.push(LineError { at: argument.words.start, text });
            let known = self.known(argument);
            match known.filter(|_| error.kind() != ErrorKind::UnknownArgument) {
                Some(arg) if arg.get_action().takes_values() => bad.push((arg.get_id().to_string(), argument)),
                Some(switch) => out.extend(name(switch)),
                None => out.extend(self.meant(&self.words[argument.words.start]).and_then(name)),
            }
        }
        self.check_relations(&mut found, &mut kept, &bad, &mut out);
        let flags_with_bad_values = bad.iter().filter_map(|(_, argument)| self.known(argument));
        out.extend(flags_with_bad_values.filter_map(name));
        let own = self.check_with_verb(&kept).err().map(Failure::mistakes).unwrap_or_default();
        let own = own.into_iter().filter(|text| !out.iter().any(|name| names_flag(text, name)));
        found.extend(own.map(|text| LineError { at: self.place(&text), text }));
        found
    }

    /// The flag or word that an argument is, where there is such.
    fn known(&self, argument: &Argument) -> Option<&Arg> {
        let id = argument.id.as_deref()?;
        self.command.get_arguments().find(|arg| arg.get_id() == id)
    }

    /// What is said of an argument that is no UTF-8.
    fn not_utf8_text(&self, argument: &Argument) -> String {
        let arg = self.known(argument);
        let what = match arg {
            Some(arg) => format!("'{arg}'"),
            None => format!("argument {}", argument.words.start),
        };
        format!("the text given for {what} is not UTF-8: write it in UTF-8")
    }

    /// What the verb itself holds against these arguments.
    fn check_with_verb(&self, kept: &[&Argument]) -> Result<(), Failure> {
        let args = self.words_of(kept.iter().copied());
        if Cli::try_parse_from(&args).is_ok() {
            return (self.check)(args);
        }
        // What is missing was told, or was taken out. A site can be read without it.
        let site = kept.iter().find(|argument| argument.id.as_deref() == Some("site"));
        let Some(word) = site.and_then(|argument| self.words[argument.words.clone()].last()) else { return Ok(()) };
        let path = word.strip_prefix("--site=").unwrap_or(word);
        site_file::read_site(Path::new(path)).map(|_| ())
    }

    /// What excludes, and what lacks another. What is excluded is taken out.
    fn check_relations<'b>(
        &self,
        found: &mut Vec<LineError>,
        kept: &mut Vec<&'b Argument>,
        bad: &[(String, &'b Argument)],
        out: &mut Vec<String>,
    ) {
        let any: Vec<&str> = bad.iter().map(|(id, _)| id.as_str()).collect();
        let meant: Vec<&Arg> =
            out.iter().filter_map(|name| flag(&self.command, name.trim_start_matches("--"))).collect();
        let mut all: Vec<&Argument> = kept.iter().copied().chain(bad.iter().map(|(_, argument)| *argument)).collect();
        all.sort_by_key(|argument| argument.words.start);
        // Each time round, there is one argument less.
        for _ in 0..=self.arguments.len() {
            let command = accept_any_value(Cli::command(), &self.verbs, &any);
            let Err(error) = command.try_get_matches_from(self.words_of(all.iter().copied())) else { return };
            let invalid = error_arguments(&error, ContextKind::InvalidArg);
            match (error.kind(), invalid.first()) {
                (ErrorKind::ArgumentConflict, Some(first)) => {
                    let prior = error_arguments(&error, ContextKind::PriorArg);
                    let places = self.excluded_arguments(&all, first, prior.contains(first));
                    let text = one_line_error(&error);
                    if !found.iter().any(|mistake| mistake.text == text) {
                        found.push(LineError { at: places.last().copied().unwrap_or(usize::MAX), text });
                    }
                    // Which of them is meant, nobody knows: nothing more is said of either.
                    let both = self.command.get_arguments().filter(|arg| {
                        let shown = arg.to_string();
                        shown == *first || prior.contains(&shown)
                    });
                    out.extend(both.filter_map(name));
                    if places.is_empty() {
                        return;
                    }
                    all.retain(|argument| !places.contains(&argument.words.start));
                    kept.retain(|argument| !places.contains(&argument.words.start));
                }
                (ErrorKind::MissingRequiredArgument, _) => {
                    let is_out = |shown: &String| out.iter().any(|name| names_flag(shown, name));
                    let missing = self.missing(&all, &any, &meant).filter(|_| !invalid.iter().all(is_out));
                    found.extend(missing.map(|text| LineError { at: usize::MAX, text }));
                    return;
                }
                _ => return,
            }
        }
    }

    /// What is missing from these arguments even with the flags that were meant by unknown ones.
    fn missing(&self, all: &[&Argument], any: &[&str], meant: &[&Arg]) -> Option<String> {
        let flags = meant.iter().flat_map(|arg| {
            let value = arg.get_action().takes_values().then(|| OsString::from("x"));
            name(arg).map(OsString::from).into_iter().chain(value)
        });
        let any: Vec<&str> = any.iter().copied().chain(meant.iter().map(|arg| arg.get_id().as_str())).collect();
        let any: Vec<&str> = any.into_iter().filter(|id| !self.is_switch(id)).collect();
        let line = self.words_of(all.iter().copied()).into_iter().chain(flags);
        let error = accept_any_value(Cli::command(), &self.verbs, &any).try_get_matches_from(line).err()?;
        (error.kind() == ErrorKind::MissingRequiredArgument).then(|| one_line_error(&error))
    }

    fn is_switch(&self, id: &str) -> bool {
        self.command.get_arguments().any(|arg| arg.get_id() == id && !arg.get_action().takes_values())
    }

    /// Where the arguments of this name stand, as clap shows it; of a repeated one, all but the first.
    fn excluded_arguments(&self, all: &[&Argument], shown: &str, is_repeated: bool) -> Vec<usize> {
        let arg = self.command.get_arguments().find(|arg| arg.to_string() == shown);
        let Some(id) = arg.map(|arg| arg.get_id().as_str()) else { return Vec::new() };
        let places = all.iter().filter(|argument| argument.id.as_deref() == Some(id));
        places.skip(usize::from(is_repeated)).map(|argument| argument.words.start).collect()
    }

    /// Which word a mistake is about: the first flag or value that it names.
    fn place(&self, text: &str) -> usize {
        let is_named = |argument: &&Argument| {
            let arg = self.known(argument);
            arg.and_then(name).is_some_and(|name| names_flag(text, &name))
        };
        let is_in = |value: &str| text.contains(&format!("{value:?}")) || value.len() > 2 && text.contains(value);
        let is_quoted = |argument: &&Argument| {
            let words = &self.words[argument.words.clone()];
            words.iter().map(String::as_str).any(|word| {
                let (before, behind) = word.split_once('=').unwrap_or((word, ""));
                [word, before, behind].into_iter().any(|value| !value.starts_with('-') && is_in(value))
            })
        };
        let found = self.arguments.iter().find(is_named).or_else(|| self.arguments.iter().find(is_quoted));
        found.map_or(usize::MAX, |argument| argument.words.start)
    }
}

/// What clap says of a command line that it refuses, in one line, with what is meant where clap knows it: for one in
/// which this is one of several.
fn one_line_error(error: &clap::Error) -> String {
    if let Some(text) = warp::explain(error, &[]) {
        return text;
    }
    let text = clap_error_text(error);
    let (first, rest) = text.split_once('\n').unwrap_or((&text, ""));
    // What is listed below a colon: arguments that are missing, or excluded.
    let listed = rest.lines().take_while(|line| !line.is_empty() && first.ends_with(':')).map(str::trim);
    let listed = listed.collect::<Vec<_>>().join(", ");
    let first = format!("{} {listed}", first.trim()).trim_end().to_owned();
    let tips = |line: &&str| line.starts_with("tip: ") && !line.starts_with("tip: to pass");
    let hints = rest.lines().map(str::trim).filter(|line| tips(line) || line.starts_with("[possible"));
    let hints = hints.map(|line| line.trim_start_matches("tip: ").to_owned());
    std::iter::once(first).chain(hints).collect::<Vec<_>>().join("; ")
}

/// The command with any text for a value of these arguments of a verb.
fn accept_any_value(command: Command, verbs: &[String], ids: &[&str]) -> Command {
    if let Some((verb, below)) = verbs.split_first().filter(|(verb, _)| command.find_subcommand(verb).is_some()) {
        return command.mut_subcommand(verb, |command| accept_any_value(command, below, ids));
    }
    let freed = |arg: Arg| {
        let arg = arg.value_parser(ValueParser::os_string()).value_delimiter(None);
        if arg.is_positional() { arg } else { arg.num_args(0..=1) }
    };
    // What is changed goes to the end: words by themselves are known by their order, so that all of them are.
    let words: Vec<String> = command.get_positionals().map(|arg| arg.get_id().to_string()).collect();
    let flags = ids.iter().copied().filter(|id| !words.iter().any(|word| word == id));
    words
        .iter()
        .map(String::as_str)
        .chain(flags)
        .fold(command, |command, id| command.mut_arg(id, |arg| if ids.contains(&id) { freed(arg) } else { arg }))
}

fn flag<'a>(command: &'a Command, name: &str) -> Option<&'a Arg> {
    let called = |arg: &&Arg| arg.get_long() == Some(name) || arg.get_all_aliases().unwrap_or_default().contains(&name);
    command.get_arguments().find(called)
}

/// The place that a word has behind so many others.
fn positional(command: &Command, before: usize) -> Option<&Arg> {
    command.get_positionals().filter(|arg| !arg.is_last_set()).nth(before)
}

/// A flag without its value.
fn flag_name_of_word(word: &str) -> &str {
    word.split('=').next().unwrap_or(word)
}

fn name(arg: &Arg) -> Option<String> {
    arg.get_long().map(|long_flag| format!("--{long_flag}"))
}

/// Arguments that an error is about, as it shows them.
fn error_arguments(error: &clap::Error, kind: ContextKind) -> Vec<String> {
    match error.get(kind) {
        Some(ContextValue::String(one)) => vec![one.clone()],
        Some(ContextValue::Strings(all)) => all.clone(),
        _ => Vec::new(),
    }
}

/// Whether a text names a flag, and not one whose name begins alike.
pub(crate) fn names_flag(text: &str, name: &str) -> bool {
    text.match_indices(name).any(|(at, _)| {
        let mut behind = text[at + name.len()..].chars();
        match behind.next() {
            Some('-') => false,
            Some('.') => !behind.next().is_some_and(char::is_alphanumeric),
            Some(next) => !next.is_alphanumeric(),
            None => true,
        }
    })
}

#[cfg(test)]
mod tests;
