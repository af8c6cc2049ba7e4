//! What flags and commands of warp are called here. A flag that means the same has the same name; for any other, an
//! error says what to give instead. The names are those of warp 1.4.0.

mod translation;

use clap::error::{ContextKind, ContextValue, ErrorKind};

use translation::translate;

/// A flag of warp that `linerate bench` does not take.
pub(crate) struct WarpFlag {
    name: &'static str,
    /// warp's default: said in a file, it asks for nothing.
    default: &'static str,
    /// What to do instead.
    fix: &'static str,
}

const fn warp_flag(name: &'static str, default: &'static str, fix: &'static str) -> WarpFlag {
    WarpFlag { name, default, fix }
}

const NO_PROFILES: &str = "linerate does not profile servers: leave it out, and see --target-pid for processor time";
const NO_PROFILE: &str = "linerate does not profile itself: leave it out";
const NO_ENCRYPTION: &str = "linerate stores objects unencrypted: leave it out";
/// Flags whose values are sizes, which warp reads by a rule of its own.
pub(super) const SIZE_FLAGS: [&str; 3] = ["obj.size", "part.size", "range-size"];

const NO_SOCKET_SIZES: &str = "the kernel sizes the buffers of sockets: leave it out";
const NO_METADATA: &str = "linerate writes objects without metadata, tags and storage class: leave it out";
const DURATION: &str = "no point ends early: each takes its --duration, or a series its --time";
const CLIENTS: &str = "linerate bench --fleet FILE drives the load from the machines with role client in a fleet file";
const NO_STS: &str = "give the credentials of the exchange: --access-key, --secret-key and --session-token";
const REPORT: &str = "linerate report makes the report from the run folder: linerate report RUN --format text, json, \
                      csv or html";
const REPORT_SPLIT: &str = "a report shows every point over time, per operation and per host: linerate report RUN";
const KEEP_ALIVE: &str = "connections are HTTP/1.1 and kept open: leave it out";
const ONE_PUT: &str = "a put is one request, and objects in parts are --op multipart: leave it out";

/// Every flag of warp that has another name here, or no counterpart.
const WARP_FLAGS: &[WarpFlag] = &[
    warp_flag("no-color", "", "set NO_COLOR=1 in the environment"),
    warp_flag("debug", "", "a run's errors are reported by kind: leave it out"),
    warp_flag("autocompletion", "", "see linerate completions --help"),
    warp_flag("pprofdir", "pprof", NO_PROFILE),
    warp_flag("cpu", "", NO_PROFILE),
    warp_flag("mem", "", NO_PROFILE),
    warp_flag("block", "", NO_PROFILE),
    warp_flag("mutex", "", NO_PROFILE),
    warp_flag("trace", "", NO_PROFILE),
    warp_flag("ktls", "", "linerate does not use the kernel's TLS: leave it out"),
    warp_flag("sts-web-token", "", NO_STS),
    warp_flag("sts-web-token-file", "", NO_STS),
    warp_flag("sts-endpoint", "", NO_STS),
    warp_flag("signature", "S3V4", "requests are signed with S3v4: leave it out, or give --anonymous"),
    warp_flag("encrypt", "", NO_ENCRYPTION),
    warp_flag("sse-s3-encrypt", "", NO_ENCRYPTION),
    warp_flag("sndbuf", "32768", NO_SOCKET_SIZES),
    warp_flag("rcvbuf", "32768", NO_SOCKET_SIZES),
    warp_flag("noprefix", "", "every thread writes below the run's one prefix: leave it out"),
    warp_flag("disable-multipart", "", ONE_PUT),
    warp_flag("disable-sha256-payload", "", "give --payload unsigned"),
    warp_flag("md5", "", "bodies are protected by their signature, or by a CRC-32C with --payload unsigned-trailer"),
    warp_flag("checksum", "", "give --payload unsigned-trailer, which sends a CRC-32C after the body"),
    warp_flag("storage-class", "", NO_METADATA),
    warp_flag("add-metadata", "", NO_METADATA),
    warp_flag("tag", "", NO_METADATA),
    warp_flag("disable-http-keepalive", "", KEEP_ALIVE),
    warp_flag("http2", "", KEEP_ALIVE),
    warp_flag("stress", "", "give --quiet to print only errors"),
    warp_flag("influxdb", "", "figures are served during a run with --metrics 127.0.0.1:9091"),
    warp_flag("stdout", "", "figures of every interval are in the run folder: see --output"),
    warp_flag("rps-limit", "0", "give --max-rate 500/s for a cap, or --rate 500/s for an open loop"),
    warp_flag("obj.generator", "random", "bodies are random: leave it out"),
    warp_flag(
        "obj.randsize",
        "",
        "give --obj.size random:1-4MiB, lognormal:256KiB/1.5 or weights such as 4096:10740,8192:1685",
    ),
    warp_flag("benchdata", "", "give --output DIR, the run folder"),
    warp_flag("serverprof", "", NO_PROFILES),
    warp_flag("autoterm", "", DURATION),
    warp_flag("precision", "", DURATION),
    warp_flag("autoterm.dur", "", DURATION),
    warp_flag("autoterm.pct", "", DURATION),
    warp_flag("syncstart", "", "start linerate at that time, such as with at(1)"),
    warp_flag("warp-client", "", CLIENTS),
    warp_flag("web", "", "every run folder contains report.html"),
    warp_flag("analyze.dur", "", REPORT_SPLIT),
    warp_flag("analyze.out", "", REPORT),
    warp_flag("analyze.op", "", REPORT_SPLIT),
    warp_flag("analyze.host", "", REPORT_SPLIT),
    warp_flag("analyze.skip", "0s", "give --warmup: it is excluded from all figures"),
    warp_flag("analyze.limit", "0", REPORT),
    warp_flag("analyze.offset", "0", REPORT),
    warp_flag("analyze.v", "", REPORT),
    warp_flag("serve", "", "figures are served during a run with --metrics 127.0.0.1:9091"),
    warp_flag("full", "", "linerate keeps histograms per interval and no record per request: leave it out"),
    warp_flag("range", "", "give --range-size, the length of the ranges to read"),
    warp_flag("versions", "1", "not measured here: versions of objects; leave it out for one version of each"),
    warp_flag("list-flat", "", "linerate lists all below --prefix: leave it out"),
    warp_flag("post", "", "objects are written with PUT: leave it out"),
    warp_flag("metadata", "", "listings are those of ListObjectsV2: leave it out"),
    warp_flag("max-keys", "100", "a LIST asks for one page of 1000 keys: leave it out"),
    warp_flag("batch", "100", "a DELETE deletes one object: leave it out"),
    warp_flag("parts", "200", "not measured here: reads of single parts; leave it out"),
];

/// Commands of warp, and what to write instead.
const COMMANDS: &[(&str, &str)] = &[
    ("get", "linerate bench --op get"),
    ("put", "linerate bench --op put"),
    ("stat", "linerate bench --op stat"),
    ("list", "linerate bench --op list"),
    ("delete", "linerate bench --op delete"),
    ("mixed", "linerate bench --op mixed"),
    ("run", "linerate bench --config FILE"),
    ("analyze", "linerate report RUN, after linerate import warp FILE for files of warp"),
    ("cmp", "linerate compare RUN RUN"),
    ("merge", "linerate report of each run"),
    ("client", "linerate bench --fleet FILE on one machine, which starts its agents on the others"),
    ("multipart-put", "linerate bench --op multipart"),
];

/// Benchmarks of warp that linerate has not: what it does not measure, and what comes nearest.
const UNSUPPORTED_BENCHMARKS: &[(&str, &str, &str)] = &[
    (
        "multipart",
        "reads of single parts",
        "--op get --write multipart reads whole objects that were uploaded in parts",
    ),
    ("append", "appending to objects", "--op put writes whole ones"),
    ("fanout", "one body for many objects in a call", "--op put sends each"),
    ("snowball", "archives that the server unpacks", "--op put with small objects sends each"),
    ("versioned", "versions of objects", "--op mixed reads and writes objects of one version"),
    ("retention", "retention of objects", "--op put writes objects without it"),
    ("iceberg", "catalogs and tables of Iceberg", "--op mixed reads and writes objects, as what is below them does"),
    ("tables", "catalogs of tables", "--op mixed reads and writes objects, as what is below them does"),
    ("select", "queries of what is in objects", "--op get reads them whole"),
    ("replay", "loads that were recorded elsewhere", "--op mixed has the weights and --obj.size the sizes of one"),
    ("zip", "reads from within archives", "--op get --range-size 64KiB reads parts of objects"),
];

/// The operation of `linerate bench --op` that is a benchmark of warp; or what to do instead.
pub(crate) fn operation(benchmark: &str) -> Result<&'static str, String> {
    let ops = ["get", "put", "stat", "list", "delete", "mixed"];
    if benchmark == "multipart-put" {
        return Ok("multipart");
    }
    ops.into_iter().find(|op| *op == benchmark).ok_or_else(|| match unsupported_text(benchmark) {
        Some(reported) => reported,
        None => format!("linerate has no such benchmark: {}, multipart-put", ops.join(", ")),
    })
}

/// What is said of a benchmark of warp that linerate has not.
fn unsupported_text(name: &str) -> Option<String> {
    let (_, what, nearest) = UNSUPPORTED_BENCHMARKS.iter().find(|(known, ..)| *known == name)?;
    Some(format!("not measured here: {what}; nearest, and another load: linerate bench {nearest}"))
}

/// The counterpart of a flag of warp that linerate does not take.
pub(crate) fn warp_flag_named(name: &str) -> Option<&'static WarpFlag> {
    WARP_FLAGS.iter().find(|other| other.name == name)
}

/// Flags of warp that are about other things than the load: in a file they are left out, and that is told.
const HARMLESS_FLAGS: [&str; 18] = [
    "no-color",
    "debug",
    "autocompletion",
    "pprofdir",
    "cpu",
    "mem",
    "block",
    "mutex",
    "trace",
    "serverprof",
    "sndbuf",
    "rcvbuf",
    "noprefix",
    "disable-multipart",
    "stress",
    "stdout",
    "web",
    "full",
];

impl WarpFlag {
    /// Whether a run measures the same without it.
    pub(crate) fn is_harmless(&self) -> bool {
        let is_of_others = ["analyze.", "autoterm", "precision"].iter().any(|section| self.name.starts_with(section));
        // What the analysis is to leave out of its figures is another figure.
        is_of_others && self.name != "analyze.skip" || HARMLESS_FLAGS.contains(&self.name)
    }

    /// Whether a value in a file asks for nothing beyond warp's own default.
    pub(crate) fn asks_nothing(&self, value: &str) -> bool {
        value == self.default && !value.is_empty()
    }

    pub(crate) const fn fix(&self) -> &'static str {
        self.fix
    }
}

/// Between what is said of a word and the whole command line.
pub(crate) const AS_A_WHOLE: &str = "; as a whole:\n";

/// What to say of a command line that clap refused, where it is one of warp's: with the words that were typed, the
/// whole of it as linerate takes it.
pub(crate) fn explain(error: &clap::Error, words: &[String]) -> Option<String> {
    let text = |kind| match error.get(kind) {
        Some(ContextValue::String(text)) => Some(text.as_str()),
        _ => None,
    };
    // Of other verbs nobody asks for a load.
    let usage = error.render().to_string();
    // The program is called as its file is.
    let behind = usage.split_once("Usage: ").and_then(|(_, usage)| usage.split_once(' ')).map(|(_, behind)| behind);
    let is_of = |verb: &str| behind.is_some_and(|behind| behind.starts_with(verb));
    let is_of_load = is_of("bench") || is_of("[") || is_of("<") || behind.is_none();
    let reported = match error.kind() {
        ErrorKind::InvalidSubcommand => match text(ContextKind::InvalidSubcommand)? {
            _ if !is_of_load => None,
            "warp" => Some(warp_text(words.get(2).map(String::as_str))),
            word => command(word),
        },
        ErrorKind::UnknownArgument => {
            let word = text(ContextKind::InvalidArg)?;
            match word.strip_prefix("--") {
                None => command(word).filter(|_| is_of_load),
                Some(flag) => {
                    let name = flag.split('=').next().unwrap_or(flag);
                    let is_of_report = is_of("report") && name.starts_with("analyze.");
                    warp_flag_named(name)
                        .filter(|_| is_of_load || is_of_report)
                        .map(|other| format!("\"--{name}\" is a flag of warp: {}", other.fix))
                }
            }
        }
        _ => None,
    }?;
    let mut head = words.iter().skip(1).take(2);
    // What is not measured here has no line that measures it.
    let is_here = !head.clone().any(|word| unsupported_text(word).is_some());
    // Nor has a command that is another verb here: what analyses or compares loads nothing.
    let is_other = head.clone().any(|word| is_command(word) && operation(word).is_err());
    let is_load = is_here && !is_other && head.any(|word| word == "bench" || operation(word).is_ok());
    // A line of warp without flags has warp's defaults all the same.
    let is_more = words.len() > 3 || words.get(1).is_some_and(|word| word == "warp");
    Some(if is_load && is_more { format!("{reported}{AS_A_WHOLE}{}", translate(words)) } else { reported })
}

/// What is said where warp itself is named.
fn warp_text(word: Option<&str>) -> String {
    let reported = word.and_then(command);
    reported
        .unwrap_or_else(|| "\"warp\" is another tool: write linerate bench with its flags, such as --op get".to_owned())
}

fn is_command(word: &str) -> bool {
    COMMANDS.iter().any(|(name, _)| *name == word)
}

fn command(word: &str) -> Option<String> {
    let of_warp = format!("{word:?} is a command of warp");
    if let Some(reported) = unsupported_text(word) {
        return Some(format!("{of_warp}: {reported}"));
    }
    if word == "update" {
        return Some(format!(
            "{of_warp}: linerate does not update itself; install a new version in the same way as this \
                             one"
        ));
    }
    let (_, instead) = COMMANDS.iter().find(|(name, _)| *name == word)?;
    Some(format!("{of_warp}: write {instead}"))
}

#[cfg(test)]
mod tests {
    use clap::{CommandFactory as _, Parser as _};

    use super::*;
    use crate::cli::definition::Cli;

    /// Flags of `warp get`, `put`, `mixed`, `stat`, `list` and `delete` that mean the same.
    const SHARED_FLAGS: &[&str] = &[
        "tls",
        "insecure",
        "resolve-host",
        "part.size",
        "quiet",
        "json",
        "host",
        "access-key",
        "secret-key",
        "session-token",
        "region",
        "bucket",
        "host-select",
        "concurrent",
        "prefix",
        "lookup",
        "duration",
        "noclear",
        "keep-data",
        "objects",
        "obj.size",
        "range-size",
        "list-existing",
        "get-distrib",
        "stat-distrib",
        "put-distrib",
        "delete-distrib",
        "help",
        "threads",
        "config",
    ];

    fn is_flag(name: &str) -> bool {
        let command = Cli::command();
        let bench = command.find_subcommand("bench").unwrap();
        let longs = |arg: &clap::Arg| {
            let names = arg.get_long().into_iter().chain(arg.get_all_aliases().unwrap_or_default());
            names.map(str::to_owned).collect::<Vec<_>>()
        };
        name == "help" || bench.get_arguments().any(|arg| longs(arg).iter().any(|long| long == name))
    }

    #[test]
    fn what_analyses_or_compares_has_no_line_that_loads() {
        let explained = |line: &str| {
            let words: Vec<String> = line.split(' ').map(str::to_owned).collect();
            explain(&Cli::try_parse_from(&words).expect_err(line), &words).expect(line)
        };
        for (line, instead) in [
            ("linerate bench analyze x.csv.zst", "linerate import warp FILE"),
            ("linerate bench cmp a.zst b.zst", "linerate compare RUN RUN"),
            ("linerate bench client --host h", "linerate bench --fleet FILE"),
        ] {
            let said = explained(line);
            assert!(said.contains(instead) && !said.contains(AS_A_WHOLE), "{line}: {said}");
        }
        assert!(explained("linerate bench get --host h").contains(AS_A_WHOLE));
        assert!(explained("linerate bench --warp-client a --host h").contains("linerate bench --fleet FILE"));
    }

    #[test]
    fn flags_that_mean_the_same_have_the_same_name() {
        for &name in SHARED_FLAGS {
            assert!(is_flag(name), "--{name}");
            assert!(warp_flag_named(name).is_none(), "--{name} is accepted and explained");
        }
        for (value, flags) in [("roundrobin", "round-robin"), ("weighed", "least-outstanding")] {
            assert!(Cli::try_parse_from(["linerate", "bench", "--host-select", value]).is_ok(), "{flags}");
        }
    }

    #[test]
    fn every_other_flag_of_warp_is_explained_by_flags_that_exist() {
        for other in WARP_FLAGS.iter() {
            if is_flag(other.name) {
                continue;
            }
            let flag = format!("--{}", other.name);
            for words in [vec!["linerate", "bench", &flag], vec!["linerate", "bench", "--op=get", &flag, "1"]] {
                let error = Cli::try_parse_from(words).unwrap_err();
                let text = explain(&error, &[]).unwrap_or_else(|| panic!("{flag}: {error}"));
                assert!(text.contains(&format!("\"{flag}\"")) && text.ends_with(other.fix), "{text}");
            }
            let named = other.fix.split_whitespace().filter_map(|word| word.strip_prefix("--"));
            for name in named.map(|n| n.trim_end_matches([':', ',', '.'])) {
                let elsewhere = ["format", "help"].contains(&name);
                assert!(is_flag(name) || elsewhere, "{flag}: its fix names --{name}");
            }
        }
    }

    #[test]
    fn what_is_harmless_is_a_flag_of_warp() {
        for name in HARMLESS_FLAGS {
            assert!(warp_flag_named(name).is_some_and(WarpFlag::is_harmless), "{name}");
        }
        for name in ["md5", "encrypt", "versions", "http2", "rps-limit", "analyze.skip", "obj.generator"] {
            assert!(!warp_flag_named(name).expect(name).is_harmless(), "{name}");
        }
    }

    #[test]
    fn what_is_not_measured_here_is_not_translated() {
        for line in ["bench versioned --host x", "bench zip --host x --duration 5s"] {
            let words: Vec<String> = format!("linerate {line}").split(' ').map(str::to_owned).collect();
            let text = explain(&Cli::try_parse_from(&words).unwrap_err(), &words).expect(line);
            assert!(text.contains("not measured here: ") && !text.contains(AS_A_WHOLE), "{line}: {text}");
        }
    }

    #[test]
    fn commands_of_warp_are_explained_where_a_load_can_stand() {
        for program in ["linerate", "linerate-1.2", "/opt/linerate-now"] {
            let explain_words = |words: &[&str]| {
                let error = Cli::try_parse_from([&[program], words].concat()).unwrap_err();
                explain(&error, &[])
            };
            assert_eq!(explain_words(&["experiment", "run"]), None, "{program}");
            assert_eq!(explain_words(&["experiment", "get"]), None, "{program}");
            for words in [&["run"][..], &["bench", "get"]] {
                assert!(
                    explain_words(words).is_some_and(|text| text.contains("is a command of warp")),
                    "{program}: {words:?}"
                );
            }
        }
    }

    #[test]
    fn every_command_of_warp_is_explained() {
        for &(name, instead) in COMMANDS {
            for words in [vec!["linerate", name, "--host=h"], vec!["linerate", "bench", name]] {
                let error = Cli::try_parse_from(words).unwrap_err();
                let text = explain(&error, &[]).unwrap_or_else(|| panic!("{name}: {error}"));
                assert!(text.contains(instead), "{text}");
            }
        }
        let error = Cli::try_parse_from(["linerate", "bench", "--nonsense"]).unwrap_err();
        assert_eq!(explain(&error, &[]), None);
        for (name, ..) in UNSUPPORTED_BENCHMARKS {
            let error = Cli::try_parse_from(["linerate", name]).unwrap_err();
            let text = explain(&error, &[]).unwrap_or_else(|| panic!("{name}: {error}"));
            assert!(text.contains("not measured here: ") && operation(name).unwrap_err().starts_with("not measured"));
        }
    }
}
