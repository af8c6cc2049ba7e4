//! Where the machines of a run are, and by which way flows come to them: classes of pairs, such as those of pods on two
//! hosts.

use core::fmt;
use core::str::FromStr;

use serde::{Deserialize, Serialize};

use super::NetRun;

/// In whose network an agent is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum NetSpace {
    /// In that of a host.
    Host,
    /// In that of a pod.
    Pod,
}

/// By which way flows come to a receiver.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum NetRoute {
    /// At its own address.
    #[default]
    Direct,
    /// At that of a Service in front of it, which is translated on the way.
    Service,
    /// At another address of its own, in a second network.
    Second,
}

/// Where one machine of a run is. What is a machine there may be a pod, of which a host has several.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NetLocation {
    /// The host that it is on: those of the same name are on one.
    pub host: String,
    /// In whose network it is.
    pub space: NetSpace,
    /// Address and port of the Service in front of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub service: Option<String>,
    /// Its address in the second network.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub second: Option<String>,
}

/// A class of pairs. As a word it is `other/pod-host`, with `/service` or `/second` behind it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct NetClass {
    /// Whether both are on one host.
    pub is_same: bool,
    /// Where the sender is.
    pub from: NetSpace,
    /// Where the receiver is.
    pub to: NetSpace,
    /// By which way flows come to the receiver.
    pub through: NetRoute,
}

impl NetClass {
    /// That of pairs from one place to another, by a way.
    #[must_use]
    pub fn between(from: &NetLocation, to: &NetLocation, through: NetRoute) -> NetClass {
        NetClass { is_same: from.host == to.host, from: from.space, to: to.space, through }
    }
}

/// A text that names no class of pairs.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "no class of pairs in {0:?}: write same or other, then host or pod of the sender and of the receiver, such as \
     other/pod-pod, and /service or /second for pairs by that way"
)]
pub struct NetClassError(pub String);

impl NetSpace {
    #[must_use]
    pub const fn key(self) -> &'static str {
        match self {
            NetSpace::Host => "host",
            NetSpace::Pod => "pod",
        }
    }

    /// The one that a word names.
    #[must_use]
    pub fn parse(word: &str) -> Option<NetSpace> {
        [NetSpace::Host, NetSpace::Pod].into_iter().find(|space| space.key() == word)
    }
}

impl NetRoute {
    #[must_use]
    pub const fn key(self) -> &'static str {
        match self {
            NetRoute::Direct => "direct",
            NetRoute::Service => "service",
            NetRoute::Second => "second",
        }
    }

    pub const ALL: [NetRoute; 3] = [NetRoute::Direct, NetRoute::Service, NetRoute::Second];

    /// Whether flows go to the receiver's own address, as in folders that know no other way.
    #[must_use]
    pub fn is_direct(&self) -> bool {
        *self == NetRoute::Direct
    }
}

impl NetClass {
    /// The class of pairs that others are held against: between the hosts themselves.
    #[must_use]
    pub const fn base(self) -> NetClass {
        NetClass { from: NetSpace::Host, to: NetSpace::Host, through: NetRoute::Direct, ..self }
    }

    /// For people: `pod → host of another host, through a Service`.
    #[must_use]
    pub fn said(self) -> String {
        let where_to = if self.is_same { "on one host" } else { "on two hosts" };
        let through = match self.through {
            NetRoute::Direct => "",
            NetRoute::Service => ", through a Service",
            NetRoute::Second => ", by the second network",
        };
        format!("{} → {} {where_to}{through}", self.from.key(), self.to.key())
    }
}

impl fmt::Display for NetClass {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let host = if self.is_same { "same" } else { "other" };
        write!(f, "{host}/{}-{}", self.from.key(), self.to.key())?;
        if self.through.is_direct() { Ok(()) } else { write!(f, "/{}", self.through.key()) }
    }
}

impl FromStr for NetClass {
    type Err = NetClassError;

    fn from_str(text: &str) -> Result<NetClass, NetClassError> {
        read(text).ok_or_else(|| NetClassError(text.chars().take(100).collect()))
    }
}

fn read(text: &str) -> Option<NetClass> {
    let mut parts = text.split('/');
    let is_same = match parts.next()? {
        "same" => true,
        "other" => false,
        _ => return None,
    };
    let (from, to) = parts.next()?.split_once('-')?;
    let through = match parts.next() {
        None => NetRoute::Direct,
        Some("service") => NetRoute::Service,
        Some("second") => NetRoute::Second,
        Some(_) => return None,
    };
    let class = NetClass { is_same, from: NetSpace::parse(from)?, to: NetSpace::parse(to)?, through };
    parts.next().is_none().then_some(class)
}

impl From<NetClass> for String {
    fn from(class: NetClass) -> String {
        class.to_string()
    }
}

impl TryFrom<String> for NetClass {
    type Error = NetClassError;

    fn try_from(text: String) -> Result<NetClass, NetClassError> {
        text.parse()
    }
}

/// Two classes that are to be held against each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NetClassComparison {
    /// The class that is judged, such as that of an overlay.
    pub class: NetClass,
    /// The one that it is held against.
    pub base: NetClass,
    /// Bytes by which packets of the first are encapsulated between hosts; absent where that was not said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub overlay_bytes: Option<u32>,
}

/// Most bytes of an encapsulation: a VXLAN in an outer header of IPv6 has 70, and some have options besides.
pub const NET_OVERLAY_BYTES_MAX: u32 = 512;

impl NetRun {
    /// The class of pairs of two machines; none where it is not known where they are.
    #[must_use]
    pub fn class_of(&self, (from, to): (u32, u32), through: NetRoute) -> Option<NetClass> {
        let place = |node: u32| self.nodes.get(node as usize)?.place.as_ref();
        Some(NetClass::between(place(from)?, place(to)?, through))
    }

    /// How many ways there are to machines of the run.
    pub(super) fn ways(&self) -> u64 {
        let has = |is_it: fn(&NetLocation) -> bool| {
            u64::from(self.nodes.iter().filter_map(|node| node.place.as_ref()).any(is_it))
        };
        1 + has(|place| place.service.is_some()) + has(|place| place.second.is_some())
    }

    /// Most rounds that there can be: as many as its way has, or, where machines share hosts, one for each pair.
    pub(super) fn rounds_max(&self) -> u64 {
        let nodes = u32::try_from(self.nodes.len()).unwrap_or(u32::MAX);
        if self.nodes.iter().any(|node| node.place.is_some()) {
            return u64::from(nodes) * u64::from(nodes.saturating_sub(1));
        }
        u64::from(self.load.way.rounds(nodes))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_class_reads_as_it_is_written_and_nothing_else_does() {
        let spaces = [NetSpace::Host, NetSpace::Pod];
        for is_same in [true, false] {
            for (from, to) in spaces.iter().flat_map(|from| spaces.map(|to| (*from, to))) {
                for through in NetRoute::ALL {
                    let class = NetClass { is_same, from, to, through };
                    assert_eq!(class.to_string().parse(), Ok(class));
                    assert_eq!(serde_json::from_str::<NetClass>(&format!("\"{class}\"")).unwrap(), class);
                }
            }
        }
        let one = NetClass { is_same: false, from: NetSpace::Pod, to: NetSpace::Host, through: NetRoute::Service };
        assert_eq!(one.to_string(), "other/pod-host/service");
        assert_eq!(one.said(), "pod → host on two hosts, through a Service");
        assert_eq!(one.base().to_string(), "other/host-host");
        for text in ["", "other", "other/pod", "pod-pod", "other/pod-pods", "others/pod-pod", "same/pod-pod/direct"] {
            assert!(text.parse::<NetClass>().unwrap_err().to_string().contains("such as other/pod-pod"), "{text}");
        }
        assert!("same/pod-pod/service/second".parse::<NetClass>().is_err());
    }
}
