//! Objects held against a cluster: what it has of them, and what an apply would change there. Nothing is changed: an
//! apply is a dry run.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use futures_util::future::join_all;
use kube::Client;
use serde_json::Value;

use crate::access::KubeCluster;
use crate::api_request::{ANSWERED_WITHIN, ApiRequest, ask};
use crate::client_fleet::{ObjectName, name};
use crate::error::{ApiRequestKind, KubeError};
use crate::object_diff::{DifferingField, applied_by, differing_fields, without_server};

/// Dry runs that are under way at once.
const AT_ONCE: usize = 16;

/// Objects of a page of a list.
const PAGE: usize = 500;

/// Most pages of a list.
const PAGES_MAX: usize = 200;

/// The manager of fields where nobody has applied an object on the server's side.
const MANAGER: &str = "linerate";

/// What a cluster has of an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ComparedObject {
    /// As it should be.
    Same,
    /// There is none of its name.
    Missing,
    /// The cluster has no such kind in this version.
    UnknownKind,
    /// Fields have other values.
    Differs(Vec<DifferingField>),
    /// The API server would not take the change, and why.
    Refused(String),
}

/// Where objects of a kind are.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct ResourcePath {
    /// `/apis/apps/v1/namespaces/minio/statefulsets`.
    path: String,
    resource: String,
    namespace: String,
}

/// What the cluster has of an object, and who applied it.
struct LiveObject {
    object: Value,
    manager: String,
}

impl KubeCluster {
    /// Holds objects against the cluster, in their order. `each` is told how many have been compared, and says whether
    /// to go on; what was not compared is not in the answer.
    ///
    /// # Errors
    /// [`KubeError`] where the cluster is not reached or does not allow it.
    pub fn compare(
        self: &Arc<Self>,
        objects: &[Value],
        mut each: impl FnMut(usize) -> bool,
    ) -> Result<Vec<(ObjectName, ComparedObject)>, KubeError> {
        let resources = self.resources(objects)?;
        let places: Vec<Option<ResourcePath>> = objects.iter().map(|object| place(object, &resources)).collect();
        let mut live = BTreeMap::new();
        let wanted = |place: &ResourcePath| {
            let of_place = objects.iter().zip(&places).filter(move |(_, at)| at.as_ref() == Some(place));
            of_place.map(|(object, _)| name(object).name).collect::<BTreeSet<_>>()
        };
        let mut distinct: Vec<&ResourcePath> = places.iter().flatten().collect();
        distinct.sort_unstable();
        distinct.dedup();
        for place in distinct {
            if !each(0) {
                return Ok(Vec::new());
            }
            let names = wanted(place);
            live.extend(self.live(place, &names)?.into_iter().map(|(name, found)| ((place.clone(), name), found)));
        }
        let mut compared = Vec::new();
        for (objects, places) in objects.chunks(AT_ONCE).zip(places.chunks(AT_ONCE)) {
            let of_object = |(object, place): (&Value, &Option<ResourcePath>)| {
                let place = place.clone()?;
                let live = live.remove(&(place.clone(), name(object).name));
                Some((place, live))
            };
            let found: Vec<Option<(ResourcePath, Option<LiveObject>)>> =
                objects.iter().zip(places).map(of_object).collect();
            compared.extend(self.compare_some(objects.to_vec(), found)?);
            if !each(compared.len()) {
                break;
            }
        }
        Ok(compared)
    }

    fn compare_some(
        self: &Arc<Self>,
        objects: Vec<Value>,
        found: Vec<Option<(ResourcePath, Option<LiveObject>)>>,
    ) -> Result<Vec<(ObjectName, ComparedObject)>, KubeError> {
        let client = self.client.clone();
        self.wait(ANSWERED_WITHIN, async move {
            let each = objects.iter().zip(found).map(|(object, found)| compare_one(&client, object, found));
            join_all(each).await.into_iter().collect()
        })
    }

    /// The resources of each version that objects are of: the kind, the resource, and whether it is in a namespace.
    fn resources(self: &Arc<Self>, objects: &[Value]) -> Result<BTreeMap<String, Value>, KubeError> {
        let mut found = BTreeMap::new();
        let mut versions: Vec<&str> = objects.iter().filter_map(|object| object["apiVersion"].as_str()).collect();
        versions.sort_unstable();
        versions.dedup();
        for version in versions {
            let path = if version.contains('/') { format!("/apis/{version}") } else { format!("/api/{version}") };
            let requested = ApiRequestKind { verb: "get", resource: "the list of resources", namespace: "" };
            match self.ask("GET", &path, None, requested) {
                Ok(mut listed) => found.insert(version.to_owned(), listed["resources"].take()),
                Err(KubeError::NoPod(_)) => None,
                Err(fault) => return Err(fault),
            };
        }
        Ok(found)
    }

    /// What there is in a place of some names.
    fn live(
        self: &Arc<Self>,
        place: &ResourcePath,
        names: &BTreeSet<String>,
    ) -> Result<Vec<(String, LiveObject)>, KubeError> {
        let requested = ApiRequestKind { verb: "list", resource: &place.resource, namespace: &place.namespace };
        let (mut found, mut next) = (Vec::new(), String::new());
        for _ in 0..PAGES_MAX {
            let path = format!("{}?limit={PAGE}{next}", place.path);
            let mut page = match self.ask("GET", &path, None, requested) {
                Err(KubeError::NoPod(_)) => return Ok(Vec::new()),
                page => page?,
            };
            let items = page["items"].as_array_mut().map(std::mem::take).unwrap_or_default();
            let of_names = items.into_iter().filter_map(|item| {
                let name = item["metadata"]["name"].as_str()?.to_owned();
                names.contains(&name).then(|| (name, live_object(&item)))
            });
            found.extend(of_names);
            match page.pointer("/metadata/continue").and_then(Value::as_str) {
                // Tokens are of letters that an address takes.
                Some(token) if is_token(token) && found.len() < names.len() => next = format!("&continue={token}"),
                _ => return Ok(found),
            }
        }
        Err(KubeError::TooLarge(format!("{} objects of {}", PAGE * PAGES_MAX, place.resource)))
    }
}

fn is_token(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte))
}

fn live_object(item: &Value) -> LiveObject {
    LiveObject { object: without_server(item), manager: applied_by(item).unwrap_or(MANAGER).to_owned() }
}

fn place(object: &Value, resources: &BTreeMap<String, Value>) -> Option<ResourcePath> {
    let version = object["apiVersion"].as_str()?;
    let is_of_kind = |one: &&Value| {
        one["kind"] == object["kind"] && one["name"].as_str().is_some_and(|resource| !resource.contains('/'))
    };
    let resource = resources.get(version)?.as_array()?.iter().find(is_of_kind)?;
    let plural = resource["name"].as_str()?;
    let root = if version.contains('/') { "apis" } else { "api" };
    let namespace = match resource["namespaced"].as_bool() {
        Some(true) => object["metadata"]["namespace"].as_str().unwrap_or("default"),
        _ => "",
    };
    let within = if namespace.is_empty() { String::new() } else { format!("namespaces/{namespace}/") };
    Some(ResourcePath {
        path: format!("/{root}/{version}/{within}{plural}"),
        resource: plural.to_owned(),
        namespace: namespace.to_owned(),
    })
}

async fn compare_one(
    client: &Client,
    object: &Value,
    found: Option<(ResourcePath, Option<LiveObject>)>,
) -> Result<(ObjectName, ComparedObject), KubeError> {
    let reported = name(object);
    let Some((place, live)) = found else { return Ok((reported, ComparedObject::UnknownKind)) };
    let Some(live) = live else { return Ok((reported, ComparedObject::Missing)) };
    let compared = held(client, object, &place, &live).await?;
    if !matches!(compared, ComparedObject::Differs(_)) {
        return Ok((reported, compared));
    }
    // A controller may have changed it since it was listed.
    let requested = ApiRequestKind { verb: "get", resource: &place.resource, namespace: &place.namespace };
    let path = format!("{}/{}", place.path, reported.name);
    match ask(client, ApiRequest { method: "GET", path: &path, body: None, requested }).await {
        Ok(now) => Ok((reported, held(client, object, &place, &live_object(&now)).await?)),
        Err(KubeError::NoPod(_)) => Ok((reported, ComparedObject::Missing)),
        Err(fault) => Err(fault),
    }
}

/// Holds an object against what there is of it.
async fn held(
    client: &Client,
    object: &Value,
    place: &ResourcePath,
    live: &LiveObject,
) -> Result<ComparedObject, KubeError> {
    let path = format!(
        "{}/{}?dryRun=All&force=true&fieldValidation=Strict&fieldManager={}",
        place.path,
        name(object).name,
        live.manager
    );
    let requested = ApiRequestKind { verb: "patch", resource: &place.resource, namespace: &place.namespace };
    let question = ApiRequest { method: "PATCH", path: &path, body: Some(object), requested };
    Ok(match ask(client, question).await {
        Ok(wanted) => match differing_fields(&live.object, &wanted) {
            fields if fields.is_empty() => ComparedObject::Same,
            fields => ComparedObject::Differs(fields),
        },
        Err(KubeError::NoPod(_)) => ComparedObject::Missing,
        Err(fault) => ComparedObject::Refused(refusal(fault)?),
    })
}

/// Why the API server does not take a change; a fault where it has not looked at it.
fn refusal(fault: KubeError) -> Result<String, KubeError> {
    match fault {
        KubeError::Server { code, message } if code < 500 && code != 429 => Ok(message),
        // Admission refuses with the code of missing rights.
        KubeError::Forbidden { message, .. } if !message.contains(" cannot patch ") => Ok(message),
        fault => Err(fault),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn resources() -> BTreeMap<String, Value> {
        let resource =
            |kind: &str, name: &str, namespaced: bool| json!({"kind": kind, "name": name, "namespaced": namespaced});
        BTreeMap::from([
            (
                "v1".to_owned(),
                json!([
                    resource("PersistentVolume", "persistentvolumes/status", false),
                    resource("PersistentVolume", "persistentvolumes", false)
                ]),
            ),
            ("apps/v1".to_owned(), json!([resource("StatefulSet", "statefulsets", true)])),
        ])
    }

    #[test]
    fn objects_are_where_the_server_says() {
        let at = |version: &str, kind: &str, namespace: Value| {
            let object =
                json!({"apiVersion": version, "kind": kind, "metadata": {"name": "a", "namespace": namespace}});
            place(&object, &resources()).map(|place| place.path)
        };
        assert_eq!(at("v1", "PersistentVolume", Value::Null).as_deref(), Some("/api/v1/persistentvolumes"));
        let sets = "/apis/apps/v1/namespaces/minio/statefulsets";
        assert_eq!(at("apps/v1", "StatefulSet", json!("minio")).as_deref(), Some(sets));
        assert_eq!(at("cilium.io/v2", "CiliumBGPPeerConfig", Value::Null), None);
        assert_eq!(at("apps/v1", "DaemonSet", json!("minio")), None);
    }

    #[test]
    fn a_refused_change_is_no_missing_right() {
        let forbidden = |message: &str| KubeError::Forbidden {
            verb: "patch".to_owned(),
            resource: "pods".to_owned(),
            namespace: "a".to_owned(),
            message: message.to_owned(),
        };
        let server = |code| KubeError::Server { code, message: "field is immutable".to_owned() };
        assert_eq!(refusal(server(422)).as_deref(), Ok("field is immutable"));
        assert!(refusal(server(503)).is_err() && refusal(server(429)).is_err());
        assert!(refusal(forbidden("User \"u\" cannot patch resource \"pods\"")).is_err());
        assert!(refusal(forbidden("violates PodSecurity \"restricted\"")).is_ok());
        assert!(refusal(KubeError::Slow(20)).is_err());
    }

    #[test]
    fn what_goes_on_is_asked_for_by_a_plain_token() {
        assert!(is_token("eyJ2IjoibWV0YS5rOHMuaW8vdjEifQ"));
        assert!(!is_token("") && !is_token("a&limit=1") && !is_token("a b"));
    }
}
