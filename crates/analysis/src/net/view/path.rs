//! What probes say of how long packets may be between two machines.

use serde::{Deserialize, Serialize};

/// The path of one pair, over all of its visits. Lengths are of whole packets in bytes, headers included.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct NetPathFigures {
    /// What it comes to.
    pub verdict: NetPathVerdict,
    /// The largest packet that came on each stream and in each visit; absent where none did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub carried_bytes: Option<u32>,
    /// The largest that came on the best of them, where they differ.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub carried_most_bytes: Option<u32>,
    /// The smallest beyond it that never came; absent where all came that the interface sends.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lost_bytes: Option<u32>,
    /// The MTU of the interface by which the sender sends there.
    pub interface_bytes: u32,
    /// That of the receiver's interface; absent where it is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub receiver_interface_bytes: Option<u32>,
    /// What the sender's kernel takes for the MTU of the path, once all probes were sent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub taken_bytes: Option<u32>,
    /// The least MTU that came back by ICMP; absent where none did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub icmp_bytes: Option<u32>,
    /// The address that said it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub icmp_by: Option<String>,
    /// Searches of streams and visits of which nothing came, where others carry something.
    #[serde(default, skip_serializing_if = "super::is_zero")]
    pub silent_searches: u32,
    /// Probes that were sent.
    pub probes_sent: u64,
    /// Those of them that came.
    pub probes_received: u64,
}

/// How much of what its sender's interface sends a path carries, and who knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum NetPathVerdict {
    Whole,
    /// Less, and the sender's kernel knows: by ICMP, or by its routes.
    Known,
    /// What the receiver's interface takes, which has a smaller MTU than the sender's; the sender does not know.
    Mismatch,
    /// Less than both interfaces do, and the sender does not know: a black hole.
    BlackHole,
    /// Nothing that was sent.
    Nothing,
    /// The time was too short to tell.
    Unfinished,
}

impl NetPathVerdict {
    /// What it is called in a table.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            NetPathVerdict::Whole => "all of the interface's",
            NetPathVerdict::Known => "less, which is known",
            NetPathVerdict::Mismatch => "all of the receiver's",
            NetPathVerdict::BlackHole => "black hole",
            NetPathVerdict::Nothing => "nothing came",
            NetPathVerdict::Unfinished => "not finished",
        }
    }

    /// Its word in JSON and CSV.
    #[must_use]
    pub const fn key(self) -> &'static str {
        match self {
            NetPathVerdict::Whole => "whole",
            NetPathVerdict::Known => "known",
            NetPathVerdict::Mismatch => "mismatch",
            NetPathVerdict::BlackHole => "black-hole",
            NetPathVerdict::Nothing => "nothing",
            NetPathVerdict::Unfinished => "unfinished",
        }
    }

    pub const ALL: [NetPathVerdict; 6] = [
        NetPathVerdict::Whole,
        NetPathVerdict::Known,
        NetPathVerdict::Mismatch,
        NetPathVerdict::BlackHole,
        NetPathVerdict::Nothing,
        NetPathVerdict::Unfinished,
    ];

    /// Whether packets are lost of which the sender does not know that they are too long.
    #[must_use]
    pub const fn is_silent(self) -> bool {
        matches!(self, NetPathVerdict::Mismatch | NetPathVerdict::BlackHole | NetPathVerdict::Nothing)
    }
}
