//! What watches the cluster: who is scraped, alerts on what is no longer as the plan has it, and a dashboard.

mod alerts;
mod dashboard;
mod monitors;
mod planned_facts;

use linerate_record::site::{Monitoring, Product};

use crate::deployment::Deployment;
use crate::file::RenderedFile;
use crate::yaml::{Tree, file, map, set};

pub(crate) fn files(deployment: &Deployment<'_>) -> Vec<RenderedFile> {
    let Some(monitoring) = &deployment.kubernetes.observation else { return Vec::new() };
    let kinds = planned_facts::kinds(deployment);
    let file_of = |name: &str, head: &str, documents: &[Tree]| {
        RenderedFile::new(format!("observation/{name}.yaml"), file(&deployment.head(head), documents))
    };
    let monitors = format!("Who is scraped, for Prometheus Operator. {}", of_engine(deployment));
    let rules = format!("Alerts on what is not as the plan has it. {}", of_engine(deployment));
    let values = "Values of the Helm chart prometheus-node-exporter.\nhelm install node-exporter \
                  prometheus-community/prometheus-node-exporter --namespace NAMESPACE --values \
                  node-exporter-values.yaml"
        .replace("NAMESPACE", &monitoring.namespace);
    vec![
        file_of("monitors", &monitors, &monitors::monitors(deployment, monitoring, &kinds)),
        file_of("alerts", &rules, &[alerts::rule(deployment, monitoring, &kinds)]),
        file_of(
            "dashboard",
            "A dashboard of Grafana, which its sidecar finds by the label. Lines named plan are the plan's ceilings.",
            &[dashboard::config_map(deployment, monitoring, &kinds)],
        ),
        file_of("node-exporter-values", &values, &[monitors::exporter_values()]),
    ]
}

/// What the engine itself says.
fn of_engine(deployment: &Deployment<'_>) -> &'static str {
    if has_metrics(deployment) {
        "Of the engine, MinIO's metrics of version 3."
    } else {
        "RustFS has no metrics to be scraped: it sends them to a collector of OpenTelemetry (RUSTFS_OBS_ENDPOINT). So \
         nothing here is of the engine itself."
    }
}

/// Whether Prometheus can scrape the engine.
fn has_metrics(deployment: &Deployment<'_>) -> bool {
    deployment.site.engine.product == Product::Minio
}

/// An object of what watches, which Prometheus finds by its labels.
fn object(monitoring: &Monitoring, version: &str, kind: &str, name: &str, namespace: &str, spec: Tree) -> Tree {
    let mut labels = vec![set("app.kubernetes.io/name", name)];
    if let Some(release) = &monitoring.release {
        labels.push(
            set("release", release.as_str()).because("kubernetes.observation.release: Prometheus selects by it."),
        );
    }
    map([
        set("apiVersion", version),
        set("kind", kind),
        set("metadata", map([set("name", name), set("namespace", namespace), set("labels", map(labels))])),
        set("spec", spec),
    ])
}
