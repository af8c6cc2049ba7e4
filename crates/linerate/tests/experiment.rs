//! `linerate experiment analyze` over the tables of the sources.

use std::fs;
use std::path::Path;
use std::process::Output;

use linerate_record::experiment::{Decision, RemarkKind, TableReport};
use tempfile::tempdir;

use crate::running::{linerate, shown, words};

fn run(table: &Path, flags: &str) -> Output {
    linerate().args(["experiment", "analyze"]).arg(table).args(words(flags)).output().expect("linerate runs")
}

fn printed(name: &str, flags: &str) -> String {
    let table = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/experiments").join(name);
    let output = run(&table, flags);
    assert!(output.status.success(), "{name} {flags}: {}", shown(&output));
    String::from_utf8(output.stdout).expect("it prints text")
}

fn report(name: &str, flags: &str) -> TableReport {
    serde_json::from_str(&printed(name, &format!("{flags} -f json"))).expect("JSON")
}

#[test]
fn arms_that_ran_once_cannot_be_told_and_have_a_detectable_effect() {
    let report = report("source-003-one.csv", "");
    let effects: Vec<_> = report.series.iter().flat_map(|series| &series.effects).collect();
    assert_eq!(effects.len(), 7 * 5 + 2 * 5, "seven arms of GET and two of PUT at five concurrencies");
    for effect in effects {
        assert_eq!((effect.decision, effect.runs, effect.baseline_runs), (Decision::CannotTell, 1, 3), "{effect:?}");
        assert_eq!(effect.detectable_share, None, "no figures could have been called: {effect:?}");
        for part in [
            "by the arm or by time; and 1 run against 3 can differ",
            "1 in 2, which does not allow 95 %",
            "4 interleaved runs",
        ] {
            assert!(effect.sentence.contains(part), "{effect:?}");
        }
    }
    let text = printed("source-003-one.csv", "");
    assert!(text.starts_with(" ▸ 45 comparisons: cannot tell in 45 ("), "{text}");
}

#[test]
fn an_order_that_always_rises_is_confounded_with_time() {
    for (name, sweeps) in [("source-003-one.csv", 15), ("source-003-two.csv", 16)] {
        let report = report(name, "");
        let reported: Vec<_> = report.remarks.iter().filter(|r| r.kind == RemarkKind::ConfoundedWithTime).collect();
        let rising = format!("concurrency rose with time in all {sweeps} sweeps");
        assert!(reported.iter().any(|r| r.about == "concurrency" && r.sentence.starts_with(&rising)), "{reported:?}");
        assert!(reported.iter().any(|r| r.about == "arms"), "{reported:?}");
    }
}

#[test]
fn two_nodes_at_concurrency_4_have_two_modes_and_no_other_place_has() {
    let report = report("source-003-two.csv", "");
    let modes: Vec<_> = report.remarks.iter().filter(|r| r.kind == RemarkKind::Bimodal).collect();
    assert_eq!(modes.len(), 1, "{modes:?}");
    assert_eq!(modes[0].about, "put × 4");
    assert!(modes[0].sentence.contains("7 around 136, 8 around 150"), "{}", modes[0].sentence);
    let outlying = report.remarks.iter().find(|r| r.kind == RemarkKind::Outlying && r.about == "put × 4");
    assert!(outlying.is_some_and(|r| r.sentence.starts_with("101 of A2 (run 1)")), "{outlying:?}");
    // Three runs against three are judged, by Welch's t; fewer are not.
    for effect in report.series.iter().flat_map(|series| &series.effects) {
        let expected =
            if effect.runs.min(effect.baseline_runs) < 3 { Decision::CannotTell } else { Decision::NotShown };
        assert_eq!(effect.decision, expected, "{effect:?}");
    }
}

#[test]
fn a_figure_above_the_link_is_refused_with_its_reason() {
    let report = report("source-002.csv", "--link 15Gb/s");
    let second = report.series.iter().find(|series| series.label == "second").expect("it is a series");
    assert_eq!(second.effects.len(), 3);
    for effect in &second.effects {
        assert_eq!((effect.decision, effect.share), (Decision::Refused, None), "{effect:?}");
        for part in ["above the link's 15.0 Gb/s", "not comparable with default's 14.8 Gb/s"] {
            assert!(effect.sentence.contains(part), "{effect:?}");
        }
    }
    let impossible = report.remarks.iter().filter(|r| r.kind == RemarkKind::Impossible).count();
    assert_eq!(impossible, 9);
    let first = report.series.iter().find(|series| series.label == "first").expect("it is a series");
    assert!(first.effects.iter().all(|effect| effect.decision == Decision::NotShown), "{first:?}");
}

#[test]
fn mistakes_are_quoted_with_their_line() {
    let folder = tempdir().unwrap();
    let table = folder.path().join("runs.csv");
    for (text, flags, code, part) in [
        ("arm,value\na,1\nb,quick\n", "", 2, "runs.csv:3: invalid value \"quick\""),
        ("arm,value\na,1\na,2\n", "", 2, "runs.csv: one arm alone, \"a\""),
        ("arm,value\na,1\nb,2\n", "--link 1Gb/s", 2, "values have no unit"),
        ("arm,value\na,1\nb,2\n", "--alpha 0.6", 2, "\"0.6\" is not a valid level"),
        ("arm,value\na,1\nb,2\n", "--link 1GB/s", 2, "small b"),
    ] {
        fs::write(&table, text).unwrap();
        let output = run(&table, flags);
        assert_eq!(output.status.code(), Some(code), "{text:?} {flags}: {}", shown(&output));
        assert!(shown(&output).contains(part), "{text:?} {flags}: {}", shown(&output));
    }
    assert_eq!(run(&folder.path().join("none.csv"), "").status.code(), Some(1));
}

#[test]
fn what_was_not_drawn_is_an_association_by_words_and_by_exit() {
    let folder = tempdir().unwrap();
    let table = folder.path().join("runs.csv");
    let places = [(0, 1), (3, 2), (5, 4), (6, 7), (8, 9), (11, 10), (13, 12), (14, 15)];
    let rows =
        places.iter().enumerate().map(|(i, (base, arm))| format!("default,{i},{base},100\nnew,{i},{arm},11{i}\n"));
    fs::write(&table, format!("arm,block,order,value\n{}", rows.collect::<String>())).unwrap();
    let first =
        places.iter().enumerate().map(|(i, _)| format!("default,{i},{},100\nnew,{i},{},11{i}\n", 2 * i, 2 * i + 1));
    let unfair = folder.path().join("unfair.csv");
    fs::write(&unfair, format!("arm,block,order,value\n{}", first.collect::<String>())).unwrap();
    for (table, flags, code, part) in [
        (&table, "", 7, "association: 13.5 % higher than default"),
        (&table, "--drawn", 0, "an effect shown in 1"),
        (&unfair, "--drawn", 7, "it ran after default in 8 of 8 blocks"),
    ] {
        let output = run(table, flags);
        assert_eq!(output.status.code(), Some(code), "{flags}: {}", shown(&output));
        let text = String::from_utf8_lossy(&output.stdout).split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(text.contains(part), "{flags}: {text}");
    }
}
