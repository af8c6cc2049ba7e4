//! A cluster of this user's kubeconfig.

use std::sync::Arc;

use linerate_kube::access::KubeCluster;
use linerate_kube::error::KubeError;

use super::ClusterFlags;
use crate::remote::kubeconfig;
use crate::run::consent;
use crate::terminal::failure::{Failure, code};

/// A fault, with what to do.
pub(crate) fn kube_failure(fault: &KubeError) -> Failure {
    let code = match fault {
        KubeError::NoKubeconfig(_) | KubeError::Kubeconfig(_) | KubeError::UnknownContext { .. } => code::USAGE,
        _ => code::TARGET,
    };
    Failure::Outcome { why: format!("{fault}\n  try {}", fault.remedy()), code }
}

/// Connects, with consent to what the kubeconfig runs.
pub(crate) fn connect(flags: &ClusterFlags, context: Option<&str>) -> Result<Arc<KubeCluster>, Failure> {
    let access = kubeconfig::find(context).map_err(|fault| kube_failure(&fault))?;
    if let Some(command) = access.command().filter(|_| !flags.yes_exec) {
        let what = format!("the kubeconfig runs a command for credentials on this machine:\n  {command}\n");
        consent::ask_or_refuse(&what, "It runs as your user.", "give --yes-exec to consent")?;
    }
    kubeconfig::connect(access).map_err(|fault| kube_failure(&fault))
}
