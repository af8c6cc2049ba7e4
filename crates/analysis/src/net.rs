//! Links between machines: in which rounds pairs are measured, and what the flows say.

pub mod rounds;
pub mod view;

pub use rounds::{NetTurn, rounds, sampled, turns};
