//! What ethtool shows and sets, by the kernel's netlink family of that name (Linux 5.6; features, rings and channels
//! since 5.7, what receive queues are chosen by since 6.17): `include/uapi/linux/ethtool_netlink.h`,
//! `Documentation/networking/ethtool-netlink.rst`.

use std::io;
use std::os::fd::OwnedFd;

use super::netlink::{self, attribute, attributes, content, nest, number, text};
use super::value_text::{SettingReading, invalid};

const CONTROL: u16 = 0x10;
const GET_FAMILY: u8 = 3;
const FAMILY_ID: u16 = 1;
const FAMILY_NAME: u16 = 2;

const LINK_MODES_GET: u8 = 4;
const FEATURES_GET: u8 = 11;
const FEATURES_SET: u8 = 12;
const RINGS_GET: u8 = 15;
const RINGS_SET: u8 = 16;
const CHANNELS_GET: u8 = 17;
const CHANNELS_SET: u8 = 18;
const PAUSE_GET: u8 = 21;
const STATISTICS_GET: u8 = 32;
const RECEIVE_SIDE_SCALING_GET: u8 = 38;

const HEADER: u16 = 1;
const HEADER_DEVICE: u16 = 2;
const HEADER_FLAGS: u16 = 3;
/// `ETHTOOL_FLAG_STATS` (Linux 5.10).
const WITH_STATISTICS: u32 = 1 << 2;
const LINK_SPEED: u16 = 5;
const PAUSE_STATISTICS: u16 = 5;
const PAUSES_RECEIVED: u16 = 3;
/// `ETHTOOL_A_STATS_HEADER`, which is the first attribute of every other message, `_GROUPS`, `_GRP`, and within a group
/// its number and each of its counters.
const STATISTICS_HEADER: u16 = 2;
const STATISTICS_GROUPS: u16 = 3;
const STATISTICS_GROUP: u16 = 4;
const GROUP_NUMBER: u16 = 2;
const GROUP_COUNTER: u16 = 4;
/// `ETHTOOL_STATS_ETH_MAC` with `FramesLostDueToIntMACRcvError`, and `ETHTOOL_STATS_ETH_CTRL` with
/// `MACControlFramesReceived`.
const LOST_BY_MAC: (u32, u16) = (1, 13);
const CONTROL_RECEIVED: (u32, u16) = (2, 1);
const FEATURES_CHANGEABLE: u16 = 2;
const FEATURES_WANTED: u16 = 3;
const FEATURES_ACTIVE: u16 = 4;
const NO_MASK: u16 = 1;
const BITS: u16 = 3;
const BIT: u16 = 1;
const BIT_NAME: u16 = 2;
const BIT_VALUE: u16 = 3;
const REQUEST: u16 = 1;
const ACKNOWLEDGED: u16 = 5;
const COMBINED_MAX: u16 = 5;
const COMBINED: u16 = 9;
const FLOW_HASH: u16 = 8;
const UDP_OVER_IPV4: u16 = 6;

/// The first Linux whose netlink tells by which fields receive queues are chosen.
const FLOW_HASH_SINCE: (u32, u32) = (6, 17);

/// Letters of ethtool for fields of a packet, and their bits (`RXH_*` of `include/uapi/linux/ethtool.h`), in the order
/// in which people write them.
const FIELDS: [(char, u32); 8] = [
    ('m', 1 << 1),
    ('v', 1 << 2),
    ('t', 1 << 3),
    ('s', 1 << 4),
    ('d', 1 << 5),
    ('f', 1 << 6),
    ('n', 1 << 7),
    ('r', 1 << 31),
];

/// What `ethtool -k` calls one thing and the kernel several (ethtool's `features.c`; `net/ethtool/ioctl.c:
/// ethtool_get_feature_mask`).
const GROUPS: [(&str, &[&str]); 8] = [
    ("rx-checksumming", &["rx-checksum"]),
    (
        "tx-checksumming",
        &["tx-checksum-ipv4", "tx-checksum-ip-generic", "tx-checksum-ipv6", "tx-checksum-fcoe-crc", "tx-checksum-sctp"],
    ),
    ("scatter-gather", &["tx-scatter-gather", "tx-scatter-gather-fraglist"]),
    (
        "tcp-segmentation-offload",
        &[
            "tx-tcp-segmentation",
            "tx-tcp-ecn-segmentation",
            "tx-tcp-mangleid-segmentation",
            "tx-tcp6-segmentation",
            "tx-tcp-accecn-segmentation",
        ],
    ),
    ("generic-segmentation-offload", &["tx-generic-segmentation"]),
    ("generic-receive-offload", &["rx-gro"]),
    ("large-receive-offload", &["rx-lro"]),
    ("receive-hashing", &["rx-hashing"]),
];

/// The kernel's features of a name that ethtool uses, which is most often the kernel's own.
pub(super) fn members(feature: &'static str) -> Vec<&'static str> {
    let group = GROUPS.iter().find(|(name, _)| *name == feature);
    group.map_or_else(|| vec![feature], |(_, members)| members.to_vec())
}

/// `on` where any of the kernel's features of that name is active, as ethtool has it, else `off`.
pub(super) fn offload(device: &str, feature: &'static str) -> io::Result<String> {
    let reply = ask(device, FEATURES_GET)?;
    let active = bits(&reply, FEATURES_ACTIVE);
    Ok(switch(members(feature).iter().any(|member| active.contains(member))))
}

/// Whether one of the kernel's features is wanted; it is active where those that it needs are active too. What is
/// wanted of one that is fixed changes nothing, and cannot be set: a bond wants some so with its mode.
pub(super) fn feature(device: &str, name: &str) -> io::Result<String> {
    let reply = ask(device, FEATURES_GET)?;
    if !bits(&reply, FEATURES_CHANGEABLE).contains(&name) {
        return Err(io::Error::new(io::ErrorKind::NotFound, format!("{name} is fixed on {device}")));
    }
    Ok(switch(bits(&reply, FEATURES_WANTED).contains(&name)))
}

/// Sets those of the kernel's features of a name that the device can change.
pub(super) fn set_offload(device: &str, feature: &'static str, on: bool) -> io::Result<()> {
    let reply = ask(device, FEATURES_GET)?;
    let changeable = bits(&reply, FEATURES_CHANGEABLE);
    let features: Vec<&str> = members(feature).into_iter().filter(|member| changeable.contains(member)).collect();
    if features.is_empty() {
        return Err(invalid(format!("{feature} is fixed on {device}: its driver does not change it")));
    }
    set_features(device, &features, on)
}

/// Wants features, or not.
pub(super) fn set_features(device: &str, features: &[&str], on: bool) -> io::Result<()> {
    let mut body = header(device, FEATURES_SET);
    nest(&mut body, FEATURES_WANTED, &bit_set(features, on));
    send(&body, ACKNOWLEDGED).map(drop)
}

/// A set of bits by their names.
fn bit_set(names: &[&str], on: bool) -> Vec<u8> {
    let mut list = Vec::new();
    for name in names {
        let mut bit = Vec::new();
        attribute(&mut bit, BIT_NAME, &text(name));
        if on {
            attribute(&mut bit, BIT_VALUE, &[]);
        }
        nest(&mut list, BIT, &bit);
    }
    let mut set = Vec::new();
    nest(&mut set, BITS, &list);
    set
}

/// Descriptors in the rings of one side, and the most that there can be.
pub(super) fn ring(device: &str, side: &str) -> io::Result<SettingReading> {
    let (most, present) = ring_attributes(side)?;
    counted(&ask(device, RINGS_GET)?, most, present)
}

/// Sets the descriptors of one side.
pub(super) fn set_ring(device: &str, side: &str, count: u32) -> io::Result<()> {
    let (_, present) = ring_attributes(side)?;
    let mut body = header(device, RINGS_SET);
    attribute(&mut body, present, &count.to_ne_bytes());
    send(&body, ACKNOWLEDGED).map(drop)
}

/// The attributes of the most and of the present descriptors of a side.
fn ring_attributes(side: &str) -> io::Result<(u16, u16)> {
    match side {
        "rx" => Ok((2, 6)),
        "tx" => Ok((5, 9)),
        other => Err(invalid(format!("rings are rx or tx, not {other:?}"))),
    }
}

/// Combined queues, and the most that there can be.
pub(super) fn channels(device: &str) -> io::Result<SettingReading> {
    counted(&ask(device, CHANNELS_GET)?, COMBINED_MAX, COMBINED)
}

/// The fields of UDP over IPv4 that choose a receive queue, in letters of ethtool; `none` where there are none.
/// `release` is the kernel's: an older one answers as one does whose driver has no such thing.
pub(super) fn receive_hash(device: &str, release: &str) -> io::Result<String> {
    let reported = ask(device, RECEIVE_SIDE_SCALING_GET).and_then(|reply| udp_fields(&reply));
    reported.map_err(|error| match error.kind() {
        io::ErrorKind::NotFound if is_older(release, FLOW_HASH_SINCE) => io::Error::other(format!(
            "Linux reports it without an ioctl from 6.17 on, and this is {release}: see ethtool -n {device} \
             rx-flow-hash udp4"
        )),
        _ => error,
    })
}

fn udp_fields(reply: &[u8]) -> io::Result<String> {
    let fields = content(reply, FLOW_HASH).and_then(|flows| number(flows, UDP_OVER_IPV4));
    let fields = fields.ok_or_else(|| io::Error::new(io::ErrorKind::NotFound, "the driver does not say"))?;
    let letters: String = FIELDS.iter().filter(|(_, bit)| fields & bit != 0).map(|(letter, _)| letter).collect();
    Ok(if letters.is_empty() { "none".to_owned() } else { letters })
}

/// Whether a kernel's release is before a version; one that cannot be understood is not.
fn is_older(release: &str, version: (u32, u32)) -> bool {
    let mut numbers = release.split(|letter: char| !letter.is_ascii_digit()).map(str::parse);
    match (numbers.next(), numbers.next()) {
        (Some(Ok(major)), Some(Ok(minor))) => (major, minor) < version,
        _ => false,
    }
}

/// The speed that an interface negotiated, in megabits a second; none where its driver has no such thing, `u32::MAX`
/// where it does not know.
pub(crate) fn interface_mbits_per_s(device: &str) -> io::Result<Option<u32>> {
    match ask(device, LINK_MODES_GET) {
        Ok(reply) => Ok(number(&reply, LINK_SPEED)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// Pause frames that a port has received; none where its driver does not count them, or Linux is before 5.10. Frames
/// of priority flow control are others: drivers count them under names of their own.
pub(crate) fn pauses_received(device: &str) -> io::Result<Option<u64>> {
    match send(&headed(HEADER, device, PAUSE_GET, WITH_STATISTICS), REQUEST) {
        Ok(reply) => Ok(pauses(&reply)),
        // EINVAL is of a kernel that does not know the flag.
        Err(error) if error.kind() == io::ErrorKind::NotFound || error.raw_os_error() == Some(22) => Ok(None),
        Err(error) => Err(error),
    }
}

fn pauses(reply: &[u8]) -> Option<u64> {
    counter(content(reply, PAUSE_STATISTICS)?, PAUSES_RECEIVED)
}

fn counter(attributes: &[u8], kind: u16) -> Option<u64> {
    Some(u64::from_ne_bytes(content(attributes, kind)?.get(..8)?.try_into().ok()?))
}

/// Counters of a port that 802.3 names; none where its driver has them not, or Linux is before 5.13.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct PortStatistics {
    /// Frames that its MAC could not hand on: for want of room, most often.
    pub(crate) lost: Option<u64>,
    /// Control frames that it has received: pauses of 802.3x and of priority flow control.
    pub(crate) control_received: Option<u64>,
}

pub(crate) fn port_statistics(device: &str) -> io::Result<PortStatistics> {
    let mut body = headed(STATISTICS_HEADER, device, STATISTICS_GET, 0);
    nest(&mut body, STATISTICS_GROUPS, &bit_set(&["eth-mac", "eth-ctrl"], true));
    match send(&body, REQUEST) {
        Ok(reply) => Ok(statistics(&reply)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(PortStatistics::default()),
        Err(error) => Err(error),
    }
}

fn statistics(reply: &[u8]) -> PortStatistics {
    let statistic = |(group, kind): (u32, u16)| {
        let groups = attributes(reply).filter(|(found, _)| *found == STATISTICS_GROUP).map(|(_, group)| group);
        let counters = groups.filter(|found| number(found, GROUP_NUMBER) == Some(group)).flat_map(attributes);
        counters.filter(|(found, _)| *found == GROUP_COUNTER).find_map(|(_, one)| counter(one, kind))
    };
    PortStatistics { lost: statistic(LOST_BY_MAC), control_received: statistic(CONTROL_RECEIVED) }
}

/// Sets the number of combined queues.
pub(super) fn set_channels(device: &str, count: u32) -> io::Result<()> {
    let mut body = header(device, CHANNELS_SET);
    attribute(&mut body, COMBINED, &count.to_ne_bytes());
    send(&body, ACKNOWLEDGED).map(drop)
}

fn counted(reply: &[u8], most: u16, present: u16) -> io::Result<SettingReading> {
    let present = number(reply, present).ok_or_else(|| io::Error::from(io::ErrorKind::NotFound))?;
    Ok((present.to_string(), number(reply, most).map(|most| most.to_string()).into_iter().collect()))
}

/// The names of the bits that are set in a set of them. One without a mask lists those that are set; one with a mask
/// lists all that there are, and marks those that are set.
fn bits(reply: &[u8], set: u16) -> Vec<&str> {
    let set = content(reply, set).unwrap_or_default();
    let lists_all = content(set, NO_MASK).is_none();
    let list = attributes(content(set, BITS).unwrap_or_default()).map(|(_, bit)| bit);
    let name = |bit| std::str::from_utf8(content(bit, BIT_NAME)?.strip_suffix(&[0])?).ok();
    list.filter(|bit| !lists_all || content(bit, BIT_VALUE).is_some()).filter_map(name).collect()
}

fn switch(on: bool) -> String {
    if on { "on" } else { "off" }.to_owned()
}

fn ask(device: &str, command: u8) -> io::Result<Vec<u8>> {
    send(&header(device, command), REQUEST)
}

/// The head of a message about a device.
fn header(device: &str, command: u8) -> Vec<u8> {
    headed(HEADER, device, command, 0)
}

/// The same with flags of the request, as the attribute that it is in a message of this kind.
fn headed(header: u16, device: &str, command: u8, flags: u32) -> Vec<u8> {
    let mut inner = Vec::new();
    attribute(&mut inner, HEADER_DEVICE, &text(device));
    if flags != 0 {
        attribute(&mut inner, HEADER_FLAGS, &flags.to_ne_bytes());
    }
    let mut body = vec![command, 1, 0, 0];
    nest(&mut body, header, &inner);
    body
}

/// Sends a message to the family and gives the attributes of its reply.
fn send(body: &[u8], flags: u16) -> io::Result<Vec<u8>> {
    let socket = netlink::open(Some(netlink::GENERIC))?;
    let family = family(&socket)?;
    let reply = netlink::call(&socket, family, flags, body).map_err(|error| match error.raw_os_error() {
        // EOPNOTSUPP: the driver has no such thing.
        Some(95) => io::Error::new(io::ErrorKind::NotFound, "the driver has no such setting"),
        _ => error,
    })?;
    Ok(reply.get(4..).unwrap_or_default().to_vec())
}

fn family(socket: &OwnedFd) -> io::Result<u16> {
    let mut body = vec![GET_FAMILY, 1, 0, 0];
    attribute(&mut body, FAMILY_NAME, &text("ethtool"));
    let reply = netlink::call(socket, CONTROL, REQUEST, &body)?;
    let id = reply.get(4..).and_then(|attributes| content(attributes, FAMILY_ID)).and_then(|id| id.try_into().ok());
    id.map(u16::from_ne_bytes).ok_or_else(|| io::Error::new(io::ErrorKind::Unsupported, "no ethtool over netlink"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_ethtool_stand_for_the_kernels() {
        assert_eq!(members("generic-receive-offload"), ["rx-gro"]);
        assert_eq!(members("tx-checksum-ip-generic"), ["tx-checksum-ip-generic"]);
        assert!(members("tcp-segmentation-offload").contains(&"tx-tcp6-segmentation"));
        assert!(ring("lo", "sideways").unwrap_err().to_string().contains("sideways"));
    }

    #[test]
    fn fields_of_a_packet_are_told_in_letters_of_ethtool() {
        // As Linux 6.18 answers: a number for each kind of flow.
        for (fields, letters) in [(0x30_u32, "sd"), (0xf0, "sdfn"), (0, "none"), (0x1f0, "sdfn"), (1 << 31, "r")] {
            let (mut flows, mut reply) = (Vec::new(), Vec::new());
            attribute(&mut flows, 4, &0xf0_u32.to_ne_bytes());
            attribute(&mut flows, UDP_OVER_IPV4, &fields.to_ne_bytes());
            attribute(&mut reply, 3, &[0; 4]);
            nest(&mut reply, FLOW_HASH, &flows);
            assert_eq!(udp_fields(&reply).unwrap(), letters);
        }
        assert_eq!(udp_fields(&[]).unwrap_err().kind(), io::ErrorKind::NotFound);
    }

    #[test]
    fn an_older_kernel_is_told_from_a_driver_without_it() {
        for (release, is) in
            [("6.16.9-amd64", true), ("5.10.0-32", true), ("6.17.0", false), ("7.0-rc1", false), ("?", false)]
        {
            assert_eq!(is_older(release, FLOW_HASH_SINCE), is, "{release}");
        }
        assert_eq!(receive_hash("lo", "6.17.0").unwrap_err().kind(), io::ErrorKind::NotFound);
        assert!(receive_hash("lo", "6.1.0").unwrap_err().to_string().contains("ethtool -n lo rx-flow-hash udp4"));
    }

    #[test]
    fn pause_frames_are_told_where_the_driver_counts_them() {
        let (mut counted, mut reply) = (Vec::new(), Vec::new());
        attribute(&mut counted, 2, &7_u64.to_ne_bytes());
        attribute(&mut counted, PAUSES_RECEIVED, &0x1_0000_0009_u64.to_ne_bytes());
        attribute(&mut reply, 2, &[1]);
        nest(&mut reply, PAUSE_STATISTICS, &counted);
        assert_eq!(pauses(&reply), Some(0x1_0000_0009));
        for cut in 0..reply.len() {
            assert_eq!(pauses(&reply[..cut]), None, "{cut}");
        }
        // As the kernel lays it out: a nest for each counter, which has a group's own number.
        let (mut reply, counted) = (Vec::new(), |group: u32, counters: &[(u16, u64)]| {
            let mut nested = Vec::new();
            attribute(&mut nested, GROUP_NUMBER, &group.to_ne_bytes());
            for (kind, count) in counters {
                let mut one = Vec::new();
                attribute(&mut one, *kind, &count.to_ne_bytes());
                nest(&mut nested, GROUP_COUNTER, &one);
            }
            nested
        });
        nest(&mut reply, STATISTICS_GROUP, &counted(1, &[(0, 5), (13, 6)]));
        nest(&mut reply, STATISTICS_GROUP, &counted(2, &[(0, 7), (1, 8)]));
        assert_eq!(statistics(&reply), PortStatistics { lost: Some(6), control_received: Some(8) });
        for cut in 0..reply.len() {
            let PortStatistics { lost, control_received } = statistics(&reply[..cut]);
            assert!(lost.is_none_or(|lost| lost == 6) && control_received.is_none(), "{cut}");
        }
        assert_eq!(port_statistics("lo").unwrap(), PortStatistics::default());
        assert_eq!(pauses_received("lo").unwrap(), None);
        assert!(pauses_received("no-such-device").is_err());
    }

    #[test]
    fn the_loopback_has_features_and_no_rings() {
        assert_eq!(offload("lo", "tcp-segmentation-offload").unwrap(), "on");
        assert_eq!(offload("lo", "large-receive-offload").unwrap(), "off");
        assert_eq!(ring("lo", "rx").unwrap_err().kind(), io::ErrorKind::NotFound);
        assert!(set_offload("lo", "rx-checksumming", false).unwrap_err().to_string().contains("fixed"));
    }
}
