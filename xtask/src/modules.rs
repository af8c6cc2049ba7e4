//! Which modules of a crate know which: no circle among those at its top. A file and the folder of its name are one
//! module, so that a command, or any other subject, may be as knotted inside as it likes. The binary has layers: no
//! module names one of a layer above, and no command names another.
//!
//! Tests are not looked at: they are in no program, and hold a module by whatever leads to it, such as a command line.

mod paths;

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::error::Error;
use std::fs;
use std::path::Path;

use crate::purity::rust_files;
use crate::source::is_test_file;
use paths::{File, Named};

/// The crate with the commands, and its layers from the top down: a module names only modules of its own layer and of
/// those below. Within a layer, modules are looked at one by one, as those at the top of other crates are.
const BINARY: &str = "linerate";
const LAYERS: [&str; 7] = ["cli", "commands", "remote", "run", "credentials", "files", "terminal"];

/// The layer of which no module names another, but two: experiments are runs of bench, and a check-up is judged as
/// explain judges.
const COMMANDS: &str = "commands";
const BUT: [(&str, &str); 2] = [("commands::experiment", "commands::bench"), ("commands::doctor", "commands::explain")];

/// What the root of a crate is called here: items of it that modules use, and modules that it uses beside declaring
/// them.
const ROOT: &str = "lib.rs";

/// A place where one module names another.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Mention {
    file: String,
    line: usize,
    path: String,
}

/// Which modules each names, and where first.
type Graph = BTreeMap<String, BTreeMap<String, Mention>>;

/// Every circle among the modules of a crate, edge by edge, one for each knot of them.
pub(crate) fn faults(root: &Path) -> Result<Vec<String>, Box<dyn Error>> {
    let mut faults = Vec::new();
    let mut crates: Vec<_> = fs::read_dir(root.join("crates"))?.collect::<Result<_, _>>()?;
    crates.sort_by_key(fs::DirEntry::file_name);
    for name in crates {
        let name = name.file_name().to_string_lossy().into_owned();
        let folder = format!("crates/{name}/src");
        let mut files = Vec::new();
        for path in rust_files(&root.join(&folder))? {
            let shown = path.strip_prefix(root).unwrap_or(&path).to_string_lossy().into_owned();
            files.push((shown, fs::read_to_string(&path)?));
        }
        let files: Vec<(&str, &str)> = files.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect();
        let layers: &[&str] = if name == BINARY { &LAYERS } else { &[] };
        let graph = graph(&folder, &files, layers)?;
        faults.extend(circles(&folder, &graph));
        faults.extend(upward(&graph, layers));
    }
    Ok(faults)
}

/// The graph of a crate, of its files with their texts. Of layers, the modules in them are its nodes.
fn graph(folder: &str, files: &[(&str, &str)], layers: &[&str]) -> Result<Graph, String> {
    let mut read = Vec::new();
    for (path, text) in files.iter().filter(|(path, _)| !is_test_file(path)) {
        let module = module_of(folder, path);
        let file = paths::read(&module, text).map_err(|error| format!("{path}: {error}"))?;
        read.push((*path, module, file));
    }
    let of_tests: BTreeSet<Vec<String>> =
        read.iter().flat_map(|(_, _, file): &(_, _, File)| file.of_tests.iter().cloned()).collect();
    read.retain(|(_, module, _)| !(1..=module.len()).any(|end| of_tests.contains(&module[..end])));
    let tops: BTreeSet<String> = read.iter().filter_map(|(_, module, _)| module.first().cloned()).collect();
    let of_root = read.iter().filter(|(_, module, _)| module.is_empty());
    let offered: BTreeMap<String, String> = of_root
        .flat_map(|(_, _, file)| &file.offered)
        .filter_map(|(name, named)| Some((name.clone(), named.path.first()?.clone())))
        .collect();
    let mut graph = Graph::new();
    for (path, module, file) in &read {
        let own = module.first().map_or(ROOT.to_owned(), |first| node(first, module, layers));
        // What the root offers of others is theirs, wherever it is requested for.
        let named = file.named.iter().chain(file.offered.iter().map(|(_, named)| named).filter(|_| own != ROOT));
        for Named { line, path: words } in named {
            let top = top_of(words, &tops, &offered, own == ROOT);
            let Some(other) = top.map(|top| node(&top, words, layers)).filter(|other| *other != own) else {
                continue;
            };
            let place = Mention { file: (*path).to_owned(), line: *line, path: words.join("::") };
            let first = graph.entry(own.clone()).or_default().entry(other).or_insert_with(|| place.clone());
            if place < *first {
                *first = place;
            }
        }
    }
    Ok(graph)
}

/// A node of the graph: the module at the top, or that within a layer.
fn node(top: &str, words: &[String], layers: &[&str]) -> String {
    match words {
        [first, second, ..] if first == top && layers.contains(&top) => format!("{first}::{second}"),
        _ => top.to_owned(),
    }
}

/// The module that a file is, by the names on the way to it; none for the root.
fn module_of(folder: &str, path: &str) -> Vec<String> {
    let inside = path.strip_prefix(folder).unwrap_or(path).trim_start_matches('/').trim_end_matches(".rs");
    let mut words: Vec<String> = inside.split('/').map(str::to_owned).collect();
    if words.last().is_some_and(|last| last == "mod") || ["lib", "main"].contains(&inside) {
        words.pop();
    }
    words
}

/// The module at the top that a path leads into. What is none of them is an item of the root.
fn top_of(
    words: &[String],
    tops: &BTreeSet<String>,
    offered: &BTreeMap<String, String>,
    is_root: bool,
) -> Option<String> {
    let first = words.first();
    let known = first.and_then(|first| tops.get(first).or_else(|| offered.get(first)));
    known.cloned().or_else(|| (!is_root).then(|| ROOT.to_owned()))
}

/// Every module that names one of a layer above its own, and every command that names another.
fn upward(graph: &Graph, layers: &[&str]) -> Vec<String> {
    let height = |node: &str| {
        let layer = node.split("::").next().unwrap_or(node);
        layers.iter().position(|name| *name == layer)
    };
    let edges = graph.iter().flat_map(|(from, others)| others.iter().map(move |(other, place)| (from, other, place)));
    let mut faults = Vec::new();
    for (from, other, Mention { file, line, path }) in edges {
        let (Some(of_from), Some(of_other)) = (height(from), height(other)) else { continue };
        let is_command = of_from == of_other && layers[of_from] == COMMANDS;
        let why = match () {
            () if of_other < of_from => format!("{} is below {}", layers[of_from], layers[of_other]),
            () if is_command && !BUT.contains(&(from.as_str(), other.as_str())) => "a command names another".to_owned(),
            () => continue,
        };
        faults.push(format!("{file}:{line}: {path}: {why}: move what both need into a module below"));
    }
    faults
}

/// A shortest circle of each knot, as it is reported.
fn circles(folder: &str, graph: &Graph) -> Vec<String> {
    let mut reported = Vec::new();
    for knot in knots(graph) {
        let Some(circle) = knot.iter().filter_map(|from| way_back(graph, from)).min_by_key(Vec::len) else { continue };
        let members = knot.iter().map(String::as_str).collect::<Vec<_>>().join(", ");
        let mut text = format!("{folder}: a circle of modules, in a knot of {} ({members}):", knot.len());
        for edge in circle.windows(2) {
            let Mention { file, line, path } = &graph[&edge[0]][&edge[1]];
            text.push_str(&format!("\n  {} names {}: {file}:{line}: {path}", edge[0], edge[1]));
        }
        text.push_str("\n  move what both need into a module that needs neither");
        reported.push(text);
    }
    reported
}

/// Modules that reach each other, by their groups.
fn knots(graph: &Graph) -> Vec<BTreeSet<String>> {
    let reached: BTreeMap<&String, BTreeSet<String>> = graph.keys().map(|from| (from, reach(graph, from))).collect();
    let mut knots: Vec<BTreeSet<String>> = Vec::new();
    for (from, to) in &reached {
        let both = |other: &&String| reached.get(other).is_some_and(|back| back.contains(*from));
        let knot: BTreeSet<String> = to.iter().filter(both).cloned().collect();
        if !knot.is_empty() && !knots.contains(&knot) {
            knots.push(knot);
        }
    }
    knots
}

/// All that a module names, and what those name.
fn reach(graph: &Graph, from: &str) -> BTreeSet<String> {
    let (mut seen, mut next) = (BTreeSet::new(), vec![from.to_owned()]);
    while let Some(module) = next.pop() {
        for other in graph.get(&module).into_iter().flat_map(BTreeMap::keys) {
            if seen.insert(other.clone()) {
                next.push(other.clone());
            }
        }
    }
    seen
}

/// The shortest way from a module to itself, both ends reported.
fn way_back(graph: &Graph, from: &str) -> Option<Vec<String>> {
    let mut ways = VecDeque::from([vec![from.to_owned()]]);
    let mut seen = BTreeSet::new();
    while let Some(way) = ways.pop_front() {
        for other in way.last().and_then(|last| graph.get(last)).into_iter().flat_map(BTreeMap::keys) {
            let longer: Vec<String> = way.iter().chain([other]).cloned().collect();
            if other == from {
                return Some(longer);
            }
            if seen.insert(other.clone()) {
                ways.push_back(longer);
            }
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is reported of a crate of these files.
    fn faults_of(files: &[(&str, &str)]) -> Vec<String> {
        let files: Vec<(String, &str)> =
            files.iter().map(|(path, text)| (format!("crates/a/src/{path}"), *text)).collect();
        let files: Vec<(&str, &str)> = files.iter().map(|(path, text)| (path.as_str(), *text)).collect();
        circles("crates/a/src", &graph("crates/a/src", &files, &[]).unwrap())
    }

    #[test]
    fn a_circle_is_told_edge_by_edge_with_its_places() {
        let files = [
            ("lib.rs", "mod one;\nmod two;\nmod three;\nmod four;\n"),
            ("one.rs", "\nuse crate::two;\nfn f() { two::f() }\n"),
            ("two.rs", "mod inner;\n"),
            ("two/inner.rs", "fn f() -> crate::three::T { T }\n"),
            ("three.rs", "use super::{four::T, one};\n"),
            ("four.rs", "struct T;\n"),
        ];
        let expected = "crates/a/src: a circle of modules, in a knot of 3 (one, three, two):\n  \
                        one names two: crates/a/src/one.rs:2: two\n  \
                        two names three: crates/a/src/two/inner.rs:1: three::T\n  \
                        three names one: crates/a/src/three.rs:1: one\n  \
                        move what both need into a module that needs neither";
        assert_eq!(faults_of(&files), [expected]);
    }

    #[test]
    fn each_way_to_name_a_module_is_an_edge() {
        let files = |text| [("lib.rs", "mod one;\nmod two;\npub use two::T;\n"), ("one.rs", text), ("two.rs", BACK)];
        const BACK: &str = "use crate::one;\n";
        for text in [
            "use crate::two::T;\n",
            "use crate::{two::{self, T}};\n",
            "use super::two as other;\n",
            "pub(crate) use crate::two::*;\n",
            "use crate::T;\n",
            "fn f() { crate::two::f::<u8>() }\n",
            "fn f(t: Vec<super::two::T>) {}\n",
            "impl crate::two::Trait for T {}\n",
            "mod inner { fn f() { super::super::two::f() } }\n",
            "fn f() { println!(\"{}\", [crate::two::f()].len()) }\n",
            "macro_rules! m { () => { $crate::two::f() } }\n",
            "struct F { #[arg(value_parser = crate::two::read())] f: u8 }\n",
            "struct F { #[serde(default = \"crate::two::f\")] f: u8 }\n",
        ] {
            assert_eq!(faults_of(&files(text)).len(), 1, "{text}");
        }
        for text in [
            "use other::two::T;\n",
            "use self::two::T;\nmod two { pub struct T; }\n",
            "fn f() { two::f() }\n",
            "/// Unlike [`crate::two`].\nfn f() { \"crate::two\"; }\n",
            "pub(crate) mod inner { pub(super) struct T; use super::T; }\n",
        ] {
            assert_eq!(faults_of(&files(text)), Vec::<String>::new(), "{text}");
        }
    }

    #[test]
    fn no_module_names_a_layer_above_and_no_command_another() {
        let files = [
            ("crates/a/src/lib.rs", "mod cli;\nmod commands;\nmod files;\n"),
            ("crates/a/src/cli.rs", "mod verbs;\n"),
            ("crates/a/src/cli/verbs.rs", "use crate::commands::{audit, plan};\n"),
            ("crates/a/src/commands.rs", "mod audit;\nmod bench;\nmod experiment;\nmod plan;\n"),
            ("crates/a/src/commands/audit.rs", "mod flags;\nuse crate::commands::plan::read_site;\n"),
            ("crates/a/src/commands/experiment.rs", "use crate::commands::bench;\nuse crate::files::sites;\n"),
            ("crates/a/src/commands/bench.rs", "mod points;\nuse points::f;\n"),
            ("crates/a/src/commands/bench/points.rs", "use super::f;\n"),
            ("crates/a/src/commands/plan.rs", ""),
            ("crates/a/src/files.rs", "mod sites;\n"),
            ("crates/a/src/files/sites.rs", "\nfn f() { crate::commands::experiment::f() }\n"),
        ];
        let instead = "move what both need into a module below";
        let expected = [
            format!("crates/a/src/commands/audit.rs:2: commands::plan::read_site: a command names another: {instead}"),
            format!("crates/a/src/files/sites.rs:2: commands::experiment::f: files is below commands: {instead}"),
        ];
        assert_eq!(upward(&graph("crates/a/src", &files, &LAYERS).unwrap(), &LAYERS), expected);
    }

    #[test]
    fn a_circle_within_one_folder_is_its_own() {
        let files = [
            ("lib.rs", "mod one;\n"),
            ("one.rs", "mod a;\nmod b;\nuse a::f;\nstruct T;\n"),
            ("one/a.rs", "use super::{T, b::g};\npub(super) fn f() {}\n"),
            ("one/b.rs", "use crate::one::a::f;\npub(super) fn g() {}\n"),
        ];
        assert_eq!(faults_of(&files), Vec::<String>::new());
    }

    #[test]
    fn an_item_of_the_root_is_the_roots() {
        let one = ("one.rs", "use crate::Error;\n");
        assert_eq!(faults_of(&[("lib.rs", "mod one;\npub struct Error;\n"), one]), Vec::<String>::new());
        assert_eq!(faults_of(&[("lib.rs", "mod one;\npub struct Error(one::T);\n"), one]).len(), 1);
    }

    #[test]
    fn tests_name_what_they_like() {
        let back = ("two.rs", "use crate::one;\n");
        for (one, more) in [
            ("#[cfg(test)]\nmod tests {\n    use crate::two;\n}\n", None),
            ("#[cfg(test)]\nuse crate::two;\n", None),
            ("#[cfg(test)]\nfn f() { crate::two::f() }\n", None),
            ("#![cfg(test)]\nuse crate::two;\n", None),
            ("#[cfg(all(test, unix))]\nmod tests;\n", Some(("one/tests.rs", "use crate::two;\n"))),
            ("#[cfg(test)]\nmod made;\n", Some(("one/made.rs", "use crate::two;\n"))),
        ] {
            let files = [("lib.rs", "mod one;\nmod two;\n"), ("one.rs", one), back];
            let files: Vec<(&str, &str)> = files.into_iter().chain(more).collect();
            assert_eq!(faults_of(&files), Vec::<String>::new(), "{one}");
        }
        let shipped = ("one.rs", "#[cfg(not(test))]\nuse crate::two;\n");
        assert_eq!(faults_of(&[("lib.rs", "mod one;\nmod two;\n"), shipped, back]).len(), 1);
    }
}
