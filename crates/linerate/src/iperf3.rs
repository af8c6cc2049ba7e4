//! Words of iperf3 on a command line of `linerate net`: each is told with what to write instead. The names are those of
//! iperf3 3.18.

use std::ffi::OsString;

use clap::{Arg, Command, CommandFactory as _};
use linerate_record::units::bits_meant;

use crate::cli::Cli;
use crate::refusal::UNQUOTED;

/// What stands in place of a flag.
enum Instead {
    /// These words; the line goes on with them.
    Words(String),
    /// Nothing, and why.
    Nothing(&'static str),
}

use Instead::{Nothing, Words};

/// A flag of iperf3.
struct Row {
    /// Its letter; a space where it has none.
    short: char,
    long: &'static str,
    takes_value: bool,
    instead: fn(&str) -> Instead,
}

const fn row(short: char, long: &'static str, takes_value: bool, instead: fn(&str) -> Instead) -> Row {
    Row { short, long, takes_value, instead }
}

/// Flags of iperf3 that are asked for, and that `net` has not, or by another name.
const ROWS: &[Row] = &[
    row('t', "time", true, |value| Words(format!("--duration {}", seconds(value)))),
    row('O', "omit", true, |value| Words(format!("--warmup {}", seconds(value)))),
    row('P', "parallel", true, |value| Words(format!("--streams {}", number(value)))),
    row('b', "bitrate", true, |value| {
        Words(format!("--max-rate {}", bits_meant(value).unwrap_or_else(|| "RATE".to_owned())))
    }),
    row('l', "length", true, |value| Words(format!("--send-size {}", size(value)))),
    row('p', "port", true, |value| Words(format!("--port {}", number(value)))),
    row('J', "json", false, |_| Words("--json".to_owned())),
    row(' ', "bidir", false, |_| Words("--both-ways".to_owned())),
    row('R', "reverse", false, |_| Nothing("both directions are measured: leave it out")),
    row('s', "server", false, |_| Nothing("linerate starts the other end: leave it out")),
    row('c', "client", true, |_| Nothing(HOSTS)),
    row('i', "interval", true, |_| Nothing("intervals follow from --duration: leave it out")),
];

/// What is said of a machine that is named on the command line.
const HOSTS: &str = "machines stand in a file, which --fleet names, such as fleet.yaml with the two lines\n\
                     nodes:\n  - {name: 'host{1...2}', role: client}";

/// What stands for a value that cannot be translated.
const PLACEHOLDERS: [&str; 4] = [" N", " TIME", " RATE", " SIZE"];

/// A whole number as it was typed; else its placeholder.
fn number(value: &str) -> &str {
    let is_number = !value.is_empty() && value.len() <= 9 && value.bytes().all(|b| b.is_ascii_digit());
    if is_number { value } else { "N" }
}

fn seconds(value: &str) -> String {
    match number(value) {
        "N" => "TIME".to_owned(),
        number => format!("{number}s"),
    }
}

/// iperf3 counts sizes by 1024.
fn size(value: &str) -> String {
    let digits = value.trim_end_matches(['k', 'K', 'm', 'M']);
    match (number(digits), value[digits.len()..].to_ascii_lowercase().as_str()) {
        ("N", _) => "SIZE".to_owned(),
        (number, "k") => format!("{number}KiB"),
        (number, "m") => format!("{number}MiB"),
        (number, _) => format!("{number}B"),
    }
}

/// What is to be said of a line of `net` that has words of iperf3, and the line with what is to stand in their place;
/// none where it has none.
pub(crate) fn told(args: &[OsString]) -> Option<(Vec<String>, Vec<OsString>)> {
    let words: Vec<&str> = args.iter().map(|word| word.to_str()).collect::<Option<_>>()?;
    if words.get(1) != Some(&"net") {
        return None;
    }
    let mut command = Cli::command();
    command.build();
    let net = command.find_subcommand("net")?;
    let (mut texts, mut line) = (Vec::new(), args[..2].to_vec());
    let mut has_hosts = false;
    // A length is one of datagrams then.
    let is_udp = words.iter().any(|word| ["-u", "--udp"].contains(word));
    let mut rest = words[2..].iter().copied().peekable();
    while let Some(word) = rest.next() {
        // Of flags that net has too, it says itself what is wrong.
        if let Some(takes_value) = is_own(net, word) {
            line.push(word.into());
            let value = rest.next_if(|next| takes_value && !next.starts_with('-'));
            line.extend(value.map(OsString::from));
            continue;
        }
        let Some((row, name, glued)) = row_of(word) else {
            // A word that may be a key is not quoted.
            if word.starts_with('-') {
                // A flag that is misspelt has its value behind it.
                line.push(word.into());
                line.extend(rest.next_if(|next| !word.contains('=') && !next.starts_with('-')).map(OsString::from));
            } else if !std::mem::replace(&mut has_hosts, true) {
                texts.push(format!("a word {}: {HOSTS}", UNQUOTED.trim_end_matches(',')));
            }
            continue;
        };
        let next = if row.takes_value && glued.is_none() { rest.next_if(|next| !next.starts_with('-')) } else { None };
        let value = glued.or(next).unwrap_or_default();
        match (row.instead)(value) {
            Words(instead) => {
                let instead = if is_udp { instead.replace("--send-size", "--datagram-size") } else { instead };
                texts.push(format!("{name} is a flag of iperf3: write {instead}"));
                // With a placeholder nothing else would be told of the line.
                let is_whole = !PLACEHOLDERS.iter().any(|placeholder| instead.ends_with(placeholder));
                line.extend(instead.split(' ').filter(|_| is_whole).map(OsString::from));
            }
            Nothing(why) => {
                has_hosts |= row.short == 'c';
                texts.push(format!("{name} is a flag of iperf3: {why}"));
            }
        }
    }
    if has_hosts && !line.iter().any(|word| word.to_str().is_some_and(|word| word.starts_with("--fleet"))) {
        line.extend(["--fleet", "fleet.yaml"].map(OsString::from));
    }
    (!texts.is_empty()).then_some((texts, line))
}

/// The flag that a word is, as it is shown, and the value that is in the same word.
fn row_of(word: &str) -> Option<(&'static Row, String, Option<&str>)> {
    if let Some(long) = word.strip_prefix("--") {
        let (name, value) = long.split_once('=').map_or((long, None), |(name, value)| (name, Some(value)));
        let row = ROWS.iter().find(|row| row.long == name)?;
        return Some((row, format!("--{name}"), value));
    }
    let mut letters = word.strip_prefix('-')?.chars();
    let short = letters.next().filter(|short| *short != ' ')?;
    let row = ROWS.iter().find(|row| row.short == short)?;
    let rest = Some(letters.as_str()).filter(|rest| !rest.is_empty());
    // Several letters behind one dash are several flags; they are told one by one, and this is the first.
    Some((row, format!("-{short}"), rest.filter(|_| row.takes_value)))
}

/// Whether a word is a flag that `net` has, and whether its value is the next one.
fn is_own(net: &Command, word: &str) -> Option<bool> {
    let name = word.split('=').next().unwrap_or(word);
    let is_it = |arg: &&Arg| match name.strip_prefix("--") {
        Some(long) => arg.get_long() == Some(long),
        None => arg.get_short().is_some_and(|short| name == format!("-{short}")),
    };
    let arg = net.get_arguments().find(is_it)?;
    Some(arg.get_action().takes_values() && name == word)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told_of(line: &str) -> Option<(String, String)> {
        let args: Vec<OsString> = line.split(' ').map(OsString::from).collect();
        let (texts, line) = told(&args)?;
        let line: Vec<&str> = line.iter().filter_map(|word| word.to_str()).collect();
        Some((texts.join("; "), line[2..].join(" ")))
    }

    #[test]
    fn each_word_of_iperf3_has_what_to_write_instead() {
        for (words, part, line) in [
            ("-t 10", "-t is a flag of iperf3: write --duration 10s", "--duration 10s"),
            ("--time=10", "--time is a flag of iperf3: write --duration 10s", "--duration 10s"),
            ("-t10", "write --duration 10s", "--duration 10s"),
            ("-t x", "write --duration TIME", ""),
            ("-P 4", "write --streams 4", "--streams 4"),
            ("--parallel 4", "write --streams 4", "--streams 4"),
            ("-R", "both directions are measured: leave it out", ""),
            ("--reverse", "both directions are measured: leave it out", ""),
            ("-b 100M", "write --max-rate 100Mb/s", "--max-rate 100Mb/s"),
            ("--bitrate 1G", "write --max-rate 1Gb/s", "--max-rate 1Gb/s"),
            ("-b 100M/5", "write --max-rate RATE", ""),
            ("--bidir", "write --both-ways", "--both-ways"),
            ("-O 1", "write --warmup 1s", "--warmup 1s"),
            ("--omit 1", "write --warmup 1s", "--warmup 1s"),
            ("-J", "write --json", "--json"),
            ("-l 128K", "write --send-size 128KiB", "--send-size 128KiB"),
            ("-u -l 1400", "-l is a flag of iperf3: write --datagram-size 1400B", "-u --datagram-size 1400B"),
            ("-c a", "name: 'host{1...2}', role: client}", "--fleet fleet.yaml"),
            ("a-host b-host", "name: 'host{1...2}', role: client}", "--fleet fleet.yaml"),
        ] {
            let (told, left) = told_of(&format!("linerate net {words}")).unwrap();
            assert!(told.contains(part) && !told.contains("a-host"), "{words}: {told}");
            assert_eq!(left, line, "{words}");
        }
    }

    #[test]
    fn flags_of_net_and_other_verbs_are_none_of_iperf3s() {
        for line in [
            "net --fleet f --json -o folder --port 5301 -q",
            "net --fleet=f --dry-run",
            "net --duratoin 5s",
            "bench -t 10",
            "net",
        ] {
            assert_eq!(told_of(&format!("linerate {line}")), None, "{line}");
        }
        let (told, line) = told_of("linerate net --fleet f -o folder --wrong x -t 5").unwrap();
        assert_eq!(told, "-t is a flag of iperf3: write --duration 5s");
        assert_eq!(line, "--fleet f -o folder --wrong x --duration 5s");
    }
}
