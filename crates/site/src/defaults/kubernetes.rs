//! The site's Kubernetes.

use linerate_record::ranges::expanded;
use linerate_record::site::{
    Bgp, Engine, GitFolder, Hosts, Kubernetes, Mesh, Monitoring, NodeGroup, PodLoad, Prefix, Product,
};

use super::super::parse::Item;
use super::super::value::text::NAMES_MAX;
use super::control_plane::{applier, control_plane, dns};
use super::{Defaults, Map, list, number, sub, text, whole, word};

const PATH: &str = "kubernetes";

/// What is said of it, where anything is.
pub(super) fn kubernetes(
    map: Option<&Map>,
    groups: &[NodeGroup],
    engine: &Engine,
    filling: &mut Defaults,
) -> Option<Kubernetes> {
    let map = map?;
    let namespace = match engine.product {
        Product::Minio => "minio",
        Product::Rustfs => "rustfs",
        Product::CephRgw => "ceph-rgw",
        Product::Garage => "garage",
    };
    let pod_cidr = prefix(map, "pod_cidr");
    let mut native_cidr = prefix(map, "native_cidr");
    if let (None, Some(pods)) = (native_cidr, pod_cidr) {
        native_cidr = Some(filling.or(None, PATH, "native_cidr", pods, "the addresses of this cluster's pods"));
    }
    let api_port = whole(map, "api_port").unwrap_or_default();
    Some(Kubernetes {
        namespace: filling.or(text(map, "namespace"), PATH, "namespace", namespace.to_owned(), "the engine's product"),
        image: text(map, "image"),
        hosts: list(map, "hosts").iter().enumerate().map(|(i, map)| hosts(map, i, groups, filling)).collect(),
        api_server: text(map, "api_server"),
        api_port,
        pod_cidr,
        node_mask: whole(map, "node_mask").unwrap_or_default(),
        native_cidr,
        load_balancer: texts(map, "load_balancer").iter().filter_map(|text| Prefix::parse(text)).collect(),
        control_plane: sub(map, "control_plane").map(|map| control_plane(map, api_port, filling)),
        provisioner: word(map, "provisioner"),
        dns: sub(map, "dns").map(dns),
        applier: sub(map, "applier").map(applier),
        bgp: sub(map, "bgp").map(|map| bgp(map, filling)),
        mesh: sub(map, "mesh")
            .map(|map| Mesh { id: whole(map, "id").unwrap_or_default(), name: text(map, "name").unwrap_or_default() }),
        git: sub(map, "git").map(git),
        observation: sub(map, "observation").map(observation),
        load: sub(map, "load").map(load),
    })
}

fn git(map: &Map) -> GitFolder {
    let text_or_empty = |key| text(map, key).unwrap_or_default();
    GitFolder {
        repository: text_or_empty("repository"),
        revision: text_or_empty("revision"),
        path: text_or_empty("path"),
        project: text_or_empty("project"),
        namespace: text_or_empty("namespace"),
    }
}

fn observation(map: &Map) -> Monitoring {
    Monitoring { namespace: text(map, "namespace").unwrap_or_default(), release: text(map, "release") }
}

fn load(map: &Map) -> PodLoad {
    let text_or_empty = |key| text(map, key).unwrap_or_default();
    PodLoad { image: text_or_empty("image"), namespace: text_or_empty("namespace"), clients: whole(map, "clients") }
}

fn hosts(map: &Map, i: usize, groups: &[NodeGroup], filling: &mut Defaults) -> Hosts {
    let path = format!("{PATH}.hosts.{i}");
    let kind = text(map, "kind").or_else(|| {
        if let [only] = groups {
            return Some(filling.or(None, &path, "kind", only.name.clone(), "the only kind of nodes"));
        }
        let kinds: Vec<&str> = groups.iter().map(|group| group.name.as_str()).collect();
        let advice = format!("write kind: and one of {}", kinds.join(", "));
        filling.fault(&path, "hosts without \"kind\", where there are several kinds of nodes", advice);
        None
    });
    // The table has looked at each of them.
    let all = |key| texts(map, key).iter().flat_map(|text| expanded(text, NAMES_MAX).unwrap_or_default()).collect();
    Hosts { kind: kind.unwrap_or_default(), names: all("names"), mounts: all("mounts"), devices: all("devices") }
}

fn bgp(map: &Map, filling: &mut Defaults) -> Bgp {
    // The protocol has whole seconds (RFC 4271, section 4.2; RFC 4724, section 3).
    let mut seconds = |key: &str| {
        let seconds = number(map, key).unwrap_or_default() / 1e9;
        if seconds.fract() != 0.0 {
            let whole = seconds.ceil();
            filling.fault(&format!("{PATH}.bgp.{key}"), format!("{key} of {seconds} s"), format!("write {whole}s"));
        }
        seconds as u32
    };
    let (hold_s, restart_s) = (seconds("hold"), seconds("restart"));
    Bgp {
        local_as: whole(map, "local_as").unwrap_or_default(),
        peer_as: whole(map, "peer_as").unwrap_or_default(),
        peer: text(map, "peer"),
        hold_s,
        restart_s,
    }
}

pub(super) fn prefix(map: &Map, key: &str) -> Option<Prefix> {
    text(map, key).as_deref().and_then(Prefix::parse)
}

pub(super) fn texts(map: &Map, key: &str) -> Vec<String> {
    if let Some(Item::Names(texts)) = map.get(key) { texts.clone() } else { Vec::new() }
}

#[cfg(test)]
mod tests {
    const NODES: &str =
        "nodes: {count: 8, drives: {count: 8, capacity: 7.68TB}, nics: {speed: 25Gb/s}}\nengine: minio\nkubernetes:\n";

    fn message(more: &str) -> String {
        crate::read(&format!("{NODES}  {more}\n"), "site.yaml").expect_err(more).to_string()
    }

    #[test]
    fn what_is_deployed_with_the_engine_is_stated_whole_or_not_at_all() {
        for (addition, key, words) in [
            ("git: {repository: 'https://git.example.com/a'}", "git", "without \"revision\""),
            ("git: {repository: 'http://git.example.com/a', revision: main}", "git.repository", "https://"),
            ("git: {repository: 'git@git.example.com:a', revision: main, path: ../a}", "git.path", "within the"),
            ("git: {repository: 'git@git.example.com:a', revision: '-f'}", "git.revision", "such as main"),
            ("observation: {release: a}", "observation", "without \"namespace\""),
            ("load: {clients: 4}", "load", "without \"image\""),
            ("load: {image: linerate}", "load.image", "with a version or digest"),
            ("load: {image: 'linerate:1', clients: 1001}", "load.clients", "from 1 to 1000"),
        ] {
            let message = message(addition);
            assert!(message.contains(&format!("(kubernetes.{key})")) && message.contains(words), "{message}");
        }
        let more = "git: {repository: 'git@git.example.com:a', revision: main}";
        let site = crate::read(&format!("{NODES}  {more}\n"), "site.yaml").unwrap();
        assert!(site.is_assumed("kubernetes.git.path") && !site.is_assumed("kubernetes.git.revision"));
        let kubernetes = site.kubernetes.unwrap();
        let git = kubernetes.git.unwrap();
        assert_eq!((git.path.as_str(), git.project.as_str(), git.namespace.as_str()), (".", "default", "argocd"));
        assert_eq!((kubernetes.observation, kubernetes.load), (None, None));
    }

    #[test]
    fn a_repository_with_credentials_is_refused_and_not_shown() {
        for address in [
            "https://maker:first-word@git.example.com/a",
            "ssh://git:first-word@git.example.com/a",
            "https://git.example.com/a?private_token=first-word",
        ] {
            let message = message(&format!("git: {{repository: '{address}', revision: main}}"));
            assert!(message.contains("(kubernetes.git.repository)"), "{message}");
            assert!(message.contains("without credentials"), "{message}");
            assert!(message.contains("git.example.com") && !message.contains("first-word"), "{message}");
            // The mark is below the value.
            let lines: Vec<&str> = message.lines().collect();
            assert_eq!(lines[1].find('\''), lines[2].find('^'), "{message}");
        }
    }
}
