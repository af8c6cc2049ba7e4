//! Loads described: in the folders of runs, and on standard input.

use std::fs;
use std::io::Write as _;
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Output, Stdio};

use linerate_record::load::{Levels, Lookup, Server};
use linerate_record::run::Manifest;
use serde_json::{Value, json};
use tempfile::tempdir;

use crate::running::{ACCESS_KEY, SECRET_KEY, Served, bench, files_below, linerate, shown, view};

const SHORT: &str = "--obj.size 4KiB --concurrent 1,2 --duration 200ms --warmup 0s --objects 8 --no-ceiling -q";

fn manifest(folder: &Path) -> Manifest {
    let text = fs::read(folder.join("run.json")).expect("a run folder");
    serde_json::from_slice(&text).expect("a manifest")
}

/// Runs a load that is told on standard input.
fn described_run(folder: &Path, description: &[u8], more: &[&str]) -> Output {
    let mut command = linerate();
    command.env("AWS_ACCESS_KEY_ID", ACCESS_KEY).env("AWS_SECRET_ACCESS_KEY", SECRET_KEY);
    command.args(["bench", "--description", "-", "--no-ceiling", "-q", "-o"]).arg(folder).args(more);
    let mut child =
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it starts");
    // A line that is refused ends it before it reads.
    let _ = child.stdin.take().expect("piped").write_all(description);
    child.wait_with_output().expect("it ends")
}

#[test]
fn what_a_folder_says_of_its_load_is_that_load_again() {
    let (drive, out) = (tempdir().unwrap(), tempdir().unwrap());
    let target = Served::embedded(drive.path());
    let [first, second] = ["first", "second"].map(|name| out.path().join(name));
    let flags = format!("--op get,mixed --mix get=3,put=1 --host {} --prefix a/ {SHORT}", target.address);
    let output = bench(&first, &flags);
    assert!(output.status.success(), "{}", shown(&output));
    let load = manifest(&first).load.expect("a folder says what its load was");
    let names: Vec<String> = load.work.iter().map(|work| work.workload.to_string()).collect();
    assert_eq!((names.join("; ").as_str(), &load.levels), ("get; mixed get=75,put=25", &Levels::Given(vec![1, 2])));
    assert_eq!((load.endpoint.prefix.as_str(), load.endpoint.lookup), ("a/", Lookup::Path));
    assert_eq!(load.endpoint.server, Server::named(vec![target.address.clone()], false));

    let output = described_run(&second, &serde_json::to_vec(&load).unwrap(), &[]);
    assert!(output.status.success(), "{}", shown(&output));
    assert_eq!(manifest(&second).load, Some(load));
    let [one, other] = [&first, &second].map(|folder| view(folder).run.requested);
    assert_eq!((one.points, one.duration_ms, one.objects), (other.points, other.duration_ms, other.objects));
    for file in files_below(out.path()) {
        let bytes = fs::read(out.path().join(&file)).unwrap();
        assert!(!String::from_utf8_lossy(&bytes).contains(SECRET_KEY), "{file}");
    }
}

/// As cells of an experiment have them: whoever moves a name while it runs moves no cell.
#[test]
fn names_of_which_a_description_says_where_they_are_are_not_looked_up() {
    let (drive, out) = (tempdir().unwrap(), tempdir().unwrap());
    let target = Served::embedded(drive.path());
    let first = out.path().join("first");
    let output = bench(&first, &format!("--op put --host {} {SHORT}", target.address));
    assert!(output.status.success(), "{}", shown(&output));
    let mut load = manifest(&first).load.unwrap();
    let address: SocketAddr = target.address.parse().unwrap();
    let name = format!("s3.invalid:{}", address.port());
    let found = format!("{name} ({})", address.ip());
    for (addresses, is_reached) in [(vec![found], true), (Vec::new(), false)] {
        load.endpoint.server = Server::Hosts { authorities: vec![name.clone()], every_address: false, addresses };
        let folder = out.path().join(is_reached.to_string());
        let output = described_run(&folder, &serde_json::to_vec(&load).unwrap(), &[]);
        assert_eq!(output.status.success(), is_reached, "{}", shown(&output));
    }
}

#[test]
fn a_description_is_the_whole_load_and_held_against_the_rules_of_flags() {
    let out = tempdir().unwrap();
    let folder = out.path().join("run");
    let output = bench(&folder, &format!("--op put --target null {SHORT}"));
    assert!(output.status.success(), "{}", shown(&output));
    let load = manifest(&folder).load.unwrap();
    let whole = serde_json::to_value(&load).unwrap();
    let none = out.path().join("none");
    let forged = |pointer: &str, value: Value| {
        let mut forged = whole.clone();
        *forged.pointer_mut(pointer).unwrap() = value;
        forged.to_string().into_bytes()
    };
    for (description, more, part) in [
        (whole.to_string().into_bytes(), &["--op", "get"][..], "--description is the whole load: drop --op"),
        (Vec::new(), &[], "invalid description"),
        (forged("/endpoint/bucket", json!("A_B")), &[], "A_B"),
        (forged("/levels", json!({ "given": [] })), &[], "invalid levels"),
        (forged("/work", json!([{ "workload": "copy", "sizes": ["1KiB"] }])), &[], "unknown operation"),
        (forged("/stops", json!({ "timeout_ns": 1, "retries": 0 })), &[], "--timeout"),
        (forged("/stops", json!({ "timeout_ns": 1_000_000_000, "retries": 0, "secret": 1 })), &[], "unknown field"),
    ] {
        let output = described_run(&none, &description, more);
        let said = shown(&output);
        assert!(output.status.code() == Some(2) && said.contains(part), "{part}: {said}");
        assert!(!none.exists(), "{part}");
    }
    // Consent is no part of a load: who tells one gives it beside.
    let elsewhere =
        forged("/endpoint/server", json!({ "hosts": { "authorities": ["192.0.2.1:9"], "every_address": false } }));
    let output = described_run(&none, &elsewhere, &[]);
    assert!(output.status.code() == Some(2) && shown(&output).contains("--yes-load"), "{}", shown(&output));
}

/// A folder of a version that says more of its load than this one knows: its figures are those of another load.
#[test]
fn a_folder_whose_load_says_more_than_is_known_is_refused_by_that() {
    let out = tempdir().unwrap();
    let folder = out.path().join("run");
    let output = bench(&folder, &format!("--op put --target null {SHORT}"));
    assert!(output.status.success(), "{}", shown(&output));
    let mut newer = serde_json::to_value(manifest(&folder)).unwrap();
    assert!(newer.get("asked").is_none() && newer["resolved"]["prefix"].is_string(), "{newer}");
    newer["load"]["machines"] = json!(["a", "b"]);
    fs::write(folder.join("run.json"), newer.to_string()).unwrap();
    let output = linerate().arg("report").arg(&folder).output().unwrap();
    let said = shown(&output);
    assert!(!output.status.success() && said.contains("unknown field `machines`"), "{said}");
}
