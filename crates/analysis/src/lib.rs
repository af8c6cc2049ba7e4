//! Statistics, and what they say of a run.
//!
//! Pure: no I/O, no clock, no ambient randomness. [`build::build`] turns the records of a run folder into the
//! [`view::View`] that every report renders; nothing downstream computes.

mod backoff;
pub mod bottlenecks;
pub mod build;
pub mod canary;
mod censored;
pub mod compare;
pub mod counters;
pub mod disturbance;
pub mod estimate;
pub mod evidence;
pub mod findings;
pub mod growth;
mod hanging;
pub mod imported_record;
pub mod knee;
mod line;
pub mod long_run;
mod median;
pub mod model_inputs;
pub mod net;
pub mod open_loop;
pub mod outlier;
pub mod peers;
mod quantile;
pub mod records;
pub mod series_search;
pub mod served;
pub mod slo;
pub mod sockets;
mod standstills;
pub mod steady;
pub mod student;
mod target_outages;
pub mod thresholds;
pub mod view;
pub mod visit_times;
pub mod warm_up;
