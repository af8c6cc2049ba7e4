//! Names within the cluster: CoreDNS, a cache on each node, and the redirection to it.

mod cache;
mod coredns;

use linerate_record::site::{ClusterDns, NodeGroup, key};

use crate::api_server_route::dns_address;
use crate::catalogue::setting;
use crate::deployment::{Deployment, pods_per_node};
use crate::file::RenderedFile;
use crate::yaml::{CommentedEntry as Line, Tree, file, list, map, set};

/// Where all of it is.
const NAMESPACE: &str = "kube-system";

/// The service that pods ask, and the label of CoreDNS' pods: the names are from before CoreDNS.
const SERVICE: &str = "kube-dns";

/// Seconds for which an answer is kept at most, and one that there is none.
const SUCCESS_S: u32 = 30;
const DENIAL_S: u32 = 5;

/// Memory of an entry of a cache (CoreDNS, plugin/cache).
const ENTRY_BYTES: u64 = 1024;

/// What DNS needs of a site that describes it.
#[derive(Clone, Copy, Debug)]
struct DescribedDns<'d> {
    deployment: &'d Deployment<'d>,
    dns: &'d ClusterDns,
    group: &'d NodeGroup,
}

pub(crate) fn files(deployment: &Deployment<'_>) -> Vec<RenderedFile> {
    let described = deployment.kubernetes.dns.as_ref().zip(deployment.site.groups.first());
    let (Some((dns, group)), Some(address)) = (described, dns_address(deployment.kubernetes)) else {
        return Vec::new();
    };
    let described_dns = DescribedDns { deployment, dns, group };
    let written = |name: &str, head: &str, documents: &[Tree]| {
        RenderedFile::new(format!("dns/{name}.yaml"), file(&deployment.head(head), documents))
    };
    let of_server = "CoreDNS, in the place of the one that kubeadm brings and under the same names.";
    let of_cache = "NodeLocal DNSCache: a cache on each node, which asks CoreDNS by TCP for what it does not have.";
    let of_redirect = "What pods ask the service of DNS goes to the cache of the same node. A resource of \
        Cilium, which serves it with localRedirectPolicies.enabled (cilium/values.yaml). Where a node's cache is not \
                       ready, CoreDNS answers.";
    vec![
        written("coredns", of_server, &coredns::documents(described_dns, &address)),
        written("node-cache", of_cache, &cache::documents(described_dns, &address)),
        written("redirect", of_redirect, &[cache::redirect()]),
    ]
}

/// What caches are told beside their sizes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum CacheTimes {
    /// Old answers are given at once, and renewed meanwhile.
    Immediate,
    /// They are given only when nobody answers.
    Verify,
}

impl DescribedDns<'_> {
    fn advised(&self, knob: &str) -> Option<(String, String)> {
        let found = setting(self.deployment.site, self.group, knob)?;
        Some((found.value, found.why))
    }

    fn entries(&self, knob: &str) -> u64 {
        self.advised(knob).and_then(|(value, _)| value.parse().ok()).unwrap_or_default()
    }

    /// Memory of a full cache.
    fn cache_bytes(&self) -> u64 {
        (self.entries("dns.cache_success") + self.entries("dns.cache_denial")) * ENTRY_BYTES
    }

    /// Most pods that the cluster has.
    fn pods(&self) -> u64 {
        u64::from(self.deployment.site.nodes()) * u64::from(pods_per_node(self.deployment.kubernetes).0)
    }

    fn cache(&self, staleness: CacheTimes) -> String {
        let value = |knob| self.advised(knob).map(|(value, _)| value).unwrap_or_default();
        let stale = value("dns.serve_stale");
        let duration = stale.split(' ').next().unwrap_or_default();
        let stale = match staleness {
            CacheTimes::Immediate => stale.clone(),
            CacheTimes::Verify => format!("{duration} verify"),
        };
        format!(
            "    cache {{\n        success {} {SUCCESS_S}\n        denial {} {DENIAL_S}\n        prefetch {}\n        \
             serve_stale {stale}\n    }}\n",
            value("dns.cache_success"),
            value("dns.cache_denial"),
            value("dns.prefetch"),
        )
    }

    /// Why a cache is as it is.
    fn of_cache(&self) -> String {
        let knobs = ["dns.cache_success", "dns.cache_denial", "dns.prefetch", "dns.serve_stale"];
        let all: Vec<String> = knobs.iter().filter_map(|knob| self.advised(knob)).map(|(_, why)| why).collect();
        all.join("\n")
    }

    /// Who answers for other names, as CoreDNS writes it, and the key.
    fn upstream(&self, own: &str) -> (String, &'static str) {
        if self.dns.upstream.is_empty() {
            return (own.to_owned(), "kubernetes.dns.upstream is not stated: those of the machine's /etc/resolv.conf.");
        }
        (self.dns.upstream.join(" "), key::KUBERNETES_DNS_UPSTREAM)
    }
}

fn metadata(name: &str, label: &str) -> Tree {
    map([set("name", name), set("namespace", NAMESPACE), set("labels", map([set("k8s-app", label)]))])
}

fn object(version: &str, kind: &str, metadata: Tree, rest: impl IntoIterator<Item = Line>) -> Tree {
    let head = [set("apiVersion", version), set("kind", kind), set("metadata", metadata)];
    map(head.into_iter().chain(rest))
}

/// A port of a pod or a service.
fn port(name: &str, protocol: &str, key: &str, number: u32) -> Tree {
    map([set("name", name), set("protocol", protocol), set(key, number)])
}

/// The ports at which names are asked for.
fn ports_of_dns(key: &str) -> [Tree; 2] {
    [port("dns", "UDP", key, 53), port("dns-tcp", "TCP", key, 53)]
}

/// The ports of a container that answers, and has metrics.
fn ports_of_container(metrics: u32) -> Line {
    let all = ports_of_dns("containerPort").into_iter().chain([port("metrics", "TCP", "containerPort", metrics)]);
    set("ports", list(all))
}

/// A check of a pod.
fn probe(path: &str, number: u32, failures: u32) -> Tree {
    map([
        set("httpGet", map([set("path", path), set("port", number)])),
        set("timeoutSeconds", 5_u32),
        set("failureThreshold", failures),
    ])
}
