//! Many machines as one: who they are, how they are reached, what agents and their coordinator say to each other, for
//! how long an agent holds, and what another machine's clock says here.
//!
//! Nothing here starts a process, reads a clock or moves a byte: bytes and instants come in, messages and verdicts go
//! out, and the binary does the rest. What an agent says is checked before it is believed.

pub mod agent;
pub mod attachment;
pub mod change_protocol;
pub mod clock_offset;
pub mod conversation;
pub mod description;
mod driven_load;
mod error;
mod facts_limits;
pub mod lease;
pub mod load_protocol;
mod machine_state;
pub mod message_limits;
pub mod net_protocol;
pub mod node_reach;
pub mod outgoing_queue;
mod point_end_check;
pub mod protocol;
pub mod ssh_options;
mod timestamp_check;
pub mod watch_protocol;
pub mod watched_fleet;
