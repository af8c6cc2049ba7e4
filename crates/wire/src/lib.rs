//! The wire, whatever is said over it: sockets and TLS on them, event loops and their time, HTTP/1.1's framing.
//!
//! Each thread has its own `epoll`, connections and buffers, and waits for no other. Nothing here knows what a request
//! means, and nothing here judges.

pub mod arrivals;
pub mod chance;
pub mod channel;
pub mod clock;
pub mod identity;
pub mod intervals;
pub mod latency;
pub mod pace;
pub mod patience;
pub mod places;
mod records;
pub mod response;
pub mod rest;
pub mod sealed;
pub mod sys;
pub mod threads;
pub mod tls;
pub mod transport;
