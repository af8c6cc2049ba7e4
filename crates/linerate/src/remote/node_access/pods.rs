//! Agents in pods: which clusters are meant, each asked by one thread, and streams to their pods.

use std::collections::BTreeMap;
use std::fs::File;
use std::os::fd::OwnedFd;
use std::os::unix::process::ExitStatusExt as _;
use std::process::ExitStatus;
use std::sync::{Arc, Mutex, PoisonError};

use linerate_fleet::description::FleetNode;
use linerate_fleet::node_reach::{NodeReach, PodLocation};
use linerate_kube::access::KubeCluster;
use linerate_kube::error::KubeError;
use linerate_kube::stream::{PodStream, StreamEnd};
use linerate_record::fleet::UnreachedNode;

use super::node_stream::{NodeStream, RemoteEnd};
use crate::remote::kubeconfig;

/// Clusters by the contexts that name them, as far as somebody asked for them.
#[derive(Default)]
pub(super) struct Clusters {
    by_context: Mutex<BTreeMap<Option<String>, ClusterResult>>,
}

type ClusterResult = Result<Arc<KubeCluster>, KubeError>;

impl Clusters {
    /// A stream to the agent of a pod.
    pub(super) fn stream(&self, place: &PodLocation, token: String) -> Result<NodeStream, UnreachedNode> {
        let cluster = self.cluster(place.context.as_deref())?;
        let failed = |error: std::io::Error| UnreachedNode {
            why: format!("failed to open a socket: {error}"),
            remedy: "raise the limit of open files (ulimit -n)".to_owned(),
        };
        let stream = PodStream::start(&cluster, place, token).map_err(failed)?;
        let end = || stream.socket.try_clone().map(|end| File::from(OwnedFd::from(end)));
        let (input, output) = (end().map_err(failed)?, end().map_err(failed)?);
        NodeStream::from_ends(Box::new(PodEnd(stream)), Some(input), Some(output), None).map_err(failed)
    }

    /// The first to ask for a cluster finds it for all: a command of the kubeconfig runs once.
    fn cluster(&self, context: Option<&str>) -> Result<Arc<KubeCluster>, KubeError> {
        let mut by_context = self.by_context.lock().unwrap_or_else(PoisonError::into_inner);
        let find = || kubeconfig::find(context).and_then(kubeconfig::connect);
        by_context.entry(context.map(str::to_owned)).or_insert_with(find).clone()
    }
}

struct PodEnd(PodStream);

impl RemoteEnd for PodEnd {
    fn ended(&mut self) -> Option<ExitStatus> {
        match self.0.end()? {
            StreamEnd::Exited(code) => Some(ExitStatus::from_raw(code << 8)),
            StreamEnd::Failed(_) => Some(ExitStatus::from_raw(1 << 8)),
        }
    }

    fn errors(&self) -> String {
        self.0.errors()
    }

    fn fault(&self) -> Option<UnreachedNode> {
        match self.0.end()? {
            StreamEnd::Exited(_) => None,
            StreamEnd::Failed(fault) => Some(fault.into()),
        }
    }

    fn is_mending(&self) -> bool {
        self.0.is_mending()
    }
}

/// Commands that the kubeconfig has run to find out who the user is, for the clusters of these nodes.
pub(super) fn commands(nodes: &[FleetNode]) -> Vec<String> {
    let mut contexts: Vec<Option<&str>> = Vec::new();
    for node in nodes {
        if let NodeReach::Kube(place) = &node.reach
            && !contexts.contains(&place.context.as_deref())
        {
            contexts.push(place.context.as_deref());
        }
    }
    let mut commands: Vec<String> = Vec::new();
    for context in contexts {
        // A cluster that is not found is reported with each of its nodes.
        let command = kubeconfig::find(context).ok().and_then(|access| access.command());
        commands.extend(command.filter(|command| !commands.contains(command)));
    }
    commands
}
