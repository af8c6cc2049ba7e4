//! Drive S3: what is asked of it, signed and judged, and the targets that need no cluster.
//!
//! [`point::drive`] keeps a number of requests in flight over one or many hosts and hands on what happened, interval by
//! interval. Threads share nothing but a stop flag; each has its own `epoll`, connections, buffers and counters.
//! Nothing here judges, and nothing here reads the machine.

pub mod body;
pub mod bucket;
pub mod confirmed_sample;
mod connection;
pub mod hosts;
mod ledger;
pub mod listing;
pub mod local_target;
pub mod multipart;
pub mod naming;
pub mod object_id;
pub mod object_size;
pub mod point;
mod request;
mod request_choice;
pub mod request_failure;
mod request_spec;
mod retry;
pub mod session;
pub mod sigv4;
mod streaming;
pub mod supervisor;
mod tally;
#[cfg(test)]
mod test_session;
pub mod tls;
mod worker;
pub mod xml;
