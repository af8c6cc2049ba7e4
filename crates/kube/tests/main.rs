//! Pods found and reached, against an API server that is simulated.

mod exec;
mod server;
mod up;
