//! What a cluster can do, and what can have held it back: one pure model, run forward and backward.
//!
//! Forward, [`plan`] turns a site into the ceilings of each of its resources. Backward, `explain` asks which
//! deviations from the site would have given what was observed, by the same ceilings. Nothing here reads a file, a
//! clock or a socket; randomness is a seed that is passed in.

pub mod bond;
pub mod ceilings;
pub mod curve;
pub mod diagnosis;
pub mod error;
pub mod ethernet;
pub mod explain;
pub mod findings;
pub mod layout;
pub mod plan;
pub mod rebuild;
pub mod scaling;
pub mod sizing;
pub mod spread;
#[cfg(test)]
mod test_site;
pub mod traffic;
mod work_names;
