//! Kubernetes, for a fleet: pods are found, their agents reached by exec, and clients brought up and taken down.
//!
//! Everything that waits runs on one thread of an async runtime for each cluster. What a stream brings is read from a
//! socket here, without waiting, as that of any process. [`manifest`] is pure: what it renders depends on nothing but
//! what it is asked for.

pub mod access;
pub mod api_client;
mod api_request;
pub mod client_fleet;
pub mod comparison;
mod credential_command;
mod credentials;
pub mod error;
mod exec_attachment;
pub mod kubeconfig_files;
pub mod manifest;
pub mod object_diff;
mod pod_selection;
mod refused_answer;
pub mod stream;
mod stream_state;
