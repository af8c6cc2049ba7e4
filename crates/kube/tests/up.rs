//! Clients brought up and taken down at a server that keeps objects, and has some of others.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use linerate_kube::access::{Access, KubeCluster, KubeconfigSource};
use linerate_kube::client_fleet::{NamespaceOwner, documents};
use linerate_kube::error::KubeError;
use linerate_kube::manifest::{ClientManifest, INDEX_LABEL, PlacedClient, StoragePod, render};
use serde_json::{Value, json};

use crate::server::{Call, Server};
use crate::{no_secrets, read_file};

/// Objects by their paths.
type Objects = Arc<Mutex<BTreeMap<String, Value>>>;

fn answer(call: Call, objects: &Objects, heeds_selectors: bool) {
    let mut objects = objects.lock().expect("no test panicked meanwhile");
    let (path, query) = call.path.split_once('?').unwrap_or((&call.path, ""));
    let (path, query) = (path.to_owned(), query.to_owned());
    match call.method.as_str() {
        "PATCH" => {
            assert_eq!(call.header("content-type"), "application/apply-patch+yaml");
            assert!(query.contains("fieldManager=linerate") && !query.contains("force"), "{query}");
            let mut object: Value = serde_json::from_slice(&call.body).expect("the server of the test answers");
            object["metadata"]["uid"] = format!("uid of {path}").into();
            objects.insert(path, object.clone());
            call.json(200, &object.to_string());
        }
        "DELETE" => {
            assert!(String::from_utf8_lossy(&call.body).contains("Foreground"));
            match objects.remove(&path) {
                Some(object) => call.json(200, &object.to_string()),
                None => call.refuse(404, "NotFound", "not found"),
            }
        }
        _ if objects.contains_key(&path) => {
            let object = objects[&path].clone();
            call.json(200, &object.to_string());
        }
        _ if path.rsplit('/').nth(1).is_some_and(|above| above == "namespaces") => {
            call.refuse(404, "NotFound", &format!("{path} not found"));
        }
        _ => {
            let below = format!("{path}/");
            let is_selected = |object: &Value| {
                let instance = object["metadata"]["labels"]["app.kubernetes.io/instance"].as_str().unwrap_or_default();
                !heeds_selectors
                    || !query.contains("labelSelector")
                    || query.contains(&format!("instance%3D{instance}"))
            };
            let of_path = objects.iter().filter(|(key, _)| key.strip_prefix(&below).is_some_and(|n| !n.contains('/')));
            let items: Vec<&Value> = of_path.map(|(_, object)| object).filter(|object| is_selected(object)).collect();
            call.json(200, &json!({"kind": "List", "apiVersion": "v1", "metadata": {}, "items": items}).to_string());
        }
    }
}

fn wishes() -> ClientManifest {
    ClientManifest {
        instance: "a1".to_owned(),
        namespace: "load".to_owned(),
        makes_namespaces: true,
        image: "linerate:test".to_owned(),
        clients: 2,
        allow: "read".to_owned(),
        cpu: "1".to_owned(),
        memory: "1Gi".to_owned(),
        deadline_s: 600,
        lease_s: 30,
        storage_label: Some(("storage".to_owned(), None)),
        storage_hosts: Vec::new(),
        storage_until: Some("2026-11-24T08:00:00Z".to_owned()),
        host_clients: 0,
        service_port: None,
        changes: false,
    }
}

struct Place {
    objects: Objects,
    cluster: Arc<KubeCluster>,
    _server: Server,
}

fn place(heeds_selectors: bool) -> Place {
    let objects = Objects::default();
    let kept = Arc::clone(&objects);
    let server = Server::start(move |call| answer(call, &kept, heeds_selectors));
    let source = KubeconfigSource::Files { paths: vec![server.kubeconfig("{token: t}")] };
    let cluster = Access::find(&source, None, read_file)
        .expect("the server of the test answers")
        .connect(no_secrets())
        .expect("the server of the test answers");
    Place { objects, cluster, _server: server }
}

impl Place {
    fn put(&self, path: &str, object: Value) {
        self.objects.lock().expect("no test panicked meanwhile").insert(path.to_owned(), object);
    }

    fn paths(&self) -> Vec<String> {
        self.objects.lock().expect("no test panicked meanwhile").keys().cloned().collect()
    }

    fn apply(&self) {
        let objects = documents(&render(&wishes())).expect("the server of the test answers");
        self.cluster.apply_all(objects.iter(), &wishes()).expect("the server of the test answers");
    }
}

fn pod(name: &str, component: &str, is_ready: bool) -> Value {
    let status = if is_ready { "True" } else { "False" };
    json!({
        "metadata": {"name": name, "labels": {
            "app.kubernetes.io/instance": "a1", "app.kubernetes.io/managed-by": "linerate",
            "app.kubernetes.io/component": component,
        }},
        "spec": {"containers": [], "nodeName": format!("node-of-{name}")},
        "status": {"phase": "Running", "conditions": [{"type": "Ready", "status": status}]},
    })
}

const LABELS_OF_OTHERS: &str = r#"{"app.kubernetes.io/instance": "b2", "app.kubernetes.io/managed-by": "linerate"}"#;

fn of_others(name: &str) -> Value {
    let labels = serde_json::from_str::<Value>(LABELS_OF_OTHERS).expect("labels");
    json!({"metadata": {"name": name, "labels": labels}})
}

#[test]
fn a_fleet_is_applied_counted_and_gone_and_what_is_of_others_stays() {
    // A server that does not heed selectors must not make us delete what is not ours.
    for heeds_selectors in [true, false] {
        let place = place(heeds_selectors);
        place.put("/apis/batch/v1/namespaces/load/jobs/linerate-b2", of_others("linerate-b2"));
        assert_eq!(place.cluster.owner("load", "a1"), Ok(NamespaceOwner::Nobody));
        assert_eq!(place.cluster.is_up(&wishes()), Ok(false));
        place.apply();
        assert_eq!(place.paths().len(), 13, "{:?}", place.paths());
        assert_eq!(place.cluster.owner("load", "a1"), Ok(NamespaceOwner::Ours));
        assert_eq!(place.cluster.owner("load", "b2"), Ok(NamespaceOwner::Others));
        assert_eq!(place.cluster.is_up(&wishes()), Ok(true));
        let left = place.cluster.delete(&["load", "load-storage"], "a1").unwrap();
        // The namespace of clients has somebody else's Job.
        assert_eq!(left.kept, [("load".to_owned(), "jobs linerate-b2".to_owned())]);
        let left = place.cluster.delete(&["load", "load-storage"], "a1").unwrap();
        assert_eq!(left.objects, []);
        assert_eq!(place.paths(), ["/api/v1/namespaces/load", "/apis/batch/v1/namespaces/load/jobs/linerate-b2"]);
    }
}

#[test]
fn all_that_reads_storage_nodes_is_owned_by_what_expires_and_nothing_else_is() {
    let place = place(true);
    place.apply();
    let expiry = "/apis/batch/v1/namespaces/load-storage/jobs/linerate-a1-expiry";
    let owner = json!([{
        "apiVersion": "batch/v1", "kind": "Job", "name": "linerate-a1-expiry", "uid": format!("uid of {expiry}"),
    }]);
    let mut owned = 0;
    for (path, object) in &*place.objects.lock().unwrap() {
        let owners = &object["metadata"]["ownerReferences"];
        let is_owned = path.contains("/namespaces/load-storage/") && path != expiry;
        assert_eq!(*owners, if is_owned { owner.clone() } else { Value::Null }, "{path}");
        owned += usize::from(is_owned);
    }
    assert_eq!(owned, 4, "an account, its rights twice, and the DaemonSet");
    let expiry = &place.objects.lock().unwrap()[expiry];
    assert_eq!(expiry["spec"]["activeDeadlineSeconds"], 600);
    assert_eq!(expiry["spec"]["parallelism"], 0, "it starts no pod");
}

#[test]
fn namespaces_of_a_fleet_are_deleted_with_it_once_they_are_empty() {
    let place = place(true);
    place.apply();
    place.put("/api/v1/namespaces/load/configmaps/kube-root-ca.crt", json!({"metadata": {"name": "kube-root-ca.crt"}}));
    let left = place.cluster.delete(&["load", "load-storage"], "a1").unwrap();
    assert_eq!(left.kept, []);
    let left = place.cluster.delete(&["load", "load-storage"], "a1").unwrap();
    assert_eq!((left.objects.len(), left.kept.len()), (0, 0));
    assert_eq!(place.paths(), ["/api/v1/namespaces/load/configmaps/kube-root-ca.crt"]);
}

#[test]
fn clients_and_readers_are_counted_when_they_are_ready() {
    let place = place(true);
    place.apply();
    let ready = || place.cluster.readiness(&wishes()).unwrap();
    assert!(!ready().is_whole(&wishes()));
    place.put("/api/v1/namespaces/load/pods/c0", pod("c0", "client", true));
    place.put("/api/v1/namespaces/load/pods/c1", pod("c1", "client", false));
    let found = ready();
    assert_eq!((found.clients, found.storage_wanted), (1, None));
    assert_eq!(found.waits, ["1 such as c1: Running"]);
    place.put("/api/v1/namespaces/load/pods/c1", pod("c1", "client", true));
    place.put("/api/v1/namespaces/load-storage/pods/s", pod("s", "storage", true));
    let path = "/apis/apps/v1/namespaces/load-storage/daemonsets/linerate-a1-storage";
    let mut set = place.objects.lock().unwrap()[path].clone();
    set["status"] = json!({"observedGeneration": 1, "desiredNumberScheduled": 1});
    place.put(path, set);
    let found = ready();
    assert!(found.is_whole(&wishes()), "{found:?}");
    assert_eq!(found.storage, [StoragePod { node: "node-of-s".to_owned(), pod: "s".to_owned() }]);
}

#[test]
fn what_changes_storage_nodes_is_in_a_namespace_of_its_own_whole_with_all_of_them_and_gone_with_the_fleet() {
    let wishes = ClientManifest { clients: 0, changes: true, ..wishes() };
    let place = place(true);
    let objects = documents(&render(&wishes)).unwrap();
    place.cluster.apply_all(objects.iter(), &wishes).unwrap();
    assert_eq!(place.cluster.is_up(&wishes), Ok(true));
    assert!(place.paths().iter().all(|path| path.contains("/namespaces/load-change")), "{:?}", place.paths());
    let path = "/apis/apps/v1/namespaces/load-change/daemonsets/linerate-a1-change";
    let owner = place.objects.lock().unwrap()[path]["metadata"]["ownerReferences"][0]["name"].clone();
    assert_eq!(owner, "linerate-a1-expiry", "it ends with its time");
    let ready = |wanted: u32| {
        let mut set = place.objects.lock().unwrap()[path].clone();
        set["status"] = json!({"observedGeneration": 1, "desiredNumberScheduled": wanted});
        place.put(path, set);
        place.cluster.readiness(&wishes).unwrap()
    };
    let found = ready(0);
    assert!(!found.is_whole(&wishes), "a fleet of nobody is none");
    assert_eq!(found.waits, ["no node has the label of storage nodes"]);
    place.put("/api/v1/namespaces/load-change/pods/s", pod("s", "change", true));
    assert!(!ready(2).is_whole(&wishes) && ready(1).is_whole(&wishes));
    assert_eq!(ready(1).storage, [StoragePod { node: "node-of-s".to_owned(), pod: "s".to_owned() }]);
    place.cluster.delete(&["load", "load-change"], "a1").unwrap();
    assert_eq!(place.cluster.delete(&["load", "load-change"], "a1").unwrap().objects, []);
    assert_eq!(place.paths(), Vec::<String>::new());
}

#[test]
fn clients_of_hosts_and_services_are_placed_once_they_are_ready_and_gone_with_the_fleet() {
    let wishes = ClientManifest {
        host_clients: 1,
        service_port: Some(5_301),
        storage_label: None,
        storage_until: None,
        ..wishes()
    };
    let place = place(true);
    place.put("/api/v1/namespaces/load/services/of-others", of_others("linerate-a1-1"));
    let objects = documents(&render(&wishes)).unwrap();
    place.cluster.apply_all(objects.iter(), &wishes).unwrap();
    let indexed = |name: &str, component: &str, index: u32| {
        let mut pod = pod(name, component, true);
        pod["metadata"]["labels"][INDEX_LABEL] = index.to_string().into();
        pod
    };
    place.put("/api/v1/namespaces/load/pods/c0", indexed("c0", "client", 0));
    place.put("/api/v1/namespaces/load/pods/c1", indexed("c1", "client", 1));
    let ready = || place.cluster.readiness(&wishes).unwrap();
    assert!(ready().clients == 2 && !ready().is_whole(&wishes), "a client of a host is missing: {:?}", ready());
    place.put("/api/v1/namespaces/load-host/pods/h0", indexed("h0", "host-client", 0));
    let found = ready();
    assert!(found.is_whole(&wishes), "{found:?}");
    let service = "/api/v1/namespaces/load/services/linerate-a1-1";
    let mut kept = place.objects.lock().unwrap()[service].clone();
    kept["spec"]["clusterIP"] = "10.96.0.7".into();
    place.put(service, kept);
    let mut served = place.cluster.served(&wishes, found.placed).unwrap();
    served.sort();
    let client = |node: &str, is_host, index, service: Option<&str>| PlacedClient {
        node: node.to_owned(),
        is_host,
        index,
        service: service.map(|address| address.parse().unwrap()),
    };
    let expected = [
        client("node-of-c0", false, 0, None),
        client("node-of-c1", false, 1, Some("10.96.0.7")),
        client("node-of-h0", true, 0, None),
    ];
    assert_eq!(served, expected);
    let all = ["load", "load-storage", "load-host"];
    let left = place.cluster.delete(&all, "a1").unwrap();
    assert_eq!(left.kept, [("load".to_owned(), "services linerate-a1-1".to_owned())]);
    assert_eq!(place.cluster.delete(&all, "a1").unwrap().objects, []);
    assert_eq!(place.paths(), ["/api/v1/namespaces/load", "/api/v1/namespaces/load/services/of-others"]);
}

#[test]
fn what_may_not_be_applied_is_told_with_the_right_that_is_missing() {
    let server = Server::start(|call| call.refuse(403, "Forbidden", "no"));
    let source = KubeconfigSource::Files { paths: vec![server.kubeconfig("{token: t}")] };
    let cluster = Access::find(&source, None, read_file).unwrap().connect(no_secrets()).unwrap();
    let objects = documents(&render(&wishes())).unwrap();
    let job = objects.iter().find(|object| object["kind"] == "Job").unwrap();
    let Err(KubeError::Forbidden { verb, resource, namespace, .. }) = cluster.apply(job) else { panic!("forbidden") };
    assert_eq!((verb.as_str(), resource.as_str(), namespace.as_str()), ("patch", "jobs", "load"));
}
