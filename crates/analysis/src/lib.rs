//! Statistics, and what they say of a run.
//!
//! Pure: no I/O, no clock, no ambient randomness. [`view::build`] turns the records of a run folder into the
//! [`view::View`] that every report renders; nothing downstream computes.

pub mod canary;
pub mod compare;
pub mod counters;
mod disturbance;
pub mod estimate;
pub mod findings;
pub mod histogram;
pub mod knee;
pub mod limits;
pub mod long_run;
pub mod open_loop;
pub mod precision;
mod quantile;
pub mod slo;
pub mod steady;
pub mod student;
pub mod thresholds;
pub mod usl;
pub mod view;
