//! Changes of many machines as one: which nodes are changed in which wave, what is to be done next, and what is known
//! of each node, whatever fails in between.
//!
//! Nothing here reaches a machine or reads a clock. [`plan`] makes every choice beforehand, [`plan_check`] looks at a
//! plan without knowing how it was made, and [`rollout_machine`] says what to do next: whoever carries that out chooses
//! nothing.

pub mod plan;
pub mod plan_check;
pub mod rollout_machine;
pub mod rollout_selection;
pub mod waves;
