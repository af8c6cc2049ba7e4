//! The wire, whatever is said over it: sockets and TLS on them, event loops and their time, HTTP/1.1's
//! framing, and one blocking call.
//!
//! Each thread has its own `epoll`, connections and buffers, and waits for no other. Nothing here knows what a request
//! means, and nothing here judges.

pub mod anonymous_tls;
pub mod backoff;
pub mod clock;
pub mod connection_slab;
pub mod deadline;
pub mod http_call;
pub mod identity;
pub mod intervals;
pub mod latency;
pub mod name_lookup;
pub mod open_loop;
pub mod rate_limit;
pub mod response;
pub mod sys;
pub mod threads;
pub mod tls;
pub mod tls_channel;
mod tls_records;
pub mod transport;
