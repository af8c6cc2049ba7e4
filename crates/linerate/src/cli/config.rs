//! A file of flags for a command line: `linerate bench --config FILE`, in the layout of warp's `run`.
//!
//! The file becomes flags, put before those that were given, so that one parser judges both. What is wrong with it is
//! told with file, line and column. Values of keys are never part of a message.

use std::path::{Path, PathBuf};

use clap::{Command, CommandFactory as _, Parser as _};
use linerate_record::units::sizes_of_warp;
use saphyr_parser::{Event, Parser, Span};

use crate::cli::clap_error_text::clap_error_text;
use crate::cli::definition::{Cli, Verb};
use crate::cli::warp;
use crate::commands::bench::resolve;
use crate::credentials::key_permissions;
use crate::files::limited_read;
use crate::terminal::failure::Failure;
use crate::terminal::key_masks;

const FILE_BYTES_MAX: u64 = 1 << 20;

/// Sections whose names are no part of a flag's.
const SECTIONS: [&str; 4] = ["remote", "params", "io", "advanced"];

/// Keys whose flag is called otherwise.
const FLAG_NAMES_BY_KEY: [(&str, &str); 18] = [
    ("bench-data", "benchdata"),
    ("server-profile", "serverprof"),
    ("sse-c-encrypt", "encrypt"),
    ("analyze.verbose", "analyze.v"),
    ("analyze.skip-duration", "analyze.skip"),
    ("analyze.segment-duration", "analyze.dur"),
    ("analyze.filter-op", "analyze.op"),
    ("obj.part-size", "part.size"),
    ("obj.versions", "versions"),
    ("obj.rand-size", "obj.randsize"),
    ("obj.parts", "parts"),
    ("autoterm.enabled", "autoterm"),
    ("distribution.get", "get-distrib"),
    ("distribution.stat", "stat-distrib"),
    ("distribution.put", "put-distrib"),
    ("distribution.delete", "delete-distrib"),
    ("no-prefix", "noprefix"),
    ("no-clear", "noclear"),
];

/// Flags whose values may be lists in a file.
const LISTS: [&str; 1] = ["host"];

/// The flag of bench that is called so.
pub(crate) fn flag_named<'a>(bench: &'a Command, name: &str) -> Option<&'a clap::Arg> {
    let called =
        |arg: &&clap::Arg| arg.get_long() == Some(name) || arg.get_all_aliases().unwrap_or_default().contains(&name);
    bench.get_arguments().find(called)
}

/// A flag of the file, and where its key stands.
pub(crate) struct Flag {
    pub(crate) name: String,
    /// Absent for a switch.
    value: Option<String>,
}

impl Flag {
    pub(crate) fn word(&self) -> String {
        let Flag { name, value } = self;
        value.as_ref().map_or_else(|| format!("--{name}"), |value| format!("--{name}={value}"))
    }
}

/// Flags whose values are secret.
const SECRET: [&str; 2] = ["secret-key", "session-token"];

/// What a file stands for.
pub(crate) struct FileFlags {
    pub(crate) flags: Vec<Flag>,
    /// What is to be told of keys that are left out.
    pub(crate) notes: Vec<String>,
    /// What is wrong with single keys.
    pub(crate) wrong: Vec<KeyError>,
}

/// A mistake of a file, with its place, and the flag that it is about.
pub(crate) struct KeyError {
    pub(crate) name: String,
    pub(crate) text: String,
}

/// The flags that a file stands for, and what is wrong with it.
///
/// # Errors
/// Where it is no file of flags at all.
pub(crate) fn flags_of_file(path: &Path) -> Result<FileFlags, Failure> {
    let failed = |source| Failure::File { what: "read", path: path.to_owned(), source };
    let text = limited_read::read_text(path, FILE_BYTES_MAX).map_err(failed)?;
    let file = File { path: path.to_owned() };
    // Before anything is said of the file, whatever it is.
    key_masks::remember_secrets_of_file(&text);
    if let Some((line, column)) = template(&text) {
        let fix = "write the value instead; linerate does not fill in template variables";
        return Err(file.at((line, column), &format!("\"{{{{\" begins a template: {fix}")));
    }
    let entries = entries(&file, &text)?;
    // The settings of automatic termination ask for nothing where it is off.
    let on = |e: &Entry| e.key.ends_with("autoterm.enabled") && e.value == "true";
    let autoterm = entries.iter().any(on);
    let (mut flags, mut notes, mut wrong) = (Vec::new(), Vec::new(), Vec::new());
    for entry in entries.iter().filter(|e| autoterm || !e.key.contains(".autoterm.")) {
        match file.flag(entry) {
            Ok(KeyMeaning::Flag(flag)) => flags.push(flag),
            Ok(KeyMeaning::Note(note)) => notes.push(note),
            Ok(KeyMeaning::Nothing) => {}
            Err(failure) => {
                let name = entry.key.strip_prefix("warp.").map_or("", flag_name);
                let name = if name == "benchmark" { "op" } else { name }.to_owned();
                wrong.extend(failure.mistakes().into_iter().map(|text| KeyError { name: name.clone(), text }));
            }
        }
    }
    if flags.iter().any(|flag| SECRET.contains(&flag.name.as_str())) {
        key_permissions::warn_if_readable(path);
    }
    Ok(FileFlags { flags, notes, wrong })
}

/// Remembers a value whose key says that it is secret.
fn keep_secret(key: &str, value: &str) {
    key_masks::remember_secrets_of_arguments(&[format!("--{}={value}", key.trim_matches(['"', '\'']))]);
}

/// Where a template variable of warp begins: line and column.
fn template(text: &str) -> Option<(usize, usize)> {
    let bare = |line: &str| line.find("{{").filter(|&at| !line[..at].contains('#'));
    text.lines().enumerate().find_map(|(i, line)| Some((i + 1, bare(line)? + 1)))
}

/// A value of the file, under the names above it joined by dots.
struct Entry {
    key: String,
    value: String,
    /// Line and column of the key.
    place: (usize, usize),
}

/// What a key means here.
enum KeyMeaning {
    Flag(Flag),
    /// It is left out, and that is told.
    Note(String),
    /// It asks for nothing.
    Nothing,
}

struct File {
    path: PathBuf,
}

impl File {
    fn at(&self, (line, column): (usize, usize), what: &str) -> Failure {
        Failure::Usage(format!("{}:{line}:{column}: {what}", self.path.display()))
    }

    /// The flag that an entry stands for; none where it asks for nothing.
    fn flag(&self, entry: &Entry) -> Result<KeyMeaning, Failure> {
        let fail = |what: &str| self.at(entry.place, &format!("{:?}: {what}", entry.key));
        let Some(inside) = entry.key.strip_prefix("warp.") else {
            return Err(fail("write everything below a top-level \"warp\""));
        };
        if inside == "api" {
            return if entry.value == "v1" { Ok(KeyMeaning::Nothing) } else { Err(fail("linerate reads api v1")) };
        }
        if inside == "benchmark" {
            let op = warp::operation(&entry.value).map_err(|why| fail(&why))?;
            return Ok(KeyMeaning::Flag(Flag { name: "op".into(), value: Some(op.into()) }));
        }
        let name = flag_name(inside);
        if matches!(entry.value.as_str(), "" | "false") {
            // Known or not, a switch that is off and a value that is not there ask for nothing; a typing error is told.
            return if is_known(name) { Ok(KeyMeaning::Nothing) } else { Err(fail(UNKNOWN)) };
        }
        let mut command = Cli::command();
        command.build();
        let bench = command
            .find_subcommand("bench")
            .and_then(|bench| flag_named(bench, name))
            .filter(|arg| name != "config" && !arg.is_hide_set());
        let Some(arg) = bench else {
            return match warp::warp_flag_named(name) {
                Some(other) if other.asks_nothing(&entry.value) => Ok(KeyMeaning::Nothing),
                Some(other) if other.is_harmless() => {
                    let reported = format!("{:?} is left out: {}", entry.key, other.fix());
                    Ok(KeyMeaning::Note(self.at(entry.place, &reported).to_string()))
                }
                Some(other) => Err(fail(other.fix())),
                None => Err(fail(UNKNOWN)),
            };
        };
        if name == "obj.size" && entry.value.contains(',') && !entry.value.contains(':') {
            let range = entry.value.replacen(',', "-", 1);
            return Err(fail(&format!(
                "warp reads {:?} as random sizes between two: write random:{range}; to measure one after the other, \
                 give --obj.size on the command line",
                entry.value
            )));
        }
        let is_switch = !arg.get_action().takes_values();
        if is_switch && entry.value != "true" {
            return Err(fail("write true or false"));
        }
        let is_size = warp::SIZE_FLAGS.contains(&name);
        let value = if is_size { sizes_of_warp(&entry.value) } else { entry.value.clone() };
        let flag = Flag { name: name.to_owned(), value: (!is_switch).then_some(value) };
        check_flag(&flag).map_err(|why| fail(&why))?;
        Ok(KeyMeaning::Flag(flag))
    }
}

const UNKNOWN: &str =
    "no such key: keys are those of warp's benchmark files, and flags of linerate bench by their names";

/// The flag's name of a key: without its section, and as the flag is called.
fn flag_name(inside: &str) -> &str {
    let name = SECTIONS.iter().find_map(|section| inside.strip_prefix(section)?.strip_prefix('.')).unwrap_or(inside);
    let renamed = FLAG_NAMES_BY_KEY.iter().find(|(key, _)| *key == name);
    renamed.map_or(name, |(_, flag)| flag)
}

fn is_known(name: &str) -> bool {
    let mut command = Cli::command();
    command.build();
    let bench = command.find_subcommand("bench");
    warp::warp_flag_named(name).is_some() || bench.is_some_and(|bench| flag_named(bench, name).is_some())
}

/// Whether a flag is one that `linerate bench` can take by itself. The message quotes no key.
fn check_flag(flag: &Flag) -> Result<(), String> {
    let word = flag.word();
    let cli = Cli::try_parse_from(["linerate", "bench", &word]).map_err(|error| {
        if ["access-key", "secret-key", "session-token"].contains(&flag.name.as_str()) {
            return "it cannot be read".to_owned();
        }
        let text = clap_error_text(&error);
        let first = text.lines().next().unwrap_or_default();
        let rest = text.lines().find(|line| line.trim_start().starts_with("[possible values")).unwrap_or_default();
        format!("{first} {}", rest.trim()).trim_end().to_owned()
    })?;
    match cli.verb {
        Verb::Bench(flags) => resolve::work::parse_work(&flags.work).map(|_| ()).map_err(|error| error.to_string()),
        _ => Ok(()),
    }
}

/// A mapping that is being read: its name, and the key whose value comes next.
struct MappingLevel {
    name: String,
    key: Option<(String, (usize, usize))>,
    names: Vec<String>,
}

/// Every value of the file with its place.
fn entries(file: &File, text: &str) -> Result<Vec<Entry>, Failure> {
    let mut reader = BenchParser { file, levels: Vec::new(), list: None, entries: Vec::new() };
    let mut documents = 0;
    for event in Parser::new_from_str(text) {
        let (event, span) = event.map_err(|error| {
            let marker = error.marker();
            file.at((marker.line(), marker.col() + 1), &format!("invalid YAML: {}", error.info()))
        })?;
        let place = location(&span);
        match event {
            Event::DocumentStart(_) if documents == 1 => return Err(file.at(place, "a second document: write one")),
            Event::DocumentStart(_) => documents += 1,
            Event::MappingStart(..) => reader.open(place)?,
            Event::MappingEnd => drop(reader.levels.pop()),
            Event::SequenceStart(..) => reader.open_list(place)?,
            Event::SequenceEnd => reader.close_list(),
            Event::Scalar(value, style, ..) => {
                let is_null =
                    style == saphyr_parser::ScalarStyle::Plain && matches!(&*value, "~" | "null" | "Null" | "NULL");
                reader.scalar(if is_null { String::new() } else { value.into_owned() }, place)?;
            }
            Event::Alias(_) => return Err(file.at(place, "an alias of YAML: write the value itself")),
            _ => {}
        }
    }
    if reader.entries.is_empty() {
        return Err(
            file.at((1, 1), "no benchmark in it: write a top-level \"warp\" with \"api: v1\" and \"benchmark\"")
        );
    }
    Ok(reader.entries)
}

fn location(span: &Span) -> (usize, usize) {
    (span.start.line(), span.start.col() + 1)
}

struct BenchParser<'a> {
    file: &'a File,
    levels: Vec<MappingLevel>,
    list: Option<Vec<String>>,
    entries: Vec<Entry>,
}

impl BenchParser<'_> {
    fn open(&mut self, place: (usize, usize)) -> Result<(), Failure> {
        if self.list.is_some() {
            return Err(self.file.at(place, "a list of mappings: write single values"));
        }
        let name = match self.levels.last_mut().map(|level| (level.name.clone(), level.key.take())) {
            None => String::new(),
            Some((above, Some((key, _)))) => format!("{above}{key}."),
            Some((_, None)) => return Err(self.file.at(place, "a mapping as a key: write a name")),
        };
        self.levels.push(MappingLevel { name, key: None, names: Vec::new() });
        Ok(())
    }

    fn open_list(&mut self, place: (usize, usize)) -> Result<(), Failure> {
        let key = self.levels.last().and_then(|level| level.key.as_ref());
        if self.list.is_some() || !key.is_some_and(|(key, _)| LISTS.contains(&key.as_str())) {
            return Err(self.file.at(place, "a list: only \"host\" may be one; write a single value"));
        }
        self.list = Some(Vec::new());
        Ok(())
    }

    fn close_list(&mut self) {
        if let Some(list) = self.list.take() {
            self.enter(list.join(","));
        }
    }

    fn scalar(&mut self, value: String, place: (usize, usize)) -> Result<(), Failure> {
        if let Some(list) = &mut self.list {
            list.push(value);
            return Ok(());
        }
        let Some(level) = self.levels.last_mut() else {
            return Err(self.file.at(place, "not a mapping: write a top-level \"warp\""));
        };
        if level.key.is_some() {
            self.enter(value);
            return Ok(());
        }
        if level.names.contains(&value) {
            return Err(self.file.at(place, &format!("{:?}: named twice", format!("{}{value}", level.name))));
        }
        level.names.push(value.clone());
        level.key = Some((value, place));
        Ok(())
    }

    fn enter(&mut self, value: String) {
        if let Some(level) = self.levels.last_mut()
            && let Some((key, place)) = level.key.take()
        {
            keep_secret(&key, &value);
            self.entries.push(Entry { key: format!("{}{key}", level.name), value, place });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEAD: &str = "warp:\n  api: v1\n";

    fn words(text: &str) -> Result<Vec<String>, String> {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), text).unwrap();
        let name = file.path().display().to_string();
        let shown = |text: String| text.replace(&name, "F.yml");
        let FileFlags { flags, wrong, .. } = flags_of_file(file.path()).map_err(|error| shown(error.to_string()))?;
        if !wrong.is_empty() {
            return Err(shown(Failure::from_errors(wrong.into_iter().map(|wrong| wrong.text).collect()).to_string()));
        }
        Ok(flags.iter().map(Flag::word).collect())
    }

    #[test]
    fn keys_that_mean_the_same_become_flags() {
        let text = "  benchmark: mixed # the usual\n  quiet: false\n  remote:\n    region: eu-1\n    access-key: 'AK'\n\
                    \x20   host:\n      - 'a:9000'\n      - b-{1...2}:9000\n    bucket:\n    insecure: false\n\
                    \x20 params:\n\
                    \x20   duration: 1m\n    concurrent: 8\n    objects: 1000\n    obj:\n      size: 100KiB\n\
                    \x20     rand-size: false\n    autoterm:\n      enabled: false\n      dur: 10s\n      pct: 7.5\n\
                    \x20   distribution: {get: 45.0, put: 15}\n    no-clear: true\n    warmup: 2s\n  io:\n\
                    \x20   prefix: p/\n    no-prefix: false\n  advanced:\n    rps-limit: 0\n\
                    \x20   host-select: weighed\n    sndbuf: 32768\n";
        let expected = "--op=mixed --region=eu-1 --access-key=AK --host=a:9000,b-{1...2}:9000 --duration=1m \
                        --concurrent=8 --objects=1000 --obj.size=100KiB --get-distrib=45.0 --put-distrib=15 --noclear \
                        --warmup=2s --prefix=p/ --host-select=weighed";
        assert_eq!(words(&format!("{HEAD}{text}")).unwrap().join(" "), expected);
    }

    #[test]
    fn mistakes_are_told_with_their_place_their_key_and_the_fix() {
        for (text, expected) in [
            ("  benchmark: zap\n", "F.yml:3:3: \"warp.benchmark\": linerate has no such benchmark: get"),
            ("  benchmark: versioned\n", "F.yml:3:3: \"warp.benchmark\": not measured here: versions of objects"),
            ("  versions: 5\n", "F.yml:3:3: \"warp.versions\": not measured here: versions of objects"),
            ("  benchmark: zip\n  params:\n    duration: soon\n    sse-c-encrypt: true\n", "3 mistakes"),
            ("  params:\n    durration: 1m\n", "F.yml:4:5: \"warp.params.durration\": no such key"),
            ("  params:\n    durration:\n", "F.yml:4:5: \"warp.params.durration\": no such key"),
            ("  params:\n    duration: soon\n", "F.yml:4:5: \"warp.params.duration\": invalid value 'soon'"),
            ("  params:\n    concurrent: 0\n", "F.yml:4:5: \"warp.params.concurrent\": invalid concurrency \"0\""),
            ("  params:\n    obj:\n      size: 1,2\n", "F.yml:5:7: \"warp.params.obj.size\": warp reads \"1,2\" as"),
            ("  params:\n    no-clear: maybe\n", "F.yml:4:5: \"warp.params.no-clear\": write true or false"),
            ("  params:\n    lookup: both\n", "[possible values: path, host]"),
            ("  advanced:\n    rps-limit: 500\n", "--max-rate 500/s"),
            ("  bench-data: x\n", "F.yml:3:3: \"warp.bench-data\": give --output DIR"),
            ("  warp-client: [a, b]\n", "F.yml:3:16: a list: only \"host\""),
            ("  quiet: true\n  quiet: true\n", "F.yml:4:3: \"warp.quiet\": named twice"),
            ("  params:\n    duration: {{.Time}}\n", "F.yml:4:15: \"{{\" begins a template"),
            ("  params: &a\n    x: *a\n", "F.yml:4:8: an alias of YAML"),
            ("  params: {duration: \"1m}\n", "invalid YAML"),
            ("---\nwarp: {}\n", "a second document"),
            ("  config: x\n", "no such key"),
            ("other: 1\n", "F.yml:3:1: \"other\": write everything below"),
        ] {
            let error = words(&format!("{HEAD}{text}")).expect_err(text);
            assert!(error.contains(expected), "{text}\n{error}\n{expected}");
        }
        for (text, expected) in [
            ("", "no benchmark in it"),
            ("warp:\n  api: v2\n", "F.yml:2:3: \"warp.api\": linerate reads api v1"),
            ("just text", "F.yml:1:1: not a mapping"),
            ("- warp", "F.yml:1:1: a list"),
        ] {
            let error = words(text).expect_err(text);
            assert!(error.contains(expected), "{text}\n{error}");
        }
    }

    #[test]
    fn keys_that_change_no_load_are_left_out_and_told() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let text = "  benchmark: get\n  no-color: true\n  analyze:\n    verbose: true\n  params:\n    autoterm:\n\
                    \x20     enabled: true\n";
        std::fs::write(file.path(), format!("{HEAD}{text}")).unwrap();
        let FileFlags { flags, notes, .. } = flags_of_file(file.path()).unwrap();
        assert_eq!((flags.len(), notes.len()), (1, 3), "{notes:?}");
        assert!(notes[0].contains(":4:3: \"warp.no-color\" is left out: set NO_COLOR=1"), "{notes:?}");
    }

    #[test]
    fn automatic_termination_asks_for_nothing_where_it_is_off() {
        let autoterm = |enabled: &str| format!("  autoterm:\n      enabled: {enabled}\n      pct: 5\n");
        for (keys, flags, note) in [
            (format!("    duration: 1m\n  {}", autoterm("false")), "--duration=1m", false),
            (format!("    duration: 1m\n  {}", autoterm("")), "--duration=1m", false),
            (format!("    duration: 1m\n  {}", autoterm("true")), "--duration=1m", true),
            ("    duration: 1m\n    precision: 5%\n".to_owned(), "--duration=1m", true),
            ("    concurrent: 8\n".to_owned(), "--concurrent=8", false),
        ] {
            let file = tempfile::NamedTempFile::new().unwrap();
            std::fs::write(file.path(), format!("{HEAD}  params:\n{keys}")).unwrap();
            let FileFlags { flags: found, notes, wrong } = flags_of_file(file.path()).unwrap();
            assert!(wrong.is_empty(), "{keys}");
            assert_eq!(found.iter().map(Flag::word).collect::<Vec<_>>().join(" "), flags, "{keys}");
            assert_eq!(notes.iter().any(|note| note.contains("no point ends early")), note, "{keys}: {notes:?}");
        }
    }

    #[test]
    fn a_file_cut_at_any_byte_is_read_or_refused_and_no_key_is_quoted() {
        let text = format!("{HEAD}  benchmark: get\n  remote:\n    secret-key: 'QQQQ'\n    host: ['a', b]\n");
        for cut in 0..text.len() {
            if let Err(error) = words(&text[..cut]) {
                assert!(!error.contains("QQ"), "cut at {cut}: {error}");
            }
        }
    }
}
