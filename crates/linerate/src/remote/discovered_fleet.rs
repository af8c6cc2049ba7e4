//! The nodes of a fleet read once, and the site that they make.

use linerate_discovery::{DiscoveredNode, FleetCounts, discover};
use linerate_fleet::description::FleetNode;
use linerate_record::discovery::DiscoveredSite;
use linerate_record::fleet::{FleetRow, MachineState, NodeRole};
use linerate_record::site::Site;
use linerate_site::SiteError;

use crate::remote::node_access::flags::ReachFlags;
use crate::remote::node_access::{self, ReachedRow};
use crate::terminal::failure::{Failure, code};

/// What was read of a fleet.
pub(crate) struct DiscoveredFleet {
    pub(crate) discovered: DiscoveredSite,
    /// The site as it is read; where the nodes say what no site can be, which of it.
    pub(crate) site: Result<Site, SiteError>,
    /// Each node, in the order of the fleet, with its state where it was read.
    pub(crate) rows: Vec<ReachedRow>,
}

impl DiscoveredFleet {
    /// Nodes that were not read.
    pub(crate) fn unreached(&self) -> Vec<FleetRow> {
        self.rows.iter().filter(|(_, state)| state.is_none()).map(|(row, _)| row.clone()).collect()
    }

    /// Nodes that were read.
    pub(crate) fn read(&self) -> impl Iterator<Item = (&FleetRow, &MachineState)> {
        self.rows.iter().filter_map(|(row, state)| Some((row, state.as_ref()?)))
    }
}

/// Reads all nodes, and puts together what they say.
///
/// # Errors
/// A failure of the target where no storage node was read.
pub(crate) fn discover_fleet(nodes: &[FleetNode], reach: &ReachFlags, name: &str) -> Result<DiscoveredFleet, Failure> {
    let rows = node_access::reach_all(nodes, reach, true)?;
    let read = nodes.iter().zip(&rows).filter_map(|(node, (_, state))| Some((node, state.as_ref()?)));
    let discovered: Vec<DiscoveredNode<'_>> = read.map(|(node, state)| discovered_node(node, state)).collect();
    let count = |role| u32::try_from(nodes.iter().filter(|node| node.role == role).count()).unwrap_or(u32::MAX);
    let fleet = FleetCounts { storage: count(NodeRole::Storage), clients: count(NodeRole::Client) };
    let discovered = discover(name, &discovered, fleet).map_err(|error| nothing_found(&error.to_string(), &rows))?;
    let site = linerate_site::read(&discovered.site, "what the nodes say");
    Ok(DiscoveredFleet { discovered, site, rows })
}

fn discovered_node<'a>(node: &'a FleetNode, state: &'a MachineState) -> DiscoveredNode<'a> {
    DiscoveredNode {
        name: &node.name,
        role: node.role,
        kind: node.site_node.as_deref(),
        rack: node.rack.as_deref(),
        state,
    }
}

/// Why there is no site, with why nodes were not reached.
fn nothing_found(why: &str, rows: &[ReachedRow]) -> Failure {
    let lost = rows.iter().filter_map(|(row, _)| Some((row, row.unreached.as_ref()?)));
    let reasons: String =
        linerate_report::fleet::unreached_in_words(lost).iter().map(|reason| format!("\n  {reason}")).collect();
    Failure::Outcome { why: format!("{why}{reasons}"), code: code::TARGET }
}

/// The failure of a command that did its work without some nodes.
pub(crate) fn unread_failure(unreached: usize, nodes: usize) -> Failure {
    let verb = if unreached == 1 { "was" } else { "were" };
    Failure::Outcome { why: format!("{unreached} of {nodes} nodes {verb} not reached"), code: code::TARGET }
}
