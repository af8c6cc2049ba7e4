//! Whom each arm loads, by the description of its load.

use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use linerate_load::hosts::{self, Host};
use linerate_load::sigv4::Credentials;
use linerate_record::experiment::KeySource;
use linerate_record::load::{Endpoint, Levels, Load, Lookup, OwnTarget, Server, Write};

use super::found_hosts;
use crate::credentials::keys::Keys;
use crate::credentials::keys::alias;
use crate::credentials::{endpoint, keys};
use crate::run::consent;
use crate::run::target_process::{self, TargetProcess};
use crate::terminal::failure::Failure;

/// Whom an arm loads.
#[derive(Clone, Debug)]
pub(super) struct ArmTarget {
    /// The load of its cells, but for their times, with where its hosts were found.
    pub(super) load: Load,
    /// Who signs its requests; none where they go unsigned, and where bench starts a target of its own in each cell.
    pub(super) credentials: Option<Credentials>,
    /// Whether all of its hosts are this machine's.
    pub(super) is_here: bool,
}

/// Objects to read, as far as they depend on an arm: arms that agree in it read the same ones.
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
    /// Where its hosts are; none where bench starts a target of its own in each cell.
    pub(super) fn hosts(&self) -> Vec<SocketAddr> {
        self.pinned_hosts().into_iter().filter_map(|host| host.address).collect()
    }

    /// Its hosts with the addresses at which cells load them.
    pub(super) fn pinned_hosts(&self) -> Vec<hosts::Recorded> {
        let Server::Hosts { addresses, .. } = &self.load.endpoint.server else { return Vec::new() };
        // They are as `pin_hosts` wrote them.
        hosts::recorded(addresses).unwrap_or_default()
    }

    pub(super) fn addresses(&self) -> Vec<IpAddr> {
        self.hosts().iter().map(SocketAddr::ip).collect()
    }

    /// `name:port` of its hosts.
    pub(super) fn authorities(&self) -> &[String] {
        if let Server::Hosts { authorities, .. } = &self.load.endpoint.server { authorities } else { &[] }
    }

    pub(super) fn objects(&self) -> ObjectSet {
        object_set(&self.load, self.hosts())
    }
}

/// Whom the arms load, in their order.
pub(super) struct ArmTargets {
    pub(super) per_arm: Vec<ArmTarget>,
    /// The embedded target, where no host is named, and its keys. Ends with the value.
    pub(super) embedded: Option<(TargetProcess, Credentials)>,
    pub(super) target: String,
}

impl ArmTargets {
    /// The arm that wrote what a load wrote to be read: the first of those that can read it.
    pub(super) fn writing_arm(&self, load: &Load) -> Option<usize> {
        let wrote = |aim: &ArmTarget| {
            aim.load.endpoint.server.is_named_alike(&load.endpoint.server)
                && object_set(&aim.load, Vec::new()) == object_set(load, Vec::new())
        };
        self.per_arm.iter().position(wrote)
    }

    /// Whether an arm loads the embedded target, which ends with the experiment.
    pub(super) fn is_own(&self, arm: usize) -> bool {
        let address = self.embedded.as_ref().map(|(process, _)| process.address);
        let hosts = self.per_arm[arm].hosts();
        hosts.is_empty() || address.is_some_and(|address| hosts == [address])
    }
}

/// Who named the hosts of an experiment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum HostSource<'e> {
    Flags,
    /// A folder: no name of it is looked up without consent. It also says where they were found when it began.
    Folder {
        found_before: &'e [String],
    },
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
/// `is_client_load` says that clients of a fleet load: what is this machine for them is another.
pub(super) fn resolve_targets(
    arms: &[ArmLoad],
    host_source: HostSource<'_>,
    is_client_load: bool,
) -> Result<ArmTargets, Failure> {
    let mut targets = ArmTargets { per_arm: Vec::new(), embedded: None, target: String::new() };
    let load = arms.first().map_or_else(String::new, |arm| arm.load.shorthand());
    let words = format!("{load} would be loaded again and again for as long as the experiment lasts");
    let mut consent = Consent { host_source, is_client_load, words, hosts: Vec::new(), moved: Vec::new() };
    let mut named: Vec<String> = Vec::new();
    for arm in arms {
        require_cell_load(&arm.load)?;
        let mut aim = ArmTarget { load: arm.load.clone(), credentials: None, is_here: true };
        let reported = match hosts_with_consent(&aim.load, arm.yes_load, &mut consent)? {
            Some(hosts) => {
                aim.credentials =
                    if aim.load.endpoint.anonymous { None } else { source_keys(&arm.keys, &aim.load.endpoint)? };
                aim.is_here = consent::are_local(&hosts);
                pin_hosts(&mut aim.load.endpoint.server, &hosts);
                hosts.iter().map(|host| host.authority.as_str()).collect::<Vec<_>>().join(", ")
            }
            None if !is_shared_target(&aim.load.endpoint) => "a target of bench's own".to_owned(),
            None => {
                let (process, keys) = embedded_target(&mut targets)?;
                let host = Host { authority: process.address.to_string(), address: process.address };
                aim.credentials = Some(keys.clone());
                let endpoint = &mut aim.load.endpoint;
                endpoint.server = Server::named(vec![host.authority.clone()], false);
                pin_hosts(&mut endpoint.server, &[host]);
                (endpoint.anonymous, endpoint.pid) = (false, Some(process.pid()));
                "embedded target".to_owned()
            }
        };
        if !named.contains(&reported) {
            named.push(reported);
        }
        targets.per_arm.push(aim);
    }
    targets.target = named.join("; ");
    Ok(targets)
}

/// Whether an endpoint is the embedded target that the cells of all such arms share; one over TLS, or with a folder,
/// is started for each cell.
fn is_shared_target(endpoint: &Endpoint) -> bool {
    endpoint.tls.is_none() && endpoint.server == Server::Own { kind: OwnTarget::Embedded, drive: None }
}

/// Refuses what no cell can load, whoever described it.
fn require_cell_load(load: &Load) -> Result<(), Failure> {
    let is_one = load.series() == 1 && matches!(&load.levels, Levels::Given(levels) if levels.len() == 1);
    if !is_one || load.stops.canary.is_some() || load.objects.noclear {
        return Err(Failure::usage(
            "a cell has one workload of one size at one concurrency, no canary, and leaves no objects: begin a new \
             experiment",
        ));
    }
    if load.bodies.verify && load.work.iter().all(|work| work.workload.is_read_only()) {
        return Err(Failure::usage("--verify needs objects that each run writes: cells read what is there, drop it"));
    }
    Ok(())
}

/// The keys of a source, which were told by its name.
fn source_keys(source: &KeySource, endpoint: &Endpoint) -> Result<Option<Credentials>, Failure> {
    keys::find_signing(&match source {
        KeySource::Environment => Keys::default(),
        KeySource::Profile(name) => Keys { profile: Some(name.clone()), ..Keys::default() },
        KeySource::Alias(name) => alias::keys_for_endpoint(name, endpoint)?,
    })
}

fn object_set(load: &Load, hosts: Vec<SocketAddr>) -> ObjectSet {
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
struct Consent<'e> {
    host_source: HostSource<'e>,
    is_client_load: bool,
    /// What would be done, in words.
    words: String,
    hosts: Vec<Host>,
    /// Hosts that are elsewhere by now, in a sentence each.
    moved: Vec<String>,
}

/// The hosts that bench would load, with consent to that.
fn hosts_with_consent(load: &Load, yes_load: bool, consent: &mut Consent<'_>) -> Result<Option<Vec<Host>>, Failure> {
    // Looked up here whatever a folder says of it.
    let Server::Hosts { authorities, every_address, .. } = &load.endpoint.server else { return Ok(None) };
    let is_new = |name: &&String| consent.hosts.iter().all(|host| host.authority != **name);
    let unknown = authorities.iter().filter(|name| hosts::needs_look_up(name)).filter(is_new);
    let is_of_folder = matches!(consent.host_source, HostSource::Folder { .. });
    let unknown: Vec<String> = unknown.filter(|_| is_of_folder).cloned().collect();
    consent::require_by_name(&unknown, yes_load, &consent.words)?;
    let within = Duration::from_nanos(load.stops.timeout_ns);
    let mut found = endpoint::resolve_hosts(authorities, *every_address, within)?;
    if let HostSource::Folder { found_before } = consent.host_source
        && !found_before.is_empty()
    {
        let look_up_all = |name: &str| hosts::resolve_all(&[name.to_owned()], within);
        let before = found_before.iter().map(|label| hosts::recorded(std::slice::from_ref(label)));
        let before = before.collect::<Result<Vec<_>, _>>()?.concat();
        let now = found_hosts::compare(&found, &before, *every_address, look_up_all)?;
        let moved: Vec<String> = now.moved.into_iter().filter(|moved| !consent.moved.contains(moved)).collect();
        found_hosts::require_consent(&moved, yes_load)?;
        consent.moved.extend(moved);
        found = now.hosts;
    }
    if found.iter().any(|host| !consent.hosts.contains(host) && !unknown.contains(&host.authority)) {
        if consent.is_client_load {
            consent::require_for_clients(&found, yes_load, false, &consent.words)?;
        } else {
            consent::require(&found, yes_load, &consent.words)?;
        }
    }
    consent.hosts.extend(found.iter().cloned());
    Ok(Some(found))
}

/// Puts down where hosts were found: a name that leads elsewhere later does not lead cells there.
fn pin_hosts(server: &mut Server, hosts: &[Host]) {
    if let Server::Hosts { addresses, .. } = server {
        *addresses = hosts.iter().map(Host::with_address).collect();
    }
}

/// The embedded target, started when it is first asked for.
fn embedded_target(targets: &mut ArmTargets) -> Result<&(TargetProcess, Credentials), Failure> {
    if targets.embedded.is_none() {
        let credentials = keys::random_credentials()?;
        let process = target_process::start(OwnTarget::Embedded, None, Some(&credentials), false)?;
        targets.embedded = Some((process, credentials));
    }
    targets.embedded.as_ref().ok_or_else(|| Failure::Child { kind: "embedded", why: "it is gone".to_owned() })
}
