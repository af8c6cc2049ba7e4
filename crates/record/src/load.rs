//! A load, described whole: what is done, to whom, how much of it, for how long, how objects are written and what ends
//! it.
//!
//! Flags, files and the environment are resolved into a [`Load`]; what follows takes that and no flag: a run, the cells
//! of an experiment, a run folder. It holds no credential, nothing of this machine but what was asked of it, and
//! nothing of what is shown of a run.

pub mod choice;
pub mod levels;
pub mod patch;
pub mod sizes;
pub mod stops;
pub mod time;
pub mod workload;

use std::fmt;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::op::Op;
use crate::units::Rate;
pub use choice::{Choice, HostSelect, Lookup, OwnTarget, Payload, Spacing, TargetKind, Unique, Write};
pub use levels::{Level, Levels};
pub use patch::{LoadPatch, differences};
pub use sizes::Sizes;
pub use stops::{CanaryRules, ErrorLimit, StopConditions};
pub use time::{Precision, Time, WarmUp};
pub use workload::Workload;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Load {
    pub endpoint: Endpoint,
    /// What is done, in order: each workload at each of its sizes is a series.
    pub work: Vec<WorkloadSizes>,
    /// The objects of the run, and those that it reads.
    pub objects: Objects,
    /// How bodies are sent and compared.
    pub bodies: BodyOptions,
    /// How much of it is in flight, or due.
    pub levels: Levels,
    /// The cap on a closed loop, and the highest rate that a search for one tries.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_rate: Option<Rate>,
    /// Event-loop threads; absent for one per processor.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub threads: Option<u32>,
    /// How long each point runs.
    pub time: Time,
    /// What ends it before.
    pub stops: StopConditions,
}

/// A workload, and the sizes of objects at which it is measured.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WorkloadSizes {
    pub workload: Workload,
    /// Sizes of its objects.
    pub sizes: Vec<Sizes>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Endpoint {
    pub server: Server,
    /// How TLS is spoken; absent for plain HTTP.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tls: Option<TlsTrust>,
    /// Whether requests go unsigned.
    pub anonymous: bool,
    pub region: String,
    pub bucket: String,
    /// Prefix of every key that is written, before the run's own.
    pub prefix: String,
    /// How the bucket is named.
    pub lookup: Lookup,
    /// How requests are shared over hosts.
    pub host_select: HostSelect,
    /// Local addresses, or interfaces, that connections are made from in turn, parted by commas; absent for the
    /// route's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    /// The target's process on this machine, where it was told.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pid: Option<u32>,
    /// Memory of each host of the target, in bytes, where it was told.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory_bytes: Option<u64>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum Server {
    /// Hosts that are there.
    Hosts {
        /// `name:port` of each.
        authorities: Vec<String>,
        /// Whether every address of a name is a host of its own.
        every_address: bool,
        /// The hosts with their addresses, as run folders name them, where they were looked up already: then they are
        /// not looked up again.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        addresses: Vec<String>,
    },
    /// A target of linerate's own, started for the run.
    Own {
        kind: OwnTarget,
        /// The folder in which it keeps objects; absent for a temporary one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        drive: Option<PathBuf>,
    },
}

impl Server {
    /// Hosts by their names, which are to be looked up.
    #[must_use]
    pub fn named(authorities: Vec<String>, every_address: bool) -> Server {
        Server::Hosts { authorities, every_address, addresses: Vec::new() }
    }

    /// Whether both are the same hosts by name, wherever these were found.
    #[must_use]
    pub fn is_named_alike(&self, other: &Server) -> bool {
        match (self, other) {
            (
                Server::Hosts { authorities, every_address, .. },
                Server::Hosts { authorities: others, every_address: others_every, .. },
            ) => (authorities, every_address) == (others, others_every),
            _ => self == other,
        }
    }
}

/// Which certificates are believed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TlsTrust {
    /// Any, whoever issued it and for whatever name.
    pub insecure: bool,
    /// Those of a PEM file, beside the system's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ca_file: Option<PathBuf>,
}

/// Most objects that are written beforehand, or listed.
pub const OBJECTS_MAX: u64 = 1 << 32;

/// The objects of a run, and those that it reads.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Objects {
    /// How many are written beforehand, or listed, up to [`OBJECTS_MAX`]; absent for what suits their size.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub count: Option<u64>,
    /// How they are written beforehand.
    pub write: Write,
    /// Whether objects that are there already are read, in place of objects of the run.
    pub list_existing: bool,
    /// Whether they are left at the target.
    pub noclear: bool,
}

/// How bodies are sent and compared.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BodyOptions {
    /// What vouches for a body.
    pub payload: Payload,
    /// How bodies differ from each other.
    pub unique: Unique,
    /// Length of a part of multipart uploads, in bytes.
    pub part_bytes: u64,
    /// Parts of one object in flight at once.
    pub part_concurrent: u32,
    /// Length of the ranges that are read, in bytes; absent for whole objects.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub range_bytes: Option<u64>,
    /// Whether bodies read are compared with what was written.
    pub verify: bool,
}

impl Load {
    /// Whether some workload has an operation.
    #[must_use]
    pub fn has(&self, op: Op) -> bool {
        self.work.iter().any(|work| work.workload.has(op))
    }

    /// Whether objects have to be there before: to be read, or to be deleted.
    #[must_use]
    pub fn needs_objects(&self) -> bool {
        self.work.iter().any(|work| work.workload.reads() || work.workload.is_delete_only())
    }

    /// Whether it uploads in parts.
    #[must_use]
    pub fn has_parts(&self) -> bool {
        self.has(Op::Multipart) || (self.objects.write == Write::Multipart && self.needs_objects())
    }

    /// Every size of objects.
    pub fn sizes(&self) -> impl Iterator<Item = &Sizes> {
        self.work.iter().flat_map(|work| &work.sizes)
    }

    /// The largest object that there can be.
    #[must_use]
    pub fn largest_bytes(&self) -> u64 {
        self.sizes().map(Sizes::max).max().unwrap_or(0)
    }

    /// How many series it has: one of each workload where objects that were there before are read, whatever sizes.
    #[must_use]
    pub fn series(&self) -> usize {
        let size_count = |work: &WorkloadSizes| if self.objects.list_existing { 1 } else { work.sizes.len() };
        self.work.iter().map(size_count).sum()
    }

    /// The first of it in short, of which there may be more: `get:4MiB@16`.
    #[must_use]
    pub fn shorthand(&self) -> String {
        let first = self.work.first();
        let kind = first.map_or("", |work| work.workload.kind());
        let size = first.and_then(|work| work.sizes.first()).map_or_else(String::new, ToString::to_string);
        format!("{kind}:{size}@{}", self.levels.highest())
    }

    /// The most operations that rows of one interval tell apart: an upload is told as a whole and by its parts.
    #[must_use]
    pub fn ops_max(&self) -> usize {
        let operation_count =
            |work: &WorkloadSizes| work.workload.ops().count() + usize::from(work.workload.has(Op::Multipart));
        self.work.iter().map(operation_count).max().unwrap_or(1)
    }
}

impl Server {
    /// Whether it is linerate's own target that stores nothing.
    #[must_use]
    pub const fn is_null(&self) -> bool {
        matches!(self, Server::Own { kind: OwnTarget::Null, .. })
    }

    /// Whether it is a target of linerate's own.
    #[must_use]
    pub const fn is_own(&self) -> bool {
        matches!(self, Server::Own { .. })
    }
}

/// A text that describes no load, or no part of one: what is wrong with it, and what to write.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct InvalidLoad(pub String);

impl InvalidLoad {
    /// The same of another error.
    pub(crate) fn from_error(error: impl fmt::Display) -> Self {
        InvalidLoad(error.to_string())
    }
}

#[cfg(test)]
mod tests;
