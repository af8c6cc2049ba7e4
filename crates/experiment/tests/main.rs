//! Experiments in worlds whose truth is known, and on recorded hours.

mod hazards;
mod replay;
mod tables;
mod worlds;
