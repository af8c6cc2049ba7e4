//! Which pod is meant.

use k8s_openapi::api::core::v1::Pod;
use kube::api::{Api, ListParams};
use linerate_fleet::reach::{KubePlace, PodChoice};

use crate::access::KubeCluster;
use crate::fault::{Asked, KubeFault, of_client};
use crate::manifest::{INDEX_LABEL, ON_NODE};

/// Most pods that are listed for one selector.
const PODS_MAX: u32 = 5_000;

/// The name of the pod that a place means, and the container.
pub(crate) async fn found(cluster: &KubeCluster, place: &KubePlace) -> Result<(String, Option<String>), KubeFault> {
    let (selector, number, of) = match &place.pod {
        PodChoice::Named { name, container } => return Ok((name.clone(), container.clone())),
        PodChoice::Selected { selector, number, of } => (selector, *number, *of),
    };
    let pods = running(cluster, &place.namespace, selector).await?;
    if pods.len() < of || (of == 1 && pods.len() != 1) {
        let (selector, namespace) = (selector.clone(), place.namespace.clone());
        return Err(KubeFault::Selected { selector, namespace, found: pods.len(), wanted: of });
    }
    Ok((pods[number].clone(), None))
}

/// Names of the running pods of a selector, by their index in a Job, or by their names as people count.
async fn running(cluster: &KubeCluster, namespace: &str, selector: &str) -> Result<Vec<String>, KubeFault> {
    let pods: Api<Pod> = Api::namespaced(cluster.client.clone(), namespace);
    let asked = Asked { verb: "list", resource: "pods", namespace };
    let (labels, node) = on_node(selector);
    let mut params = ListParams::default().labels(labels).limit(PODS_MAX);
    if let Some(node) = node {
        params = params.fields(&format!("spec.nodeName={node}"));
    }
    let listed = pods.list(&params).await.map_err(|error| of_client(&error, asked))?;
    let mut names: Vec<(u64, String)> = listed.items.iter().filter(|pod| runs(pod)).filter_map(ordered).collect();
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
    fn pods_are_in_the_order_in_which_people_count() {
        let mut names = ["minio-10", "minio-9", "minio-0", "a-1-2", "a-1-10"];
        names.sort_by_key(|name| counted(name));
        assert_eq!(names, ["a-1-2", "a-1-10", "minio-0", "minio-9", "minio-10"]);
    }
}
