//! Sites, and the files that are made of them: byte for byte, as YAML, and as what Kubernetes makes of them.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use k8s_openapi::api::apps::v1::{DaemonSet, Deployment, StatefulSet};
use k8s_openapi::api::core::v1::{ConfigMap, Namespace, PersistentVolume, Secret, Service, ServiceAccount};
use k8s_openapi::api::flowcontrol::v1::{FlowSchema, PriorityLevelConfiguration};
use k8s_openapi::api::networking::v1::NetworkPolicy;
use k8s_openapi::api::policy::v1::PodDisruptionBudget;
use k8s_openapi::api::rbac::v1::{ClusterRole, ClusterRoleBinding};
use k8s_openapi::api::scheduling::v1::PriorityClass;
use k8s_openapi::api::storage::v1::StorageClass;
use linerate_record::site::Site;
use linerate_render::entry_variant::EntryVariant;
use linerate_render::{FirstCredentials, RenderError, RenderRequest, RenderedFile, Rendering, credentials, render};
use serde_json::Value;

fn here() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests")
}

fn text(name: &str) -> String {
    let path = here().join(format!("../../../examples/{name}-kubernetes.yaml"));
    fs::read_to_string(path).expect("a site")
}

fn site(text: &str) -> Site {
    linerate_site::read(text, "site.yaml").expect("a site")
}

fn request() -> RenderRequest {
    RenderRequest { seed: 1, ..RenderRequest::default() }
}

fn rendered(name: &str) -> Rendering {
    render(&site(&text(name)), &request()).expect("files")
}

const NAMES: [&str; 2] = ["minio-8", "rustfs-4"];

#[test]
fn sites_are_rendered_as_before() {
    for name in NAMES {
        let folder = here().join("golden").join(name);
        let files = rendered(name).files;
        if std::env::var_os("REGENERATE").is_some() {
            let _ = fs::remove_dir_all(&folder);
            for file in &files {
                let path = folder.join(&file.path);
                fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
                fs::write(path, &file.text).expect("a file");
            }
        }
        for file in &files {
            let expected = fs::read_to_string(folder.join(&file.path)).unwrap_or_default();
            assert_eq!(file.text, expected, "{name}/{}: REGENERATE=1 writes it anew", file.path);
        }
        let known: BTreeSet<String> = files.into_iter().map(|file| file.path).collect();
        assert_eq!(below(&folder, &folder), known, "{name}");
    }
}

fn below(root: &Path, folder: &Path) -> BTreeSet<String> {
    let entries = fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry").path());
    entries
        .flat_map(|path| match path.is_dir() {
            true => below(root, &path),
            false => BTreeSet::from([path.strip_prefix(root).expect("below").display().to_string()]),
        })
        .collect()
}

/// The documents of the files of Kubernetes.
fn documents(files: &[RenderedFile]) -> Vec<Value> {
    let yaml = files.iter().filter(|file| file.path.ends_with(".yaml"));
    yaml.flat_map(|file| {
        let read: Result<Vec<Value>, _> = serde_saphyr::from_multiple(&file.text);
        read.unwrap_or_else(|error| panic!("{}: {error}", file.path))
    })
    .collect()
}

fn of_kind<'d>(documents: &'d [Value], kind: &str) -> Vec<&'d Value> {
    documents.iter().filter(|document| document["kind"] == kind).collect()
}

/// What the scheduler binds: each claim of each pod, to a volume of its own with its class and room enough.
#[test]
fn every_claim_of_every_pod_has_the_one_volume_that_is_for_it() {
    for name in NAMES {
        let documents = documents(&rendered(name).files);
        let volumes = of_kind(&documents, "PersistentVolume");
        let by_claim: BTreeMap<String, &Value> = volumes
            .iter()
            .map(|volume| {
                let claim = &volume["spec"]["claimRef"];
                (format!("{}/{}", claim["namespace"].as_str().unwrap(), claim["name"].as_str().unwrap()), *volume)
            })
            .collect();
        assert_eq!(by_claim.len(), volumes.len(), "{name}: two volumes for one claim");
        let mut claims = 0;
        for set in of_kind(&documents, "StatefulSet") {
            let spec = &set["spec"];
            for ordinal in 0..spec["replicas"].as_u64().unwrap() {
                let mut machines = BTreeSet::new();
                for template in spec["volumeClaimTemplates"].as_array().unwrap() {
                    let claim = format!(
                        "{}/{}-{}-{ordinal}",
                        set["metadata"]["namespace"].as_str().unwrap(),
                        template["metadata"]["name"].as_str().unwrap(),
                        set["metadata"]["name"].as_str().unwrap()
                    );
                    let volume = by_claim.get(&claim).unwrap_or_else(|| panic!("{name}: no volume for {claim}"));
                    assert!(volume["spec"]["claimRef"].get("uid").is_none());
                    assert_eq!(volume["spec"]["storageClassName"], template["spec"]["storageClassName"], "{claim}");
                    let (requested, has) = (&template["spec"]["resources"]["requests"], &volume["spec"]["capacity"]);
                    assert_eq!(requested, has, "{claim}");
                    let terms = &volume["spec"]["nodeAffinity"]["required"]["nodeSelectorTerms"];
                    machines.insert(terms[0]["matchExpressions"][0]["values"][0].as_str().unwrap());
                    claims += 1;
                }
                assert_eq!(machines.len(), 1, "{name}: pod {ordinal} is bound to {machines:?}");
            }
        }
        assert_eq!(claims, volumes.len(), "{name}");
    }
}

#[test]
fn no_rack_has_more_of_a_set_than_it_may_lose() {
    let documents = documents(&rendered("minio-8").files);
    let mut held: BTreeMap<(String, String), u32> = BTreeMap::new();
    for volume in of_kind(&documents, "PersistentVolume") {
        let label = |key: &str| volume["metadata"]["labels"][key].as_str().unwrap().to_owned();
        *held.entry((label("erasure-set"), label("rack"))).or_default() += 1;
    }
    // Two sets of sixteen, four of them parity, in four racks.
    assert_eq!((held.len(), held.values().max()), (8, Some(&4)));
}

#[test]
fn the_same_site_gives_the_same_bytes_and_the_files_that_kustomize_asks_for() {
    for name in NAMES {
        let files = rendered(name).files;
        assert_eq!(files, rendered(name).files);
        let paths: Vec<&str> = files.iter().map(|file| file.path.as_str()).collect();
        assert!(paths.is_sorted(), "{paths:?}");
        for file in files.iter().filter(|file| file.path.ends_with("kustomization.yaml")) {
            let folder = Path::new(&file.path).parent().unwrap();
            let read: Value = serde_saphyr::from_str(&file.text).unwrap();
            for resource in read["resources"].as_array().unwrap() {
                let path = folder.join(resource.as_str().unwrap()).display().to_string();
                let is_there =
                    paths.contains(&path.as_str()) || paths.contains(&format!("{path}/kustomization.yaml").as_str());
                assert!(is_there, "{}: {path}", file.path);
            }
        }
    }
}

#[test]
fn a_replaced_machine_changes_its_volumes_and_who_is_watched() {
    let before = rendered("minio-8").files;
    let replaced = vec![("node07".to_owned(), "node60".to_owned())];
    let after = render(&site(&text("minio-8")), &RenderRequest { replaced, ..request() }).unwrap().files;
    let mut changed = Vec::new();
    for (one, other) in before.iter().zip(&after) {
        assert_eq!(one.path, other.path);
        if one.text != other.text {
            changed.push(one.path.as_str());
            assert_eq!(one.text.replace("node07", "node60"), other.text);
            // A volume's name and its machine, of four drives; and who is watched, in each of seven lists.
            let times = if one.path.starts_with("storage/") { 8 } else { 7 };
            assert_eq!(one.text.matches("node07").count(), times, "{}", one.path);
        }
    }
    assert_eq!(changed, ["observation/monitors.yaml", "storage/rack-04.yaml"]);
    for (old, new, words) in [("node99", "node60", "no node node99"), ("node01", "node02", "a node already")] {
        let replaced = vec![(old.to_owned(), new.to_owned())];
        let error = render(&site(&text("minio-8")), &RenderRequest { replaced, ..request() }).unwrap_err();
        assert!(matches!(&error, RenderError::Requested(text) if text.contains(words)), "{error:?}");
    }
}

/// A replacement in the site of eight nodes, and the key that is told.
const WRONG: [(&str, &str, &str); 24] = [
    ("  racks: 4\n", "  racks: 1\n", ""),
    ("  racks: 4\n", "  racks: 3\n", "nodes.storage.racks"),
    (
        "engine: {product: minio, tls: true}",
        "engine: {product: minio, tls: true, protection: EC:1}",
        "nodes.storage.racks",
    ),
    ("engine: {product: minio, tls: true}", "engine: {product: garage, internal_tls: true}", "engine.product"),
    (
        "engine: {product: minio, tls: true}",
        "engine: {product: minio, tls: true, internal_tls: false}",
        "engine.internal_tls",
    ),
    ("  image: quay.io/minio/minio:RELEASE.2025-04-22T22-12-26Z\n", "", "kubernetes.image"),
    (
        "  hosts:\n    names: node{01...08}\n    mounts: /data{1...4}\n    devices: /dev/disk/by-label/data{1...4}\n",
        "",
        "kubernetes.hosts",
    ),
    (
        "  control_plane:\n    version: 1.34.4\n    hosts: [10.0.0.11, 10.0.0.12, 10.0.0.13]\n    etcd_rtt: 6.35ms\n",
        "",
        "kubernetes.api_server kubernetes.dns.cluster_ip",
    ),
    ("  pod_cidr: 10.244.0.0/16\n  native_cidr: 10.244.0.0/15\n", "", "kubernetes.pod_cidr"),
    ("  load_balancer: 192.0.2.0/28\n", "", "kubernetes.load_balancer"),
    ("  bgp: {local_as: 65001, peer_as: 65000}\n", "", "kubernetes.bgp"),
    (
        "entry: bgp\nkubernetes:",
        "entry: {path: l2-announcement, policy: local}\nkubernetes:",
        "entry.policy nodes.storage.racks",
    ),
    ("{link: bond0, mtu: 9000}", "{link: bond0, mtu: 9000, ip: ipv6}", "planes.public.ip"),
    ("{name: bond0, nics: nic0,", "{nics: nic0,", "planes.public.link"),
    ("{link: bond1, mtu: 9000}", "{link: bond1, encapsulation: wireguard}", "planes.private.encapsulation"),
    ("{link: bond1, mtu: 9000}", "{link: bond1, encapsulation: vxlan}", "planes.private.encapsulation"),
    ("{link: bond1, mtu: 9000}", "{link: bond1, encapsulation: none}", ""),
    ("{link: bond1, mtu: 9000}", "{link: bond1, timestamps: false}", "planes.private.timestamps"),
    ("{link: bond0, mtu: 9000}", "{link: bond0, encapsulation: ipip}", "planes.public.encapsulation"),
    (
        "engine: {product: minio, tls: true}",
        "engine: {product: minio, tls: true, encryption: true}",
        "engine.encryption",
    ),
    (
        "engine: {product: minio, tls: true}",
        "engine: {product: rustfs, tls: true, local_shards: true}",
        "engine.local_shards",
    ),
    ("entry: bgp\n", "entry: l2-announcement\n", "nodes.storage.racks"),
    (
        "clients: {count: 32, speed: 25Gb/s}",
        "clients: {count: 10000, connections: 3000, speed: 25Gb/s}",
        "clients.connections",
    ),
    ("engine: {product: minio, tls: true}", "engine: {product: minio, tls: true, versioned: true}", ""),
];

#[test]
fn what_nobody_stated_and_what_cannot_be_is_told_by_its_key() {
    for (from, to, path) in WRONG {
        let text = text("minio-8");
        assert!(text.contains(from), "{from:?}");
        match render(&site(&text.replacen(from, to, 1)), &request()) {
            Ok(_) => assert_eq!(path, "", "{to:?} is rendered"),
            Err(RenderError::Site(faults)) => {
                let paths: Vec<&str> = faults.iter().map(|fault| fault.path.as_str()).collect();
                assert_eq!(paths.join(" "), path, "{to:?}");
                assert!(faults.iter().all(|fault| !fault.what.is_empty() && !fault.advice.is_empty()));
            }
            Err(other) => panic!("{to:?}: {other:?}"),
        }
    }
    let text = text("minio-8");
    let unmeshed =
        text.replace("entry: bgp\n", "entry: cluster-mesh\n").replace("  mesh: {id: 1, name: storage}\n", "");
    let error = render(&site(&unmeshed), &request()).unwrap_err();
    assert!(matches!(error, RenderError::Site(faults) if faults[0].path == "entry.path"));
    let bare = &text[..text.find("kubernetes:").unwrap()];
    let error = render(&site(bare), &request()).unwrap_err();
    assert!(matches!(error, RenderError::Site(faults) if faults[0].path == "kubernetes"));
}

fn values(rendering: &Rendering) -> Value {
    let file = rendering.files.iter().find(|file| file.path == "cilium/values.yaml").expect("values");
    serde_saphyr::from_str(&file.text).expect("YAML")
}

#[test]
fn variants_have_what_cilium_takes_together() {
    for variant in EntryVariant::ALL {
        // The address that one node announces is in one segment.
        let racks = if variant == EntryVariant::B { "  racks: 1\n" } else { "  racks: 4\n" };
        let site = site(&text("minio-8").replace("  racks: 4\n", racks));
        let rendering = render(&site, &RenderRequest { variant: Some(variant), ..request() }).unwrap();
        let values = values(&rendering);
        let tunnel = values["routingMode"] == "tunnel";
        assert_eq!(tunnel, variant == EntryVariant::B, "{variant:?}");
        if tunnel {
            assert_eq!((&values["tunnelProtocol"], &values["enableIPv4BIGTCP"]), (&"geneve".into(), &false.into()));
            assert_eq!(values["loadBalancer"]["dsrDispatch"], "geneve");
            assert_eq!(values["loadBalancer"]["mode"], "dsr");
        } else {
            assert_eq!(values["loadBalancer"]["mode"], "snat", "{variant:?}");
            assert!(values.get("ipv4NativeRoutingCIDR").is_some() && values.get("tunnelProtocol").is_none());
        }
        assert_eq!(values["bpf"]["datapathMode"], "netkit", "{variant:?}");
        let documents = documents(&rendering.files);
        let count = |kind| of_kind(&documents, kind).len();
        let found =
            [count("CiliumBGPClusterConfig"), count("CiliumL2AnnouncementPolicy"), count("CiliumLoadBalancerIPPool")];
        let expected = match variant {
            EntryVariant::A | EntryVariant::Client => [1, 0, 0],
            EntryVariant::B => [0, 1, 1],
            EntryVariant::C => [1, 0, 1],
        };
        assert_eq!(found, expected, "{variant:?}");
        let service = of_kind(&documents, "Service").into_iter().find(|service| service["spec"].get("type").is_some());
        let policy = &service.expect("one of clients")["spec"]["externalTrafficPolicy"];
        assert_eq!(policy, if variant == EntryVariant::B { "Cluster" } else { "Local" }, "{variant:?}");
    }
    let old = text("minio-8").replace("kernel: 6.12", "kernel: 5.14");
    let values = values(&render(&linerate_site::read(&old, "s").unwrap(), &request()).unwrap());
    assert_eq!((&values["bpf"]["datapathMode"], &values["enableIPv4BIGTCP"]), (&"veth".into(), &false.into()));
}

/// The text of a file.
fn file_text(rendering: &Rendering, path: &str) -> String {
    let file = rendering.files.iter().find(|file| file.path == path);
    // Sentences are wrapped.
    file.expect("a file").text.split_whitespace().filter(|word| *word != "#").collect::<Vec<_>>().join(" ")
}

/// A replacement in the site of eight nodes, a file, what it says, and what it does not.
const WHYS: [(&str, &str, &str, &str, &str); 9] = [
    ("", "", "cilium/bgp.yaml", "Under policy Local", "Under policy Cluster"),
    (
        "entry: bgp\n",
        "entry: {path: bgp, policy: cluster}\n",
        "cilium/bgp.yaml",
        "Under policy Cluster",
        "policy Local",
    ),
    ("entry: bgp\n", "entry: node-port\n", "cilium/values.yaml", "Node ports answer on both", "public plane, native"),
    ("", "", "cilium/values.yaml", "its default route unless the host has one by planes.private.link", "InternalIP"),
    ("", "", "cilium/bgp.yaml", "only the plane that it is on learns routes", "bgp.peer;"),
    (
        "peer_as: 65000}",
        "peer_as: 65000, peer: 10.1.0.1}",
        "cilium/bgp.yaml",
        "kubernetes.bgp.peer; the routes",
        "one session",
    ),
    ("  racks: 4\n", "", "storage/rack-01.yaml", "The site states no racks", "has one rack"),
    ("", "", "engine/stateful-sets.yaml", "type: OnDelete", "WrittenFolder"),
    (
        "tls: true}",
        "tls: true, protection: EC:0}",
        "engine/disruption-budget.yaml",
        "A drain therefore waits for ever",
        "without any",
    ),
];

#[test]
fn a_reason_is_of_the_case_that_is_rendered() {
    for (from, to, path, says, others) in WHYS {
        let mut changed = text("minio-8").replacen(from, to, 1);
        if to.contains("EC:0") {
            changed = changed.replace("  racks: 4\n", "");
        }
        let said = file_text(&render(&site(&changed), &request()).unwrap(), path);
        assert!(said.contains(says) && !said.contains(others), "{to:?} {path}: {says:?}, not {others:?}\n{said}");
    }
    let snat = text("rustfs-4").replace("entry: l2-announcement", "entry: {path: l2-announcement, dsr: false}");
    let said = file_text(&render(&site(&snat), &request()).unwrap(), "cilium/values.yaml");
    assert!(!said.contains("this variant's DSR") && !said.contains("one node, DSR"), "{said}");
    assert!(said.contains("InternalIP"), "{said}");
}

#[test]
fn one_drive_of_one_node_is_a_folder_and_no_address() {
    let one = text("rustfs-4")
        .replace("count: 4\n", "count: 1\n")
        .replace(
            "    - {count: 2, capacity: 3.84TB}\n    - {count: 2, capacity: 7.68TB}\n",
            "    - {count: 1, capacity: 1TB}\n",
        )
        .replace("[alpha, beta, gamma, delta]", "alpha")
        .replace("[\"/mnt/small{1...2}\", \"/mnt/large{1...2}\"]", "/mnt/small");
    for text in [one.clone(), one.replace("engine: rustfs", "engine: minio")] {
        let documents = documents(&render(&site(&text), &request()).unwrap().files);
        let env = &of_kind(&documents, "StatefulSet")[0]["spec"]["template"]["spec"]["containers"][0]["env"];
        assert_eq!(env[0]["value"], "/data-1");
    }
}

#[test]
fn a_comment_in_the_site_changes_no_file() {
    let commented = format!("# Why.\n{}", text("minio-8"));
    assert_eq!(render(&site(&commented), &request()).unwrap().files, rendered("minio-8").files);
}

#[test]
fn the_example_of_the_language_is_rendered_but_for_what_contradicts_itself() {
    let site = linerate_site::read(linerate_site::example(), "example.yaml").unwrap();
    let Err(RenderError::Site(faults)) = render(&site, &request()) else { panic!("rendered") };
    let paths: Vec<&str> = faults.iter().map(|fault| fault.path.as_str()).collect();
    assert_eq!(paths, ["nodes.storage.racks", "planes.private.encapsulation"]);
    let requested = RenderRequest { variant: Some(EntryVariant::C), ..request() };
    let files = render(&site, &requested).unwrap().files;
    assert_eq!(of_kind(&documents(&files), "PersistentVolume").len(), 16 * 12);
}

#[test]
fn a_second_pool_leaves_the_first_ones_names() {
    let first = text("minio-8");
    let more = "- name: more
  count: 4
  drives: {count: 4, capacity: 15.36TB}
  nics:
    - {name: nic0, ports: 2, speed: 25Gb/s}
    - {name: nic1, ports: 2, speed: 100Gb/s}
  bonds:
    - {name: bond0, nics: nic0}
    - {name: bond1, nics: nic1}
";
    let hosts = "  - {kind: storage, names: 'node{01...08}', mounts: '/data{1...4}'}
  - {kind: more, names: 'more{1...4}', mounts: '/data{1...4}'}
";
    let kinds = first
        .replace("nodes:\n  count", "nodes:\n- name: storage\n  count")
        .replace("planes:\n", &format!("{more}planes:\n"))
        .replace(
            "    names: node{01...08}\n    mounts: /data{1...4}\n    devices: /dev/disk/by-label/data{1...4}\n",
            hosts,
        );
    let both = render(&site(&kinds), &request()).unwrap().files;
    for file in rendered("minio-8").files.iter().filter(|file| file.path.starts_with("storage/rack-")) {
        assert!(both.contains(file), "{}", file.path);
    }
    let documents = documents(&both);
    let sets = of_kind(&documents, "StatefulSet");
    let names: Vec<&Value> = sets.iter().map(|set| &set["metadata"]["name"]).collect();
    assert_eq!(names, ["minio", "minio-pool-2"]);
    let env = |set: &Value| set["spec"]["template"]["spec"]["containers"][0]["env"][0]["value"].clone();
    assert_eq!(env(sets[0]), env(sets[1]));
    let one =
        kinds.replace("  count: 4\n  drives: {count: 4, capacity: 15", "  count: 1\n  drives: {count: 1, capacity: 15");
    let one = one.replace("tls: true}", "tls: true, protection: EC:0}").replace("  racks: 4\n", "");
    let one = one.replace("'more{1...4}', mounts: '/data{1...4}'", "more1, mounts: /data1");
    match render(&site(&one), &request()) {
        Err(RenderError::Site(faults)) => {
            let reported: Vec<(&str, &str)> =
                faults.iter().map(|fault| (fault.path.as_str(), fault.what.as_str())).collect();
            assert_eq!(reported, [("nodes.more.count", "a pool of one drive")]);
        }
        other => panic!("{other:?}"),
    }
    assert!(env(sets[0]).as_str().unwrap().contains("minio-pool-2-{0...3}.minio-hl.object-store"), "{}", env(sets[0]));
}

/// A document as the type reads and writes it: what the type does not have is gone then.
fn as_type<T: serde::de::DeserializeOwned + serde::Serialize>(document: &Value) -> Value {
    let typed: T = serde_json::from_value(document.clone()).unwrap_or_else(|error| panic!("{error}: {document}"));
    serde_json::to_value(typed).expect("JSON")
}

/// Maps without their empty ones: types leave these out.
fn without_empty(value: &Value) -> Value {
    match value {
        Value::Object(map) => {
            let kept = map.iter().map(|(key, value)| (key.clone(), without_empty(value)));
            let is_empty = |value: &Value| value.as_object().is_some_and(serde_json::Map::is_empty) || value.is_null();
            kept.filter(|(_, value)| !is_empty(value)).collect()
        }
        Value::Array(list) => list.iter().map(without_empty).collect(),
        other => other.clone(),
    }
}

#[test]
fn every_object_of_kubernetes_has_the_fields_of_its_type_and_no_others() {
    let mut kinds = BTreeSet::new();
    for name in NAMES {
        let drawn = FirstCredentials { user: "a".to_owned(), password: "b".to_owned() };
        let secret =
            RenderedFile { path: "secret.yaml".to_owned(), text: credentials(&site(&text(name)), &drawn).unwrap() };
        for document in documents(&[rendered(name).files, vec![secret]].concat()) {
            let kind = document["kind"].as_str().unwrap_or_default().to_owned();
            let typed = match kind.as_str() {
                "ClusterRole" => as_type::<ClusterRole>(&document),
                "ClusterRoleBinding" => as_type::<ClusterRoleBinding>(&document),
                "ConfigMap" => as_type::<ConfigMap>(&document),
                "DaemonSet" => as_type::<DaemonSet>(&document),
                "Deployment" => as_type::<Deployment>(&document),
                "FlowSchema" => as_type::<FlowSchema>(&document),
                "PriorityClass" => as_type::<PriorityClass>(&document),
                "PriorityLevelConfiguration" => as_type::<PriorityLevelConfiguration>(&document),
                "ServiceAccount" => as_type::<ServiceAccount>(&document),
                "StatefulSet" => as_type::<StatefulSet>(&document),
                "Namespace" => as_type::<Namespace>(&document),
                "PersistentVolume" => as_type::<PersistentVolume>(&document),
                "Secret" => as_type::<Secret>(&document),
                "Service" => as_type::<Service>(&document),
                "NetworkPolicy" => as_type::<NetworkPolicy>(&document),
                "PodDisruptionBudget" => as_type::<PodDisruptionBudget>(&document),
                "StorageClass" => as_type::<StorageClass>(&document),
                // Kustomize's own, values of Helm, Cilium's, and what kubeadm and the kubelet read.
                _ => continue,
            };
            assert_eq!(without_empty(&typed), without_empty(&document), "{name}: {kind}");
            kinds.insert(kind);
        }
    }
    assert_eq!(kinds.len(), 17, "{kinds:?}");
}

#[test]
fn credentials_are_in_their_own_file_alone() {
    let drawn = FirstCredentials { user: "first".to_owned(), password: "no: #word".to_owned() };
    for name in NAMES {
        let site = site(&text(name));
        let secret = credentials(&site, &drawn).unwrap();
        let read: Value = serde_saphyr::from_str(&secret).unwrap();
        assert_eq!(read["stringData"]["password"], "no: #word");
        let documents = documents(&rendered(name).files);
        let set = of_kind(&documents, "StatefulSet")[0].clone();
        let env = set["spec"]["template"]["spec"]["containers"][0]["env"].as_array().unwrap().clone();
        let from: Vec<&Value> = env.iter().filter_map(|row| row.get("valueFrom")).collect();
        assert_eq!(from.len(), 2);
        assert!(from.iter().all(|from| from["secretKeyRef"]["name"] == read["metadata"]["name"]));
        assert!(of_kind(&documents, "Secret").is_empty());
    }
}
