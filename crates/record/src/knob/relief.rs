//! What settings relieve.

/// What a setting relieves, by kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RelievedResource {
    /// Links of nodes, and what spreads load over them.
    Links,
    /// Drives and their file systems.
    Drives,
    /// What receives packets: rings, backlogs and buffers that drop them.
    Receiving,
    Accepting,
    /// Connections that are tracked.
    Connections,
    /// Ports of connections that a node opens.
    Ports,
    /// Limits at which the engine fails.
    Engine,
    /// Open files of a machine.
    Files,
    /// Processes and threads of a machine.
    Processes,
    /// What sends packets.
    Sending,
    Processors,
    Memory,
    Latency,
    /// Memory of single sockets.
    Sockets,
    Kubernetes,
    Dns,
    /// Nothing that limits throughput.
    Nothing,
}
