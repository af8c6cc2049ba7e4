//! A command line of warp as linerate has it: what means the same stands in it, and the rest is told beside it.

use clap::{Command, CommandFactory as _, Parser as _};
use linerate_record::shell;
use linerate_record::units::{Bytes, sizes_of_warp};

use super::{SIZE_FLAGS, operation, warp_flag_named};
use crate::cli::clap_error_text::clap_error_text;
use crate::cli::definition::Cli;

/// What a flag becomes, of its value.
type Translation = fn(&str) -> String;

/// Flags of warp that are others here.
const RENAMED_FLAGS: [(&str, Translation); 5] = [
    ("rps-limit", |per_s| format!("--max-rate {per_s}/s")),
    ("disable-sha256-payload", |_| "--payload unsigned".to_owned()),
    ("benchdata", |path| format!("--output {path}")),
    ("analyze.skip", |time| format!("--warmup {time}")),
    ("stress", |_| "--quiet".to_owned()),
];

/// Flags of warp without a value that are others here, or none: `--NAME=false` asks for nothing.
const SWITCHES: [&str; 15] = [
    "disable-sha256-payload",
    "stress",
    "md5",
    "autoterm",
    "encrypt",
    "sse-s3-encrypt",
    "noprefix",
    "disable-multipart",
    "disable-http-keepalive",
    "http2",
    "no-color",
    "debug",
    "full",
    "list-flat",
    "obj.randsize",
];

/// What Go reads as no.
const FALSE_WORDS: [&str; 6] = ["0", "f", "F", "false", "FALSE", "False"];

/// Flags whose values are not told.
const SECRET_FLAGS: [&str; 3] = ["access-key", "secret-key", "session-token"];

/// Size of objects of warp, unless told otherwise, and of parts.
const WARP_SIZE: &str = "10MiB";
const WARP_PART_SIZE: &str = "5MiB";

/// Whom warp 1.4.0 loads unless told otherwise, and in which bucket (its cli/flags.go). The environment may name the
/// host, and not the bucket.
const WARP_HOST: &str = "127.0.0.1:9000";
const HOST_VARIABLE: &str = "WARP_HOST";
const WARP_BUCKET: &str = "warp-benchmark-bucket";

/// What it does unless told otherwise (the same, and the file of each benchmark): requests in flight, time, and for
/// each operation how many objects it writes beforehand and of which size.
const WARP_CONCURRENT: &str = "20";
const WARP_DURATION: &str = "5m";
const WARP_OBJECTS: [(&str, Option<&str>, &str); 6] = [
    ("get", Some("2500"), WARP_SIZE),
    ("put", None, WARP_SIZE),
    ("mixed", Some("2500"), WARP_SIZE),
    ("stat", Some("10000"), "1KB"),
    ("list", Some("10000"), "1KB"),
    ("delete", Some("25000"), "1KB"),
];

/// Parts of an object of `multipart-put`, and how many of them it has in flight for each of `--concurrent`.
const WARP_PARTS: &str = "100";
const WARP_PARTS_CONCURRENT: u32 = 20;

/// What is said of the deletions of warp, whose line need not say it.
const DELETES_NOTE: &str = "--batch: warp deletes 100 objects with each request, and here each deletes one";

/// What is said of sizes between two.
const SIZES_NOTE: &str = "warp draws the smaller sizes more often, and here all are as likely";

/// A flag as it was typed; no name for a word that is none.
struct TypedWord {
    name: Option<String>,
    value: String,
}

/// A line as it was typed.
struct TypedLine {
    /// The operation, where one is named.
    op: Option<&'static str>,
    /// Whether it is warp's whole, and not one of linerate's with a flag of warp.
    is_warps: bool,
    all: Vec<TypedWord>,
}

impl TypedLine {
    fn value(&self, name: &str) -> Option<&str> {
        self.all.iter().find(|typed| typed.name.as_deref() == Some(name)).map(|typed| typed.value.as_str())
    }
}

/// The whole command line, and a line for each word that is not in it as it stands. `words` are all that was typed.
pub(super) fn translate(words: &[String]) -> String {
    let is_host_set = std::env::var_os(HOST_VARIABLE).is_some_and(|host| !host.is_empty());
    translate_with_host(words, is_host_set)
}

/// The same, where the environment names a host or none.
fn translate_with_host(words: &[String], is_host_set: bool) -> String {
    let bench = bench();
    let typed = read(words, &bench);
    let (mut line, mut reported) = (vec!["linerate bench".to_owned()], Vec::new());
    line.extend(typed.op.map(|op| format!("--op {op}")));
    let (whom, of_host) = target(&typed, is_host_set);
    line.extend(whom);
    for one in &typed.all {
        let (flag, note) = match &one.name {
            Some(name) => translated_flag(name, &one.value, &typed, &bench),
            None => (
                Vec::new(),
                Some("a word that stands alone, and goes unquoted, as it may be a key: left out".to_owned()),
            ),
        };
        line.extend(flag);
        reported.extend(note.map(|note| format!("  {note}")));
    }
    line.extend(warp_defaults(&typed));
    if line.iter().any(|flag| flag == "--payload unsigned-trailer") {
        line.retain(|flag| flag != "--payload unsigned");
    }
    let deletes_many = typed.op == Some("delete") && typed.is_warps && typed.value("batch").is_none();
    reported.extend(deletes_many.then(|| format!("  {DELETES_NOTE}")));
    reported.dedup();
    reported.extend(of_host.map(|note| format!("  {note}")));
    reported.extend(refused(&line).map(|why| format!("  that line is refused as it stands: {why}")));
    std::iter::once(format!("  {}", line.join(" "))).chain(reported).collect::<Vec<_>>().join("\n")
}

/// Whom warp loads where its line does not say it, and what is told of that: linerate would load a server of its own.
fn target(line: &TypedLine, is_host_set: bool) -> (Vec<String>, Option<String>) {
    let is_said = |names: &[&str]| names.iter().any(|name| line.value(name).is_some());
    if line.op.is_none() || !line.is_warps || is_said(&["target"]) {
        return (Vec::new(), None);
    }
    let is_named = is_host_set || is_said(&["host", "alias"]);
    let host = (!is_named).then(|| format!("--host {WARP_HOST}"));
    let bucket = (!is_said(&["bucket"])).then(|| format!("--bucket {WARP_BUCKET}"));
    let note = (!is_named)
        .then(|| format!("--host {WARP_HOST}: warp's default; linerate's is a server that it starts itself"));
    (host.into_iter().chain(bucket).collect(), note)
}

/// What warp does where its line says nothing, as flags: linerate has other defaults.
fn warp_defaults(line: &TypedLine) -> Vec<String> {
    let Some(op) = line.op.filter(|_| line.is_warps) else { return Vec::new() };
    let is_said = |names: &[&str]| names.iter().any(|name| line.value(name).is_some());
    let mut flags = Vec::new();
    let reads_what_is_there = is_said(&["list-existing"]);
    if let Some((_, objects, size)) =
        WARP_OBJECTS.iter().find(|(known, ..)| *known == op).filter(|_| !reads_what_is_there)
    {
        flags.extend((!is_said(&["obj.size", "obj.randsize"])).then(|| format!("--obj.size {size}")));
        flags.extend(objects.filter(|_| !is_said(&["objects"])).map(|objects| format!("--objects {objects}")));
    }
    if op == "multipart" {
        if !is_said(&["obj.size", "parts"]) {
            flags.extend(upload_flags(WARP_PARTS, line).0);
        }
        flags.extend((!is_said(&["part.concurrent"])).then(|| format!("--part.concurrent {}", parts_in_flight(line))));
    }
    if !is_said(&["concurrent", "rate", "slo"]) {
        flags.push(format!("--concurrent {}", requests_in_flight(WARP_CONCURRENT, line)));
    }
    if !is_said(&["duration", "time"]) {
        flags.push(format!("--duration {WARP_DURATION}"));
    }
    let are_several = line.value("host").is_some_and(|host| host.contains(['{', ',']) || host.starts_with("file:"));
    flags.extend((are_several && !is_said(&["host-select"])).then(|| "--host-select weighed".to_owned()));
    flags
}

/// Parts of one object in flight: no more than it has.
fn parts_in_flight(line: &TypedLine) -> u32 {
    let said = line.value("part.concurrent").and_then(|parts| parts.parse().ok()).unwrap_or(WARP_PARTS_CONCURRENT);
    let parts = line.value("parts").and_then(|parts| parts.parse().ok()).unwrap_or(u32::MAX);
    said.min(parts).max(1)
}

/// Requests in flight: `multipart-put` of warp counts objects, each with its parts.
fn requests_in_flight(concurrent: &str, line: &TypedLine) -> String {
    let objects = concurrent.parse::<u32>().ok().filter(|_| line.op == Some("multipart") && line.is_warps);
    objects.map_or_else(|| shell::word(concurrent), |objects| objects.saturating_mul(parts_in_flight(line)).to_string())
}

/// Reads what was typed, without what asks for nothing.
fn read(words: &[String], bench: &Command) -> TypedLine {
    let mut rest = words.get(1..).unwrap_or_default().iter().peekable();
    let is_warps = rest.next_if(|word| *word == "bench").is_none();
    rest.next_if(|word| *word == "warp");
    let op = rest.next_if(|word| operation(word).is_ok()).and_then(|word| operation(word).ok());
    let mut all = Vec::new();
    while let Some(word) = rest.next() {
        // Go takes one dash as two.
        let flag = word.strip_prefix('-').map(|flag| flag.strip_prefix('-').unwrap_or(flag));
        let Some(flag) = flag.filter(|flag| !flag.is_empty()) else {
            all.push(TypedWord { name: None, value: String::new() });
            continue;
        };
        let (name, inline) = flag.split_once('=').map_or((flag, None), |(name, value)| (name, Some(value)));
        let name = if name == "q" { "quiet" } else { name };
        let is_switch = SWITCHES.contains(&name) || takes_value(bench, name) == Some(false);
        // What follows a switch is not its value: Go takes one behind a sign of equality only.
        let mut next = || rest.next_if(|next| !is_switch && !next.starts_with('-')).cloned();
        let value = inline.map(str::to_owned).or_else(&mut next).unwrap_or_default();
        if name == "rps-limit" && value == "0" || is_switch && FALSE_WORDS.contains(&value.as_str()) {
            continue;
        }
        let is_size = is_warps && SIZE_FLAGS.contains(&name);
        let value = if is_size { sizes_of_warp(&value) } else { value };
        all.push(TypedWord { name: Some(name.to_owned()), value });
    }
    TypedLine { op, is_warps, all }
}

/// What a flag is here, and what is to be told of it.
fn translated_flag(name: &str, value: &str, line: &TypedLine, bench: &Command) -> (Vec<String>, Option<String>) {
    let as_it_is = |name: &str| format!("--{name} {}", shell::word(value));
    let range = value.split_once(',').filter(|_| name == "obj.size" && line.is_warps && !value.contains(':'));
    match name {
        "obj.size" if range.is_some() || line.value("obj.randsize").is_some() => {
            let (least, most) = range.unwrap_or(("1", value));
            (vec![format!("--obj.size random:{least}-{most}")], Some(format!("--obj.size: {SIZES_NOTE}")))
        }
        "obj.randsize" if line.value("obj.size").is_some() => (Vec::new(), None),
        "obj.randsize" => {
            (vec![format!("--obj.size random:1-{WARP_SIZE}")], Some(format!("--obj.randsize: {SIZES_NOTE}")))
        }
        "parts" if line.op == Some("multipart") => upload_flags(value, line),
        "checksum" if ["CRC32C", "CRC32C-FO"].contains(&value.to_ascii_uppercase().as_str()) => {
            (vec!["--payload unsigned-trailer".to_owned()], None)
        }
        "checksum" => {
            let sent = "the one that linerate sends is CRC32C (--payload unsigned-trailer)";
            (Vec::new(), Some(format!("--checksum {}: {sent}; left out", shown_name(value))))
        }
        "concurrent" => (vec![format!("--concurrent {}", requests_in_flight(value, line))], None),
        _ => match (
            RENAMED_FLAGS.iter().find(|(known, _)| *known == name),
            takes_value(bench, name),
            warp_flag_named(name),
        ) {
            (Some((_, translated_flag)), ..) => (vec![translated_flag(&shell::word(value))], None),
            (None, Some(true), _) if SECRET_FLAGS.contains(&name) => (vec![format!("--{name} …")], None),
            (None, Some(true), _) => (vec![as_it_is(name)], None),
            (None, Some(false), _) => (vec![format!("--{name}")], None),
            (None, None, Some(other)) => (Vec::new(), Some(format!("--{name}: {}", other.fix()))),
            (None, None, None) => {
                let name = shown_name(name);
                (Vec::new(), Some(format!("--{name}: neither warp nor linerate has it; it is left out")))
            }
        },
    }
}

/// Uploads of so many parts are of objects that are as many times as long.
fn upload_flags(parts: &str, line: &TypedLine) -> (Vec<String>, Option<String>) {
    let size = line.value("part.size").unwrap_or(WARP_PART_SIZE);
    let whole = parts.parse::<u64>().ok().zip(size.parse::<Bytes>().ok());
    match whole.and_then(|(parts, size)| size.0.checked_mul(parts)).filter(|whole| *whole > 0) {
        Some(whole) => {
            let own = line.value("part.size").is_none().then(|| format!("--part.size {WARP_PART_SIZE}"));
            let size = format!("--obj.size {}", Bytes(whole).to_string().replace(' ', ""));
            (std::iter::once(size).chain(own).collect(), None)
        }
        None => {
            let why = "parts follow from the sizes of objects and of parts: give --obj.size and --part.size";
            (Vec::new(), Some(format!("--parts {}: {why}", shown_name(parts))))
        }
    }
}

/// The name of a flag that nobody knows, as far as it is one.
fn shown_name(name: &str) -> String {
    let is_of_name = |c: &char| c.is_ascii_alphanumeric() || "-._".contains(*c);
    name.chars().take_while(is_of_name).take(40).collect()
}

/// Why linerate does not take a line, as its shell would part it.
fn refused(line: &[String]) -> Option<String> {
    let error = Cli::try_parse_from(line.iter().flat_map(|part| split_words(part))).err()?;
    // What only asks for help is taken.
    if !error.use_stderr() {
        return None;
    }
    Some(clap_error_text(&error).lines().next().unwrap_or_default().to_owned())
}

/// Words as a shell parts them: at blanks that stand in no quotes.
fn split_words(line: &str) -> Vec<String> {
    let (mut words, mut word, mut is_quoted) = (Vec::new(), None::<String>, false);
    let mut rest = line.chars();
    while let Some(c) = rest.next() {
        match c {
            '\'' => {
                is_quoted = !is_quoted;
                word.get_or_insert_default();
            }
            '\\' if !is_quoted => word.get_or_insert_default().extend(rest.next()),
            ' ' if !is_quoted => words.extend(word.take()),
            c => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word);
    words
}

/// `linerate bench`, as clap knows it: made once for all words of a line.
fn bench() -> Command {
    let mut command = Cli::command();
    command.build();
    command.find_subcommand("bench").cloned().unwrap_or_default()
}

/// Whether bench has a flag, and whether that takes a value.
fn takes_value(bench: &Command, name: &str) -> Option<bool> {
    let is_called =
        |arg: &&clap::Arg| arg.get_long() == Some(name) || arg.get_all_aliases().unwrap_or_default().contains(&name);
    let is_reported = |arg: &&clap::Arg| !arg.is_hide_set();
    bench.get_arguments().filter(is_reported).find(is_called).map(|arg| arg.get_action().takes_values())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What warp's get does where nothing is said.
    const WARP_DEFAULT_FLAGS: &str = "--obj.size 10MiB --objects 2500 --concurrent 20 --duration 5m";

    /// What is written where no bucket is.
    const WARP_DEFAULT_BUCKET: &str = "--bucket warp-benchmark-bucket";

    #[test]
    fn a_line_that_names_no_host_or_bucket_is_not_run_against_another() {
        let translate_line = |line: &str, is_host_set| {
            let words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
            translate_with_host(&words, is_host_set)
        };
        for (line, is_host_set, whom, is_reported) in [
            ("warp get", false, "--host 127.0.0.1:9000 --bucket warp-benchmark-bucket", true),
            ("warp get --bucket b", false, "--host 127.0.0.1:9000 --bucket b", true),
            ("warp get", true, "--bucket warp-benchmark-bucket", false),
            ("warp get --host h:1", false, "--bucket warp-benchmark-bucket --host h:1", false),
            ("get --alias a --bucket b", false, "--alias a --bucket b", false),
            ("get --target null", false, "--target null", false),
        ] {
            let text = translate_line(&format!("linerate {line}"), is_host_set);
            let taken = format!("  linerate bench --op get {whom} {WARP_DEFAULT_FLAGS}");
            assert_eq!(text.lines().next(), Some(taken.as_str()), "{line}");
            let note = "  --host 127.0.0.1:9000: warp's default; linerate's is a server that it starts itself";
            assert_eq!(
                text.lines().skip(1).collect::<Vec<_>>(),
                if is_reported { vec![note] } else { vec![] },
                "{line}"
            );
        }
        // A line of linerate with a flag of warp is for linerate's own target.
        assert_eq!(
            translate_line("linerate bench --op get --no-color", false).lines().next(),
            Some("  linerate bench --op get")
        );
    }

    #[test]
    fn what_warp_does_unsaid_and_linerate_does_not_is_told() {
        let translate_line = |line: &str| translate(&line.split_whitespace().map(str::to_owned).collect::<Vec<_>>());
        for (line, times) in [
            ("linerate warp delete --host h:1", 1),
            ("linerate warp delete --host h:1 --batch 50", 0),
            ("linerate warp get --host h:1", 0),
        ] {
            assert_eq!(
                translate_line(line).matches("warp deletes 100 objects with each request").count(),
                times,
                "{line}"
            );
        }
    }

    #[test]
    fn a_value_with_a_blank_and_a_call_for_help_are_not_refused() {
        let translate_words =
            |words: &[&str]| translate(&words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>());
        for (words, part) in [
            (&["linerate", "get", "--obj.size", "1 MiB", "--md5"][..], "--obj.size '1 MiB'"),
            (&["linerate", "put", "--title", "it's a test", "--md5"], r"--title 'it'\''s a test'"),
            (&["linerate", "get", "--help", "--md5"], "--help"),
        ] {
            let text = translate_words(words);
            assert!(text.contains(part) && !text.contains("refused"), "{text}");
        }
        assert_eq!(split_words(r"--a 'b c' d\ e '' 'it'\''s'"), ["--a", "b c", "d e", "", "it's"]);
    }

    #[test]
    fn a_whole_command_line_of_warp_becomes_one_of_linerate() {
        let translate_line = |line: &str| {
            let words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
            translate(&words)
        };
        let line = "linerate put --host minio-{1...4}:9000 --access-key AK --secret-key=SK --tls --concurrent 4 \
                    --rps-limit 500 --md5 --autoterm --disable-sha256-payload stray";
        let lines = translate_line(line);
        let mut lines = lines.lines();
        assert_eq!(
            lines.next(),
            Some(
                "  linerate bench --op put --bucket warp-benchmark-bucket --host 'minio-{1...4}:9000' --access-key … \
                 --secret-key … --tls --concurrent 4 --max-rate 500/s --payload unsigned --obj.size 10MiB --duration \
                 5m --host-select weighed"
            )
        );
        assert!(lines.next().is_some_and(|l| l.starts_with("  --md5: bodies are protected")));
        assert!(lines.next().is_some_and(|l| l.starts_with("  --autoterm: no point ends")));
        assert!(lines.next().is_some_and(|l| l.starts_with("  a word that stands alone, and goes unquoted")));
        assert_eq!(lines.next(), None);
        assert_eq!(
            translate_line("linerate bench --op get --no-color").lines().next(),
            Some("  linerate bench --op get")
        );
        assert!(
            !translate_line("linerate get --rps-limit 0 --checksum CRC32C --disable-sha256-payload")
                .contains("refused")
        );
        assert!(
            translate_line("linerate get --threads 0")
                .contains("is refused as it stands: invalid value '0' for '--threads")
        );
        assert!(!translate_line("linerate get --secert-key QQQQ").contains("QQQQ"));
        assert!(translate_line("linerate get --secert-key QQQQ").contains("--secert-key: neither"));
    }

    /// A line of warp, what it becomes, and what is told of it. Capitals stand for what warp does unasked.
    const LINES: &[(&str, &str, Option<&str>)] = &[
        ("get --obj.size 1MiB,5MiB", "get --obj.size random:1MiB-5MiB OBJECTS TIME", Some("--obj.size: warp draws")),
        ("put --obj.size 8MiB --obj.randsize", "put --obj.size random:1-8MiB TIME", Some("--obj.size: warp draws")),
        ("put --obj.randsize", "put --obj.size random:1-10MiB TIME", Some("--obj.randsize: warp draws")),
        ("put --obj.size 4096:10740,8192:1685", "put --obj.size 4096:10740,8192:1685 TIME", None),
        (
            "multipart-put --parts 10",
            "multipart --obj.size 50MiB --part.size 5MiB --part.concurrent 10 --concurrent 200 LASTING",
            None,
        ),
        (
            "multipart-put --parts 10 --part.size 8MiB --part.concurrent 5 --concurrent 4",
            "multipart --obj.size 80MiB --part.size 8MiB --part.concurrent 5 --concurrent 20 LASTING",
            None,
        ),
        (
            "multipart-put",
            "multipart --obj.size 500MiB --part.size 5MiB --part.concurrent 20 --concurrent 400 LASTING",
            None,
        ),
        (
            "multipart-put --parts many",
            "multipart --part.concurrent 20 --concurrent 400 LASTING",
            Some("--parts many: parts follow from the sizes"),
        ),
        (
            "get --parts 10",
            "get --obj.size 10MiB OBJECTS TIME",
            Some("--parts: not measured here: reads of single parts"),
        ),
        ("put --checksum CRC32C", "put --payload unsigned-trailer --obj.size 10MiB TIME", None),
        (
            "put --checksum SHA256",
            "put --obj.size 10MiB TIME",
            Some("--checksum SHA256: the one that linerate sends is CRC32C"),
        ),
        ("get --duration 2m --concurrent 8", "get --duration 2m --concurrent 8 --obj.size 10MiB OBJECTS", None),
        (
            "get --duration 2m --autoterm",
            "get --duration 2m --obj.size 10MiB OBJECTS --concurrent 20",
            Some("--autoterm: no point ends"),
        ),
        (
            "get --autoterm",
            "get --obj.size 10MiB OBJECTS --concurrent 20 --duration 5m",
            Some("--autoterm: no point ends"),
        ),
        ("bench --op get --duration 2m --full", "get --duration 2m", Some("--full: linerate keeps")),
        ("warp get -q -host h:1", "get --quiet --host h:1 --obj.size 10MiB OBJECTS TIME", None),
        ("warp get --host h:1", "get --host h:1 --obj.size 10MiB OBJECTS TIME", None),
        ("warp mixed --host h:1", "mixed --host h:1 --obj.size 10MiB OBJECTS TIME", None),
        ("warp put --host h:1,h:2", "put --host h:1,h:2 --obj.size 10MiB TIME --host-select weighed", None),
        ("warp stat --objects 7", "stat --objects 7 --obj.size 1KB TIME", None),
        ("warp put --obj.size=120M", "put --obj.size 120MB TIME", None),
        ("get --obj.size 64Ki,1m", "get --obj.size random:64KiB-1MB OBJECTS TIME", Some("--obj.size: warp draws")),
        ("warp list --host h:1", "list --host h:1 --obj.size 1KB --objects 10000 TIME", None),
        (
            "warp delete --host h:1",
            "delete --host h:1 --obj.size 1KB --objects 25000 TIME",
            Some("--batch: warp deletes"),
        ),
        ("get h:1 --list-existing", "get --list-existing TIME", Some("a word that stands alone, and goes unquoted")),
    ];

    #[test]
    fn every_word_of_warp_is_translated_or_told() {
        let words = |line: &str| line.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
        for &(line, becomes, reported) in LINES {
            let text = translate_with_host(&words(&format!("linerate {line}")), true);
            let mut lines = text.lines();
            let is_warps = !line.starts_with("bench ");
            let bucket = if is_warps { format!("{WARP_DEFAULT_BUCKET} ") } else { String::new() };
            let (op, becomes) = becomes.split_once(' ').expect("an operation and its flags");
            let becomes = becomes.replace("TIME", "--concurrent 20 LASTING").replace("OBJECTS", "--objects 2500");
            let becomes = becomes.replace("LASTING", "--duration 5m");
            assert_eq!(lines.next(), Some(format!("  linerate bench --op {op} {bucket}{becomes}").as_str()), "{line}");
            let notes: Vec<&str> = lines.map(str::trim).collect();
            assert_eq!(notes.len(), reported.iter().len(), "{line}: {notes:?}");
            assert!(reported.iter().all(|reported| notes[0].starts_with(reported)), "{line}: {notes:?}");
        }
    }

    #[test]
    fn a_switch_that_is_off_is_off_and_takes_no_word_behind_it() {
        let translate_line = |line: &str| {
            let words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
            translate(&words)
        };
        for no in ["false", "False", "FALSE", "f", "F", "0"] {
            let line = format!(
                "linerate get --host h:1 --insecure={no} --noclear={no} --list-existing={no} --tls={no} \
                 --resolve-host={no} --disable-sha256-payload={no} --md5={no} --stress={no}"
            );
            assert_eq!(
                translate_line(&line),
                format!("  linerate bench --op get {WARP_DEFAULT_BUCKET} --host h:1 {WARP_DEFAULT_FLAGS}"),
                "{no}"
            );
        }
        for yes in ["", "=true", "=1", "=T"] {
            let line = format!("linerate get --host h:1 --insecure{yes} --tls{yes}");
            let taken = format!(
                "  linerate bench --op get {WARP_DEFAULT_BUCKET} --host h:1 --insecure --tls {WARP_DEFAULT_FLAGS}"
            );
            assert_eq!(translate_line(&line), taken, "{yes}");
        }
        let text = translate_line("linerate get --tls stray --host h:1");
        let line = format!(
            "  linerate bench --op get {WARP_DEFAULT_BUCKET} --tls --host h:1 {WARP_DEFAULT_FLAGS}\n  a word that \
             stands alone"
        );
        assert!(text.starts_with(&line), "{text}");
    }
}
