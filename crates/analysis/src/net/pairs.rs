//! The figures of pairs, from their visits.

use std::collections::BTreeMap;

use linerate_record::net::{NetLoad, NetMachine, NetOp, NetPair, NetRun, NetSent, NetVisit};
use linerate_record::readings::ReadMeasure;

use super::drops::{self, NetDrops};
use super::ports::{self, NetPort};
use super::view::{NetInterval, NetPairFigures};
use super::{offloads, ops, paths};
use crate::estimate::mean_with_interval;
use crate::median::median;
use crate::student;

/// A port cannot carry more than this share of its speed: a higher one says that the speed stated is none.
const SPEED_MOST: f64 = 1.05;

/// Why a pair has no figures whose connections were made and proven, and brought no byte.
pub(super) const NOTHING_RECEIVED: &str = "nothing was received";

const GIB: f64 = (1_u64 << 30) as f64;

/// What one machine did in one visit.
#[derive(Clone, Debug, Default)]
pub(super) struct NodeVisit<'v> {
    pub(super) sent_bytes: f64,
    pub(super) received_bytes: f64,
    sent_wire_bytes_per_s: f64,
    received_wire_bytes_per_s: f64,
    pub(super) machine: Option<&'v NetMachine>,
}

/// A pair in one visit of which there are figures.
#[derive(Clone, Copy, Debug)]
pub(super) struct VisitSample<'v> {
    /// Its place among the visits.
    pub(super) place: usize,
    pub(super) pair: &'v NetPair,
    pub(super) per_s: f64,
}

/// A pair with one number of streams.
#[derive(Clone, Debug, Default)]
pub(super) struct PairSamples<'v> {
    pub(super) visits: Vec<VisitSample<'v>>,
    pub(super) failed: Vec<&'v str>,
}

/// Everything that visits give, in order.
#[derive(Debug)]
pub(super) struct NetSamples<'v> {
    pub(super) run: &'v NetRun,
    pub(super) visits: &'v [NetVisit],
    pub(super) ports: Vec<NetPort>,
    /// By sender, receiver and streams.
    pub(super) pairs: BTreeMap<(u32, u32, u32), PairSamples<'v>>,
    /// By visit and machine, those that take part.
    pub(super) nodes: Vec<BTreeMap<u32, NodeVisit<'v>>>,
    /// Machines whose interface carried more than the speed that it states.
    pub(super) beyond: Vec<u32>,
    /// Pairs of machines that are not in the run, or of one with itself.
    pub(super) strange: usize,
}

/// Lays visits out by pairs and by machines.
pub(super) fn seen<'v>(run: &'v NetRun, visits: &'v [NetVisit]) -> NetSamples<'v> {
    let count = run.nodes.len();
    let mut all = NetSamples {
        run,
        visits,
        ports: run.nodes.iter().map(ports::port).collect(),
        pairs: BTreeMap::new(),
        nodes: Vec::with_capacity(visits.len()),
        beyond: Vec::new(),
        strange: 0,
    };
    for (place, visit) in visits.iter().enumerate() {
        let mut nodes: BTreeMap<u32, NodeVisit<'v>> = BTreeMap::new();
        for machine in visit.machines.iter().filter(|machine| (machine.node as usize) < count) {
            nodes.entry(machine.node).or_default().machine = Some(machine);
        }
        for pair in &visit.pairs {
            let (from, to) = (pair.from as usize, pair.to as usize);
            if from == to || from.max(to) >= count {
                all.strange += 1;
                continue;
            }
            let seen_pair = all.pairs.entry((pair.from, pair.to, visit.streams)).or_default();
            match rate(pair, &run.load) {
                Ok(per_s) => {
                    seen_pair.visits.push(VisitSample { place, pair, per_s });
                    let wire = ports::wire_share(run.load.op, &all.ports[from], &all.ports[to]).unwrap_or(0.0);
                    let [there, back] = payload_per_s(run.load.op, per_s).map(|bytes_per_s| bytes_per_s * wire);
                    let bytes = total(&pair.received_bytes);
                    let sender = nodes.entry(pair.from).or_default();
                    sender.sent_bytes += bytes;
                    sender.sent_wire_bytes_per_s += there;
                    sender.received_wire_bytes_per_s += back;
                    let receiver = nodes.entry(pair.to).or_default();
                    receiver.received_bytes += bytes;
                    receiver.received_wire_bytes_per_s += there;
                    receiver.sent_wire_bytes_per_s += back;
                }
                Err(reason) => seen_pair.failed.push(reason),
            }
        }
        all.nodes.push(nodes);
    }
    without_nominal_speeds(&mut all);
    all
}

fn total(bytes: &[u64]) -> f64 {
    bytes.iter().map(|bytes| *bytes as f64).sum()
}

/// What counts of a pair in each interval.
fn counts(pair: &NetPair) -> &[u64] {
    pair.exchanges.as_ref().map_or(&pair.received_bytes, |exchanges| &exchanges.interval_counts)
}

/// The rate of a pair, or why there is none. The last interval ends with the visit, and may be shorter.
pub(super) fn rate<'p>(pair: &'p NetPair, load: &NetLoad) -> Result<f64, &'p str> {
    if let Some(error) = &pair.error {
        return Err(error);
    }
    if load.op == NetOp::Mtu {
        // What was found of its path is no rate.
        return if pair.probed.is_empty() { Err("its path was not probed") } else { Ok(0.0) };
    }
    if pair.exchanges.is_some() == load.op.is_of_bytes() {
        return Err("what it counted is not of this load");
    }
    let counts = counts(pair);
    let over_ms = load.interval_ms.saturating_mul(counts.len() as u64).min(load.duration_ms);
    let over_s = over_ms as f64 / 1e3;
    let all = total(counts);
    let nothing = if load.op.is_of_bytes() { NOTHING_RECEIVED } else { "nothing was answered" };
    if over_s > 0.0 && all > 0.0 { Ok(all / over_s) } else { Err(nothing) }
}

/// Bytes per second of payload that a rate moves from the sender to the receiver, and back.
fn payload_per_s(op: NetOp, per_s: f64) -> [f64; 2] {
    match op {
        NetOp::Stream | NetOp::Udp { .. } => [per_s, 0.0],
        NetOp::Request { request_bytes, answer_bytes } => {
            [per_s * f64::from(request_bytes), per_s * f64::from(answer_bytes)]
        }
        NetOp::Connect | NetOp::Mtu => [0.0; 2],
    }
}

/// Forgets speeds that interfaces exceeded: they are a driver's constant or a hypervisor's word, and no limit.
fn without_nominal_speeds(all: &mut NetSamples<'_>) {
    for (node, port) in (0_u32..).zip(all.ports.iter_mut()) {
        let Some(speed) = port.speed_bits_per_s else { continue };
        let visits = all.nodes.iter().filter_map(|nodes| nodes.get(&node));
        let carried = visits.map(|of| 8.0 * of.sent_wire_bytes_per_s.max(of.received_wire_bytes_per_s));
        if carried.fold(0.0, f64::max) > SPEED_MOST * speed {
            (port.speed_bits_per_s, port.member_bits_per_s) = (None, None);
            all.beyond.push(node);
        }
    }
}

/// What the limit of a pair is judged by, beside its figures.
#[derive(Clone, Debug, Default)]
pub(super) struct PairReadings {
    /// How full the port of the sender was while it sent, and that of the receiver while it received.
    pub(super) ports_share: [Option<f64>; 2],
    /// The same of a member of a bond, if all of the pair's bytes used one.
    pub(super) member_share: Option<f64>,
    /// The busiest core of both machines, and how many cores worked for interrupts.
    pub(super) busiest_core: [Option<f64>; 2],
    pub(super) softirq_cores: [Option<f64>; 2],
    /// Where the receiver dropped most packets, and how many per second.
    pub(super) receiver_drops: Option<(NetDrops, f64)>,
    /// The same of the sender.
    pub(super) sender_drops: Option<(NetDrops, f64)>,
    /// The sender's queue that held packets back for its rate most often: what `tc` calls it, its interface, and how
    /// often per second.
    pub(super) held_back: Option<(String, String, f64)>,
    /// The congestion window in bytes.
    pub(super) congestion_window_bytes: f64,
}

/// A pair's figures without what limited it, and what that is judged by.
pub(super) fn figures(
    seen: &NetSamples<'_>,
    key: (u32, u32, u32),
    of: &PairSamples<'_>,
) -> (NetPairFigures, PairReadings) {
    let (from, to, streams) = key;
    let mut reasons: Vec<String> = of.failed.iter().map(|reason| (*reason).to_owned()).collect();
    reasons.sort_unstable();
    reasons.dedup();
    let mut figures = NetPairFigures {
        from,
        to,
        streams,
        visits: u32::try_from(of.visits.len()).unwrap_or(u32::MAX),
        failed: u32::try_from(of.failed.len()).unwrap_or(u32::MAX),
        reasons,
        ..NetPairFigures::default()
    };
    if of.visits.is_empty() {
        return (figures, PairReadings::default());
    }
    if seen.run.load.op == NetOp::Mtu {
        figures.path = paths::figures(seen, (from, to), of);
        return (figures, PairReadings::default());
    }
    figures.per_s = interval(seen, of);
    let rates = || of.visits.iter().map(|visit| visit.per_s);
    if of.visits.len() > 1 {
        let (low, high) = rates().fold((f64::INFINITY, 0.0_f64), |(low, high), rate| (low.min(rate), high.max(rate)));
        figures.visits_spread_share = figures.per_s.map(|rate| (high - low) / rate.mean);
    }
    sockets(seen, &mut figures, of);
    figures.times = ops::times(of);
    figures.datagrams = ops::datagrams(&seen.run.load, of);
    figures.offloads = offloads::figures(of);
    processors(seen, &mut figures, of);
    let readings = readings(seen, from, to, of);
    let window = readings.congestion_window_bytes;
    figures.congestion_window_bytes = (window > 0.0 && seen.run.load.op == NetOp::Stream).then_some(window);
    figures.link_share = readings.ports_share.into_iter().flatten().max_by(f64::total_cmp);
    (figures, readings)
}

/// The mean goodput with its interval: by the means of visits where there are several, by the intervals of a single
/// one.
fn interval(seen: &NetSamples<'_>, of: &PairSamples<'_>) -> Option<NetInterval> {
    let rates: Vec<f64> = of.visits.iter().map(|visit| visit.per_s).collect();
    let (mean, half) = match of.visits.as_slice() {
        [] => return None,
        [only] => {
            let load = &seen.run.load;
            let (whole, per_s) = (load.duration_ms / load.interval_ms.max(1), 1e3 / load.interval_ms.max(1) as f64);
            let whole = counts(only.pair).iter().take(whole as usize);
            let rates: Vec<f64> = whole.map(|count| *count as f64 * per_s).collect();
            let estimate = mean_with_interval(&rates);
            (estimate.mean, estimate.half_width_95)
        }
        _ => mean_and_interval(&rates),
    };
    Some(of_rate(mean, half))
}

/// The interval of a rate, which is never below 0, by half its width.
pub(super) fn of_rate(mean: f64, half: Option<f64>) -> NetInterval {
    NetInterval { mean, low: half.map(|half| (mean - half).max(0.0)), high: half.map(|half| mean + half) }
}

/// The interval of a ratio, by its logarithm and half the width of that one's.
pub(super) fn of_ratio(log: f64, half: Option<f64>) -> NetInterval {
    NetInterval { mean: log.exp(), low: half.map(|half| (log - half).exp()), high: half.map(|half| (log + half).exp()) }
}

/// The mean of independent values with half the width of its 95 % interval, by Student's t; none of fewer than two.
pub(super) fn mean_and_interval(values: &[f64]) -> (f64, Option<f64>) {
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n.max(1.0);
    if values.len() < 2 {
        return (mean, None);
    }
    let variance = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / (n - 1.0);
    (mean, Some(student::quantile(0.975, n - 1.0) * (variance / n).sqrt()))
}

pub(super) fn share(part: f64, whole: f64) -> Option<f64> {
    (whole > 0.0).then(|| part / whole)
}

/// What the sender's kernel says, over all visits.
fn sockets(seen: &NetSamples<'_>, figures: &mut NetPairFigures, of: &PairSamples<'_>) {
    let sum = |field: fn(&NetSent) -> u64| of.visits.iter().map(|visit| field(&visit.pair.sent) as f64).sum::<f64>();
    let middle = |field: fn(&NetSent) -> u64| {
        let known = of.visits.iter().map(|visit| field(&visit.pair.sent)).filter(|value| *value > 0);
        median(known.map(|value| value as f64).collect())
    };
    let busy = sum(|sent| sent.busy_us);
    figures.retransmitted_share = share(sum(|sent| sent.retransmitted_segments), sum(|sent| sent.segments));
    figures.round_trip_us = middle(|sent| sent.round_trip_us);
    figures.least_round_trip_us = middle(|sent| sent.least_round_trip_us);
    let load = &seen.run.load;
    let open_us = (load.warmup_ms + load.duration_ms) as f64 * 1e3 * f64::from(figures.streams);
    let visits = of.visits.iter().filter(|visit| visit.pair.sent.busy_us > 0).count() as f64;
    let fair: Vec<f64> = of.visits.iter().filter_map(|visit| fairness(&visit.pair.stream_bytes)).collect();
    figures.fairness = (figures.streams > 1 && !fair.is_empty()).then(|| fair.iter().sum::<f64>() / fair.len() as f64);
    // What waits for an answer has nothing to send, and no window or buffer holds it up.
    if load.op != NetOp::Stream {
        return;
    }
    figures.segment_bytes = middle(|sent| sent.segment_bytes).map(|bytes| bytes.round() as u32);
    figures.busy_share = share(busy, open_us * visits).map(|share| share.min(1.0));
    figures.window_share = share(sum(|sent| sent.window_limited_us), busy).map(|share| share.min(1.0));
    figures.buffer_share = share(sum(|sent| sent.buffer_limited_us), busy).map(|share| share.min(1.0));
}

/// Jain's index (Jain, Chiu and Hawe, DEC-TR-301, 1984).
pub(super) fn fairness(stream_bytes: &[u64]) -> Option<f64> {
    let sum = total(stream_bytes);
    let squares: f64 = stream_bytes.iter().map(|bytes| (*bytes as f64).powi(2)).sum();
    share(sum * sum, squares * stream_bytes.len() as f64)
}

/// What both machines' threads used.
fn processors(seen: &NetSamples<'_>, figures: &mut NetPairFigures, of: &PairSamples<'_>) {
    let nodes = |node: u32| of.visits.iter().filter_map(move |visit| seen.nodes[visit.place].get(&node));
    let is_of_bytes = seen.run.load.op.is_of_bytes();
    let of_machine = |node: u32, bytes: fn(&NodeVisit<'_>) -> f64, ns: fn(&NetMachine) -> (u64, u64)| {
        let (mut cpu_s, mut moved, mut ran_s, mut over_s) = (0.0, 0.0, 0.0, 0.0);
        for node in nodes(node) {
            let Some(machine) = node.machine else { continue };
            let (all, busiest) = ns(machine);
            cpu_s += all as f64 / 1e9;
            moved += bytes(node);
            ran_s += busiest as f64 / 1e9;
            over_s += machine.over_ms as f64 / 1e3;
        }
        (share(cpu_s, moved / GIB).filter(|_| is_of_bytes), share(ran_s, over_s))
    };
    (figures.sender_cpu_s_per_gib, figures.sender_busiest_share) =
        of_machine(figures.from, |node| node.sent_bytes, |machine| (machine.send_cpu_ns, machine.send_busiest_ns));
    let busy = |node: u32, bytes: fn(&NodeVisit<'_>) -> f64| {
        let (mut busy_s, mut moved) = (0.0, 0.0);
        for node in nodes(node) {
            let Some(machine) = node.machine else { continue };
            let Some(cores) = machine.values.iter().find(|value| value.of == ReadMeasure::CoresBusy) else { continue };
            busy_s += cores.value * machine.over_ms as f64 / 1e3;
            moved += bytes(node);
        }
        share(busy_s, moved / GIB).filter(|_| is_of_bytes)
    };
    figures.sender_busy_s_per_gib = busy(figures.from, |node| node.sent_bytes);
    figures.receiver_busy_s_per_gib = busy(figures.to, |node| node.received_bytes);
    (figures.receiver_cpu_s_per_gib, figures.receiver_busiest_share) = of_machine(
        figures.to,
        |node| node.received_bytes,
        |machine| (machine.receive_cpu_ns, machine.receive_busiest_ns),
    );
}

fn mean(values: impl Iterator<Item = f64>) -> Option<f64> {
    let (sum, count) = values.fold((0.0, 0.0), |(sum, count), value| (sum + value, count + 1.0));
    share(sum, count)
}

fn readings(seen: &NetSamples<'_>, from: u32, to: u32, of: &PairSamples<'_>) -> PairReadings {
    let nodes = |node: u32| of.visits.iter().filter_map(move |visit| seen.nodes[visit.place].get(&node));
    let [sender, receiver] = [&seen.ports[from as usize], &seen.ports[to as usize]];
    let wire = ports::wire_share(seen.run.load.op, sender, receiver);
    let port = |node: u32, port: &NetPort, carried: fn(&NodeVisit<'_>) -> f64| {
        let speed = port.speed_bits_per_s.filter(|_| wire.is_some())?;
        mean(nodes(node).map(|node| 8.0 * carried(node) / speed))
    };
    let value = |node: u32, measure: ReadMeasure| {
        let values = nodes(node).filter_map(|node| node.machine).flat_map(|machine| &machine.values);
        mean(values.filter(|value| value.of == measure).map(|value| value.value))
    };
    let machines = |node: u32| nodes(node).filter_map(|node| node.machine).collect::<Vec<&NetMachine>>();
    let [rate, _] = payload_per_s(seen.run.load.op, mean(of.visits.iter().map(|visit| visit.per_s)).unwrap_or(0.0));
    let member = [sender, receiver].into_iter().filter_map(|port| port.member_bits_per_s).min_by(f64::total_cmp);
    let window = of.visits.iter().map(|visit| {
        let sent = &visit.pair.sent;
        sent.congestion_window_segments as f64 * sent.segment_bytes as f64
    });
    PairReadings {
        ports_share: [
            port(from, sender, |node| node.sent_wire_bytes_per_s),
            port(to, receiver, |node| node.received_wire_bytes_per_s),
        ],
        member_share: member.zip(wire).map(|(speed, wire)| 8.0 * rate * wire / speed),
        busiest_core: [from, to].map(|node| value(node, ReadMeasure::BusiestCore)),
        softirq_cores: [from, to].map(|node| value(node, ReadMeasure::CoresSoftirq)),
        receiver_drops: drops::at_receiver(&machines(to), &receiver.counting),
        sender_drops: drops::at_sender(&machines(from), [&sender.counting, &sender.carriers]),
        held_back: drops::held_back(&machines(from), &sender.carriers),
        congestion_window_bytes: mean(window).unwrap_or(0.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn streams_that_share_alike_are_fair_and_one_that_has_all_is_not() {
        assert_eq!(fairness(&[5, 5, 5, 5]), Some(1.0));
        assert_eq!(fairness(&[20, 0, 0, 0]), Some(0.25));
        assert_eq!(fairness(&[]), None);
        assert_eq!(fairness(&[0, 0]), None);
    }

    #[test]
    fn a_mean_of_visits_has_the_interval_of_students_t() {
        let (mean, half) = mean_and_interval(&[9.0, 11.0]);
        assert!(mean == 10.0 && (half.unwrap() - 12.706).abs() < 1e-3, "{half:?}");
        assert_eq!(mean_and_interval(&[3.0]), (3.0, None));
        assert_eq!(median(vec![4.0, 1.0, 2.0, 9.0]), Some(3.0));
    }
}
