//! How long packets may be: black holes with their side, interfaces that differ, and routers that say so.

use libtest_mimic::Failed;
use linerate_analysis::net::view::{NetFinding, NetFindingKind, NetPathFigures, NetPathVerdict, NetView};

use super::{Switched, done, ip, pair, tc};

/// Once is enough: what is lost is lost each time.
const FLAGS: &str = "--op mtu --duration 3s --warmup 0s --visits 1";

const OF_PATHS: [NetFindingKind; 4] =
    [NetFindingKind::MtuBlackHole, NetFindingKind::MtuMismatch, NetFindingKind::MtuKnown, NetFindingKind::NoProbes];

fn path(view: &NetView, way: (u32, u32)) -> Result<&NetPathFigures, Failed> {
    Ok(pair(view, way, 1)?.path.as_ref().ok_or("its path was probed")?)
}

/// The verdict of a path, with the largest packet that came.
fn found(view: &NetView, way: (u32, u32)) -> Result<(NetPathVerdict, u32), Failed> {
    let path = path(view, way)?;
    println!("{way:?}: {path:?}");
    Ok((path.verdict, path.carried_bytes.unwrap_or(0)))
}

fn claims(view: &NetView) -> Vec<&NetFinding> {
    view.findings.iter().filter(|finding| OF_PATHS.contains(&finding.kind)).collect()
}

/// The only claim about paths, which is of this kind and about these machines, by their numbers from 1.
fn claimed<'v>(view: &'v NetView, kind: NetFindingKind, machines: &[u32]) -> &'v NetFinding {
    let all = claims(view);
    let [claim] = all[..] else { panic!("one claim: {all:?}, {}", view.answer) };
    let named: Vec<u32> = claim.nodes.iter().map(|node| node + 1).collect();
    assert_eq!((claim.kind, named.as_slice()), (kind, machines), "{claim:?}");
    claim
}

/// A bucket that holds no longer packet: it is dropped, and nobody says so. Frames have 14 bytes besides.
fn swallows(space: &str, device: &str, longest_bytes: u32) {
    let frame_bytes = longest_bytes + 14;
    tc(&format!("-n {space} qdisc replace dev {device} root tbf rate 100mbit burst {frame_bytes} limit 300000"));
}

/// A black hole behind one port of the switch, one way and then both, and then behind all of them.
pub(super) fn black_holes() -> Result<(), Failed> {
    let switched = Switched::make(4)?;
    let all: Vec<(u32, u32)> =
        (1..=4).flat_map(|from| (1..=4).map(move |to| (from, to))).filter(|(from, to)| from != to).collect();
    let view = switched.view(FLAGS)?;
    for way in &all {
        assert_eq!(found(&view, *way)?, (NetPathVerdict::Whole, 1_500), "{way:?}");
    }
    assert!(claims(&view).is_empty(), "{:?}", view.findings);

    swallows(&switched.switch, "p3", 1_400);
    let view = switched.view(FLAGS)?;
    for way in &all {
        let expected = if way.1 == 3 { (NetPathVerdict::BlackHole, 1_400) } else { (NetPathVerdict::Whole, 1_500) };
        assert_eq!(found(&view, *way)?, expected, "{way:?}");
    }
    let of = path(&view, (1, 3))?;
    assert_eq!((of.lost_bytes, of.interface_bytes, of.taken_bytes), (Some(1_401), 1_500, Some(1_500)), "{of:?}");
    assert_eq!((of.receiver_interface_bytes, of.icmp_bytes), (Some(1_500), None), "{of:?}");
    let claim = claimed(&view, NetFindingKind::MtuBlackHole, &[3]);
    assert!(claim.claim.contains("what goes to n3 is carried in packets of 1400 bytes"), "{claim:?}");
    assert!(claim.evidence.contains("the other way carries 1500"), "{claim:?}");

    swallows(&switched.spaces[2], "eth0", 1_400);
    let view = switched.view(FLAGS)?;
    for way in &all {
        let is_hit = way.0 == 3 || way.1 == 3;
        let expected = if is_hit { (NetPathVerdict::BlackHole, 1_400) } else { (NetPathVerdict::Whole, 1_500) };
        assert_eq!(found(&view, *way)?, expected, "{way:?}");
    }
    let claim = claimed(&view, NetFindingKind::MtuBlackHole, &[3]);
    assert!(claim.claim.contains("to and from n3"), "{claim:?}");

    (1..=4).for_each(|number| swallows(&switched.switch, &format!("p{number}"), 1_400));
    let view = switched.view(FLAGS)?;
    assert!(claimed(&view, NetFindingKind::MtuBlackHole, &[]).claim.contains("the network between"), "{}", view.answer);
    Ok(())
}

/// Of three machines, one takes less than the others send; then one sends more than the others take.
pub(super) fn mismatches() -> Result<(), Failed> {
    let switched = Switched::make(3)?;
    for (number, space) in (1..).zip(&switched.spaces) {
        ip(&format!("-n {} link set p{number} mtu 9000", switched.switch));
        ip(&format!("-n {space} link set eth0 mtu 9000"));
    }
    ip(&format!("-n {} link set br0 mtu 9000", switched.switch));
    ip(&format!("-n {} link set eth0 mtu 1500", switched.spaces[1]));
    let view = switched.view(FLAGS)?;
    for way in [(1, 2), (3, 2)] {
        let (verdict, bytes) = found(&view, way)?;
        // The kernel takes the tag of a VLAN besides.
        assert!(verdict == NetPathVerdict::Mismatch && (1_500..=1_504).contains(&bytes), "{:?}", path(&view, way)?);
        let of = path(&view, way)?;
        assert_eq!((of.interface_bytes, of.receiver_interface_bytes), (9_000, Some(1_500)), "{of:?}");
    }
    for (way, bytes) in [((1, 3), 9_000), ((3, 1), 9_000), ((2, 1), 1_500), ((2, 3), 1_500)] {
        assert_eq!(found(&view, way)?, (NetPathVerdict::Whole, bytes), "{way:?}");
    }
    let claim = claimed(&view, NetFindingKind::MtuMismatch, &[2]);
    assert!(claim.claim.contains("n2 takes packets of 1500 bytes, and n1, n3 send up to 9000 bytes"), "{claim:?}");
    assert!(claim.remedy.contains("nic.mtu of eth0 of n2"), "{claim:?}");

    ip(&format!("-n {} link set eth0 mtu 1500", switched.spaces[2]));
    let view = switched.view(FLAGS)?;
    let claim = claimed(&view, NetFindingKind::MtuMismatch, &[1]);
    assert!(claim.claim.contains("n1 sends packets of up to 9000 bytes, and n2, n3 take 1500 bytes"), "{claim:?}");
    Ok(())
}

/// Two machines with a router in place of the switch.
fn routed() -> Result<Switched, Failed> {
    let switched = Switched::make(2)?;
    let router = &switched.switch;
    for (number, space) in (1..).zip(&switched.spaces) {
        let net = format!("10.231.{}", 90 + number);
        ip(&format!("-n {router} link set p{number} nomaster"));
        ip(&format!("-n {router} address add {net}.1/24 dev p{number}"));
        ip(&format!("-n {space} address flush dev eth0"));
        ip(&format!("-n {space} address add {net}.2/24 dev eth0"));
        ip(&format!("-n {space} route add default via {net}.1"));
    }
    done("ip", &format!("netns exec {router} sysctl -q -w net.ipv4.ip_forward=1"));
    Ok(switched)
}

/// A router whose second link carries less says so, and its sender knows; once the sender does not listen, the same
/// path is a black hole.
pub(super) fn routers() -> Result<(), Failed> {
    let switched = routed()?;
    ip(&format!("-n {} link set p2 mtu 1400", switched.switch));
    ip(&format!("-n {} link set eth0 mtu 1400", switched.spaces[1]));
    let flags = format!("{FLAGS} --network 10.231.88.0/21");
    let view = switched.view(&flags)?;
    assert_eq!(found(&view, (1, 2))?, (NetPathVerdict::Known, 1_400));
    assert_eq!(found(&view, (2, 1))?, (NetPathVerdict::Whole, 1_400));
    let of = path(&view, (1, 2))?;
    assert_eq!((of.taken_bytes, of.icmp_bytes, of.icmp_by.as_deref()), (Some(1_400), Some(1_400), Some("10.231.91.1")));
    claimed(&view, NetFindingKind::MtuKnown, &[]);

    // Mode 2 discards what routers say (Documentation/networking/ip-sysctl.rst); what was said before is forgotten.
    let sender = &switched.spaces[0];
    done("ip", &format!("netns exec {sender} sysctl -q -w net.ipv4.ip_no_pmtu_disc=2"));
    ip(&format!("-n {sender} route flush cache"));
    let view = switched.view(&flags)?;
    assert_eq!(found(&view, (2, 1))?, (NetPathVerdict::Whole, 1_400));
    let of = path(&view, (1, 2))?;
    assert_eq!((of.taken_bytes, of.icmp_bytes), (Some(1_500), None), "{of:?}");
    // The receiver's interface has the router's MTU, and by that alone it is the one to be set.
    assert_eq!(found(&view, (1, 2))?, (NetPathVerdict::Mismatch, 1_400));
    claimed(&view, NetFindingKind::MtuMismatch, &[2]);

    ip(&format!("-n {} link set eth0 mtu 1500", switched.spaces[1]));
    let view = switched.view(&flags)?;
    assert_eq!(found(&view, (1, 2))?, (NetPathVerdict::BlackHole, 1_400));
    let (verdict, bytes) = found(&view, (2, 1))?;
    assert!(verdict == NetPathVerdict::BlackHole && (1_400..=1_404).contains(&bytes), "{verdict:?}, {bytes}");
    assert!(claimed(&view, NetFindingKind::MtuBlackHole, &[]).claim.contains("the network between n1, n2"));
    Ok(())
}
