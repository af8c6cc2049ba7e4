//! Files of tests that no test binary is built of: they would never run.

use std::collections::BTreeSet;

pub(super) const RULE: &str = "unbuilt-test";
pub(super) const WHAT_TO_DO: &str =
    "name it in `tests/main.rs` of its crate, such as `mod plan;`, or give it a [[test]] in Cargo.toml";

/// The files right below `tests` of crates that are neither a module of `tests/main.rs` nor a binary of their own.
/// `read` gives the text of a file by its path in the repository.
pub(super) fn at_fault(paths: &BTreeSet<String>, read: impl Fn(&str) -> Option<String>) -> Vec<String> {
    let is_built = |path: &str| {
        let (package, name) = path.strip_suffix(".rs")?.split_once("/tests/")?;
        if name.contains('/') || name == "main" || package.contains("/src") {
            return None;
        }
        let manifest = read(&format!("{package}/Cargo.toml"))?;
        let is_module = || {
            let main = read(&format!("{package}/tests/main.rs")).unwrap_or_default();
            main.lines().any(|line| line == format!("mod {name};"))
        };
        let is_binary =
            !manifest.contains("autotests = false") || manifest.contains(&format!("path = \"tests/{name}.rs\""));
        Some(is_binary || is_module())
    };
    paths.iter().filter(|path| is_built(path) == Some(false)).cloned().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_of_tests_is_a_module_or_a_binary() {
        let read = |path: &str| {
            let text = match path {
                "crates/a/Cargo.toml" => "autotests = false\n[[test]]\npath = \"tests/system.rs\"\n",
                "crates/a/tests/main.rs" => "mod plan;\n",
                "crates/b/Cargo.toml" => "[package]\n",
                _ => return None,
            };
            Some(text.to_owned())
        };
        let paths = [
            "crates/a/src/net/tests/forgotten.rs",
            "crates/a/tests/forgotten.rs",
            "crates/a/tests/main.rs",
            "crates/a/tests/plan.rs",
            "crates/a/tests/plan/forgotten.rs",
            "crates/a/tests/system.rs",
            "crates/b/tests/plan.rs",
        ];
        let paths = paths.map(str::to_owned).into_iter().collect();
        assert_eq!(at_fault(&paths, read), ["crates/a/tests/forgotten.rs"]);
    }
}
