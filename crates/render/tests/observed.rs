//! What watches a site, and what brings it to a cluster: expressions that Prometheus reads, of metrics that are there,
//! with the plan's figures; Applications that have each file once.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use linerate_record::site::Site;
use linerate_render::entry_variant::EntryVariant;
use linerate_render::{RenderRequest, RenderedFile, Rendering, metrics_token, render};
use serde_json::Value;

use crate::promql::Expression;

fn text(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../../examples/{name}-kubernetes.yaml"));
    fs::read_to_string(path).expect("a site")
}

fn site(text: &str) -> Site {
    linerate_site::read(text, "site.yaml").expect("a site")
}

fn rendered(text: &str, variant: Option<EntryVariant>) -> Rendering {
    render(&site(text), &RenderRequest { variant, seed: 1, ..RenderRequest::default() }).expect("files")
}

fn documents(files: &[RenderedFile], begin: &str) -> Vec<Value> {
    let yaml = files.iter().filter(|file| file.path.ends_with(".yaml") && file.path.starts_with(begin));
    yaml.flat_map(|file| {
        let read: Result<Vec<Value>, _> = serde_saphyr::from_multiple(&file.text);
        read.unwrap_or_else(|error| panic!("{}: {error}", file.path))
    })
    .collect()
}

fn of_kind<'d>(documents: &'d [Value], kind: &str) -> Vec<&'d Value> {
    documents.iter().filter(|document| document["kind"] == kind).collect()
}

/// All expressions: of rules by what they make or are called, of the dashboard by its panels.
fn expressions(files: &[RenderedFile]) -> Vec<(String, String)> {
    let documents = documents(files, "observation/");
    let mut all = Vec::new();
    for rule in of_kind(&documents, "PrometheusRule") {
        for group in rule["spec"]["groups"].as_array().expect("groups") {
            for rule in group["rules"].as_array().expect("rules") {
                let name = rule["alert"].as_str().or_else(|| rule["record"].as_str()).expect("a name");
                all.push((name.to_owned(), rule["expr"].as_str().expect("an expression").to_owned()));
            }
        }
    }
    for panel in dashboard(files)["panels"].as_array().expect("panels") {
        for target in panel["targets"].as_array().expect("targets") {
            let title = panel["title"].as_str().expect("a title");
            all.push((title.to_owned(), target["expr"].as_str().expect("an expression").to_owned()));
        }
    }
    all
}

fn dashboard(files: &[RenderedFile]) -> Value {
    let documents = documents(files, "observation/dashboard.yaml");
    assert_eq!(documents[0]["metadata"]["labels"]["grafana_dashboard"], "1");
    let data = documents[0]["data"].as_object().expect("data");
    let (name, text) = data.iter().next().expect("a dashboard");
    assert!(name.ends_with(".json") && data.len() == 1, "{name}");
    serde_json::from_str(text.as_str().expect("a text")).expect("JSON")
}

/// Each metric that is used, and who has it: node-exporter 1.9, MinIO's version 3 (`cmd/metrics-v3-*.go`), Cilium 1.18
/// (`pkg/metrics/metrics.go`, `pkg/bgpv1/metrics/metrics.go`), Prometheus itself, or the rules.
const METRICS: [(&str, &str); 24] = [
    ("cilium_bgp_control_plane_session_state", "cilium"),
    ("cilium_bpf_map_pressure", "cilium"),
    ("linerate:drive:ceiling_ratio", "rules"),
    ("linerate:link_receive:ceiling_ratio", "rules"),
    ("linerate:link_transmit:ceiling_ratio", "rules"),
    ("minio_api_requests_traffic_received_bytes", "minio"),
    ("minio_api_requests_traffic_sent_bytes", "minio"),
    ("minio_cluster_erasure_set_online_drives_count", "minio"),
    ("minio_cluster_erasure_set_write_quorum", "minio"),
    ("node_bonding_active", "node-exporter: bonding"),
    ("node_disk_read_bytes_total", "node-exporter: diskstats"),
    ("node_disk_written_bytes_total", "node-exporter: diskstats"),
    ("node_filesystem_size_bytes", "node-exporter: filesystem"),
    ("node_netstat_Tcp_OutSegs", "node-exporter: netstat"),
    ("node_netstat_Tcp_RetransSegs", "node-exporter: netstat"),
    ("node_network_mtu_bytes", "node-exporter: netclass"),
    ("node_network_receive_bytes_total", "node-exporter: netdev"),
    ("node_network_speed_bytes", "node-exporter: netclass"),
    ("node_network_transmit_bytes_total", "node-exporter: netdev"),
    ("node_pressure_cpu_waiting_seconds_total", "node-exporter: pressure"),
    ("node_pressure_io_waiting_seconds_total", "node-exporter: pressure"),
    ("node_timex_sync_status", "node-exporter: timex"),
    ("node_uname_info", "node-exporter: uname"),
    ("up", "prometheus"),
];

#[test]
fn every_expression_is_one_of_promql_over_metrics_that_somebody_has() {
    let mut used = BTreeSet::new();
    let four = text("minio-8");
    let one_rack = four.replace("  racks: 4\n", "");
    let mut sites = vec![rendered(&text("rustfs-4"), None)];
    for variant in EntryVariant::ALL {
        sites.push(rendered(if variant == EntryVariant::B { &one_rack } else { &four }, Some(variant)));
    }
    for rendering in sites {
        let records: BTreeSet<String> = expressions(&rendering.files).into_iter().map(|(name, _)| name).collect();
        for (name, expr) in expressions(&rendering.files) {
            let read = Expression::read(&expr).unwrap_or_else(|error| panic!("{name}: {error}: {expr}"));
            for metric in read.metrics {
                let (_, exporter) =
                    METRICS.iter().find(|(known, _)| *known == metric).unwrap_or_else(|| panic!("{name}: {metric}"));
                assert!(*exporter != "rules" || records.contains(&metric), "{name}: nobody records {metric}");
                used.insert(metric);
            }
        }
    }
    let known: BTreeSet<String> = METRICS.iter().map(|(name, _)| (*name).to_owned()).collect();
    assert_eq!(used, known);
}

#[test]
fn alerts_have_the_figures_of_the_plan() {
    let rendering = rendered(&text("minio-8"), None);
    let all = expressions(&rendering.files);
    let expressions_named = |name: &str| -> Vec<&str> {
        all.iter().filter(|(one, _)| one == name).map(|(_, expr)| expr.as_str()).collect()
    };
    let weighed = rendering.weighed.iter().find(|one| one.variant == rendering.choice.variant).unwrap();
    let half = format!("< {:.0} and", weighed.get.bytes_per_s.min(weighed.put.bytes_per_s) / 2.0);
    assert!(expressions_named("LinerateBelowPlan")[0].contains(&half), "{half}");
    // Two ports of 25 and of 100 Gb/s.
    assert!(
        expressions_named("LinerateLinkSlow")
            .iter()
            .map(|e| e.rsplit(' ').next().unwrap())
            .eq(["6250000000", "25000000000"])
    );
    assert!(expressions_named("LinerateBondMemberMissing").iter().all(|expr| expr.ends_with("< 2")));
    assert!(expressions_named("LinerateMtuDiffers").iter().all(|expr| expr.ends_with("!= 9000")));
    assert!(
        expressions_named("LinerateSetDrivesOffline")[0].ends_with("< 16")
            && expressions_named("LinerateDrivesNotMounted")[0].ends_with("< 4")
    );
    assert!(
        expressions_named("LinerateNodesNotObserved")[0].ends_with("< 8")
            && expressions_named("LinerateEngineNotObserved")[0].ends_with("< 8")
    );
    // An active-backup bond sends by one member, and a frame of 1500 bytes has 14 counted and 24 uncounted ones.
    let backup = text("minio-8")
        .replace("{link: bond0, mtu: 9000}", "{link: bond0, mtu: 1500}")
        .replace("nics: nic0, transmit_hash: layer3+4", "nics: nic0, mode: active-backup");
    let backup = expressions(&rendered(&backup, None).files);
    let share = backup.iter().find(|(name, _)| name == "linerate:link_transmit:ceiling_ratio").unwrap();
    assert!(share.1.ends_with(&format!(" / {:.0}", 25e9 / 8.0 * 1514.0 / 1538.0)), "{}", share.1);
    // What the engine says of itself is asked of MinIO alone, and sessions where there are some.
    let rustfs = expressions(&rendered(&text("rustfs-4"), None).files);
    assert!(rustfs.iter().all(|(name, expr)| !expr.contains("minio") && !name.contains("Bgp")));
    let unprotected = text("minio-8").replace("tls: true}", "tls: true, protection: EC:0}").replace("  racks: 4\n", "");
    let unprotected = expressions(&rendered(&unprotected, None).files);
    assert!(unprotected.iter().all(|(name, _)| name != "LinerateSetAtItsLimit"), "always at its limit");
}

#[test]
fn monitors_find_what_is_rendered() {
    let files = rendered(&text("minio-8"), None).files;
    let (engine, watching) = (documents(&files, "engine/"), documents(&files, "observation/"));
    let monitor = of_kind(&watching, "ServiceMonitor")[0];
    let labels = monitor["spec"]["selector"]["matchLabels"].as_object().unwrap();
    let services = of_kind(&engine, "Service");
    let has = |service: &&&Value| labels.iter().all(|(key, value)| &service["metadata"]["labels"][key] == value);
    let found: Vec<&&Value> = services.iter().filter(has).collect();
    assert_eq!(found.len(), 1, "one service has each pod once");
    assert_eq!(found[0]["metadata"]["name"], "minio-hl");
    assert_eq!(found[0]["metadata"]["namespace"], monitor["metadata"]["namespace"]);
    let mut paths = BTreeSet::new();
    for endpoint in monitor["spec"]["endpoints"].as_array().unwrap() {
        assert_eq!((&endpoint["port"], &endpoint["scheme"]), (&found[0]["spec"]["ports"][0]["name"], &"https".into()));
        assert!(paths.insert(endpoint["path"].as_str().unwrap()), "{endpoint}");
        let token = &endpoint["authorization"]["credentials"];
        let secret: Value = serde_saphyr::from_str(&metrics_token(&site(&text("minio-8")), "word").unwrap()).unwrap();
        assert_eq!(token["name"], secret["metadata"]["name"]);
        assert_eq!(secret["stringData"][token["key"].as_str().unwrap()], "word");
        assert_eq!(secret["metadata"]["namespace"], monitor["metadata"]["namespace"]);
    }
    assert!(watching.iter().filter(|one| one["kind"] == "PodMonitor").count() == 3);
    let rustfs = documents(&rendered(&text("rustfs-4"), None).files, "observation/");
    assert!(of_kind(&rustfs, "ServiceMonitor").is_empty(), "RustFS has nothing to be scraped");
    assert!(metrics_token(&site(&text("rustfs-4")), "word").is_none());
    let values = documents(&files, "cilium/values.yaml");
    assert_eq!(values[0]["prometheus"]["enabled"], true);
}

#[test]
fn a_dashboard_has_the_ceilings_as_lines_and_panels_side_by_side() {
    for name in ["minio-8", "rustfs-4"] {
        let rendering = rendered(&text(name), None);
        let dashboard = dashboard(&rendering.files);
        assert_eq!((&dashboard["uid"], &dashboard["schemaVersion"]), (&format!("linerate-{name}").into(), &42.into()));
        let panels = dashboard["panels"].as_array().unwrap();
        let (mut places, mut ids) = (BTreeSet::new(), BTreeSet::new());
        for panel in panels {
            let place = |key: &str| panel["gridPos"][key].as_u64().unwrap();
            assert!(place("x") + place("w") <= 24 && places.insert((place("y"), place("x"))), "{panel}");
            assert!(ids.insert(panel["id"].as_u64()) && !panel["description"].as_str().unwrap().is_empty());
        }
        let constant: BTreeSet<&str> = panels
            .iter()
            .flat_map(|panel| panel["targets"].as_array().unwrap())
            .filter(|target| target["legendFormat"].as_str().unwrap().starts_with("plan"))
            .map(|target| target["expr"].as_str().unwrap())
            .collect();
        assert!(constant.iter().all(|expr| expr.starts_with("vector(")), "{constant:?}");
        let weighed = rendering.weighed.iter().find(|one| one.variant == rendering.choice.variant).unwrap();
        let get = format!("vector({:.0})", weighed.get.bytes_per_s);
        assert_eq!(constant.contains(get.as_str()), name == "minio-8", "{get} {constant:?}");
    }
    let odd = text("minio-8")
        .replace("name: minio-8\n", "name: Cluster_of.a.site-with-a-name-that-is-as-long-as-one-may-be\n");
    let uid = dashboard(&rendered(&odd, None).files)["uid"].as_str().unwrap().to_owned();
    assert!(uid.len() <= 40 && uid == dashboard(&rendered(&odd, None).files)["uid"], "{uid}");
}

#[test]
fn without_their_keys_nothing_of_them_is_there() {
    let bare: String = text("minio-8")
        .lines()
        .filter(|l| !l.starts_with("  git:") && !l.starts_with("  observation:"))
        .fold(String::new(), |all, line| all + line + "\n");
    let files = rendered(&bare, None).files;
    let begins = |begin: &str| files.iter().any(|file| file.path.starts_with(begin));
    assert!(!begins("argocd/") && !begins("observation/") && begins("engine/"));
    assert!(!files.iter().any(|file| file.text.contains("observation")), "nothing refers to what is not there");
    let watched = text("minio-8")
        .lines()
        .filter(|line| !line.starts_with("  observation:"))
        .fold(String::new(), |all, line| all + line + "\n");
    let files = rendered(&watched, None).files;
    let names = applications(&files).into_keys().collect::<Vec<_>>();
    assert!(names.iter().all(|name| !name.ends_with("observation")) && names.len() > 3, "{names:?}");
}

/// The Applications by their names.
fn applications(files: &[RenderedFile]) -> BTreeMap<String, Value> {
    let documents = documents(files, "argocd/");
    let all = of_kind(&documents, "Application").into_iter();
    all.map(|one| (one["metadata"]["name"].as_str().expect("a name").to_owned(), one.clone())).collect()
}

#[test]
fn applications_have_each_file_of_resources_once_in_waves() {
    // Of one rack, and of enough volumes for several files of it.
    let large = text("minio-8")
        .replace("  count: 8\n  racks: 4\n", "  count: 160\n")
        .replace("drives: {count: 4,", "drives: {count: 20,")
        .replace("node{01...08}", "node{001...160}")
        .replace("/data{1...4}", "/data{1...20}");
    for (text, parts) in [(text("minio-8"), 4), (large, 2)] {
        let files = rendered(&text, None).files;
        let applications = applications(&files);
        let mut taken: BTreeSet<String> = BTreeSet::new();
        for (name, application) in &applications {
            assert!(application["metadata"].get("finalizers").is_none(), "{name} would delete");
            assert_eq!(application["spec"]["syncPolicy"]["automated"]["prune"], false, "{name}");
            let source = &application["spec"]["source"];
            assert_eq!(
                (&source["repoURL"], &source["targetRevision"]),
                (&"https://git.example.com/storage.git".into(), &"main".into())
            );
            let path = source["path"].as_str().unwrap().strip_prefix("clusters/one/").unwrap();
            let wave = application["metadata"]["annotations"]["argocd.argoproj.io/sync-wave"].as_str();
            match path {
                "argocd" => continue,
                "storage" => {
                    let file = format!("storage/{}", source["directory"]["include"].as_str().unwrap());
                    let text = &files.iter().find(|one| one.path == file).expect("a file").text;
                    let count = |what: &str| text.lines().filter(|line| line.trim() == what).count();
                    let volumes = count("kind: PersistentVolume");
                    assert!(volumes <= 2_500 && (volumes > 0 || file.contains("classes")), "{name}: {volumes}");
                    assert_eq!(count("argocd.argoproj.io/sync-options: Prune=false,Delete=false"), volumes, "{name}");
                    assert!(taken.insert(file), "{name}");
                    assert_eq!(wave, Some("0"));
                }
                folder => {
                    assert!(files.iter().any(|file| file.path == format!("{folder}/kustomization.yaml")), "{name}");
                    assert_eq!(
                        wave,
                        Some(match folder {
                            "engine" => "2",
                            "observation" => "3",
                            _ => "1",
                        })
                    );
                }
            }
        }
        let storage: BTreeSet<String> = files
            .iter()
            .filter(|file| file.path.starts_with("storage/") && !file.path.ends_with("kustomization.yaml"))
            .map(|file| file.path.clone())
            .collect();
        assert_eq!((&taken, storage.len()), (&storage, parts + 1));
        let all = |path: &str| documents(&files, path)[0]["resources"].as_array().unwrap().clone();
        assert!(!all("kustomization.yaml").contains(&"argocd".into()), "kubectl apply needs no Argo CD");
        assert!(!all("argocd/kustomization.yaml").contains(&"root.yaml".into()), "it would be its own part");
    }
}
