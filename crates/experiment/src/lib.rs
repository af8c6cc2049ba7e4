//! Does it help? A trial of arms over randomised blocks: what to measure next, when to stop, and what may be said.
//!
//! Pure: no I/O, no clock, no ambient randomness. [`steps::next`] says what to do, [`steps::observe`] takes what came
//! of it, [`steps::report`] says what it shows; whoever acts is a small loop around them. [`table`] and [`analyze`] say
//! the same of tables that people have. docs/method/experiments.md tells how, decision 0017 why.

pub mod advice;
pub mod analyze;
mod answer;
pub mod decide;
pub mod design;
mod drift;
pub mod effect;
pub mod fault;
pub mod fingerprint;
pub mod groups;
mod guards;
pub mod lasting;
pub mod looks;
mod missing;
mod modality;
pub mod moment;
pub mod nodes;
pub mod outcome;
mod positions;
pub mod randomisation;
pub mod reach;
mod remarks;
mod secondary;
mod settle;
pub mod sound;
pub mod state;
pub mod steps;
pub mod table;
pub mod times;
mod voids;
