//! A module for each verb: its flags, its check and what it does.

pub(crate) mod agent;
pub(crate) mod audit;
pub(crate) mod bench;
pub(crate) mod capture;
pub(crate) mod clean;
pub(crate) mod compare;
pub(crate) mod discover;
pub(crate) mod doctor;
pub(crate) mod experiment;
pub(crate) mod explain;
pub(crate) mod fleet;
pub(crate) mod import;
pub(crate) mod knobs;
pub(crate) mod lab;
pub(crate) mod net;
pub(crate) mod plan;
pub(crate) mod render;
pub(crate) mod report;
pub(crate) mod runs;
pub(crate) mod shell;
pub(crate) mod target;
pub(crate) mod tune;
