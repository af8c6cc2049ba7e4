//! What `linerate render` writes for others than Kubernetes: monitors and rules of Prometheus Operator and Applications
//! of Argo CD, held against their own definitions by a real API server, and rules and expressions by Prometheus's
//! promtool.

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use libtest_mimic::Failed;
use serde_json::{Value, json};

use super::accepted::HELD;
use super::kubernetes::Kubernetes;
use crate::running::{eventually_within, linerate, shown};

type Check = fn() -> Result<(), Failed>;

/// What holding resources of others against the server needs.
const WITH_DEFINITIONS: &[&str] = &[
    "a Kubernetes",
    "definitions of others",
    "root",
    "control groups of version 1",
    "ip",
    "unshare",
    "nsenter",
    "mount",
    "openssl",
    "curl",
];

/// The checks, with what each needs.
pub(crate) const CHECKS: [(&str, &[&str], Check); 2] = [
    ("prometheus_reads_all_rules_and_expressions_that_are_rendered", &["a reader of rules"], rules_are_read),
    ("kubernetes_accepts_what_watches_and_syncs", WITH_DEFINITIONS, others_are_accepted),
];

/// The definitions that `make test-system` has copied.
pub(crate) fn definitions() -> Option<PathBuf> {
    std::env::var_os("DEFINITIONS").map(PathBuf::from).filter(|path| path.is_dir())
}

/// Prometheus's own program that reads rules.
pub(crate) fn reader() -> Option<PathBuf> {
    let prometheus = std::env::var_os("PROMETHEUS").map(PathBuf::from)?;
    Some(prometheus.join("usr/bin/promtool")).filter(|path| path.is_file())
}

/// The folder of an example.
fn rendered(name: &str) -> Result<PathBuf, Failed> {
    let site = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../../examples/{name}-kubernetes.yaml"));
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("watched-{name}"));
    let _ = fs::remove_dir_all(&folder);
    let output = linerate().arg("render").arg(&site).arg("-o").arg(&folder).output()?;
    assert!(output.status.success(), "{}", shown(&output));
    Ok(folder)
}

fn documents(path: &Path) -> Result<Vec<Value>, Failed> {
    Ok(serde_saphyr::from_multiple(&fs::read_to_string(path)?)?)
}

/// What the reader says of rules and expressions, and whether it takes them: each expression is the one of a rule.
fn said(reader: &Path, groups: &[Value], expressions: &[Value]) -> Result<(bool, String), Failed> {
    let of_panels = expressions
        .iter()
        .enumerate()
        .map(|(place, expression)| json!({"record": format!("panel:{place}"), "expr": expression}));
    let panels = json!({"name": "panels", "rules": of_panels.collect::<Vec<Value>>()});
    let groups: Vec<&Value> = groups.iter().chain([&panels]).collect();
    // JSON is YAML.
    let mut file = tempfile::Builder::new().suffix(".yaml").tempfile()?;
    file.write_all(json!({"groups": groups}).to_string().as_bytes())?;
    let output = Command::new(reader).args(["check", "rules"]).arg(file.path()).output()?;
    Ok((output.status.success(), shown(&output)))
}

fn rules_are_read() -> Result<(), Failed> {
    let reader = reader().ok_or("no reader")?;
    for name in ["minio-8", "rustfs-4"] {
        let folder = rendered(name)?.join("observation");
        let rule = documents(&folder.join("alerts.yaml"))?.remove(0);
        let map = documents(&folder.join("dashboard.yaml"))?.remove(0);
        let (_, text) = map["data"].as_object().and_then(|data| data.iter().next()).ok_or("no dashboard")?;
        let dashboard: Value = serde_json::from_str(text.as_str().unwrap_or_default())?;
        let targets = |panel: &Value| panel["targets"].as_array().cloned().unwrap_or_default();
        let panels = dashboard["panels"].as_array().cloned().unwrap_or_default();
        let expressions: Vec<Value> = panels.iter().flat_map(targets).map(|target| target["expr"].clone()).collect();
        assert!(expressions.len() > 10, "{dashboard}");
        let groups = rule["spec"]["groups"].as_array().cloned().ok_or("no groups")?;
        let (is_taken, reported) = said(&reader, &groups, &expressions)?;
        assert!(is_taken, "{name}: {reported}");
        let (mut wrong_groups, mut wrong) = (groups, expressions);
        wrong[0] = json!("sum(rate(a))");
        wrong_groups[1]["rules"][0]["annotations"]["summary"] = json!("{{ $value | nothing }}");
        let (is_taken, reported) = said(&reader, &wrong_groups, &wrong)?;
        assert!(!is_taken && reported.contains("range vector") && reported.contains("nothing"), "{reported}");
    }
    Ok(())
}

fn others_are_accepted() -> Result<(), Failed> {
    let definitions = definitions().ok_or("no definitions")?;
    Kubernetes::shared(|kubernetes| {
        let definitions = definitions.display().to_string();
        kubernetes.kubectl(&["apply", "--server-side", "--filename", &definitions]);
        // kubectl fails on a definition that has no conditions yet.
        let waits = ["wait", "--for=condition=Established", "--timeout=60s", "--filename", &definitions];
        let are_established =
            || kubernetes.inside(Path::new("kubectl")).args(waits).output().is_ok_and(|output| output.status.success());
        eventually_within(Duration::from_secs(60), "definitions are established", are_established);
        for (name, namespaces) in [("minio-8", ["object-store", "argocd"]), ("rustfs-4", ["rustfs", ""])] {
            let folder = rendered(name)?;
            let path = |name: &str| folder.join(name).display().to_string();
            let namespaces = namespaces.into_iter().chain(["monitoring"]).filter(|name| !name.is_empty());
            let namespaces: Vec<&str> = namespaces.collect();
            for namespace in &namespaces {
                // Another test may have just had one of the same name.
                let gone = format!("namespace/{namespace}");
                kubernetes.kubectl(&["wait", "--for=delete", &gone, "--timeout=60s"]);
                kubernetes.kubectl(&["create", "namespace", namespace]);
            }
            kubernetes.kubectl(&[&HELD[..], &["--kustomize", &path("observation")]].concat());
            if folder.join("argocd").is_dir() {
                kubernetes.kubectl(&[&HELD[..], &["--kustomize", &path("argocd")]].concat());
                kubernetes.kubectl(&[&HELD[..], &["--filename", &path("argocd/root.yaml")]].concat());
            }
            if folder.join("load").is_dir() {
                clients_are_accepted(kubernetes, &path("load/clients.yaml"));
            }
            let monitors = fs::read_to_string(path("observation/monitors.yaml"))?;
            let wrong = folder.with_extension("wrong.yaml");
            fs::write(&wrong, monitors.replacen("podMetricsEndpoints", "podMetricEndpoints", 1))?;
            let mut refused = kubernetes.inside(Path::new("kubectl"));
            let output = refused.args(HELD).arg("--filename").arg(&wrong).output()?;
            assert!(!output.status.success() && shown(&output).contains("podMetricEndpoints"), "{}", shown(&output));
            for namespace in &namespaces {
                kubernetes.kubectl(&["delete", "namespace", namespace]);
            }
        }
        kubernetes.kubectl(&["delete", "--filename", &definitions]);
        Ok(())
    })
}

/// Their namespace is in the same file: it is there before the rest is held against the server.
fn clients_are_accepted(kubernetes: &Kubernetes, path: &str) {
    kubernetes.kubectl(&["create", "namespace", "linerate"]);
    kubernetes.kubectl(&[&HELD[..], &["--force-conflicts", "--filename", path]].concat());
    kubernetes.kubectl(&["delete", "namespace", "linerate"]);
}
