//! The cache on each node, and the redirection of the service to it.

use super::{
    CacheTimes, DescribedDns, ENTRY_BYTES, NAMESPACE, SERVICE, SUCCESS_S, metadata, object, ports_of_container,
    ports_of_dns, probe,
};
use crate::yaml::{CommentedEntry as Line, Tree, list, map, set};
use linerate_record::site::key;

const NAME: &str = "node-local-dns";

/// The service by which caches reach CoreDNS: another name for the same pods, which is not redirected to them.
const UPSTREAM: &str = "kube-dns-upstream";

/// What node-cache itself replaces, by the address of that service and by resolv.conf
/// (`kubernetes/dns`, cmd/node-cache/app).
const CLUSTER: &str = "__PILLAR__CLUSTER__DNS__";
const OTHERS: &str = "__PILLAR__UPSTREAM__SERVERS__";

/// Memory beside a full cache, in MiB: the request of Kubernetes' own manifest, and Go's.
const ALONGSIDE_MIB: u64 = 30;

/// Memory of the caches of both reverse zones, successes and denials: entries that CoreDNS has where none are stated.
const REVERSE_BYTES: u64 = 4 * 9_984 * ENTRY_BYTES;

/// What node-cache is told of its own addresses (Cilium, examples/kubernetes-local-redirect): it takes the first for an
/// interface that it does not make here.
const LOCAL: &str = "169.254.20.10";

pub(super) fn documents(of: DescribedDns<'_>, address: &str) -> Vec<Tree> {
    let account = map([set("name", NAME), set("namespace", NAMESPACE)]);
    vec![
        object("v1", "ServiceAccount", account, []),
        upstream(),
        configuration(of),
        object("apps/v1", "DaemonSet", metadata(NAME, NAME), [set("spec", daemons(of, address))]),
    ]
}

fn upstream() -> Tree {
    let spec = map([set("selector", map([set("k8s-app", SERVICE)])), set("ports", list(ports_of_dns("port")))]);
    object("v1", "Service", metadata(UPSTREAM, SERVICE), [set("spec", spec)])
}

/// A zone with its cache, and what it is forwarded to.
fn zone(name: &str, cache: &str, forwarded: &str, is_checked: bool) -> String {
    let health = if is_checked { "    health\n" } else { "" };
    format!(
        "{name}:53 {{\n    errors\n{cache}    reload\n    loop\n    bind 0.0.0.0\n    forward . \
         {forwarded}\n\x20   prometheus :9253\n{health}}}\n"
    )
}

fn configuration(of: DescribedDns<'_>) -> Tree {
    let (upstream, of_upstream) = of.upstream(OTHERS);
    let cluster = format!("{CLUSTER} {{\n        force_tcp\n    }}");
    let few = format!("    cache {SUCCESS_S}\n");
    let zones = [
        zone(of.deployment.domain(), &of.cache(CacheTimes::Verify), &cluster, true),
        zone("in-addr.arpa", &few, &cluster, false),
        zone("ip6.arpa", &few, &cluster, false),
        zone(".", &of.cache(CacheTimes::Immediate), &upstream, false),
    ];
    let why = format!(
        "{}\nserve_stale verify within the cluster: an old address of a pod is given only if CoreDNS does not answer. \
         MinIO's nodes find each other by names of pods.\nforce_tcp: what leaves the node for CoreDNS is a \
         connection, and no packet that is lost and waited 5 s for. Other servers are asked as they are used \
         to.\n{CLUSTER} and {OTHERS}: the cache itself replaces them, by the \
         service below and by the machine's resolv.conf.\n{of_upstream}",
        of.of_cache()
    );
    let data = map([set("Corefile", zones.concat()).because(why)]);
    object("v1", "ConfigMap", metadata(NAME, NAME), [set("data", data)])
}

fn container(of: DescribedDns<'_>, address: &str) -> Tree {
    let cache = (of.cache_bytes() * 2 + REVERSE_BYTES) / (1 << 20);
    let amount = format!("{}Mi", cache + ALONGSIDE_MIB);
    let why = format!(
        "Four caches, of the cluster, of all else and of both reverse zones: {cache} MiB if all are full, and \
         {ALONGSIDE_MIB} MiB beside. A cache that is \
         killed at its limit is one node without: the limit is above what it can fill."
    );
    let requests = map([set("cpu", "25m"), set("memory", "30Mi")]);
    let resources = map([set("limits", map([set("memory", amount).because(why)])), set("requests", requests)]);
    let mount = map([set("name", "config"), set("mountPath", "/etc/coredns")]);
    let local = format!("{LOCAL},{address}");
    map([
        set("name", "node-cache"),
        set("image", of.dns.cache_image.as_str()).because(key::KUBERNETES_DNS_CACHE_IMAGE),
        set("imagePullPolicy", "IfNotPresent"),
        set(
            "args",
            list([
                "-localip",
                &local,
                "-conf",
                "/etc/Corefile",
                "-upstreamsvc",
                UPSTREAM,
                "-skipteardown=true",
                "-setupinterface=false",
                "-setupiptables=false",
            ]),
        )
        .because("Neither an interface nor rules on the host: Cilium brings queries to the pod."),
        ports_of_container(9253),
        set("livenessProbe", probe("/health", 8080, 5)),
        set("readinessProbe", probe("/health", 8080, 2)).because("Until it is ready, Cilium does not redirect to it."),
        set("resources", resources),
        set("volumeMounts", list([mount])),
    ])
}

fn daemons(of: DescribedDns<'_>, address: &str) -> Tree {
    let labels = || map([set("k8s-app", NAME)]);
    let tolerated = |effect: &str| map([set("effect", effect), set("operator", "Exists")]);
    let item = map([set("key", "Corefile"), set("path", "Corefile.base")]);
    let source = map([set("name", NAME), set("items", list([item]))]);
    let volume = map([set("name", "config"), set("configMap", source)]);
    let pod: Vec<Line> = vec![
        set("priorityClassName", "system-node-critical").because("dns.nodelocal: a node whose cache fails has no DNS."),
        set("serviceAccountName", NAME),
        set("automountServiceAccountToken", false).because("It does not ask the API server."),
        set("dnsPolicy", "Default").because("It asks the resolvers of its machine, and not itself."),
        set("tolerations", list(["NoExecute", "NoSchedule"].map(tolerated))),
        set("containers", list([container(of, address)])),
        set("volumes", list([volume])),
    ];
    let annotations = map([set("policy.cilium.io/no-track-port", "53")
        .because("Queries are not tracked: at millions a second they would fill the table of connections.")]);
    let metadata = map([set("labels", labels()), set("annotations", annotations)]);
    let rolling = map([set("maxUnavailable", "10%").because("Meanwhile CoreDNS answers for these nodes.")]);
    map([
        set("selector", map([set("matchLabels", labels())])),
        set("updateStrategy", map([set("type", "RollingUpdate"), set("rollingUpdate", rolling)])),
        set("template", map([set("metadata", metadata), set("spec", map(pod))])),
    ])
}

pub(super) fn redirect() -> Tree {
    let to = |name: &str, protocol: &str| map([set("name", name), set("port", "53"), set("protocol", protocol)]);
    let matcher = map([set("serviceName", SERVICE), set("namespace", NAMESPACE)]);
    let local = map([set("matchLabels", map([set("k8s-app", NAME)]))]);
    let spec = map([
        set("redirectFrontend", map([set("serviceMatcher", matcher)])),
        set(
            "redirectBackend",
            map([set("localEndpointSelector", local), set("toPorts", list([to("dns", "UDP"), to("dns-tcp", "TCP")]))]),
        ),
    ]);
    let metadata = map([set("name", NAME), set("namespace", NAMESPACE)]);
    object("cilium.io/v2", "CiliumLocalRedirectPolicy", metadata, [set("spec", spec)])
}
