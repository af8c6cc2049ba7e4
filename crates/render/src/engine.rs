//! The engine: its namespace, services, StatefulSets, disruption budget and network policy.

mod pods;
mod services;

use linerate_record::site::Product;

use crate::deployment::{DeployedPool, Deployment, capacity, claim_template};
use crate::file::RenderedFile;
use crate::storage::{KEPT, claimed_bytes, why_claimed};
use crate::yaml::{CommentedEntry, Tree, file, list, map, set};

pub(crate) use pods::{memory_left, secret_name};
pub(crate) use services::{ANNOUNCED, EACH_POD, traffic_policy};

/// Port of S3, and of the nodes among themselves.
const PORT: u32 = 9000;

/// Port of the console.
const CONSOLE: u32 = 9001;

pub(crate) fn files(deployment: &Deployment<'_>) -> Vec<RenderedFile> {
    let file_of = |name: &str, head: &str, documents: &[Tree]| {
        RenderedFile::new(format!("engine/{name}.yaml"), file(&deployment.head(head), documents))
    };
    let sets: Vec<Tree> = deployment.pools.iter().map(|pool| stateful_set(deployment, pool)).collect();
    vec![
        file_of("namespace", "Namespace of the engine.", &[namespace(deployment)]),
        file_of(
            "services",
            "Services: one that names each pod, one that clients use.",
            &[services::headless(deployment), services::clients(deployment)],
        ),
        file_of("stateful-sets", "The engine: a StatefulSet for each pool of the site.", &sets),
        file_of("disruption-budget", "How many pods maintenance may stop at once.", &[budget(deployment)]),
        file_of("network-policy", "Who reaches the engine's ports.", &[policy(deployment)]),
    ]
}

/// The metadata of an object of the engine.
fn metadata(deployment: &Deployment<'_>, name: &str) -> Tree {
    map([
        set("name", name),
        set("namespace", deployment.kubernetes.namespace.as_str()),
        set("labels", map([set("app.kubernetes.io/name", deployment.name)])),
    ])
}

/// What all pods of the engine have.
fn selector(deployment: &Deployment<'_>) -> Tree {
    map([set("app.kubernetes.io/name", deployment.name)])
}

fn namespace(deployment: &Deployment<'_>) -> Tree {
    let labels = map([
        set("pod-security.kubernetes.io/enforce", "restricted").because(
            "The engine needs no privilege: it runs as a user, writes to its volumes, and opens ports above 1024.",
        ),
        set("pod-security.kubernetes.io/warn", "restricted"),
    ]);
    map([
        set("apiVersion", "v1"),
        set("kind", "Namespace"),
        set(
            "metadata",
            map([
                set("name", deployment.kubernetes.namespace.as_str()),
                set("labels", labels),
                set("annotations", map([set("argocd.argoproj.io/sync-options", KEPT)]))
                    .because("With the namespace, all claims would go."),
            ]),
        ),
    ])
}

fn stateful_set(deployment: &Deployment<'_>, pool: &DeployedPool<'_>) -> Tree {
    let of_pool =
        |labels: &Deployment<'_>| map([set("app.kubernetes.io/name", labels.name), set("pool", pool.set.as_str())]);
    let template =
        map([set("metadata", map([set("labels", of_pool(deployment))])), set("spec", pods::pod(deployment, pool))]);
    let spec = map([
        set("serviceName", deployment.headless()),
        set("replicas", pool.machines.len() as u64)
            .because(format!("nodes.{}.count: one pod a node.", pool.group.name)),
        set("podManagementPolicy", "Parallel")
            .because("No pod serves before half of the others answer: started one by one, they would wait in turn."),
        update(deployment),
        set("persistentVolumeClaimRetentionPolicy", map([set("whenDeleted", "Retain"), set("whenScaled", "Retain")]))
            .because("No claim goes with the StatefulSet."),
        set("selector", map([set("matchLabels", of_pool(deployment))])),
        set("template", template),
        set("volumeClaimTemplates", list((0..pool.drives()).map(|drive| claim(pool, drive)))).because(
            match pool.provisioner {
                Some(_) => "kubernetes.provisioner makes a volume for each, where the pod is scheduled.",
                None => "Their names and those of the pods make the names that the volumes' claimRef has.",
            },
        ),
    ]);
    map([
        set("apiVersion", "apps/v1"),
        set("kind", "StatefulSet"),
        set("metadata", metadata(deployment, &pool.set)),
        set("spec", spec),
    ])
}

/// How a changed image, pool or argument comes to the pods.
fn update(deployment: &Deployment<'_>) -> CommentedEntry {
    match deployment.site.engine.product {
        Product::Rustfs => set("updateStrategy", map([set("type", "RollingUpdate")])),
        _ => set("updateStrategy", map([set("type", "OnDelete")])).because(
            "MinIO's nodes refuse others with another version or other pools, and its readiness says that it answers \
             and not that it serves: pod after pod, quorum would be lost midway. Apply, and then delete all pods at \
             once.",
        ),
    }
}

fn claim(pool: &DeployedPool<'_>, drive: usize) -> Tree {
    let (_, capacity_bytes) = pool.kind(drive);
    let storage = match pool.provisioner {
        Some(provisioner) => {
            set("storage", capacity(claimed_bytes(provisioner, capacity_bytes))).because(why_claimed(provisioner))
        }
        None => set("storage", capacity(capacity_bytes)),
    };
    map([
        // The API server adds these two: with them, a comparison with what was applied finds no difference.
        set("apiVersion", "v1"),
        set("kind", "PersistentVolumeClaim"),
        set("metadata", map([set("name", claim_template(drive))])),
        set(
            "spec",
            map([
                set("accessModes", list(["ReadWriteOnce"])),
                set("storageClassName", pool.class(drive)),
                set("resources", map([set("requests", map([storage]))])),
            ]),
        ),
    ])
}

fn budget(deployment: &Deployment<'_>) -> Tree {
    let nodes = deployment.nodes_to_lose;
    let why = match nodes {
        0 => {
            "No node may be lost (linerate plan: tolerance of the layout). A drain therefore waits for ever: stop the \
              engine first, and delete its pod by hand."
                .to_owned()
        }
        1 => "Reads and writes continue without any one node (linerate plan: tolerance of the layout).".to_owned(),
        _ => format!(
            "Reads and writes continue without any {nodes} nodes (linerate plan: tolerance of the layout). One drained \
             at a time leaves the rest of it for what fails meanwhile."
        ),
    };
    map([
        set("apiVersion", "policy/v1"),
        set("kind", "PodDisruptionBudget"),
        set("metadata", metadata(deployment, deployment.name)),
        set(
            "spec",
            map([
                set("maxUnavailable", nodes.min(1)).because(why),
                set("selector", map([set("matchLabels", selector(deployment))])),
            ]),
        ),
    ])
}

fn policy(deployment: &Deployment<'_>) -> Tree {
    let port = |port: u32| list([map([set("protocol", "TCP"), set("port", port)])]);
    let console = map([
        set("from", list([map([set("podSelector", map([]))])])).because("The console: from this namespace alone."),
        set("ports", port(CONSOLE)),
    ]);
    let s3 = map([set("ports", port(PORT)).because("S3, from clients anywhere, and the nodes among themselves.")]);
    map([
        set("apiVersion", "networking.k8s.io/v1"),
        set("kind", "NetworkPolicy"),
        set("metadata", metadata(deployment, deployment.name)),
        set(
            "spec",
            map([
                set("podSelector", map([set("matchLabels", selector(deployment))])),
                set("policyTypes", list(["Ingress"]))
                    .because("What the engine itself asks (DNS, other sites, a key server) is not limited here."),
                set("ingress", list([s3, console])),
            ]),
        ),
    ])
}
