//! What members of bonds carried, beside what was predicted.

use linerate_record::lines::listed;
use linerate_record::net::{NetNoPrediction, NetStray};
use linerate_record::plan::Spread;
use serde::{Deserialize, Serialize};

/// Members of bonds at both ends of one pair with one number of streams, over its visits.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct NetPairMembers {
    pub from: u32,
    pub to: u32,
    pub streams: u32,
    /// By which members it left; absent where it leaves by no bond.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub leaves: Option<NetLeaves>,
    /// On which members it arrived; absent where it arrives on no bond of several members.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub arrives: Option<NetArrives>,
}

/// By which members of the sender's bond a pair left.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct NetLeaves {
    pub bond: String,
    /// Such as `802.3ad`.
    pub mode: String,
    /// Such as `layer3+4`; absent in modes that do not hash.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub policy: Option<String>,
    /// Why no source port chooses a member, or why it cannot be predicted which one a stream leaves by.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<NetNoPrediction>,
    /// Visits that are judged.
    pub visits: u32,
    /// Visits in which members came or went, or in which the machine sent to several: they are not judged.
    pub left_out: u32,
    pub members: Vec<NetMemberSends>,
    /// Streams of visits in which all were to leave by one member, so that each that did not is seen.
    pub alone_streams: u32,
    /// Those of them that left by another.
    pub strayed_streams: u32,
    /// Share of all bytes that members carried beyond what was predicted, and beyond what else goes by a bond that is
    /// idle, or answers what its machine receives; absent where that cannot be predicted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub strayed_share: Option<f64>,
    /// Streams that strayed when they were sent alone, visit by visit.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub strays: Vec<NetStray>,
    /// Streams among which some strayed that could not be told apart.
    #[serde(default, skip_serializing_if = "super::is_zero")]
    pub unparted_streams: u32,
}

/// Strays that a sentence names.
const STRAYS_NAMED: usize = 3;

impl NetLeaves {
    /// The streams that were found to stray, in a clause; absent where none were looked for.
    #[must_use]
    pub fn strays_in_words(&self) -> Option<String> {
        let named = |stray: &NetStray| format!("port {} by {} and not {}", stray.port, stray.carried, stray.predicted);
        let named: Vec<String> = self.strays.iter().map(named).collect();
        let alone = (!named.is_empty()).then(|| format!("alone, those from {} stray", listed(&named, STRAYS_NAMED)));
        let together = (self.unparted_streams > 0)
            .then(|| format!("some of {} others strayed and were not told apart", self.unparted_streams));
        let all: Vec<String> = alone.into_iter().chain(together).collect();
        (!all.is_empty()).then(|| all.join("; "))
    }
}

/// What one member sent.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct NetMemberSends {
    pub name: String,
    /// Streams that were to leave by it.
    pub predicted_streams: u32,
    /// Share of all bytes that was to leave by it; absent where that cannot be predicted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub predicted_share: Option<f64>,
    /// Bytes that it sent, with headers.
    pub carried_bytes: u64,
    /// Share of all bytes that it sent.
    pub carried_share: f64,
}

/// On which members of the receiver's bond a pair arrived.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct NetArrives {
    pub bond: String,
    /// Visits that are judged.
    pub visits: u32,
    /// Streams of them that brought something.
    pub streams: u32,
    pub members: Vec<NetMemberReceives>,
    /// What that says of who chose the member.
    pub says: NetArrival,
    /// The chance that as many streams arrive on any one member, were each as likely to arrive on each.
    pub chance: f64,
    /// Whether all of these streams were to leave by one member too.
    pub left_by_one: bool,
}

/// What S3 traffic of a site gets of a bond by the model, beside what flows here got of theirs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct NetBondByModel {
    pub spread: Spread,
    /// What streams of a pair got of the members of the bond by which they left (arrived, where the spread is of what
    /// comes in), with headers and the number of streams that is compared: the median pair. Absent where no speed is
    /// known, where there are no bonds, where streams were held to a rate or aimed at members, and where the site has
    /// bonds of two planes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub measured_share: Option<f64>,
}

/// What one member received.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct NetMemberReceives {
    pub name: String,
    /// Streams that arrived on it, as bytes tell.
    pub streams: u32,
    /// Bytes that it received, with headers.
    pub carried_bytes: u64,
    /// Share of all bytes that it received.
    pub carried_share: f64,
}

/// What is to be said of who chose the members on which streams arrived.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum NetArrival {
    /// Streams of different ports arrive on one member, beyond chance: what chose it looks at addresses only.
    OneMember,
    /// Each member of the sender leads to one member of the receiver: cables lead from one to the other, or what is
    /// between hashes as the sender does.
    AsSent,
    /// More arrive on one member than chance would have it.
    Uneven,
    /// No more arrive on one than chance would have it.
    Spread,
    /// There are too few streams to say.
    #[default]
    Untold,
}

impl NetArrival {
    pub const ALL: [NetArrival; 5] =
        [NetArrival::OneMember, NetArrival::AsSent, NetArrival::Uneven, NetArrival::Spread, NetArrival::Untold];

    /// Its word in JSON and CSV.
    #[must_use]
    pub const fn key(self) -> &'static str {
        match self {
            NetArrival::OneMember => "one-member",
            NetArrival::AsSent => "as-sent",
            NetArrival::Uneven => "uneven",
            NetArrival::Spread => "spread",
            NetArrival::Untold => "untold",
        }
    }
}
