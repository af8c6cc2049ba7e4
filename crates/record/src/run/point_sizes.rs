//! The sizes of the objects of a point, as folders name them.

use std::fmt;
use std::str::FromStr;

use crate::load::Sizes;
use crate::load::sizes::{SizeDistribution, SizesError};
use crate::maybe_known::MaybeKnown;

/// How the size of objects that were there before is called.
const EXISTING: &str = "existing";

/// How large the objects of a point are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PointSizes {
    /// As the load says.
    Drawn(Sizes),
    /// As they were there before, with `--list-existing`.
    Existing,
}

impl From<Sizes> for PointSizes {
    fn from(sizes: Sizes) -> Self {
        PointSizes::Drawn(sizes)
    }
}

impl FromStr for PointSizes {
    type Err = SizesError;

    /// Reads what [`fmt::Display`] writes; any other spelling is that of somebody else.
    fn from_str(text: &str) -> Result<Self, SizesError> {
        if text == EXISTING {
            return Ok(PointSizes::Existing);
        }
        let sizes = Sizes::try_from(text.to_owned())?;
        if sizes.to_string() == text { Ok(sizes.into()) } else { Err(SizesError::Several(text.to_owned())) }
    }
}

impl fmt::Display for PointSizes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PointSizes::Drawn(sizes) => sizes.fmt(f),
            PointSizes::Existing => f.pad(EXISTING),
        }
    }
}

impl MaybeKnown<PointSizes> {
    /// The one size of all objects, in bytes; `None` for a distribution, and where it is not known.
    #[must_use]
    pub const fn bytes(&self) -> Option<u64> {
        match self {
            MaybeKnown::Known(PointSizes::Drawn(sizes)) => match sizes.distribution() {
                SizeDistribution::Fixed(bytes) => Some(*bytes),
                _ => None,
            },
            _ => None,
        }
    }

    /// Whether nobody said it, as another tool may not have.
    #[must_use]
    pub fn is_unstated(&self) -> bool {
        *self == MaybeKnown::unstated()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_of_folders_are_read_once_and_written_as_they_were() {
        for (text, is_known, bytes) in [
            ("4MiB", true, Some(4 << 20)),
            ("65536", true, Some(65_536)),
            ("existing", true, None),
            ("random:4KiB-1MiB", true, None),
            ("lognormal:256KiB/1.5", true, None),
            ("4096:10740,8192:1685", true, None),
            ("", false, None),
            (" 4MiB", false, None),
            ("4MiB,", false, None),
            ("1KiB,2KiB", false, None),
            ("large", false, None),
        ] {
            let sizes: MaybeKnown<PointSizes> = MaybeKnown::read(text);
            assert_eq!((sizes.known().is_some(), sizes.bytes()), (is_known, bytes), "{text:?}");
            assert_eq!(sizes.to_string(), text);
            assert_eq!(sizes.is_unstated(), text.is_empty());
        }
    }
}
