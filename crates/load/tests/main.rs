//! Loads against servers that are simulated, well-behaved and hostile.

mod alongside;
mod capped;
mod chunks_refused;
mod driving;
mod ending;
mod faults;
mod hostile;
mod multipart;
mod serving;
mod sources;
mod tls;
