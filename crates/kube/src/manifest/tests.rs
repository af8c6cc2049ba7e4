use k8s_openapi::api::apps::v1::DaemonSet;
use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::core::v1::{Namespace, Service, ServiceAccount};
use k8s_openapi::api::rbac::v1::{Role, RoleBinding};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::*;
use crate::client_fleet::documents;

fn plain() -> ClientManifest {
    ClientManifest {
        instance: "a1".to_owned(),
        namespace: "linerate".to_owned(),
        makes_namespaces: true,
        image: "registry.example/linerate:0.1.0".to_owned(),
        clients: 8,
        allow: "read".to_owned(),
        cpu: "2".to_owned(),
        memory: "1Gi".to_owned(),
        deadline_s: 3_600,
        lease_s: 30,
        storage_label: None,
        storage_hosts: Vec::new(),
        storage_until: None,
        host_clients: 0,
        service_port: None,
        changes: false,
    }
}

fn full() -> ClientManifest {
    ClientManifest {
        storage_label: Some(("example.com/storage".to_owned(), Some("true".to_owned()))),
        storage_until: Some("2026-11-24T08:00:00Z".to_owned()),
        ..plain()
    }
}

/// What changes storage nodes.
fn changing() -> ClientManifest {
    ClientManifest { clients: 0, changes: true, ..full() }
}

fn golden(name: &str, text: &str) {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(name);
    if std::env::var_os("REGENERATE").is_some() {
        std::fs::write(&path, text).unwrap();
    }
    let kept = std::fs::read_to_string(&path).unwrap_or_default();
    assert_eq!(text, kept, "REGENERATE=1 cargo test -p linerate-kube writes {name}");
}

#[test]
fn the_same_wishes_give_the_same_text() {
    golden("clients.yaml", &render(&plain()));
    golden("storage.yaml", &render(&full()));
    let others = ClientManifest { makes_namespaces: false, clients: 1, ..plain() };
    golden("one_client.yaml", &render(&others));
    let pods = [("node2", "b"), ("node1", "a")].map(|(node, pod)| StoragePod { node: node.into(), pod: pod.into() });
    golden("fleet.yaml", &fleet(&full(), Some("prod"), &pods));
    golden("change.yaml", &render(&changing()));
}

fn linked() -> ClientManifest {
    ClientManifest { clients: 4, host_clients: 2, service_port: Some(5_301), ..plain() }
}

#[test]
fn clients_of_hosts_and_services_are_those_of_the_api_and_each_service_is_of_one_client() {
    let wishes = linked();
    assert_eq!(wishes.checked(), Ok(()));
    assert_eq!(wishes.namespaces(), ["linerate", "linerate-host"]);
    let documents = documents(&render(&wishes)).unwrap();
    let documents_of_kind = |kind: &str| documents.iter().filter(|one| one["kind"] == kind).collect::<Vec<_>>();
    let services = documents_of_kind("Service");
    assert_eq!(services.len(), 4);
    for (index, service) in services.iter().enumerate() {
        taken_by::<Service>(service);
        let selector = &service["spec"]["selector"];
        assert_eq!(selector[INDEX_LABEL], index.to_string().as_str());
        assert_eq!(selector[INSTANCE_LABEL], "a1");
        assert_eq!(selector[COMPONENT_LABEL], "client");
        assert_eq!(service["metadata"]["name"], format!("linerate-a1-{index}").as_str());
        assert_eq!(service["spec"]["ports"][0]["port"], 5_301);
    }
    let jobs = documents_of_kind("Job");
    assert_eq!(jobs.len(), 2);
    jobs.iter().for_each(|job| taken_by::<Job>(job));
    let pod = &jobs[1]["spec"]["template"]["spec"];
    assert_eq!((&jobs[1]["spec"]["completions"], &pod["hostNetwork"]), (&2.into(), &true.into()));
    assert_eq!(jobs[1]["metadata"]["namespace"], "linerate-host");
    let near = &pod["affinity"]["podAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"][0];
    assert_eq!((&near["namespaces"][0], &near["topologyKey"]), (&"linerate".into(), &"kubernetes.io/hostname".into()));
    // Nothing of the host but its network.
    for absent in ["/hostPID", "/hostIPC", "/containers/0/securityContext/privileged"] {
        assert_eq!(pod.pointer(absent), None, "{absent}");
    }
    assert_eq!(pod.pointer("/securityContext/runAsNonRoot"), Some(&Value::from(true)));
    let before = crate::client_fleet::documents(&render(&plain())).unwrap();
    assert!(before.iter().all(|one| one["kind"] != "Service" && one["metadata"]["namespace"] != "linerate-host"));
}

#[test]
fn a_fleet_of_placed_clients_says_where_each_is() {
    let client = |node: &str, is_host, index, service: Option<&str>| PlacedClient {
        node: node.to_owned(),
        is_host,
        index,
        service: service.map(|address| address.parse().unwrap()),
    };
    let clients = [
        client("n2", false, 1, Some("10.96.0.8")),
        client("n1", true, 0, None),
        client("n1", false, 2, Some("fd00::9")),
        client("n1", false, 0, Some("10.96.0.7")),
    ];
    let text = placed_fleet(&linked(), Some("prod"), &clients);
    let nodes = linerate_fleet::description::read(&text, "fleet.yaml").unwrap();
    let said: Vec<String> = nodes
        .iter()
        .map(|node| {
            let (network, service) = (node.network.unwrap().key(), node.service.map(|at| at.to_string()));
            format!("{} {} {network} {service:?}", node.name, node.host.as_deref().unwrap())
        })
        .collect();
    let expected = [
        "n1-pod0 n1 pod Some(\"10.96.0.7:5301\")",
        "n1-pod1 n1 pod Some(\"[fd00::9]:5301\")",
        "n1-host0 n1 host None",
        "n2-pod0 n2 pod Some(\"10.96.0.8:5301\")",
    ];
    assert_eq!(said, expected);
    let reach: Vec<String> = nodes.iter().map(|node| node.reach.to_string()).collect();
    assert!(reach[1].starts_with("kube://prod/linerate/?") && reach[1].ends_with("index=2"), "{reach:?}");
    assert!(reach[2].starts_with("kube://prod/linerate-host/?") && reach[2].ends_with("index=0"), "{reach:?}");
}

#[test]
fn nodes_with_long_names_have_shorter_ones_in_the_file_and_each_its_own() {
    let domain = "production.region-one.kubernetes.internal.example";
    let label = "a".repeat(63);
    let all = [
        format!("worker-001.{domain}"),
        format!("worker-002.{domain}"),
        "worker-001".to_owned(),
        label.clone(),
        format!("{label}.example"),
        "ip-10-0-1-2.eu-central-1.compute.internal".to_owned(),
    ];
    let client = |node: &String, is_host| PlacedClient { node: node.clone(), is_host, index: 0, service: None };
    let clients: Vec<PlacedClient> =
        all.iter().flat_map(|node| [false, true].map(|is_host| client(node, is_host))).collect();
    let text = placed_fleet(&linked(), None, &clients);
    let nodes =
        linerate_fleet::description::read(&text, "fleet.yaml").unwrap_or_else(|error| panic!("{error}: {text}"));
    assert_eq!(nodes.len(), 2 * all.len());
    let mut hosts: Vec<&str> = nodes.iter().map(|node| node.host.as_deref().unwrap()).collect();
    hosts.sort_unstable();
    hosts.dedup();
    let cut = "a".repeat(54);
    let numbered = format!("{}-2", "a".repeat(52));
    let expected = [
        numbered.as_str(),
        cut.as_str(),
        "ip-10-0-1-2.eu-central-1.compute.internal",
        "worker-001",
        "worker-001.production.region-one.kubernetes.internal",
        "worker-002.production.region-one.kubernetes.internal",
    ];
    assert_eq!(hosts, expected);
}

/// What the API's own types do not take would be lost on the way there and back.
fn taken_by<T: DeserializeOwned + Serialize>(document: &Value) {
    let typed: T = serde_json::from_value(document.clone()).unwrap_or_else(|error| panic!("{error}: {document}"));
    assert_eq!(&serde_json::to_value(&typed).unwrap(), document);
}

#[test]
fn each_object_is_one_of_the_api_and_has_no_field_that_it_does_not_know() {
    let documents = documents(&render(&full())).unwrap();
    let mut kinds = Vec::new();
    for document in &documents {
        let kind = document["kind"].as_str().unwrap();
        match kind {
            "Namespace" => taken_by::<Namespace>(document),
            "ServiceAccount" => taken_by::<ServiceAccount>(document),
            "Role" => taken_by::<Role>(document),
            "RoleBinding" => taken_by::<RoleBinding>(document),
            "Job" => taken_by::<Job>(document),
            "DaemonSet" => taken_by::<DaemonSet>(document),
            other => panic!("{other}"),
        }
        assert_eq!(document["metadata"]["labels"][INSTANCE_LABEL], "a1", "{kind}");
        assert_eq!(document["metadata"]["labels"][MANAGER_LABEL], MANAGER, "{kind}");
        kinds.push(kind);
    }
    kinds.sort_unstable();
    let expected = [
        "DaemonSet",
        "Job",
        "Job",
        "Namespace",
        "Namespace",
        "Role",
        "Role",
        "RoleBinding",
        "RoleBinding",
        "ServiceAccount",
        "ServiceAccount",
        "ServiceAccount",
    ];
    assert_eq!(kinds, expected);
}

#[test]
fn clients_are_what_restricted_pod_security_allows() {
    let documents = documents(&render(&full())).unwrap();
    let job = documents.iter().find(|document| document["kind"] == "Job").unwrap();
    let pod = &job["spec"]["template"]["spec"];
    for (what, path, expected) in [
        ("user", "/securityContext/runAsNonRoot", Value::from(true)),
        ("seccomp", "/securityContext/seccompProfile/type", "RuntimeDefault".into()),
        ("escalation", "/containers/0/securityContext/allowPrivilegeEscalation", false.into()),
        ("capabilities", "/containers/0/securityContext/capabilities/drop/0", "ALL".into()),
        ("root", "/containers/0/securityContext/readOnlyRootFilesystem", true.into()),
        ("token", "/automountServiceAccountToken", false.into()),
    ] {
        assert_eq!(pod.pointer(path), Some(&expected), "{what}");
    }
    for absent in ["/hostNetwork", "/hostPID", "/hostIPC", "/containers/0/resources/limits", "/containers/0/ports"] {
        assert_eq!(pod.pointer(absent), None, "{absent}");
    }
    let kinds: Vec<&str> = pod["volumes"].as_array().unwrap().iter().map(|v| v["name"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["run"]);
    let without = crate::client_fleet::documents(&render(&plain())).unwrap();
    let privileged = |document: &Value| document.to_string().contains("privileged") || document["kind"] == "DaemonSet";
    assert!(!without.iter().any(privileged));
}

#[test]
fn what_changes_machines_is_privileged_says_so_and_is_in_no_other_manifest() {
    assert_eq!(changing().checked(), Ok(()));
    assert_eq!(changing().namespaces(), ["linerate-change"]);
    let text = render(&changing());
    assert!(text.starts_with("# PRIVILEGED"), "{text}");
    let documents = documents(&text).unwrap();
    let kinds: Vec<&str> = documents.iter().map(|document| document["kind"].as_str().unwrap()).collect();
    let expected = ["Namespace", "Job", "ServiceAccount", "ServiceAccount", "Role", "RoleBinding", "DaemonSet"];
    assert_eq!(kinds, expected);
    for document in &documents {
        let place = document["metadata"]["namespace"].as_str().or(document["metadata"]["name"].as_str());
        assert_eq!(place, Some("linerate-change"), "{document}");
        assert_eq!(document["metadata"]["labels"][INSTANCE_LABEL], "a1", "{document}");
    }
    let set = &documents[6];
    taken_by::<DaemonSet>(set);
    taken_by::<RoleBinding>(&documents[5]);
    // Rights in these pods are rights of root: an account of another namespace has none.
    assert_eq!(documents[5]["subjects"][0]["namespace"], "linerate-change");
    let reported = set["metadata"]["annotations"]["kubernetes.io/description"].as_str().unwrap();
    assert!(reported.starts_with("Privileged: root on each storage node.") && !reported.contains('\n'), "{reported:?}");
    let pod = &set["spec"]["template"]["spec"];
    for (path, expected) in [
        ("/hostPID", Value::from(true)),
        ("/automountServiceAccountToken", false.into()),
        ("/containers/0/securityContext/privileged", true.into()),
        ("/containers/0/securityContext/runAsUser", 0.into()),
        ("/containers/0/securityContext/readOnlyRootFilesystem", true.into()),
    ] {
        assert_eq!(pod.pointer(path), Some(&expected), "{path}");
    }
    let words: Vec<&str> = pod["containers"][0]["args"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
    let expected = format!("agent --listen {SOCKET} --allow change --on-host --lease 30s --until 2026-11-24T08:00:00Z");
    assert_eq!(words.join(" "), expected);
    // Nothing of the machine is mounted, and nothing else has such rights.
    assert_eq!(pod["volumes"].as_array().unwrap().len(), 1);
    assert_eq!(pod["volumes"][0]["emptyDir"]["medium"], "Memory");
    for wishes in [plain(), full(), linked()] {
        let others = render(&wishes);
        for part in ["--on-host", "privileged: true", "--allow, change", "-change"] {
            assert!(!others.contains(part), "{part}");
        }
    }
}

#[test]
fn nodes_to_be_changed_are_reached_by_whatever_pod_is_on_them() {
    let long = format!("node-1.{}.example", "a".repeat(60));
    let pods = [("node2", "b"), (long.as_str(), "a")];
    let pods = pods.map(|(node, pod)| StoragePod { node: node.into(), pod: pod.into() });
    for context in [None, Some("prod")] {
        let text = fleet(&changing(), context, &pods);
        let nodes = linerate_fleet::description::read(&text, "fleet.yaml").unwrap();
        let names: Vec<&str> = nodes.iter().map(|node| node.name.as_str()).collect();
        assert_eq!(names, ["node2", "node-1"], "{text}");
        let place = context.map_or(String::new(), |context| format!("{context}/"));
        for (node, name) in nodes.iter().zip(["node2", long.as_str()]) {
            let expected = format!(
                "kube://{place}linerate-change/?{INSTANCE_LABEL}=a1,{COMPONENT_LABEL}=change,spec.nodeName={name}"
            );
            assert_eq!(node.reach.to_string(), expected);
        }
    }
}

#[test]
fn the_fleet_that_reaches_them_reads() {
    let pods = [StoragePod { node: "node1".to_owned(), pod: "linerate-a1-storage-x".to_owned() }];
    for (context, clients) in [(None, 8), (Some("arn:aws:eks:eu-west-1:1:cluster/x"), 1)] {
        let wishes = ClientManifest { clients, ..full() };
        let nodes = linerate_fleet::description::read(&fleet(&wishes, context, &pods), "fleet.yaml").unwrap();
        assert_eq!(nodes.len(), clients as usize + 1);
        let reach = nodes[0].reach.to_string();
        assert!(reach.ends_with("job-completion-index=0") && reach.contains("instance=a1"), "{reach}");
    }
}

#[test]
fn a_wish_that_cannot_be_is_told_with_what_to_write() {
    assert_eq!(plain().checked(), Ok(()));
    assert_eq!(full().checked(), Ok(()));
    type Wish = fn(&mut ClientManifest);
    let cases: [(Wish, &str); 15] = [
        (|w| w.instance = "A".to_owned(), "invalid instance \"A\""),
        (|w| w.instance = "a".repeat(33), "invalid instance"),
        (|w| w.namespace = "kube_system".to_owned(), "invalid namespace"),
        (|w| w.image = "x y".to_owned(), "invalid image"),
        (|w| w.image = "x\n- evil".to_owned(), "invalid image"),
        (|w| w.clients = 0, "invalid number of clients \"0\""),
        (|w| w.host_clients = 9, "invalid number of clients of hosts \"9\""),
        (|w| w.service_port = Some(0), "invalid port of Services \"0\""),
        (|w| w.service_port = Some(1_023), "write 1024 to 65535"),
        (|w| w.cpu = "2 cores".to_owned(), "invalid processors \"2 cores\""),
        (|w| w.memory = "-1Gi".to_owned(), "invalid memory"),
        (|w| w.deadline_s = 1, "invalid deadline"),
        (|w| w.storage_label = Some(("a b".to_owned(), None)), "invalid label of storage nodes"),
        (|w| w.storage_until = Some("2026-11-24T08:00:00Z".to_owned()), "say which nodes store"),
        (|w| w.changes = true, "say which nodes store"),
    ];
    for (wish, part) in cases {
        let mut wishes = plain();
        wish(&mut wishes);
        let reported = wishes.checked().unwrap_err().to_string();
        assert!(reported.contains(part), "{part}: {reported}");
    }
}
