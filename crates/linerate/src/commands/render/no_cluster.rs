//! A build without Kubernetes: it says so.

use std::process::ExitCode;

use linerate_render::Rendering;

use crate::remote::kube_cluster::{ClusterFlags, not_built_in};
use crate::terminal::failure::Failure;

pub(super) fn diff_cluster(_rendering: &Rendering, _flags: &ClusterFlags) -> Result<ExitCode, Failure> {
    not_built_in()
}
