//! What a setting belonged to and is there no more.

use std::io;

/// What a setting was of is not there.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Gone {
    /// With everything in it.
    #[error("its network namespace is gone")]
    Namespace,
    /// It may have another name in another namespace.
    #[error("{0} is gone; a device that has its name now is another one")]
    Device(String),
}

impl Gone {
    /// What an error says to be gone.
    pub(crate) fn from_error(error: &io::Error) -> Option<&Gone> {
        error.get_ref()?.downcast_ref()
    }
}

impl From<Gone> for io::Error {
    fn from(gone: Gone) -> io::Error {
        io::Error::new(io::ErrorKind::NotFound, gone)
    }
}
