//! `linerate discover` of nodes that are this machine: the file that it writes, compares with and updates.

use std::fs;
use std::path::Path;
use std::process::Output;

use crate::running::agents::{Place, with_fleet};
use crate::running::{linerate, shown};

fn here(name: &str) -> String {
    format!("{{name: {name}, role: storage, reach: here}}")
}

fn discover(fleet: &Path, words: &[&str]) -> Output {
    with_fleet(&["discover"], fleet).args(words).output().expect("linerate runs")
}

#[test]
fn a_discovered_site_is_one_that_plan_reads_on_standard_output_and_in_a_file() {
    let place = Place::make();
    let fleet = place.fleet(&[here("a"), here("b"), here("c")]);
    let printed = discover(&fleet, &["--name", "mine"]);
    assert!(printed.status.success(), "{}", shown(&printed));
    let text = String::from_utf8(printed.stdout.clone()).expect("text");
    let site = linerate_site::read(&text, "printed").unwrap_or_else(|error| panic!("{error}\n{text}"));
    assert_eq!((site.name.as_str(), site.groups[0].count), ("mine", 3));
    assert!(String::from_utf8_lossy(&printed.stderr).contains(" read "), "{}", shown(&printed));

    let output = place.path("site.yaml");
    let written = discover(&fleet, &["--name", "mine", "-o", &output.display().to_string()]);
    assert!(written.status.success() && shown(&written).contains("linerate plan "), "{}", shown(&written));
    assert_eq!(fs::read_to_string(&output).expect("a file"), text);
    let plan = linerate().arg("plan").arg(&output).output().expect("linerate runs");
    assert!(plan.status.success(), "{}", shown(&plan));

    let json = discover(&fleet, &["--json"]);
    let found: serde_json::Value = serde_json::from_slice(&json.stdout).expect("JSON");
    assert_eq!((found["schema"].as_u64(), found["nodes_read"].as_u64()), (Some(1), Some(3)));
    let cores = found["values"].as_array().and_then(|all| all.iter().find(|value| value["path"] == "nodes.cores"));
    assert_eq!(cores.map(|value| &value["source"]["how"]), Some(&serde_json::json!("read")), "{found}");
    place.assert_over();
}

#[test]
fn an_existing_file_is_compared_and_changed_only_on_request() {
    let place = Place::make();
    let fleet = place.fleet(&[here("a"), here("b"), here("c")]);
    let path = place.path("site.yaml");
    let output = path.display().to_string();
    assert!(discover(&fleet, &["-o", &output]).status.success());
    let same = discover(&fleet, &["-o", &output]);
    assert!(shown(&same).contains("are in the file as on the nodes"), "{}", shown(&same));

    let text = fs::read_to_string(&path).expect("a file");
    let cores = text.lines().find(|line| line.trim_start().starts_with("cores: ")).expect("cores").to_owned();
    let mine = text.replace(&cores, "  cores: 4095  # as ordered");
    fs::write(&path, &mine).expect("written");
    let missed = discover(&fleet, &["-o", &output, "--check"]);
    assert!(
        missed.status.code() == Some(5) && shown(&missed).contains("nodes.cores: 4095 in the file"),
        "{}",
        shown(&missed)
    );
    assert_eq!(fs::read_to_string(&path).expect("a file"), mine);

    let updated = discover(&fleet, &["-o", &output, "--update"]);
    assert!(updated.status.success() && shown(&updated).contains("; written"), "{}", shown(&updated));
    let text = fs::read_to_string(&path).expect("a file");
    assert!(text.contains("  # as ordered\n") && !text.contains("4095"), "{text}");
}

#[test]
fn what_cannot_be_discovered_is_refused_and_writes_nothing() {
    let place = Place::make();
    let fleet = place.fleet(&[here("a")]);
    let output = place.path("site.yaml").display().to_string();
    let before = fs::read_to_string(&fleet).expect("a file");
    let hosts = discover(&fleet, &["--hosts", "node{1...4}", "-o", &output]);
    assert!(hosts.status.code() == Some(2) && shown(&hosts).contains("exists: leave out --hosts"), "{}", shown(&hosts));
    assert_eq!(fs::read_to_string(&fleet).expect("a file"), before);

    let name = discover(&fleet, &["--name", "my site"]);
    assert!(name.status.code() == Some(2) && shown(&name).contains("my site"), "{}", shown(&name));
    let new = place.path("new.yaml");
    let bad = discover(&new, &["--hosts", "node{4...1}", "-o", &output]);
    assert!(bad.status.code() == Some(2) && shown(&bad).contains("node{4...1}"), "{}", shown(&bad));
    assert!(!new.exists(), "nothing was discovered");

    // A site file with a mistake is an error before a node is reached.
    fs::write(place.path("bad.yaml"), "nodes: 7\n").expect("written");
    let bad = discover(&fleet, &["-o", &place.path("bad.yaml").display().to_string()]);
    assert!(bad.status.code() == Some(2) && shown(&bad).contains("bad.yaml:1:8"), "{}", shown(&bad));

    let clients = place.fleet(&["{name: a, role: client, reach: here}".to_owned()]);
    let none = discover(&clients, &["-o", &output]);
    assert!(none.status.code() == Some(3) && shown(&none).contains("no node is for storage"), "{}", shown(&none));
    assert!(!place.path("site.yaml").exists(), "{}", shown(&none));
}
