//! A build without Kubernetes: pods are not reached, and it says so.

use linerate_fleet::description::FleetNode;
use linerate_fleet::node_reach::PodLocation;
use linerate_record::fleet::UnreachedNode;

use super::node_stream::NodeStream;

/// None.
#[derive(Default)]
pub(super) struct NoClusters {}

impl NoClusters {
    #[expect(clippy::unused_self, reason = "a build with Kubernetes has clusters to look for")]
    pub(super) fn stream(&self, _place: &PodLocation, _token: String) -> Result<NodeStream, UnreachedNode> {
        Err(UnreachedNode {
            why: "this linerate was built without Kubernetes".to_owned(),
            remedy: "build it with cargo build --release -p linerate; make demo leaves Kubernetes out".to_owned(),
        })
    }
}

/// None run.
pub(super) fn commands(_nodes: &[FleetNode]) -> Vec<String> {
    Vec::new()
}
