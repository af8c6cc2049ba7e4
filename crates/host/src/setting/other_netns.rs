//! Interfaces of other network namespaces that stand on those of this one: what the kernel moves with these, and nobody
//! restores.

use std::fs::File;
use std::io;
use std::os::fd::AsFd as _;
use std::os::unix::fs::MetadataExt as _;

use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};

use super::namespace::{InNamespace, own_namespace};
use super::namespaces::{self, FoundNetns};
use super::netlink::{self, Link};

/// Kinds that name another interface and leave their MTU as it is when that of the other changes: they are joined to
/// it, or send through it what they wrap.
const ON_THEIR_OWN: [&str; 18] = [
    "veth",
    "netkit",
    "vxcan",
    "vxlan",
    "gre",
    "gretap",
    "erspan",
    "ip6gre",
    "ip6gretap",
    "ip6erspan",
    "ipip",
    "ip6tnl",
    "sit",
    "vti",
    "vti6",
    "xfrm",
    "geneve",
    "bareudp",
];

/// What MACsec takes of each packet at the most: `drivers/net/macsec.c: macsec_extra_len`, and a check of 32 bytes.
const MACSEC_BYTES: u32 = 48;

/// How often namespaces are looked for again where one went meanwhile.
const SEARCHES: u32 = 3;

/// An interface of another network namespace that stands on one of this.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Upper {
    link: Link,
    inode: Option<u64>,
    /// What people call its namespace.
    space: String,
}

/// What stands elsewhere on interfaces of this namespace.
#[derive(Default)]
pub(super) struct StackedElsewhere {
    uppers: Vec<Upper>,
    /// Namespaces that could not be looked into.
    unseen: Vec<String>,
}

/// Whether the MTU of an interface goes with that of one below it, which goes from one to another, and perhaps back.
fn follows(link: &Link, prior: u32, new: u32) -> bool {
    match link.kind.as_str() {
        kind if ON_THEIR_OWN.contains(&kind) => false,
        // `drivers/net/ipvlan/ipvlan_main.c: ipvlan_adjust_mtu`, up and down.
        "ipvlan" | "ipvtap" => prior != new,
        "macsec" => link.mtu.saturating_add(MACSEC_BYTES) > new,
        _ => link.mtu > new,
    }
}

/// Why the MTU of interfaces, by their indices, must not go from one value to another: what it would move elsewhere.
/// What cannot be looked into is a reason where `is_strict`.
pub(super) fn refusal(on_top: &StackedElsewhere, prior: u32, new: u32, is_strict: bool) -> Option<String> {
    let moved: Vec<String> =
        on_top.uppers.iter().filter(|upper| follows(&upper.link, prior, new)).map(in_words).collect();
    if !moved.is_empty() {
        return Some(format!(
            "the kernel changes the MTU of {} with it, and rollback does not restore that: set it there manually \
             first, or remove the interface",
            moved.join(", ")
        ));
    }
    let unseen = on_top.unseen.first().filter(|_| is_strict)?;
    Some(format!(
        "{unseen} cannot be read, and may have interfaces stacked on it whose MTU the kernel changes with it: run as \
         root with CAP_SYS_ADMIN and CAP_SYS_PTRACE"
    ))
}

/// Whether an interface stands on one of another namespace.
pub(super) fn stands_elsewhere(link: &Link) -> bool {
    link.space_of_below.is_some() && !ON_THEIR_OWN.contains(&link.kind.as_str())
}

fn in_words(upper: &Upper) -> String {
    let Upper { link, space, .. } = upper;
    format!("{} {} (now {}) in {space}", link.kind, link.name, link.mtu)
}

/// What of those that stood there has another MTU by now.
pub(super) fn moved(before: &StackedElsewhere, after: &StackedElsewhere) -> Option<String> {
    let now = |then: &Upper| {
        let is_it = |now: &&Upper| (now.inode, now.link.index) == (then.inode, then.link.index);
        after.uppers.iter().find(is_it).filter(|now| now.link.mtu != then.link.mtu)
    };
    let all = before.uppers.iter().filter_map(|then| Some(format!("{}, was {}", in_words(now(then)?), then.link.mtu)));
    let all: Vec<String> = all.collect();
    (!all.is_empty()).then(|| format!("the kernel changed the MTU of {} with it: restore it there", all.join("; ")))
}

/// What stands on interfaces of this thread's network namespace in others; nothing on a captured machine.
pub(super) fn on_top(in_namespace: &InNamespace<'_>, indices: &[u32]) -> StackedElsewhere {
    if !in_namespace.root.is_live() {
        return StackedElsewhere::default();
    }
    let mut on_top = once(indices);
    for _ in 1..SEARCHES {
        // What a namespace was found by may end before it is entered, and the namespace live on.
        if on_top.as_ref().is_ok_and(|on_top| on_top.unseen.is_empty()) {
            break;
        }
        on_top = once(indices);
    }
    on_top
        .unwrap_or_else(|error| StackedElsewhere { uppers: Vec::new(), unseen: vec![format!("the machine ({error})")] })
}

fn once(indices: &[u32]) -> io::Result<StackedElsewhere> {
    let own = own_namespace()?;
    let inode = own.metadata()?.ino();
    let (all, unseen) = namespaces::all();
    let mut on_top = StackedElsewhere { uppers: Vec::new(), unseen };
    let mut numbered = Vec::from_iter(netlink::number_of_space(own.as_fd())?);
    for space in all.iter().filter(|space| space.inode != inode) {
        let seen = opened(space).and_then(|file| {
            let number = netlink::number_of_space(file.as_fd())?;
            numbered.extend(number);
            looked_into(&file, &own).or_else(|error| query_interfaces(number.ok_or(error)?, &own))
        });
        on_top.add(seen, Some(space.inode), &space.reported, indices);
    }
    // Those that are found by nothing but the number that this namespace gives them.
    for number in netlink::numbers_of_spaces()?.into_iter().filter(|number| !numbered.contains(number)) {
        let reported = format!("network namespace {number} of ip netns list-id");
        on_top.add(query_interfaces(number, &own), None, &reported, indices);
    }
    Ok(on_top)
}

/// A namespace, where it is the one that was found.
fn opened(space: &FoundNetns) -> io::Result<File> {
    let file = File::open(&space.path)?;
    let is_it = file.metadata()?.ino() == space.inode;
    if is_it { Ok(file) } else { Err(io::ErrorKind::NotFound.into()) }
}

impl StackedElsewhere {
    fn add(&mut self, seen: io::Result<Seen>, inode: Option<u64>, reported: &str, indices: &[u32]) {
        let Ok((links, number)) = seen else {
            self.unseen.push(reported.to_owned());
            return;
        };
        let uppers = links.into_iter().filter(|link| stands_on(link, number, indices));
        self.uppers.extend(uppers.map(|link| Upper { link, inode, space: reported.to_owned() }));
    }
}

/// Whether an interface of a namespace stands on one of those of another, to which its namespace gives a number.
fn stands_on(link: &Link, number: Option<u32>, indices: &[u32]) -> bool {
    // Before Linux 5.14 these do not say in which namespace it is.
    let is_silent = link.space_of_below.is_none() && matches!(link.kind.as_str(), "ipvlan" | "ipvtap");
    let is_there = link.space_of_below.is_some() && link.space_of_below == number;
    (is_there || is_silent) && indices.contains(&link.below)
}

/// The interfaces of another namespace, and the number that it gives to this one.
type Seen = (Vec<Link>, Option<u32>);

fn looked_into(space: &File, own: &File) -> io::Result<Seen> {
    std::thread::scope(|scope| {
        let in_namespace = scope.spawn(|| {
            move_into_link_name_space(space.as_fd(), Some(LinkNameSpaceType::Network))?;
            // What is told of interfaces first needs the number.
            let links = netlink::links(None)?;
            Ok((links, netlink::number_of_space(own.as_fd())?))
        });
        in_namespace.join().unwrap_or_else(|_| Err(io::Error::other("the thread inside the namespace ended early")))
    })
}

/// The same from here: numbers are this namespace's own then.
fn query_interfaces(number: u32, own: &File) -> io::Result<Seen> {
    let links = netlink::links(Some(number))?;
    Ok((links, netlink::number_of_space(own.as_fd())?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn link(kind: &str, mtu: u32) -> Link {
        Link { kind: kind.to_owned(), mtu, index: 3, name: "c0".to_owned(), below: 2, ..Link::default() }
    }

    #[test]
    fn what_follows_and_what_does_not_is_known_by_its_kind() {
        for (kind, mtu, prior, new, is_moved) in [
            ("macvlan", 1500, 1500, 1400, true),
            ("macvlan", 1400, 1500, 1400, false),
            ("vlan", 1500, 1500, 9000, false),
            ("ipvlan", 1500, 1500, 9000, true),
            ("ipvlan", 1400, 1500, 1400, true),
            ("macsec", 1468, 1500, 1480, true),
            ("macsec", 1432, 1500, 1480, false),
            ("veth", 1500, 1500, 1400, false),
            ("vxlan", 1450, 1500, 1400, false),
            ("whatever", 1500, 1500, 1400, true),
        ] {
            assert_eq!(follows(&link(kind, mtu), prior, new), is_moved, "{kind} {mtu}: {prior} to {new}");
        }
    }

    #[test]
    fn what_stands_on_an_interface_is_told_by_its_index_and_namespace() {
        let on = |kind, space_of_below| Link { space_of_below, ..link(kind, 1500) };
        for (link, number, expected) in [
            (on("macvlan", Some(0)), Some(0), true),
            (on("macvlan", Some(1)), Some(0), false),
            (on("macvlan", None), None, false),
            (on("macvlan", None), Some(0), false),
            (on("ipvlan", None), Some(0), true),
        ] {
            assert_eq!(stands_on(&link, number, &[2]), expected, "{link:?} {number:?}");
            assert!(!stands_on(&link, number, &[7]), "{link:?}");
        }
    }

    #[test]
    fn it_is_refused_by_name_and_what_moved_all_the_same_is_told() {
        let one = |mtu| Upper { link: link("macvlan", mtu), inode: Some(7), space: "network namespace lab".to_owned() };
        let before = StackedElsewhere { uppers: vec![one(1500)], unseen: vec!["that of process 9".to_owned()] };
        let why = refusal(&before, 1500, 1400, true).unwrap();
        assert!(why.contains("macvlan c0 (now 1500) in network namespace lab"), "{why}");
        assert!(refusal(&before, 1500, 9000, true).unwrap().contains("process 9 cannot be read"));
        assert_eq!(refusal(&before, 1500, 9000, false), None);
        let after = StackedElsewhere { uppers: vec![one(1400)], unseen: Vec::new() };
        assert!(moved(&before, &after).unwrap().contains("(now 1400) in network namespace lab, was 1500"));
        assert_eq!(moved(&before, &before), None);
    }
}
