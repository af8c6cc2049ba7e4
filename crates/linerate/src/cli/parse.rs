//! The command line, read: with the file of flags that it names, and with all that is wrong with it.

use std::ffi::{OsStr, OsString};
use std::path::Path;

use clap::error::ErrorKind;
use clap::parser::ValueSource;
use clap::{ArgMatches, Command, CommandFactory as _, Parser as _};

use crate::cli::clap_error_text::clap_error_text;
use crate::cli::config::{FileFlags, KeyError, flag_named, flags_of_file};
use crate::cli::definition::{Cli, HELP_COLUMNS_MAX, Verb};
use crate::cli::{all_errors, help_footer, short_help, verbs};
use crate::commands::bench::flags::{BenchFlags, FlagSource, FlagSources, FlagsCheck};
use crate::commands::bench::resolve;
use crate::commands::net::flags::NetFlags;
use crate::commands::net::preset::{NetPreset, NetTest};
use crate::terminal::failure::Failure;
use crate::terminal::progress::print_error;
use crate::terminal::{key_masks, printing};

/// Reads the command line, and the file that it names. Help, and what clap refuses, ends the process as clap has it.
pub(crate) fn read(args: Vec<OsString>) -> Result<Cli, Failure> {
    let mut cli = parse(&args)?;
    if let Verb::Net(flags) = &mut cli.verb {
        flags.tests = preset_tests(&args, flags.preset)?;
    }
    let Verb::Bench(flags) = &mut cli.verb else { return Ok(cli) };
    let typed = given_flags(&args, FlagSource::Typed);
    let Some(path) = flags.config.clone() else {
        flags.given = typed;
        return Ok(cli);
    };
    let (words, wrong) = with_file(args, &path)?;
    if !wrong.is_empty() {
        return Err(file_and_line_failure(wrong, &words));
    }
    let mut cli = parse(&words)?;
    if let Verb::Bench(flags) = &mut cli.verb {
        flags.given = given_flags(&words, FlagSource::InFile);
        flags.given.0.extend(typed.0);
    }
    Ok(cli)
}

/// What is wrong with a file, and with the flags that stand beside what is right in it. Nothing is said of flags that
/// the file has wrong.
fn file_and_line_failure(wrong: Vec<KeyError>, words: &[OsString]) -> Failure {
    let checked = parse(words).and_then(|cli| match cli.verb {
        Verb::Bench(mut flags) => {
            flags.given = given_flags(words, FlagSource::InFile);
            resolve::check_with_alias(&mut flags)
        }
        _ => Ok(()),
    });
    let names: Vec<String> = wrong.iter().map(|wrong| format!("--{}", wrong.name)).collect();
    let is_new = |text: &String| !names.iter().any(|name| all_errors::names_flag(text, name));
    let others = checked.err().map(Failure::mistakes).unwrap_or_default().into_iter().filter(is_new);
    Failure::from_errors(wrong.into_iter().map(|wrong| wrong.text).chain(others).collect())
}

/// The flags of bench that stand on a command line, by their ids.
fn given_flags(words: &[OsString], by: FlagSource) -> FlagSources {
    let matches = Cli::command().try_get_matches_from(words).ok();
    let bench = matches.as_ref().and_then(|matches| matches.subcommand_matches("bench"));
    let ids = bench.into_iter().flat_map(|bench| bench.ids().map(move |id| (bench, id.as_str())));
    let typed = ids.filter(|(bench, id)| bench.value_source(id) == Some(ValueSource::CommandLine));
    FlagSources(typed.map(|(_, id)| (id.to_owned(), by)).collect())
}

fn parse(args: &[OsString]) -> Result<Cli, Failure> {
    let words: Vec<String> = args.iter().map(|word| word.to_string_lossy().into_owned()).collect();
    key_masks::remember_secrets_of_arguments(&words);
    Cli::try_parse_from(args).map_err(|error| match error.kind() {
        ErrorKind::DisplayHelp if short_help::is_short_help_wanted(&words) => {
            let printed = printing::print_unmasked(&short_help::short_help(&words));
            std::process::exit(i32::from(printed.is_err()))
        }
        ErrorKind::DisplayHelp => help_at_terminal_width(args).unwrap_or(error).exit(),
        ErrorKind::DisplayVersion => error.exit(),
        ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => {
            print_error(short_help::short_help(&words).trim_end());
            let typed = std::iter::once("linerate").chain(words.iter().skip(1).map(String::as_str));
            let typed = typed.collect::<Vec<_>>().join(" ");
            let example = if words.len() < 2 { "linerate bench, or another command of these" } else { "one of these" };
            Failure::usage(format!("no command behind {typed:?}: type {example}"))
        }
        _ => all_errors::all_errors_of(args, &error, &check_line),
    })
}

/// The help that was asked for, with what stands below its flags in lines of the terminal.
fn help_at_terminal_width(args: &[OsString]) -> Option<clap::Error> {
    let width = printing::text_style().width.min(HELP_COLUMNS_MAX);
    with_width(Cli::command(), width).try_get_matches_from(args).err()
}

fn with_width(command: Command, width: usize) -> Command {
    let text = command.get_after_help().map(|text| help_footer::laid(&text.to_string(), width));
    let verbs: Vec<String> = command.get_subcommands().map(|verb| verb.get_name().to_owned()).collect();
    let command = match text {
        Some(text) => command.after_help(text),
        None => command,
    };
    verbs.into_iter().fold(command, |command, verb| command.mut_subcommand(verb, |verb| with_width(verb, width)))
}

/// What the verb finds wrong with a line that clap takes.
pub(crate) fn check_line(args: Vec<OsString>) -> Result<(), Failure> {
    verbs::check(read(args)?.verb, bench_flags)
}

/// Reads a command line of bench, such as that of each cell of an experiment.
pub(crate) fn bench_flags(words: &[OsString], check_flags: FlagsCheck<'_>) -> Result<Box<BenchFlags>, Failure> {
    let judged = |cli: Cli, words: &[OsString]| {
        let Verb::Bench(mut flags) = cli.verb else {
            return Err(Failure::usage("flags of bench name another command"));
        };
        flags.given = given_flags(words, FlagSource::Typed);
        check_flags(&mut flags).map(|()| flags)
    };
    Cli::try_parse_from(words).map_or_else(
        |error| {
            let check = |words: Vec<OsString>| judged(read(words.clone())?, &words).map(drop);
            let all = all_errors::error_lines(words, &error, &check);
            Err(Failure::from_errors(all.into_iter().map(|why| format!("flags of bench: {why}")).collect()))
        },
        |cli| judged(cli, words),
    )
}

/// The command line with the file's flags in it, but for those that it gives itself or that exclude one which it gives.
fn with_file(args: Vec<OsString>, path: &Path) -> Result<(Vec<OsString>, Vec<KeyError>), Failure> {
    let mut command = Cli::command();
    command.build();
    let given = command.clone().try_get_matches_from(&args).map_err(|error| Failure::Usage(clap_error_text(&error)))?;
    let given = given.subcommand_matches("bench").cloned().unwrap_or_default();
    let FileFlags { flags, notes, wrong } = flags_of_file(path)?;
    if wrong.is_empty() && given.try_get_one::<bool>("quiet").ok().flatten() != Some(&true) {
        notes.iter().for_each(|note| print_error(&format!("note: {note}")));
    }
    let words: Vec<OsString> = flags
        .into_iter()
        .filter(|flag| !is_overridden(&command, "bench", &given, &flag.name))
        .map(|flag| flag.word().into())
        .collect();
    let mut args = args.into_iter();
    let begin: Vec<OsString> = args.by_ref().take(2).collect();
    Ok((begin.into_iter().chain(words).chain(args).collect(), wrong))
}

/// Whether a flag of a verb is given, or excludes one that is.
fn is_overridden(command: &Command, verb: &str, given: &ArgMatches, name: &str) -> bool {
    let Some(verb) = command.find_subcommand(verb) else { return false };
    let Some(arg) = flag_named(verb, name) else { return false };
    let is_given = |id: &str| given.value_source(id) == Some(ValueSource::CommandLine);
    let excludes =
        |a: &clap::Arg, b: &clap::Arg| verb.get_arg_conflicts_with(a).iter().any(|c| c.get_id() == b.get_id());
    is_given(arg.get_id().as_str())
        || verb
            .get_arguments()
            .any(|other| is_given(other.get_id().as_str()) && (excludes(arg, other) || excludes(other, arg)))
}

/// The tests of a preset of `net`, each as its own command line would be read.
fn preset_tests(args: &[OsString], preset: Option<NetPreset>) -> Result<Vec<NetFlags>, Failure> {
    let tests = preset.map(NetPreset::tests).unwrap_or_default();
    let read = |test: &NetTest| {
        let mut flags = with_test_flags(args, test)?;
        // Each has a folder of its own.
        flags.output = flags.output.map(|path| if tests.len() > 1 { path.join(test.folder) } else { path });
        Ok(flags)
    };
    tests.iter().map(read).collect()
}

/// The command line with the flags of a test before those that were given, but for those that give way.
fn with_test_flags(args: &[OsString], test: &NetTest) -> Result<NetFlags, Failure> {
    let mut command = Cli::command();
    command.build();
    let given = command.clone().try_get_matches_from(args).map_err(|error| Failure::Usage(clap_error_text(&error)))?;
    let given = given.subcommand_matches("net").cloned().unwrap_or_default();
    // What is of the test's op alone: another one is not capped by its rate, sends no datagrams, brings no streams.
    let is_given = |id: &str| given.value_source(id) == Some(ValueSource::CommandLine);
    let typed = given.get_raw("op").and_then(|mut ops| ops.next()).filter(|_| is_given("op"));
    let op = if is_given("udp") { Some(OsStr::new("udp")) } else { typed };
    let is_of_other_op = |name: &str| match name {
        "max-rate" | "gso" => op.is_some_and(|op| op != "udp"),
        "read" => op.is_some_and(|op| op != "stream"),
        _ => false,
    };
    let is_away = |name: &str| is_of_other_op(name) || is_overridden(&command, "net", &given, name);
    let (words, stands_for) = test.words(is_away);
    let (begin, rest) = args.split_at(args.len().min(2));
    let line = begin.iter().cloned().chain(words.into_iter().map(OsString::from)).chain(rest.iter().cloned());
    let Verb::Net(mut flags) = parse(&line.collect::<Vec<OsString>>())?.verb else {
        return Err(Failure::usage("flags of net name another command"));
    };
    flags.stands_for = stands_for;
    Ok(*flags)
}

#[cfg(test)]
mod tests {
    use linerate_record::net::NetWay;

    use super::*;

    #[test]
    fn a_preset_is_flags_that_give_way_to_those_that_were_given() {
        let tests = |flags: &str| {
            let line = format!("linerate net --fleet f --preset {flags}");
            let words: Vec<OsString> = line.split_whitespace().map(OsString::from).collect();
            let Verb::Net(flags) = read(words).unwrap().verb else { panic!("{flags}") };
            assert!(flags.tests.iter().all(|test| test.check_combinations().is_ok()), "{flags:?}");
            flags.tests
        };
        let seconds = |test: &NetFlags| test.duration.as_secs();
        let source_004 = &tests("source-004")[0];
        assert_eq!((source_004.stream_counts().as_slice(), source_004.visits), (&[1, 2, 4, 8, 16, 20][..], 5));
        assert_eq!((source_004.send_size.0, seconds(source_004), source_004.way(9)), (4_096, 30, NetWay::OneWay));
        let shorter = &tests("source-004 --duration 1s --incast --streams 3")[0];
        assert_eq!(
            (seconds(shorter), shorter.way(9), shorter.stream_counts().as_slice()),
            (1, NetWay::Incast, &[3][..])
        );
        assert_eq!(shorter.visits, 5);
        assert!(shorter.stands_for.contains("wins over --one-way --streams 1,2,4,8,16,20 --duration 30s"));
        let all = tests("source-002 -o all");
        assert_eq!(all.iter().map(seconds).collect::<Vec<_>>(), [5, 10, 5, 10]);
        let folders: Vec<_> = all.iter().filter_map(|test| test.output.clone()).collect();
        assert_eq!(folders, ["all/a", "all/b", "all/c", "all/d"].map(std::path::PathBuf::from));
        assert_eq!(all[1].op(false).key(), "udp");
        assert_eq!(
            (all[1].max_rate, all[2].way(9), all[3].stream_counts().as_slice()),
            (Some(2.5e9), NetWay::BothWays, &[2, 30][..])
        );
        let one = &tests("source-002-b -o one --op connect")[0];
        assert_eq!((one.op(false).key(), one.max_rate, one.output.clone()), ("connect", None, Some("one".into())));
        assert_eq!(tests("source-002-b -u --max-rate 1Gb/s")[0].max_rate, Some(125e6));
        // As iperf3 sends them.
        assert!(
            all[1].stands_for.contains("--gso off")
                && one.stands_for.contains("wins over --op udp --max-rate 20Gb/s --gso off")
        );
        for line in ["source-002-a -u --max-rate 1Gb/s", "source-004 --op request"] {
            let first_test = &tests(line)[0];
            assert!(
                !first_test.offloads().reads
                    && first_test.stands_for.contains("wins over ")
                    && first_test.stands_for.ends_with(" --read")
            );
        }
        assert!(tests("source-002-a")[0].offloads().reads, "as iperf3 does");
        let settings = &tests("source-002-settings")[0];
        assert_eq!((settings.stream_counts().as_slice(), seconds(settings), settings.visits), (&[8][..], 10, 3));
        let bare = ["linerate", "net", "--fleet", "f"].map(OsString::from).to_vec();
        assert!(matches!(read(bare).unwrap().verb, Verb::Net(flags) if flags.tests.is_empty()));
    }

    #[test]
    fn help_fits_a_terminal_of_eighty_columns() {
        fn each(command: &Command, seen: &mut u32) {
            let text = command.get_after_help().map(ToString::to_string).unwrap_or_default();
            for line in text.lines() {
                // A word that is longer stands alone.
                let is_long = line.chars().count() > 80 && line.trim().trim_end_matches(" \\").contains(' ');
                assert!(!is_long || line.trim_start().starts_with('-'), "{}: {line}", command.get_name());
            }
            *seen += 1;
            command.get_subcommands().for_each(|verb| each(verb, seen));
        }
        let (mut seen, command) = (0, with_width(Cli::command(), 80));
        each(&command, &mut seen);
        assert!(seen > 20, "{seen}");
    }

    const HEAD: &str = "warp:\n  api: v1\n";

    #[test]
    fn flags_beside_the_file_go_before_it() {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(
            file.path(),
            format!(
                "{HEAD}  benchmark: mixed\n  remote:\n    host: a:1\n  params:\n    concurrent: 8\n    duration: 1m\n\
                 \x20   distribution: {{get: 1, put: 1}}\n"
            ),
        )
        .unwrap();
        let path = file.path().display().to_string();
        for (alongside, expected) in [
            ("", "--op=mixed --host=a:1 --concurrent=8 --duration=1m --get-distrib=1 --put-distrib=1"),
            ("--concurrent 4 --mix get=1", "--op=mixed --host=a:1 --duration=1m"),
            ("--op get --target null --duration 1s", "--concurrent=8 --get-distrib=1 --put-distrib=1"),
            ("--autoterm", "--op=mixed --host=a:1 --concurrent=8 --duration=1m --get-distrib=1 --put-distrib=1"),
            ("--alias x", "--op=mixed --concurrent=8 --duration=1m --get-distrib=1 --put-distrib=1"),
        ] {
            let given = format!("linerate bench --config {path} {alongside}");
            let given: Vec<OsString> = given.split_whitespace().map(OsString::from).collect();
            let (all, _) = with_file(given.clone(), file.path()).unwrap();
            let added: Vec<_> = all[2..=all.len() - given.len() + 1].iter().map(|w| w.to_string_lossy()).collect();
            assert_eq!(added.join(" "), expected, "{alongside}");
            assert!(Cli::try_parse_from(&all).is_ok(), "{all:?}");
        }
    }
}
