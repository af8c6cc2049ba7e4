//! Changes applied to a captured machine, confirmed, taken back, and survived: a crash or a full disk at every step.

mod crash;
mod full_disk;
mod machine;
mod owned;
mod rules;
