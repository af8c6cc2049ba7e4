//! `linerate compare`, end to end on the null target.

use std::path::Path;
use std::process::Output;

use linerate_analysis::compare::{CompareVerdict, Comparison};
use tempfile::{TempDir, tempdir};

use crate::running::{Served, bench, linerate, shown, words};

/// A run of one GET point of 1.5 s with a cap on its rate: its speed is the cap's and not the machine's.
fn capped(target: &Served, per_s: u32) -> TempDir {
    let out = tempdir().expect("a temporary folder");
    let flags = format!(
        "--host {} --op get --obj.size 4KiB --objects 50 --concurrent 4 --max-rate {per_s}/s --duration 1500ms \
         --warmup 200ms --no-ceiling",
        target.address
    );
    let output = bench(out.path(), &flags);
    assert!(output.status.success(), "{}", shown(&output));
    out
}

fn compare(a: &str, b: &str, flags: &str) -> Output {
    linerate().arg("compare").args([a, b]).args(words(flags)).output().expect("linerate runs")
}

fn text(path: &Path) -> &str {
    path.to_str().expect("a plain path")
}

/// Runs one after the other, each at its rate.
fn all_capped(target: &Served, rates: [u32; 6]) -> [TempDir; 6] {
    rates.map(|rate| capped(target, rate))
}

/// The runs of one side, as the command takes them: those of A are the first, fourth and fifth.
fn sides(runs: &[TempDir; 6]) -> [String; 2] {
    [[0, 3, 4], [1, 2, 5]].map(|side| side.map(|i| text(runs[i].path())).join(","))
}

#[test]
fn one_run_or_two_a_side_have_no_verdict_and_no_exit_5() {
    let target = Served::null();
    let [fast, slow, other] = [400, 200, 205].map(|rate| capped(&target, rate));
    let [fast, slow, other] = [&fast, &slow, &other].map(|run| text(run.path()).to_owned());
    let output = compare(&fast, &slow, "--format json");
    assert!(output.status.success(), "{}", shown(&output));
    let found: Comparison = serde_json::from_slice(&output.stdout).unwrap();
    let throughput = &found.series[0].points[0].contrasts[0];
    assert!(!found.enough_runs && throughput.change.is_none(), "{throughput:?}");
    assert_eq!(throughput.verdict, CompareVerdict::FewRuns);
    assert!((-0.6..-0.4).contains(&throughput.share), "{throughput:?}");
    assert!(found.setup.iter().any(|d| d.field == "asked.max_rate" && d.a == ["400/s"] && d.b == ["200/s"]));
    let reported = shown(&compare(&fast, &slow, ""));
    assert!(reported.lines().all(|line| line.chars().count() <= 100), "nothing wraps: {reported}");
    let page = shown(&compare(&fast, &slow, "--format html"));
    assert!(page.contains("<table") && page.contains("style=\"--w:100.0%\"") && page.contains("</html>"), "{page}");
    assert!(page.contains("too little data: 1 and 1 runs, 3 needed") && page.contains("nothing was tested"), "{page}");
    for part in
        ["too little data: 1 and 1 runs, 3 needed", "nothing was tested", "A B B A A B", "linerate experiment --with"]
    {
        assert!(reported.split_whitespace().collect::<Vec<_>>().join(" ").contains(part), "{part}: {reported}");
    }
    for (a, b) in [(fast.clone(), slow.clone()), (fast, format!("{slow},{other}"))] {
        let output = compare(&a, &b, "--fail-if-slower 10%");
        assert_eq!(output.status.code(), Some(2), "{}", shown(&output));
        assert!(shown(&output).contains("at least three of each side"), "{}", shown(&output));
    }
}

#[test]
fn three_runs_a_side_of_half_the_rate_are_shown_to_be_slower_and_miss_a_threshold() {
    let target = Served::null();
    let runs = all_capped(&target, [400, 200, 201, 399, 401, 199]);
    let [a, b] = sides(&runs);
    let output = compare(&a, &b, "--format json");
    let found: Comparison = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((found.enough_runs, found.apart_in_time), (true, false));
    let throughput = &found.series[0].points[0].contrasts[0];
    assert_eq!(throughput.verdict, CompareVerdict::Lower, "{throughput:?}");
    for (a, b, code, reported) in [(&a, &b, 5, "missed: "), (&b, &a, 0, "no throughput is shown")] {
        let output = compare(a, b, "--fail-if-slower 10%");
        assert_eq!(output.status.code(), Some(code), "{}", shown(&output));
        let (shown, expected) = (shown(&output), if code == 5 { "lower\n" } else { "higher\n" });
        assert!(shown.contains(reported) && shown.contains(expected) && shown.contains("B against A: "), "{shown}");
    }
    let output = compare(&a, &b, "--format csv");
    let csv = String::from_utf8(output.stdout).unwrap();
    assert!(csv.lines().nth(1).unwrap().starts_with("get,4KiB,concurrency,4,4,requests_per_s,"), "{csv}");
}

#[test]
fn runs_that_differ_by_themselves_show_no_difference() {
    let target = Served::null();
    let runs = all_capped(&target, [300, 330, 290, 270, 320, 310]);
    let [a, b] = sides(&runs);
    let output = compare(&a, &b, "--format json");
    let found: Comparison = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((found.a.runs.len(), found.b.runs.len()), (3, 3));
    let throughput = &found.series[0].points[0].contrasts[0];
    assert_eq!(throughput.verdict, CompareVerdict::NotShown, "{throughput:?}");
}

#[test]
fn what_cannot_be_compared_is_bad_usage() {
    let (target, empty) = (Served::null(), tempdir().unwrap());
    let run = capped(&target, 200);
    let other = tempdir().unwrap();
    let flags =
        format!("--host {} --op put --obj.size 4KiB --concurrent 2 --duration 200ms --no-ceiling", target.address);
    assert!(bench(other.path(), &flags).status.success());
    for (a, b, reported) in [
        (text(run.path()), text(empty.path()), "not a run folder"),
        (text(run.path()), text(other.path()), "no point in common"),
    ] {
        let output = compare(a, b, "");
        assert_eq!(output.status.code(), Some(2), "{}", shown(&output));
        assert!(shown(&output).contains(reported), "{}", shown(&output));
    }
}

#[test]
fn a_run_that_is_given_twice_by_whatever_path_is_refused() {
    let target = Served::null();
    let [a, b] = [400, 405].map(|rate| capped(&target, rate));
    let (links, one, other) = (tempdir().unwrap(), text(a.path()), text(b.path()));
    let (link, copy) = (links.path().join("link"), links.path().join("copy"));
    std::os::unix::fs::symlink(a.path(), &link).unwrap();
    std::fs::create_dir(&copy).unwrap();
    for entry in std::fs::read_dir(a.path()).unwrap().flatten().filter(|entry| entry.path().is_file()) {
        std::fs::copy(entry.path(), copy.join(entry.file_name())).unwrap();
    }
    let round = format!("{one}/../{}", a.path().file_name().unwrap().display());
    for again in [text(&copy), text(&link), &round] {
        for (left, right) in [(format!("{one},{again}"), other.to_owned()), (one.to_owned(), again.to_owned())] {
            let output = compare(&left, &right, "");
            assert_eq!(output.status.code(), Some(2), "{left} {right}: {}", shown(&output));
            for part in [one, again, "the same run"] {
                assert!(shown(&output).contains(part), "{part}: {}", shown(&output));
            }
        }
    }
}
