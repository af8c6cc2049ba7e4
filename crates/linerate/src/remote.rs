//! Other machines: how agents are reached, led and told a load, and the executor of rollouts.

pub(crate) mod discovered_fleet;
pub(crate) mod kube_cluster;
#[cfg(feature = "kube")]
pub(crate) mod kubeconfig;
pub(crate) mod lease_flag;
pub(crate) mod link_rates;
pub(crate) mod net_token;
pub(crate) mod node_access;
pub(crate) mod remote_load;
pub(crate) mod rollout;
