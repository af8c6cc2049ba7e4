//! Folders of many clients, made without linerate, through the binary: text, JSON, CSV, page, a site beside them; and
//! what the largest costs.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Instant;

use linerate_worlds::{ClientFault, Fleet};
use serde_json::Value;
use tempfile::tempdir;

use crate::running::linerate;

/// 195 clients, of which one has a third of the others' link, and one is slow for no reason to be seen.
fn large(interval_ms: u64, point_ms: u64, hosts: u32) -> Fleet {
    let client_faults =
        vec![ClientFault::Link { client: 17, share: 1.0 / 30.0 }, ClientFault::Slow { client: 120, share: 0.5 }];
    Fleet { client_faults, interval_ms, point_ms, hosts, ..Fleet::with_clients(&[7, 14, 28, 100, 195], 9) }
}

/// Writes the folder of a run.
fn write(fleet: &Fleet, into: &Path) {
    let made = fleet.folder();
    fs::create_dir_all(into).expect("a folder");
    for (name, text) in [
        ("run.json", &made.run),
        ("points.jsonl", &made.points),
        ("intervals.jsonl", &made.intervals),
        ("readings.jsonl", &made.readings),
        ("findings.jsonl", &String::new()),
    ] {
        fs::write(into.join(name), text).expect("a file");
    }
}

fn report(folder: &Path, more: &[&str]) -> String {
    let out = linerate().arg("report").arg(folder).args(more).output().expect("linerate runs");
    assert!(out.status.success(), "{more:?}: {}", String::from_utf8_lossy(&out.stderr));
    String::from_utf8(out.stdout).expect("text")
}

#[test]
fn growth_and_the_slow_clients_are_told_in_every_format() {
    let folder = tempdir().unwrap();
    write(&large(500, 15_000, 2), folder.path());
    let text = report(folder.path(), &[]);
    let line =
        |needle: &str| text.lines().find(|line| line.contains(needle)).unwrap_or_else(|| panic!("{needle}: {text}"));
    assert!(line("GET 4 MiB, over clients").starts_with(' '));
    assert!(line("▸ 195 clients give").contains(" of 28: growth ended at"), "{text}");
    for clients in [7, 14, 28, 100, 195] {
        let row = format!(" {clients:>7} {:>7} ", 16 * clients);
        assert!(text.lines().any(|line| line.starts_with(&row)), "{row}: {text}");
    }
    let joined = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(joined(&text).contains("2 of 195 clients were slower than their peers: c017, c120"), "{text}");
    assert!(text.lines().count() <= 40, "a first screen: {text}");
    let why = report(folder.path(), &["--why"]);
    assert!(
        joined(&why).contains("195 clients gave") && joined(&why).contains("slower than its peers: c017 (−"),
        "{why}"
    );
    // No row for each of so many.
    assert!(why.lines().count() < 150, "{why}");

    let json: Value = serde_json::from_str(&report(folder.path(), &["--format", "json"])).unwrap();
    let growth = &json["growth"][0];
    assert_eq!((&growth["outcome"], &growth["ended_at"]), (&"ended".into(), &28.into()), "{growth}");
    assert_eq!(growth["points"].as_array().map(Vec::len), Some(5));
    let rows = json["series"][4]["points"][0]["clients"].as_array().unwrap();
    assert_eq!((rows.len(), &rows[17]["client"]), (195, &"c017".into()));
    assert!(rows[17]["below_peers"].as_f64().is_some_and(|below| below > 0.5), "{}", rows[17]);
    assert!(rows[0]["nic"]["utilisation"].as_f64().is_some(), "{}", rows[0]);

    let csv = report(folder.path(), &["--format", "csv"]);
    let heads: Vec<&str> = csv.lines().next().unwrap().split(',').collect();
    let place = |name: &str| heads.iter().position(|head| *head == name).unwrap();
    let of_points = csv.lines().filter(|row| row.contains(",measure,"));
    let clients: Vec<&str> = of_points.map(|row| row.split(',').nth(place("clients")).unwrap()).collect();
    assert_eq!(clients, ["7", "14", "28", "100", "195"]);
    assert_eq!(csv.lines().filter(|row| row.contains(",client,")).count(), 7 + 14 + 28 + 100 + 195 + 1);

    report(folder.path(), &["--format", "html"]);
    let page = fs::read_to_string(folder.path().join("report.html")).unwrap();
    assert!(page.contains("<section id=\"growth\">") && page.contains("id=\"growth-charts\""));
    assert!(page.contains("<b class=\"slow\"") && page.contains("c017 "), "the strip");
    assert_eq!(page.matches("data-clients-of=").count(), 5);
    assert!(page.len() < 2_000_000, "{}", page.len());
}

#[test]
fn the_ceilings_of_a_site_stand_beside_growth() {
    let folder = tempdir().unwrap();
    write(&Fleet::with_clients(&[2, 8, 64], 3), folder.path());
    let site = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/source-000-56.yaml");
    let json = report(folder.path(), &["--site", site.to_str().unwrap(), "--format", "json"]);
    let json: Value = serde_json::from_str(&json).unwrap();
    let points = json["growth"][0]["planned"]["points"].as_array().unwrap();
    assert_eq!(points.len(), 3, "{points:?}");
    assert_eq!(points[0]["bottleneck"], "client-ingress", "{points:?}");
    let ceiling = |at: usize| points[at]["ceiling_bytes_per_s"].as_f64().unwrap();
    assert!((ceiling(1) / ceiling(0) - 4.0).abs() < 1e-6, "clients' links grow with them: {points:?}");
    let text = report(folder.path(), &["--site", site.to_str().unwrap()]);
    let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("ceilings: with 2 to 8 (clients' links, receiving"), "{text}");
}

#[test]
fn the_largest_folder_of_many_clients_is_shown_in_time_and_memory() {
    // Left where it is, so that its page can be looked at.
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("over-clients-195");
    write(&large(1_000, 60_000, 8), &folder);
    let begun = Instant::now();
    let plain = linerate();
    let mut command = std::process::Command::new("sh");
    // Addresses that the process may have, in KiB: four times what its records take as text. And processor time, in s.
    command.args(["-c", "ulimit -v 1500000 -t 240; exec \"$0\" \"$@\""]).arg(plain.get_program());
    command.envs(plain.get_envs().filter_map(|(name, value)| Some((name, value?))));
    let out = command.arg("report").arg(&folder).args(["--format", "json"]).output().unwrap();
    assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
    let bytes = fs::metadata(folder.join("intervals.jsonl")).unwrap().len();
    println!("{} MiB of intervals: {:.1} s", bytes >> 20, begun.elapsed().as_secs_f64());
    let json: Value = serde_json::from_slice(&out.stdout).unwrap();
    assert_eq!(json["growth"][0]["points"].as_array().map(Vec::len), Some(5));
}
