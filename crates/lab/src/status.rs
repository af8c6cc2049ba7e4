//! What there is of labs.

use std::fs;
use std::path::Path;

use serde::Serialize;

use crate::cgroups::Cgroups;
use crate::error::LabError;
use crate::folder::{LabFolder, LabRecord};
use crate::names::{LabName, Machine, PORT, machines};
use crate::namespaces;
use crate::spec::Plane;

/// A lab as it is now.
#[derive(Debug, Serialize)]
pub struct LabStatus {
    pub lab: LabName,
    pub machines: Vec<MachineStatus>,
    /// As they are written for `lab fault`.
    pub faults: Vec<String>,
    /// Which node does not serve, and what it answers; absent if all do, or nothing is to serve.
    pub not_serving: Option<String>,
    /// What clients ask.
    pub hosts: Option<String>,
}

/// A machine of it.
#[derive(Debug, Serialize)]
pub struct MachineStatus {
    pub machine: String,
    pub namespace: String,
    pub address: String,
    /// Processes in its namespace.
    pub processes: u32,
    /// Whether its namespace and control groups are there.
    pub is_whole: bool,
}

/// Names of all labs.
#[must_use]
pub fn names(state: &Path) -> Vec<LabName> {
    let entries = fs::read_dir(state).into_iter().flatten().flatten();
    let mut names: Vec<LabName> = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect();
    names.sort_by_key(ToString::to_string);
    names
}

/// # Errors
/// [`LabError`].
pub fn status(folder: &LabFolder, record: &LabRecord) -> Result<LabStatus, LabError> {
    let (lab, spec) = (&record.name, &record.spec);
    let cgroups = Cgroups::find()?;
    let of_machine = |machine: Machine| {
        let namespace = lab.namespace(machine);
        let is_there = namespaces::path(&namespace).exists();
        MachineStatus {
            machine: machine.to_string(),
            address: machine.address(Plane::Public).to_string(),
            processes: namespaces::processes(std::slice::from_ref(&namespace)).len() as u32,
            is_whole: is_there && cgroups.folders(lab, machine).iter().all(|folder| folder.is_dir()),
            namespace,
        }
    };
    let machines: Vec<MachineStatus> = machines(spec).map(of_machine).collect();
    let first_client = lab.namespace(Machine::Client(1));
    let not_serving = match &record.engine {
        Some(engine) if namespaces::path(&first_client).exists() => engine.first_not_serving(&first_client, spec)?,
        Some(_) => Some("its clients are not there".to_owned()),
        None => None,
    };
    Ok(LabStatus {
        lab: lab.clone(),
        machines,
        faults: folder.faults()?.faults.iter().map(ToString::to_string).collect(),
        not_serving,
        hosts: record.engine.as_ref().map(|_| hosts(record)),
    })
}

/// All nodes, as flags take hosts.
#[must_use]
pub fn hosts(record: &LabRecord) -> String {
    let first = Machine::Node(1).address(Plane::Public);
    let [a, b, c, _] = first.octets();
    match record.spec.nodes.len() {
        1 => format!("{first}:{PORT}"),
        nodes => format!("{a}.{b}.{c}.{{1...{nodes}}}:{PORT}"),
    }
}
