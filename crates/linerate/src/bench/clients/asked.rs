//! Which clients of a fleet are asked for, and how many of them at a time.

use linerate_fleet::description::FleetNode;
use linerate_fleet::reach::NodeReach;
use linerate_record::fleet::NodeRole;
use linerate_record::lines;
use linerate_record::load::Load;
use linerate_record::run::CLIENTS_MAX;

use super::NAMED_MAX;
use crate::bench::beforehand::delete_set_objects;
use crate::bench::flags::FleetChoice;
use crate::failure::Failure;
use crate::reaching;
use crate::reaching::flags::ReachFlags;

/// Which clients there are to be, and how many of them at a time.
pub(in crate::bench) struct ClientsAsked {
    pub(in crate::bench) nodes: Vec<FleetNode>,
    /// Numbers of clients, the least first.
    pub(in crate::bench) counts: Vec<u32>,
    pub(in crate::bench) require_all: bool,
    /// How nodes are reached, beside what the file says.
    pub(in crate::bench) reach: ReachFlags,
    /// Whether there is consent to the commands of the fleet file.
    pub(in crate::bench) yes_exec: bool,
}

/// The clients that flags ask for; none without a fleet.
pub(in crate::bench) fn asked(flags: &FleetChoice) -> Result<Option<ClientsAsked>, Failure> {
    let Some(path) = &flags.fleet else { return Ok(None) };
    let fleet = reaching::read_own_fleet(path)?;
    flags.reach.check(&fleet, path)?;
    let nodes: Vec<FleetNode> = fleet.into_iter().filter(|node| node.role == NodeRole::Client).collect();
    let all = u32::try_from(nodes.len()).unwrap_or(u32::MAX);
    if all == 0 {
        return Err(Failure::usage(format!(
            "{} has no node with role: client, and those load: add one, such as {{name: c1, role: client, reach: \
             ssh://c1}}",
            path.display()
        )));
    }
    if nodes.len() > CLIENTS_MAX {
        return Err(Failure::usage(format!("{} has {all} clients: a run has {CLIENTS_MAX} at most", path.display())));
    }
    let counts = counts(flags.clients.as_deref(), all)?;
    let (require_all, reach, yes_exec) = (flags.require_all, flags.reach.clone(), flags.yes_exec);
    Ok(Some(ClientsAsked { nodes, counts, require_all, reach, yes_exec }))
}

/// Numbers of clients, the least first: all, as a list says, or doubling up to all.
fn counts(text: Option<&str>, all: u32) -> Result<Vec<u32>, Failure> {
    let text = match text {
        None => return Ok(vec![all]),
        Some("auto") => {
            let mut counts: Vec<u32> =
                std::iter::successors(Some(1_u32), |n| n.checked_mul(2)).take_while(|n| *n < all).collect();
            counts.push(all);
            return Ok(counts);
        }
        Some(text) => text,
    };
    let read = |part: &str| part.trim().parse::<u32>().ok().filter(|count| (1..=all).contains(count));
    let counts: Option<Vec<u32>> = text.split(',').map(read).collect();
    let mut counts = counts.ok_or_else(|| {
        let fix = format!("write numbers from 1 to {all}, the clients in the fleet file, such as 1,{all}; or auto");
        Failure::usage(format!("invalid --clients {text:?}: {fix}"))
    })?;
    counts.sort_unstable();
    counts.dedup();
    Ok(counts)
}

impl ClientsAsked {
    /// The most clients at a time.
    pub(in crate::bench) fn most(&self) -> u32 {
        self.counts.last().copied().unwrap_or(0)
    }

    /// Whether all of them are on this machine.
    pub(in crate::bench) fn are_here(&self) -> bool {
        self.nodes.iter().all(|node| node.reach == NodeReach::Here)
    }

    /// A load in words, with the clients that it comes from.
    pub(in crate::bench) fn in_words(&self, words: &str, load: &Load) -> String {
        format!("{words}; it comes from {} at the same time, and {}", self.names(), per_client(load))
    }

    /// Their names, of many the first.
    pub(in crate::bench) fn names(&self) -> String {
        let most = self.most() as usize;
        let names: Vec<&str> = self.nodes.iter().take(most).map(|node| node.name.as_str()).collect();
        let names = lines::listed(&names, NAMED_MAX);
        format!("{most} {} ({names})", if most == 1 { "client" } else { "clients" })
    }
}

/// Clients by their names, of many the first: `client c1` or `clients c1, c2`.
pub(super) fn listed(names: &[&str]) -> String {
    format!("{} {}", if names.len() == 1 { "client" } else { "clients" }, lines::listed(names, NAMED_MAX))
}

/// What of a load is of each client, and what of all.
pub(in crate::bench) fn per_client(load: &Load) -> &'static str {
    match (load.levels.is_open(), load.max_rate) {
        (true, _) => "requests in flight are per client, rates of all clients together",
        (false, Some(_)) => "requests in flight are per client, --max-rate of all clients together",
        (false, None) => "requests in flight are per client",
    }
}

/// The clients, of which each has a part of the objects that a point deletes: one that had none would look like a slow
/// one.
pub(in crate::bench) fn with_enough_to_delete(
    load: &Load,
    clients: Option<ClientsAsked>,
) -> Result<Option<ClientsAsked>, Failure> {
    let (objects, most) = (delete_set_objects(load), clients.as_ref().map_or(0, ClientsAsked::most));
    let deletes = load.work.iter().any(|work| work.workload.deletes_only());
    if deletes && objects < u64::from(most) {
        return Err(Failure::usage(format!(
            "--objects {objects} is fewer than the {most} clients, of which each deletes a part of its own: give \
             --objects {most} or more, better thousands for each, or fewer --clients"
        )));
    }
    Ok(clients)
}
