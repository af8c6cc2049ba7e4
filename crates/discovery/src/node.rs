//! A node as the fleet and its agent describe it.

use linerate_record::fleet::{MachineState, NodeRole};
use linerate_record::machine::Machine;

/// A node that was read.
#[derive(Clone, Copy, Debug)]
pub struct DiscoveredNode<'a> {
    /// Its name in the fleet.
    pub name: &'a str,
    /// What the fleet says that it is for.
    pub role: NodeRole,
    /// The kind of nodes that the fleet says it is of.
    pub kind: Option<&'a str>,
    /// The rack that the fleet says it is in.
    pub rack: Option<&'a str>,
    pub state: &'a MachineState,
}

impl DiscoveredNode<'_> {
    pub(crate) fn machine(&self) -> &Machine {
        &self.state.snapshot.machine
    }
}
