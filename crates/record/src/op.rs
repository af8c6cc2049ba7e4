//! The operations that linerate drives.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// An S3 operation that linerate drives.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Op {
    /// `GetObject`, whole or a range.
    Get,
    /// `PutObject`.
    Put,
    /// `HeadObject`.
    Stat,
    /// `DeleteObject`, of objects that the run wrote.
    Delete,
    /// `ListObjectsV2`, one page.
    List,
    /// A multipart upload, from its creation to its completion.
    Multipart,
    /// `UploadPart`, as a part of a multipart upload.
    Part,
}

impl Op {
    /// Every operation, in the order in which reports list them.
    pub const ALL: [Op; 7] = [Op::Get, Op::Put, Op::Stat, Op::Delete, Op::List, Op::Multipart, Op::Part];

    /// How many there are.
    pub const COUNT: usize = Op::ALL.len();

    /// The name used in flags, folders and reports.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Op::Get => "get",
            Op::Put => "put",
            Op::Stat => "stat",
            Op::Delete => "delete",
            Op::List => "list",
            Op::Multipart => "multipart",
            Op::Part => "part",
        }
    }

    /// Position in [`Op::ALL`].
    #[must_use]
    pub const fn index(self) -> usize {
        self as usize
    }

    /// Whether an operation moves object bodies, so that its throughput is told in bytes.
    #[must_use]
    pub const fn moves_bodies(self) -> bool {
        matches!(self, Op::Get | Op::Put | Op::Multipart | Op::Part)
    }

    /// Whether its requests are parts of another operation's: their rows are told beside that one's, and are in no sum
    /// with it.
    #[must_use]
    pub const fn is_detail(self) -> bool {
        matches!(self, Op::Part)
    }
}

impl fmt::Display for Op {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// A word that names no operation.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("unknown operation {0:?}: use get, put, multipart, stat (or head), delete, list or mixed")]
pub struct UnknownOp(pub String);

impl FromStr for Op {
    type Err = UnknownOp;

    fn from_str(text: &str) -> Result<Self, UnknownOp> {
        match text.trim().to_ascii_lowercase().as_str() {
            "get" => Ok(Op::Get),
            "put" => Ok(Op::Put),
            "stat" | "head" => Ok(Op::Stat),
            "delete" => Ok(Op::Delete),
            "list" => Ok(Op::List),
            "multipart" => Ok(Op::Multipart),
            _ => Err(UnknownOp(text.to_owned())),
        }
    }
}
