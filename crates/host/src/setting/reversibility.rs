//! Why a change could not be rolled back whole: what cannot be restored is not changed.

use std::io;
use std::os::fd::AsFd as _;

use super::file::folder_is_there;
use super::namespace::InNamespace;
use super::other_netns::StackedElsewhere;
use super::resolved_locator::{self, ResolvedLocator};
use super::value_text::{self, LONGEST_VALUE_BYTES};
use super::{coupled, ethtool, netlink, other_netns, stacked_interfaces};

/// The least MTU of each family, below which an interface has it no more: its addresses, routes and settings go
/// (`net/ipv6/addrconf.c: addrconf_notify`, `net/ipv4/devinet.c: inetdev_event`).
const LEAST_MTU: [(&str, &str, u32); 2] = [("ipv6", "IPv6", 1280), ("ipv4", "IPv4", 68)];

/// The reason; `None` where a change can be rolled back.
pub(super) fn refusal(
    in_namespace: &InNamespace<'_>,
    resolved: &ResolvedLocator,
    prior: &str,
    new: &str,
) -> Option<String> {
    let moving = coupled::read(in_namespace, resolved);
    let of_moving = moving.iter().find_map(|coupled| {
        let why = unwritable(&resolved_locator::from_recorded(&coupled.locator).ok()?, &coupled.value)?;
        Some(format!("{} changes with it: {why}", coupled::in_words(&coupled.locator)))
    });
    unwritable(resolved, prior).or(of_moving).or_else(|| match resolved {
        ResolvedLocator::Mtu(device) => of_mtu(in_namespace, device, prior.parse().ok()?, new.trim().parse().ok()?),
        ResolvedLocator::Sysfs(path) => of_discards(in_namespace, path, prior, new),
        ResolvedLocator::Channels(device) if in_namespace.root.is_live() => of_channels(in_namespace, device),
        ResolvedLocator::Offload(device, feature) if in_namespace.root.is_live() => of_offload(device, feature),
        _ => None,
    })
}

/// Why a value could not be written back, as it is written: one text, or one for each of several files.
fn unwritable(resolved: &ResolvedLocator, prior: &str) -> Option<String> {
    let is_several = match resolved {
        ResolvedLocator::Sysfs(path) => path.contains('*'),
        ResolvedLocator::Affinities(_) => true,
        _ => false,
    };
    if !is_several {
        return odd(prior);
    }
    prior.split(' ').map(|pair| pair.split_once('=').map_or(pair, |(_, value)| value)).find_map(odd)
}

fn odd(prior: &str) -> Option<String> {
    let what = if prior.len() > LONGEST_VALUE_BYTES {
        format!("has {} bytes, and the kernel takes {LONGEST_VALUE_BYTES} at a time", prior.len())
    } else if prior.chars().any(|c| c.is_control() && c != '\t') {
        "has several lines or control characters".to_owned()
    } else if prior.contains(char::REPLACEMENT_CHARACTER) {
        "is not UTF-8".to_owned()
    } else {
        return None;
    };
    Some(format!("its present value {what}, so rollback could not restore it: set it manually"))
}

/// The kernel takes multiples of a device's granularity, and no more than 32 bits; without discards the granularity is
/// 0 since Linux 6.9, and nothing is taken any more (`block/blk-sysfs.c: queue_max_discard_sectors_store`,
/// `queue_var_store`). What a device begins with may be neither.
fn of_discards(in_namespace: &InNamespace<'_>, path: &str, prior: &str, new: &str) -> Option<String> {
    let folder = path.strip_suffix("/discard_max_bytes")?;
    if new.trim() == "0" {
        return Some("the kernel takes no other value after that: mount without discard instead".to_owned());
    }
    let granularity = number(in_namespace, &format!("{folder}/discard_granularity")).filter(|bytes| *bytes > 0)?;
    let is_taken = prior.parse::<u32>().is_ok_and(|bytes| bytes % granularity == 0);
    (!is_taken).then(|| {
        format!(
            "its present value {prior} cannot be written back: the kernel takes multiples of {granularity} up to {}",
            u32::MAX
        )
    })
}

/// An interface and those that follow it keep their addresses and routes, or it is not done.
fn of_mtu(in_namespace: &InNamespace<'_>, device: &str, prior: u32, new: u32) -> Option<String> {
    if stacked_interfaces::is_bridge(in_namespace, device) {
        // `net/bridge/br_device.c: br_change_mtu` marks it as set by hand.
        let why = "takes its MTU from its ports until one is set, and rollback does not restore that";
        return Some(format!("bridge {device} {why}: set that of its ports"));
    }
    let mut moved = vec![(device.to_owned(), prior, new)];
    moved.extend(followers(in_namespace, device, new));
    for (name, _, then) in &moved {
        let goes = LEAST_MTU.iter().find(|(folder, _, least)| then < least && has_family(in_namespace, folder, name));
        if let Some((_, family, least)) = goes {
            return Some(format!(
                "with an MTU below {least}, {name} loses its addresses, routes and settings of {family}, and rollback \
                 does not restore them: choose at least {least}"
            ));
        }
    }
    let all: Vec<_> = moved.iter().cloned().chain(raised(in_namespace, device, new)).collect();
    of_routes(in_namespace, &all).or_else(|| {
        let names: Vec<&str> = moved.iter().map(|(name, ..)| name.as_str()).collect();
        // Whoever is not root is told what can be seen, and cannot change it.
        let is_strict = rustix::process::geteuid().is_root();
        other_netns::refusal(&other_netns::on_top(in_namespace, &indices(in_namespace, &names)), prior, new, is_strict)
    })
}

fn indices(in_namespace: &InNamespace<'_>, names: &[&str]) -> Vec<u32> {
    names.iter().filter_map(|name| number(in_namespace, &format!("class/net/{name}/ifindex"))).collect()
}

/// What stands on an interface and on those that may move with it, in other network namespaces, right before its MTU is
/// set: none of that is moved.
pub(super) fn elsewhere_before(
    in_namespace: &InNamespace<'_>,
    resolved: &ResolvedLocator,
    new: &str,
) -> io::Result<Option<StackedElsewhere>> {
    let ResolvedLocator::Mtu(device) = resolved else { return Ok(None) };
    let (prior, new) =
        (value_text::number(&resolved_locator::read(in_namespace, resolved)?.0)?, value_text::number(new)?);
    let on_top = all_on_top(in_namespace, device);
    let why = other_netns::refusal(&on_top, prior, new, true);
    why.map_or(Ok(Some(on_top)), |why| Err(io::Error::other(why)))
}

/// The same right after that: where something of it was moved all the same, that is an error.
pub(super) fn elsewhere_after(
    in_namespace: &InNamespace<'_>,
    resolved: &ResolvedLocator,
    before: Option<&StackedElsewhere>,
) -> io::Result<()> {
    let (ResolvedLocator::Mtu(device), Some(before)) = (resolved, before) else { return Ok(()) };
    let why = other_netns::moved(before, &all_on_top(in_namespace, device));
    why.map_or(Ok(()), |why| Err(io::Error::other(why)))
}

fn all_on_top(in_namespace: &InNamespace<'_>, device: &str) -> StackedElsewhere {
    let others = stacked_interfaces::moved_with(in_namespace, device);
    let names: Vec<&str> = std::iter::once(device).chain(others.iter().map(String::as_str)).collect();
    other_netns::on_top(in_namespace, &indices(in_namespace, &names))
}

/// What an interface does not receive in large, that which it stands on does not either, wherever that is
/// (`net/core/dev.c: netdev_sync_lower_features`).
fn of_offload(device: &str, feature: &'static str) -> Option<String> {
    let all = if ethtool::members(feature).contains(&"rx-lro") { netlink::links(None).ok()? } else { Vec::new() };
    let it = all.iter().find(|link| link.name == device)?;
    other_netns::stands_elsewhere(it).then(|| {
        format!(
            "{device} is stacked on an interface in another network namespace, whose {feature} the kernel turns off \
             with it, and rollback does not restore that: set it there"
        )
    })
}

/// A route of IPv6 keeps its MTU, or it is not done.
fn of_routes(in_namespace: &InNamespace<'_>, moved: &[(String, u32, u32)]) -> Option<String> {
    // What cannot be asked is not refused: without netlink the MTU cannot be set either.
    let routes = if in_namespace.root.is_live() { netlink::route_mtus().unwrap_or_default() } else { Vec::new() };
    moved.iter().find_map(|(name, own, then)| {
        let index = number(in_namespace, &format!("class/net/{name}/ifindex"))?;
        let of_ipv6 = ipv6_mtu(in_namespace, name).unwrap_or(*own);
        let by_it = |of: u32| of == index || of == netlink::ANY_INTERFACE;
        let lost = routes.iter().find(|(of, mtu)| by_it(*of) && there_and_back(*mtu, of_ipv6, *own, *then) != *mtu);
        lost.map(|(_, mtu)| {
            format!(
                "an IPv6 route on {name} has its own MTU, {mtu}, which the kernel changes with the interface's MTU and \
                 which rollback does not restore: remove it from the route"
            )
        })
    })
}

/// Bridges above an interface that a larger MTU may raise: each takes the least of its ports, unless one was set.
fn raised(in_namespace: &InNamespace<'_>, device: &str, new: u32) -> impl Iterator<Item = (String, u32, u32)> {
    let above = stacked_interfaces::moved_with(in_namespace, device)
        .into_iter()
        .filter(|name| stacked_interfaces::is_bridge(in_namespace, name));
    above
        .filter_map(move |name| Some((mtu(in_namespace, &name).filter(|own| *own < new)?, name)))
        .map(move |(own, name)| (name, own, new))
}

/// Interfaces whose MTU follows that of another to a value: their names, what it is and what it will be.
pub(super) fn followers(in_namespace: &InNamespace<'_>, device: &str, new: u32) -> Vec<(String, u32, u32)> {
    let with_mtu = |names: Vec<String>| names.into_iter().filter_map(|name| Some((mtu(in_namespace, &name)?, name)));
    let members = stacked_interfaces::members(in_namespace, device);
    let above = stacked_interfaces::moved_with(in_namespace, device)
        .into_iter()
        .filter(|name| !members.contains(name))
        .collect();
    let above = with_mtu(above).filter(|(own, _)| *own > new);
    with_mtu(members.clone()).filter(|(own, _)| *own != new).chain(above).map(|(own, name)| (name, own, new)).collect()
}

/// What becomes of a route's MTU when its interface's goes from one to another and back: `net/ipv6/route.c:
/// rt6_mtu_change_route`, with that of IPv6 on the interface, which is the interface's after the first time.
fn there_and_back(route: u32, of_ipv6: u32, prior: u32, new: u32) -> u32 {
    let moved = |route: u32, of_ipv6: u32, to: u32| if route >= to || route == of_ipv6 { to } else { route };
    moved(moved(route, of_ipv6, new), new, prior)
}

fn has_family(in_namespace: &InNamespace<'_>, family: &str, device: &str) -> bool {
    let folder = format!("net/{family}/conf/{device}");
    in_namespace.sysctls().and_then(|tree| folder_is_there(tree.as_fd(), &folder)).unwrap_or(false)
}

fn ipv6_mtu(in_namespace: &InNamespace<'_>, device: &str) -> Option<u32> {
    resolved_locator::read(in_namespace, &ResolvedLocator::Sysctl(format!("net/ipv6/conf/{device}/mtu")))
        .ok()?
        .0
        .parse()
        .ok()
}

fn mtu(in_namespace: &InNamespace<'_>, device: &str) -> Option<u32> {
    number(in_namespace, &format!("class/net/{device}/mtu"))
}

fn number(in_namespace: &InNamespace<'_>, path: &str) -> Option<u32> {
    resolved_locator::read(in_namespace, &ResolvedLocator::Sysfs(path.to_owned())).ok()?.0.trim().parse().ok()
}

/// Queueing disciplines that somebody hung on the queues of a `mq` go with the queues; those that the kernel put there
/// have no handle, and come again.
fn of_channels(in_namespace: &InNamespace<'_>, device: &str) -> Option<String> {
    let index = number(in_namespace, &format!("class/net/{device}/ifindex"))?;
    let all = netlink::disciplines(index).ok()?;
    let root = all.iter().find(|one| one.is_root)?;
    let of_queues = matches!(root.kind.as_str(), "mq" | "mqprio" | "taprio");
    let hung = all.iter().find(|one| of_queues && !one.is_root && !one.is_ingress && one.handle != 0)?;
    Some(format!(
        "queueing discipline {} {:x}: of {device} disappears with its queue, and rollback does not restore it: remove \
         it with tc qdisc del",
        hung.kind,
        hung.handle >> 16
    ))
}

#[cfg(test)]
mod tests {
    use super::super::within;
    use super::*;
    use crate::Root;

    #[test]
    fn what_could_not_be_written_back_whole_is_not_changed() {
        let (sysctl, queues) =
            (ResolvedLocator::Sysctl("a/b".to_owned()), ResolvedLocator::Sysfs("a/rx-*/b".to_owned()));
        let interrupts = ResolvedLocator::Affinities("eth0".to_owned());
        let several = |length: usize| format!("rx-0={} rx-1={0}", "f".repeat(length));
        let cases = [
            (&sysctl, "9".repeat(4094), None),
            (&sysctl, "9".repeat(4095), Some("4095 bytes")),
            (&sysctl, "4096\t131072".to_owned(), None),
            (&sysctl, "a\nb".to_owned(), Some("several lines")),
            (&sysctl, "a\u{fffd}".to_owned(), Some("UTF-8")),
            (&sysctl, several(3000), Some("6011 bytes")),
            (&queues, several(3000), None),
            (&queues, several(4095), Some("4095 bytes")),
            (&interrupts, several(3000), None),
            (&queues, String::new(), None),
        ];
        for (resolved, prior, expected) in cases {
            let why = unwritable(resolved, &prior);
            let is_reported = expected.is_none_or(|part| why.as_ref().is_some_and(|why| why.contains(part)));
            assert!(why.is_some() == expected.is_some() && is_reported, "{resolved:?} {expected:?}: {why:?}");
        }
    }

    #[test]
    fn an_mtu_that_takes_a_family_away_is_refused_for_all_that_follow() {
        let dir = tempfile::tempdir().unwrap();
        let class = dir.path().join("sys/class/net");
        for (name, mtu, others) in [
            ("eth0", "1500", &["upper_eth0.7"][..]),
            ("eth0.7", "1400", &[]),
            ("eth1", "1500", &[]),
            ("eth2", "1200", &[]),
            ("bond0", "1500", &["bonding", "lower_eth1"]),
            ("br0", "1500", &["bridge"]),
        ] {
            std::fs::create_dir_all(class.join(name)).unwrap();
            std::fs::write(class.join(name).join("mtu"), format!("{mtu}\n")).unwrap();
            for other in others {
                std::fs::create_dir(class.join(name).join(other)).unwrap();
            }
        }
        for folder in ["ipv6/conf/eth0.7", "ipv6/conf/eth1", "ipv4/conf/eth2"] {
            std::fs::create_dir_all(dir.path().join("proc/sys/net").join(folder)).unwrap();
        }
        let root = Root::captured(dir.path());
        let ask = |device: &str, new| {
            within(&root, &Default::default(), None, |in_namespace| {
                Ok(of_mtu(in_namespace, device, mtu(in_namespace, device).unwrap(), new))
            })
            .unwrap()
        };
        for (device, new, expected) in [
            ("eth0", 1280, None),
            ("eth0", 1279, Some("below 1280, eth0.7 loses")),
            ("bond0", 9000, None),
            ("bond0", 1000, Some("below 1280, eth1 loses")),
            ("eth2", 68, None),
            ("eth2", 67, Some("below 68, eth2 loses its addresses, routes and settings of IPv4")),
            ("br0", 9000, Some("bridge br0 takes its MTU from its ports")),
        ] {
            let why = ask(device, new);
            let is_reported = expected.is_none_or(|part| why.as_ref().is_some_and(|why| why.contains(part)));
            assert!(why.is_some() == expected.is_some() && is_reported, "{device} {new}: {why:?}");
        }
    }

    #[test]
    fn a_limit_of_discards_that_the_kernel_would_not_take_again_is_not_changed() {
        let dir = tempfile::tempdir().unwrap();
        let folder = dir.path().join("sys/block/sda/queue");
        std::fs::create_dir_all(&folder).unwrap();
        let root = Root::captured(dir.path());
        for (granularity, prior, new, expected) in [
            ("4096", "1073741824", "4194304", None),
            ("4096", "4294966784", "4194304", Some("multiples of 4096")),
            ("512", "4294966784", "4194304", None),
            ("512", "2199023255040", "4194304", Some("2199023255040 cannot be written back")),
            ("512", "4194304", "0", Some("no other value after that")),
            ("0", "0", "4194304", None),
        ] {
            std::fs::write(folder.join("discard_granularity"), granularity).unwrap();
            let path = "block/sda/queue/discard_max_bytes";
            let why = within(&root, &Default::default(), None, |in_namespace| {
                Ok(of_discards(in_namespace, path, prior, new))
            });
            let why = why.unwrap();
            let is_reported = expected.is_none_or(|part| why.as_ref().is_some_and(|why| why.contains(part)));
            assert!(why.is_some() == expected.is_some() && is_reported, "{granularity} {prior} {new}: {why:?}");
        }
    }

    #[test]
    fn a_routes_mtu_comes_back_or_not_as_the_kernel_has_it() {
        for (route, of_ipv6, prior, new, back) in [
            (1400, 1500, 1500, 1300, 1500),
            (1400, 1500, 1500, 9000, 1400),
            (1400, 1500, 1500, 1450, 1400),
            (1500, 1500, 1500, 9000, 1500),
            (1400, 1400, 1500, 9000, 1500),
            (1500, 1500, 1500, 1400, 1500),
        ] {
            assert_eq!(there_and_back(route, of_ipv6, prior, new), back, "{route} {of_ipv6} {prior} {new}");
        }
    }
}
