//! Where something stands in a file.

/// Where a key or a value stands; lines and columns count from 1, widths and columns in characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct SourcePosition {
    pub line: usize,
    pub column: usize,
    pub width: usize,
}

/// The beginning of the file: the place of what is of the file as a whole.
pub const START: SourcePosition = SourcePosition { line: 1, column: 1, width: 1 };
