//! Which clients of a fleet are asked for, and how many of them at a time.

use linerate_fleet::description::FleetNode;
use linerate_fleet::node_reach::NodeReach;
use linerate_record::fleet::NodeRole;
use linerate_record::lines;
use linerate_record::load::Load;
use linerate_record::run::CLIENTS_MAX;

use super::LISTED_CLIENTS_MAX;
use crate::commands::bench::flags::FleetChoice;
use crate::commands::bench::preparation::delete_set_objects;
use crate::remote::node_access;
use crate::remote::node_access::flags::ReachFlags;
use crate::terminal::failure::Failure;

/// Which clients there are to be, and how many of them at a time.
pub(in crate::commands::bench) struct ClientSelection {
    pub(in crate::commands::bench) nodes: Vec<FleetNode>,
    /// Numbers of clients, the least first.
    pub(in crate::commands::bench) counts: Vec<u32>,
    pub(in crate::commands::bench) require_all: bool,
    /// How nodes are reached, beside what the file says.
    pub(in crate::commands::bench) reach: ReachFlags,
    /// Whether there is consent to the commands of the fleet file.
    pub(in crate::commands::bench) yes_exec: bool,
}

/// The clients that flags ask for; none without a fleet.
pub(in crate::commands::bench) fn select_clients(flags: &FleetChoice) -> Result<Option<ClientSelection>, Failure> {
    let Some(path) = &flags.fleet else { return Ok(None) };
    let fleet = node_access::read_owned_fleet(path)?;
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
    Ok(Some(ClientSelection { nodes, counts, require_all, reach, yes_exec }))
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

impl ClientSelection {
    /// The most clients at a time.
    pub(in crate::commands::bench) fn most(&self) -> u32 {
        self.counts.last().copied().unwrap_or(0)
    }

    /// Whether all of them are on this machine.
    pub(in crate::commands::bench) fn are_all_local(&self) -> bool {
        self.nodes.iter().all(|node| node.reach == NodeReach::Here)
    }

    /// A load in words, with the clients that it comes from.
    pub(in crate::commands::bench) fn describe_load(&self, words: &str, load: &Load) -> String {
        format!("{words}; it comes from {} at the same time, and {}", self.names(), load_scope_per_client(load))
    }

    /// Their names, of many the first.
    pub(in crate::commands::bench) fn names(&self) -> String {
        let most = self.most() as usize;
        let names: Vec<&str> = self.nodes.iter().take(most).map(|node| node.name.as_str()).collect();
        let names = lines::listed(&names, LISTED_CLIENTS_MAX);
        format!("{most} {} ({names})", if most == 1 { "client" } else { "clients" })
    }
}

/// Clients by their names, of many the first: `client c1` or `clients c1, c2`.
pub(super) fn client_list(names: &[&str]) -> String {
    format!("{} {}", if names.len() == 1 { "client" } else { "clients" }, lines::listed(names, LISTED_CLIENTS_MAX))
}

/// What of a load is of each client, and what of all.
pub(in crate::commands::bench) fn load_scope_per_client(load: &Load) -> &'static str {
    match (load.levels.is_open(), load.max_rate) {
        (true, _) => "requests in flight are per client, rates of all clients together",
        (false, Some(_)) => "requests in flight are per client, --max-rate of all clients together",
        (false, None) => "requests in flight are per client",
    }
}

/// The clients, of which each has a part of the objects that a point deletes: one that had none would look like a slow
/// one.
pub(in crate::commands::bench) fn require_enough_to_delete(
    load: &Load,
    clients: Option<ClientSelection>,
) -> Result<Option<ClientSelection>, Failure> {
    let (objects, most) = (delete_set_objects(load), clients.as_ref().map_or(0, ClientSelection::most));
    let deletes = load.work.iter().any(|work| work.workload.is_delete_only());
    if deletes && objects < u64::from(most) {
        return Err(Failure::usage(format!(
            "--objects {objects} is fewer than the {most} clients, of which each deletes a part of its own: give \
             --objects {most} or more, better thousands for each, or fewer --clients"
        )));
    }
    Ok(clients)
}
