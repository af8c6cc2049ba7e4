use k8s_openapi::api::apps::v1::DaemonSet;
use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::core::v1::{Namespace, ServiceAccount};
use k8s_openapi::api::rbac::v1::{Role, RoleBinding};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::*;
use crate::up::documents;

fn plain() -> Wishes {
    Wishes {
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
    }
}

fn full() -> Wishes {
    Wishes {
        storage_label: Some(("example.com/storage".to_owned(), Some("true".to_owned()))),
        storage_until: Some("2026-11-24T08:00:00Z".to_owned()),
        ..plain()
    }
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
    let others = Wishes { makes_namespaces: false, clients: 1, ..plain() };
    golden("one_client.yaml", &render(&others));
    let pods = [("node2", "b"), ("node1", "a")].map(|(node, pod)| StoragePod { node: node.into(), pod: pod.into() });
    golden("fleet.yaml", &fleet(&full(), Some("prod"), &pods));
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
    let without = crate::up::documents(&render(&plain())).unwrap();
    let privileged = |document: &Value| document.to_string().contains("privileged") || document["kind"] == "DaemonSet";
    assert!(!without.iter().any(privileged));
}

#[test]
fn the_fleet_that_reaches_them_reads() {
    let pods = [StoragePod { node: "node1".to_owned(), pod: "linerate-a1-storage-x".to_owned() }];
    for (context, clients) in [(None, 8), (Some("arn:aws:eks:eu-west-1:1:cluster/x"), 1)] {
        let wishes = Wishes { clients, ..full() };
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
    type Wish = fn(&mut Wishes);
    let cases: [(Wish, &str); 11] = [
        (|w| w.instance = "A".to_owned(), "invalid instance \"A\""),
        (|w| w.instance = "a".repeat(33), "invalid instance"),
        (|w| w.namespace = "kube_system".to_owned(), "invalid namespace"),
        (|w| w.image = "x y".to_owned(), "invalid image"),
        (|w| w.image = "x\n- evil".to_owned(), "invalid image"),
        (|w| w.clients = 0, "invalid number of clients \"0\""),
        (|w| w.cpu = "2 cores".to_owned(), "invalid processors \"2 cores\""),
        (|w| w.memory = "-1Gi".to_owned(), "invalid memory"),
        (|w| w.deadline_s = 1, "invalid deadline"),
        (|w| w.storage_label = Some(("a b".to_owned(), None)), "invalid label of storage nodes"),
        (|w| w.storage_until = Some("2026-11-24T08:00:00Z".to_owned()), "say which nodes store"),
    ];
    for (wish, part) in cases {
        let mut wishes = plain();
        wish(&mut wishes);
        let told = wishes.checked().unwrap_err().to_string();
        assert!(told.contains(part), "{part}: {told}");
    }
}
