//! A cluster on one Linux machine: nodes and clients are network namespaces, links are shaped, drives are files with
//! limits, and an engine serves S3 over them. [`up::up`] makes it from a [`spec::LabSpec`],
//! [`faults::Fault`]s break it, and [`down::down`] removes it, from any state that a kill left.
//!
//! Nothing outside is changed: everything has names of the lab, which are refused if they are there before.

pub mod bonds;
pub mod cgroups;
pub mod description;
pub mod down;
pub mod drives;
pub mod engine;
pub mod error;
pub mod faults;
pub mod folder;
mod garage;
pub mod keys;
pub mod mounts;
pub mod names;
pub mod namespaces;
pub mod network;
pub mod planting;
pub mod programs;
mod redirect;
pub mod scale;
pub mod spec;
pub mod state;
pub mod status;
pub mod up;
