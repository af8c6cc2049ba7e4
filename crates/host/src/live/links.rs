//! Links, by `/proc/net/dev` and `/sys/class/net`: `LinkReceived`, `LinkSent`, `LinkReceivedDrops`, `LinkSentDrops`,
//! `LinkErrors`, `LinkSpeed`.
//!
//! - Tells: what each interface carried between two looks, bonds beside their members and VLANs beside what they are
//!   on, so that a sum counts twice. Drops received include packets that rings had no room for (`rx_missed_errors`,
//!   which `rings.rs` tells apart). The speed is the one that was negotiated; of virtual interfaces, what the driver
//!   claims.
//! - Cannot tell: traffic that bypasses the kernel (RDMA, DPDK), nor whose it is. An interface that is replaced by one
//!   of its name is noticed by counters that are lower.
//! - Needs no privilege. Counters are of the network namespace of the thread that looks. `/sys` shows the namespace in
//!   which it was mounted: where that is another, kinds and speeds are asked by netlink, and rings are not read.
//! - `/proc/net/dev` each second; `/sys` each 10 s and when the list of interfaces changes, beside the looks: `speed`
//!   takes the lock of all interfaces, and some drivers ask their firmware.
//!
//! What carries no traffic of its own (loopback, pods' ends of links, tunnels, bridges of containers) is left out,
//! unless nothing else has carried anything: then the machine is a namespace whose link is such a one. `/sys` says what
//! is a port, a tunnel or a bridge without a port, however it is called. Of a pod's end of a link it says no more than
//! of other interfaces without hardware: these go by their names, as all do in the expressions for Prometheus and until
//! `/sys` was read.

use std::collections::BTreeMap;

use linerate_record::reading::NicCounters;
use linerate_record::readings::ReadMeasure;

use super::Reader;
use super::background::BackgroundRead;
use super::counter_delta::{each_s, over_s};
use crate::machine::{has_hardware, lowers};
use crate::nic::{parse_net_dev, valid_name};
use crate::root::{Root, Unreadable, names, text};
use crate::setting::{interface_kinds, interface_mbits_per_s};

pub(super) const SYS_LEAST_MS: u64 = 10_000;
/// Interfaces of which values are told.
pub(super) const MOST_LINKS: usize = 256;
/// Interfaces of which `/sys` is asked what they are.
const MOST_REQUESTED: usize = 1024;

/// Beginnings of names, as in the expressions for Prometheus (`linerate-prometheus`, `series_table.rs`).
const CARRY_NOTHING: [&str; 18] = [
    "veth",
    "cali",
    "lxc",
    "docker",
    "cni",
    "virbr",
    "ifb",
    "dummy",
    "tap",
    "flannel",
    "cilium_",
    "tunl",
    "gre",
    "erspan",
    "sit",
    "ip6",
    "nodelocaldns",
    "kube-ipvs0",
];

/// Kinds of tunnels, by the `DEVTYPE` of their drivers, which is the kind that netlink has too.
const TUNNEL_KINDS: [&str; 3] = ["vxlan", "geneve", "wireguard"];

/// Kinds by netlink of further interfaces without traffic of their own, which have no `DEVTYPE`.
const INNER_KINDS: [&str; 11] =
    ["tun", "ipip", "sit", "gre", "gretap", "ip6tnl", "ip6gre", "ip6gretap", "erspan", "dummy", "ifb"];

/// Hardware types of tunnels of packets without Ethernet (`include/uapi/linux/if_arp.h`): `TUNNEL`, `TUNNEL6`, `SIT`,
/// `IPGRE`, `IP6GRE`, and `NONE`, which WireGuard and tun have.
const TUNNEL_TYPES: [u32; 6] = [768, 769, 776, 778, 823, 65534];

/// What an interface is, in the order in which they are kept where there are too many.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum LinkKind {
    /// A port of hardware, or of a virtual machine.
    Port,
    Bond,
    Vlan,
    /// Anything else, or not known.
    #[default]
    Other,
    /// A tunnel, or a bridge without a port: other interfaces carry the same, or nothing leaves the machine.
    Inner,
}

/// What `/sys` says of one.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct LinkFacts {
    pub(super) kind: LinkKind,
    speed_bytes_per_s: Option<f64>,
    mtu_bytes: Option<u32>,
}

/// What was read last.
#[derive(Debug, Default)]
pub(super) struct LinksRead {
    then: Option<(u64, BTreeMap<String, NicCounters>)>,
    known: LinksKnown,
    requested: Vec<String>,
    aside: BackgroundRead<LinksKnown>,
}

#[derive(Debug, Default)]
struct LinksKnown {
    of: BTreeMap<String, LinkFacts>,
    /// Whether `/sys` shows the namespace whose counters are read.
    is_in_sys: bool,
    unreadable: Option<Unreadable>,
}

impl LinksRead {
    /// Ports of hardware that `/sys` shows.
    pub(super) fn ports(&self) -> impl Iterator<Item = &String> {
        let ports = self.known.of.iter().filter(|(_, facts)| facts.kind == LinkKind::Port);
        ports.filter(|_| self.known.is_in_sys).map(|(name, _)| name)
    }
}

pub(super) fn look(state: &mut LinksRead, at: &mut Reader<'_>) {
    let path = at.network("dev");
    let Some(all) = at.parsed(&path, parse_net_dev) else {
        state.then = None;
        return;
    };
    let all_names: Vec<String> = all.iter().map(|link| link.name.clone()).collect();
    ask(state, all_names, at);
    let own = own(all, &state.known.of, at);
    // Also of those that have carried nothing yet: what they carry from now on counts.
    let now = own.iter().map(|link| (link.name.clone(), link.clone())).collect();
    let kept = keep(own, &state.known.of, at);
    let then = state.then.take();
    let before = then.as_ref().and_then(|(then_ms, then)| Some((over_s(*then_ms, at.now_ms)?, then)));
    for link in &kept {
        let then = before.and_then(|(over_s, then)| Some((over_s, then.get(&link.name)?)));
        for (of, value) in then.and_then(|(over_s, then)| between(then, link, over_s)).into_iter().flatten() {
            at.tell(of, &link.name, value);
        }
        let facts = state.known.of.get(&link.name).copied().unwrap_or_default();
        at.tell_any(ReadMeasure::LinkSpeed, &link.name, facts.speed_bytes_per_s);
        at.tell_any(ReadMeasure::LinkMtu, &link.name, facts.mtu_bytes.map(f64::from));
    }
    state.then = Some((at.now_ms, now));
}

/// Asks what interfaces are, beside the looks.
fn ask(state: &mut LinksRead, all: Vec<String>, at: &mut Reader<'_>) {
    let (own, named_so): (Vec<String>, Vec<String>) = all.iter().cloned().partition(|name| !is_named_inner(name));
    // Pods come and go all the time.
    if own != state.requested {
        state.aside.hasten(at.now_ms);
        state.requested.clone_from(&own);
    }
    let names: Vec<String> = own.into_iter().chain(named_so).take(MOST_REQUESTED).collect();
    let known = state.aside.turn(at.root, at.now_ms, SYS_LEAST_MS, move |root| known(root, &names, all));
    if let Some(mut known) = known {
        at.pass.unreadable.extend(known.unreadable.take());
        state.known = known;
    }
}

fn known(root: &Root, requested: &[String], all: Vec<String>) -> LinksKnown {
    if !root.is_live() || shows_this_namespace(root, all) {
        let facts_by_name = requested.iter().filter_map(|name| Some((name.clone(), facts(root, name)?)));
        return LinksKnown { of: facts_by_name.collect(), is_in_sys: true, unreadable: None };
    }
    let why = "it shows another network namespace, so that rings are not read";
    let unreadable = Some(Unreadable { path: "sys/class/net".to_owned(), reason: why.to_owned() });
    let kinds = interface_kinds().unwrap_or_default().into_iter().map(|(name, kind, mtu)| (name, (kind, mtu)));
    let kinds: BTreeMap<String, (String, u32)> = kinds.collect();
    let facts = |name: &String| {
        let (kind, mtu) = kinds.get(name)?;
        let kind = kind_by_netlink(name, kind);
        // What is made up by software has a kind of its own, and a speed that is a constant of its driver.
        let speed = interface_mbits_per_s(name).ok().flatten().filter(|_| kind < LinkKind::Other);
        let speed = speed.and_then(|speed| in_bytes(i64::from(speed)));
        Some(LinkFacts { kind, speed_bytes_per_s: speed, mtu_bytes: Some(*mtu) })
    };
    let facts_by_name = requested.iter().filter_map(|name| Some((name.clone(), facts(name)?)));
    LinksKnown { of: facts_by_name.collect(), is_in_sys: false, unreadable }
}

/// Hardware has no kind there, and loopback neither.
fn kind_by_netlink(name: &str, kind: &str) -> LinkKind {
    match kind {
        "" if name == "lo" => LinkKind::Inner,
        "" => LinkKind::Port,
        "bond" => LinkKind::Bond,
        "vlan" => LinkKind::Vlan,
        kind if TUNNEL_KINDS.contains(&kind) || INNER_KINDS.contains(&kind) => LinkKind::Inner,
        _ => LinkKind::Other,
    }
}

/// Whether `/sys` lists the interfaces of this thread's namespace. That the thread is in the namespace of its process
/// is not enough: `nsenter --net` leaves `/sys` as it is.
pub(crate) fn shows_this_namespace(root: &Root, mut all: Vec<String>) -> bool {
    let space = |who: &str| std::fs::read_link(format!("/proc/{who}/ns/net")).ok();
    all.sort_unstable();
    let shown = names(root, "sys/class/net").into_iter().filter(|name| name != "bonding_masters");
    space("thread-self") == space("self") && shown.eq(all)
}

/// Ports of hardware of this thread's network namespace; none where `/sys` shows another one.
pub(super) fn hardware(root: &Root) -> Vec<String> {
    let all = || -> Vec<String> { interface_kinds().unwrap_or_default().into_iter().map(|of| of.0).collect() };
    if root.is_live() && !shows_this_namespace(root, all()) {
        return Vec::new();
    }
    let has_device = |name: &String| root.0.join(format!("sys/class/net/{name}/device")).exists();
    names(root, "sys/class/net").into_iter().filter(has_device).collect()
}

fn facts(root: &Root, name: &str) -> Option<LinkFacts> {
    let folder = format!("sys/class/net/{}", valid_name(name).ok()?);
    let mut bytes = Vec::new();
    let mut speed = || text(root, &format!("{folder}/speed"), &mut bytes).ok().and_then(|text| parse_speed(&text));
    let speed_bytes_per_s = if has_hardware(root, name) { speed() } else { None };
    let mtu_bytes = text(root, &format!("{folder}/mtu"), &mut bytes).ok().and_then(|text| text.trim().parse().ok());
    let uevent = text(root, &format!("{folder}/uevent"), &mut bytes).unwrap_or_default();
    let kind = match uevent.lines().find_map(|line| line.strip_prefix("DEVTYPE=")) {
        Some("vlan") => LinkKind::Vlan,
        Some("bond") => LinkKind::Bond,
        _ if root.0.join(format!("{folder}/bonding")).exists() => LinkKind::Bond,
        _ if root.0.join(format!("{folder}/device")).exists() => LinkKind::Port,
        Some(kind) if TUNNEL_KINDS.contains(&kind) => LinkKind::Inner,
        Some("bridge") if !lowers(root, name).iter().any(|lower| has_hardware(root, lower)) => LinkKind::Inner,
        _ if is_tunnel(root, &folder) => LinkKind::Inner,
        _ => LinkKind::Other,
    };
    Some(LinkFacts { kind, speed_bytes_per_s, mtu_bytes })
}

/// Whether an interface is a program's (tun, tap) or a tunnel by its hardware type.
fn is_tunnel(root: &Root, folder: &str) -> bool {
    let hardware_type = || text(root, &format!("{folder}/type"), &mut Vec::new()).ok()?.trim().parse::<u32>().ok();
    root.0.join(format!("{folder}/tun_flags")).exists() || hardware_type().is_some_and(|of| TUNNEL_TYPES.contains(&of))
}

/// Megabits a second.
fn parse_speed(text: &str) -> Option<f64> {
    in_bytes(text.trim().parse().ok()?)
}

/// Of a link without a speed, the kernel says nothing, -1 or 0.
fn in_bytes(mbits_per_s: i64) -> Option<f64> {
    (mbits_per_s > 0 && mbits_per_s != i64::from(u32::MAX)).then(|| mbits_per_s as f64 * 1e6 / 8.0)
}

/// Whether an interface has no traffic of its own: by what it is, and where that does not say so, by its name.
fn carries_nothing(name: &str, facts: Option<&LinkFacts>) -> bool {
    match facts.map_or(LinkKind::Other, |facts| facts.kind) {
        LinkKind::Port | LinkKind::Bond | LinkKind::Vlan => false,
        LinkKind::Inner => true,
        LinkKind::Other => is_named_inner(name),
    }
}

fn is_named_inner(name: &str) -> bool {
    name == "lo" || CARRY_NOTHING.iter().any(|beginning| name.starts_with(beginning))
}

/// Those that carry traffic of their own. What is left out is told.
fn own(all: Vec<NicCounters>, facts: &BTreeMap<String, LinkFacts>, at: &mut Reader<'_>) -> Vec<NicCounters> {
    let carries = |link: &NicCounters| !carries_nothing(&link.name, facts.get(&link.name));
    let (own, left): (Vec<_>, Vec<_>) = all.into_iter().partition(carries);
    if !own.iter().any(has_carried) {
        return [own, left].concat();
    }
    if left.iter().any(|link| link.name != "lo" && has_carried(link)) {
        at.remark("interfaces of pods, containers and tunnels are left out: links carry the same".to_owned());
    }
    own
}

fn has_carried(link: &NicCounters) -> bool {
    link.rx_bytes > 0 || link.tx_bytes > 0
}

/// Those of which values are told, ports first.
fn keep(mut kept: Vec<NicCounters>, facts: &BTreeMap<String, LinkFacts>, at: &mut Reader<'_>) -> Vec<NicCounters> {
    let kind = |name: &str| facts.get(name).copied().unwrap_or_default().kind;
    // What is neither hardware nor made of it, and has never carried anything, tells nothing.
    kept.retain(|link| kind(&link.name) < LinkKind::Other || has_carried(link));
    kept.sort_by_key(|link| kind(&link.name));
    if kept.len() > MOST_LINKS {
        at.remark(format!("of {} interfaces, values of the first {MOST_LINKS} are reported", kept.len()));
        kept.truncate(MOST_LINKS);
    }
    kept
}

/// None of an interface that counts anew.
fn between(then: &NicCounters, now: &NicCounters, over_s: f64) -> Option<[(ReadMeasure, f64); 5]> {
    let rate = |extract: fn(&NicCounters) -> u64| each_s(extract(then), extract(now), over_s);
    rate(|link| link.rx_packets)?;
    rate(|link| link.tx_packets)?;
    Some([
        (ReadMeasure::LinkReceived, rate(|link| link.rx_bytes)?),
        (ReadMeasure::LinkSent, rate(|link| link.tx_bytes)?),
        (ReadMeasure::LinkReceivedDrops, rate(|link| link.rx_dropped)?),
        (ReadMeasure::LinkSentDrops, rate(|link| link.tx_dropped)?),
        (ReadMeasure::LinkErrors, rate(|link| link.rx_errors)? + rate(|link| link.tx_errors)?),
    ])
}

#[cfg(test)]
mod tests {
    use super::super::tests::{looked, put};
    use super::*;

    fn line(name: &str, received: u64, sent: u64) -> String {
        format!("{name}: {received} 1 0 0 0 0 0 0 {sent} 1 0 0 0 0 0 0\n")
    }

    fn parts(found: &[linerate_record::readings::ReadValue], of: ReadMeasure) -> Vec<(String, f64)> {
        found.iter().filter(|value| value.of == of).map(|value| (value.part.clone(), value.value)).collect()
    }

    #[test]
    fn a_bond_its_members_and_a_vlan_are_told_with_their_speeds_and_pods_are_not() {
        let folder = tempfile::tempdir().unwrap();
        let root = Root::captured(folder.path());
        put(&root, "sys/class/net/ens1f0np0/device/uevent", "DRIVER=mlx5_core\n");
        put(&root, "sys/class/net/ens1f0np0/speed", "25000\n");
        put(&root, "sys/class/net/ens1f0np0/mtu", "9000\n");
        put(&root, "sys/class/net/ens1f1np1/device/uevent", "DRIVER=mlx5_core\n");
        put(&root, "sys/class/net/ens1f1np1/speed", "-1\n");
        put(&root, "sys/class/net/bond0/uevent", "DEVTYPE=bond\nINTERFACE=bond0\n");
        put(&root, "sys/class/net/bond0.120/uevent", "DEVTYPE=vlan\n");
        let bonded = include_str!("../../tests/data/net_dev_bonded.txt");
        put(&root, "proc/net/dev", bonded);
        let mut state = LinksRead::default();
        let first = looked(&root, 0, |at| look(&mut state, at));
        assert_eq!(parts(&first.values, ReadMeasure::LinkSpeed), [("ens1f0np0".to_owned(), 3.125e9)]);
        assert_eq!(parts(&first.values, ReadMeasure::LinkMtu), [("ens1f0np0".to_owned(), 9000.0)]);
        assert!(parts(&first.values, ReadMeasure::LinkSent).is_empty());
        assert!(first.remarks.iter().any(|remark| remark.contains("of pods")), "{:?}", first.remarks);
        put(&root, "proc/net/dev", &bonded.replace("61120998412004 8004113227", "61120998412504 8004113228"));
        let second = looked(&root, 500, |at| look(&mut state, at));
        let sent = [("ens1f0np0", 0.0), ("ens1f1np1", 1000.0), ("bond0", 0.0), ("bond0.120", 0.0)];
        assert_eq!(parts(&second.values, ReadMeasure::LinkSent), sent.map(|(name, sent)| (name.to_owned(), sent)));
        assert_eq!(state.ports().collect::<Vec<_>>(), ["ens1f0np0", "ens1f1np1"]);
    }

    #[test]
    fn what_an_interface_is_goes_before_how_it_is_called() {
        let folder = tempfile::tempdir().unwrap();
        let root = Root::captured(folder.path());
        for (path, text) in [
            ("greenlan0/device/uevent", "DRIVER=mlx5_core\n"),
            ("wg0/uevent", "DEVTYPE=wireguard\nINTERFACE=wg0\n"),
            ("tailscale0/tun_flags", "0x1001\n"),
            ("vpn0/type", "65534\n"),
            ("br-5b1f/uevent", "DEVTYPE=bridge\n"),
            ("br-5b1f/lower_veth1/uevent", ""),
            ("vmbr0/uevent", "DEVTYPE=bridge\n"),
            ("vmbr0/lower_veth2/uevent", ""),
            ("vmbr0/lower_greenlan0/uevent", ""),
            ("peer0/uevent", "INTERFACE=peer0\n"),
        ] {
            put(&root, &format!("sys/class/net/{path}"), text);
        }
        let names = ["greenlan0", "wg0", "tailscale0", "vpn0", "br-5b1f", "vmbr0", "peer0", "cali12"];
        let mut state = LinksRead::default();
        put(&root, "proc/net/dev", &names.map(|name| line(name, 5, 5)).concat());
        looked(&root, 0, |at| look(&mut state, at));
        put(&root, "proc/net/dev", &names.map(|name| line(name, 6, 6)).concat());
        let second = looked(&root, 1_000, |at| look(&mut state, at));
        let sent: Vec<String> =
            parts(&second.values, ReadMeasure::LinkSent).into_iter().map(|(name, _)| name).collect();
        assert_eq!(sent, ["greenlan0", "vmbr0", "peer0"]);
    }

    #[test]
    fn an_interface_that_vanishes_comes_back_or_is_replaced_gives_no_value_for_that_look() {
        let folder = tempfile::tempdir().unwrap();
        let root = Root::captured(folder.path());
        let mut state = LinksRead::default();
        let mut values_at = |now_ms, lines: &[String]| {
            put(&root, "proc/net/dev", &lines.concat());
            let found = looked(&root, now_ms, |at| look(&mut state, at));
            parts(&found.values, ReadMeasure::LinkReceived)
        };
        let eth0 = |received| line("eth0", received, 7);
        assert_eq!(values_at(0, &[eth0(1_000)]), []);
        assert_eq!(values_at(1_000, &[eth0(3_000), line("eth1", 9_000, 9)]), [("eth0".to_owned(), 2_000.0)]);
        assert_eq!(values_at(2_000, &[line("eth1", 9_500, 9)]), [("eth1".to_owned(), 500.0)]);
        assert_eq!(values_at(3_000, &[eth0(9_000), line("eth1", 9_500, 9)]), [("eth1".to_owned(), 0.0)]);
        // More was received by what has the name now, and less was sent.
        assert_eq!(values_at(4_000, &[line("eth0", 99_000, 6), line("eth1", 9_400, 9)]), []);
        assert_eq!(values_at(4_000, &[line("eth0", 99_100, 6), line("eth1", 9_500, 9)]), [], "no time has passed");
    }

    #[test]
    fn a_namespace_whose_only_link_is_named_as_a_pods_end_is_read() {
        let none = BTreeMap::new();
        let all = |lines: &[String]| parse_net_dev(&lines.concat()).0;
        let names = |kept: Vec<NicCounters>| kept.into_iter().map(|link| link.name).collect::<Vec<_>>();
        let folder = tempfile::tempdir().unwrap();
        let root = Root::captured(folder.path());
        let kept = |lines: &[String]| {
            let mut kept = Vec::new();
            looked(&root, 0, |at| kept = keep(own(all(lines), &none, at), &none, at));
            names(kept)
        };
        assert_eq!(kept(&[line("lo", 0, 0), line("veth3", 5, 5)]), ["veth3"]);
        assert_eq!(kept(&[line("lo", 9, 9), line("veth3", 5, 5), line("eth0", 1, 1), line("br0", 0, 0)]), ["eth0"]);
        let many: Vec<String> = (0..400).map(|number| line(&format!("tun{number}"), 1, 1)).collect();
        assert_eq!(kept(&many).len(), MOST_LINKS);
    }

    #[test]
    fn loopback_is_no_port_though_netlink_names_no_kind_of_both() {
        let kinds = [("lo", ""), ("eth0", ""), ("bond0", "bond"), ("wg0", "wireguard"), ("veth3", "veth")];
        assert_eq!(
            kinds.map(|(name, kind)| kind_by_netlink(name, kind)),
            [LinkKind::Inner, LinkKind::Port, LinkKind::Bond, LinkKind::Inner, LinkKind::Other]
        );
    }

    #[test]
    fn a_speed_is_told_where_there_is_one() {
        assert_eq!((parse_speed("25000\n"), parse_speed("1000")), (Some(3.125e9), Some(1.25e8)));
        assert_eq!(["-1\n", "0", "4294967295", "", "x"].map(parse_speed), [None; 5]);
    }
}
