//! Members of bonds: what each carried in a visit, and by which of them the streams of a pair were to leave.

use serde::{Deserialize, Serialize};

use crate::plausibility::COUNT_MAX;

/// Most members of all bonds of a machine that are told.
pub const NET_MEMBERS_MAX: usize = 64;

/// What one member of a bond carried while a visit counts.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct NetMember {
    pub bond: String,
    pub name: String,
    pub state: NetMemberState,
    /// Bytes that it sent, with headers.
    pub sent_bytes: u64,
    /// Bytes that it received, with headers.
    pub received_bytes: u64,
}

/// Whether a member of a bond sends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum NetMemberState {
    /// It is up, and one of those that the bond sends by.
    Sends,
    /// It is down, stands by, or is in a group of 802.3ad that is not the active one.
    #[default]
    #[serde(rename = "rests")]
    Idle,
    /// That changed while it counts.
    Changed,
}

/// By which members of its bond the streams of a pair were to leave, as the sender knew before they began.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct NetPredictedMembers {
    pub bond: String,
    /// Such as `802.3ad` or `active-backup`.
    pub mode: String,
    /// What it hashes, such as `layer3+4`; absent in modes that do not hash.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub policy: Option<String>,
    /// Members that send, in the order in which the kernel counts them.
    pub members: Vec<String>,
    /// The place among these of the member for which source ports were chosen; absent where none were.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub aimed: Option<u32>,
    /// The place among these of the member by which each stream is to leave, in the order of streams; empty where that
    /// cannot be told.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub streams: Vec<u32>,
    /// The source port of each stream, in the same order; empty where it is not known.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ports: Vec<u16>,
    /// Why that cannot be told, or why no source port chooses a member; absent where both can be.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<NetNoPrediction>,
}

/// Why streams cannot be aimed at a member, or why it cannot be told by which they leave.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum NetNoPrediction {
    /// One member carries all, and the others stand by.
    StandBy,
    /// Packets go by each member in turn.
    Turns,
    /// The driver moves flows by what members carry.
    ByLoad,
    /// Each member carries all.
    Everywhere,
    /// The hash is a number that the kernel draws for each TCP socket (`encap3+4`).
    SocketHash,
    /// The hash looks at no port: all streams of a pair leave by one member.
    NoPorts,
    /// The hash looks at the MAC address of the next hop, which is not known: a router's, or by IPv6.
    NextHop,
    /// The hash looks at the tag of a VLAN, whose priority is not known (`vlan+srcmac`).
    VlanTag,
    /// No member sends, or this version of linerate does not know the mode or the policy.
    NotKnown,
}

impl NetNoPrediction {
    /// Why, in a clause.
    #[must_use]
    pub const fn says(self) -> &'static str {
        match self {
            NetNoPrediction::StandBy => "one member carries all, the others stand by",
            NetNoPrediction::Turns => "packets go by each member in turn, and can overtake each other",
            NetNoPrediction::ByLoad => "the driver moves flows by what members carry: not predictable",
            NetNoPrediction::Everywhere => "each member carries all",
            NetNoPrediction::SocketHash => "the kernel draws the hash of each TCP socket: not predictable",
            NetNoPrediction::NoPorts => "the hash looks at no port, so that all streams of a pair leave by one member",
            NetNoPrediction::NextHop => "the hash looks at the MAC address of the next hop, which is not known",
            NetNoPrediction::VlanTag => "the hash looks at a VLAN's tag, whose priority is not known: not predictable",
            NetNoPrediction::NotKnown => "no member sends, or its mode or policy is not known: not predictable",
        }
    }
}

impl NetPredictedMembers {
    /// What is wrong with it, of a pair with so many streams.
    ///
    /// # Errors
    /// Why, in words for a person.
    pub fn check(&self, streams: u32) -> Result<(), String> {
        if self.members.len() > NET_MEMBERS_MAX {
            return Err(format!("a bond of {} members", self.members.len()));
        }
        if self.streams.len() > streams as usize {
            return Err(format!("members of {} streams, of {streams}", self.streams.len()));
        }
        if self.ports.len() > streams as usize {
            return Err(format!("ports of {} streams, of {streams}", self.ports.len()));
        }
        let all = self.streams.iter().chain(&self.aimed);
        match all.copied().find(|place| *place as usize >= self.members.len()) {
            Some(place) => Err(format!("member {place} of a bond that sends by {}", self.members.len())),
            None => Ok(()),
        }
    }

    /// All texts of it.
    pub fn texts(&self) -> impl Iterator<Item = &String> {
        [&self.bond, &self.mode].into_iter().chain(&self.policy).chain(&self.members)
    }

    /// The one member by which all streams are to leave; none where there are several, or it cannot be told.
    #[must_use]
    pub fn only(&self) -> Option<u32> {
        let first = self.streams.first()?;
        self.streams.iter().all(|place| place == first).then_some(*first)
    }
}

/// Most rounds in which streams of one visit are halved: as many as it takes to find one of 256, both halves each time.
pub const NET_HALVED_ROUNDS_MAX: u32 = 16;

/// What halving the streams of a visit found, where some left by another member than predicted: fewer and fewer of them
/// were sent again, from the same ports.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct NetHalved {
    /// Rounds that it took.
    pub rounds: u32,
    /// Streams that strayed alone.
    pub strays: Vec<NetStray>,
    /// The first and the last place of streams some of which strayed together and neither half of which did alone, or
    /// which were not parted in time.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unparted: Vec<[u32; 2]>,
}

/// A stream that left by another member than predicted.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct NetStray {
    /// Its place among the streams of its pair.
    pub stream: u32,
    /// Its source port.
    pub port: u16,
    /// The member by which it was to leave.
    pub predicted: String,
    /// The member that carried more than it should while this stream went alone.
    pub carried: String,
}

impl NetHalved {
    /// What is wrong with it, of a pair with so many streams.
    ///
    /// # Errors
    /// Why, in words for a person.
    pub fn check(&self, streams: u32) -> Result<(), String> {
        if self.rounds > NET_HALVED_ROUNDS_MAX || self.strays.len().max(self.unparted.len()) > streams as usize {
            return Err(format!("{} rounds that halve {streams} streams", self.rounds));
        }
        let places = self.strays.iter().map(|stray| stray.stream).chain(self.unparted.iter().flatten().copied());
        match places.max().filter(|place| *place >= streams) {
            Some(place) => Err(format!("stream {place} of {streams} that strayed")),
            None => Ok(()),
        }
    }
}

/// What is wrong with what members of a machine carried.
///
/// # Errors
/// Why, in words for a person.
pub fn check_members(members: &[NetMember]) -> Result<(), String> {
    if members.len() > NET_MEMBERS_MAX {
        return Err(format!("{} members of bonds", members.len()));
    }
    match members.iter().flat_map(|member| [member.sent_bytes, member.received_bytes]).find(|bytes| *bytes > COUNT_MAX)
    {
        Some(bytes) => Err(format!("a count of {bytes}")),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn aim() -> NetPredictedMembers {
        NetPredictedMembers {
            bond: "bond0".to_owned(),
            mode: "802.3ad".to_owned(),
            policy: Some("layer3+4".to_owned()),
            members: vec!["a0".to_owned(), "a1".to_owned()],
            aimed: Some(1),
            streams: vec![1, 1],
            ports: vec![32_768, 32_770],
            why: None,
        }
    }

    #[test]
    fn members_that_a_bond_does_not_have_are_refused() {
        assert_eq!(aim().check(2), Ok(()));
        type Wrong = fn(&mut NetPredictedMembers);
        let wrong: [(Wrong, &str); 5] = [
            (|aim| aim.streams.push(0), "members of 3 streams, of 2"),
            (|aim| aim.ports.push(9), "ports of 3 streams, of 2"),
            (|aim| aim.streams[0] = 2, "member 2 of a bond that sends by 2"),
            (|aim| aim.aimed = Some(9), "member 9"),
            (|aim| aim.members = vec![String::new(); 65], "a bond of 65 members"),
        ];
        for (change, part) in wrong {
            let mut aim = aim();
            change(&mut aim);
            let why = aim.check(2).unwrap_err();
            assert!(why.contains(part), "{part}: {why}");
        }
        let much = NetMember { sent_bytes: u64::MAX, ..NetMember::default() };
        assert!(check_members(&[much]).unwrap_err().contains("a count of"));
        assert!(check_members(&vec![NetMember::default(); 65]).unwrap_err().contains("65 members"));
    }

    #[test]
    fn strays_are_streams_that_there_are_and_were_found_in_time() {
        let stray = |stream| NetStray { stream, port: 32_768, ..NetStray::default() };
        let halved = NetHalved { rounds: 6, strays: vec![stray(7)], unparted: vec![[0, 3]] };
        assert_eq!(halved.check(8), Ok(()));
        type Wrong = fn(&mut NetHalved);
        let wrong: [(Wrong, &str); 4] = [
            (|of| of.rounds = 17, "17 rounds that halve 8 streams"),
            (|of| of.strays[0].stream = 8, "stream 8 of 8"),
            (|of| of.unparted = vec![[0, 9]], "stream 9 of 8"),
            (|of| of.unparted = vec![[0, 1]; 9], "6 rounds that halve 8 streams"),
        ];
        for (change, part) in wrong {
            let mut halved = halved.clone();
            change(&mut halved);
            let why = halved.check(8).unwrap_err();
            assert!(why.contains(part), "{part}: {why}");
        }
    }

    #[test]
    fn all_streams_may_have_one_member() {
        assert_eq!(aim().only(), Some(1));
        assert_eq!(NetPredictedMembers { streams: vec![1, 0], ..aim() }.only(), None);
        assert_eq!(NetPredictedMembers { streams: Vec::new(), ..aim() }.only(), None);
        assert_eq!(aim().texts().count(), 5);
    }
}
