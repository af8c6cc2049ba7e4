//! The code map of ARCHITECTURE.md names every source file, itself or by its folder.

use std::collections::BTreeSet;
use std::path::Path;
use std::{fs, io};

use crate::purity::sources;

/// Where the map begins, and what comes after it.
const BEGINS: &str = "## Code map";
const ENDS: &str = "\n## ";

/// Files that every crate may have, and that say themselves what they are.
const PLAIN: [&str; 2] = ["lib.rs", "main.rs"];

/// Every source file that the map does not name, and every name in it that is no file.
pub(crate) fn faults(root: &Path, text: &str) -> io::Result<Vec<String>> {
    let mut paths = Vec::new();
    for file in sources(root)? {
        paths.push(file.strip_prefix(root).unwrap_or(&file).to_string_lossy().into_owned());
    }
    let mut found = unnamed(text, &paths);
    found.extend(not_there(text, |path| fs::exists(root.join(path)).unwrap_or(false)));
    Ok(found)
}

/// The sections of the map: the folder of a crate and the names in it.
fn sections(text: &str) -> Vec<(&str, BTreeSet<&str>)> {
    let map = text.split_once(BEGINS).map_or("", |(_, rest)| rest);
    let map = map.split_once(ENDS).map_or(map, |(map, _)| map);
    let sections = map.split("\n### ").skip(1).filter_map(|section| {
        let (heading, body) = section.split_once('\n')?;
        let folder = heading.split('`').nth(1).filter(|folder| folder.starts_with("crates/"))?;
        Some((folder, body.split('`').skip(1).step_by(2).collect()))
    });
    sections.collect()
}

fn unnamed(text: &str, paths: &[String]) -> Vec<String> {
    let sections = sections(text);
    let is_named = |path: &String| {
        let own = sections
            .iter()
            .find_map(|(folder, names)| Some((path.strip_prefix(folder)?.strip_prefix("/src/")?, names)));
        own.is_some_and(|(file, names)| names_file(names, file))
    };
    let missing = paths.iter().filter(|path| !is_named(path));
    missing
        .map(|path| format!("{path} is not in the code map of ARCHITECTURE.md: name it or its folder there"))
        .collect()
}

/// Whether a file is named: by its path below `src`, or by a folder that it is in, as `findings/*`. Tests are in the
/// table of tests.
fn names_file(names: &BTreeSet<&str>, file: &str) -> bool {
    let name = file.rsplit('/').next().unwrap_or(file);
    let mut folders = file.match_indices('/').map(|(end, _)| format!("{}/*", &file[..end]));
    PLAIN.contains(&file)
        || name == "tests.rs"
        || names.contains(file)
        || folders.any(|folder| names.contains(folder.as_str()) || folder.ends_with("/tests/*"))
}

/// Names of the map that look like files of the crate and are none.
fn not_there(text: &str, is_there: impl Fn(&str) -> bool) -> Vec<String> {
    let mut faults = Vec::new();
    for (folder, names) in sections(text) {
        for name in names {
            let path = name.strip_suffix("/*").unwrap_or(name);
            let is_file = name.ends_with(".rs") || name.ends_with("/*");
            let is_there = is_there(&format!("{folder}/src/{path}")) || is_there(&format!("{folder}/{path}"));
            if is_file && !is_there {
                faults.push(format!("ARCHITECTURE.md: the code map of {folder} names {name}, which is not there"));
            }
        }
    }
    faults
}

#[cfg(test)]
mod tests {
    use super::*;

    const MAP: &str = "# Architecture\n\n`crates/a/src/early.rs`\n\n## Code map\n\n### `crates/a`: a\n\n- `one.rs` \
        with `one/*`: one.\n- `two.rs`, `two/left.rs`: two. `gone.rs`\n\n### `crates/b`: b\n\n- `late.rs`\n\n\
        ## Next\n\n### `crates/c`: c\n\n- `late.rs`\n";

    #[test]
    fn a_file_is_named_itself_or_by_its_folder() {
        for (path, is_named) in [
            ("crates/a/src/lib.rs", true),
            ("crates/a/src/one.rs", true),
            ("crates/a/src/one/x.rs", true),
            ("crates/a/src/one/x/y.rs", true),
            ("crates/a/src/two/left.rs", true),
            ("crates/a/src/two/right.rs", false),
            ("crates/a/src/two/tests.rs", true),
            ("crates/a/src/two/tests/cases.rs", true),
            ("crates/a/src/early.rs", false),
            ("crates/a/src/late.rs", false),
            ("crates/b/src/late.rs", true),
            ("crates/c/src/late.rs", false),
        ] {
            assert_eq!(unnamed(MAP, &[path.to_owned()]).is_empty(), is_named, "{path}");
        }
    }

    #[test]
    fn a_name_that_is_no_file_is_told() {
        let there = ["crates/a/src/one.rs", "crates/a/src/one", "crates/a/src/two.rs", "crates/a/src/two/left.rs"];
        let faults = not_there(MAP, |path| there.contains(&path) || path == "crates/b/src/late.rs");
        assert_eq!(faults, ["ARCHITECTURE.md: the code map of crates/a names gone.rs, which is not there"]);
    }
}
