//! Drive S3: what is asked of it, signed and judged, and the targets that need no cluster.
//!
//! [`point::drive`] keeps a number of requests in flight over one or many hosts and hands on what happened, interval by
//! interval. Threads share nothing but a stop flag; each has its own `epoll`, connections, buffers and counters.
//! Nothing here judges, and nothing here reads the machine.

mod ask;
pub mod body;
pub mod bucket;
mod choice;
mod connection;
pub mod document;
pub mod failure;
pub mod hosts;
mod ledger;
pub mod listing;
pub mod multipart;
pub mod naming;
pub mod object;
pub mod point;
mod request;
mod retry;
pub mod session;
pub mod sigv4;
pub mod sizes;
mod streaming;
mod tally;
pub mod target;
#[cfg(test)]
mod test_session;
pub mod tls;
mod worker;
