//! Names of types: each that more than one file may use is defined once across crates, so that a reader need not ask
//! which is meant.

use super::File;

pub(super) const RULE: &str = "one-name";
pub(super) const WHAT_TO_DO: &str =
    "name it after its own meaning: a type of this name is defined elsewhere, and neither is private to its file";

/// Names that stand for the same thing wherever they are defined, and why it is not one definition.
const EXCEPTIONS: [(&str, &str); 2] = [
    ("Dice", "draws from a seed, in rooms that know nothing of each other: model, experiment, worlds"),
    (
        "Mesh",
        "flows of every node to every other in model, clusters that reach each other in record: both fields' word",
    ),
];

/// A type that is not private to its file, where it is defined.
#[derive(Debug)]
pub(super) struct Definition {
    name: String,
    path: String,
    line: usize,
}

/// The types of a file of a crate that others may use.
pub(super) fn definitions(file: &File) -> Vec<Definition> {
    let is_of_crate = file.path.starts_with("crates/") && file.path.contains("/src/");
    let Some(source) = file.source.as_ref().filter(|_| is_of_crate) else { return vec![] };
    let lines = source.code.iter().zip(&source.is_test).enumerate().filter(|(_, (_, is_test))| !**is_test);
    let named = lines.filter_map(|(index, (line, _))| Some((index, public_type(line)?)));
    named.map(|(index, name)| Definition { name: name.to_owned(), path: file.path.clone(), line: index + 1 }).collect()
}

/// `Point` of `pub struct Point<T> {` and of `pub(super) struct Point;`; nothing of what a file keeps to itself.
fn public_type(line: &str) -> Option<&str> {
    let rest = line.trim_start().strip_prefix("pub")?;
    let rest = if rest.starts_with('(') { rest.split_once(')')?.1 } else { rest };
    let rest = rest.strip_prefix(' ')?;
    let rest = rest.strip_prefix("unsafe ").unwrap_or(rest);
    let name = ["struct ", "enum ", "union ", "trait ", "type "].iter().find_map(|kind| rest.strip_prefix(kind))?;
    let end = name.find(|sign: char| !sign.is_alphanumeric() && sign != '_').unwrap_or(name.len());
    // What a macro defines has no name where the macro stands.
    Some(&name[..end]).filter(|name| !name.is_empty())
}

/// Path, line and name of each definition whose name another has too.
pub(super) fn at_fault(definitions: &[Definition]) -> Vec<(&str, usize, &str)> {
    let is_excepted = |name: &str| EXCEPTIONS.iter().any(|(known, _)| *known == name);
    let has_namesake = |one: &Definition| definitions.iter().filter(|other| other.name == one.name).count() > 1;
    let faults = definitions.iter().filter(|one| !is_excepted(&one.name) && has_namesake(one));
    faults.map(|one| (one.path.as_str(), one.line, one.name.as_str())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::file;

    fn faults(files: &[(&str, &str)]) -> Vec<(String, usize)> {
        let all: Vec<Definition> =
            files.iter().flat_map(|(path, text)| definitions(&file(path, text.as_bytes()))).collect();
        at_fault(&all).into_iter().map(|(path, line, _)| (path.to_owned(), line)).collect()
    }

    #[test]
    fn a_type_of_more_than_one_file_is_defined_once_across_crates() {
        let one = ("crates/a/src/lib.rs", "//! A.\npub struct Step {\n}\n");
        for (other, is_fault) in [
            (("crates/b/src/x.rs", "pub enum Step {\n}\n"), true),
            (("crates/a/src/x.rs", "pub type Step = u32;\n"), true),
            (("crates/b/src/x.rs", "pub trait Step<T> {\n}\n"), true),
            (("crates/b/src/x.rs", "pub struct Step;\n"), true),
            (("crates/b/src/x.rs", "pub struct Steps;\n"), false),
            (("crates/b/src/x.rs", "pub(crate) enum Step {}\n"), true),
            (("crates/b/src/x.rs", "pub(super) struct Step<'a> {\n}\n"), true),
            (("crates/b/src/x.rs", "pub(in crate::b) type Step = u32;\n"), true),
            (("crates/b/src/x.rs", "struct Step;\npub(crate) fn step() -> Step {\n}\npublic struct Step;\n"), false),
            (("crates/b/src/x.rs", "// pub struct Step\nfn f() {\n    g(\"pub struct Step\");\n}\n"), false),
            (("crates/b/src/x.rs", "#[cfg(test)]\nmod tests {\n    pub struct Step;\n}\n"), false),
            (("crates/b/tests/x.rs", "//! B.\npub struct Step;\n"), false),
            (("xtask/src/x.rs", "pub struct Step;\n"), false),
        ] {
            let expected = if is_fault { vec![(one.0.to_owned(), 2), (other.0.to_owned(), 1)] } else { vec![] };
            assert_eq!(faults(&[one, other]), expected, "{other:?}");
        }
    }

    #[test]
    fn what_macros_define_has_no_name_that_another_could_have() {
        let one = |path| (path, "macro_rules! a {\n    pub struct $name {\n}\n");
        assert!(faults(&[one("crates/a/src/x.rs"), one("crates/b/src/x.rs")]).is_empty());
    }

    #[test]
    fn an_exception_is_one_name_with_a_reason() {
        let dice = |path| (path, "pub struct Dice {\n}\n");
        assert!(faults(&[dice("crates/a/src/x.rs"), dice("crates/b/src/x.rs")]).is_empty());
        assert!(EXCEPTIONS.iter().all(|(name, why)| !name.is_empty() && why.len() > 20));
    }
}
