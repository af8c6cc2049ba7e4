//! A build without Kubernetes: it says so.

use std::process::ExitCode;

use super::flags::{ClientFlags, DownFlags, ManifestFlags, UpFlags};
use crate::remote::kube_cluster::not_built_in;
use crate::terminal::failure::Failure;

pub(super) fn check(_flags: &ClientFlags) -> Result<(), Failure> {
    not_built_in()
}

pub(super) fn manifest(_flags: &ManifestFlags) -> Result<ExitCode, Failure> {
    not_built_in()
}

pub(super) fn up(_flags: &UpFlags) -> Result<ExitCode, Failure> {
    not_built_in()
}

pub(super) fn down(_flags: &DownFlags) -> Result<ExitCode, Failure> {
    not_built_in()
}
