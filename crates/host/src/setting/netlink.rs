//! Netlink, as far as interfaces need it: requests out, one reply in. All by safe calls on a socket.
//!
//! Formats: `include/uapi/linux/{netlink,genetlink,rtnetlink,if_link}.h`.

use std::io;
use std::net::IpAddr;
use std::os::fd::{AsRawFd as _, BorrowedFd, OwnedFd};
use std::time::Duration;

use linerate_record::journal::{Device, DeviceKind};
use rustix::net::{AddressFamily, Protocol, RecvFlags, SendFlags, SocketFlags, SocketType, netlink, sockopt};

const HEADER_BYTES: usize = 16;
const REQUEST: u16 = 1;
const ACKNOWLEDGE: u16 = 4;
const ERROR: u16 = 2;
const DONE: u16 = 3;
/// `NLM_F_DUMP`: all that there are, each a message.
const DUMP: u16 = 0x300;
/// `NLM_F_DUMP_INTR`: what was told changed meanwhile, so that something may be missing.
const INTERRUPTED: u16 = 0x10;
/// How often all of a kind is asked for again where it changed meanwhile.
const DUMPS: u32 = 8;
const NESTED: u16 = 1 << 15;
/// Attributes' types are 14 bits; two flags stand above.
const TYPE_MASK: u16 = (1 << 14) - 1;
const GET_LINK: u16 = 18;
const GET_ROUTE: u16 = 26;
const SET_LINK: u16 = 19;
const GET_DISCIPLINE: u16 = 38;
const GET_SPACE: u16 = 90;
const INTERFACE_NAME: u16 = 3;
const MTU: u16 = 4;
/// `IFLA_LINK`, `IFLA_LINKINFO`, `IFLA_LINK_NETNSID` and `IFLA_TARGET_NETNSID` (Linux 4.15) of `if_link.h`;
/// `IFLA_INFO_KIND` within the second.
const BELOW: u16 = 5;
const INFO: u16 = 18;
const SPACE_OF_BELOW: u16 = 37;
const TARGET_SPACE: u16 = 46;
const INFO_KIND: u16 = 1;
/// `NETNSA_NSID` and `NETNSA_FD` of `net_namespace.h`, behind a `struct rtgenmsg`.
const SPACE_NUMBER: u16 = 1;
const SPACE_FILE: u16 = 3;
const SPACE_HEADER_BYTES: usize = 4;
/// `IFLA_PERM_ADDRESS` (Linux 5.6), `IFLA_PARENT_DEV_NAME` and `IFLA_PARENT_DEV_BUS_NAME` (5.14) of `if_link.h`.
const PERMANENT_ADDRESS: u16 = 54;
const PARENT: u16 = 56;
const PARENT_BUS: u16 = 57;
const INTERFACE_HEADER_BYTES: usize = 16;
const ROUTE_HEADER_BYTES: usize = 12;
const DISCIPLINE_HEADER_BYTES: usize = 20;
/// `RTA_DST`, `RTA_OIF`, `RTA_METRICS` and `RTA_MULTIPATH` of `rtnetlink.h`; `RTAX_LOCK` and `RTAX_MTU` of metrics.
const DESTINATION: u16 = 1;
const OUTGOING: u16 = 4;
const METRICS: u16 = 8;
const MULTIPATH: u16 = 9;
const LOCKED: u16 = 1;
const ROUTE_MTU: u16 = 2;
/// `TCA_STATS2` of `rtnetlink.h`, and `TCA_STATS_QUEUE` of `gen_stats.h` in it, whose `struct gnet_stats_queue` has
/// drops behind two numbers, and behind one more what `tc` calls overlimits.
const STATISTICS: u16 = 7;
const STATISTICS_OF_QUEUE: u16 = 3;
/// `TCA_KIND` of `rtnetlink.h`; `TC_H_ROOT`, and `TC_H_INGRESS`, which is `clsact`'s too, of `pkt_sched.h`.
const KIND: u16 = 1;
const ROOT: u32 = u32::MAX;
const INGRESS: u32 = 0xffff_fff1;
/// A reply of an interface with all its statistics stays under 16 KiB.
const REPLY_BYTES: usize = 64 << 10;
/// A driver that resets its rings may take seconds.
const PATIENCE: Duration = Duration::from_secs(20);

/// The MTU of an interface, in bytes.
pub(super) fn mtu(device: &str) -> io::Result<u32> {
    let socket = open(None)?;
    let reply = call(&socket, GET_LINK, REQUEST, &link(device))?;
    let attributes = reply.get(INTERFACE_HEADER_BYTES..).ok_or_else(short)?;
    number(attributes, MTU).ok_or_else(short)
}

/// An interface, as far as what stands on what needs it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Link {
    pub(super) index: u32,
    pub(super) name: String,
    /// In bytes.
    pub(super) mtu: u32,
    /// What the kernel calls its kind: `macvlan`; empty of hardware.
    pub(super) kind: String,
    /// The index of the interface that it stands on, or is joined to; its own where there is none.
    pub(super) below: u32,
    /// The number of the network namespace of that, where it is another than its own.
    pub(super) space_of_below: Option<u32>,
    /// What hardware stands behind it.
    pub(super) identity: Option<String>,
}

/// The interfaces of this thread's network namespace, each with what hardware stands behind it.
pub(super) fn interfaces() -> io::Result<Vec<Device>> {
    let (all, _) = dumped(None)?;
    let device = |link: Link| Device {
        kind: DeviceKind::Interface,
        name: link.name,
        number: u64::from(link.index),
        identity: link.identity,
        node: None,
    };
    Ok(all.into_iter().map(device).collect())
}

/// The interfaces of this thread's network namespace, or of the one to which it gives a number.
///
/// # Errors
/// Where not all of them can be told.
pub(super) fn links(space: Option<u32>) -> io::Result<Vec<Link>> {
    match dumped(space)? {
        (all, true) => Ok(all),
        (_, false) => Err(io::Error::new(io::ErrorKind::Interrupted, "interfaces come and go all the time")),
    }
}

/// The name of each interface of this thread's network namespace, its kind as the kernel calls it, and its MTU.
///
/// # Errors
/// Where netlink cannot be asked.
pub(crate) fn interface_kinds() -> io::Result<Vec<(String, String, u32)>> {
    Ok(dumped(None)?.0.into_iter().map(|link| (link.name, link.kind, link.mtu)).collect())
}

fn dumped(space: Option<u32>) -> io::Result<(Vec<Link>, bool)> {
    let mut body = vec![0; INTERFACE_HEADER_BYTES];
    if let Some(number) = space {
        attribute(&mut body, TARGET_SPACE, &number.to_ne_bytes());
    }
    let mut found = Vec::new();
    let is_whole = dump(GET_LINK, &body, &mut |message| found.extend(as_link(message)))?;
    Ok((found, is_whole))
}

fn as_link(message: &[u8]) -> Option<Link> {
    let index = u32::from_ne_bytes(message.get(4..8)?.try_into().ok()?);
    let attributes = message.get(INTERFACE_HEADER_BYTES..)?;
    let text = |attributes, kind| {
        let text = content(attributes, kind)?;
        Some(String::from_utf8_lossy(text.strip_suffix(&[0]).unwrap_or(text)).into_owned())
    };
    let place =
        text(attributes, PARENT).map(|parent| format!("{}/{parent}", text(attributes, PARENT_BUS).unwrap_or_default()));
    let address = content(attributes, PERMANENT_ADDRESS)
        .map(|bytes| bytes.iter().map(|byte| format!("{byte:02x}")).collect::<Vec<_>>().join(":"));
    let identity: Vec<String> = place.into_iter().chain(address).collect();
    Some(Link {
        index,
        name: text(attributes, INTERFACE_NAME)?,
        mtu: number(attributes, MTU).unwrap_or_default(),
        kind: content(attributes, INFO).and_then(|info| text(info, INFO_KIND)).unwrap_or_default(),
        below: number(attributes, BELOW).unwrap_or(index),
        space_of_below: number(attributes, SPACE_OF_BELOW),
        identity: (!identity.is_empty()).then(|| identity.join(" ")),
    })
}

/// The number that this thread's network namespace gives to another; none where it has not needed one.
pub(super) fn number_of_space(space: BorrowedFd<'_>) -> io::Result<Option<u32>> {
    let mut body = vec![0; SPACE_HEADER_BYTES];
    attribute(&mut body, SPACE_FILE, &space.as_raw_fd().to_ne_bytes());
    let reply = call(&open(None)?, GET_SPACE, REQUEST, &body)?;
    Ok(as_number_of_space(&reply))
}

/// The numbers that this thread's network namespace gives to others. It gives one to where an interface is moved.
pub(super) fn numbers_of_spaces() -> io::Result<Vec<u32>> {
    let mut found = Vec::new();
    dump(GET_SPACE, &[0; SPACE_HEADER_BYTES], &mut |message| found.extend(as_number_of_space(message)))?;
    Ok(found)
}

/// Signed: -1 stands for none.
fn as_number_of_space(message: &[u8]) -> Option<u32> {
    let number = number(message.get(SPACE_HEADER_BYTES..)?, SPACE_NUMBER)?;
    i32::try_from(number).is_ok().then_some(number)
}

/// Sets the MTU of an interface.
pub(super) fn set_mtu(device: &str, mtu: u32) -> io::Result<()> {
    let socket = open(None)?;
    let mut body = link(device);
    attribute(&mut body, MTU, &mtu.to_ne_bytes());
    call(&socket, SET_LINK, REQUEST | ACKNOWLEDGE, &body).map(drop)
}

/// The interface that packets to an address leave by, from this thread's network namespace: its index.
pub(crate) fn interface_to(address: IpAddr) -> io::Result<u32> {
    let (family, bytes) = match address {
        IpAddr::V4(address) => (AddressFamily::INET, address.octets().to_vec()),
        IpAddr::V6(address) => (AddressFamily::INET6, address.octets().to_vec()),
    };
    let mut body = vec![0; ROUTE_HEADER_BYTES];
    body[0] = u8::try_from(family.as_raw()).unwrap_or_default();
    body[1] = u8::try_from(8 * bytes.len()).unwrap_or_default();
    attribute(&mut body, DESTINATION, &bytes);
    let reply = call(&open(None)?, GET_ROUTE, REQUEST, &body)?;
    number(reply.get(ROUTE_HEADER_BYTES..).ok_or_else(short)?, OUTGOING).ok_or_else(short)
}

/// The name of the interface of an index.
pub(crate) fn interface_name(index: u32) -> io::Result<String> {
    Ok(rustix::net::netdevice::index_to_name(&open(None)?, index)?)
}

/// The interface of a route that goes by a nexthop object: which it is stands there, and nothing asks for it.
pub(super) const ANY_INTERFACE: u32 = 0;

/// Routes of IPv6 with an MTU of their own that follows their interface's, in all tables: the interface's index, and
/// the MTU.
pub(super) fn route_mtus() -> io::Result<Vec<(u32, u32)>> {
    let mut body = vec![0; ROUTE_HEADER_BYTES];
    body[0] = u8::try_from(AddressFamily::INET6.as_raw()).unwrap_or_default();
    let mut found = Vec::new();
    dump(GET_ROUTE, &body, &mut |route| {
        let attributes = route.get(ROUTE_HEADER_BYTES..).unwrap_or_default();
        let metrics = content(attributes, METRICS).unwrap_or_default();
        let is_locked = number(metrics, LOCKED).is_some_and(|locks| locks & (1 << ROUTE_MTU) != 0);
        if let Some(mtu) = number(metrics, ROUTE_MTU).filter(|_| !is_locked) {
            let several = hops(content(attributes, MULTIPATH).unwrap_or_default());
            let mut by: Vec<u32> = number(attributes, OUTGOING).into_iter().chain(several).collect();
            // With `net.ipv4.nexthop_compat_mode` off, the route names its nexthop and no interface.
            by.extend(by.is_empty().then_some(ANY_INTERFACE));
            found.extend(by.into_iter().map(|index| (index, mtu)));
        }
    })?;
    Ok(found)
}

/// The interfaces of the ways of a route (`struct rtnexthop`).
fn hops(mut bytes: &[u8]) -> impl Iterator<Item = u32> {
    std::iter::from_fn(move || {
        let length = usize::from(u16::from_ne_bytes(bytes.get(..2)?.try_into().ok()?));
        let index = u32::from_ne_bytes(bytes.get(4..8)?.try_into().ok()?);
        bytes = bytes.get(length.max(8).next_multiple_of(4)..).unwrap_or_default();
        Some(index)
    })
}

/// A queueing discipline of an interface.
pub(super) struct Discipline {
    /// What `tc` calls it.
    pub(super) kind: String,
    /// Its number, in the upper half; 0 where the kernel put it there by itself.
    pub(super) handle: u32,
    /// Whether it is the interface's own, and hangs on no other.
    pub(super) is_root: bool,
    /// Whether it is that of what comes in.
    pub(super) is_ingress: bool,
}

/// The queueing disciplines of the interface of an index.
pub(super) fn disciplines(index: u32) -> io::Result<Vec<Discipline>> {
    let mut found = Vec::new();
    dump(GET_DISCIPLINE, &[0; DISCIPLINE_HEADER_BYTES], &mut |one| {
        found.extend(discipline(one).filter(|(of, ..)| *of == index).map(|(_, discipline, _)| discipline));
    })?;
    Ok(found)
}

/// The index of the interface of a discipline, the discipline, and its attributes.
fn discipline(one: &[u8]) -> Option<(u32, Discipline, &[u8])> {
    let word = |at: usize| one.get(at..at + 4).and_then(|bytes| bytes.try_into().ok()).map(u32::from_ne_bytes);
    let (of, handle, parent) = (word(4)?, word(8)?, word(12)?);
    let attributes = one.get(DISCIPLINE_HEADER_BYTES..)?;
    let kind = content(attributes, KIND).unwrap_or_default();
    let kind = String::from_utf8_lossy(kind.strip_suffix(&[0]).unwrap_or(kind)).into_owned();
    Some((of, Discipline { kind, handle, is_root: parent == ROOT, is_ingress: parent == INGRESS }, attributes))
}

/// Counters of the own queue of an interface, since it is there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct QueueCount {
    /// The index of the interface.
    pub(crate) interface: u32,
    /// What `tc` calls it.
    pub(crate) kind: String,
    pub(crate) handle: u32,
    /// Packets that it dropped.
    pub(crate) dropped: u32,
    /// How often it held packets back for its rate.
    pub(crate) held_back: u32,
}

/// The own queues of the interfaces of this thread's network namespace.
pub(crate) fn queue_counts() -> io::Result<Vec<QueueCount>> {
    let mut found = Vec::new();
    dump(GET_DISCIPLINE, &[0; DISCIPLINE_HEADER_BYTES], &mut |one| found.extend(queue_count(one)))?;
    Ok(found)
}

fn queue_count(one: &[u8]) -> Option<QueueCount> {
    let (interface, Discipline { kind, handle, is_root, .. }, attributes) = discipline(one)?;
    let counts = content(content(attributes, STATISTICS)?, STATISTICS_OF_QUEUE)?;
    let count = |at: usize| Some(u32::from_ne_bytes(counts.get(at..at + 4)?.try_into().ok()?));
    let (dropped, held_back) = (count(8)?, count(16)?);
    is_root.then_some(QueueCount { interface, kind, handle, dropped, held_back })
}

fn link(device: &str) -> Vec<u8> {
    let mut body = vec![0; INTERFACE_HEADER_BYTES];
    attribute(&mut body, INTERFACE_NAME, &text(device));
    body
}

/// A socket of a family of netlink; none is the one of routes and links.
pub(crate) fn open(protocol: Option<Protocol>) -> io::Result<OwnedFd> {
    let socket = rustix::net::socket_with(AddressFamily::NETLINK, SocketType::RAW, SocketFlags::CLOEXEC, protocol)?;
    sockopt::set_socket_timeout(&socket, sockopt::Timeout::Recv, Some(PATIENCE))?;
    Ok(socket)
}

/// The generic family, whose number a name has to be asked for.
pub(super) const GENERIC: Protocol = netlink::GENERIC;

/// Sends one request and gives the body of its reply: empty where it is only acknowledged.
pub(super) fn call(socket: &OwnedFd, kind: u16, flags: u16, body: &[u8]) -> io::Result<Vec<u8>> {
    ask(socket, kind, flags, body)?;
    let mut buffer = vec![0; REPLY_BYTES];
    let mut answer = Vec::new();
    loop {
        let (received, _) = rustix::net::recv(socket, buffer.as_mut_slice(), RecvFlags::empty())?;
        let mut rest = &buffer[..received];
        while let Some((kind, content, after)) = message(rest) {
            rest = after;
            if kind == ERROR {
                return acknowledged(content).map(|()| answer);
            }
            answer = content.to_vec();
            if flags & ACKNOWLEDGE == 0 {
                return Ok(answer);
            }
        }
    }
}

/// Asks for all of a kind, and tells each; gives whether these are all.
fn dump(kind: u16, body: &[u8], tell: &mut dyn FnMut(&[u8])) -> io::Result<bool> {
    let (mut reported, mut is_whole) = dump_once(kind, body)?;
    for _ in 1..DUMPS {
        if is_whole {
            break;
        }
        (reported, is_whole) = dump_once(kind, body)?;
    }
    reported.iter().for_each(|message| tell(message));
    Ok(is_whole)
}

fn dump_once(kind: u16, body: &[u8]) -> io::Result<(Vec<Vec<u8>>, bool)> {
    let socket = open(None)?;
    ask(&socket, kind, REQUEST | DUMP, body)?;
    let mut buffer = vec![0; REPLY_BYTES];
    let (mut reported, mut is_whole) = (Vec::new(), true);
    loop {
        let (received, _) = rustix::net::recv(&socket, buffer.as_mut_slice(), RecvFlags::empty())?;
        let mut rest = &buffer[..received];
        while let Some((kind, content, after)) = message(rest) {
            is_whole &= !was_interrupted(rest);
            rest = after;
            match kind {
                // A dump that fails says so here.
                DONE | ERROR => return acknowledged(content).map(|()| (reported, is_whole)),
                _ => reported.push(content.to_vec()),
            }
        }
    }
}

fn was_interrupted(message: &[u8]) -> bool {
    let flags = message.get(6..8).and_then(|bytes| bytes.try_into().ok()).map(u16::from_ne_bytes);
    flags.is_some_and(|flags| flags & INTERRUPTED != 0)
}

fn ask(socket: &OwnedFd, kind: u16, flags: u16, body: &[u8]) -> io::Result<()> {
    let length = u32::try_from(HEADER_BYTES + body.len()).map_err(|_| short())?;
    let mut request = Vec::with_capacity(HEADER_BYTES + body.len());
    request.extend(length.to_ne_bytes());
    request.extend(kind.to_ne_bytes());
    request.extend(flags.to_ne_bytes());
    request.extend(1_u32.to_ne_bytes());
    request.extend(0_u32.to_ne_bytes());
    request.extend(body);
    rustix::net::send(socket, &request, SendFlags::empty())?;
    Ok(())
}

/// The first message of what was received: its kind, its content, and what follows.
fn message(bytes: &[u8]) -> Option<(u16, &[u8], &[u8])> {
    let length = u32::from_ne_bytes(bytes.get(..4)?.try_into().ok()?) as usize;
    let kind = u16::from_ne_bytes(bytes.get(4..6)?.try_into().ok()?);
    let content = bytes.get(HEADER_BYTES..length)?;
    Some((kind, content, bytes.get(length.next_multiple_of(4)..).unwrap_or_default()))
}

/// What the kernel says at the end of a dump, or instead of it.
///
/// # Errors
/// The error that it names.
pub(crate) fn acknowledged(content: &[u8]) -> io::Result<()> {
    let code = content.get(..4).and_then(|bytes| bytes.try_into().ok()).map(i32::from_ne_bytes).ok_or_else(short)?;
    if code >= 0 { Ok(()) } else { Err(io::Error::from_raw_os_error(code.saturating_neg())) }
}

fn short() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, "a message of netlink is cut short")
}

/// A text with its final zero.
pub(super) fn text(text: &str) -> Vec<u8> {
    let mut bytes = text.as_bytes().to_vec();
    bytes.push(0);
    bytes
}

/// Puts an attribute at the end of a message, padded.
pub(crate) fn attribute(body: &mut Vec<u8>, kind: u16, content: &[u8]) {
    body.extend(u16::try_from(4 + content.len()).unwrap_or(u16::MAX).to_ne_bytes());
    body.extend(kind.to_ne_bytes());
    body.extend(content);
    body.resize(body.len().next_multiple_of(4), 0);
}

/// Puts attributes inside another.
pub(super) fn nest(body: &mut Vec<u8>, kind: u16, content: &[u8]) {
    attribute(body, kind | NESTED, content);
}

/// The attributes of a message or of a nest, in order.
pub(crate) fn attributes(mut bytes: &[u8]) -> impl Iterator<Item = (u16, &[u8])> {
    std::iter::from_fn(move || {
        let length = usize::from(u16::from_ne_bytes(bytes.get(..2)?.try_into().ok()?));
        let kind = u16::from_ne_bytes(bytes.get(2..4)?.try_into().ok()?);
        let content = bytes.get(4..length)?;
        bytes = bytes.get(length.next_multiple_of(4)..).unwrap_or_default();
        Some((kind & TYPE_MASK, content))
    })
}

/// The content of the first attribute of a type.
pub(super) fn content(bytes: &[u8], kind: u16) -> Option<&[u8]> {
    attributes(bytes).find(|(found, _)| *found == kind).map(|(_, content)| content)
}

/// The number in an attribute.
pub(super) fn number(bytes: &[u8], kind: u16) -> Option<u32> {
    Some(u32::from_ne_bytes(content(bytes, kind)?.get(..4)?.try_into().ok()?))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn what_is_put_into_attributes_is_found_in_them() {
        let mut inner = Vec::new();
        attribute(&mut inner, 7, &text("eth0"));
        attribute(&mut inner, 8, &5_u32.to_ne_bytes());
        let mut body = Vec::new();
        nest(&mut body, 1, &inner);
        attribute(&mut body, 2, &[]);
        let nested = content(&body, 1).unwrap();
        assert_eq!(content(nested, 7), Some(&b"eth0\0"[..]));
        assert_eq!(number(nested, 8), Some(5));
        assert_eq!(content(&body, 2), Some(&[][..]));
        assert_eq!(attributes(&body).count(), 2);
    }

    #[test]
    fn the_loopbacks_mtu_is_that_of_sysfs_and_no_interface_has_none() {
        let stated = std::fs::read_to_string("/sys/class/net/lo/mtu").unwrap();
        assert_eq!(mtu("lo").unwrap().to_string(), stated.trim());
        assert_eq!(mtu("none-such").unwrap_err().raw_os_error(), Some(19), "ENODEV");
    }

    #[test]
    fn every_interface_has_the_index_of_sysfs() {
        let all = interfaces().unwrap();
        let lo = all.iter().find(|device| device.name == "lo").unwrap();
        let stated = std::fs::read_to_string("/sys/class/net/lo/ifindex").unwrap();
        assert_eq!((lo.number.to_string().as_str(), &lo.identity), (stated.trim(), &None));
    }

    #[test]
    fn the_interfaces_of_a_route_of_several_ways_are_told() {
        let mut bytes = Vec::new();
        for (length, index) in [(16_u16, 7_u32), (8, 9)] {
            bytes.extend(length.to_ne_bytes());
            bytes.extend([0, 0]);
            bytes.extend(index.to_ne_bytes());
            bytes.extend(vec![0; usize::from(length) - 8]);
        }
        assert_eq!(hops(&bytes).collect::<Vec<_>>(), [7, 9]);
        assert!(route_mtus().is_ok() && disciplines(1).is_ok() && queue_counts().is_ok());
    }

    #[test]
    fn counters_of_an_interfaces_own_queue_are_told_and_those_below_it_are_not() {
        let message = |parent: u32, counts: &[u32]| {
            let mut body = vec![0; DISCIPLINE_HEADER_BYTES];
            body[4..8].copy_from_slice(&7_u32.to_ne_bytes());
            body[8..12].copy_from_slice(&0x8001_0000_u32.to_ne_bytes());
            body[12..16].copy_from_slice(&parent.to_ne_bytes());
            attribute(&mut body, KIND, &text("tbf"));
            let (mut queue, mut statistics) = (Vec::new(), Vec::new());
            counts.iter().for_each(|count| queue.extend(count.to_ne_bytes()));
            attribute(&mut statistics, STATISTICS_OF_QUEUE, &queue);
            nest(&mut body, STATISTICS, &statistics);
            body
        };
        let whole = message(ROOT, &[1, 2, 30, 4, 500]);
        let expected =
            QueueCount { interface: 7, kind: "tbf".to_owned(), handle: 0x8001_0000, dropped: 30, held_back: 500 };
        assert_eq!(queue_count(&whole), Some(expected));
        assert_eq!(queue_count(&message(0x8001_0000, &[1, 2, 30, 4, 500])), None);
        assert_eq!(queue_count(&message(ROOT, &[1, 2, 30])), None);
        assert!((0..whole.len()).all(|cut| queue_count(&whole[..cut]).is_none()));
    }

    #[test]
    fn what_an_interface_stands_on_is_told_with_its_namespace() {
        let (mut body, mut info) = (vec![0; INTERFACE_HEADER_BYTES], Vec::new());
        body[4..8].copy_from_slice(&7_u32.to_ne_bytes());
        attribute(&mut body, INTERFACE_NAME, &text("c0"));
        attribute(&mut body, MTU, &1500_u32.to_ne_bytes());
        let alone = as_link(&body).unwrap();
        assert_eq!((alone.below, alone.space_of_below, alone.kind.as_str()), (7, None, ""));
        attribute(&mut info, INFO_KIND, &text("macvlan"));
        nest(&mut body, INFO, &info);
        attribute(&mut body, BELOW, &2_u32.to_ne_bytes());
        attribute(&mut body, SPACE_OF_BELOW, &0_u32.to_ne_bytes());
        let on_top = as_link(&body).unwrap();
        assert_eq!((on_top.below, on_top.space_of_below, on_top.kind.as_str()), (2, Some(0), "macvlan"));
        assert_eq!((on_top.index, on_top.mtu), (7, 1500));
        assert!(links(None).unwrap().iter().any(|link| link.name == "lo"));
        let mut none = vec![0; SPACE_HEADER_BYTES];
        attribute(&mut none, SPACE_NUMBER, &(-1_i32).to_ne_bytes());
        assert_eq!(as_number_of_space(&none), None);
    }

    proptest! {
        #[test]
        fn no_bytes_make_it_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            attributes(&bytes).count();
            message(&bytes);
            let _ = acknowledged(&bytes);
            hops(&bytes).count();
            as_link(&bytes);
            as_number_of_space(&bytes);
        }
    }
}
