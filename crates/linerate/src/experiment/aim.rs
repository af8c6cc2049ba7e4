//! Whom each arm loads, and the description of its load.

use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use linerate_load::hosts::{self, Host};
use linerate_load::sigv4::Credentials;
use linerate_record::load::{Load, Lookup, OwnTarget, Server, Write};
use serde_json::Value;

use super::arms::Planned;
use super::load::{LoadFlag, bench_flags};
use crate::bench::flags::Reader;
use crate::bench::{alias, resolve};
use crate::child::{self, TargetProcess};
use crate::failure::Failure;
use crate::{consent, credentials, endpoint};

/// Whom an arm loads.
#[derive(Clone, Debug)]
pub(super) struct ArmTarget {
    /// The load of its cells, but for their times.
    pub(super) load: Load,
    /// The same as flags describe it, whoever turns out to be loaded.
    pub(super) described: Load,
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

/// The first field in which two loads differ, with both values.
fn difference(then: &Load, now: &Load) -> String {
    let written = |load: &Load| serde_json::to_value(load).unwrap_or_default();
    let (mut then, mut now, mut name) = (written(then), written(now), "load".to_owned());
    while let (Value::Object(fields), Value::Object(others)) = (&then, &now) {
        let mut names = fields.keys().chain(others.keys());
        let Some(field) = names.find(|field| fields.get(*field) != others.get(*field)) else { break };
        name = format!("{name}.{field}");
        let of = |fields: &serde_json::Map<String, Value>| fields.get(field).cloned().unwrap_or_default();
        (then, now) = (of(fields), of(others));
    }
    format!("{name} is {then} in experiment.json, and {now} by its flags")
}

/// Who named the hosts of an experiment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NamedBy {
    /// The user, now.
    Flags,
    /// A folder: no name of it is looked up without consent.
    Folder,
}

/// Finds whom each arm loads, and asks for consent once for each target that is not on this machine; starts the
/// embedded target where none is named.
pub(super) fn aims(
    load: &LoadFlag,
    shared: &[String],
    arms: &[Planned],
    yes_load: bool,
    named_by: NamedBy,
    read: Reader,
) -> Result<ArmTargets, Failure> {
    let mut aims = ArmTargets { of_arms: Vec::new(), own: None, target: String::new() };
    let words = format!("{load} would be loaded again and again for as long as the experiment lasts");
    let mut consent = Consent { yes_load, named_by, words, hosts: Vec::new() };
    let mut named: Vec<String> = Vec::new();
    for arm in arms {
        let flags: Vec<String> = shared.iter().chain(&arm.means.flags).cloned().collect();
        let mut parsed = bench_flags(load, &flags, read)?;
        alias::apply(&mut parsed)?;
        let (described, _) = resolve::resolve(&parsed)?;
        if let Some(then) = arm.means.load.as_ref().filter(|then| **then != described) {
            return Err(Failure::usage(format!(
                "arm {:?} has another load than its flags describe now: {}; experiment.json was changed, or the \
                 environment, an alias or linerate is another than when the experiment began: set what was set",
                arm.name,
                difference(then, &described)
            )));
        }
        if described.bodies.verify && load.reads() {
            return Err(Failure::usage(
                "--verify needs objects that each run writes: cells read what is there, drop it",
            ));
        }
        let mut aim = ArmTarget {
            objects: objects(&described, Vec::new()),
            load: described.clone(),
            described,
            credentials: None,
            hosts: Vec::new(),
            authorities: Vec::new(),
            is_here: true,
        };
        let reported = match found(&aim.load, parsed.target.yes_load, &mut consent)? {
            Some(hosts) => {
                aim.credentials = if aim.load.endpoint.anonymous { None } else { credentials::find(&parsed.keys)? };
                aim.is_here = consent::on_this_machine(&hosts);
                aim.hosts = hosts.iter().map(|host| host.address).collect();
                aim.authorities = hosts.iter().map(|host| host.authority.clone()).collect();
                aim.authorities.join(", ")
            }
            None if endpoint::is_own(&parsed.target) => "a target of bench's own".to_owned(),
            None => {
                let (process, keys) = own(&mut aims)?;
                (aim.hosts, aim.authorities) = (vec![process.address], vec![process.address.to_string()]);
                aim.credentials = Some(keys.clone());
                let endpoint = &mut aim.load.endpoint;
                endpoint.server = Server::Hosts { authorities: aim.authorities.clone(), every_address: false };
                (endpoint.tls, endpoint.anonymous, endpoint.pid) = (None, false, Some(process.pid()));
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
    yes_load: bool,
    named_by: NamedBy,
    /// What would be done, in words.
    words: String,
    hosts: Vec<Host>,
}

/// The hosts that bench would load, with consent to that.
fn found(load: &Load, yes_load: bool, consent: &mut Consent) -> Result<Option<Vec<Host>>, Failure> {
    let Server::Hosts { authorities, every_address } = &load.endpoint.server else { return Ok(None) };
    let yes_load = consent.yes_load || yes_load;
    let is_new = |name: &&String| consent.hosts.iter().all(|host| host.authority != **name);
    let unknown = authorities.iter().filter(|name| hosts::needs_look_up(name)).filter(is_new);
    let unknown: Vec<String> = unknown.filter(|_| consent.named_by == NamedBy::Folder).cloned().collect();
    consent::obtain_by_name(&unknown, yes_load, &consent.words)?;
    let found = endpoint::resolved(authorities, *every_address, Duration::from_nanos(load.stops.timeout_ns))?;
    if found.iter().any(|host| !consent.hosts.contains(host) && !unknown.contains(&host.authority)) {
        consent::obtain(&found, yes_load, &consent.words)?;
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
