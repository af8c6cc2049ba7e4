//! Which pod is meant.

use k8s_openapi::api::core::v1::Pod;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use kube::api::{Api, ListParams};
use linerate_fleet::node_reach::{PodChoice, PodLocation};

use crate::access::KubeCluster;
use crate::error::{ApiRequestKind, KubeError, of_client};
use crate::manifest::{CHANGE, COMPONENT_LABEL, INDEX_LABEL, INSTANCE_LABEL, MANAGER, MANAGER_LABEL, ON_NODE};

/// Most pods that are listed for one selector.
const PODS_MAX: u32 = 5_000;

/// What `fleet up` and manifests make pods by.
const MAKERS: [(&str, &str); 2] = [("batch/v1", "Job"), ("apps/v1", "DaemonSet")];

/// The name of the pod that a place means, and the container.
pub(crate) async fn found(cluster: &KubeCluster, place: &PodLocation) -> Result<(String, Option<String>), KubeError> {
    let (selector, number, of) = match &place.pod {
        PodChoice::Named { name, container } => return Ok((name.clone(), container.clone())),
        PodChoice::Selected { selector, number, of } => (selector, *number, *of),
    };
    let pods = running(cluster, &place.namespace, selector).await?;
    if pods.len() < of || (of == 1 && pods.len() != 1) {
        let (selector, namespace) = (selector.clone(), place.namespace.clone());
        return Err(KubeError::Selected { selector, namespace, found: pods.len(), wanted: of });
    }
    Ok((pods[number].clone(), None))
}

/// Names of the running pods of a selector, by their index in a Job, or by their names as people count.
async fn running(cluster: &KubeCluster, namespace: &str, selector: &str) -> Result<Vec<String>, KubeError> {
    let pods: Api<Pod> = Api::namespaced(cluster.client.clone(), namespace);
    let requested = ApiRequestKind { verb: "list", resource: "pods", namespace };
    let (labels, node) = on_node(selector);
    let mut params = ListParams::default().labels(labels).limit(PODS_MAX);
    if let Some(node) = node {
        params = params.fields(&format!("spec.nodeName={node}"));
    }
    let listed = pods.list(&params).await.map_err(|error| of_client(&error, requested))?;
    let pods: Vec<&Pod> = listed.items.iter().filter(|pod| runs(pod)).collect();
    if is_of_fleet(labels) {
        require_made(&pods, namespace, selector)?;
    }
    let mut names: Vec<(u64, String)> = pods.into_iter().filter_map(ordered).collect();
    names.sort_by(|(a, first), (b, second)| a.cmp(b).then_with(|| counted(first).cmp(&counted(second))));
    Ok(names.into_iter().map(|(_, name)| name).collect())
}

/// The labels of a selector, and the node that it names behind them: the API selects by that apart.
fn on_node(selector: &str) -> (&str, Option<&str>) {
    match selector.rsplit_once(ON_NODE) {
        Some((labels, node)) if !node.contains(',') => (labels, Some(node)),
        _ => (selector, None),
    }
}

/// Whether labels are those by which fleet files of `fleet up` and of manifests select pods. Pods of a user's own
/// selectors may be made by whatever makes pods.
fn is_of_fleet(labels: &str) -> bool {
    let value = |key: &str| {
        labels.split(',').find_map(|term| {
            let (known, value) = term.split_once('=')?;
            (known.trim() == key).then(|| value.trim_start_matches('=').trim())
        })
    };
    let is_named = value(INSTANCE_LABEL).is_some();
    value(MANAGER_LABEL) == Some(MANAGER)
        || (is_named && (value(INDEX_LABEL).is_some() || value(COMPONENT_LABEL) == Some(CHANGE)))
}

/// Refuses pods that no Job and no `DaemonSet` made, or not the same one: labels alone say nothing of who made a pod,
/// and what is there gets orders, and keys of S3.
fn require_made(pods: &[&Pod], namespace: &str, selector: &str) -> Result<(), KubeError> {
    let mut first: Option<(&str, &OwnerReference)> = None;
    for pod in pods {
        let name = pod.metadata.name.as_deref().unwrap_or_default();
        let Some(owner) = maker(pod) else {
            return Err(KubeError::NoPod(format!(
                "{selector:?} selects {name} in namespace {namespace}, which no Job and no DaemonSet made, as linerate \
                 fleet up has it: find out who did, and delete it"
            )));
        };
        match first {
            Some((other, of)) if of.uid != owner.uid => {
                return Err(KubeError::NoPod(format!(
                    "{selector:?} selects {other} of {} {} and {name} of {} {} in namespace {namespace}, and pods of a \
                     fleet are of one: find out who made the other, and delete it",
                    of.kind, of.name, owner.kind, owner.name
                )));
            }
            Some(_) => {}
            None => first = Some((name, owner)),
        }
    }
    Ok(())
}

/// The Job or `DaemonSet` that made a pod.
fn maker(pod: &Pod) -> Option<&OwnerReference> {
    let controller = pod.metadata.owner_references.iter().flatten().find(|owner| owner.controller == Some(true))?;
    MAKERS.contains(&(controller.api_version.as_str(), controller.kind.as_str())).then_some(controller)
}

/// Whether a pod runs, and goes on.
pub(crate) fn runs(pod: &Pod) -> bool {
    let phase = pod.status.as_ref().and_then(|status| status.phase.as_deref());
    phase == Some("Running") && pod.metadata.deletion_timestamp.is_none()
}

fn ordered(pod: &Pod) -> Option<(u64, String)> {
    let annotations = pod.metadata.annotations.as_ref();
    let index = annotations.and_then(|all| all.get(INDEX_LABEL)).and_then(|index| index.parse().ok());
    Some((index.unwrap_or(u64::MAX), pod.metadata.name.clone()?))
}

/// A name in pieces that compare as people count: `minio-10` comes behind `minio-9`.
fn counted(name: &str) -> Vec<(u64, String)> {
    let mut pieces = Vec::new();
    let mut rest = name;
    while !rest.is_empty() {
        let text_end = rest.find(|c: char| c.is_ascii_digit()).unwrap_or(rest.len());
        let (text, behind) = rest.split_at(text_end);
        let number_end = behind.find(|c: char| !c.is_ascii_digit()).unwrap_or(behind.len());
        let (number, behind) = behind.split_at(number_end);
        pieces.push((0, text.to_owned()));
        pieces.push((number.parse().unwrap_or_default(), String::new()));
        rest = behind;
    }
    pieces
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_node_behind_labels_is_selected_by_apart() {
        for (selector, labels, node) in [
            ("a=b,spec.nodeName=n1", "a=b", Some("n1")),
            ("a in (b, c),d=e,spec.nodeName=n1.example", "a in (b, c),d=e", Some("n1.example")),
            ("a=b", "a=b", None),
            ("spec.nodeName=n1", "spec.nodeName=n1", None),
            ("a=b,spec.nodeName=n1,c=d", "a=b,spec.nodeName=n1,c=d", None),
        ] {
            assert_eq!(on_node(selector), (labels, node), "{selector}");
        }
    }

    #[test]
    fn selectors_of_fleet_up_are_told_from_users_own() {
        let instance = "app.kubernetes.io/instance=a1";
        for (labels, is_ours) in [
            (format!("{instance},batch.kubernetes.io/job-completion-index=3"), true),
            (format!("{instance},app.kubernetes.io/component=change"), true),
            ("app.kubernetes.io/managed-by=linerate".to_owned(), true),
            (format!("x=y, app.kubernetes.io/managed-by == linerate,{instance}"), true),
            (instance.to_owned(), false),
            (format!("{instance},app.kubernetes.io/component=client"), false),
            (format!("{instance},app.kubernetes.io/managed-by=Helm"), false),
            ("app.kubernetes.io/managed-by!=linerate".to_owned(), false),
            ("app in (a, b)".to_owned(), false),
        ] {
            assert_eq!(is_of_fleet(&labels), is_ours, "{labels}");
        }
    }

    #[test]
    fn pods_are_in_the_order_in_which_people_count() {
        let mut names = ["minio-10", "minio-9", "minio-0", "a-1-2", "a-1-10"];
        names.sort_by_key(|name| counted(name));
        assert_eq!(names, ["a-1-2", "a-1-10", "minio-0", "minio-9", "minio-10"]);
    }
}
