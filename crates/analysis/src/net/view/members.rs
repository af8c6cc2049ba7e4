//! What members of bonds carried, beside what was predicted.

use linerate_record::net::NetUnaimed;
use serde::{Deserialize, Serialize};

/// Members of bonds at both ends of one pair with one number of streams, over its visits.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct NetPairMembers {
    /// Who sends.
    pub from: u32,
    /// Who receives.
    pub to: u32,
    /// Streams.
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
    /// The bond.
    pub bond: String,
    /// Such as `802.3ad`.
    pub mode: String,
    /// Such as `layer3+4`; absent in modes that do not hash.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub policy: Option<String>,
    /// Why no source port chooses a member, or why it cannot be predicted which one a stream leaves by.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<NetUnaimed>,
    /// Visits that are judged.
    pub visits: u32,
    /// Visits in which members came or went, or in which the machine sent to several: they are not judged.
    pub left_out: u32,
    /// The members.
    pub members: Vec<NetMemberSends>,
    /// Streams of visits in which all were to leave by one member, so that each that did not is seen.
    pub alone_streams: u32,
    /// Those of them that left by another.
    pub strayed_streams: u32,
    /// Share of all bytes that members carried beyond what was predicted; absent where that cannot be.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub strayed_share: Option<f64>,
}

/// What one member sent.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct NetMemberSends {
    /// The member.
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
    /// The bond.
    pub bond: String,
    /// Visits that are judged.
    pub visits: u32,
    /// Streams of them that brought something.
    pub streams: u32,
    /// The members.
    pub members: Vec<NetMemberReceives>,
    /// What that says of who chose the member.
    pub says: NetArrival,
    /// The chance that as many streams arrive on any one member, were each as likely to arrive on each.
    pub chance: f64,
    /// Whether all of these streams were to leave by one member too.
    pub left_by_one: bool,
}

/// What one member received.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct NetMemberReceives {
    /// The member.
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
