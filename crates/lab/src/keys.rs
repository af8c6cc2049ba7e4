//! Keys of a lab's engine, drawn by the kernel.

use serde::{Deserialize, Serialize};

use crate::error::LabError;

/// Keys of a lab's engine.
#[derive(Clone, Serialize, Deserialize)]
pub struct LabKeys {
    pub access_key: String,
    pub secret_key: String,
}

impl LabKeys {
    /// Drawn by the kernel.
    ///
    /// # Errors
    /// [`LabError::Unsupported`] where it cannot draw.
    pub fn draw() -> Result<LabKeys, LabError> {
        Ok(LabKeys { access_key: "linerate-lab".to_owned(), secret_key: draw_hex::<32>()? })
    }
}

/// Random bytes of the kernel, in hexadecimal digits.
pub(crate) fn draw_hex<const BYTES: usize>() -> Result<String, LabError> {
    let mut bytes = [0_u8; BYTES];
    let unsupported =
        |error: rustix::io::Errno| LabError::Unsupported { what: "keys".to_owned(), why: error.to_string() };
    rustix::rand::getrandom(&mut bytes, rustix::rand::GetRandomFlags::empty()).map_err(unsupported)?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_drawn_and_no_two_are_alike() {
        let [a, b] = [(); 2].map(|()| LabKeys::draw().unwrap().secret_key);
        assert!(a.len() == 64 && a != b);
    }
}
