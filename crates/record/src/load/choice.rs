//! Words that a load is described with where there is a choice: each is the same in flags, folders and requests.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use super::InvalidLoad;

/// A choice: its values, and the word for each, in flags and on disk.
macro_rules! choice {
    ($(#[$about:meta])* $name:ident { $($(#[$says:meta])* $value:ident = $word:literal,)* }) => {
        $(#[$about])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        pub enum $name {
            $($(#[$says])* #[serde(rename = $word)] $value,)*
        }

        impl Choice for $name {
            const ALL: &'static [Self] = &[$($name::$value),*];

            fn name(self) -> &'static str {
                match self {
                    $($name::$value => $word,)*
                }
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.pad(self.name())
            }
        }

        impl FromStr for $name {
            type Err = InvalidLoad;

            fn from_str(word: &str) -> Result<Self, InvalidLoad> {
                Self::named(word).ok_or_else(|| {
                    let words: Vec<&str> = Self::ALL.iter().map(|value| value.name()).collect();
                    InvalidLoad(format!("invalid word {word:?}: write one of {}", words.join(", ")))
                })
            }
        }
    };
}

/// One of a few values that each have a word.
pub trait Choice: Copy + 'static {
    /// All of them, in the order in which they are offered.
    const ALL: &'static [Self];

    fn name(self) -> &'static str;

    /// The value of a word.
    #[must_use]
    fn named(word: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|value| value.name() == word)
    }
}

choice! {
    /// A target of linerate's own.
    OwnTarget {
        /// A real S3 server over a folder.
        Embedded = "embedded",
        /// Answers as fast as the kernel allows and stores nothing.
        Null = "null",
    }
}

choice! {
    /// What a load was driven at.
    TargetKind {
        /// Hosts that were there: `--host`.
        S3 = "s3",
        /// linerate's own, a real S3 server over a folder.
        Embedded = "embedded",
        /// linerate's own, that stores nothing.
        Null = "null",
    }
}

impl From<OwnTarget> for TargetKind {
    fn from(own: OwnTarget) -> Self {
        match own {
            OwnTarget::Embedded => TargetKind::Embedded,
            OwnTarget::Null => TargetKind::Null,
        }
    }
}

choice! {
    /// How a bucket is named in requests.
    Lookup {
        /// In the path: `http://host/bucket/key`.
        Path = "path",
        /// In the host name: `http://bucket.host/key`.
        Host = "host",
    }
}

choice! {
    /// Which host gets the next request.
    HostSelect {
        RoundRobin = "round-robin",
        /// The one with the fewest requests in flight from the same thread.
        LeastOutstanding = "least-outstanding",
    }
}

choice! {
    /// How the requests of an open loop are spaced.
    Spacing {
        Constant = "constant",
        /// At random, each independent of the others: a Poisson process.
        Poisson = "poisson",
    }
}

choice! {
    /// How a body is sent, and what vouches for it: the value of `x-amz-content-sha256` says which.
    Payload {
        /// The body's SHA-256.
        Signed = "signed",
        /// `UNSIGNED-PAYLOAD`.
        Unsigned = "unsigned",
        /// `STREAMING-AWS4-HMAC-SHA256-PAYLOAD`: chunks, each with a signature over the one before.
        Streaming = "streaming",
        /// `STREAMING-AWS4-HMAC-SHA256-PAYLOAD-TRAILER`: signed chunks, and a signed CRC-32C behind them.
        StreamingTrailer = "streaming-trailer",
        /// `STREAMING-UNSIGNED-PAYLOAD-TRAILER`: plain chunks, and a CRC-32C behind them.
        UnsignedTrailer = "unsigned-trailer",
    }
}

impl Payload {
    /// Whether bodies are sent in chunks.
    #[must_use]
    pub const fn is_chunked(self) -> bool {
        matches!(self, Payload::Streaming | Payload::StreamingTrailer | Payload::UnsignedTrailer)
    }

    /// Whether signatures cover bodies.
    #[must_use]
    pub const fn signs(self) -> bool {
        matches!(self, Payload::Signed | Payload::Streaming | Payload::StreamingTrailer)
    }

    /// Whether a checksum follows bodies.
    #[must_use]
    pub const fn has_trailer(self) -> bool {
        matches!(self, Payload::StreamingTrailer | Payload::UnsignedTrailer)
    }
}

choice! {
    /// How bodies differ from each other.
    Unique {
        /// In their last 16 bytes.
        Tail = "tail",
        /// In every 4 KiB block.
        Full = "full",
    }
}

choice! {
    /// How objects are written that operations read or delete.
    Write {
        /// With one `PutObject` each.
        Put = "put",
        /// With a multipart upload each.
        Multipart = "multipart",
    }
}
