//! What a control plane has to agree on with the addresses of its cluster.

use std::collections::BTreeSet;

use linerate_record::site::{ClusterDns, ControlPlane, Kubernetes, Prefix, Site, key, parse_ipv4};

use super::super::defaults::InconsistentValue;

/// The first version of Kubernetes whose kubeadm reads v1beta4.
const MINOR_MIN: u32 = 31;

/// More than there will be for 15 years, at three a year: a digit too many.
const MINOR_MAX: u32 = 80;

/// Ports at which machines listen already: the first, the last, and who does. Kubernetes' "Ports and Protocols" and
/// etcd's metrics; Cilium's "Firewall Rules"; what `render` writes for DNS and what it scrapes.
const TAKEN: [(u32, u32, &str); 12] = [
    (2379, 2381, "etcd"),
    (4240, 4251, "Cilium"),
    (6060, 6062, "Cilium"),
    (8080, 8080, "NodeLocal DNSCache"),
    (9100, 9100, "node-exporter"),
    (9253, 9253, "NodeLocal DNSCache"),
    (9353, 9353, "NodeLocal DNSCache"),
    (9234, 9234, "Cilium"),
    (9878, 9901, "Cilium"),
    (9962, 9965, "Cilium"),
    (10_248, 10_259, "Kubernetes"),
    (30_000, 32_767, "services with node ports"),
];

/// Most members of etcd that its documentation advises (FAQ, "What is maximum cluster size?").
const MEMBERS_MAX: usize = 7;

/// Lengths of a prefix of services that kubeadm takes: 20 bits of addresses at most, and ten addresses at the least
/// (`cmd/kubeadm/app/apis/kubeadm/validation`, ValidateServiceSubnetSize; `constants.MinimumAddressesInServiceSubnet`).
const SERVICE_LENGTHS: std::ops::RangeInclusive<u32> = 12..=28;

/// Servers that the plugin `forward` takes.
const UPSTREAM_MAX: usize = 15;

/// This machine's own addresses.
const LOOPBACK: Prefix = Prefix { first: 127 << 24, length: 8 };

pub(super) fn control_plane(site: &Site, kubernetes: &Kubernetes, faults: &mut Vec<InconsistentValue>) {
    let path = |key: &str| format!("kubernetes.{key}");
    if let Some(plane) = &kubernetes.control_plane {
        machines(kubernetes, plane, faults);
        ports(site, kubernetes, plane, faults);
        services(site, kubernetes, plane, faults);
    }
    outside(kubernetes, faults);
    if let Some(dns) = &kubernetes.dns {
        if parse_ipv4(&dns.domain).is_some() {
            let what = format!("domain {}, which is an address", dns.domain);
            faults.push(InconsistentValue::new(path("dns.domain"), what, "write a name, such as cluster.local"));
        }
        let services = kubernetes.control_plane.as_ref().map(|plane| plane.service_cidr);
        upstream(dns, services, faults);
        if let (Some(stated), Some(services)) = (&dns.cluster_ip, services)
            && !is_within(stated, &services)
        {
            let what = format!("the service of DNS at {stated}, outside of services' {services}");
            let advice = "write an address of control_plane.service_cidr, or leave it out";
            faults.push(InconsistentValue::new(path("dns.cluster_ip"), what, advice));
        }
    }
    for (i, hosts) in kubernetes.hosts.iter().enumerate() {
        devices(&hosts.devices, hosts.mounts.len(), &path(&format!("hosts.{i}.devices")), faults);
    }
}

/// Servers that others' names are asked of: one that asks back would be asked without an end.
fn upstream(dns: &ClusterDns, services: Option<Prefix>, faults: &mut Vec<InconsistentValue>) {
    let path = key::KUBERNETES_DNS_UPSTREAM;
    if dns.upstream.len() > UPSTREAM_MAX {
        let what = format!("{} servers", dns.upstream.len());
        faults.push(InconsistentValue::new(path, what, format!("CoreDNS takes {UPSTREAM_MAX} at the most")));
    }
    let is_own =
        |host: &&String| is_within(host, &LOOPBACK) || services.is_some_and(|services| is_within(host, &services));
    if let Some(host) = dns.upstream.iter().find(is_own) {
        let what = format!("server {host}, which is the cluster's own or the cache itself");
        faults.push(InconsistentValue::new(path, what, "write servers of the network, which know the names of others"));
    }
}

fn machines(kubernetes: &Kubernetes, plane: &ControlPlane, faults: &mut Vec<InconsistentValue>) {
    let path = key::KUBERNETES_CONTROL_PLANE;
    let minor = plane.version.split('.').nth(1).and_then(|minor| minor.parse::<u32>().ok()).unwrap_or_default();
    let advice = format!("write 1.{MINOR_MIN}.0 or later");
    if minor < MINOR_MIN {
        let what = format!("Kubernetes {}, whose kubeadm does not read v1beta4", plane.version);
        faults.push(InconsistentValue::new(format!("{path}.version"), what, advice));
    } else if minor > MINOR_MAX {
        faults.push(InconsistentValue::new(
            format!("{path}.version"),
            format!("no Kubernetes {}", plane.version),
            advice,
        ));
    }
    let members = plane.hosts.len();
    if members.is_multiple_of(2) || members > MEMBERS_MAX {
        let what = format!("{members} members of etcd");
        let advice = "write 1, 3, 5 or 7: an even number survives no more losses than one less, and more are slower";
        faults.push(InconsistentValue::new(format!("{path}.hosts"), what, advice));
    }
    let is_own = |host: &&String| own_addresses(kubernetes).any(|prefix| is_within(host, prefix));
    if let Some(host) = plane.hosts.iter().find(is_own) {
        let what = format!("machine {host}, {OWN}");
        faults.push(InconsistentValue::new(
            format!("{path}.hosts"),
            what,
            "write the address that other machines reach",
        ));
    }
    let mut distinct = BTreeSet::new();
    if let Some(twice) = plane.hosts.iter().find(|host| !distinct.insert(*host)) {
        let what = format!("machine {twice} a second time");
        faults.push(InconsistentValue::new(format!("{path}.hosts"), what, "write each machine once"));
    }
}

fn ports(site: &Site, kubernetes: &Kubernetes, plane: &ControlPlane, faults: &mut Vec<InconsistentValue>) {
    let (path, bound) = (key::KUBERNETES_CONTROL_PLANE_PORT, key::KUBERNETES_CONTROL_PLANE_BIND_PORT);
    let is_proxied = kubernetes.api_server.is_none();
    let proxied: &[(u32, &str)] = if is_proxied { &[(plane.port, path), (plane.port + 1, path)] } else { &[] };
    for &(port, path) in proxied.iter().chain(&[(plane.bind_port, bound)]) {
        let taken = TAKEN.iter().find(|(first, last, _)| (*first..=*last).contains(&port));
        if let Some((_, _, whose)) = taken {
            let what = format!("port {port}, at which machines have {whose}");
            faults.push(InconsistentValue::new(path, what, "write another one"));
        }
    }
    if is_proxied && [plane.port, plane.port + 1].contains(&plane.bind_port) {
        let what = format!("port {} of HAProxy and the one after it, one of which API servers listen at", plane.port);
        let stated = if site.is_assumed(path) && !site.is_assumed(bound) { bound } else { path };
        faults.push(InconsistentValue::new(stated, what, "write another one: both are on the same machines"));
    }
    if kubernetes.api_server.is_some() && !site.is_assumed(path) {
        let what = "a port of HAProxy beside api_server";
        let advice = "leave one of both out: where api_server is a balancer of the site's own, no HAProxy is rendered";
        faults.push(InconsistentValue::new(path, what, advice));
    }
}

fn services(site: &Site, kubernetes: &Kubernetes, plane: &ControlPlane, faults: &mut Vec<InconsistentValue>) {
    let (path, services) = (key::KUBERNETES_CONTROL_PLANE_SERVICE_CIDR, plane.service_cidr);
    if !SERVICE_LENGTHS.contains(&services.length) {
        let what = format!("services in {services}");
        let (least, most) = (SERVICE_LENGTHS.start(), SERVICE_LENGTHS.end());
        faults.push(InconsistentValue::new(path, what, format!("kubeadm takes a length from /{least} to /{most}")));
    }
    let others = kubernetes.pod_cidr.iter().map(|pods| ("the pods'", pods));
    let all = others.chain(kubernetes.load_balancer.iter().map(|pool| ("load_balancer's", pool)));
    for (whose, other) in all.filter(|(_, other)| other.overlaps(&services)) {
        let what = format!("services' {services} overlaps {whose} {other}");
        let (at, advice) = match (site.is_assumed(path), whose) {
            (false, _) => (path, "write other addresses"),
            (true, "the pods'") => (key::KUBERNETES_POD_CIDR, "write other addresses, or control_plane.service_cidr"),
            (true, _) => (key::KUBERNETES_LOAD_BALANCER, "write other addresses, or control_plane.service_cidr"),
        };
        faults.push(InconsistentValue::new(at, what, advice));
    }
    if let (true, Some(dns)) = (SERVICE_LENGTHS.contains(&services.length), &kubernetes.dns) {
        let first = Prefix { first: services.first + 1, length: 32 };
        if dns.cluster_ip.as_deref().and_then(parse_ipv4) == Some(first.first) {
            let what = format!("the service of DNS at {first}, which is that of API servers");
            faults.push(InconsistentValue::new(
                key::KUBERNETES_DNS_CLUSTER_IP,
                what,
                "write another one, or leave it out",
            ));
        }
    }
    if let Some(host) = plane.hosts.iter().find(|host| is_within(host, &services)) {
        let what = format!("services' {services} has the address of machine {host}");
        faults.push(InconsistentValue::new(path, what, "write other addresses"));
    }
}

/// Whether a host is an address, and one of these.
fn is_within(host: &str, prefix: &Prefix) -> bool {
    parse_ipv4(host).is_some_and(|first| prefix.contains(&Prefix { first, length: 32 }))
}

/// What is wrong with a machine that has an address of these.
const OWN: &str = "whose address is of pods, of services or of each machine itself";

/// Addresses that no other machine has: of pods, of announced services, and of each machine itself. Those of the other
/// services are not among them.
fn own_addresses(kubernetes: &Kubernetes) -> impl Iterator<Item = &Prefix> {
    kubernetes.pod_cidr.iter().chain(&kubernetes.load_balancer).chain([&LOOPBACK])
}

/// Machines outside of the cluster's own addresses: a switch, and the balancer of API servers.
fn outside(kubernetes: &Kubernetes, faults: &mut Vec<InconsistentValue>) {
    let peer = kubernetes.bgp.as_ref().and_then(|bgp| bgp.peer.as_deref());
    let machines = [("bgp.peer", peer, "switch"), ("api_server", kubernetes.api_server.as_deref(), "API server")];
    let services = kubernetes.control_plane.as_ref().map(|plane| &plane.service_cidr);
    let own = || own_addresses(kubernetes).chain(services);
    for (key, machine, what) in machines {
        let Some(machine) = machine.filter(|machine| own().any(|prefix| is_within(machine, prefix))) else { continue };
        let what = format!("{what} {machine}, {OWN}");
        faults.push(InconsistentValue::new(format!("kubernetes.{key}"), what, "write the address that machines reach"));
    }
}

/// A device for each folder.
fn devices(devices: &[String], folders: usize, path: &str, faults: &mut Vec<InconsistentValue>) {
    if !devices.is_empty() && devices.len() != folders {
        let what = format!("{} devices for {folders} folders", devices.len());
        faults.push(InconsistentValue::new(path, what, "write one for each folder of mounts, in their order"));
    }
    let mut distinct = BTreeSet::new();
    if let Some(twice) = devices.iter().find(|device| !distinct.insert(*device)) {
        faults.push(InconsistentValue::new(path, format!("device {twice:?} a second time"), "a device is one folder"));
    }
    if let Some(other) = devices.iter().find(|device| !device.starts_with("/dev/")) {
        let advice = "write one below /dev, such as /dev/disk/by-label/data1, which names the same on every machine";
        faults.push(InconsistentValue::new(path, format!("device {other:?}"), advice));
    }
}

#[cfg(test)]
mod tests {
    const SITE: &str = "\
nodes:
  count: 4
  drives: {count: 2, capacity: 8TB}
  nics: {speed: 25Gb/s}
engine: minio
kubernetes:
  pod_cidr: 10.244.0.0/16
  load_balancer: 192.0.2.0/28
  hosts: {names: 'n{1...4}', mounts: '/d{1...2}', devices: '/dev/disk/by-label/d{1...2}'}
  control_plane: {version: 1.34.4, hosts: [10.0.0.11, 10.0.0.12, 10.0.0.13]}
  dns: {image: 'coredns:1.12.1', cache_image: 'node-cache:1.26.4'}
  applier: {image: 'busybox:1.37.0'}
";

    /// A replacement, where its mistake is, and words of it.
    const WRONG: [(&str, &str, &str, &str); 41] = [
        ("applier: {", "observation: {namespace: minio}\n  applier: {", "observation.namespace", "is the engine's"),
        ("pod_cidr: 10.244.0.0/16", "pod_cidr: 10.96.0.0/16", "pod_cidr", "or control_plane.service_cidr"),
        ("192.0.2.0/28", "10.97.0.0/28", "load_balancer", "or control_plane.service_cidr"),
        (
            "applier: {",
            "bgp: {local_as: 1, peer_as: 2, peer: 10.244.0.1}\n  applier: {",
            "bgp.peer",
            "switch 10.244.0.1",
        ),
        ("applier: {", "bgp: {local_as: 1, peer_as: 2, peer: 192.0.2.1}\n  applier: {", "bgp.peer", "switch 192.0.2.1"),
        ("applier: {", "api_server: 10.96.0.1\n  applier: {", "api_server", "API server 10.96.0.1"),
        ("[10.0.0.11,", "[127.0.0.1,", "control_plane.hosts", "machine 127.0.0.1"),
        ("[10.0.0.11,", "[10.244.0.11,", "control_plane.hosts", "machine 10.244.0.11"),
        ("[10.0.0.11,", "[192.0.2.3,", "control_plane.hosts", "machine 192.0.2.3"),
        ("node-cache:1.26.4'", "node-cache:1.26.4', upstream: [127.0.0.53]", "dns.upstream", "server 127.0.0.53"),
        ("node-cache:1.26.4'", "node-cache:1.26.4', upstream: [10.96.0.10]", "dns.upstream", "server 10.96.0.10"),
        ("node-cache:1.26.4'", "node-cache:1.26.4', cluster_ip: 10.96.0.1", "dns.cluster_ip", "that of API servers"),
        ("version: 1.34.4, ", "", "control_plane", "without \"version\""),
        (", hosts: [10.0.0.11, 10.0.0.12, 10.0.0.13]", "", "control_plane", "without \"hosts\""),
        ("1.34.4", "v1.34.4", "control_plane.version", "write it as 1.34.4"),
        ("1.34.4", "1.30.9", "control_plane.version", "1.31.0 or later"),
        (", 10.0.0.13", "", "control_plane.hosts", "2 members"),
        (
            "[10.0.0.11, 10.0.0.12, 10.0.0.13]",
            "[10.0.0.11, 10.0.0.12, 10.0.0.11]",
            "control_plane.hosts",
            "second time",
        ),
        ("10.0.0.11,", "cp1,", "control_plane.hosts", "an address of IPv4"),
        ("10.0.0.13]", "10.0.0.13], port: 6443", "control_plane.port", "port 6443 of HAProxy"),
        ("10.0.0.13]", "10.0.0.13], port: 6442", "control_plane.port", "port 6442 of HAProxy"),
        ("10.0.0.13]", "10.0.0.13], port: 2379", "control_plane.port", "have etcd"),
        (
            "10.0.0.13]",
            "10.0.0.13], port: 10247",
            "control_plane.port",
            "port 10248, at which machines have Kubernetes",
        ),
        ("10.0.0.13]", "10.0.0.13], bind_port: 31000", "control_plane.bind_port", "services with node ports"),
        ("10.0.0.13]", "10.0.0.13], bind_port: 7444", "control_plane.bind_port", "port 7443 of HAProxy"),
        ("node-cache:1.26.4'", "node-cache:1.26.4', domain: 10.0.0.1", "dns.domain", "which is an address"),
        ("1.34.4", "1.134.4", "control_plane.version", "no Kubernetes 1.134.4"),
        ("10.0.0.13]", "10.0.0.13], port: 80", "control_plane.port", "from 1024 to 65534"),
        ("10.0.0.13]}", "10.0.0.13], port: 7443}\n  api_server: a", "control_plane.port", "beside api_server"),
        ("10.0.0.13]", "10.0.0.13], service_cidr: 10.96.0.0/11", "control_plane.service_cidr", "from /12 to /28"),
        ("10.0.0.13]", "10.0.0.13], service_cidr: 10.244.0.0/24", "control_plane.service_cidr", "the pods' 10.244"),
        ("10.0.0.13]", "10.0.0.13], service_cidr: 192.0.2.0/24", "control_plane.service_cidr", "load_balancer's 192"),
        ("10.0.0.13]", "10.0.0.13], service_cidr: 10.0.0.0/24", "control_plane.service_cidr", "machine 10.0.0.11"),
        ("10.0.0.13]", "10.0.0.13], etcd_rtt: 2s", "control_plane.etcd_rtt", "out of range"),
        ("dns: {image: 'coredns:1.12.1', ", "dns: {", "dns", "without \"image\""),
        (", cache_image: 'node-cache:1.26.4'", "", "dns", "without \"cache_image\""),
        ("dns: {", "dns: {cluster_ip: 10.0.0.10, ", "dns.cluster_ip", "outside of services' 10.96.0.0/12"),
        ("{image: 'busybox:1.37.0'}", "{program: /a}", "applier", "without \"image\""),
        ("busybox:1.37.0'", "busybox:1.37.0', program: linerate", "applier.program", "an absolute path"),
        ("d{1...2}'}", "d{1...3}'}", "hosts.0.devices", "3 devices for 2 folders"),
        ("/dev/disk/by-label/d", "/disk/d", "hosts.0.devices", "below /dev"),
    ];

    #[test]
    fn a_control_plane_agrees_with_its_cluster() {
        assert!(crate::read(SITE, "site.yaml").is_ok(), "{:?}", crate::read(SITE, "site.yaml"));
        for (from, to, key, words) in WRONG {
            assert!(SITE.contains(from), "{from:?}");
            let error = crate::read(&SITE.replacen(from, to, 1), "site.yaml").expect_err(to).to_string();
            let key = key.replace("hosts.0.", "hosts.");
            assert!(error.contains(&format!("(kubernetes.{key}")) && error.contains(words), "{to:?}: {error}");
        }
        let twice = SITE.replace("'/dev/disk/by-label/d{1...2}'", "[/dev/sda, /dev/sda]");
        assert!(crate::read(&twice, "s").is_err_and(|error| error.to_string().contains("\"/dev/sda\" a second time")));
    }

    #[test]
    fn what_is_not_stated_is_assumed_or_absent() {
        let kubernetes = crate::read(SITE, "site.yaml").unwrap().kubernetes.unwrap();
        let (plane, dns) = (kubernetes.control_plane.unwrap(), kubernetes.dns.unwrap());
        assert_eq!((plane.port, plane.service_cidr.to_string().as_str()), (7443, "10.96.0.0/12"));
        assert_eq!((dns.domain.as_str(), dns.cluster_ip, plane.etcd_rtt_ns), ("cluster.local", None, None));
        assert_eq!(kubernetes.applier.unwrap().program, "/usr/local/bin/linerate");
        assert_eq!(kubernetes.hosts[0].devices, ["/dev/disk/by-label/d1", "/dev/disk/by-label/d2"]);
    }
}
