//! Flags of every verb that reaches nodes by SSH.

use clap::Args;
use linerate_fleet::description::FleetNode;
use linerate_fleet::reach::NodeReach;
use linerate_fleet::ssh_options::BecomeCommand;

use super::programs::BinaryChoice;

#[derive(Args, Clone, Debug, Default)]
pub(crate) struct ReachFlags {
    /// Start agents on nodes that are reached by SSH through this command, such as 'sudo -n'. Only the agent gets its
    /// rights. The key become of a node takes precedence.
    #[arg(long = "become", value_name = "COMMAND", requires = "fleet")]
    become_by: Option<BecomeCommand>,
    /// The linerate for nodes of another architecture, as uname -m calls it there: aarch64=dist/linerate-arm64. Can be
    /// given several times.
    #[arg(long, value_name = "ARCH=PATH", requires = "fleet")]
    pub(super) binary: Vec<BinaryChoice>,
}

impl ReachFlags {
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
