//! A build without Kubernetes: it says so.

use std::process::ExitCode;

use super::flags::{ClientFlags, DownFlags, ManifestFlags, UpFlags};
use crate::clusters::refused;
use crate::failure::Failure;

pub(super) fn check(_flags: &ClientFlags) -> Result<(), Failure> {
    refused()
}

pub(super) fn manifest(_flags: &ManifestFlags) -> Result<ExitCode, Failure> {
    refused()
}

pub(super) fn up(_flags: &UpFlags) -> Result<ExitCode, Failure> {
    refused()
}

pub(super) fn down(_flags: &DownFlags) -> Result<ExitCode, Failure> {
    refused()
}
