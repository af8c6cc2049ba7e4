//! The rooms that judge take data and give data: no file, socket, process, thread or clock outside their tests.

use crate::source::{self, Source, has_word};
use std::path::{Path, PathBuf};
use std::{fs, io};

/// The rooms that judge, and the one in which they are judged.
const JUDGING: [&str; 5] = ["analysis", "model", "experiment", "report", "worlds"];

/// Modules of `std` that act on the world.
const ACTING: [&str; 4] = ["fs", "net", "process", "thread"];

/// Types that read a clock.
const CLOCKS: [&str; 2] = ["Instant", "SystemTime"];

/// Every place in a judging room, of those that are built, that acts.
pub(crate) fn faults(root: &Path) -> io::Result<Vec<String>> {
    let mut faults = Vec::new();
    for room in JUDGING {
        let folder = root.join("crates").join(room).join("src");
        if !folder.is_dir() {
            continue;
        }
        for file in rust_files(&folder)? {
            let path = file.strip_prefix(root).unwrap_or(&file).to_string_lossy().into_owned();
            let source = source::read(&path, &fs::read_to_string(&file)?);
            faults.extend(acts(&source).into_iter().map(|(line, what)| {
                format!(
                    "{path}:{line}: {what} in {room}: a room that judges takes data; act in the binary and pass it in"
                )
            }));
        }
    }
    Ok(faults)
}

fn rust_files(folder: &Path) -> io::Result<Vec<PathBuf>> {
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

/// Lines outside tests that act, and what they name.
fn acts(source: &Source) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    for clock in CLOCKS {
        let lines = source.lines_outside_tests(|line| has_word(line, clock));
        found.extend(lines.into_iter().map(|line| (line, clock.to_owned())));
    }
    for module in ACTING {
        let path = format!("std::{module}");
        let lines = source.lines_outside_tests(|line| has_word(line, &path));
        found.extend(lines.into_iter().map(|line| (line, path.clone())));
    }
    found.extend(grouped_imports(source));
    found.sort();
    found
}

/// The acting modules in groups such as `use std::{fs, io::{self, Read}}`.
fn grouped_imports(source: &Source) -> Vec<(usize, String)> {
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
                if ACTING.contains(&item.as_str()) && !source.is_test[index] {
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
            let found = acts(&source::read("src/a.rs", text));
            let found: Vec<(usize, &str)> = found.iter().map(|(line, what)| (*line, what.as_str())).collect();
            assert_eq!(found, expected, "{text}");
        }
    }
}
