//! Components of Kubernetes.

pub(super) mod api_server;
pub(super) mod controller_manager;
pub(super) mod etcd;
pub(super) mod kubelet;
