//! A build without Kubernetes: it says so.

use std::process::ExitCode;

use linerate_render::Rendering;

use crate::clusters::{ClusterFlags, refused};
use crate::failure::Failure;

pub(super) fn diffed(_rendering: &Rendering, _flags: &ClusterFlags) -> Result<ExitCode, Failure> {
    refused()
}
