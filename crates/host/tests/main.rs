//! What is read of a machine and changed on it: this one, and captured ones.

mod captured;
mod fingerprint;
mod live;
mod processor;
mod sockets_cost;
mod tune;
