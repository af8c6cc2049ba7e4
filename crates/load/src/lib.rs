//! Drive S3: the wire loop, its signatures and bodies, and the targets that need no cluster.
//!
//! [`point::drive`] keeps a number of requests in flight over one or many hosts and hands on what happened, interval by
//! interval. Threads share nothing but a stop flag; each has its own `epoll`, connections, buffers and counters.
//! Nothing here judges, and nothing here reads the machine.

mod arrivals;
pub mod body;
pub mod bucket;
mod channel;
mod choice;
pub mod clock;
mod connection;
pub mod document;
pub mod failure;
pub mod hosts;
pub mod listing;
pub mod multipart;
pub mod naming;
pub mod object;
pub mod pace;
pub mod point;
mod request;
pub mod response;
mod rest;
mod retry;
pub mod session;
pub mod sigv4;
pub mod sizes;
mod streaming;
pub mod sys;
mod tally;
pub mod target;
#[cfg(test)]
mod test_session;
pub mod tls;
mod transport;
mod worker;
