//! Words of iperf3 on a command line of `linerate net`: each is told with what to write instead. The names are those of
//! iperf3 3.18.

use std::ffi::OsString;

use clap::{Arg, Command, CommandFactory as _};
use linerate_record::units::bits_meant;

use crate::cli::clap_error_text::UNQUOTED_TEXT;
use crate::cli::definition::Cli;

/// What stands in place of a flag.
enum Replacement {
    /// These words; the line goes on with them.
    Words(String),
    /// Nothing, and why.
    Nothing(&'static str),
}

use Replacement::{Nothing, Words};

/// A flag of iperf3.
struct Row {
    /// Its letter; a space where it has none.
    short: char,
    long: &'static str,
    takes_value: bool,
    replacement: fn(&str) -> Replacement,
}

const fn row(short: char, long: &'static str, takes_value: bool, replacement: fn(&str) -> Replacement) -> Row {
    Row { short, long, takes_value, replacement }
}

/// Flags of iperf3 that are asked for, and that `net` has not, or by another name.
const ROWS: &[Row] = &[
    row('t', "time", true, |value| Words(format!("--duration {}", seconds(value)))),
    row('O', "omit", true, |value| Words(format!("--warmup {}", seconds(value)))),
    row('P', "parallel", true, |value| Words(format!("--streams {}", number(value)))),
    row('b', "bitrate", true, |value| Words(format!("--max-rate {}", rate(value)))),
    row('l', "length", true, |value| Words(format!("--send-size {}", size(value)))),
    row('p', "port", true, |value| Words(format!("--port {}", number(value)))),
    row('J', "json", false, |_| Words("--json".to_owned())),
    row('Z', "zerocopy", false, |_| Words("--zerocopy".to_owned())),
    row(' ', "skip-rx-copy", false, |_| Nothing("receivers' kernels discard all unless --read is given: leave it out")),
    row(' ', "bidir", false, |_| Words("--both-ways".to_owned())),
    row('R', "reverse", false, |_| Nothing("both directions are measured: leave it out")),
    row('s', "server", false, |_| Words("serve".to_owned())),
    row('c', "client", true, |value| Words(if value.is_empty() { "HOST" } else { value }.to_owned())),
    row('i', "interval", true, |_| Nothing("intervals follow from --duration: leave it out")),
    row('n', "bytes", true, |_| Nothing("a visit lasts --duration, whatever it moves: leave it out")),
    row('k', "blockcount", true, |_| Nothing("a visit lasts --duration, whatever it moves: leave it out")),
    row('w', "window", true, |_| {
        Nothing(
            "kernels size windows, within net.ipv4.tcp_rmem and tcp_wmem, and the report says where one is the limit",
        )
    }),
    row('M', "set-mss", true, |_| Nothing("kernels choose segments; --op mtu finds how long packets may be")),
    row(' ', "dont-fragment", false, |_| Words("--op mtu".to_owned())),
    row('N', "no-delay", false, |_| Nothing("--op request sends each at once, and streams have no small segments")),
    row('C', "congestion", true, |_| Nothing("machines use their own, net.ipv4.tcp_congestion_control: leave it out")),
    row(' ', "linux-congestion", true, |_| {
        Nothing("machines use their own, net.ipv4.tcp_congestion_control: leave it out")
    }),
    row('A', "affinity", true, |_| Nothing("the scheduler places threads; --threads says how many: leave it out")),
    row('4', "version4", false, |_| Nothing("give an address of IPv4, or --network with one: leave it out")),
    row('6', "version6", false, |_| Nothing("give an address of IPv6, or --network with one: leave it out")),
    row('B', "bind", true, |_| Nothing("--interface or --network chooses the addresses: leave it out")),
    row(' ', "cport", true, |_| Nothing("source ports are drawn, or chosen by --members: leave it out")),
    row('S', "tos", true, |_| Nothing("packets are not marked: leave it out")),
    row(' ', "dscp", true, |_| Nothing("packets are not marked: leave it out")),
    row('f', "format", true, |_| Nothing("units follow from the figures; --json has bytes per second: leave it out")),
    row('V', "verbose", false, |_| Words("--all".to_owned())),
    row(' ', "get-server-output", false, |_| Nothing("the report is of both ends: leave it out")),
    row(' ', "json-stream", false, |_| Words("--json".to_owned())),
    row(' ', "logfile", true, |_| {
        Nothing("the run folder keeps all (--output), and > FILE what is printed: leave it out")
    }),
    row(' ', "fq-rate", true, |value| Words(format!("--max-rate {}", rate(value)))),
    row(' ', "connect-timeout", true, |_| Nothing("it gives up by itself: leave it out")),
    row('D', "daemon", false, |_| Nothing("it stays in the foreground until --for is over: leave it out")),
    row('1', "one-off", false, |_| Nothing("it serves until --for is over, or Ctrl-C: leave it out")),
];

/// The verb of the end that waits.
const SERVE: &str = "serve";

/// What is said of machines that are named on the command line.
const HOSTS: &str = "one machine is named, on which linerate net serve runs; several stand in a file, which --fleet \
                     names, such as fleet.yaml with the two lines\nnodes:\n  - {name: 'host{1...2}', role: client}";

/// What stands for a value that cannot be translated.
const PLACEHOLDERS: [&str; 5] = ["N", "TIME", "RATE", "SIZE", "HOST"];

/// A whole number as it was typed; else its placeholder.
fn number(value: &str) -> &str {
    let is_number = !value.is_empty() && value.len() <= 9 && value.bytes().all(|b| b.is_ascii_digit());
    if is_number { value } else { "N" }
}

fn rate(value: &str) -> String {
    bits_meant(value).unwrap_or_else(|| "RATE".to_owned())
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
pub(crate) fn translate(args: &[OsString]) -> Option<(Vec<String>, Vec<OsString>)> {
    let words: Vec<&str> = args.iter().map(|word| word.to_str()).collect::<Option<_>>()?;
    if words.get(1) != Some(&"net") {
        return None;
    }
    let mut command = Cli::command();
    command.build();
    let net = command.find_subcommand("net")?;
    let has_serve = words.get(2) == Some(&SERVE);
    let is_server = has_serve || words.iter().any(|word| ["-s", "--server"].contains(word));
    let own = if is_server { net.find_subcommand(SERVE)? } else { net };
    let (mut texts, mut line) = (Vec::new(), args[..2].to_vec());
    line.extend(is_server.then(|| OsString::from(SERVE)));
    let mut hosts: Vec<&str> = Vec::new();
    let has_fleet = words.iter().any(|word| word.starts_with("--fleet"));
    // A length is one of datagrams then.
    let is_udp = words.iter().any(|word| ["-u", "--udp"].contains(word));
    let mut rest = words[2 + usize::from(has_serve)..].iter().copied().peekable();
    while let Some(word) = rest.next() {
        // Of flags that net has too, it says itself what is wrong.
        if let Some(takes_value) = is_net_flag(own, word) {
            line.push(word.into());
            let value = rest.next_if(|next| takes_value && !next.starts_with('-'));
            line.extend(value.map(OsString::from));
            continue;
        }
        // With one dash more it is one of net's, as is said of it elsewhere.
        let has_one_dash = is_net_flag(own, &format!("-{word}")).is_some();
        let Some((row, name, glued)) = flag_row(word).filter(|_| !has_one_dash) else {
            // A word that may be a key is not quoted.
            if word.starts_with('-') {
                // A flag that is misspelt has its value behind it.
                line.push(word.into());
                line.extend(rest.next_if(|next| !word.contains('=') && !next.starts_with('-')).map(OsString::from));
            } else {
                hosts.push(word);
            }
            continue;
        };
        let next = if row.takes_value && glued.is_none() { rest.next_if(|next| !next.starts_with('-')) } else { None };
        let value = glued.or(next).unwrap_or_default();
        match (row.replacement)(value) {
            Words(replacement) => {
                let replacement =
                    if is_udp { replacement.replace("--send-size", "--datagram-size") } else { replacement };
                // A port is that of the server: of a fleet, which has none, that of flows.
                let replacement = match (is_server, has_fleet) {
                    (true, _) => replacement.replace("--port ", "--listen [::]:"),
                    (false, true) => replacement,
                    (false, false) => replacement.replace("--port ", "HOST:"),
                };
                texts.push(format!("{name} is a flag of iperf3: write {replacement}"));
                // With a placeholder nothing else would be told of the line; that it serves stands there already.
                let is_whole =
                    row.short != 's' && !PLACEHOLDERS.iter().any(|of| replacement.split([' ', ':']).any(|w| w == *of));
                line.extend(replacement.split(' ').filter(|_| is_whole).map(OsString::from));
            }
            Nothing(why) => texts.push(format!("{name} is a flag of iperf3: {why}")),
        }
    }
    match hosts[..] {
        [] => {}
        [host] if !has_fleet => line.push(host.into()),
        _ => {
            texts.push(format!("a word {}: {HOSTS}", UNQUOTED_TEXT.trim_end_matches(',')));
            line.extend(["--fleet", "fleet.yaml"].into_iter().filter(|_| !has_fleet).map(OsString::from));
        }
    }
    (!texts.is_empty()).then_some((texts, line))
}

/// The flag that a word is, as it is shown, and the value that is in the same word.
fn flag_row(word: &str) -> Option<(&'static Row, String, Option<&str>)> {
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
fn is_net_flag(net: &Command, word: &str) -> Option<bool> {
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

    fn translate_line(line: &str) -> Option<(String, String)> {
        let args: Vec<OsString> = line.split(' ').map(OsString::from).collect();
        let (texts, line) = translate(&args)?;
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
            ("-Z", "write --zerocopy", "--zerocopy"),
            ("-l 128K", "write --send-size 128KiB", "--send-size 128KiB"),
            ("-u -l 1400", "-l is a flag of iperf3: write --datagram-size 1400B", "-u --datagram-size 1400B"),
            ("-c a", "-c is a flag of iperf3: write a", "a"),
            ("-c", "write HOST", ""),
            ("a -t 5", "write --duration 5s", "--duration 5s a"),
            ("-s", "-s is a flag of iperf3: write serve", "serve"),
            ("-s -p 5301", "write --listen [::]:5301", "serve --listen [::]:5301"),
            ("serve -p 5301", "write --listen [::]:5301", "serve --listen [::]:5301"),
            ("serve -p", "write --listen [::]:N", "serve"),
            ("a -p 5301", "-p is a flag of iperf3: write HOST:5301", "a"),
            ("-c a -p5301", "write HOST:5301", "a"),
            ("--fleet f -p 5301", "-p is a flag of iperf3: write --port 5301", "--fleet f --port 5301"),
            ("a -n 10G -t 5", "-n is a flag of iperf3: a visit lasts --duration", "--duration 5s a"),
            ("a -w 4M", "net.ipv4.tcp_rmem", "a"),
            ("a -M 1400", "--op mtu finds", "a"),
            ("a -C bbr", "net.ipv4.tcp_congestion_control", "a"),
            ("a --congestion=bbr", "--congestion is a flag of iperf3: machines use their own", "a"),
            ("a -A 1,2", "--threads says how many", "a"),
            ("a -6 -V", "an address of IPv6", "--all a"),
            ("a --fq-rate 1G", "write --max-rate 1Gb/s", "--max-rate 1Gb/s a"),
            ("-s -D -1", "-D is a flag of iperf3: it stays in the foreground", "serve"),
            ("a-host b-host", "name: 'host{1...2}', role: client}", "--fleet fleet.yaml"),
        ] {
            let (messages, left) = translate_line(&format!("linerate net {words}")).unwrap();
            assert!(messages.contains(part) && !messages.contains("a-host"), "{words}: {messages}");
            assert_eq!(left, line, "{words}");
        }
    }

    #[test]
    fn flags_of_net_and_other_verbs_are_none_of_iperf3s() {
        for line in [
            "net --fleet f --json -o folder --port 5301 -q",
            "net --fleet=f --dry-run",
            "net --duratoin 5s",
            "net db2 -network 10.0.0.0/8 -streams 4",
            "net db2 --token-file t",
            "net serve --listen 10.0.0.1 --for 5m",
            "bench -t 10",
            "net",
        ] {
            assert_eq!(translate_line(&format!("linerate {line}")), None, "{line}");
        }
        let (messages, line) = translate_line("linerate net --fleet f -o folder --wrong x -t 5").unwrap();
        assert_eq!(messages, "-t is a flag of iperf3: write --duration 5s");
        assert_eq!(line, "--fleet f -o folder --wrong x --duration 5s");
    }
}
