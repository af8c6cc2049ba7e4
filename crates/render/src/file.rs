//! A file of what is rendered.

/// A file of what was rendered.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct RenderedFile {
    /// Its path below the folder, with `/`.
    pub path: String,
    /// What is in it.
    pub text: String,
}

impl RenderedFile {
    pub(crate) fn new(path: impl Into<String>, text: String) -> RenderedFile {
        RenderedFile { path: path.into(), text }
    }
}
