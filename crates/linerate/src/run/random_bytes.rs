//! Random bytes of the system.

use rustix::rand::{GetRandomFlags, getrandom};

use crate::terminal::failure::Failure;

/// So many of them.
pub(crate) fn random_bytes<const N: usize>() -> Result<[u8; N], Failure> {
    let mut bytes = [0; N];
    let drawn = getrandom(&mut bytes, GetRandomFlags::empty());
    drawn.map(|_| bytes).map_err(|errno| Failure::Command(format!("the system has no random bytes: {errno}")))
}
