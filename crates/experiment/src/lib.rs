//! Does it help? A trial of arms over randomised blocks: what to measure next, when to stop, and what may be said.
//!
//! Pure: no I/O, no clock, no ambient randomness. [`protocol::next`] says what to do, [`protocol::observe`] takes what
//! came of it, [`protocol::report`] says what it shows; whoever acts is a small loop around them. [`table`] and
//! [`analyze`] say the same of tables that people have. docs/method/experiments.md tells how, decision 0017 why.

pub mod advice;
pub mod alpha_spending;
pub mod analyze;
pub mod arm_applicability;
mod bimodality;
mod block_exclusions;
pub mod decisions;
pub mod design;
pub mod disturbance;
mod drift;
pub mod durations;
pub mod effect;
pub mod error;
pub mod fingerprint;
mod invalidation;
pub mod long_cells;
mod missing_data;
pub mod node_arms;
pub mod outcome;
pub mod permutation_test;
pub mod plausibility;
pub mod protocol;
pub mod randomisation;
mod remarks;
mod run_order;
mod secondary_metrics;
mod sentences;
mod settling_time;
pub mod state;
pub mod table;
