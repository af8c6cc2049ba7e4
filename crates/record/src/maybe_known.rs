//! A value that a folder tells by its word. What linerate writes is known; a folder of another tool, of another version
//! or of a stranger may say anything, and is read all the same.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A value by its word: read once, where the folder is.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum MaybeKnown<T> {
    /// One of those that linerate knows.
    Known(T),
    /// What was written in place of one; empty where another tool said nothing.
    Other(String),
}

impl<T> MaybeKnown<T> {
    /// What another tool did not say.
    #[must_use]
    pub const fn unstated() -> Self {
        MaybeKnown::Other(String::new())
    }

    /// The value, where it is one that linerate knows.
    #[must_use]
    pub const fn known(&self) -> Option<&T> {
        match self {
            MaybeKnown::Known(value) => Some(value),
            MaybeKnown::Other(_) => None,
        }
    }
}

impl<T: PartialEq> MaybeKnown<T> {
    /// Whether it is this value.
    #[must_use]
    pub fn is(&self, value: &T) -> bool {
        self.known() == Some(value)
    }
}

impl<T> From<T> for MaybeKnown<T> {
    fn from(value: T) -> Self {
        MaybeKnown::Known(value)
    }
}

impl<T: FromStr> MaybeKnown<T> {
    /// Reads a word, whoever wrote it.
    #[must_use]
    pub fn read(word: &str) -> Self {
        word.parse().map_or_else(|_| MaybeKnown::Other(word.to_owned()), MaybeKnown::Known)
    }
}

impl<T: fmt::Display> fmt::Display for MaybeKnown<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            MaybeKnown::Known(value) => value.fmt(f),
            MaybeKnown::Other(word) => f.pad(word),
        }
    }
}

impl<T: fmt::Display> Serialize for MaybeKnown<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de, T: FromStr> Deserialize<'de> for MaybeKnown<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer).map(|word| MaybeKnown::read(&word))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::load::{ErrorLimit, HostSelect, Lookup, Payload, Spacing, TargetKind, Unique, Workload, Write};
    use crate::units::Rate;

    fn again<T: FromStr + fmt::Display>(word: &str) -> (bool, String) {
        let read: MaybeKnown<T> = serde_json::from_value(serde_json::Value::from(word)).unwrap();
        let written = serde_json::to_value(&read).unwrap();
        (read.known().is_some(), written.as_str().unwrap().to_owned())
    }

    #[test]
    fn every_word_that_linerate_wrote_is_known_and_written_as_it_was() {
        fn each<T: crate::load::Choice + FromStr + fmt::Display>() {
            for value in T::ALL {
                assert_eq!(again::<T>(value.name()), (true, value.name().to_owned()));
            }
        }
        each::<Payload>();
        each::<Unique>();
        each::<Write>();
        each::<Spacing>();
        each::<HostSelect>();
        each::<Lookup>();
        each::<TargetKind>();
        for word in ["get", "multipart", "mixed get=45,put=15,stat=30,delete=10"] {
            assert_eq!(again::<Workload>(word), (true, word.to_owned()));
        }
        for word in ["500/s", "209715200B/s", "0.1/s"] {
            assert_eq!(again::<Rate>(word), (true, word.to_owned()));
        }
        for word in ["100", "7%", "0.3%", "28.999%"] {
            assert_eq!(again::<ErrorLimit>(word), (true, word.to_owned()));
        }
    }

    #[test]
    fn a_word_of_others_stays_as_it_is_and_is_no_value() {
        for word in ["", "Signed", "signed ", "md5", "mixed get=1,delete=2", "\u{1b}[2J"] {
            assert_eq!(again::<Payload>(word), (false, word.to_owned()));
            assert_eq!(again::<Workload>(word), (false, word.to_owned()));
            assert_eq!(again::<Rate>(word), (false, word.to_owned()));
        }
        assert!(!MaybeKnown::<Payload>::unstated().is(&Payload::Signed));
        // A mix of before counted its shares in other numbers.
        assert_eq!(again::<Workload>("mixed get=9,stat=6,put=3,delete=2").1, "mixed get=45,put=15,stat=30,delete=10");
    }
}
