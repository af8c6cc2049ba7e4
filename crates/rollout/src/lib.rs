//! Changes of many machines as one: which nodes are changed in which wave, what is to be done next, and what is known
//! of each node, whatever fails in between.
//!
//! Nothing here reaches a machine or reads a clock. [`plan`] makes every choice beforehand, [`lint`] looks at a plan
//! without knowing how it was made, and [`course`] says what to do next: whoever carries that out chooses nothing.

pub mod chosen;
pub mod course;
pub mod lint;
pub mod plan;
pub mod waves;
