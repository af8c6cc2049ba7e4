//! Who may depend on whom. The table here, the table in ARCHITECTURE.md and the workspace must say the same. Modules
//! within a package may depend on each other in any way but in circles.

use crate::{Outcome, modules, purity, success_if};
use serde_json::Value;
use std::error::Error;
use std::path::Path;
use std::process::Command;
use std::{env, fs};

/// The rooms and what each may depend on, as ARCHITECTURE.md writes it. Rooms that are not built yet are here already.
const ROOMS: [(&str, &str); 20] = [
    ("record", "nothing internal"),
    ("site", "record"),
    ("analysis", "record"),
    ("model", "record, analysis"),
    ("settings", "record, model, site"),
    ("render", "record, model, settings"),
    ("experiment", "record, analysis"),
    ("rollout", "record"),
    ("discovery", "record"),
    ("report", "record, analysis"),
    ("host", "record"),
    ("wire", "record"),
    ("load", "record, wire"),
    ("flows", "record, wire"),
    ("fleet", "record, site"),
    ("kube", "record, fleet"),
    ("lab", "record, wire"),
    ("worlds", "nothing internal"),
    ("prometheus", "record, wire"),
    ("linerate", "everything"),
];

/// The room in which others are judged: anybody's tests may depend on it, and nothing else may.
const JUDGE: &str = "worlds";

/// Rooms that tests of any room may depend on: worlds, and sites as people write them.
const IN_TESTS: [&str; 2] = [JUDGE, "site"];

/// Packages that are no rooms: nothing may depend on them, and they may depend on anything.
const OUTSIDE: [&str; 3] = ["xtask", "labs", "bareloop"];

/// A package of the workspace and the packages of the workspace that it depends on: normal, build and dev alike, but
/// for dev-dependencies on [`IN_TESTS`].
#[derive(Debug, PartialEq)]
struct Package {
    room: String,
    folder: String,
    depends_on: Vec<String>,
}

/// Prints every arrow that points the wrong way.
pub(crate) fn run() -> Outcome {
    let metadata = metadata()?;
    let root = Path::new(metadata["workspace_root"].as_str().ok_or("cargo metadata names no workspace_root")?);
    let packages = packages(&metadata)?;
    let mut faults = wrong_arrows(&packages);
    match fs::read_to_string(root.join("ARCHITECTURE.md")) {
        Ok(text) => faults.extend(wrong_rows(&text, &packages)),
        Err(error) => faults.push(format!("ARCHITECTURE.md: {error}: write the table | room | may depend on | there")),
    }
    faults.extend(purity::faults(root)?);
    faults.extend(modules::faults(root)?);
    for fault in &faults {
        println!("{fault}");
    }
    if faults.is_empty() {
        let count = packages.len();
        println!("arrows: {count} packages depend as the table of rooms says, and no modules in a circle");
    }
    Ok(success_if(faults.is_empty()))
}

fn metadata() -> Result<Value, Box<dyn Error>> {
    let cargo = env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let output = Command::new(cargo).args(["metadata", "--format-version", "1", "--no-deps"]).output()?;
    if !output.status.success() {
        return Err(format!("cargo metadata: {}", String::from_utf8_lossy(&output.stderr)).into());
    }
    Ok(serde_json::from_slice(&output.stdout)?)
}

fn packages(metadata: &Value) -> Result<Vec<Package>, String> {
    let text = |value: &Value, key: &str| -> Result<String, String> {
        value[key].as_str().map(str::to_owned).ok_or_else(|| format!("cargo metadata has no text at {key:?}"))
    };
    let listed = metadata["packages"].as_array().ok_or("cargo metadata has no packages")?;
    let names: Vec<String> = listed.iter().map(|package| text(package, "name")).collect::<Result<_, _>>()?;
    let root = text(metadata, "workspace_root")?;
    let mut packages = Vec::new();
    for (package, name) in listed.iter().zip(&names) {
        let manifest = text(package, "manifest_path")?;
        let folder = manifest.trim_end_matches("/Cargo.toml").trim_start_matches(&root).trim_start_matches('/');
        let mut depends_on = Vec::new();
        for dependency in package["dependencies"].as_array().ok_or("cargo metadata has no dependencies")? {
            let on = text(dependency, "name")?;
            let is_for_tests = IN_TESTS.contains(&crate_room(&on)) && dependency["kind"] == "dev";
            if names.contains(&on) && on != *name && !is_for_tests {
                depends_on.push(crate_room(&on).to_owned());
            }
        }
        depends_on.sort();
        depends_on.dedup();
        packages.push(Package { room: crate_room(name).to_owned(), folder: folder.to_owned(), depends_on });
    }
    Ok(packages)
}

fn crate_room(package: &str) -> &str {
    package.strip_prefix("linerate-").unwrap_or(package)
}

fn allowed(room: &str) -> Option<&'static str> {
    ROOMS.iter().find(|(name, _)| *name == room).map(|(_, allowed)| *allowed)
}

fn wrong_arrows(packages: &[Package]) -> Vec<String> {
    let mut faults = Vec::new();
    for Package { room, folder, depends_on } in packages {
        if allowed(room).is_none() && !OUTSIDE.contains(&room.as_str()) {
            faults.push(format!("{folder} is in no room: add {room} to the tables in xtask and ARCHITECTURE.md"));
        }
        faults
            .extend(depends_on.iter().filter_map(|on| Some(format!("{folder} depends on {on}: {}", fault(room, on)?))));
    }
    faults
}

/// Why `room` must not depend on `on`.
fn fault(room: &str, on: &str) -> Option<String> {
    if OUTSIDE.contains(&on) {
        return Some(format!("{on} is outside the rooms, nothing may depend on it"));
    }
    if on == JUDGE && !OUTSIDE.contains(&room) {
        return Some(format!("{on} is for tests: make it a dev-dependency"));
    }
    match allowed(room)? {
        "everything" => None,
        "nothing internal" => Some(format!("{room} may depend on nothing internal")),
        list if list.split(", ").any(|name| name == on) => None,
        list => Some(format!("{room} may depend only on {list}")),
    }
}

/// How the table in ARCHITECTURE.md differs from the table here, as far as rooms are built.
fn wrong_rows(text: &str, packages: &[Package]) -> Vec<String> {
    let rows = table(text);
    if rows.is_empty() {
        return vec!["ARCHITECTURE.md: no table that begins | room | may depend on |".to_owned()];
    }
    let is_built = |room: &str| packages.iter().any(|package| package.room == room);
    let mut faults = Vec::new();
    for (line, room, stated) in &rows {
        match allowed(room).filter(|_| is_built(room)) {
            Some(held) if held != stated => faults.push(format!(
                "ARCHITECTURE.md:{line}: {room} may depend on {stated:?}, but xtask holds it to {held:?}"
            )),
            None if !OUTSIDE.contains(&room.as_str()) => {
                faults.push(format!("ARCHITECTURE.md:{line}: {room} is no room of the workspace: remove the row"));
            }
            _ => {}
        }
    }
    for (room, held) in ROOMS {
        if is_built(room) && !rows.iter().any(|(_, stated, _)| stated == room) {
            faults.push(format!("ARCHITECTURE.md: no row for {room}: add | {room} | {held} |"));
        }
    }
    faults
}

/// Line, room and what it may depend on, of the rows under the heading `| room | may depend on |`.
fn table(text: &str) -> Vec<(usize, String, String)> {
    let cells = |line: &str| -> Vec<String> {
        line.trim().trim_matches('|').split('|').map(|cell| cell.replace('`', "").trim().to_owned()).collect()
    };
    let is_heading = |line: &str| cells(line).starts_with(&["room".to_owned(), "may depend on".to_owned()]);
    let lines = text.lines().enumerate().skip_while(|(_, line)| !is_heading(line)).skip(2);
    let rows = lines.take_while(|(_, line)| line.trim_start().starts_with('|'));
    rows.filter_map(|(index, line)| match &cells(line)[..] {
        [room, allowed, ..] => Some((index + 1, room.clone(), allowed.clone())),
        _ => None,
    })
    .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn package(room: &str, depends_on: &[&str]) -> Package {
        let depends_on = depends_on.iter().map(|&on| on.to_owned()).collect();
        Package { room: room.to_owned(), folder: format!("crates/{room}"), depends_on }
    }

    #[test]
    fn an_arrow_that_the_table_does_not_have_is_told() {
        let cases: [(&str, &[&str], &[&str]); 17] = [
            ("record", &[], &[]),
            ("worlds", &["analysis"], &["crates/worlds depends on analysis: worlds may depend on nothing internal"]),
            (
                "linerate",
                &["worlds"],
                &["crates/linerate depends on worlds: worlds is for tests: make it a dev-dependency"],
            ),
            ("record", &["analysis"], &["crates/record depends on analysis: record may depend on nothing internal"]),
            ("load", &["record", "wire"], &[]),
            ("load", &["analysis"], &["crates/load depends on analysis: load may depend only on record, wire"]),
            ("wire", &["load"], &["crates/wire depends on load: wire may depend only on record"]),
            ("model", &["host"], &["crates/model depends on host: model may depend only on record, analysis"]),
            ("report", &["analysis", "record"], &[]),
            ("load", &["host"], &["crates/load depends on host: load may depend only on record, wire"]),
            ("host", &["analysis"], &["crates/host depends on analysis: host may depend only on record"]),
            ("linerate", &["host", "load", "report"], &[]),
            (
                "linerate",
                &["xtask"],
                &["crates/linerate depends on xtask: xtask is outside the rooms, nothing may depend on it"],
            ),
            (
                "fleet",
                &["labs"],
                &["crates/fleet depends on labs: labs is outside the rooms, nothing may depend on it"],
            ),
            ("labs", &["fleet"], &[]),
            ("bareloop", &["load"], &[]),
            ("extras", &[], &["crates/extras is in no room: add extras to the tables in xtask and ARCHITECTURE.md"]),
        ];
        for (room, depends_on, expected) in cases {
            assert_eq!(wrong_arrows(&[package(room, depends_on)]), expected, "{room} {depends_on:?}");
        }
    }

    #[test]
    fn normal_build_and_dev_dependencies_are_all_arrows() {
        let dependency = |name: &str, kind: Value| json!({ "name": name, "kind": kind, "rename": "other" });
        let metadata = json!({
            "workspace_root": "/repo",
            "packages": [
                {
                    "name": "linerate-load",
                    "manifest_path": "/repo/crates/load/Cargo.toml",
                    "dependencies": [
                        dependency("linerate-record", Value::Null),
                        dependency("linerate-host", json!("dev")),
                        dependency("linerate-report", json!("build")),
                        dependency("linerate-load", json!("dev")),
                        dependency("linerate-worlds", json!("dev")),
                        dependency("serde", Value::Null),
                    ],
                },
                {
                    "name": "linerate-record",
                    "manifest_path": "/repo/crates/record/Cargo.toml",
                    "dependencies": [dependency("linerate-worlds", Value::Null)],
                },
                { "name": "linerate-worlds", "manifest_path": "/repo/crates/worlds/Cargo.toml", "dependencies": [] },
                { "name": "linerate-host", "manifest_path": "/repo/crates/host/Cargo.toml", "dependencies": [] },
                { "name": "linerate-report", "manifest_path": "/repo/crates/report/Cargo.toml", "dependencies": [] },
            ],
        });
        let found = packages(&metadata).unwrap();
        assert_eq!(found[0], package("load", &["host", "record", "report"]));
        assert_eq!(wrong_arrows(&found).len(), 3);
    }

    #[test]
    fn the_written_table_is_held_to_the_rooms_that_are_built() {
        let built = [package("record", &[]), package("load", &[]), package("xtask", &[])];
        let heading = "# Rooms\n\n| room | may depend on | invariant |\n|---|---|---|\n";
        let cases: [(&str, &[&str]); 5] = [
            ("| record | nothing internal | x |\n| `load` | record, wire | y |\n\nend\n| host | all |\n", &[]),
            (
                "| record | nothing internal | x |\n| load | record, analysis | y |\n",
                &["ARCHITECTURE.md:6: load may depend on \"record, analysis\", but xtask holds it to \"record, wire\""],
            ),
            ("| record | nothing internal | x |\n", &["ARCHITECTURE.md: no row for load: add | load | record, wire |"]),
            (
                "| record | nothing internal |\n| load | record, wire |\n| kube | record |\n",
                &["ARCHITECTURE.md:7: kube is no room of the workspace: remove the row"],
            ),
            ("", &["ARCHITECTURE.md: no table that begins | room | may depend on |"]),
        ];
        for (rows, expected) in cases {
            assert_eq!(wrong_rows(&format!("{heading}{rows}"), &built), expected, "{rows}");
        }
    }
}
