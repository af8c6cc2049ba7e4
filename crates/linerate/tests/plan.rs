//! `linerate plan` and `linerate explain`, end to end over the sites in `examples`.

mod running;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Output;

use linerate_record::explanation::{Explanation, Quantity};
use linerate_record::plan::Plan;
use linerate_record::units::duration_ns;
use running::{linerate, shown, words};
use tempfile::tempdir;

fn examples() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples")
}

fn site(name: &str) -> String {
    examples().join(name).display().to_string()
}

fn run(flags: &str) -> Output {
    linerate().args(words(flags)).output().expect("linerate runs")
}

fn printed(flags: &str) -> String {
    let output = run(flags);
    assert!(output.status.success(), "{flags}: {}", shown(&output));
    String::from_utf8(output.stdout).expect("it prints text")
}

#[test]
fn every_example_is_planned_in_every_format() {
    let folder = tempdir().unwrap();
    let mut planned = 0;
    for entry in
        fs::read_dir(examples()).unwrap().flatten().filter(|e| e.path().extension().is_some_and(|x| x == "yaml"))
    {
        let path = entry.path().display().to_string();
        let plan: Plan = serde_json::from_str(&printed(&format!("plan {path} --format json"))).unwrap();
        assert_eq!(plan.works.len(), 2, "{path}");
        let text = printed(&format!("plan {path}"));
        for work in &plan.works {
            let ceilings: Vec<f64> = work.ceilings.iter().map(|c| c.limit_bytes_per_s).collect();
            assert!(!ceilings.is_empty() && ceilings.is_sorted(), "{path}: {ceilings:?}");
            let lowest = linerate_record::units::bytes_per_s_iec(ceilings[0]);
            assert!(text.contains(&format!("▸ at most {lowest}")), "{path}: {text}");
            let knee = &work.curve.as_ref().expect("something limits it").knee;
            assert!(
                knee.share >= 0.9 && text.contains(&format!("{} each", duration_ns(knee.latency_ns))),
                "{path}: {text}"
            );
        }
        let why = printed(&format!("plan {path} --why"));
        let formulas = plan.works.iter().map(|work| work.ceilings.len()).sum::<usize>();
        assert_eq!(why.lines().filter(|line| line.starts_with("     = ")).count(), formulas, "{path}");
        let page = folder.path().join("plan.html");
        assert_eq!(printed(&format!("plan {path} --format html -o {}", page.display())), "", "{path}");
        assert!(fs::read_to_string(&page).unwrap().contains("<section id=\"ceilings\">"), "{path}");
        planned += 1;
    }
    assert!(planned >= 10, "{planned}");
}

#[test]
fn what_example_prints_is_a_site_and_schema_is_one() {
    let folder = tempdir().unwrap();
    let path = folder.path().join("site.yaml");
    fs::write(&path, printed("plan --example")).unwrap();
    assert!(printed(&format!("plan {}", path.display())).contains("held back by: "));
    let schema: serde_json::Value = serde_json::from_str(&printed("plan --schema")).unwrap();
    assert_eq!(schema["$schema"], "https://json-schema.org/draft/2020-12/schema");
}

#[test]
fn size_mix_nodes_and_need_are_answered() {
    let flags = "--obj.size 1MiB --mix get=70,put=30 --nodes 1..64 --need get=100GiB/s --format json";
    let plan: Plan = serde_json::from_str(&printed(&format!("plan {} {flags}", site("minio-i3en-32.yaml")))).unwrap();
    let shares: Vec<f64> = plan.works.iter().map(|work| work.work.read_share).collect();
    assert_eq!(shares, [1.0, 0.0, 0.7]);
    assert!(plan.works.iter().all(|work| work.work.object_bytes == 1 << 20));
    let scaling = plan.scaling.expect("asked for");
    assert_eq!(scaling.points.iter().map(|p| p.nodes).collect::<Vec<_>>(), (1..=64).collect::<Vec<_>>());
    let sizing = plan.sizing.expect("asked for");
    assert_eq!(sizing.need, "get=100GiB/s");
    let nodes = sizing.nodes.expect("a few of them do");
    assert!((2..=64).contains(&nodes), "{nodes}");
}

#[test]
fn a_mistake_is_quoted_whole_and_is_bad_usage() {
    let folder = tempdir().unwrap();
    let path = folder.path().join("site.yaml");
    let text = printed("plan --example");
    fs::write(&path, text.replacen("mode: 802.3ad", "mode: lacp", 1)).unwrap();
    for flags in [format!("plan {}", path.display()), format!("explain --site {} --observed get=1GB/s", path.display())]
    {
        let output = run(&flags);
        assert_eq!(output.status.code(), Some(2), "{}", shown(&output));
        let told = shown(&output);
        let (first, rest) = told.split_once('\n').unwrap();
        assert!(first.starts_with("error: ") && first.contains("site.yaml:") && first.contains("\"lacp\""), "{told}");
        assert!(rest.contains("lacp") && rest.contains("^^^^") && rest.contains("802.3ad"), "{told}");
    }
}

#[test]
fn bad_usage_is_told_with_the_fix() {
    let site = site("source-000-56.yaml");
    let folder = tempdir().unwrap();
    let file = |name: &str, text: &str| {
        let path = folder.path().join(name);
        fs::write(&path, text).unwrap();
        path.display().to_string()
    };
    let (no_node, bad_rate) = (file("a.csv", "host,get\nn1,1GB/s\n"), file("b.csv", "node,get\nn1,1GB/s\nn2,1Gb/s\n"));
    for (flags, expected) in [
        ("plan".to_owned(), "required"),
        (format!("plan {site} --example"), "cannot be used with"),
        (format!("plan {site} --mix get=70"), "such as get=70,put=30"),
        (format!("plan {site} --nodes 9..4"), "such as 1..484"),
        (format!("plan {site} --need get=fast"), "invalid need \"get=fast\""),
        (format!("plan {site} --obj.size 0"), "an object of 0 bytes"),
        (format!("explain --site {site}"), "required"),
        (format!("explain --site {site} --observed get=152"), "capital B"),
        (format!("explain --site {site} --observed get=1GB/s,get=2GB/s"), "\"get\" is given twice"),
        (format!("explain --site {site} --nodes {no_node}"), "a.csv:1: no column \"node\""),
        (format!("explain --site {site} --nodes {bad_rate}"), "b.csv:3: invalid rate of bytes \"1Gb/s\""),
    ] {
        let output = run(&flags);
        assert_eq!(output.status.code(), Some(2), "{flags}: {}", shown(&output));
        assert!(shown(&output).contains(expected), "{flags}: {}", shown(&output));
    }
    assert_eq!(run("plan no-such-site.yaml").status.code(), Some(1));
}

#[test]
fn figures_of_flags_and_of_a_file_reach_the_explanation() {
    let folder = tempdir().unwrap();
    let nodes = folder.path().join("nodes.csv");
    fs::write(&nodes, "node,get,put\nnode1,12MiB/s,9MiB/s\nnode2,12.5MiB/s,\n").unwrap();
    let flags = format!("--observed get=49MiB/s+-1% --observed put=35MiB/s --nodes {} --error 3%", nodes.display());
    let site = site("namespaces-4.yaml");
    let json = printed(&format!("explain --site {site} {flags} --format json"));
    let explanation: Explanation = serde_json::from_str(&json).unwrap();
    let figures = &explanation.observations.figures;
    let of = |n: u32| Quantity::NodeGet { node: format!("node{n}") };
    let whats: Vec<&Quantity> = figures.iter().map(|figure| &figure.what).collect();
    let put = Quantity::NodePut { node: "node1".to_owned() };
    assert_eq!(whats, [&Quantity::Get, &Quantity::Put, &of(1), &put, &of(2)]);
    assert_eq!((figures[0].error_share, figures[1].error_share), (Some(0.01), None));
    assert_eq!((figures[4].bytes_per_s, explanation.observations.error_share), (12.5 * 1_048_576.0, 0.03));
}

#[test]
fn a_figure_is_held_against_the_curve_at_what_was_in_flight() {
    let flags = format!("explain --site {} --observed get=17.7MiB/s --format json", site("namespaces-4.yaml"));
    let predicted = |flags: &str| {
        let explanation: Explanation = serde_json::from_str(&printed(flags)).unwrap();
        let described = explanation.survivors.into_iter().find(|one| one.id == "as-described");
        (explanation.observations.figures[0].in_flight, described.map(|of| of.residuals[0].predicted_bytes_per_s))
    };
    // One request in flight gives a third of the ceiling of 52.1 MiB/s.
    let (in_flight, alone) = predicted(&format!("{flags} --concurrent 1"));
    assert_eq!(in_flight, Some(1));
    let alone = alone.expect("it fits") / 1_048_576.0;
    assert!((15.0..21.0).contains(&alone), "{alone}");
    let (in_flight, full) = predicted(&flags);
    assert!(in_flight.is_none() && full.is_none_or(|full| full / 1_048_576.0 > 50.0), "{full:?}");
    let output = run(&format!("explain --site {} --nodes x.csv --concurrent 1", site("namespaces-4.yaml")));
    assert_eq!(output.status.code(), Some(2), "{}", shown(&output));
}

#[test]
fn two_causes_that_fit_equally_are_both_told_with_what_tells_them_apart() {
    let flags = format!("explain --site {} --observed get=152GiB/s,put=81GiB/s", site("source-000-56.yaml"));
    let explanation: Explanation = serde_json::from_str(&printed(&format!("{flags} --format json"))).unwrap();
    assert!(explanation.survivors.len() >= 2, "{}", explanation.survivors.len());
    let weights: f64 = explanation.survivors.iter().map(|hypothesis| hypothesis.weight).sum();
    let weights = weights + explanation.none_of_these;
    assert!((weights - 1.0).abs() < 1e-6, "{weights}");
    let text = printed(&flags);
    let reading = &explanation.separator.as_ref().expect("something tells them apart").reading;
    assert!(
        text.contains("hypotheses fit what was observed") && text.contains(&format!("read next    {reading}")),
        "{text}"
    );
    assert!(text.lines().count() < 150, "{}", text.lines().count());
}

#[test]
fn a_run_gives_its_best_at_its_size_and_one_of_another_target_nothing() {
    let folder = tempdir().unwrap();
    let recorded = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/warp-get.csv.zst");
    let path = folder.path().join("run");
    printed(&format!("import warp {} -o {}", recorded.display(), path.display()));
    let view = running::view(&path);
    let best = view.series[0].best().unwrap().mean;
    let in_flight = view.series[0].typical().map(|point| u64::from(point.concurrency));
    let flags = format!("explain --site {} --run {} --format json", site("namespaces-4.yaml"), path.display());
    let explanation: Explanation = serde_json::from_str(&printed(&flags)).unwrap();
    let figures = &explanation.observations.figures;
    assert_eq!((figures.len(), &figures[0].what, figures[0].in_flight), (1, &Quantity::Get, in_flight));
    assert!((figures[0].bytes_per_s / best - 1.0).abs() < 1e-9, "{figures:?}");
    let output = run(&format!("{flags} --obj.size 1MiB"));
    assert_eq!(output.status.code(), Some(2), "{}", shown(&output));
    assert!(shown(&output).contains("no GET or PUT of 1 MiB"), "{}", shown(&output));
    let own = folder.path().join("own");
    let bench = "--target null --op get --obj.size 64KiB --concurrent 2 --duration 300ms --warmup 0s --no-ceiling";
    running::bench_view(&own, bench);
    let output = run(&format!("explain --site {} --run {}", site("namespaces-4.yaml"), own.display()));
    assert_eq!(output.status.code(), Some(2), "{}", shown(&output));
    assert!(shown(&output).contains("linerate's own null target"), "{}", shown(&output));
}
