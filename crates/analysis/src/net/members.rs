//! Members of bonds: what was to leave by each and what did, and on which members it arrived.

use std::collections::{BTreeMap, BTreeSet};

use linerate_record::net::{NetMember, NetMemberState, NetOp, NetPair, NetPredictedMembers, NetWay};
use linerate_record::plan::{Resource, Spread};

use super::pairs::{NetSamples, PairSamples, VisitSample, fairness, share};
use super::ports::{self, bond_under};
use super::view::{
    NetArrival, NetArrives, NetBondByModel, NetLeaves, NetMemberReceives, NetMemberSends, NetPairMembers,
};
use crate::median::median;
use crate::student::regularized_beta;

/// What a member that rests may carry each second: LACP, LLDP, ARP and neighbour discovery are below 1 KiB/s.
const CHATTER_BYTES_PER_S: f64 = 4096.0;

/// Of what a machine gets, so much goes back as answers of TCP: 66 bytes for each two segments of 1,448 bytes are
/// 0.023.
const ANSWERS_SHARE: f64 = 0.03;

/// Chance below which as many streams on one member are no accident, over all pairs.
const SURE: f64 = 0.01;

/// What members carry more than this of the run's own bytes is somebody else's.
const OWN_MOST: f64 = 1.1;

/// Streams whose Jain's index is less than this are not alike, so that bytes do not tell how many there are.
const ALIKE: f64 = 0.95;

/// Streams of a pair that are named, at the most.
const STRAYS_KEPT: usize = 64;

/// Modes in which what is between both machines chooses the member on which packets arrive.
const CHOSEN_OUTSIDE: [&str; 3] = ["802.3ad", "balance-xor", "balance-rr"];

/// Pairs that leave by a bond, or arrive on one.
pub(super) fn members(seen: &NetSamples<'_>) -> Vec<NetPairMembers> {
    // Probes go by ports of their own, and by no stream.
    if seen.run.load.op == NetOp::Mtu {
        return Vec::new();
    }
    // Of all pairs together, one in a hundred runs is to say something of a switch by chance.
    let sure = SURE / seen.pairs.len().max(1) as f64;
    let pair_members = |(&(from, to, streams), pair): (&(u32, u32, u32), &PairSamples<'_>)| {
        let (leaves, arrives) = (leaves(seen, pair), arrives(seen, to, pair, sure));
        (leaves.is_some() || arrives.is_some()).then_some(NetPairMembers { from, to, streams, leaves, arrives })
    };
    seen.pairs.iter().filter_map(pair_members).collect()
}

/// What S3 traffic of the site gets of bonds by the model, beside what flows got here of their bonds with so many
/// streams. Of that there is nothing where streams were held to a rate or aimed at one member, which get no more than
/// that, where the load fills no bond or pairs share a port on purpose, and where the site has bonds of two planes, of
/// which one was measured.
pub(super) fn by_model(seen: &NetSamples<'_>, members: &[NetPairMembers], streams: Option<u32>) -> Vec<NetBondByModel> {
    let (run, load) = (seen.run, &seen.run.load);
    let has = |is_of: fn(Resource) -> bool| run.bonds_by_model.iter().any(|of| is_of(of.resource));
    let is_one_plane = !(has(Resource::is_public) && has(Resource::is_private));
    let is_filling = load.op == NetOp::Stream && !matches!(load.way, NetWay::Incast | NetWay::Bisection);
    let is_reported = is_filling && load.members.is_none() && load.max_bytes_per_s.is_none() && is_one_plane;
    let own = || members.iter().filter(|of| is_reported && Some(of.streams) == streams);
    let share = |node: u32, bytes: u64, visits: u32| {
        let most = seen.ports.get(node as usize)?.speed_bits_per_s? / 8e3 * f64::from(visits) * load.duration_ms as f64;
        Some(bytes as f64 / most).filter(|share| share.is_finite())
    };
    let sent = |of: &NetPairMembers| {
        let leaves = of.leaves.as_ref()?;
        share(of.from, leaves.members.iter().map(|member| member.carried_bytes).sum(), leaves.visits)
    };
    let received = |of: &NetPairMembers| {
        let arrives = of.arrives.as_ref()?;
        share(of.to, arrives.members.iter().map(|member| member.carried_bytes).sum(), arrives.visits)
    };
    let measured_by_model = |spread: &Spread| {
        let is_sent = spread.resource.is_sent_by_node();
        let shares: Vec<f64> = own().filter_map(|of| if is_sent { sent(of) } else { received(of) }).collect();
        NetBondByModel { spread: spread.clone(), measured_share: median(shares) }
    };
    run.bonds_by_model.iter().map(measured_by_model).collect()
}

/// What members of one end carried in a visit, and the streams of which that was.
struct MembersVisit<'v> {
    pair: &'v NetPair,
    members: Vec<&'v NetMember>,
    /// What members that rest may have carried, all of them together.
    background_bytes: f64,
}

/// Bytes of those streams that brought something.
fn brought(pair: &NetPair) -> Vec<f64> {
    pair.stream_bytes.iter().filter(|bytes| **bytes > 0).map(|bytes| *bytes as f64).collect()
}

/// What members of a bond of one end did in a visit; none where members came or went, or where others of the round's
/// pairs have this end too, so that nobody knows whose bytes they are.
fn of_visit<'v>(
    seen: &NetSamples<'v>,
    visit: &VisitSample<'v>,
    bond: &str,
    end: fn(&NetPair) -> u32,
) -> Option<MembersVisit<'v>> {
    let node = end(visit.pair);
    let pairs = seen.visits[visit.place].pairs.iter();
    let is_only = pairs.filter(|pair| end(pair) == node && pair.error.is_none()).count() == 1;
    let of_node = seen.nodes[visit.place].get(&node)?;
    let machine = of_node.machine?;
    let members: Vec<&NetMember> = machine.members.iter().filter(|member| member.bond == bond).collect();
    let is_steady = members.iter().all(|member| member.state != NetMemberState::Changed);
    // Of what goes the other way, answers of TCP are on members of this end. Of requests it is more than that.
    let other_way = if end(visit.pair) == visit.pair.from { of_node.received_bytes } else { of_node.sent_bytes };
    let is_clear = other_way == 0.0 || !matches!(seen.run.load.op, NetOp::Request { .. });
    let chatter = CHATTER_BYTES_PER_S * machine.over_ms as f64 / 1e3 * members.len() as f64;
    let background_bytes = chatter + ANSWERS_SHARE * other_way;
    let payload: f64 = visit.pair.stream_bytes.iter().map(|bytes| *bytes as f64).sum();
    let is_sender = end(visit.pair) == visit.pair.from;
    let carried = |member: &&NetMember| if is_sender { member.sent_bytes } else { member.received_bytes } as f64;
    let own = OWN_MOST * payload * wire(seen, visit.pair) + background_bytes;
    // Requests are mostly headers.
    let is_bulk = seen.run.load.op == NetOp::Stream;
    let is_own = payload > 0.0 && (!is_bulk || members.iter().map(carried).sum::<f64>() <= own);
    let is_judged = is_only && is_steady && is_clear && is_own && !members.is_empty();
    is_judged.then_some(MembersVisit { pair: visit.pair, members, background_bytes })
}

/// Bytes on the wire for each of payload, or the most that frames of 1,500 bytes have.
fn wire(seen: &NetSamples<'_>, pair: &NetPair) -> f64 {
    const OF_SMALL_FRAMES: f64 = 1.07;
    let port = |node: u32| &seen.ports[node as usize];
    ports::wire_share(seen.run.load.op, port(pair.from), port(pair.to)).unwrap_or(OF_SMALL_FRAMES).max(1.0)
}

/// Sums of one member of the sender.
#[derive(Default)]
struct LeftBy {
    predicted_streams: u32,
    predicted_bytes: f64,
    carried_bytes: u64,
}

fn leaves(seen: &NetSamples<'_>, of: &PairSamples<'_>) -> Option<NetLeaves> {
    let first = of.visits.iter().find_map(|visit| visit.pair.aim.as_ref())?;
    let mut sums: BTreeMap<String, LeftBy> = BTreeMap::new();
    let mut names: Vec<String> = first.members.clone();
    let mut all = NetLeaves {
        bond: first.bond.clone(),
        mode: first.mode.clone(),
        policy: first.policy.clone(),
        why: first.why,
        ..NetLeaves::default()
    };
    let (mut is_predicted, mut background_bytes) = (true, 0.0);
    for halved in of.visits.iter().filter_map(|visit| visit.pair.halved.as_ref()) {
        all.strays.extend(halved.strays.iter().take(STRAYS_KEPT.saturating_sub(all.strays.len())).cloned());
        all.unparted_streams +=
            halved.unparted.iter().map(|[first, last]| last.saturating_sub(*first) + 1).sum::<u32>();
    }
    for visit in &of.visits {
        let aim = visit.pair.aim.as_ref().filter(|aim| aim.bond == first.bond);
        let judged = aim.and_then(|aim| {
            let found = of_visit(seen, visit, &aim.bond, |pair| pair.from)?;
            is_of(aim, &found.members).then_some((aim, found))
        });
        let Some((aim, found)) = judged else {
            all.left_out += 1;
            continue;
        };
        all.visits += 1;
        is_predicted &= aim.streams.len() == visit.pair.stream_bytes.len();
        add_sent(&mut sums, aim, &found);
        background_bytes += found.background_bytes;
        if let Some((streams, strayed)) = alone(aim, &found) {
            all.alone_streams += streams;
            all.strayed_streams += strayed;
        }
        names.extend(found.members.iter().map(|member| member.name.clone()));
    }
    let mut known = BTreeSet::new();
    names.retain(|name| known.insert(name.clone()));
    let carried: f64 = sums.values().map(|sum| sum.carried_bytes as f64).sum();
    let of_all = |bytes: f64| share(bytes, carried).unwrap_or(0.0);
    let member = |name: String| {
        let sum = sums.remove(&name).unwrap_or_default();
        NetMemberSends {
            name,
            predicted_streams: sum.predicted_streams,
            predicted_share: (is_predicted && all.visits > 0).then(|| of_all(sum.predicted_bytes)),
            carried_bytes: sum.carried_bytes,
            carried_share: of_all(sum.carried_bytes as f64),
        }
    };
    all.members = names.into_iter().map(member).collect();
    let beyond = |member: &NetMemberSends| Some((member.carried_share - member.predicted_share?).max(0.0));
    let strayed = all.members.iter().map(beyond).sum::<Option<f64>>().filter(|_| all.visits > 0);
    // Answers to what the machine receives are hashed too, and are no streams of this pair.
    all.strayed_share = strayed.map(|strayed| (strayed - of_all(background_bytes)).max(0.0));
    Some(all)
}

/// Whether members that send are those that were to.
fn is_of(aim: &NetPredictedMembers, members: &[&NetMember]) -> bool {
    let sends = members.iter().filter(|member| member.state == NetMemberState::Sends).map(|member| &member.name);
    sends.eq(&aim.members)
}

/// Adds what members sent in a visit, and what they were to send of all that was sent.
fn add_sent(sums: &mut BTreeMap<String, LeftBy>, aim: &NetPredictedMembers, of: &MembersVisit<'_>) {
    let sent: f64 = of.members.iter().map(|member| member.sent_bytes as f64).sum();
    let payload: f64 = of.pair.stream_bytes.iter().map(|bytes| *bytes as f64).sum();
    for member in &of.members {
        sums.entry(member.name.clone()).or_default().carried_bytes += member.sent_bytes;
    }
    for (place, bytes) in aim.streams.iter().zip(&of.pair.stream_bytes) {
        let Some(name) = aim.members.get(*place as usize) else { continue };
        let sum = sums.entry(name.clone()).or_default();
        sum.predicted_streams += 1;
        sum.predicted_bytes += share(*bytes as f64, payload).unwrap_or(0.0) * sent;
    }
}

/// Streams of a visit in which all were to leave by one member, and how many left by another: members that rest carry
/// less than half of the least stream beyond what they may, or some did. Absent of other visits.
fn alone(aim: &NetPredictedMembers, of: &MembersVisit<'_>) -> Option<(u32, u32)> {
    let name = aim.members.get(aim.only()? as usize)?;
    let is_own = |member: &&NetMember| member.name == *name;
    let (own, others): (Vec<&NetMember>, Vec<&NetMember>) = of.members.iter().copied().partition(is_own);
    let sent = |members: &[&NetMember]| members.iter().map(|member| member.sent_bytes as f64).sum::<f64>();
    let strays = strays(&brought(of.pair), sent(&own) + sent(&others), sent(&others) - of.background_bytes);
    strays.map(|strays| (u32::try_from(brought(of.pair).len()).unwrap_or(u32::MAX), strays))
}

/// How many streams of a pair strayed in its first visit, and by which member the most; none where that cannot be
/// judged.
pub(super) fn strayed_in<'v>(seen: &NetSamples<'v>, of: &PairSamples<'v>) -> Option<(u32, &'v str)> {
    let visit = of.visits.first()?;
    let aim = visit.pair.aim.as_ref()?;
    let found = of_visit(seen, visit, &aim.bond, |pair| pair.from)?;
    let own = aim.members.get(aim.only()? as usize)?;
    let (_, strayed) = alone(aim, &found).filter(|_| is_of(aim, &found.members))?;
    let others = found.members.iter().copied().filter(|member| member.name != *own);
    Some((strayed, others.max_by_key(|member| member.sent_bytes)?.name.as_str()))
}

/// How many of these streams are behind bytes that should not be there, where all members carried so much.
fn strays(streams: &[f64], carried: f64, beyond: f64) -> Option<u32> {
    let payload: f64 = streams.iter().sum();
    let least = share(streams.iter().copied().reduce(f64::min)? * carried, payload)?;
    if beyond < 0.5 * least {
        return Some(0);
    }
    let mean = carried / streams.len() as f64;
    Some((beyond / mean).round().clamp(1.0, streams.len() as f64) as u32)
}

fn arrives(seen: &NetSamples<'_>, to: u32, of: &PairSamples<'_>, sure: f64) -> Option<NetArrives> {
    let node = seen.run.nodes.get(to as usize)?;
    let (bond, _) = bond_under(&node.machine, &node.interface)
        .filter(|(_, bond)| bond.members.len() > 1 && CHOSEN_OUTSIDE.contains(&bond.mode.as_str()))?;
    let mut all = NetArrives { bond: bond.to_owned(), left_by_one: true, ..NetArrives::default() };
    // Of each member of the sender by which all streams of a visit were to leave, where they arrived.
    let mut led: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    let mut sums: BTreeMap<&str, (u32, u64)> = BTreeMap::new();
    let (mut is_each_on_one, mut are_alike) = (true, true);
    for visit in &of.visits {
        let Some(mut found) = of_visit(seen, visit, bond, |pair| pair.to) else { continue };
        // What is sent to a bond comes only by members that are not at rest.
        found.members.retain(|member| member.state == NetMemberState::Sends);
        if found.members.len() < 2 {
            continue;
        }
        let streams = brought(visit.pair);
        let Some((counts, top)) = arrived(&streams, &found) else { continue };
        all.visits += 1;
        all.streams += streams.len() as u32;
        let is_on_one = counts.iter().filter(|count| **count > 0).count() == 1;
        is_each_on_one &= is_on_one;
        are_alike &= is_on_one || are_alike_streams(visit.pair);
        for (member, count) in found.members.iter().zip(counts) {
            let sum = sums.entry(member.name.as_str()).or_default();
            sum.0 += count;
            sum.1 += member.received_bytes;
        }
        let aim = visit.pair.aim.as_ref();
        match aim.and_then(|aim| aim.members.get(aim.only()? as usize)) {
            Some(name) => _ = led.entry(name.as_str()).or_default().insert(found.members[top].name.as_str()),
            None => all.left_by_one = false,
        }
    }
    all.left_by_one &= led.len() == 1;
    let carried: f64 = sums.values().map(|(_, bytes)| *bytes as f64).sum();
    let member = |(name, (streams, bytes)): (&&str, &(u32, u64))| NetMemberReceives {
        name: (*name).to_owned(),
        streams: *streams,
        carried_bytes: *bytes,
        carried_share: share(*bytes as f64, carried).unwrap_or(0.0),
    };
    all.members = sums.iter().map(member).collect();
    (all.says, all.chance) = says(&all, is_each_on_one.then_some(&led), sure, are_alike);
    (all.visits > 0).then_some(all)
}

/// How many of these streams arrived on each member, and on which the most. All on one, where others carry less than
/// half of the least stream beyond what they may; else as bytes are shared.
fn arrived(streams: &[f64], of: &MembersVisit<'_>) -> Option<(Vec<u32>, usize)> {
    let bytes: Vec<f64> = of.members.iter().map(|member| member.received_bytes as f64).collect();
    let all: f64 = bytes.iter().sum();
    let (top, most) = bytes.iter().copied().enumerate().max_by(|a, b| a.1.total_cmp(&b.1))?;
    if strays(streams, all, all - most - of.background_bytes)? == 0 {
        let count = |place: usize| if place == top { streams.len() as u32 } else { 0 };
        return Some(((0..bytes.len()).map(count).collect(), top));
    }
    Some((dealt(streams.len(), &bytes.iter().map(|bytes| bytes / all).collect::<Vec<f64>>()), top))
}

/// So many by shares, whole ones: the largest rests have what is left.
fn dealt(count: usize, shares: &[f64]) -> Vec<u32> {
    let exact: Vec<f64> = shares.iter().map(|share| share * count as f64).collect();
    let mut whole: Vec<u32> = exact.iter().map(|part| part.floor() as u32).collect();
    let mut by_rest: Vec<usize> = (0..exact.len()).collect();
    by_rest.sort_by(|a, b| exact[*b].fract().total_cmp(&exact[*a].fract()));
    let left = count.saturating_sub(whole.iter().map(|part| *part as usize).sum::<usize>());
    by_rest.into_iter().take(left).for_each(|place| whole[place] += 1);
    whole
}

/// Whether those streams that brought something brought alike.
fn are_alike_streams(pair: &NetPair) -> bool {
    let brought: Vec<u64> = pair.stream_bytes.iter().copied().filter(|bytes| *bytes > 0).collect();
    fairness(&brought).is_none_or(|fairness| fairness >= ALIKE)
}

/// Chance that streams which each arrive anywhere lead from so many members to as many others, each to one.
fn one_to_one_chance(members: usize, streams: u32) -> f64 {
    let ways: f64 = (1..=members).map(|one| one as f64).product();
    ways * (members as f64).powf(-f64::from(streams))
}

/// What arrivals say, and the chance of it, where `sure` is small enough. With where each member of the sender led to,
/// where all streams of each visit arrived on one member; and whether bytes tell how many streams there were.
fn says(
    all: &NetArrives,
    led: Option<&BTreeMap<&str, BTreeSet<&str>>>,
    sure: f64,
    are_alike: bool,
) -> (NetArrival, f64) {
    let most = all.members.iter().map(|member| member.streams).max().unwrap_or(0);
    let members = all.members.len() as f64;
    let tail = regularized_beta(1.0 / members.max(1.0), f64::from(most), f64::from(all.streams - most) + 1.0);
    let chance = (members * tail).min(1.0);
    let is_one_to_one = led.is_some_and(|led| {
        let ends: BTreeSet<&&str> = led.values().flatten().collect();
        led.len() > 1 && led.values().all(|ends| ends.len() == 1) && ends.len() == led.len()
    });
    if is_one_to_one {
        let chance = one_to_one_chance(all.members.len(), all.streams);
        return (if chance <= sure { NetArrival::AsSent } else { NetArrival::Untold }, chance);
    }
    let arrival = match (chance <= sure, most == all.streams) {
        (true, true) => NetArrival::OneMember,
        (true, false) if are_alike => NetArrival::Uneven,
        (false, true) => NetArrival::Untold,
        (_, false) => NetArrival::Spread,
    };
    (arrival, chance)
}
