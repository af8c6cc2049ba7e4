//! Clients brought up and taken down: what is applied, whether it is there, and whether it is gone.

use std::net::IpAddr;
use std::sync::Arc;

use k8s_openapi::api::core::v1::{Pod, PodStatus};
use linerate_fleet::node_reach::is_object_name;
use serde_json::{Value, json};

use crate::access::KubeCluster;
use crate::error::{ApiRequestKind, KubeError};
use crate::manifest::{ClientManifest, INDEX_LABEL, INSTANCE_LABEL, MANAGER, MANAGER_LABEL, PlacedClient, StoragePod};

/// What there is of each kind: its name, its version, its resource, and whether it is in a namespace.
const KINDS: [(&str, &str, &str); 7] = [
    ("Job", "apis/batch/v1", "jobs"),
    ("DaemonSet", "apis/apps/v1", "daemonsets"),
    ("RoleBinding", "apis/rbac.authorization.k8s.io/v1", "rolebindings"),
    ("Role", "apis/rbac.authorization.k8s.io/v1", "roles"),
    ("ServiceAccount", "api/v1", "serviceaccounts"),
    ("Service", "api/v1", "services"),
    ("Pod", "api/v1", "pods"),
];

/// What others may have put into a namespace that was made for a fleet.
const OF_OTHERS: [(&str, &str); 9] = [
    ("api/v1", "pods"),
    ("api/v1", "services"),
    ("api/v1", "configmaps"),
    ("api/v1", "secrets"),
    ("api/v1", "persistentvolumeclaims"),
    ("apis/apps/v1", "deployments"),
    ("apis/apps/v1", "statefulsets"),
    ("apis/apps/v1", "daemonsets"),
    ("apis/batch/v1", "jobs"),
];

/// What controllers put into each namespace by themselves.
const OF_CONTROLLERS: [&str; 3] = ["kube-root-ca.crt", "openshift-service-ca.crt", "istio-ca-root-cert"];

/// The objects of a manifest.
///
/// # Errors
/// Why it is none.
pub fn documents(text: &str) -> Result<Vec<Value>, String> {
    let all: Vec<Value> = serde_saphyr::from_multiple(text).map_err(|error| error.to_string())?;
    Ok(all.into_iter().filter(|document| !document.is_null()).collect())
}

/// An object by its kind, namespace and name.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ObjectName {
    /// `Job`.
    pub kind: String,
    /// None for a namespace.
    pub namespace: Option<String>,
    /// Unique in its namespace.
    pub name: String,
}

impl std::fmt::Display for ObjectName {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.namespace {
            Some(namespace) => write!(f, "{} {namespace}/{}", self.kind, self.name),
            None => write!(f, "{} {}", self.kind, self.name),
        }
    }
}

/// Whose a namespace is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NamespaceOwner {
    /// There is none of the name.
    Nobody,
    Ours,
    Others,
}

/// How far a fleet is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Readiness {
    /// Clients that are ready.
    pub clients: usize,
    /// Clients in the network of their hosts that are ready.
    pub host_clients: usize,
    /// Where all of these are, but for their Services.
    pub placed: Vec<PlacedClient>,
    /// Pods on storage nodes that are ready.
    pub storage: Vec<StoragePod>,
    /// Of how many; none until that is known.
    pub storage_wanted: Option<usize>,
    /// Why others are not, one sentence for each reason, with a pod that has it.
    pub waits: Vec<String>,
}

impl Readiness {
    /// Whether all that was wished for is there.
    #[must_use]
    pub fn is_whole(&self, wishes: &ClientManifest) -> bool {
        let reads = wishes.storage_until.is_none() || self.storage_wanted == Some(self.storage.len());
        if wishes.changes {
            return reads && !self.storage.is_empty();
        }
        let are_all = self.clients >= wishes.clients as usize && self.host_clients >= wishes.host_clients as usize;
        are_all && reads
    }
}

/// What is left of a fleet.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FleetRemainder {
    /// What carries its labels.
    pub objects: Vec<ObjectName>,
    /// Namespaces that were made for it and hold what is somebody else's, with some of that.
    pub kept: Vec<(String, String)>,
}

impl KubeCluster {
    /// Whose a namespace is.
    ///
    /// # Errors
    /// [`KubeError`] where it is not told.
    pub fn owner(self: &Arc<Self>, namespace: &str, instance: &str) -> Result<NamespaceOwner, KubeError> {
        let (path, instance) = (format!("/api/v1/namespaces/{namespace}"), instance.to_owned());
        let requested = ApiRequestKind { verb: "get", resource: "namespaces", namespace: "" };
        match self.ask("GET", &path, None, requested) {
            Ok(found) if has_labels(&found, &instance) => Ok(NamespaceOwner::Ours),
            Ok(_) => Ok(NamespaceOwner::Others),
            Err(KubeError::NoPod(_)) => Ok(NamespaceOwner::Nobody),
            Err(fault) => Err(fault),
        }
    }

    /// Whether there is something of a fleet already.
    ///
    /// # Errors
    /// [`KubeError`] where it is not told.
    pub fn is_up(self: &Arc<Self>, wishes: &ClientManifest) -> Result<bool, KubeError> {
        let namespaces = wishes.namespaces();
        let first: Vec<&str> = namespaces.iter().take(1).map(String::as_str).collect();
        Ok(!self.listed(&first, &wishes.instance, &KINDS[..1])?.is_empty())
    }

    /// Applies the objects of a fleet in their order. What follows the expiry in its namespace is owned by it: the
    /// cluster's garbage collector deletes what belongs to nothing any more, and nobody needs a right for that.
    ///
    /// # Errors
    /// [`KubeError`] for the first that was not.
    pub fn apply_all<'o>(
        self: &Arc<Self>,
        objects: impl Iterator<Item = &'o Value>,
        wishes: &ClientManifest,
    ) -> Result<(), KubeError> {
        let (namespace, expiry) = (wishes.storage_namespace(), wishes.expiry());
        let mut owner = None;
        for object in objects {
            let mut object = object.clone();
            let is_there = object["metadata"]["namespace"] == namespace;
            if let Some(owner) = owner.as_ref().filter(|_| is_there) {
                object["metadata"]["ownerReferences"] = json!([owner]);
            }
            let kept = self.apply(&object)?;
            if is_there && object["kind"] == "Job" && object["metadata"]["name"] == expiry {
                let uid = kept["metadata"]["uid"].as_str().filter(|uid| !uid.is_empty());
                let none = || KubeError::Server { code: 200, message: format!("no UID of Job {expiry}") };
                let uid = uid.ok_or_else(none)?;
                owner = Some(json!({"apiVersion": "batch/v1", "kind": "Job", "name": expiry, "uid": uid}));
            }
        }
        Ok(())
    }

    /// Applies an object on the server's side, and returns it as it is kept there: what somebody else manages is not
    /// taken over.
    ///
    /// # Errors
    /// [`KubeError`] where it was not.
    pub fn apply(self: &Arc<Self>, object: &Value) -> Result<Value, KubeError> {
        let name = name(object);
        let resource =
            KINDS.iter().find(|(kind, ..)| *kind == name.kind).map_or("namespaces", |(.., resource)| resource);
        let path = match (&name.namespace, KINDS.iter().find(|(kind, ..)| *kind == name.kind)) {
            (Some(namespace), Some((_, version, resource))) => {
                format!("/{version}/namespaces/{namespace}/{resource}/{}", name.name)
            }
            _ => format!("/api/v1/namespaces/{}", name.name),
        };
        let namespace = name.namespace.clone().unwrap_or_default();
        let requested = ApiRequestKind { verb: "patch", resource, namespace: &namespace };
        self.ask("PATCH", &format!("{path}?fieldManager={MANAGER}"), Some(object), requested)
    }

    /// How far a fleet is.
    ///
    /// # Errors
    /// [`KubeError`] where it is not told.
    pub fn readiness(self: &Arc<Self>, wishes: &ClientManifest) -> Result<Readiness, KubeError> {
        let of_clients = || self.pods(&wishes.namespace, &wishes.selector("client"));
        let clients = if wishes.changes { Vec::new() } else { of_clients()? };
        let ready = |pod: &&Pod| pod.status.as_ref().is_some_and(is_ready) && pod.metadata.deletion_timestamp.is_none();
        let mut found = Readiness { clients: clients.iter().filter(ready).count(), ..Readiness::default() };
        found.placed = clients.iter().filter(ready).filter_map(|pod| placed(pod, false)).collect();
        let mut waiting: Vec<Pod> = clients.into_iter().filter(|pod| !ready(&pod)).collect();
        if wishes.host_clients > 0 {
            let others = self.pods(&wishes.host_namespace(), &wishes.selector("host-client"))?;
            found.host_clients = others.iter().filter(ready).count();
            found.placed.extend(others.iter().filter(ready).filter_map(|pod| placed(pod, true)));
            waiting.extend(others.into_iter().filter(|pod| !ready(&pod)));
        }
        if wishes.storage_until.is_some() {
            let namespace = wishes.storage_namespace();
            let readers = self.pods(&namespace, &wishes.selector(wishes.on_storage()))?;
            found.storage = readers.iter().filter(ready).filter_map(storage_pod).collect();
            found.storage.sort();
            let name = format!("{}-{}", wishes.name(), wishes.on_storage());
            found.storage_wanted = self.readers_wanted(&namespace, &name)?;
            waiting.extend(readers.into_iter().filter(|pod| !ready(&pod)));
        }
        found.waits = reasons(&waiting);
        if wishes.changes && found.storage_wanted == Some(0) {
            found.waits.push("no node has the label of storage nodes".to_owned());
        }
        Ok(found)
    }

    /// Clients with the addresses of the Services in front of them, where they have any.
    ///
    /// # Errors
    /// [`KubeError`] where it is not told.
    pub fn served(
        self: &Arc<Self>,
        wishes: &ClientManifest,
        clients: Vec<PlacedClient>,
    ) -> Result<Vec<PlacedClient>, KubeError> {
        if wishes.service_port.is_none() {
            return Ok(clients);
        }
        let path = format!("/api/v1/namespaces/{}/services", wishes.namespace);
        let requested = ApiRequestKind { verb: "list", resource: "services", namespace: &wishes.namespace };
        let listed = self.ask("GET", &path, None, requested)?;
        let own: Vec<&Value> =
            listed["items"].as_array().into_iter().flatten().filter(|one| has_labels(one, &wishes.instance)).collect();
        let address = |client: &PlacedClient| {
            let name = format!("{}-{}", wishes.name(), client.index);
            let service = own.iter().find(|one| one["metadata"]["name"] == name.as_str())?;
            service["spec"]["clusterIP"].as_str()?.parse::<IpAddr>().ok()
        };
        let with = |client: PlacedClient| {
            let service = if client.is_host { None } else { address(&client) };
            PlacedClient { service, ..client }
        };
        Ok(clients.into_iter().map(with).collect())
    }

    fn readers_wanted(self: &Arc<Self>, namespace: &str, name: &str) -> Result<Option<usize>, KubeError> {
        let path = format!("/apis/apps/v1/namespaces/{namespace}/daemonsets/{name}");
        let requested = ApiRequestKind { verb: "get", resource: "daemonsets", namespace };
        let set = self.ask("GET", &path, None, requested)?;
        let seen = set.pointer("/status/observedGeneration").is_some();
        let wanted = set.pointer("/status/desiredNumberScheduled").and_then(Value::as_u64);
        Ok(wanted.filter(|_| seen).and_then(|wanted| usize::try_from(wanted).ok()))
    }

    /// Deletes what carries the labels of a fleet, and nothing else. What is left is to be looked at until nothing is.
    ///
    /// # Errors
    /// [`KubeError`] where it may not be listed or deleted.
    pub fn delete(self: &Arc<Self>, namespaces: &[&str], instance: &str) -> Result<FleetRemainder, KubeError> {
        for object in self.listed(namespaces, instance, &KINDS)? {
            // Pods end with what made them; those of nobody are deleted where that is gone.
            let Some((_, version, resource)) = KINDS.iter().find(|(kind, ..)| *kind == object.kind) else { continue };
            let namespace = object.namespace.as_deref().unwrap_or_default();
            let path = format!("/{version}/namespaces/{namespace}/{resource}/{}", object.name);
            self.delete_at(&path, ApiRequestKind { verb: "delete", resource, namespace })?;
        }
        let mut left = FleetRemainder { objects: self.listed(namespaces, instance, &KINDS)?, kept: Vec::new() };
        for namespace in namespaces.iter().copied() {
            if self.owner(namespace, instance)? != NamespaceOwner::Ours {
                continue;
            }
            let name = ObjectName { kind: "Namespace".to_owned(), namespace: None, name: namespace.to_owned() };
            if let Some(others) = self.of_others(namespace, instance)? {
                left.kept.push((namespace.to_owned(), others));
            } else {
                let is_empty = left.objects.iter().all(|object| object.namespace.as_deref() != Some(namespace));
                if is_empty {
                    let requested = ApiRequestKind { verb: "delete", resource: "namespaces", namespace: "" };
                    self.delete_at(&format!("/api/v1/namespaces/{namespace}"), requested)?;
                }
                left.objects.push(name);
            }
        }
        Ok(left)
    }

    fn delete_at(self: &Arc<Self>, path: &str, requested: ApiRequestKind<'_>) -> Result<(), KubeError> {
        let options = json!({"apiVersion": "v1", "kind": "DeleteOptions", "propagationPolicy": "Foreground"});
        match self.ask("DELETE", path, Some(&options), requested) {
            // It is gone already, or its namespace is going.
            Ok(_) | Err(KubeError::NoPod(_) | KubeError::Server { code: 409, .. }) => Ok(()),
            Err(fault) => Err(fault),
        }
    }

    /// Something in a namespace that is not this fleet's, where there is such.
    fn of_others(self: &Arc<Self>, namespace: &str, instance: &str) -> Result<Option<String>, KubeError> {
        for (version, resource) in OF_OTHERS {
            let path = format!("/{version}/namespaces/{namespace}/{resource}?limit=100");
            let listed = match self.ask("GET", &path, None, ApiRequestKind { verb: "list", resource, namespace }) {
                Ok(listed) => listed,
                Err(KubeError::Forbidden { .. }) => {
                    return Ok(Some(format!("{resource}, which you are not allowed to list")));
                }
                Err(fault) => return Err(fault),
            };
            let is_others = |object: &&Value| {
                let name = object["metadata"]["name"].as_str().unwrap_or_default();
                !has_labels(object, instance) && !OF_CONTROLLERS.contains(&name)
            };
            if let Some(other) = listed["items"].as_array().into_iter().flatten().find(is_others) {
                return Ok(Some(format!("{resource} {}", other["metadata"]["name"].as_str().unwrap_or_default())));
            }
        }
        Ok(None)
    }

    /// What carries the labels of a fleet.
    fn listed(
        self: &Arc<Self>,
        namespaces: &[&str],
        instance: &str,
        kinds: &[(&str, &str, &str)],
    ) -> Result<Vec<ObjectName>, KubeError> {
        let mut found = Vec::new();
        for namespace in namespaces {
            for (kind, version, resource) in kinds {
                let selector = format!("{INSTANCE_LABEL}%3D{instance}%2C{MANAGER_LABEL}%3D{MANAGER}");
                let path = format!("/{version}/namespaces/{namespace}/{resource}?labelSelector={selector}");
                let requested = ApiRequestKind { verb: "list", resource, namespace };
                let listed = match self.ask("GET", &path, None, requested) {
                    // Who may not look at Services has made none: they are of fleets for links alone.
                    Err(KubeError::Forbidden { .. }) if *kind == "Service" => continue,
                    listed => listed?,
                };
                // The labels are looked at again here: a server that ignored the selector would have all deleted.
                let own =
                    listed["items"].as_array().into_iter().flatten().filter(|object| has_labels(object, instance));
                found.extend(own.filter_map(|object| object["metadata"]["name"].as_str()).map(|name| ObjectName {
                    kind: (*kind).to_owned(),
                    namespace: Some((*namespace).to_owned()),
                    name: name.to_owned(),
                }));
            }
        }
        Ok(found)
    }

    fn pods(self: &Arc<Self>, namespace: &str, selector: &str) -> Result<Vec<Pod>, KubeError> {
        let selector = selector.replace('=', "%3D").replace(',', "%2C");
        let path = format!("/api/v1/namespaces/{namespace}/pods?labelSelector={selector}");
        let mut listed = self.ask("GET", &path, None, ApiRequestKind { verb: "list", resource: "pods", namespace })?;
        serde_json::from_value(listed["items"].take())
            .map_err(|error| KubeError::Server { code: 200, message: format!("not a list of pods: {error}") })
    }
}

pub(crate) fn name(object: &Value) -> ObjectName {
    let text = |value: &Value| value.as_str().map(str::to_owned);
    let metadata = &object["metadata"];
    ObjectName {
        kind: text(&object["kind"]).unwrap_or_default(),
        namespace: text(&metadata["namespace"]),
        name: text(&metadata["name"]).unwrap_or_default(),
    }
}

/// Whether an object carries the labels of a fleet.
fn has_labels(object: &Value, instance: &str) -> bool {
    let labels = &object["metadata"]["labels"];
    labels[INSTANCE_LABEL] == instance && labels[MANAGER_LABEL] == MANAGER
}

fn is_ready(status: &PodStatus) -> bool {
    let mut conditions = status.conditions.iter().flatten();
    conditions.any(|condition| condition.type_ == "Ready" && condition.status == "True")
}

fn storage_pod(pod: &Pod) -> Option<StoragePod> {
    Some(StoragePod { node: node(pod)?, pod: pod.metadata.name.clone().filter(|name| is_object_name(name))? })
}

fn node(pod: &Pod) -> Option<String> {
    pod.spec.as_ref()?.node_name.clone().filter(|name| is_object_name(name))
}

/// Where a client is.
fn placed(pod: &Pod, is_host: bool) -> Option<PlacedClient> {
    let index = pod.metadata.labels.as_ref()?.get(INDEX_LABEL)?.parse().ok()?;
    Some(PlacedClient { node: node(pod)?, is_host, index, service: None })
}

/// Why pods are not ready: each reason once, with how many have it and one that has.
fn reasons(pods: &[Pod]) -> Vec<String> {
    let mut reasons: Vec<(String, usize, String)> = Vec::new();
    for pod in pods {
        let (why, name) = (reason(pod), pod.metadata.name.clone().unwrap_or_default());
        match reasons.iter_mut().find(|(known, ..)| *known == why) {
            Some((_, count, _)) => *count += 1,
            None => reasons.push((why, 1, name)),
        }
    }
    reasons.sort_by_key(|(_, count, _)| std::cmp::Reverse(*count));
    let reported = |(why, count, name): (String, usize, String)| format!("{count} such as {name}: {why}");
    reasons.into_iter().map(reported).collect()
}

fn reason(pod: &Pod) -> String {
    let Some(status) = &pod.status else { return "it has no status yet".to_owned() };
    if pod.metadata.deletion_timestamp.is_some() {
        return "it is being deleted".to_owned();
    }
    let of_containers = status.container_statuses.iter().flatten().filter_map(|container| container.state.as_ref());
    for state in of_containers {
        let waits = state.waiting.as_ref().map(|waits| (waits.reason.as_deref(), waits.message.as_deref()));
        let ended = state.terminated.as_ref().map(|ended| (ended.reason.as_deref(), ended.message.as_deref()));
        if let Some((Some(reason), message)) = waits.or(ended) {
            return crate::error::in_one_line(&[reason, message.unwrap_or_default()].join(" "));
        }
    }
    let unscheduled = status.conditions.iter().flatten().find(|c| c.type_ == "PodScheduled" && c.status == "False");
    if let Some(message) = unscheduled.and_then(|condition| condition.message.as_deref()) {
        return crate::error::in_one_line(message);
    }
    status.reason.clone().or(status.phase.clone()).unwrap_or_else(|| "it has no status yet".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pod(name: &str, status: Value) -> Pod {
        serde_json::from_value(json!({"metadata": {"name": name}, "status": status})).unwrap()
    }

    #[test]
    fn why_pods_wait_is_told_once_for_each_reason() {
        let unscheduled = json!({"phase": "Pending", "conditions": [
            {"type": "PodScheduled", "status": "False", "message": "0/2 nodes are available: 2 Insufficient cpu."}
        ]});
        let unpulled = json!({"phase": "Pending", "containerStatuses": [{
            "name": "agent", "image": "x", "imageID": "", "ready": false, "restartCount": 0,
            "state": {"waiting": {"reason": "ImagePullBackOff", "message": "Back-off pulling image \"x\""}}
        }]});
        let pods = [pod("a", unpulled), pod("b", unscheduled.clone()), pod("c", unscheduled), pod("d", json!({}))];
        assert_eq!(
            reasons(&pods),
            [
                "2 such as b: 0/2 nodes are available: 2 Insufficient cpu.",
                "1 such as a: ImagePullBackOff Back-off pulling image \"x\"",
                "1 such as d: it has no status yet",
            ]
        );
    }

    #[test]
    fn pods_and_nodes_of_names_that_cannot_be_are_in_no_fleet_file() {
        let on = |node: &str, name: &str| {
            let labels = json!({INDEX_LABEL: "1"});
            let metadata = json!({"name": name, "labels": labels});
            let pod: Pod =
                serde_json::from_value(json!({"metadata": metadata, "spec": {"containers": [], "nodeName": node}}))
                    .unwrap();
            (storage_pod(&pod).is_some(), placed(&pod, false).is_some())
        };
        assert_eq!(on("ip-10-0-0-7.example", "linerate-a1-change-x2"), (true, true));
        for node in ["", "n'}\n  - {name: me, role: storage, reach: here}\n# '", "n, reach: here", "N1", "n 1"] {
            assert_eq!(on(node, "a"), (false, false), "{node:?}");
        }
        assert_eq!(on("n1", "a'}"), (false, true));
        assert_eq!(on(&"n".repeat(254), "a"), (false, false));
    }

    #[test]
    fn what_carries_other_labels_is_not_ours() {
        let object = |instance: &str, manager: &str| {
            let labels = json!({INSTANCE_LABEL: instance, MANAGER_LABEL: manager});
            json!({"metadata": {"name": "x", "labels": labels}})
        };
        assert!(has_labels(&object("a", MANAGER), "a"));
        assert!(!has_labels(&object("b", MANAGER), "a"));
        assert!(!has_labels(&object("a", "Helm"), "a"));
        assert!(!has_labels(&json!({"metadata": {"name": "x"}}), "a"));
        assert!(!has_labels(&Value::Null, ""));
    }
}
