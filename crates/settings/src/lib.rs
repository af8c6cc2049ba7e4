//! What the settings of a machine should be: the catalogue of knobs, profiles, audits, and what decides a change.
//!
//! A snapshot of a machine and a site come in, advice and differences come out. Nothing here reads or writes a
//! setting, a file or a clock. What the hardware can do is asked of the model.

pub mod audit;
pub mod change_plan;
pub mod drift;
pub mod export;
pub mod fleet;
pub mod knobs;
pub mod profiles;
