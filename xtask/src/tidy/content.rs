//! The rules for every kind of file.

use super::{File, Kind, Rule, lines};

/// Characters that a line may have.
const LINE_CHARS: usize = 120;
/// Bytes that a binary file may have.
const BINARY_BYTES: usize = 512 << 10;
/// Where larger binary files belong.
const BINARY_PLACES: [&str; 2] = ["runs/", "docs/"];
/// Names that say nothing of what is inside.
const VAGUE: [&str; 8] = ["common", "util", "utils", "core", "helper", "helpers", "manager", "misc"];
/// Folders of one person's machine. In parts, so that this file keeps its own rule.
const MACHINE_PATHS: [&str; 3] = [concat!("/wo", "rk/"), concat!("/ro", "ot/"), concat!("/tm", "p/bash")];

pub(super) const RULES: [Rule; 7] = [
    Rule { name: "long-line", what_to_do: "break it, at most 120 characters", lines_at_fault: long_line },
    Rule { name: "vague-name", what_to_do: "name the file or folder after its subject", lines_at_fault: vague_name },
    Rule { name: "trailing-space", what_to_do: "remove the space at the end", lines_at_fault: trailing_space },
    Rule { name: "final-newline", what_to_do: "end the file with one newline", lines_at_fault: final_newline },
    Rule {
        name: "large-binary",
        what_to_do: "keep binary files over 512 KiB out, or under runs/ or docs/",
        lines_at_fault: large_binary,
    },
    Rule {
        name: "machine-path",
        what_to_do: "name no folder of one machine: use a relative path or a temporary folder",
        lines_at_fault: machine_path,
    },
    Rule {
        name: "unhashed",
        what_to_do: "install Python packages with --require-hashes, from a file of requirements",
        lines_at_fault: unhashed,
    },
];

fn long_line(file: &File) -> Vec<usize> {
    let is_long = |line: &str| line.chars().count() > LINE_CHARS;
    match file.kind {
        Kind::Rust | Kind::Toml | Kind::Shell => lines(file, is_long),
        Kind::Markdown => lines(file, |line| {
            is_long(line)
                && !line.trim_start().starts_with('|')
                && !line.contains("http://")
                && !line.contains("https://")
        }),
        Kind::Yaml | Kind::Make | Kind::Other => vec![],
    }
}

fn vague_name(file: &File) -> Vec<usize> {
    let is_vague =
        |part: &str| part.split('.').next().is_some_and(|stem| VAGUE.contains(&stem.to_lowercase().as_str()));
    // What is below a captured machine is called as the kernel calls it: `net/core`.
    let is_of_kernel = file.path.starts_with("captures/");
    if !is_of_kernel && file.path.split('/').any(is_vague) { vec![1] } else { vec![] }
}

fn trailing_space(file: &File) -> Vec<usize> {
    if file.kind == Kind::Other { vec![] } else { lines(file, |line| line.ends_with(char::is_whitespace)) }
}

fn final_newline(file: &File) -> Vec<usize> {
    let Some(text) = file.text.as_ref().filter(|text| file.kind != Kind::Other && !text.is_empty()) else {
        return vec![];
    };
    if text.ends_with('\n') && !text.ends_with("\n\n") { vec![] } else { vec![text.lines().count()] }
}

fn large_binary(file: &File) -> Vec<usize> {
    let is_placed = BINARY_PLACES.iter().any(|place| file.path.starts_with(place));
    if file.text.is_none() && file.bytes > BINARY_BYTES && !is_placed { vec![1] } else { vec![] }
}

fn machine_path(file: &File) -> Vec<usize> {
    // `docs/work/` and `https://example.net/root/` are no such paths: there a name stands before the slash.
    let is_name = |character: char| character.is_alphanumeric() || "._-~}".contains(character);
    lines(file, |line| {
        MACHINE_PATHS.iter().any(|path| line.match_indices(path).any(|(start, _)| !line[..start].ends_with(is_name)))
    })
}

fn unhashed(file: &File) -> Vec<usize> {
    let installs = |line: &str| line.contains("pip install") || line.contains("pip3 install");
    match file.kind {
        Kind::Make | Kind::Shell | Kind::Yaml => {
            lines(file, |line| installs(line) && !line.contains("--require-hashes"))
        }
        _ => vec![],
    }
}

#[cfg(test)]
mod tests {
    use super::super::judged;
    use super::*;

    const NONE: [usize; 0] = [];

    #[test]
    fn each_rule_refuses_what_it_is_for_and_nothing_else() {
        let long = "x".repeat(121);
        let fits = "é".repeat(120);
        let work = concat!("cd /wo", "rk/a\n");
        let home = concat!("open(\"/ro", "ot/a\")\n");
        let elsewhere = concat!("docs/wo", "rk/a ~/ro", "ot/ {folder}/wo", "rk/ https://a.net/ro", "ot/\n");
        let binary = "\0".repeat(BINARY_BYTES + 1);
        let cases = [
            ("long-line", "a.rs", &*long, &*fits),
            ("long-line", "a.toml", &long, &fits),
            ("long-line", "a.sh", &long, &fits),
            ("long-line", "a.md", &long, &format!("| {long} |\nsee https://{long}\n")),
            ("trailing-space", "a.md", "a \n", "a\n"),
            ("trailing-space", "a.rs", "a\t\n", "a\n\nb\n"),
            ("final-newline", "a.rs", "a", "a\n"),
            ("final-newline", "a.yaml", "a\n\n", ""),
            ("large-binary", "a.bin", &binary, &binary[1..]),
            ("machine-path", "a.txt", work, elsewhere),
            ("machine-path", "a.py", home, "root/a, work/a\n"),
            ("unhashed", "Makefile", "\t$(B)/pip install a==1\n", "\t$(B)/pip install --require-hashes -r a.txt\n"),
            ("unhashed", "a.sh", "pip3 install a\n", "pip download a\n"),
        ];
        for (rule, path, refused, accepted) in cases {
            assert!(!judged(&RULES, rule, path, refused).is_empty(), "{rule} must refuse {path}");
            assert_eq!(judged(&RULES, rule, path, accepted), NONE, "{rule} must accept {path}");
        }
        let shown = |rule: &Rule| rule.name == "vague-name" || cases.iter().any(|(name, ..)| *name == rule.name);
        assert!(RULES.iter().all(shown), "each rule shows what it refuses");
    }

    #[test]
    fn some_files_have_their_own_rule() {
        assert_eq!(judged(&RULES, "long-line", "a.min.js", &"x".repeat(999)), NONE);
        assert_eq!(judged(&RULES, "trailing-space", "tests/data/a.txt", "a \n"), NONE);
        assert_eq!(judged(&RULES, "large-binary", "docs/a.png", &"\0".repeat(BINARY_BYTES + 1)), NONE);
        assert_eq!(judged(&RULES, "large-binary", "a.json", &"x".repeat(BINARY_BYTES + 1)), NONE);
    }

    #[test]
    fn a_name_says_what_is_inside() {
        let refused = ["crates/a/src/util.rs", "crates/core/src/lib.rs", "a/Helpers.rs", "misc/a.md", "a/manager.rs"];
        let accepted = [
            "crates/a/src/score.rs",
            "crates/a/src/utility.rs",
            "a/core_affinity.rs",
            "captures/a/net/core/x",
            "docs/a.common",
        ];
        for path in refused {
            assert_eq!(judged(&RULES, "vague-name", path, ""), [1], "{path}");
        }
        for path in accepted {
            assert_eq!(judged(&RULES, "vague-name", path, ""), NONE, "{path}");
        }
    }
}
