//! The kubelet: what all of the cluster have, and what machines of a kind have beside it.

use linerate_record::site::NodeGroup;
use linerate_record::units::bytes_iec;

use super::DescribedPlane;
use super::kubeadm::number;
use crate::api_server_route::dns_address;
use crate::catalogue::{self, ComponentSetting};
use crate::deployment::pods_per_node;
use crate::engine::memory_left;
use crate::yaml::{CommentedEntry as Line, Tree, list, map, set};

const VERSION: &str = "kubelet.config.k8s.io/v1beta1";

/// Settings that follow from the machine and not from the cluster.
const OF_MACHINE: [&str; 2] = ["cpuManagerPolicy", "topologyManagerPolicy"];

/// What the kubelet evicts at, of its own (`pkg/kubelet/apis/config/v1beta1/defaults_linux.go`): 100 MiB.
const EVICTION_MIB: u64 = 100;

/// Less than this is no reservation that a machine could be run with.
const RESERVED_MIB_MIN: u64 = 512;

fn head() -> Vec<Line> {
    vec![set("apiVersion", VERSION), set("kind", "KubeletConfiguration")]
}

/// What every kubelet has.
pub(super) fn configuration(of: DescribedPlane<'_>) -> Tree {
    let mut lines = head();
    if let (Some(_), Some(address)) = (&of.deployment.kubernetes.dns, dns_address(of.deployment.kubernetes)) {
        let why = "The service of the folder dns; Cilium redirects it to the cache of the same node.";
        lines.push(set("clusterDNS", list([address])).because(why));
    }
    lines.push(set("clusterDomain", of.deployment.domain()));
    lines.extend(advised(of));
    let (pods, why) = pods_per_node(of.deployment.kubernetes);
    lines.push(set("maxPods", pods).because(format!("{why} Source 000 tests 200.")));
    lines.extend([
        set("serializeImagePulls", false)
            .because("One large image would keep a node's other pods from starting, DNS and Cilium among them."),
        set("maxParallelImagePulls", 4_u32).because("Drives and link of the machine are the engine's first of all."),
        set("containerLogMaxSize", "10Mi"),
        set("containerLogMaxFiles", 5_u32).because(format!(
            "Kubernetes' own, written out: 5 files of 10 MiB and {pods} pods with one container each are at most {} \
             of the system's drive.",
            bytes_iec((u64::from(pods) * 5 * (10 << 20)) as f64)
        )),
        set("shutdownGracePeriod", "60s")
            .because("A machine that is shut down stops its pods first: 30 s for the engine's, as these have."),
        set("shutdownGracePeriodCriticalPods", "30s")
            .because("The last 30 s of it are for DNS and Cilium, which others need."),
    ]);
    map(lines)
}

fn advised(of: DescribedPlane<'_>) -> Vec<Line> {
    let all = catalogue::settings(of.deployment.site, of.group, "kubelet");
    let lines = all.into_iter().filter(|one| !OF_MACHINE.contains(&one.key)).filter_map(|one| {
        let ComponentSetting { key, value, why } = one;
        match key {
            // Off of its own, and a gate that a later version does not know would stop the kubelet.
            "featureGates.EventedPLEG" => None,
            // For pods that set what is not safe: none that is rendered does, and the engine's namespace enforces
            // "restricted", which admits none.
            "allowedUnsafeSysctls" => None,
            _ => Some(set(key, number(&value)).because(why)),
        }
    });
    lines.collect()
}

/// What machines of a kind have of their own, and what of it is not written; none where nothing is stated.
pub(super) fn patch(of: DescribedPlane<'_>, kind: &NodeGroup) -> Option<(String, Tree)> {
    let is_stated = |key: &str| !of.deployment.site.is_assumed(&format!("nodes.{}.{key}", kind.name));
    let (mut lines, mut left_out) = (head(), String::new());
    let before = lines.len();
    let sockets = if is_stated("sockets") { kind.sockets } else { 1 };
    let memory = is_stated("memory").then(|| ReservedMemory::new(kind, sockets)).flatten();
    let cpu = is_stated("cores").then(|| reserved_millicores(kind));
    lines.extend(reserved(kind, memory, cpu));
    if sockets > 1 {
        let settings = catalogue::settings(of.deployment.site, kind, "kubelet");
        for ComponentSetting { key, value, why } in settings.into_iter().filter(|one| OF_MACHINE.contains(&one.key)) {
            let why = format!("{why} nodes.{}.sockets: {sockets}, each a NUMA node.", kind.name);
            if key == "cpuManagerPolicy" && cpu.is_none() {
                let name = &kind.name;
                left_out = format!(
                    " No cpuManagerPolicy: it needs reserved processors, and nodes.{name}.cores is not stated."
                );
                continue;
            }
            lines.push(set(key, value).because(why));
        }
        lines.extend(memory.map(|memory| manager(memory, sockets)).into_iter().flatten());
    }
    (lines.len() > before || !left_out.is_empty()).then(|| (left_out, map(lines)))
}

/// Memory that pods do not get, in MiB.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct ReservedMemory {
    left_bytes: u64,
    /// Of each NUMA node.
    each: u64,
    kubelet: u64,
    system: u64,
}

impl ReservedMemory {
    /// Half of what the engine leaves, in equal parts of NUMA nodes: the rest is of other pods.
    fn new(kind: &NodeGroup, sockets: u32) -> Option<ReservedMemory> {
        let left_bytes = memory_left(kind.memory_bytes);
        let each = (left_bytes >> 21) / u64::from(sockets.max(1));
        let all = (each * u64::from(sockets.max(1))).checked_sub(EVICTION_MIB)?;
        let kubelet = all / 2;
        (all >= RESERVED_MIB_MIN).then_some(ReservedMemory { left_bytes, each, kubelet, system: all - kubelet })
    }
}

/// An eighth of the cores, in thousandths: half of what the engine's request leaves.
fn reserved_millicores(kind: &NodeGroup) -> u64 {
    (u64::from(kind.cores) * 1000 / 8).max(250)
}

fn reserved(kind: &NodeGroup, memory: Option<ReservedMemory>, millicores: Option<u64>) -> Vec<Line> {
    let part = |bytes: Option<u64>, cpu: Option<u64>| {
        let mut parts = Vec::new();
        parts.extend(cpu.map(|cpu| set("cpu", format!("{cpu}m"))));
        parts.extend(bytes.map(|mib| set("memory", format!("{mib}Mi"))));
        parts
    };
    let kubelet = part(memory.map(|memory| memory.kubelet), millicores.map(|all| all / 2));
    let system = part(memory.map(|memory| memory.system), millicores.map(|all| all - all / 2));
    if kubelet.is_empty() {
        return Vec::new();
    }
    let of_memory = memory.map(|memory| {
        let left = bytes_iec(memory.left_bytes as f64);
        format!(
            " Of memory, half of the {left} that the engine's request leaves, with the {EVICTION_MIB} MiB at \
             which pods are evicted: the other half is of other pods."
        )
    });
    let of_cores = millicores.map(|_| format!(" An eighth of nodes.{}.cores ({}).", kind.name, kind.cores));
    let why = format!(
        "Half for kubelet and runtime, half for the system.{}{}",
        of_memory.unwrap_or_default(),
        of_cores.unwrap_or_default()
    );
    vec![set("kubeReserved", map(kubelet)).because(why), set("systemReserved", map(system))]
}

/// The memory manager, whose parts are together what is reserved, to the byte.
fn manager(memory: ReservedMemory, sockets: u32) -> [Line; 2] {
    let of_node =
        |node: u32| map([set("numaNode", node), set("limits", map([set("memory", format!("{}Mi", memory.each))]))]);
    [
        set("memoryManagerPolicy", "Static").because(
            "Pods of the class Guaranteed get memory of the NUMA nodes of their processors. The engine's pods are of \
             none: they use all.",
        ),
        set("reservedMemory", list((0..sockets).map(of_node)))
            .because(format!("kubeReserved, systemReserved and {EVICTION_MIB} MiB, in equal parts.")),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_of_reserved_memory_are_their_sum() {
        for (memory, sockets) in [("256GiB", 2), ("192GiB", 1), ("100GB", 3), ("16GiB", 8)] {
            let text = format!(
                "nodes: {{count: 4, memory: {memory}, sockets: {sockets}, drives: {{count: 2, capacity: 8TB}}, nics: \
                 {{speed: 25Gb/s}}}}\nengine: minio\n"
            );
            let site = linerate_site::read(&text, "s").unwrap();
            let reserved = ReservedMemory::new(&site.groups[0], sockets).unwrap();
            let parts = reserved.kubelet + reserved.system + EVICTION_MIB;
            assert_eq!(reserved.each * u64::from(sockets), parts, "{memory} {sockets}");
            assert!(parts << 20 <= memory_left(site.groups[0].memory_bytes), "{memory} {sockets}");
        }
        let text = "nodes: {count: 4, memory: 1GiB, drives: {count: 2, capacity: 8TB}, nics: {speed: \
                    25Gb/s}}\nengine: minio\n";
        assert_eq!(ReservedMemory::new(&linerate_site::read(text, "s").unwrap().groups[0], 2), None);
    }
}
