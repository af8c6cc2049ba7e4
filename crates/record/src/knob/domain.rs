//! What a setting takes: the values that there can be of a knob, whatever a machine has now.

use std::fmt;

/// The values that a knob takes. What only one kernel, driver or machine takes of them, that one knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Domain {
    Number {
        least: i128,
        most: i128,
    },
    /// Several whole numbers, the least first: what the kernel takes in another order, it does not keep to.
    Rising {
        count: usize,
        /// The least that each may be.
        least: i128,
        /// The most that each may be.
        most: i128,
    },
    /// One of these words.
    Words(&'static [&'static str]),
    /// One of these words, or a whole number.
    WordsOrNumber {
        words: &'static [&'static str],
        least: i128,
        most: i128,
    },
    /// Processors as the bits of a mask, in hexadecimal groups of 32.
    Processors,
    /// Ports, one by one or as ranges; none at all too.
    Ports,
    /// A text that is not checked further, with what it is: `a version of Linux such as 6.12`.
    Text(&'static str),
}

/// What `int` holds of numbers from zero on: most sysctls are one.
pub const INT_MAX: i128 = i32::MAX as i128;

/// A number from `least` to `most`.
#[must_use]
pub const fn number(least: i128, most: i128) -> Domain {
    Domain::Number { least, most }
}

pub const SWITCH: Domain = number(0, 1);

impl fmt::Display for Domain {
    /// `0 to 200`, `3 whole numbers from 1 to 65535, the least first`, `none, static`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Domain::Number { least, most } => write!(f, "{least} to {most}"),
            Domain::Rising { count, least, most } => {
                write!(f, "{count} whole numbers from {least} to {most}, the least first")
            }
            Domain::Words(words) => f.write_str(&words.join(", ")),
            Domain::WordsOrNumber { words, least, most } => write!(f, "{}, or {least} to {most}", words.join(", ")),
            Domain::Processors => f.write_str("a mask of processors such as ff"),
            Domain::Ports => f.write_str("a list of ports such as 9000,30000-30100"),
            Domain::Text(what) => f.write_str(what),
        }
    }
}
