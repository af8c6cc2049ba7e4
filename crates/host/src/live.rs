//! Readings of this machine while it works, look by look: one file for each, which says what it can tell, what it
//! cannot, and what it needs.

pub mod sockets;
