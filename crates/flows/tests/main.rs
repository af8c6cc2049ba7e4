//! Flows between two ends on this machine.

mod ends;
mod flows;
mod ops;
