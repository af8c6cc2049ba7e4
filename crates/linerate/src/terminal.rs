//! What reaches the terminal: printing, masking, progress and errors.

pub(crate) mod choice_flags;
pub(crate) mod failure;
pub(crate) mod key_masks;
pub(crate) mod printing;
pub(crate) mod progress;
