//! What ARCHITECTURE.md says is absent from a room: files, clocks and chance where it is judged, the environment
//! outside the binary, locks and an async runtime in the wire loop.

use crate::source::{self, Source, has_word};
use std::path::{Path, PathBuf};
use std::{fs, io};

/// What is absent from some folders, outside their tests.
struct Absence {
    /// Folders below `crates`; all of them where there are none.
    within: &'static [&'static str],
    /// Folders and files below `crates` in which it is there.
    but: &'static [&'static str],
    /// Modules of `std`.
    modules: &'static [&'static str],
    words: &'static [&'static str],
    /// What to do instead.
    instead: &'static str,
}

const ABSENCES: [Absence; 8] = [
    Absence {
        within: &["kube/src/manifest"],
        but: &[],
        modules: &["fs", "net", "process", "thread", "env"],
        words: &["Instant", "SystemTime", "HashMap", "HashSet", "rand", "getrandom", "async", "Client"],
        instead: "the same wishes give the same manifest: pass in what it depends on",
    },
    Absence {
        within: &[
            "record",
            "site",
            "analysis",
            "model",
            "settings",
            "render",
            "experiment",
            "rollout",
            "discovery",
            "report",
            "fleet",
            "worlds",
        ],
        but: &["worlds/src/table.rs"],
        modules: &["fs", "net", "process", "thread", "env"],
        words: &["Instant", "SystemTime", "println", "eprintln", "stdin", "stdout", "stderr"],
        instead: "a room that judges takes data; act in the binary and pass it in",
    },
    Absence {
        within: &[
            "record",
            "site",
            "analysis",
            "model",
            "settings",
            "render",
            "experiment",
            "rollout",
            "discovery",
            "report",
            "fleet",
        ],
        but: &[],
        modules: &[],
        words: &["HashMap", "HashSet", "RandomState", "rand", "getrandom"],
        instead: "the same data give the same verdict: draw from a seed, and use collections that have an order",
    },
    Absence {
        within: &[],
        but: &["linerate", "worlds/src/table.rs"],
        modules: &["env"],
        words: &["clap"],
        instead: "the binary alone reads flags and the environment: pass in what they say",
    },
    Absence {
        within: &["wire", "load", "flows"],
        but: &["load/src/local_target"],
        modules: &[],
        words: &["tokio", "hyper", "async"],
        instead: "the wire loop has no async runtime",
    },
    Absence {
        within: &["wire", "load", "flows"],
        but: &["load/src/local_target"],
        modules: &[],
        words: &["Mutex", "RwLock", "Condvar", "Barrier"],
        instead: "event-loop threads wait for none of each other",
    },
    Absence {
        within: &["wire", "load", "flows"],
        but: &["wire/src/sys.rs"],
        modules: &["fs"],
        words: &[],
        instead: "no run folder is written here: the binary does that, from what it is sent",
    },
    Absence {
        within: &["wire"],
        but: &[],
        modules: &[],
        words: &["Op", "Workload", "Lookup", "Payload", "bucket", "s3", "S3"],
        instead: "wire knows nothing of S3: what a request means is known in load",
    },
];

/// Every place that names what is said to be absent there.
pub(crate) fn faults(root: &Path) -> io::Result<Vec<String>> {
    let mut faults = Vec::new();
    for file in sources(root)? {
        let path = file.strip_prefix(root).unwrap_or(&file).to_string_lossy().into_owned();
        let source = source::read(&path, &fs::read_to_string(&file)?);
        for absence in ABSENCES.iter().filter(|absence| absence.covers(&path)) {
            let found = named(&source, absence.modules, absence.words).into_iter();
            faults.extend(found.map(|(line, what)| format!("{path}:{line}: {what}: {}", absence.instead)));
        }
    }
    Ok(faults)
}

impl Absence {
    /// Whether a file, by its path in the repository, is one in which it is absent.
    fn covers(&self, path: &str) -> bool {
        let is_in = |place: &&str| {
            let rest = path.strip_prefix("crates/").and_then(|path| path.strip_prefix(*place));
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/') || rest == ".rs")
        };
        let is_within = self.within.is_empty() || self.within.iter().any(is_in);
        is_within && !self.but.iter().any(is_in)
    }
}

/// The Rust files below `src` of each crate.
fn sources(root: &Path) -> io::Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for entry in fs::read_dir(root.join("crates"))? {
        let folder = entry?.path().join("src");
        if folder.is_dir() {
            files.extend(rust_files(&folder)?);
        }
    }
    files.sort();
    Ok(files)
}

/// The Rust files of a folder and of those in it.
pub(crate) fn rust_files(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            files.extend(rust_files(&path)?);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path);
        }
    }
    files.sort();
    Ok(files)
}

/// Lines outside tests that name modules of `std` or words, and which.
fn named(source: &Source, modules: &[&str], words: &[&str]) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    for &word in words {
        let lines = source.lines_outside_tests(|line| has_word(line, word));
        found.extend(lines.into_iter().map(|line| (line, word.to_owned())));
    }
    for module in modules {
        let path = format!("std::{module}");
        let lines = source.lines_outside_tests(|line| has_word(line, &path));
        found.extend(lines.into_iter().map(|line| (line, path.clone())));
    }
    found.extend(grouped_imports(source, modules));
    found.sort();
    found
}

/// Modules in groups such as `use std::{fs, io::{self, Read}}`.
fn grouped_imports(source: &Source, modules: &[&str]) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    // The depth of braces within the group; 0 outside of one.
    let mut depth = 0_usize;
    for (index, line) in source.code.iter().enumerate() {
        let mut rest = line.as_str();
        if depth == 0 {
            let Some(start) = line.find("std::{") else { continue };
            rest = &line[start + "std::{".len()..];
            depth = 1;
        }
        let mut item = String::new();
        for character in rest.chars().chain([',']) {
            match character {
                '{' => depth += 1,
                '}' => depth = depth.saturating_sub(1),
                _ if depth == 1 && (character.is_alphanumeric() || character == '_') => item.push(character),
                _ => {}
            }
            if !(character.is_alphanumeric() || character == '_') {
                if modules.contains(&item.as_str()) && !source.is_test[index] {
                    found.push((index + 1, format!("std::{item}")));
                }
                item.clear();
            }
            if depth == 0 {
                break;
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_absence_is_of_its_folders_but_for_those_in_which_it_is_there() {
        let reported = |path: &str, text: &str| -> Vec<String> {
            let source = source::read(path, text);
            let absences = ABSENCES.iter().filter(|absence| absence.covers(path));
            let found = absences.flat_map(|absence| named(&source, absence.modules, absence.words));
            found.map(|(_, what)| what).collect()
        };
        let cases: [(&str, &str, &[&str]); 18] = [
            ("crates/settings/src/audit.rs", "use std::env;\n", &["std::env", "std::env"]),
            ("crates/record/src/run.rs", "use std::{env, fmt};\n", &["std::env", "std::env"]),
            ("crates/record/src/run.rs", "println!();\n", &["println"]),
            ("crates/report/src/html.rs", "let map = HashMap::new();\n", &["HashMap"]),
            ("crates/worlds/src/rng.rs", "use rand::RngExt;\n", &[]),
            ("crates/worlds/src/table.rs", "use std::env;\n", &[]),
            ("crates/host/src/owner.rs", "use std::{env, fs};\n", &["std::env"]),
            ("crates/host/src/owner.rs", "use clap::Args;\n", &["clap"]),
            ("crates/linerate/src/cli/definition.rs", "use clap::Args;\nuse std::env;\n", &[]),
            ("crates/load/src/worker.rs", "use std::sync::Mutex;\nasync fn a() {}\n", &["async", "Mutex"]),
            ("crates/wire/src/connection_slab.rs", "use std::sync::Mutex;\nasync fn a() {}\n", &["async", "Mutex"]),
            ("crates/wire/src/sys.rs", "use std::fs;\n", &[]),
            ("crates/wire/src/tally.rs", "use linerate_record::run::Op;\n", &["Op"]),
            ("crates/load/src/tally.rs", "use linerate_record::run::Op;\n", &[]),
            ("crates/load/src/local_target/null.rs", "use std::sync::Mutex;\nasync fn a() {}\n", &[]),
            ("crates/load/src/local_target.rs", "use tokio::net;\n", &[]),
            ("crates/load/src/point.rs", "use std::fs;\n", &["std::fs"]),
            ("crates/loads/src/point.rs", "use std::fs;\n", &[]),
        ];
        for (path, text, expected) in cases {
            assert_eq!(reported(path, text), expected, "{path}: {text}");
        }
    }

    #[test]
    fn what_acts_is_found_outside_tests() {
        let cases: [(&str, &[(usize, &str)]); 12] = [
            ("use std::fs;\n", &[(1, "std::fs")]),
            ("let a = std::net::TcpStream::connect(b);\n", &[(1, "std::net")]),
            ("use std::time::{Duration, Instant};\n", &[(1, "Instant")]),
            ("let now = SystemTime::now();\n", &[(1, "SystemTime")]),
            ("use std::{fmt, fs};\n", &[(1, "std::fs")]),
            ("use std::{\n    fmt::{self, Write},\n    thread,\n};\n", &[(3, "std::thread")]),
            ("use std::{fmt, process::Command};\n", &[(1, "std::process")]),
            ("use std::{fmt::{self, net}, io};\nuse other::{fs};\n", &[]),
            ("use std::time::Duration;\nstruct Instantly;\n", &[]),
            ("// std::fs\nlet a = \"std::fs Instant\";\n", &[]),
            ("use crate::net;\nuse std::fsx;\n", &[]),
            ("fn a() {}\n#[cfg(test)]\nmod tests {\n    use std::fs;\n    use std::{net, thread};\n}\n", &[]),
        ];
        for (text, expected) in cases {
            let (modules, words) = (&["fs", "net", "process", "thread"], &["Instant", "SystemTime"]);
            let found = named(&source::read("src/a.rs", text), modules, words);
            let found: Vec<(usize, &str)> = found.iter().map(|(line, what)| (*line, what.as_str())).collect();
            assert_eq!(found, expected, "{text}");
        }
    }
}
