//! CoreDNS: what answers for services, and for all that caches do not have.

use super::{CacheTimes, DescribedDns, NAMESPACE, SERVICE, metadata, object, ports_of_container, ports_of_dns, probe};
use crate::yaml::{CommentedEntry as Line, Tree, list, map, set};
use linerate_record::site::key;

const NAME: &str = "coredns";

/// The account's rights; kubeadm calls them so too.
const ROLE: &str = "system:coredns";

/// Nodes of a replica, and its processors: Kubernetes, "Autoscale the DNS Service in a Cluster".
const NODES: u32 = 16;
const CORES: u32 = 256;

/// Memory by CoreDNS' own formulas ("Scaling CoreDNS in Kubernetes Clusters"): megabytes at the least, and pods and
/// services of a further one; the second with autopath.
const MEMORY: (u64, u64) = (54, 1000);
const MEMORY_OF_AUTOPATH: (u64, u64) = (56, 250);

/// What kubeadm's CoreDNS may have (`cmd/kubeadm/app/phases/addons/dns/manifests.go`).
const MEMORY_MIB_MIN: u64 = 170;

pub(super) fn documents(of: DescribedDns<'_>, address: &str) -> Vec<Tree> {
    let mut all = rights();
    all.push(configuration(of));
    all.push(service(of, address));
    all.push(deployment(of));
    all.push(budget());
    all
}

fn rights() -> Vec<Tree> {
    const RBAC: &str = "rbac.authorization.k8s.io";
    let rule = |group: &str, resources: &[&str]| {
        map([
            set("apiGroups", list([group])),
            set("resources", list(resources.iter().copied())),
            set("verbs", list(["list", "watch"])),
        ])
    };
    let rules = list([rule("", &["services", "pods", "namespaces"]), rule("discovery.k8s.io", &["endpointslices"])]);
    let subject = map([set("kind", "ServiceAccount"), set("name", NAME), set("namespace", NAMESPACE)]);
    let role = map([set("apiGroup", RBAC), set("kind", "ClusterRole"), set("name", ROLE)]);
    let version = format!("{RBAC}/v1");
    let named = || map([set("name", ROLE)]);
    let of_slices = set("rules", rules).because(
        "dns.endpoint_slices: EndpointSlices and no Endpoints, as source 000 wants it: a change of one address is one \
         slice and not all addresses of a service.",
    );
    vec![
        object("v1", "ServiceAccount", map([set("name", NAME), set("namespace", NAMESPACE)]), []),
        object(&version, "ClusterRole", named(), [of_slices]),
        object(&version, "ClusterRoleBinding", named(), [set("roleRef", role), set("subjects", list([subject]))]),
    ]
}

fn configuration(of: DescribedDns<'_>) -> Tree {
    let domain = of.deployment.domain();
    let (upstream, of_upstream) = of.upstream("/etc/resolv.conf");
    let cache = of.cache(CacheTimes::Immediate);
    let text = format!(
        ".:53 {{\n    errors\n    health {{\n        lameduck 5s\n    }}\n    ready\n    kubernetes {domain} \
         in-addr.arpa \
         ip6.arpa {{\n        pods insecure\n        fallthrough in-addr.arpa ip6.arpa\n        ttl 5\n    }}\n    \
         prometheus :9153\n    forward . {upstream} {{\n        max_concurrent 1000\n    }}\n{}    loop\n    \
         reload\n    loadbalance\n}}\n",
        cache.replace(
            "    }\n",
            &format!("        disable success {domain}\n        disable denial {domain}\n    }}\n")
        )
    );
    let why = format!(
        "{}\nThe cluster's own names are in memory already: they are not in this cache.\nttl 5: a pod of the \
         engine that \
         starts again has another address under its old name.\nlameduck: a replica that ends answers until others know \
         it.\n{of_upstream}\n{}",
        of.of_cache(),
        of_autopath(of)
    );
    object("v1", "ConfigMap", metadata(NAME, SERVICE), [set("data", map([set("Corefile", text).because(why)]))])
}

/// Why it does not follow search paths itself.
fn of_autopath(of: DescribedDns<'_>) -> String {
    let memory = |(least, each): (u64, u64)| least + of.pods().div_ceil(each);
    format!(
        "dns.autopath: off. Behind the caches it sees their addresses and not those of pods, by which it works; and \
         `pods verified` keeps every pod: {} MB for {} pods, where it takes {} MB without. Source 000: autopath. Names \
         of the engine in full, with a dot behind, ask once.",
        memory(MEMORY_OF_AUTOPATH),
        of.pods(),
        memory(MEMORY)
    )
}

fn selector() -> Tree {
    map([set("k8s-app", SERVICE)])
}

fn service(of: DescribedDns<'_>, address: &str) -> Tree {
    let why = match of.dns.cluster_ip {
        Some(_) => key::KUBERNETES_DNS_CLUSTER_IP,
        None => "The tenth address of kubernetes.control_plane.service_cidr, as kubeadm takes it.",
    };
    let spec = map([
        set("clusterIP", address).because(why),
        set("selector", selector()),
        set("ports", list(ports_of_dns("port"))),
    ]);
    object("v1", "Service", metadata(SERVICE, SERVICE), [set("spec", spec)])
}

/// Replicas by nodes, two at the least where there are two nodes.
fn replicas(of: DescribedDns<'_>) -> (u32, String) {
    let nodes = of.deployment.site.nodes();
    let replicas = nodes.div_ceil(NODES).max(2).min(nodes.max(1));
    let why = format!(
        "dns.hpa: {nodes} nodes, a replica for each {NODES}, and two at the least: what Kubernetes' autoscaler \
         would make \
         of them, worked out here, since `render` follows the site. It would have one for each {CORES} processors too, \
         but caches answer what these ask. Source 000: a horizontal autoscaler; behind its caches, 1,110 queries a \
         second were left."
    );
    (replicas, why)
}

/// Memory of a replica in MiB.
fn memory(of: DescribedDns<'_>) -> (u64, String) {
    let (least, each) = MEMORY;
    let (pods, cache) = (of.pods(), of.cache_bytes() / 1_000_000);
    let megabytes = least + pods.div_ceil(each) + cache;
    let mebibytes = (megabytes * 3 / 2).max(MEMORY_MIB_MIN);
    let why = format!(
        "{pods} pods / {each} + {least} MB (CoreDNS' own formula) + {cache} MB of a full cache = {megabytes} \
         MB, and half \
         as much again; kubeadm's {MEMORY_MIB_MIN}Mi at the least. A request that is the limit: evicted last. \
         No limit of processors: names are waited for."
    );
    (mebibytes, why)
}

fn container(of: DescribedDns<'_>) -> Tree {
    let (mebibytes, of_memory) = memory(of);
    let amount = format!("{mebibytes}Mi");
    let limits = map([set("memory", amount.as_str()).because(of_memory)]);
    let requests = map([set("cpu", "100m"), set("memory", amount)]);
    let mount = map([set("name", "config"), set("mountPath", "/etc/coredns"), set("readOnly", true)]);
    let capabilities = map([set("add", list(["NET_BIND_SERVICE"])), set("drop", list(["ALL"]))]);
    map([
        set("name", NAME),
        set("image", of.dns.image.as_str()).because(key::KUBERNETES_DNS_IMAGE),
        set("imagePullPolicy", "IfNotPresent"),
        set("args", list(["-conf", "/etc/coredns/Corefile"])),
        ports_of_container(9153),
        set("livenessProbe", probe("/health", 8080, 5)),
        set("readinessProbe", probe("/ready", 8181, 3)),
        set("resources", map([set("limits", limits), set("requests", requests)])),
        set(
            "securityContext",
            map([
                set("allowPrivilegeEscalation", false),
                set("capabilities", capabilities),
                set("readOnlyRootFilesystem", true),
            ]),
        ),
        set("volumeMounts", list([mount])),
    ])
}

fn pod(of: DescribedDns<'_>) -> Vec<Line> {
    let spread = map([
        set("maxSkew", 1_u32),
        set("topologyKey", "kubernetes.io/hostname"),
        set("whenUnsatisfiable", "DoNotSchedule"),
        set("labelSelector", map([set("matchLabels", selector())])),
        set("matchLabelKeys", list(["pod-template-hash"]))
            .because("Replicas of the version before do not count: a roll-out is not in its own way."),
    ]);
    let tolerated = |key: &str| map([set("key", key), set("operator", "Exists")]);
    let volume = map([set("name", "config"), set("configMap", map([set("name", NAME)]))]);
    vec![
        set("priorityClassName", "system-cluster-critical"),
        set("serviceAccountName", NAME),
        set("dnsPolicy", "Default").because("It asks the resolvers of its machine, and not itself."),
        set("tolerations", list([tolerated("CriticalAddonsOnly"), tolerated("node-role.kubernetes.io/control-plane")])),
        set("topologySpreadConstraints", list([spread])).because("The loss of a node is the loss of one replica."),
        set("containers", list([container(of)])),
        set("volumes", list([volume])),
    ]
}

fn deployment(of: DescribedDns<'_>) -> Tree {
    let (replicas, why) = replicas(of);
    let template = map([set("metadata", map([set("labels", selector())])), set("spec", map(pod(of)))]);
    let rolling = map([set("maxUnavailable", 1_u32), set("maxSurge", 1_u32)]);
    let spec = map([
        set("replicas", replicas).because(why),
        set("strategy", map([set("type", "RollingUpdate"), set("rollingUpdate", rolling)])),
        set("selector", map([set("matchLabels", selector())])),
        set("template", template),
    ]);
    object("apps/v1", "Deployment", metadata(NAME, SERVICE), [set("spec", spec)])
}

fn budget() -> Tree {
    let spec = map([
        set("maxUnavailable", 1_u32).because("Maintenance stops one replica at a time: each has a cache that is lost."),
        set("selector", map([set("matchLabels", selector())])),
    ]);
    object("policy/v1", "PodDisruptionBudget", metadata(NAME, SERVICE), [set("spec", spec)])
}
