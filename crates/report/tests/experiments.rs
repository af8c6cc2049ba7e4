//! What each output says of the same experiment.

use std::path::Path;

use linerate_record::experiment::{
    ArmVerdict, Decision, ExperimentFleet, ExperimentReport, ExperimentStopReason, KeySource,
};
use linerate_record::fleet::NodeRole;
use linerate_report::experiment::{
    PlannedArm, PlannedExperiment, PlannedRounds, interrupted_again, progress_line, run_deeds, run_html, run_json,
    run_planned, run_text,
};
use linerate_report::terminal::TextStyle;

use crate::golden_file::same_as_golden;
use crate::tried;

const PLAIN: TextStyle = TextStyle { color: false, width: 110, whole: false };

#[test]
fn json_reads_back_as_the_same() {
    for reported in [tried::experiment(), tried::begun(), tried::empty()] {
        let json = run_json(&reported);
        assert!(json.ends_with("}\n"));
        assert_eq!(serde_json::from_str::<ExperimentReport>(&json).unwrap(), reported);
        // An older word, which stays until the schema changes.
        let value: serde_json::Value = serde_json::from_str(&json).unwrap();
        assert_eq!(value["report"]["spoiled_blocks"], reported.report.excluded_blocks);
    }
}

#[test]
fn texts_are_those_that_were_read_over() {
    same_as_golden("experiment.txt", &run_text(&tried::experiment(), PLAIN));
    same_as_golden("experiment-narrow.txt", &run_text(&tried::experiment(), TextStyle { width: 60, ..PLAIN }));
    same_as_golden("experiment-begun.txt", &run_text(&tried::begun(), PLAIN));
    same_as_golden("experiment-empty.txt", &run_text(&tried::empty(), PLAIN));
}

#[test]
fn what_would_be_done_is_told_whole() {
    let mut reported = tried::experiment().experiment;
    reported.design.arms[5].name = "scripted".to_owned();
    reported.means[5].command = Some("set-it --to 5".to_owned());
    let arms = reported.design.arms.iter().zip(&reported.means).zip(reported.load_differences());
    let arms = arms.map(|((arm, means), load)| PlannedArm { name: &arm.name, means, load });
    let load = reported.load.to_string();
    let planned = PlannedExperiment {
        load: &load,
        arms: arms.collect(),
        fleet: None,
        notes: &reported.notes,
        design: &reported.design,
        cells: 168,
        expected_ns: 2_587_200_000_000.0,
        held: Some("--budget 1800s is enough for about 16 of the 24 blocks of --blocks".to_owned()),
        rounds: Some(PlannedRounds { least: 3, most: 6, cell_ns: 105e9 }),
    };
    same_as_golden("experiment-planned.txt", &run_planned(&planned));
    let fleet = ExperimentFleet {
        on: NodeRole::Storage,
        nodes: ["n1", "n2", "n3"].map(str::to_owned).to_vec(),
        clients: vec!["c1".to_owned()],
        rollouts: 7,
        rounds: vec![vec![0, 1], vec![2]],
        health: None,
    };
    let of_fleet = run_planned(&PlannedExperiment { fleet: Some(&fleet), ..planned.clone() });
    let expected = "changed: 3 storage nodes (n1, n2, n3); load from 1 client (c1)\nrestarted with each change: 2 \
                    rounds of up to 2 nodes\nget:4MiB@16 for each cell";
    assert!(of_fleet.starts_with(expected), "{of_fleet}");
    let bare = run_planned(&PlannedExperiment { arms: Vec::new(), notes: &[], held: None, rounds: None, ..planned });
    assert_eq!(
        bare,
        "get:4MiB@16 for each cell; the arms, the baseline first:\n\
         at most 24 blocks of 7 cells, 168 in all: 43 min 07 s of load; starting targets, writing objects, \
         changes and restarts add to that\nnothing was touched\n"
    );
}

#[test]
fn what_to_go_on_does_is_told_once_each() {
    let mut reported = tried::experiment().experiment;
    reported.means.truncate(3);
    reported.means[0].command = Some("undo".to_owned());
    reported.means[1].command = Some("undo".to_owned());
    let length = ", in at most 24 blocks of 7 cells of 15.0 s";
    assert_eq!(
        run_deeds(&reported),
        format!(
            "run \"undo\", run \"systemctl restart minio\", set net.ipv4.tcp_rmem to \"4096 131072 16777216\", \
             load get:4MiB@16 at 10.0.0.1:9000, 10.0.0.2:9000, bucket bench, bodies.unique full{length}"
        )
    );
    let mut of_third = |patch: &str| {
        reported.means[2].patch = serde_json::from_str(patch).unwrap();
        reported.means[2].keys = KeySource::Profile("prod".to_owned());
        run_deeds(&reported)
    };
    let others =
        format!(", bucket b, whatever its certificate, with the keys of profile \"prod\", bodies.unique full{length}");
    let deeds = of_third(r#"{"endpoint":{"tls":{"insecure":true},"bucket":"b"}}"#);
    assert!(deeds.ends_with(&others), "{deeds}");
    // Whatever a folder says of a load and that acts is part of what is consented to.
    for (patch, part) in [
        (r#"{"endpoint":{"tls":{"insecure":false,"ca_file":"/x/ca.pem"}}}"#, "the certificates of \"/x/ca.pem\""),
        (r#"{"endpoint":{"server":{"own":{"kind":"embedded","drive":"/srv"}}}}"#, "own (embedded) in \"/srv\""),
        (r#"{"endpoint":{"prefix":"back/ups"}}"#, ", below \"back/ups\""),
        (r#"{"endpoint":{"source":"eth7"}}"#, ", from \"eth7\""),
        (r#"{"endpoint":{"lookup":"host"}}"#, "endpoint.lookup host"),
        (r#"{"endpoint":{"server":{"hosts":{"authorities":["a:1"],"every_address":true}}}}"#, "at every address of"),
        (r#"{"endpoint":{"region":"eu-1"}}"#, "endpoint.region eu-1"),
        (r#"{"endpoint":{"pid":4711}}"#, "endpoint.pid 4711"),
        (r#"{"objects":{"count":90000000}}"#, "objects.count 90000000"),
        (r#"{"objects":{"list_existing":true}}"#, "objects.list_existing true"),
        (r#"{"work":[{"workload":"multipart","sizes":["4MiB"]}],"bodies":{"part_bytes":7}}"#, "bodies.part_bytes 7"),
        (r#"{"threads":4096}"#, "threads 4096"),
        (r#"{"stops":{"retries":100}}"#, "stops.retries 100"),
    ] {
        let deeds = of_third(patch);
        assert!(deeds.contains(part), "{part}: {deeds}");
    }
    let left = interrupted_again(Path::new("runs/x"), None);
    assert!(left.ends_with("; linerate experiment resume runs/x restores them and continues"), "{left}");
    let left = interrupted_again(Path::new("runs/x"), Some(Path::new("my fleet.yaml")));
    assert!(left.contains("resume runs/x --fleet 'my fleet.yaml' restores"), "{left}");
}

#[test]
fn lines_keep_to_the_terminal() {
    for width in [100, 110, 140] {
        for reported in [tried::experiment(), tried::begun(), tried::empty()] {
            for line in run_text(&reported, TextStyle { width, ..PLAIN }).lines() {
                assert!(line.chars().count() <= width, "{width}: {line}");
            }
        }
    }
}

#[test]
fn colour_changes_no_word_and_control_characters_never_reach_the_terminal() {
    let plain = run_text(&tried::experiment(), PLAIN);
    assert!(!plain.contains('\x1b'));
    let colored = run_text(&tried::experiment(), TextStyle { color: true, ..PLAIN });
    let codes = ["\x1b[31m", "\x1b[32m", "\x1b[33m", "\x1b[2m", "\x1b[0m"];
    for code in codes {
        assert!(colored.contains(code), "{code:?}");
    }
    assert_eq!(codes.iter().fold(colored, |text, code| text.replace(code, "")), plain);
}

#[test]
fn what_voids_an_effect_is_its_verdict() {
    for (decision, word) in [
        (Decision::CarriedOver, "carried over"),
        (Decision::NotSettled, "not settled"),
        (Decision::AtFirst, "at first"),
        (Decision::ExcludesBlocks, "excludes blocks"),
    ] {
        let mut reported = tried::experiment();
        (reported.report.effects[0].decision, reported.report.effects[0].verdict) = (decision, ArmVerdict::Unknown);
        reported.advice.clear();
        let text = run_text(&reported, PLAIN);
        assert!(text.contains(word) && !text.contains("Helps: ") && !text.contains("tune apply"), "{text}");
        assert!(text.contains("Cannot tell: net.ipv4.tcp_rmem=16MiB"), "{text}");
        assert!(run_html(&reported).contains(word));
    }
}

#[test]
fn every_way_to_end_is_told() {
    for (ended, expected) in [
        (
            ExperimentStopReason::Decided,
            "stop reason every arm is decided or dropped early; 14 of at most 24 blocks count, 2 are excluded; ",
        ),
        (ExperimentStopReason::Blocks, "stop reason all 24 blocks are spent; "),
        (ExperimentStopReason::Time, "stop reason another block would not have ended within 1 h 00 min; "),
        (ExperimentStopReason::Excluded, "stop reason as many blocks are excluded as were to count; "),
        (ExperimentStopReason::NotYet, "stop reason it is still running, or was interrupted; "),
    ] {
        let mut reported = tried::experiment();
        reported.report.ended = ended;
        let text = run_text(&reported, PLAIN);
        assert!(text.contains(expected), "{ended:?}: {text}");
    }
}

#[test]
fn a_line_after_each_block_tells_what_goes_on_and_what_was_decided() {
    let begun = progress_line(&tried::begun().report);
    assert!(begun.starts_with("1 of at most 24 blocks; net.ipv4.tcp_rmem=16MiB +"), "{begun}");
    assert!(!begun.contains("decided") && !begun.contains("again") && !begun.contains(['\n', '\x1b']), "{begun}");

    let mut going = tried::experiment().report;
    going.ended = ExperimentStopReason::NotYet;
    going.looks.truncate(2);
    (going.effects[1].verdict, going.effects[3].verdict) = (ArmVerdict::Running, ArmVerdict::Running);
    let before = progress_line(&going);
    assert!(before.contains("; net.core.netdev_budget=600 ") && !before.contains("--threads"), "{before}");
    going.blocks.retain(|block| block.excluded.is_empty());
    going.blocks.truncate(12);
    (going.counted_blocks, going.excluded_blocks) = (12, 0);
    let at_look = progress_line(&going);
    assert!(at_look.contains("; decided: --threads 4 dropped: dropped early"), "{at_look}");
    going.blocks[11].excluded.push("throttled".to_owned());
    (going.counted_blocks, going.excluded_blocks) = (11, 1);
    let excluded = progress_line(&going);
    assert!(excluded.starts_with("11 of at most 24 blocks; block 12 does not count: throttled; "), "{excluded}");

    let ended = progress_line(&tried::experiment().report);
    assert!(ended.contains("decided: net.core.netdev_budget=600 ruled out: no effect larger"), "{ended}");
    assert!(ended.ends_with("; every arm is decided or dropped early"), "{ended}");
}

#[test]
fn nothing_that_is_put_in_becomes_markup_and_the_page_is_whole() {
    for reported in [tried::experiment(), tried::begun(), tried::empty()] {
        let page = run_html(&reported);
        assert!(!page.contains(tried::HOSTILE) && !page.contains("<b onclick"));
        assert_eq!((page.matches("<script").count(), page.matches("</script>").count()), (4, 4));
        assert!(page.contains("&lt;/script&gt;&lt;b onclick=&quot;alert(&#39;x&#39;)&quot;&gt;&amp;{{view}}"));
        assert!(page.contains("Content-Security-Policy\" content=\"default-src 'none'; "));
        for reference in ["src=\"", "@import", "url(", "href=\"http", "fetch(", "XMLHttpRequest"] {
            assert!(!page.contains(reference), "{reference}");
        }
        for id in page.split("<a href=\"#").skip(1).filter_map(|rest| rest.split_once('"')).map(|(id, _)| id) {
            assert!(page.contains(&format!("<section id=\"{id}\">")), "{id}");
        }
    }
}

#[test]
fn the_page_tells_all_that_the_report_holds() {
    let reported = tried::experiment();
    let page = run_html(&reported);
    for expected in [
        "<h1>Helps: net.ipv4.tcp_rmem=16MiB, +",
        "<section id=\"profile\">",
        "<code>linerate tune apply FOLDER/changes.json</code>",
        "data-field=\"report.effects.1.detectable_share\"",
        "data-field=\"report.looks.2.alpha_spent\" data-value=\"0.0062\">0.62 %",
        "<th scope=\"row\">12<td class=\"l wide\">&lt;/script&gt;",
        "<th scope=\"row\">vm.swappiness=1<td",
        "every cell makes new connections",
        "figures fall by 2.8 %",
        "<code>net.core.rmem_max: 212992 → 65536</code><br>",
        "<code>load threads 4</code>",
        "data-field=\"report.design.seed\" data-value=\"4711\"",
        "systemctl restart minio",
        "network namespace minio",
        "100 Gb/s",
        "5.00 s at first, 6.00 s at the end",
        "24 blocks, 1 h 00 min",
    ] {
        assert!(page.contains(expected), "{expected}");
    }
    let bare = run_html(&tried::empty());
    for absent in ["profile", "remarks", "blocks", "secondary", "looks", "excluded", "not-tested"] {
        assert!(!bare.contains(&format!("<section id=\"{absent}\">")), "{absent}");
    }
}
