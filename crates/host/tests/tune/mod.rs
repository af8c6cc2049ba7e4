//! Changes applied to a captured machine, confirmed, rolled back, and survived: a crash or a full disk at every step.

mod crash;
mod damaged;
mod full_disk;
mod held;
mod keeping;
mod looked;
mod machine;
mod owned;
mod renamed;
mod rules;
mod stalled;
