//! Many machines as one: who they are, how they are reached, what agents and their coordinator say to each other, for
//! how long an agent holds, and what another machine's clock says here.
//!
//! Nothing here starts a process, reads a clock or moves a byte: bytes and instants come in, messages and verdicts go
//! out, and the binary does the rest. What an agent says is checked before it is believed.

pub mod agent;
pub mod attachment;
pub mod bounds;
pub mod changing;
pub mod clocks;
pub mod conversation;
pub mod description;
mod driven;
mod ends;
mod fault;
mod instants;
pub mod lease;
pub mod loading;
pub mod netting;
pub mod outlet;
pub mod protocol;
pub mod reach;
pub mod ssh_options;
mod state;
pub mod watched;
pub mod watching;
