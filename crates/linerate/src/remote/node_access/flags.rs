//! Flags of every verb that reaches nodes by SSH.

use std::path::Path;
use std::time::Duration;

use clap::Args;
use linerate_fleet::description::FleetNode;
use linerate_fleet::lease::LAPSES_AFTER;
use linerate_fleet::node_reach::NodeReach;
use linerate_fleet::ssh_options::BecomeCommand;

use super::agent_programs::BinaryChoice;
use crate::remote::lease_flag;
use crate::terminal::failure::Failure;

#[derive(Args, Clone, Debug)]
pub(crate) struct ReachFlags {
    /// Start agents on nodes that are reached by SSH through this command, such as 'sudo -n'. Only the agent gets its
    /// rights. The key become of a node takes precedence.
    #[arg(long = "become", value_name = "COMMAND", requires = "fleet")]
    pub(crate) become_by: Option<BecomeCommand>,
    /// The linerate for nodes of another architecture, as uname -m calls it there: aarch64=dist/linerate-arm64. Can be
    /// given several times.
    #[arg(long, value_name = "ARCH=PATH", requires = "fleet")]
    pub(crate) binary: Vec<BinaryChoice>,
    /// How long an agent continues without a message from this machine, from 2s to 5m. Delays that are measured extend
    /// it by themselves up to 10 s; raise it on machines that are overloaded for longer.
    #[arg(long, value_name = "LEASE", value_parser = lease_flag::parse_lease, requires = "fleet", default_value = "2s")]
    pub(crate) lease: Duration,
}

impl Default for ReachFlags {
    fn default() -> ReachFlags {
        ReachFlags { become_by: None, binary: Vec::new(), lease: LAPSES_AFTER }
    }
}

impl ReachFlags {
    /// Refuses flags that no node of a whole fleet can use: who gave one would believe in rights that no agent has.
    pub(crate) fn check(&self, nodes: &[FleetNode], fleet: &Path) -> Result<(), Failure> {
        if nodes.iter().any(|node| matches!(node.reach, NodeReach::Ssh(_))) {
            return Ok(());
        }
        let fleet = fleet.display();
        let mut mistakes = Vec::new();
        if let Some(by) = &self.become_by {
            mistakes.push(format!(
                "--become '{by}': no node of {fleet} is reached by ssh://, and agents of others have the rights of \
                 what starts them: leave it out, and write the command into a reach such as 'exec:{by} linerate agent'"
            ));
        }
        mistakes.extend(self.binary.iter().map(|binary| {
            format!(
                "--binary {binary}: no node of {fleet} is reached by ssh://, and a program is put on none of the \
                 others: leave it out, and name the program in the node's reach"
            )
        }));
        if mistakes.is_empty() { Ok(()) } else { Err(Failure::from_errors(mistakes)) }
    }

    /// Nodes as they are reached with these flags.
    pub(super) fn applied(&self, nodes: &[FleetNode]) -> Vec<FleetNode> {
        let mut nodes = nodes.to_vec();
        for node in &mut nodes {
            if let NodeReach::Ssh(place) = &mut node.reach
                && place.become_by.is_none()
            {
                place.become_by.clone_from(&self.become_by);
            }
        }
        nodes
    }
}
