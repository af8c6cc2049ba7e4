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
    /// What accepts connections.
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
    /// Processor time.
    Processors,
    /// Memory.
    Memory,
    /// Latency alone.
    Latency,
    /// Memory of single sockets.
    Sockets,
    /// Components of Kubernetes.
    Kubernetes,
    /// Queries of names.
    Dns,
    /// Nothing that limits throughput.
    Nothing,
}
