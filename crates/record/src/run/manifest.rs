//! `run.json`: what was asked, of what, and from where. Schemas 1 and 2 had one client and no name for it; they are
//! read as runs of one.

use serde::{Deserialize, Serialize};

use super::{LoadRequest, Target};
use crate::load::{self, Load};
use crate::machine::Machine;
use crate::site::Site;

/// Most clients that one run may have.
pub const CLIENTS_MAX: usize = 256;

/// Name of the client of a run that has one: the machine on which `linerate bench` was started.
pub const LOCAL: &str = "local";

/// `run.json`: what was asked, of what, from which machines.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "AsWritten")]
pub struct Manifest {
    /// [`super::SCHEMA`] of the writer.
    pub schema: u32,
    /// Name of the run; also part of every object key that the run writes.
    pub id: String,
    /// What the run is about, where somebody said so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// Version of linerate that wrote the folder.
    pub linerate_version: String,
    /// When the run began, in milliseconds since the Unix epoch.
    pub started_unix_ms: u64,
    /// Seed of object bodies, sizes and choices: with it, any body can be made again.
    pub seed: u64,
    /// The load as it was described; absent in folders of versions that did not record it, and of those that say more
    /// of a load than is known here.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub load: Option<Load>,
    /// The site that was loaded, where it was described (`--site`): reports hold the run against what it can do.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub site: Option<Site>,
    /// What the user asked for, defaults filled in, and what came of it on the clients.
    pub asked: LoadRequest,
    /// What the load was driven at.
    pub target: Target,
    /// Where the load came from, in the order of the client numbers in intervals and readings: one at least.
    pub clients: Vec<Client>,
    /// Length of an interval of `intervals.jsonl`, in milliseconds.
    pub interval_ms: u64,
    /// Largest size that `intervals.jsonl` can reach, in bytes.
    pub intervals_bytes_max: u64,
}

impl Manifest {
    /// Whether another tool measured.
    #[must_use]
    pub fn is_imported(&self) -> bool {
        self.asked.is_imported()
    }

    /// The machine of the first client: of a run with one, the machine.
    #[must_use]
    pub fn machine(&self) -> &Machine {
        &self.clients[0].machine
    }

    /// Event-loop threads of all clients together.
    #[must_use]
    pub fn threads(&self) -> u32 {
        self.clients.iter().map(|client| client.threads).fold(0, u32::saturating_add)
    }
}

/// One process that drove load, and the machine that it ran on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Client {
    /// What it is called: [`LOCAL`] where there is one.
    pub name: String,
    /// The machine.
    pub machine: Machine,
    /// Event-loop threads of it; 0 where that is not known.
    pub threads: u32,
    /// How its clock stood to the run's; absent where it is the run's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clock: Option<ClientClock>,
}

impl Client {
    /// The only one of a run.
    #[must_use]
    pub fn local(machine: Machine, threads: u32) -> Self {
        Client { name: LOCAL.to_owned(), machine, threads, clock: None }
    }
}

/// How a client's clock stood to the run's. Instants in the folder have been put right by it already.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClientClock {
    /// By how much it was ahead, in nanoseconds; negative where it was behind.
    pub offset_ns: i64,
    /// How far off that may be, in nanoseconds: half of the shortest round trip in which it was asked.
    pub bound_ns: u64,
}

/// The manifest as any version wrote it.
#[derive(Deserialize)]
struct AsWritten {
    schema: u32,
    id: String,
    title: Option<String>,
    linerate_version: String,
    started_unix_ms: u64,
    seed: u64,
    #[serde(default, deserialize_with = "load::recorded")]
    load: Option<Load>,
    #[serde(default)]
    site: Option<Site>,
    asked: LoadRequest,
    target: Target,
    /// Schemas 1 and 2.
    machine: Option<Machine>,
    /// Since schema 3.
    #[serde(default)]
    clients: Vec<Client>,
    interval_ms: u64,
    intervals_bytes_max: u64,
}

/// Why a manifest names no clients that a run can have.
#[derive(Debug, thiserror::Error)]
enum WrongClients {
    #[error("it names neither clients nor, as schemas 1 and 2 do, a machine")]
    None,
    #[error("it has {0} clients: a run has {CLIENTS_MAX} at most")]
    TooMany(usize),
    #[error("two clients are named {0:?}")]
    SameName(String),
}

impl TryFrom<AsWritten> for Manifest {
    type Error = WrongClients;

    fn try_from(written: AsWritten) -> Result<Self, WrongClients> {
        let threads = written.asked.threads;
        let clients = match written.machine {
            Some(machine) if written.clients.is_empty() => vec![Client::local(machine, threads)],
            _ => written.clients,
        };
        if clients.is_empty() {
            return Err(WrongClients::None);
        }
        if clients.len() > CLIENTS_MAX {
            return Err(WrongClients::TooMany(clients.len()));
        }
        let mut names: Vec<&String> = clients.iter().map(|client| &client.name).collect();
        names.sort_unstable();
        if let Some(pair) = names.windows(2).find(|pair| pair[0] == pair[1]) {
            return Err(WrongClients::SameName(pair[0].clone()));
        }
        Ok(Manifest {
            schema: written.schema,
            id: written.id,
            title: written.title,
            linerate_version: written.linerate_version,
            started_unix_ms: written.started_unix_ms,
            seed: written.seed,
            load: written.load,
            site: written.site,
            asked: written.asked,
            target: written.target,
            clients,
            interval_ms: written.interval_ms,
            intervals_bytes_max: written.intervals_bytes_max,
        })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn written(schema: u32, clients: &[(&str, Value)]) -> Value {
        let mut all = json!({
            "schema": schema, "id": "a", "linerate_version": "0.1.0", "started_unix_ms": 1, "seed": u64::MAX,
            "asked": {
                "points": [], "duration_ms": 1, "threads": 3, "objects": 0, "bucket": "b", "prefix": "p/",
                "payload": "signed", "unique": "tail", "verify": false, "range_bytes": null, "max_rate": null,
                "host_select": "round-robin", "noclear": false, "list_existing": false,
            },
            "target": {
                "kind": "null", "hosts": ["h:1"], "server": null, "lookup": "path", "region": "r",
                "on_this_machine": true,
            },
            "interval_ms": 100, "intervals_bytes_max": 1,
        });
        clients.iter().for_each(|(key, value)| all[key] = value.clone());
        all
    }

    fn read(value: &Value) -> Result<Manifest, String> {
        serde_json::from_str(&value.to_string()).map_err(|error| error.to_string())
    }

    #[test]
    fn older_schemas_are_runs_of_one_client() {
        let machine = serde_json::to_value(Machine { cpus: 7, ..Machine::default() }).unwrap();
        for schema in [1, 2] {
            let manifest = read(&written(schema, &[("machine", machine.clone())])).unwrap();
            assert_eq!((manifest.machine().cpus, manifest.threads(), manifest.seed), (7, 3, u64::MAX), "{schema}");
            assert_eq!(manifest.clients[0].name, LOCAL);
            let again: Manifest = serde_json::from_str(&serde_json::to_string(&manifest).unwrap()).unwrap();
            assert_eq!(again, manifest, "{schema}");
        }
    }

    #[test]
    fn clients_are_some_and_have_names_of_their_own() {
        let client = |name: String| json!({ "name": name, "machine": Machine::default(), "threads": 2 });
        let of = |names: &[&str]| -> Value { names.iter().map(|name| client((*name).to_owned())).collect() };
        let two = read(&written(3, &[("clients", of(&["a", "b"]))])).unwrap();
        assert_eq!((two.clients.len(), two.threads(), two.clients[1].clock), (2, 4, None));
        let many: Value = (0..=CLIENTS_MAX).map(|i| client(i.to_string())).collect();
        for (clients, part) in [(of(&[]), "neither clients"), (of(&["a", "a"]), "named \"a\""), (many, "256 at most")] {
            let error = read(&written(3, &[("clients", clients)])).unwrap_err();
            assert!(error.contains(part), "{error}");
        }
        assert!(read(&written(3, &[])).is_err());
    }
}
