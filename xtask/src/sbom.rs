//! What a released binary is made of, as CycloneDX: the crates that cargo says it builds for a target, with the hashes
//! by which `Cargo.lock` holds them.

use std::collections::{BTreeMap, BTreeSet};
use std::process::{Command, ExitCode};
use std::{env, fs};

use serde_json::{Value, json};

use crate::Outcome;

/// The package of the binary.
const PACKAGE: &str = "linerate";

/// Prints it for a target.
pub(crate) fn run(triple: &str) -> Outcome {
    let lock = fs::read_to_string("Cargo.lock").map_err(|error| format!("Cargo.lock: {error}"))?;
    let bom = bom(triple, &tree(triple, "{p}|{l}", "depth")?, &hashes(&lock))?;
    println!("{}", serde_json::to_string_pretty(&bom)?);
    Ok(ExitCode::SUCCESS)
}

/// What `cargo tree` says of the crates of a target: all that the binary is built of, but for build scripts.
fn tree(triple: &str, format: &str, prefix: &str) -> Result<String, Box<dyn std::error::Error>> {
    let cargo = env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(cargo);
    command.args(["tree", "--locked", "--package", PACKAGE, "--edges", "normal", "--target", triple]);
    let output = command.args(["--prefix", prefix, "--format", format]).output()?;
    if !output.status.success() {
        return Err(format!("cargo tree: {}", String::from_utf8_lossy(&output.stderr)).into());
    }
    Ok(String::from_utf8(output.stdout)?)
}

/// The hash of each crate of a registry, by name and version.
fn hashes(lock: &str) -> BTreeMap<(String, String), String> {
    let field = |part: &str, name: &str| {
        let line = part.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(" = \""))?;
        Some(line.trim_end_matches('"').to_owned())
    };
    let hash_entry = |part: &str| Some(((field(part, "name")?, field(part, "version")?), field(part, "checksum")?));
    lock.split("[[package]]").filter_map(hash_entry).collect()
}

#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Crate {
    name: String,
    version: String,
    licence: String,
}

impl Crate {
    /// Reads `name v1.2.3 (proc-macro)|MIT OR Apache-2.0`, with `(*)` behind where it stood before.
    fn read(text: &str) -> Option<Crate> {
        let (package, licence) = text.split_once('|')?;
        let mut words = package.split_whitespace();
        let (name, version) = (words.next()?.to_owned(), words.next()?.strip_prefix('v')?.to_owned());
        // As crates wrote it before SPDX had a word for it.
        let licence = licence.trim_end_matches("(*)").trim().replace('/', " OR ");
        Some(Crate { name, version, licence })
    }

    /// Its package URL, by which others find it: <https://github.com/package-url/purl-spec>.
    fn purl(&self) -> String {
        // The one sign of a version that is no sign of a URL's path: build metadata.
        format!("pkg:cargo/{}@{}", self.name, self.version.replace('+', "%2B"))
    }

    fn component(&self, kind: &str, hashes: &BTreeMap<(String, String), String>) -> Value {
        let purl = self.purl();
        let mut component =
            json!({"type": kind, "bom-ref": purl, "name": self.name, "version": self.version, "purl": purl});
        if !self.licence.is_empty() {
            component["licenses"] = json!([{"expression": self.licence}]);
        }
        if let Some(hash) = hashes.get(&(self.name.clone(), self.version.clone())) {
            component["hashes"] = json!([{"alg": "SHA-256", "content": hash}]);
        }
        component
    }
}

/// The document, the same for the same lock: no time, no random number.
fn bom(triple: &str, tree: &str, hashes: &BTreeMap<(String, String), String>) -> Result<Value, String> {
    let (mut crates, mut edges) = (BTreeSet::new(), BTreeMap::<String, BTreeSet<String>>::new());
    let (mut above, mut first) = (Vec::<String>::new(), None);
    for line in tree.lines().filter(|line| !line.is_empty()) {
        let digits = line.bytes().take_while(u8::is_ascii_digit).count();
        let failed = || format!("cargo tree says {line:?}, which is no depth with a crate");
        let depth: usize = line[..digits].parse().map_err(|_| failed())?;
        let one = Crate::read(&line[digits..]).ok_or_else(failed)?;
        let purl = one.purl();
        above.truncate(depth);
        edges.entry(purl.clone()).or_default();
        if let Some(parent) = above.last() {
            edges.entry(parent.clone()).or_default().insert(purl.clone());
        }
        above.push(purl);
        if depth == 0 {
            first = Some(one);
        } else {
            crates.insert(one);
        }
    }
    let first = first.ok_or("cargo tree says nothing")?;
    let components: Vec<Value> = crates.iter().map(|one| one.component("library", hashes)).collect();
    let edges: Vec<Value> = edges.iter().map(|(of, on)| json!({"ref": of, "dependsOn": on})).collect();
    Ok(json!({
        "$schema": "http://cyclonedx.org/schema/bom-1.5.schema.json",
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": {
            "component": first.component("application", hashes),
            "properties": [{"name": "cargo:target", "value": triple}],
        },
        "components": components,
        "dependencies": edges,
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_released_binary_is_told_by_the_crates_that_cargo_builds_it_of() {
        for triple in ["x86_64-unknown-linux-musl", "aarch64-unknown-linux-musl"] {
            let lock = fs::read_to_string("../Cargo.lock").unwrap();
            let bom = bom(triple, &tree(triple, "{p}|{l}", "depth").unwrap(), &hashes(&lock)).unwrap();
            assert_eq!((&bom["bomFormat"], &bom["specVersion"]), (&json!("CycloneDX"), &json!("1.5")));
            let all = bom["components"].as_array().unwrap().iter().chain([&bom["metadata"]["component"]]);
            let text = |one: &Value, key: &str| one[key].as_str().unwrap_or_else(|| panic!("{key}: {one}")).to_owned();
            let reported: BTreeSet<String> =
                all.clone().map(|one| format!("{} v{}", text(one, "name"), text(one, "version"))).collect();
            let said = tree(triple, "{p}", "none").unwrap();
            let said = said.lines().filter(|line| !line.is_empty());
            let said: BTreeSet<String> =
                said.map(|line| line.split(' ').take(2).collect::<Vec<_>>().join(" ")).collect();
            assert_eq!(reported, said, "{triple}");
            assert!(reported.len() > 100 && reported.iter().any(|one| one.starts_with("rustls v")), "{reported:?}");
            let references: BTreeSet<String> = all.clone().map(|one| text(one, "bom-ref")).collect();
            for one in all {
                assert!(text(one, "purl").starts_with("pkg:cargo/"), "{one}");
                let is_own = text(one, "name").starts_with(PACKAGE);
                assert_eq!(one["hashes"][0]["content"].as_str().map(str::len), (!is_own).then_some(64), "{one}");
                assert!(text(&one["licenses"][0], "expression").len() > 2, "{one}");
            }
            for edge in bom["dependencies"].as_array().unwrap() {
                let on = edge["dependsOn"].as_array().unwrap().iter().map(|on| on.as_str().unwrap());
                assert!(on.chain([edge["ref"].as_str().unwrap()]).all(|one| references.contains(one)), "{edge}");
            }
        }
    }

    #[test]
    fn crates_are_read_as_cargo_tells_them_and_told_by_their_purl() {
        let read = |text: &str| Crate::read(text).map(|one| (one.purl(), one.licence));
        for (text, purl, licence) in [
            ("serde v1.0.2|MIT OR Apache-2.0", "pkg:cargo/serde@1.0.2", "MIT OR Apache-2.0"),
            ("a-b v0.1.0 (proc-macro)|MIT/Apache-2.0 (*)", "pkg:cargo/a-b@0.1.0", "MIT OR Apache-2.0"),
            ("z v2.0.1+zstd.1.5|MIT", "pkg:cargo/z@2.0.1%2Bzstd.1.5", "MIT"),
            ("own v0.1.0 (/srv/own)|", "pkg:cargo/own@0.1.0", ""),
        ] {
            assert_eq!(read(text), Some((purl.to_owned(), licence.to_owned())), "{text}");
        }
        assert_eq!(read("no version"), None);
        assert!(bom("t", "not a tree\n", &BTreeMap::new()).is_err());
        assert!(bom("t", "", &BTreeMap::new()).is_err());
    }
}
