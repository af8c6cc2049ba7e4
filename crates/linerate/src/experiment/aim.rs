//! Whom each arm loads, with which flags of bench.

use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use linerate_load::hosts::{self, Host};

use super::arms::Planned;
use super::load::{Load, bench_flags};
use crate::child::{self, TargetProcess};
use crate::cli::{TargetChoice, TargetKind};
use crate::failure::Failure;
use crate::{consent, credentials, endpoint, mc};

/// Whom an arm loads.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Aim {
    /// Flags of bench: those that all arms have, those of the arm, and where it loads.
    pub(super) flags: Vec<String>,
    /// Addresses; none where bench starts a target of its own in each cell.
    pub(super) hosts: Vec<SocketAddr>,
    /// `name:port` of the same.
    pub(super) authorities: Vec<String>,
    /// Whether all of them are this machine's.
    pub(super) is_here: bool,
    /// The target's process, where it was told.
    pub(super) target_pid: Option<u32>,
    /// Whether it reads what somebody else wrote.
    pub(super) lists_existing: bool,
    /// What the objects to read depend on: arms that agree in it read the same ones.
    pub(super) objects: String,
}

impl Aim {
    pub(super) fn addresses(&self) -> Vec<IpAddr> {
        self.hosts.iter().map(SocketAddr::ip).collect()
    }
}

/// Whom the arms load, in their order.
pub(super) struct Aims {
    pub(super) of_arms: Vec<Aim>,
    /// The embedded target, where no host is named. Ends with the value.
    pub(super) own: Option<TargetProcess>,
    /// Its keys, as variables for the processes that load it.
    pub(super) keys: Vec<(String, String)>,
    /// In words.
    pub(super) target: String,
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
    load: &Load,
    shared: &[String],
    arms: &[Planned],
    yes_load: bool,
    named_by: NamedBy,
) -> Result<Aims, Failure> {
    let mut aims = Aims { of_arms: Vec::new(), own: None, keys: Vec::new(), target: String::new() };
    let words = format!("{load} would be loaded again and again for as long as the experiment lasts");
    let mut consent = Consent { yes_load, named_by, words, hosts: Vec::new() };
    let mut named: Vec<String> = Vec::new();
    for arm in arms {
        let flags: Vec<String> = shared.iter().chain(&arm.means.flags).cloned().collect();
        let mut parsed = bench_flags(load, &flags)?;
        mc::apply(&mut parsed)?;
        let mut aim = Aim {
            flags,
            hosts: Vec::new(),
            authorities: Vec::new(),
            is_here: true,
            target_pid: parsed.target.target_pid,
            lists_existing: parsed.work.list_existing,
            objects: String::new(),
        };
        if parsed.work.verify && load.reads() {
            return Err(Failure::usage(
                "--verify needs objects that each run writes: cells read what is there, drop it",
            ));
        }
        let told = match found(&parsed.target, parsed.work.timeout, &mut consent)? {
            Some(hosts) => {
                aim.is_here = consent::on_this_machine(&hosts);
                aim.hosts = hosts.iter().map(|host| host.address).collect();
                if !parsed.target.yes_load {
                    aim.flags.push("--yes-load".to_owned());
                }
                aim.authorities = hosts.iter().map(|host| host.authority.clone()).collect();
                aim.authorities.join(", ")
            }
            None if endpoint::is_own(&parsed.target) => "a target of bench's own".to_owned(),
            None => {
                let process = own(&mut aims)?;
                (aim.hosts, aim.authorities) = (vec![process.address], vec![process.address.to_string()]);
                aim.target_pid = Some(process.pid());
                aim.flags.extend(["--host".to_owned(), process.address.to_string()]);
                aim.flags.extend(["--target-pid".to_owned(), process.pid().to_string()]);
                "embedded target".to_owned()
            }
        };
        let (target, work) = (&parsed.target, &parsed.work);
        aim.objects = format!(
            "{:?} {} {} {:?} {:?} {:?}",
            aim.hosts, target.bucket, target.prefix, target.lookup, work.objects, work.write
        );
        if !named.contains(&told) {
            named.push(told);
        }
        aims.of_arms.push(aim);
    }
    aims.target = named.join("; ");
    Ok(aims)
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
fn found(target: &TargetChoice, within: Duration, consent: &mut Consent) -> Result<Option<Vec<Host>>, Failure> {
    let Some((_, named)) = endpoint::named(target)? else { return Ok(None) };
    let yes_load = consent.yes_load || target.yes_load;
    let is_new = |name: &&String| consent.hosts.iter().all(|host| host.authority != **name);
    let unknown = named.authorities.iter().filter(|name| hosts::needs_look_up(name)).filter(is_new);
    let unknown: Vec<String> = unknown.filter(|_| consent.named_by == NamedBy::Folder).cloned().collect();
    consent::obtain_by_name(&unknown, yes_load, &consent.words)?;
    let found = endpoint::resolved(target, &named, within)?;
    if found.iter().any(|host| !consent.hosts.contains(host) && !unknown.contains(&host.authority)) {
        consent::obtain(&found, yes_load, &consent.words)?;
    }
    consent.hosts.extend(found.iter().cloned());
    Ok(Some(found))
}

/// The embedded target, started when it is first asked for.
fn own(aims: &mut Aims) -> Result<&TargetProcess, Failure> {
    if aims.own.is_none() {
        let credentials = credentials::ephemeral()?;
        aims.own = Some(child::start(TargetKind::Embedded, None, Some(&credentials), false)?);
        let secret = credentials.secret_key.reveal().to_owned();
        aims.keys =
            vec![("WARP_ACCESS_KEY".to_owned(), credentials.access_key), ("WARP_SECRET_KEY".to_owned(), secret)];
    }
    aims.own.as_ref().ok_or_else(|| Failure::Child { kind: "embedded", why: "it is gone".to_owned() })
}
