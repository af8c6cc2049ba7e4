//! The colours of a terminal.

/// A colour, where colours are shown.
#[derive(Clone, Copy)]
pub(crate) enum Colour {
    Red,
    Green,
    Yellow,
    Dim,
}
