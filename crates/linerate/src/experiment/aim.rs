//! Whom each arm loads, by the description of its load.

use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use linerate_load::hosts::{self, Host};
use linerate_load::sigv4::Credentials;
use linerate_record::experiment::KeySource;
use linerate_record::load::{Endpoint, Levels, Load, Lookup, OwnTarget, Server, Write};

use crate::child::{self, TargetProcess};
use crate::credentials::Keys;
use crate::credentials::alias;
use crate::failure::Failure;
use crate::{consent, credentials, endpoint};

/// Whom an arm loads.
#[derive(Clone, Debug)]
pub(super) struct ArmTarget {
    /// The load of its cells, but for their times.
    pub(super) load: Load,
    /// Who signs its requests; none where they go unsigned, and where bench starts a target of its own in each cell.
    pub(super) credentials: Option<Credentials>,
    /// Addresses; none where bench starts a target of its own in each cell.
    pub(super) hosts: Vec<SocketAddr>,
    /// `name:port` of the same.
    pub(super) authorities: Vec<String>,
    /// Whether all of them are this machine's.
    pub(super) is_here: bool,
    /// What the objects to read depend on: arms that agree in it read the same ones.
    pub(super) objects: ObjectSet,
}

/// Objects to read, as far as they depend on an arm.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ObjectSet {
    hosts: Vec<SocketAddr>,
    bucket: String,
    prefix: String,
    lookup: Lookup,
    count: Option<u64>,
    write: Write,
}

impl ArmTarget {
    pub(super) fn addresses(&self) -> Vec<IpAddr> {
        self.hosts.iter().map(SocketAddr::ip).collect()
    }
}

/// Whom the arms load, in their order.
pub(super) struct ArmTargets {
    pub(super) of_arms: Vec<ArmTarget>,
    /// The embedded target, where no host is named, and its keys. Ends with the value.
    pub(super) own: Option<(TargetProcess, Credentials)>,
    /// In words.
    pub(super) target: String,
}

impl ArmTargets {
    /// The arm that wrote what a load wrote to be read: the first of those that can read it.
    pub(super) fn writer(&self, load: &Load) -> Option<usize> {
        let nowhere = |objects: ObjectSet| ObjectSet { hosts: Vec::new(), ..objects };
        let wrote = |aim: &ArmTarget| {
            aim.load.endpoint.server == load.endpoint.server
                && nowhere(aim.objects.clone()) == objects(load, Vec::new())
        };
        self.of_arms.iter().position(wrote)
    }

    /// Whether an arm loads the embedded target, which ends with the experiment.
    pub(super) fn is_own(&self, arm: usize) -> bool {
        let address = self.own.as_ref().map(|(process, _)| process.address);
        let hosts = &self.of_arms[arm].hosts;
        hosts.is_empty() || address.is_some_and(|address| *hosts == [address])
    }
}

/// Who named the hosts of an experiment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NamedBy {
    /// The user, now.
    Flags,
    /// A folder: no name of it is looked up without consent.
    Folder,
}

/// What an arm is to load: the description, whose keys sign it, and whether its flags consent to it.
pub(super) struct ArmLoad {
    pub(super) load: Load,
    pub(super) keys: KeySource,
    pub(super) yes_load: bool,
}

/// Finds whom each arm loads, and asks for consent once for each target that is not on this machine; starts the
/// embedded target where none is named.
///
/// `is_of_clients` says that clients of a fleet load: what is this machine for them is another.
pub(super) fn aims(arms: &[ArmLoad], named_by: NamedBy, is_of_clients: bool) -> Result<ArmTargets, Failure> {
    let mut aims = ArmTargets { of_arms: Vec::new(), own: None, target: String::new() };
    let load = arms.first().map_or_else(String::new, |arm| arm.load.shorthand());
    let words = format!("{load} would be loaded again and again for as long as the experiment lasts");
    let mut consent = Consent { named_by, is_of_clients, words, hosts: Vec::new() };
    let mut named: Vec<String> = Vec::new();
    for arm in arms {
        require_of_cells(&arm.load)?;
        let mut aim = ArmTarget {
            objects: objects(&arm.load, Vec::new()),
            load: arm.load.clone(),
            credentials: None,
            hosts: Vec::new(),
            authorities: Vec::new(),
            is_here: true,
        };
        let reported = match found(&aim.load, arm.yes_load, &mut consent)? {
            Some(hosts) => {
                aim.credentials =
                    if aim.load.endpoint.anonymous { None } else { keys_of(&arm.keys, &aim.load.endpoint)? };
                aim.is_here = consent::on_this_machine(&hosts);
                aim.hosts = hosts.iter().map(|host| host.address).collect();
                aim.authorities = hosts.iter().map(|host| host.authority.clone()).collect();
                aim.authorities.join(", ")
            }
            None if !is_shared(&aim.load.endpoint) => "a target of bench's own".to_owned(),
            None => {
                let (process, keys) = own(&mut aims)?;
                (aim.hosts, aim.authorities) = (vec![process.address], vec![process.address.to_string()]);
                aim.credentials = Some(keys.clone());
                let endpoint = &mut aim.load.endpoint;
                endpoint.server = Server::Hosts { authorities: aim.authorities.clone(), every_address: false };
                (endpoint.anonymous, endpoint.pid) = (false, Some(process.pid()));
                "embedded target".to_owned()
            }
        };
        aim.objects = objects(&aim.load, aim.hosts.clone());
        if !named.contains(&reported) {
            named.push(reported);
        }
        aims.of_arms.push(aim);
    }
    aims.target = named.join("; ");
    Ok(aims)
}

/// Whether an endpoint is the embedded target that the cells of all such arms share; one over TLS, or with a folder,
/// is started for each cell.
fn is_shared(endpoint: &Endpoint) -> bool {
    endpoint.tls.is_none() && endpoint.server == Server::Own { kind: OwnTarget::Embedded, drive: None }
}

/// Refuses what no cell can load, whoever described it.
fn require_of_cells(load: &Load) -> Result<(), Failure> {
    let is_one = load.series() == 1 && matches!(&load.levels, Levels::Given(levels) if levels.len() == 1);
    if !is_one || load.stops.canary.is_some() || load.objects.noclear {
        return Err(Failure::usage(
            "a cell has one workload of one size at one concurrency, no canary, and leaves no objects: begin a new \
             experiment",
        ));
    }
    if load.bodies.verify && load.work.iter().all(|work| work.workload.reads_only()) {
        return Err(Failure::usage("--verify needs objects that each run writes: cells read what is there, drop it"));
    }
    Ok(())
}

/// The keys of a source, which were told by its name.
fn keys_of(source: &KeySource, endpoint: &Endpoint) -> Result<Option<Credentials>, Failure> {
    credentials::find(&match source {
        KeySource::Environment => Keys::default(),
        KeySource::Profile(name) => Keys { profile: Some(name.clone()), ..Keys::default() },
        KeySource::Alias(name) => alias::keys(name, endpoint)?,
    })
}

fn objects(load: &Load, hosts: Vec<SocketAddr>) -> ObjectSet {
    let endpoint = &load.endpoint;
    ObjectSet {
        hosts,
        bucket: endpoint.bucket.clone(),
        prefix: endpoint.prefix.clone(),
        lookup: endpoint.lookup,
        count: load.objects.count,
        write: load.objects.write,
    }
}

/// What was consented to so far.
struct Consent {
    named_by: NamedBy,
    is_of_clients: bool,
    /// What would be done, in words.
    words: String,
    hosts: Vec<Host>,
}

/// The hosts that bench would load, with consent to that.
fn found(load: &Load, yes_load: bool, consent: &mut Consent) -> Result<Option<Vec<Host>>, Failure> {
    let Server::Hosts { authorities, every_address } = &load.endpoint.server else { return Ok(None) };
    let is_new = |name: &&String| consent.hosts.iter().all(|host| host.authority != **name);
    let unknown = authorities.iter().filter(|name| hosts::needs_look_up(name)).filter(is_new);
    let unknown: Vec<String> = unknown.filter(|_| consent.named_by == NamedBy::Folder).cloned().collect();
    consent::obtain_by_name(&unknown, yes_load, &consent.words)?;
    let found = endpoint::resolved(authorities, *every_address, Duration::from_nanos(load.stops.timeout_ns))?;
    if found.iter().any(|host| !consent.hosts.contains(host) && !unknown.contains(&host.authority)) {
        if consent.is_of_clients {
            consent::obtain_for_clients(&found, yes_load, false, &consent.words)?;
        } else {
            consent::obtain(&found, yes_load, &consent.words)?;
        }
    }
    consent.hosts.extend(found.iter().cloned());
    Ok(Some(found))
}

/// The embedded target, started when it is first asked for.
fn own(aims: &mut ArmTargets) -> Result<&(TargetProcess, Credentials), Failure> {
    if aims.own.is_none() {
        let credentials = credentials::ephemeral()?;
        let process = child::start(OwnTarget::Embedded, None, Some(&credentials), false)?;
        aims.own = Some((process, credentials));
    }
    aims.own.as_ref().ok_or_else(|| Failure::Child { kind: "embedded", why: "it is gone".to_owned() })
}
