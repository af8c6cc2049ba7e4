//! The pods of a pool.

use linerate_record::site::{Product, key};
use linerate_record::units::bytes_iec;

use super::{CONSOLE, PORT};
use crate::deployment::{DeployedPool, Deployment, claim_template};
use crate::sysctls::{PodSysctl, of_pods};
use crate::yaml::{CommentedEntry, Tree, list, map, set};

/// Where certificates are mounted.
const CERTIFICATES: &str = "/certs";

pub(super) fn pod(deployment: &Deployment<'_>, pool: &DeployedPool<'_>) -> Tree {
    let alone = map([
        set("topologyKey", "kubernetes.io/hostname"),
        set("labelSelector", map([set("matchLabels", super::selector(deployment))])),
    ]);
    let required = map([set("requiredDuringSchedulingIgnoredDuringExecution", list([alone]))]);
    let mut spec = vec![
        set("priorityClassName", deployment.name)
            .because("Its machine is the only one that has its drives: other pods make way, wherever they came from."),
        set("affinity", map([set("podAntiAffinity", required)])).because(match pool.provisioner {
            Some(_) => "One pod a node. On which node, the scheduler decides, and then its volumes.",
            None => "One pod a node. On which node, its volumes decide.",
        }),
        set("tolerations", list(["not-ready", "unreachable"].map(stays)))
            .because("Nowhere else are its drives: evicted, it would only come back here, after the machine does."),
        set("automountServiceAccountToken", false).because("The engine does not ask the API server."),
        set("enableServiceLinks", false).because("Variables of all services would be in its environment."),
        set("securityContext", of_pod(deployment, pool)),
        set("containers", list([container(deployment, pool)])),
    ];
    if deployment.has_tls() {
        spec.push(set("volumes", list([certificates(deployment)])));
    }
    map(spec)
}

/// Stays on a machine with a taint, as pods of a DaemonSet do.
fn stays(taint: &str) -> Tree {
    map([set("key", format!("node.kubernetes.io/{taint}")), set("operator", "Exists"), set("effect", "NoExecute")])
}

fn of_pod(deployment: &Deployment<'_>, pool: &DeployedPool<'_>) -> Tree {
    let sysctl = |one: PodSysctl| map([set("name", one.name).because(one.why), set("value", Tree::Text(one.value))]);
    let sysctls = of_pods(deployment, pool.group).into_iter().map(sysctl);
    let user: u32 = match deployment.site.engine.product {
        Product::Rustfs => 10_001,
        _ => 1000,
    };
    map([
        set("runAsNonRoot", true),
        set("runAsUser", user).because("The folders of the drives belong to this user or group."),
        set("runAsGroup", user),
        set("fsGroup", user),
        set("fsGroupChangePolicy", "OnRootMismatch")
            .because("Otherwise each start changes the owner of every file, which takes hours on full drives."),
        set("seccompProfile", map([set("type", "RuntimeDefault")])),
        set("sysctls", list(sysctls)).because(
            "Of the profile of hosts/, what Kubernetes calls safe and \"restricted\" admits: a pod's network namespace \
             does not follow the machine's values.",
        ),
    ])
}

fn container(deployment: &Deployment<'_>, pool: &DeployedPool<'_>) -> Tree {
    let port = |name: &str, port: u32| map([set("name", name), set("containerPort", port), set("protocol", "TCP")]);
    let mut mounts: Vec<Tree> = (0..pool.drives())
        .map(|drive| {
            let name = claim_template(drive);
            map([set("mountPath", format!("/{name}")), set("name", name)])
        })
        .collect();
    if deployment.has_tls() {
        mounts.push(map([set("mountPath", CERTIFICATES), set("name", "certificates"), set("readOnly", true)]));
    }
    let mut spec = vec![
        set("name", deployment.name),
        set("image", deployment.image).because(key::KUBERNETES_IMAGE),
        set("imagePullPolicy", "IfNotPresent").because("The version does not move: a restart needs no registry."),
    ];
    spec.extend(arguments(deployment));
    spec.extend([
        set("env", list(environment(deployment, pool))),
        set("ports", list([port("s3", PORT), port("console", CONSOLE)])),
        set("livenessProbe", probe(deployment, "live"))
            .because("Slow drives are no reason to restart: a minute of silence is."),
        set("readinessProbe", probe(deployment, "ready")),
        set("resources", resources(deployment, pool)),
        set("securityContext", of_container()),
        set("volumeMounts", list(mounts)),
    ]);
    map(spec)
}

/// RustFS takes all from its environment: its image adds a folder of its own to arguments.
fn arguments(deployment: &Deployment<'_>) -> Option<CommentedEntry> {
    if deployment.site.engine.product == Product::Rustfs {
        return None;
    }
    let console = format!(":{CONSOLE}");
    let mut arguments = vec!["server", "--console-address", &console];
    if deployment.has_tls() {
        arguments.extend(["--certs-dir", CERTIFICATES]);
    }
    Some(set("args", list(arguments)))
}

/// The drives of every node, as the engine expands them: for each pool, drive 1 of all ordinals, then drive 2.
fn volumes(deployment: &Deployment<'_>) -> String {
    if let [pool] = &deployment.pools[..]
        && pool.machines.len() == 1
        && pool.drives() == 1
    {
        // Both engines take one drive of one node as a folder alone.
        return format!("/{}", claim_template(0));
    }
    let scheme = if deployment.has_tls() { "https" } else { "http" };
    let of_pool = |pool: &DeployedPool<'_>| {
        let pods = match pool.machines.len() {
            1 => "0".to_owned(),
            nodes => format!("{{0...{}}}", nodes - 1),
        };
        let drives = match pool.drives() {
            1 => claim_template(0),
            drives => format!("data-{{1...{drives}}}"),
        };
        let domain =
            format!("{}.{}.svc.{}", deployment.headless(), deployment.kubernetes.namespace, deployment.domain());
        format!("{scheme}://{}-{pods}.{domain}:{PORT}/{drives}", pool.set)
    };
    deployment.pools.iter().map(of_pool).collect::<Vec<_>>().join(" ")
}

fn environment(deployment: &Deployment<'_>, pool: &DeployedPool<'_>) -> Vec<Tree> {
    let is_rustfs = deployment.site.engine.product == Product::Rustfs;
    let prefix = if is_rustfs { "RUSTFS" } else { "MINIO" };
    let (user, password) =
        if is_rustfs { ("RUSTFS_ACCESS_KEY", "RUSTFS_SECRET_KEY") } else { ("MINIO_ROOT_USER", "MINIO_ROOT_PASSWORD") };
    let stated =
        |name: String, value: String, why: &str| map([set("name", name).because(why), set("value", Tree::Text(value))]);
    let secret = |name: &str, key: &str| {
        let source = map([set("name", secret_name(deployment.name)), set("key", key)]);
        map([set("name", name), set("valueFrom", map([set("secretKeyRef", source)]))])
    };
    let geometry = pool.geometry;
    let mut all = vec![stated(
        format!("{prefix}_VOLUMES"),
        volumes(deployment),
        match pool.provisioner {
            Some(_) => "Ordinals, not machines: erasure sets are consecutive ordinals, wherever they are scheduled.",
            None => {
                "Ordinals, not machines: erasure sets are consecutive ordinals, and the volumes bind each to its \
                 machine."
            }
        },
    )];
    let sizes = |pool: &DeployedPool<'_>| pool.geometry.shards;
    if deployment.pools.iter().all(|other| sizes(other) == geometry.shards) && geometry.shards > 1 {
        let why = format!(
            "The layout of the plan: sets of {} drives. Written out, no other version chooses another size.",
            geometry.shards
        );
        all.push(stated(format!("{prefix}_ERASURE_SET_DRIVE_COUNT"), geometry.shards.to_string(), &why));
    }
    let why = format!("The layout of the plan: {} + {} of {} drives.", geometry.data, geometry.parity, geometry.shards);
    all.push(stated(format!("{prefix}_STORAGE_CLASS_STANDARD"), format!("EC:{}", geometry.parity), &why));
    if is_rustfs {
        all.push(stated("RUSTFS_ADDRESS".to_owned(), format!(":{PORT}"), ""));
        all.push(stated("RUSTFS_CONSOLE_ADDRESS".to_owned(), format!(":{CONSOLE}"), ""));
        if deployment.has_tls() {
            all.push(stated("RUSTFS_TLS_PATH".to_owned(), CERTIFICATES.to_owned(), ""));
        }
    }
    all.push(secret(user, "user"));
    all.push(secret(password, "password"));
    all
}

/// The Secret with the engine's first credentials.
pub(crate) fn secret_name(engine: &str) -> String {
    format!("{engine}-credentials")
}

fn probe(deployment: &Deployment<'_>, kind: &str) -> Tree {
    let path = match (deployment.site.engine.product, kind) {
        (Product::Rustfs, "live") => "/health".to_owned(),
        (Product::Rustfs, _) => "/health/ready".to_owned(),
        _ => format!("/minio/health/{kind}"),
    };
    let mut get = vec![set("path", path), set("port", "s3")];
    if deployment.has_tls() {
        get.push(set("scheme", "HTTPS"));
    }
    let failures: u32 = if kind == "live" { 6 } else { 3 };
    map([
        set("httpGet", map(get)),
        set("periodSeconds", 10_u32),
        set("timeoutSeconds", 5_u32),
        set("failureThreshold", failures),
    ])
}

/// Memory that is left to the system, the kubelet and the agents of the node: an eighth, and 4 GiB at the least.
pub(crate) fn memory_left(memory_bytes: u64) -> u64 {
    (memory_bytes / 8).max(4 << 30).min(memory_bytes / 2)
}

fn resources(deployment: &Deployment<'_>, pool: &DeployedPool<'_>) -> Tree {
    let group = pool.group;
    let is_assumed = |key: &str| deployment.site.is_assumed(&format!("nodes.{}.{key}", group.name));
    let (mut requests, mut limits) = (Vec::new(), Vec::new());
    if !is_assumed("cores") {
        let cores = (group.cores * 3 / 4).max(1);
        let why = format!(
            "Three quarters of nodes.{}.cores ({}): a share for when others want the rest.",
            group.name, group.cores
        );
        requests.push(set("cpu", cores.to_string()).because(why));
    }
    let left = memory_left(group.memory_bytes);
    let memory = format!("{}Mi", (group.memory_bytes - left) >> 20);
    let why = format!(
        "nodes.{}.memory of {}, less {} for the system. A request that is the limit: the pod is evicted last.",
        group.name,
        bytes_iec(group.memory_bytes as f64),
        bytes_iec(left as f64)
    );
    if !is_assumed("memory") {
        requests.push(set("memory", memory.as_str()).because(why));
        limits.push(set("memory", memory));
    }
    map([
        set("requests", map(requests))
            .because("Of what the site states: what it assumes of memory and cores is not written."),
        set("limits", map(limits)).because(
            "No limit of processors: the scheduler's quota stops a pod within each 100 ms in which its threads have \
             used it up, although cores are idle, and that is latency.",
        ),
    ])
}

fn of_container() -> Tree {
    map([set("allowPrivilegeEscalation", false), set("capabilities", map([set("drop", list(["ALL"]))]))])
}

fn certificates(deployment: &Deployment<'_>) -> Tree {
    let names = match deployment.site.engine.product {
        Product::Rustfs => [("tls.crt", "rustfs_cert.pem"), ("tls.key", "rustfs_key.pem"), ("ca.crt", "ca.crt")],
        _ => [("tls.crt", "public.crt"), ("tls.key", "private.key"), ("ca.crt", "CAs/ca.crt")],
    };
    let items = names.map(|(key, path)| map([set("key", key), set("path", path)]));
    let secret = map([
        set("secretName", format!("{}-tls", deployment.name))
            .because("A Secret of type kubernetes.io/tls with ca.crt, for the names of the services and of all pods."),
        set("items", list(items)),
    ]);
    map([set("name", "certificates"), set("secret", secret)])
}
