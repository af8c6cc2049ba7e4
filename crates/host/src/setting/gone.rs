//! A network namespace or a device of a setting that is not there any more.

use std::io;

/// What a setting belonged to is not there any more.
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
