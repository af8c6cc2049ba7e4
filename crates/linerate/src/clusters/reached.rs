//! A cluster of this user's kubeconfig.

use std::sync::Arc;

use linerate_kube::access::{Access, KubeCluster};
use linerate_kube::fault::KubeFault;

use super::ClusterFlags;
use crate::failure::{Failure, code};
use crate::{consent, kubeconfig};

/// A fault, with what to do.
pub(crate) fn failed(fault: &KubeFault) -> Failure {
    let code = match fault {
        KubeFault::NoKubeconfig(_) | KubeFault::Kubeconfig(_) | KubeFault::UnknownContext { .. } => code::USAGE,
        _ => code::TARGET,
    };
    Failure::Outcome { why: format!("{fault}\n  try {}", fault.remedy()), code }
}

/// Connects, with consent to what the kubeconfig runs.
pub(crate) fn connected(flags: &ClusterFlags, context: Option<&str>) -> Result<Arc<KubeCluster>, Failure> {
    let access = Access::find(&kubeconfig::source(), context).map_err(|fault| failed(&fault))?;
    if let Some(command) = access.command().filter(|_| !flags.yes_exec) {
        let what = format!("the kubeconfig runs a command for credentials on this machine:\n  {command}\n");
        consent::ask(&what, "It runs as your user.", "give --yes-exec to consent")?;
    }
    access.connect().map_err(|fault| failed(&fault))
}
