//! Which cluster of Kubernetes is meant, and how it is reached.

#[cfg(feature = "kube")]
mod connection;

use clap::Args;

#[cfg(feature = "kube")]
pub(crate) use connection::{connect, kube_failure};

/// Which cluster is meant.
#[derive(Args, Debug)]
pub(crate) struct ClusterFlags {
    /// Context of the kubeconfig. [default: its current context]
    #[arg(long, value_name = "CONTEXT")]
    pub(crate) context: Option<String>,
    /// Consent to running the command in the kubeconfig that provides credentials.
    #[arg(long)]
    pub(crate) yes_exec: bool,
}

/// What a build without Kubernetes says.
#[cfg(not(feature = "kube"))]
pub(crate) fn not_built_in<T>() -> Result<T, crate::terminal::failure::Failure> {
    Err(crate::terminal::failure::Failure::usage(
        "this linerate was built without Kubernetes, as make demo builds it: cargo build --release -p linerate has it",
    ))
}
