//! Statistics, and what they say of a run.
//!
//! Pure: no I/O, no clock, no ambient randomness. [`build::build`] turns the records of a run folder into the
//! [`view::View`] that every report renders; nothing downstream computes.

pub mod build;
pub mod canary;
mod censored;
pub mod chance;
pub mod compare;
pub mod counters;
pub mod course;
pub mod disturbance;
pub mod estimate;
pub mod evidence;
pub mod findings;
pub mod growth;
pub mod imported;
pub mod knee;
pub mod limits;
pub mod long_run;
mod lost;
mod median;
pub mod net;
pub mod odd;
pub mod open_loop;
pub mod peers;
pub mod precision;
pub mod predictable;
mod quantile;
pub mod records;
mod rests;
pub mod served;
pub mod slo;
pub mod sockets;
mod standstills;
pub mod steady;
pub mod student;
pub mod thresholds;
pub mod usl;
pub mod view;
