//! `linerate plan` and `linerate explain`, end to end over the sites in `examples`.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Output;

use linerate_analysis::view::View;
use linerate_record::explanation::{Explanation, Observations, Observed, Quantity};
use linerate_record::plan::Plan;
use linerate_record::site::Site;
use linerate_record::units::duration_ns;
use tempfile::tempdir;

use crate::running;
use crate::running::{Served, bench, linerate, shown, words};

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
        let (text, why) = (printed(&format!("plan {path}")), printed(&format!("plan {path} --why")));
        for work in &plan.works {
            let ceilings: Vec<f64> = work.ceilings.iter().map(|c| c.limit_bytes_per_s).collect();
            assert!(!ceilings.is_empty() && ceilings.is_sorted(), "{path}: {ceilings:?}");
            let lowest = linerate_record::units::bytes_per_s_iec(ceilings[0]);
            assert!(text.contains(&format!(": at most {lowest}")), "{path}: {text}");
            let knee = &work.curve.as_ref().expect("something limits it").knee;
            let latency = format!("{} each", duration_ns(knee.latency_ns));
            assert!(knee.share >= 0.9 && text.contains(" % at ") && why.contains(&latency), "{path}: {text}");
        }
        assert!(text.lines().count() <= 20, "{path}: {text}");
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
    assert!(printed(&format!("plan {}", path.display())).contains("bottleneck: "));
    let schema: serde_json::Value = serde_json::from_str(&printed("plan --schema")).unwrap();
    assert_eq!(schema["$schema"], "https://json-schema.org/draft/2020-12/schema");
}

#[test]
fn a_plan_answers_in_about_ten_lines_and_says_how_much_is_left() {
    let folder = tempdir().unwrap();
    let example = folder.path().join("site.yaml");
    fs::write(&example, printed("plan --example")).unwrap();
    let text = printed(&format!("plan {}", example.display()));
    assert!(text.lines().count() <= 12, "{text}");
    for part in [
        "▸ GET 24 MiB: at most 52.7 GiB/s (452 Gb/s); bottleneck: rack uplinks",
        "90 % at 216 in flight",
        "▸ PUT 24 MiB: at most 5.67 GiB/s (48.7 Gb/s); bottleneck: the one entry node",
        "failures tolerated: any 4 drives, 4 nodes, 1 rack",
        "goals    out of reach: GET 60.0 GiB/s, PUT 20.0 GiB/s, p99 100 ms (GET, PUT)",
        "--why    5 more findings, ",
    ] {
        assert!(text.contains(part), "{part:?} in {text}");
    }
    // What the lines leave out is behind --why.
    let why = printed(&format!("plan {} --why", example.display()));
    assert!(why.contains("rebuild") && why.contains("headroom"), "{why}");
    for name in ["minio-i3en-32.yaml", "source-000-484-separate.yaml", "source-000-overlay.yaml"] {
        let text = printed(&format!("plan {}", site(name)));
        assert!(text.lines().count() <= 14, "{name}: {text}");
    }
}

#[test]
fn a_site_that_never_ends_is_one_error_and_no_wait() {
    for flags in [
        "plan /dev/zero",
        "plan /dev/urandom",
        "explain --site /dev/zero --observed get=1GiB/s",
        "audit --site /dev/zero",
        "tune diff --site /dev/zero",
        "experiment analyze /dev/zero",
        "bench --config /dev/zero",
    ] {
        let output = run(flags);
        assert_ne!(output.status.code(), Some(0), "{flags}: {}", shown(&output));
        let reported = shown(&output);
        assert!(reported.contains("/dev/") && reported.contains("it is too large: at most"), "{flags}: {reported}");
        assert_eq!(reported.matches("error:").count(), 1, "{flags}: {reported}");
    }
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
fn whole_copies_have_one_name_wherever_they_are_told() {
    let folder = tempdir().unwrap();
    let path = folder.path().join("copies.yaml");
    let coded = fs::read_to_string(site("ceph-rgw-12.yaml")).unwrap();
    fs::write(&path, coded.replacen("protection: 2+2", "protection: 3x", 1)).unwrap();
    let need = "--need usable=1PB --tolerate drives=2,nodes=1 --nodes 3..12";
    for format in ["text", "text --why", "html", "json"] {
        let reported = printed(&format!("plan {} {need} --format {format}", path.display()));
        for other in ["whole cop", "1 + 2", "1+2", "1 data + 2 parity"] {
            assert!(!reported.contains(other), "{format}: {other:?}: {reported}");
        }
        assert!(reported.contains("3 copies"), "{format}: {reported}");
    }
}

#[test]
fn uplinks_of_racks_have_one_name_wherever_they_are_told() {
    let folder = tempdir().unwrap();
    let path = folder.path().join("racks.yaml");
    fs::write(&path, printed("plan --example")).unwrap();
    let plan = printed(&format!("plan {} --why", path.display()));
    let explanation = printed(&format!("explain --site {} --observed get=60GiB/s --why", path.display()));
    for text in [plan, explanation] {
        let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(text.contains("rack uplinks, to the spines"), "{text}");
        for other in ["racks' uplinks, upwards", "uplinks of racks", "towards spines"] {
            assert!(!text.contains(other), "{other}: {text}");
        }
    }
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
        let reported = shown(&output);
        let (first, rest) = reported.split_once('\n').unwrap();
        assert!(
            first.starts_with("error: ") && first.contains("site.yaml:") && first.contains("\"lacp\""),
            "{reported}"
        );
        assert!(rest.contains("lacp") && rest.contains("^^^^") && rest.contains("802.3ad"), "{reported}");
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
    let twice = file("c.csv", "node,get\nn1,40GB/s\nn1,1GB/s\nn2,x\n");
    let twice_read = file("d.csv", "node,get\nn1,40GB/s\nn1,1GB/s\n");
    let four = self::site("namespaces-4.yaml");
    let no_figure = file("f.csv", "node,get\nnode1,\n");
    let ragged = file("e.csv", "node,get\nnode1,9MB/s\nnode2\nnode3,9MB/s,8MB/s\n\nnode4,x\n");
    let unknown = file("g.csv", "node,get,gets,GET\nnode1,9MB/s,1,2\n");
    for (flags, expected) in [
        (format!("explain --site {four} --nodes {twice_read}"), "3 mistakes"),
        (format!("explain --site {four} --nodes {twice_read}"), "\"get@n1\" is given twice"),
        (format!("explain --site {four} --nodes {twice_read}"), "\"eth0\" of that node runs at 200 Mb/s"),
        (format!("explain --site {four} --nodes {twice}"), "c.csv:4: "),
        (
            format!("explain --site {four} --observed get@a=1MB/s,get@b=1MB/s,get@c=1MB/s,put@d=1MB/s,put@e=1MB/s"),
            "figures of 5 nodes and the site has 4: \"a\", \"b\"",
        ),
        (
            format!("explain --site {four} --observed get=10MB/s,get@a=8MB/s,get@b=8MB/s"),
            "is not what 2 nodes give together, 15.3 MiB/s",
        ),
        (format!("explain --site {four} --nodes {ragged}"), "3 mistakes"),
        (format!("explain --site {four} --nodes {ragged}"), "e.csv:3: 1 cell in \"node2\", but the first line names 2"),
        (format!("explain --site {four} --nodes {ragged}"), "e.csv:4: 3 cells in \"node3,9MB/s,8MB/s\""),
        (format!("explain --site {four} --nodes {ragged}"), "write node,get, with nothing between commas"),
        (format!("explain --site {four} --nodes {ragged}"), "e.csv:6: invalid rate of bytes \"x\""),
        (
            format!("explain --site {four} --observed get=40MB/s --nodes-alone"),
            "per-node figures, and there are none: give them with --nodes FILE",
        ),
        (format!("explain --site {four} --nodes {no_figure}"), "f.csv:1: no figure below the first line: write lines"),
        ("plan".to_owned(), "required"),
        (format!("plan {site} --example"), "cannot be used with"),
        (format!("plan {site} --mix get=70"), "such as get=70,put=30"),
        (format!("plan {site} --nodes 9..4"), "such as 1..484"),
        (format!("plan {site} --need get=fast"), "invalid need \"get=fast\""),
        (format!("plan {site} --need usable=10000PB"), "invalid need \"usable=10000PB\""),
        (format!("plan {site} --need usable=10000PB"), "below 8EiB"),
        (format!("plan {site} --need get=1GB/s --tolerate drives=65"), "from 0 to 64"),
        (format!("plan {site} --obj.size 0"), "object size \"0\" is out of range: give 1B to 50"),
        (format!("plan {site} --obj.size 51TiB"), "object size \"51TiB\" is out of range"),
        (format!("explain --site {site} --observed get=1GB/s --obj.size 0"), "object size \"0\" is out of range"),
        (format!("explain --site {site} --observed get=1GB/s --obj.size 1EiB"), "object size \"1EiB\" is out of"),
        (format!("plan {site} --mix get=1e308,put=1e308"), "invalid mix \"get=1e308,put=1e308\""),
        (
            format!("explain --site {site}"),
            "no figures given: give --observed get=152GiB/s, --nodes FILE with per-node figures, --run RUN, or",
        ),
        (
            format!("explain --site {four} --nodes {twice_read} --concurrent 4"),
            "--concurrent belongs to --observed, and",
        ),
        (format!("explain --site {four} --nodes {unknown}"), "2 mistakes"),
        (format!("explain --site {four} --nodes {unknown}"), "g.csv:1: unknown column \"gets\": leave it out, the"),
        (format!("explain --site {four} --nodes {unknown}"), "g.csv:1: column \"GET\" occurs twice: keep one"),
        (format!("explain --site {site} --observed get=152"), "capital B"),
        (format!("explain --site {site} --observed gett=1GB/s,put=1 --observed get@=2GB/s"), "2 mistakes"),
        (format!("explain --site {site} --observed gett=1GB/s,put=1"), "unknown figure \"gett\" in \"gett=1GB/s\""),
        (format!("explain --site {site} --observed gett=1GB/s,put=1"), "invalid rate of bytes \"1\""),
        (format!("explain --site {four} --observed get=1 --nodes {ragged}"), "4 mistakes"),
        (format!("explain --site {four} --observed get=1 --nodes no-such.csv"), "invalid rate of bytes \"1\""),
        (format!("explain --site {site} --observed get=1GB/s,get=2GB/s"), "\"get\" is given twice"),
        (format!("explain --site {site} --nodes {no_node}"), "a.csv:1: no column \"node\""),
        (format!("explain --site {site} --nodes {bad_rate}"), "of bytes \"1Gb/s\": that is 125MB/s"),
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
    let node_get = |n: u32| Quantity::NodeGet { node: format!("node{n}") };
    let whats: Vec<&Quantity> = figures.iter().map(|figure| &figure.what).collect();
    let put = Quantity::NodePut { node: "node1".to_owned() };
    assert_eq!(whats, [&Quantity::Get, &Quantity::Put, &node_get(1), &put, &node_get(2)]);
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
    let reading = &explanation.separator.as_ref().expect("something tells them apart").reading;
    for (text, lead, lines) in
        [(printed(&flags), "read next  ", 14), (printed(&format!("{flags} --why")), "read next    ", 150)]
    {
        assert!(text.contains("totals name no cause: 4 of 9 families remain"), "{text}");
        assert!(text.contains(&format!(" {lead}{reading}")), "{text}");
        assert!(text.lines().count() <= lines, "{text}");
    }
}

#[test]
fn an_explanation_answers_in_fourteen_lines_and_says_how_much_is_left() {
    let requested = [
        ("source-000-56.yaml", "get=152GiB/s,put=81GiB/s"),
        ("source-000-56.yaml", "get=300GiB/s,put=220GiB/s"),
        ("source-000-484-shared.yaml", "get=300GiB/s,put=220GiB/s"),
        ("namespaces-4.yaml", "get@node1=16MiB/s,get@node2=16MiB/s,get@node3=8.2MiB/s"),
        ("namespaces-4.yaml", "get=900GiB/s"),
    ];
    for (name, figures) in requested {
        let flags = format!("explain {} --observed {figures}", site(name));
        let (brief, why) = (printed(&flags), printed(&format!("{flags} --why")));
        assert!(brief.lines().count() <= 14, "{name}, {figures}: {brief}");
        assert!(why.lines().count() > brief.lines().count() + 5, "{name}, {figures}: {why}");
        let explanation: Explanation = serde_json::from_str(&printed(&format!("{flags} --format json"))).unwrap();
        for (place, kind) in explanation.kinds.iter().take(2).filter(|kind| kind.weight > 0.01).enumerate() {
            // The weight of its first, as with --why; that of all that are alike stands beside it.
            let first = kind.survivors[0];
            let lead = format!(" {:>2}  {:>3.0} %", first + 1, explanation.survivors[first].weight * 100.0);
            assert!(brief.contains(&lead), "{place}: {lead:?} in {brief}");
            let together = format!("alike, together {:.0} %", kind.weight * 100.0);
            let words = brief.split_whitespace().collect::<Vec<_>>().join(" ");
            assert!(kind.survivors.len() == 1 || words.contains(&together), "{place}: {together:?} in {brief}");
        }
        assert!(brief.contains("\n --why     "), "{brief}");
    }
}

/// Every site in `examples`, with its name.
fn example_sites() -> Vec<(String, Site)> {
    let mut paths: Vec<PathBuf> =
        fs::read_dir(examples()).expect("examples").map(|entry| entry.expect("an entry").path()).collect();
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "yaml"));
    paths.sort();
    assert!(paths.len() > 10, "{paths:?}");
    let site = |path: PathBuf| {
        let text = fs::read_to_string(&path).expect("it is read");
        let site = linerate_site::read(&text, "examples").expect("a site");
        (path.display().to_string(), site)
    };
    paths.into_iter().map(site).collect()
}

/// What is explained of a site that gives such shares of its ceilings of GET and PUT.
fn explained_at(site: &Site, (get, put): (f64, f64), in_flight: Option<u64>) -> Explanation {
    let observed = |what, bytes_per_s| Observed { what, bytes_per_s, error_share: None, in_flight };
    let none = Observations { figures: Vec::new(), error_share: 0.02, nodes_alone: false };
    let described = &linerate_model::explain::singles(site, &none).expect("hypotheses")[0];
    let (get, put) = (get * described.get.even_bytes_per_s, put * described.put.even_bytes_per_s);
    let figures = vec![observed(Quantity::Get, get), observed(Quantity::Put, put)];
    linerate_model::explain::explain(site, &Observations { figures, ..none }).expect("an explanation")
}

/// From what a fault leaves to what no hypothesis allows.
const SHARES: [(f64, f64); 12] = [
    (0.16, 0.16),
    (0.21, 0.21),
    (0.5, 0.36),
    (0.36, 0.9),
    (0.7, 0.7),
    (0.9, 0.9),
    (0.95, 0.5),
    (1.0, 1.0),
    (1.04, 0.9),
    (0.9, 1.07),
    (1.4, 1.4),
    (3.0, 0.5),
];

#[test]
fn fourteen_lines_of_80_columns_answer_for_every_site_at_any_share_of_its_ceilings() {
    const WIDTH: usize = 80;
    for (name, site) in example_sites() {
        let unknown = SHARES.iter().map(|shares| (shares, None));
        for (shares, in_flight) in unknown.chain(SHARES.iter().step_by(4).map(|shares| (shares, Some(64)))) {
            let explanation = explained_at(&site, *shares, in_flight);
            let look = linerate_report::terminal::TextStyle { color: false, width: WIDTH, whole: false };
            let text = linerate_report::explanation::text(&explanation, false, look);
            assert!(text.lines().count() <= 14, "{name} at {shares:?} with {in_flight:?}:\n{text}");
            assert!(text.lines().all(|line| line.chars().count() <= WIDTH), "{name} at {shares:?}:\n{text}");
            let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
            // What refutes the description: the resource, what is needed of it, and what is there.
            for figure_row in explanation.described.iter().filter(|figure_row| figure_row.above_sigmas.is_some()) {
                let resource = figure_row.ceilings[0].resource;
                let [needed, there] = [figure_row.needed, figure_row.there].map(|of| resource.amount(of));
                assert!(
                    figure_row.needs.contains(&needed) && figure_row.needs.ends_with(&there),
                    "{name}: {figure_row:?}"
                );
                assert!(words.contains(&figure_row.needs), "{name} at {shares:?}:\n{text}");
            }
            assert!(explanation.survivors.is_empty() || text.contains("\n  1 "), "{name} at {shares:?}:\n{text}");
        }
    }
}

/// Nine tenths of both ceilings are what many healthy systems reach, and how many requests were in flight nobody says.
#[test]
fn a_site_that_gives_nine_tenths_of_both_ceilings_is_as_described() {
    for (name, site) in example_sites() {
        for shares in [(0.97, 0.97), (0.93, 0.93), (0.9, 0.9), (0.88, 0.92)] {
            let explanation = explained_at(&site, shares, None);
            let leaders: Vec<String> =
                explanation.survivors.iter().take(3).map(|one| format!("{} {:.3}", one.id, one.weight)).collect();
            let first = explanation.survivors.first().map(|first| first.id.as_str());
            assert_eq!(first, Some("as-described"), "{name} at {shares:?}: {leaders:?}");
        }
    }
}

#[test]
fn a_run_gives_its_best_at_its_size_and_one_of_another_target_nothing() {
    let folder = tempdir().unwrap();
    let recorded = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/warp-get.csv.zst");
    let path = folder.path().join("run");
    printed(&format!("import warp {} -o {}", recorded.display(), path.display()));
    let view = running::view(&path);
    let best = view.series[0].best().unwrap().mean;
    let in_flight = view.series[0].best_point().map(|point| u64::from(point.concurrency));
    let flags = format!("explain --site {} --run {} --format json", site("namespaces-4.yaml"), path.display());
    let explanation: Explanation = serde_json::from_str(&printed(&flags)).unwrap();
    let figures = &explanation.observations.figures;
    assert_eq!((figures.len(), &figures[0].what, figures[0].in_flight), (1, &Quantity::Get, in_flight));
    assert!((figures[0].bytes_per_s / best - 1.0).abs() < 1e-9, "{figures:?}");
    // One host of four nodes is told, and so is an interval that there is none of, where no error is stated.
    let reported = |caveats: &[String], what: &str| caveats.iter().any(|caveat| caveat.contains(what));
    let unknown = view.series[0].best().unwrap().half_width_95.is_none();
    assert!(reported(&explanation.of_run, "the run loaded 1 host, and namespaces-4 has 4 nodes"), "{explanation:?}");
    assert_eq!(reported(&explanation.of_run, "no measuring error of GET"), unknown, "{:?}", explanation.of_run);
    let stated: Explanation = serde_json::from_str(&printed(&format!("{flags} --error 5%"))).unwrap();
    assert!(!reported(&stated.of_run, "no measuring error") && stated.observations.error_share == 0.05);
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

#[test]
fn explain_takes_its_site_as_plan_does() {
    let own = site("namespaces-4.yaml");
    let observed = "--observed get=48MiB/s";
    let (by_place, by_flag) = (format!("explain {own} {observed}"), format!("explain --site {own} {observed}"));
    assert_eq!(printed(&by_place), printed(&by_flag));
    for (args, reported) in [(format!("explain {observed}"), "<SITE>"), (format!("{by_flag} {own}"), "cannot be used")]
    {
        let output = run(&args);
        assert!(output.status.code() == Some(2) && shown(&output).contains(reported), "{}", shown(&output));
    }
}

/// MinIO's published 325 and 165 GiB/s on 32 × 100 Gb/s, as somebody types it. The figures by hand are in
/// docs/method/ceilings.md.
#[test]
fn clients_on_the_nodes_are_planned_and_explained_as_typed() {
    const OBSERVED: &str = "--observed get=325GiB/s,put=165GiB/s";
    let own = site("minio-i3en-32-self.yaml");
    let plan: Plan = serde_json::from_str(&printed(&format!("plan {own} --format json"))).unwrap();
    for (work, by_hand) in plan.works.iter().zip([380.53, 285.41]) {
        let gib_per_s = work.ceilings[0].limit_bytes_per_s / f64::from(1 << 30);
        assert!((gib_per_s / by_hand - 1.0).abs() < 0.002, "{gib_per_s}, by hand {by_hand}");
    }
    let (text, why) = (printed(&format!("plan {own} --need get=325GiB/s")), printed(&format!("plan {own} --why")));
    assert!(text.contains("clients on the nodes: each asks its own") && text.contains("at most 381 GiB/s"), "{text}");
    let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words(&text).contains("a client runs on each node, and the result is for these clients"), "{text}");
    assert!(why.contains("one on each storage node") && why.contains("a client's own work"), "{why}");
    assert!(words(&why).contains("the site's 32 × 20 = 640 give"), "{why}");

    let fits = |site: &str| {
        let json = printed(&format!("explain --site {site} {OBSERVED} --format json"));
        let explanation: Explanation = serde_json::from_str(&json).unwrap();
        explanation.survivors.iter().any(|one| one.id == "as-described")
    };
    let folder = tempdir().unwrap();
    let with = |from: &str, to: &str| {
        let path = folder.path().join("other.yaml");
        let text = fs::read_to_string(&own).unwrap();
        assert!(text.contains(from), "{from}");
        let entry = text.lines().find(|line| line.starts_with("entry:")).unwrap();
        fs::write(&path, text.replace(entry, "").replace(from, to)).unwrap();
        path.display().to_string()
    };
    assert!(fits(&own), "it is below both ceilings");
    assert!(!fits(&with("clients: {on: nodes}", "clients: {on: nodes} # each asks all")), "190 GiB/s at most");
    assert!(!fits(&with("clients: {on: nodes}", "")), "187 GiB/s at most");

    for (clients, reported) in [
        ("clients: {onn: nodes}", "did you mean \"on\"? Keys: on, count, racks"),
        ("clients: {on: nodes, count: 32}", "count of clients on the storage nodes"),
        ("clients: {on: nodes}\nentry: bgp", "write client-side if each client spreads its requests over all nodes"),
        ("entry: local", "write clients: {on: nodes}"),
    ] {
        let output = run(&format!("plan {}", with("clients: {on: nodes}", clients)));
        assert_eq!(output.status.code(), Some(2), "{clients}: {}", shown(&output));
        assert!(words(&shown(&output)).contains(reported), "{clients}: {}", shown(&output));
    }
}

/// What is given on the command line is stated: no other size of objects is suspected then.
#[test]
fn a_size_of_objects_that_is_given_is_not_taken_for_assumed() {
    let folder = tempdir().unwrap();
    let path = folder.path().join("site.yaml");
    let text = "nodes:\n  count: 8\n  cores: 256\n  drives: {count: 8, capacity: 7.68TB, read: 6.5GB/s, write: 3GB/s}\n\
                \x20 nics: {ports: 2, speed: 25Gb/s}\nplanes:\n  public: {mtu: 9000}\nengine: minio\n";
    fs::write(&path, text).unwrap();
    let line = format!("explain --site {} --observed get=15GiB/s --obj.size 4KiB --format json", path.display());
    let reported: Explanation = serde_json::from_str(&printed(&line)).unwrap();
    let mut all = reported.survivors.iter().flat_map(|hypothesis| &hypothesis.deviations);
    assert!(all.all(|deviation| deviation.id != "object-size"), "{:?}", reported.survivors);
}

#[test]
fn a_run_is_held_against_what_its_site_can_do() {
    let folder = tempdir().unwrap();
    let target = Served::embedded(folder.path());
    let load = format!(
        "--host {} --op get,stat --obj.size 1MiB --concurrent 1,2 --duration 300ms --warmup 100ms \
         --no-ceiling",
        target.address
    );
    let path = folder.path().join("run");
    let output = bench(&path, &format!("{load} --site {}", site("namespaces-4.yaml")));
    assert!(output.status.success() && shown(&output).contains("   plan "), "{}", shown(&output));
    let plan = |name: &str| -> Plan {
        serde_json::from_str(&printed(&format!("plan {} --obj.size 1MiB --format json", site(name)))).unwrap()
    };
    let report = |flags: &str| printed(&format!("report {} {flags}", path.display()));
    // The folder keeps the site; another one can be named.
    for (flags, name) in [("", "namespaces-4.yaml"), ("--site SITE", "source-000-56.yaml")] {
        let flags = flags.replace("SITE", &site(name));
        let (view, plan): (View, Plan) =
            (serde_json::from_str(&report(&format!("--format json {flags}"))).unwrap(), plan(name));
        let held = view.series[0].predicted.as_ref().expect("a site was described");
        let ceiling = plan.works[0].ceilings[0].limit_bytes_per_s;
        assert_eq!((held.site.as_str(), held.ceiling_bytes_per_s), (plan.site.name.as_str(), ceiling), "{name}");
        let best = view.series[0].best().expect("it was measured").mean;
        let share = held.ceiling_share.expect("it was measured");
        assert!((share - best / ceiling).abs() < 1e-9 && held.points.len() > 3, "{held:?}");
        assert_eq!(view.series[1].predicted, None, "the model says nothing of STAT");
        let text = report(&flags);
        assert!(text.contains(&format!("{} can do ", plan.site.name)), "{text}");
    }
    // No folder keeps a secret in use, and what is no site is refused: both before anything begins.
    let secret = folder.path().join("secret.yaml");
    let text = fs::read_to_string(site("namespaces-4.yaml")).unwrap();
    fs::write(&secret, text.replace("name: namespaces-4", &format!("name: {}", running::SECRET_KEY))).unwrap();
    let output = bench(&folder.path().join("other"), &format!("{load} --site {}", secret.display()));
    assert_eq!(output.status.code(), Some(2), "{}", shown(&output));
    assert!(!folder.path().join("other").exists() && !shown(&output).contains(running::SECRET_KEY));
    assert!(shown(&output).contains("--site contains the secret key"), "{}", shown(&output));
    let wrong = folder.path().join("site.yaml");
    fs::write(&wrong, "nodes: {count: many}").unwrap();
    for load in [load.clone(), format!("{load} --dry-run")] {
        let other = folder.path().join("other");
        let output = bench(&other, &format!("{load} --site {}", wrong.display()));
        assert_eq!(output.status.code(), Some(2), "{}", shown(&output));
        assert!(shown(&output).contains("\"many\"") && !other.exists(), "{}", shown(&output));
    }
    // A run of something else is none of the site.
    let own = load.replace(&format!("--host {}", target.address), "--target embedded");
    let output = bench(&folder.path().join("other"), &format!("{own} --site {}", site("namespaces-4.yaml")));
    assert_eq!(output.status.code(), Some(2), "{}", shown(&output));
    assert!(shown(&output).contains("own embedded target is not part of namespaces-4"), "{}", shown(&output));
    let other = folder.path().join("own");
    assert!(bench(&other, &own).status.success());
    let output = run(&format!("report {} --site {}", other.display(), site("namespaces-4.yaml")));
    assert_eq!(output.status.code(), Some(2), "{}", shown(&output));
    assert!(shown(&output).contains("is not of this site: it loaded linerate's own embedded"), "{}", shown(&output));
}
