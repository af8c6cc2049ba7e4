//! Sockets and queues: `net.*`, but for connection tracking.

pub(super) mod ip;
pub(super) mod sockets;
pub(super) mod tcp;
pub(super) mod tcp_buffers;
