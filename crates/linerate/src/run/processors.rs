//! Processors of this machine.

use std::num::NonZero;

/// Processors that this process may use.
pub(crate) fn processors() -> u32 {
    std::thread::available_parallelism().map_or(1, NonZero::get).try_into().unwrap_or(1)
}
