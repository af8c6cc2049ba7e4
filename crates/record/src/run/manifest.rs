//! `run.json`: what was requested, of what, and from where. A folder describes its load (`load`) and what it became
//! (`resolved`), of which readers make a [`LoadRequest`]. A folder that does not describe it, such as an imported one,
//! has the request itself (`asked`).

use serde::{Deserialize, Serialize};

use super::{LoadRequest, POINTS_MAX, Resolved, Target};
use crate::load::Load;
use crate::machine::Machine;
use crate::site::Site;

/// Most clients that one run may have.
pub const CLIENTS_MAX: usize = 1_024;

/// Name of the client of a run that has one: the machine on which `linerate bench` was started.
pub const LOCAL: &str = "local";

/// `run.json`: what was asked, of what, from which machines.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "AsWritten", into = "AsWritten")]
pub struct Manifest {
    /// [`super::SCHEMA`] of the writer.
    pub schema: u32,
    /// Name of the run; also part of every object key that the run writes.
    pub id: String,
    /// What the run is about, where somebody said so.
    pub title: Option<String>,
    /// Version of linerate that wrote the folder.
    pub linerate_version: String,
    /// When the run began, in milliseconds since the Unix epoch.
    pub started_unix_ms: u64,
    /// Seed of object bodies, sizes and choices: with it, any body can be made again.
    pub seed: u64,
    /// The load as it was described; absent in folders of versions that did not record it, and in imported ones.
    pub load: Option<Load>,
    /// What it became when the run began; absent where it was not described.
    pub resolved: Option<Resolved>,
    /// The site that was loaded, where it was described (`--site`): reports hold the run against what it can do.
    pub site: Option<Site>,
    /// What the user asked for, defaults filled in, and what came of it on the clients: of `load` and `resolved`, and
    /// written only where there are not both.
    #[serde(rename = "asked")]
    pub requested: LoadRequest,
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
        self.requested.is_imported()
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
    pub machine: Machine,
    /// Event-loop threads of it; 0 where that is not known.
    pub threads: u32,
    /// Version of linerate that drove the load there; absent where it is the run's, or not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub linerate_version: Option<String>,
    /// How its clock stood to the run's; absent where it is the run's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clock: Option<ClientClock>,
}

impl Client {
    /// The only one of a run.
    #[must_use]
    pub fn local(machine: Machine, threads: u32) -> Self {
        Client { name: LOCAL.to_owned(), machine, threads, linerate_version: None, clock: None }
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

/// The manifest as folders have it.
#[derive(Serialize, Deserialize)]
struct AsWritten {
    schema: u32,
    id: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    title: Option<String>,
    linerate_version: String,
    started_unix_ms: u64,
    seed: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    load: Option<LoadAsWritten>,
    /// With `load`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    resolved: Option<Resolved>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    site: Option<Site>,
    /// Where the load is not described.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[serde(rename = "asked")]
    requested: Option<LoadRequest>,
    target: Target,
    clients: Vec<Client>,
    interval_ms: u64,
    intervals_bytes_max: u64,
}

/// A load, or what is none that is known here.
#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum LoadAsWritten {
    Known(Box<Load>),
    Other(serde_json::Value),
}

/// Why a manifest is none of a run.
#[derive(Debug, thiserror::Error)]
enum WrongManifest {
    #[error("it names no clients")]
    NoClients,
    #[error("it has {0} clients: a run has {CLIENTS_MAX} at most")]
    TooManyClients(usize),
    #[error("two clients are named {0:?}")]
    SameName(String),
    #[error("it has neither load and resolved nor asked")]
    NoLoad,
    #[error("this version cannot read its load ({0}): read it with the version that wrote it, {1}")]
    UnknownLoad(String, String),
    #[error("its load has {0} points: a run has {POINTS_MAX} at most")]
    TooManyPoints(usize),
}

impl TryFrom<AsWritten> for Manifest {
    type Error = WrongManifest;

    fn try_from(mut written: AsWritten) -> Result<Self, WrongManifest> {
        check(&written.clients)?;
        let (load, resolved, requested) = loads(&mut written)?;
        Ok(Manifest {
            schema: written.schema,
            id: written.id,
            title: written.title,
            linerate_version: written.linerate_version,
            started_unix_ms: written.started_unix_ms,
            seed: written.seed,
            load,
            resolved,
            site: written.site,
            requested,
            target: written.target,
            clients: written.clients,
            interval_ms: written.interval_ms,
            intervals_bytes_max: written.intervals_bytes_max,
        })
    }
}

impl From<Manifest> for AsWritten {
    fn from(manifest: Manifest) -> Self {
        let is_described = manifest.load.is_some() && manifest.resolved.is_some();
        AsWritten {
            schema: manifest.schema,
            id: manifest.id,
            title: manifest.title,
            linerate_version: manifest.linerate_version,
            started_unix_ms: manifest.started_unix_ms,
            seed: manifest.seed,
            load: manifest.load.map(|load| LoadAsWritten::Known(Box::new(load))),
            resolved: manifest.resolved,
            site: manifest.site,
            requested: (!is_described).then_some(manifest.requested),
            target: manifest.target,
            clients: manifest.clients,
            interval_ms: manifest.interval_ms,
            intervals_bytes_max: manifest.intervals_bytes_max,
        }
    }
}

/// Whether a run can have these clients.
fn check(clients: &[Client]) -> Result<(), WrongManifest> {
    if clients.is_empty() {
        return Err(WrongManifest::NoClients);
    }
    if clients.len() > CLIENTS_MAX {
        return Err(WrongManifest::TooManyClients(clients.len()));
    }
    let mut names: Vec<&String> = clients.iter().map(|client| &client.name).collect();
    names.sort_unstable();
    let same = names.windows(2).find(|pair| pair[0] == pair[1]);
    same.map_or(Ok(()), |pair| Err(WrongManifest::SameName(pair[0].clone())))
}

/// What a manifest says of its load, in whichever form: its description goes before `asked`.
fn loads(written: &mut AsWritten) -> Result<(Option<Load>, Option<Resolved>, LoadRequest), WrongManifest> {
    let requested = written.requested.take();
    let (load, resolved) = match (written.load.take(), written.resolved.take()) {
        (Some(LoadAsWritten::Known(load)), Some(resolved)) => (load, resolved),
        (Some(LoadAsWritten::Other(value)), _) if requested.is_none() => {
            let why = serde_json::from_value::<Load>(value).err().map(|error| error.to_string());
            return Err(WrongManifest::UnknownLoad(why.unwrap_or_default(), written.linerate_version.clone()));
        }
        _ => return requested.map(|requested| (None, None, requested)).ok_or(WrongManifest::NoLoad),
    };
    let points = load.series().saturating_mul(load.levels.given().map_or(1, |given| given.len()));
    if points > POINTS_MAX {
        return Err(WrongManifest::TooManyPoints(points));
    }
    let requested = LoadRequest::new(&load, &resolved, written.clients[0].threads);
    Ok((Some(*load), Some(resolved), requested))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn written(clients: &Value) -> Value {
        json!({
            "schema": 3, "id": "a", "linerate_version": "0.1.0", "started_unix_ms": 1, "seed": u64::MAX,
            "asked": {
                "points": [], "duration_ms": 1, "threads": 3, "objects": 0, "bucket": "b", "prefix": "p/",
                "payload": "signed", "unique": "tail", "verify": false, "range_bytes": null, "max_rate": null,
                "host_select": "round-robin", "noclear": false, "list_existing": false,
            },
            "target": {
                "kind": "null", "hosts": ["h:1"], "server": null, "lookup": "path", "region": "r",
                "on_this_machine": true,
            },
            "clients": clients, "interval_ms": 100, "intervals_bytes_max": 1,
        })
    }

    fn read(value: &Value) -> Result<Manifest, String> {
        serde_json::from_str(&value.to_string()).map_err(|error| error.to_string())
    }

    #[test]
    fn a_manifest_that_has_asked_alone_is_read_and_written_again() {
        let client = Client::local(Machine { cpus: 7, ..Machine::default() }, 3);
        let manifest = read(&written(&json!([client]))).unwrap();
        assert_eq!((manifest.machine().cpus, manifest.threads(), manifest.seed), (7, 3, u64::MAX));
        let again: Manifest = serde_json::from_str(&serde_json::to_string(&manifest).unwrap()).unwrap();
        assert_eq!(again, manifest);
    }

    #[test]
    fn clients_are_some_and_have_names_of_their_own() {
        let client = |name: String| json!({ "name": name, "machine": Machine::default(), "threads": 2 });
        let clients_named = |names: &[&str]| -> Value { names.iter().map(|name| client((*name).to_owned())).collect() };
        let two = read(&written(&clients_named(&["a", "b"]))).unwrap();
        assert_eq!((two.clients.len(), two.threads(), two.clients[1].clock), (2, 4, None));
        let many: Value = (0..=CLIENTS_MAX).map(|i| client(i.to_string())).collect();
        for (clients, part) in
            [(clients_named(&[]), "no clients"), (clients_named(&["a", "a"]), "named \"a\""), (many, "1024 at most")]
        {
            let error = read(&written(&clients)).unwrap_err();
            assert!(error.contains(part), "{error}");
        }
        let mut none = written(&Value::Null);
        none.as_object_mut().unwrap().remove("clients");
        assert!(read(&none).unwrap_err().contains("missing field `clients`"));
    }

    /// A folder that describes its load, at these levels, in place of `asked`.
    fn described(levels: &Value) -> Value {
        let mut all = written(&json!([{ "name": "a", "machine": Machine::default(), "threads": 5 }]));
        all.as_object_mut().unwrap().remove("asked");
        all["load"] = json!({
            "endpoint": {
                "server": { "own": { "kind": "null" } }, "anonymous": false, "region": "r", "bucket": "of-load",
                "prefix": "", "lookup": "path", "host_select": "round-robin",
            },
            "work": [{ "workload": "put", "sizes": ["1KiB", "2KiB"] }],
            "objects": { "write": "put", "list_existing": false, "noclear": false },
            "bodies": {
                "payload": "signed", "unique": "tail", "part_bytes": 5, "part_concurrent": 1, "verify": false,
            },
            "levels": levels,
            "time": { "duration_ns": 1, "warmup_ns": null, "precision": null },
            "stops": { "timeout_ns": 1, "retries": 0 },
        });
        all["resolved"] = json!({ "prefix": "of-resolved/", "objects": 6, "duration_ms": 100 });
        all
    }

    fn reported(requested: &LoadRequest) -> (&str, &str, u32, u64, u64, usize) {
        (
            &requested.bucket,
            &requested.prefix,
            requested.threads,
            requested.objects,
            requested.duration_ms,
            requested.points.len(),
        )
    }

    #[test]
    fn what_was_asked_is_made_of_the_load_and_of_what_it_became() {
        let whole = described(&json!({ "given": [1, 2, 3] }));
        let manifest = read(&whole).unwrap();
        assert_eq!(reported(&manifest.requested), ("of-load", "of-resolved/", 5, 6, 100, 6));
        let again = serde_json::to_value(&manifest).unwrap();
        assert!(again.get("asked").is_none() && read(&again).unwrap() == manifest, "{again}");

        // A load of which nobody says what it became tells nothing that what was asked does not.
        let mut both = whole.clone();
        both.as_object_mut().unwrap().remove("resolved");
        both["asked"] = written(&json!([]))["asked"].clone();
        both["asked"]["objects"] = 8.into();
        let manifest = read(&both).unwrap();
        assert_eq!((reported(&manifest.requested), manifest.load), (("b", "p/", 3, 8, 1, 0), None));

        // A load that says more than is known here is left out where the folder says what was asked.
        both["load"]["machines"] = 2.into();
        let manifest = read(&both).unwrap();
        assert_eq!(
            (reported(&manifest.requested), manifest.load, manifest.resolved),
            (("b", "p/", 3, 8, 1, 0), None, None)
        );
    }

    #[test]
    fn folders_whose_load_cannot_be_told_are_refused_by_what_they_lack() {
        let changed = |change: &dyn Fn(&mut Value)| {
            let mut whole = described(&json!({ "given": [1] }));
            change(&mut whole);
            read(&whole).unwrap_err()
        };
        let without = |name: &'static str| changed(&|all| drop(all.as_object_mut().unwrap().remove(name)));
        let levels: Vec<u32> = (1..=2_049).collect();
        for (error, part) in [
            (without("load"), "neither load and resolved nor"),
            (without("resolved"), "neither load and resolved nor"),
            (changed(&|all| all["load"]["machines"] = 2.into()), "(unknown field `machines`"),
            (changed(&|all| all["load"]["levels"] = json!({ "given": levels })), "4098 points: a run has 4096 at most"),
        ] {
            assert!(error.contains(part), "{part}: {error}");
        }
    }
}
