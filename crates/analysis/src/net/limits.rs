//! What limited a pair, by readings of both ends, in an order in which each explains those below it: a full port makes
//! queues, a busy receiver a full window.

use linerate_record::finding::Confidence;
use linerate_record::net::{NetOp, NetWay};
use linerate_record::units::{bits_per_s, bytes_iec, count, duration_ns, percent};

use super::pairs::{NetSamples, PairReadings};
use super::view::{NetLimit, NetLimitedBy, NetPairFigures};

/// Share of a port's speed from which it counts as full, framing included.
const LINK_FULL: f64 = 0.93;

/// Up to this share of a member's speed, all of a pair's bytes can have used one member.
const MEMBER_MOST: f64 = 1.02;

/// Share of the rate that was asked for from which that is the limit.
pub(super) const REQUESTED_REACHED: f64 = 0.95;

/// Share of the time from which a thread or a core counts as full.
const PROCESSOR_FULL: f64 = 0.95;

/// Cores at work for interrupts from which a full core is taken for one of these.
const SOFTIRQ_CORES: f64 = 0.5;

/// Share of the busy time from which a window or a buffer is the limit: as in readings of a cluster.
const HELD: f64 = 0.35;

/// Share of the busy time from which that is likely, and below it possible: for the rest of the time something else
/// was.
const HELD_MOSTLY: f64 = 0.5;

/// Share of segments sent again from which losses are the limit: as in readings of a cluster.
const LOST: f64 = 0.005;

/// What to look at where packets are lost, and neither machine says that it dropped them.
const LOOK_AT_PORTS: &str =
    "drops and errors of the switch's ports between both, their cables and optics; net.ipv4.tcp_congestion_control";

/// What to look at where nothing says what the limit is.
const LOOK_AT_SWITCHES: &str =
    "the switches between both (a slower uplink, a limit of rates, pauses), net.ipv4.tcp_congestion_control";

/// Packets that an end drops itself, per second, from which that is said.
const DROPS_LEAST_PER_S: f64 = 1.0;

/// How often per second a queue holds packets back from which a limit of rates is said: rates of some packets each.
const HELD_BACK_LEAST_PER_S: f64 = 10.0;

/// Below this share of the time busy, the sender had nothing to send for much of it.
const BUSY_LEAST: f64 = 0.9;

/// Whether a limit says more than that it is somewhere between the machines.
pub(super) fn says_where(limit: &NetLimit) -> bool {
    ![LOOK_AT_PORTS, LOOK_AT_SWITCHES].contains(&limit.look_at.as_str())
}

/// What limited a pair whose figures these are; `None` where no visit counts.
pub(super) fn limit(seen: &NetSamples<'_>, figures: &NetPairFigures, readings: &PairReadings) -> Option<NetLimit> {
    let rate = figures.per_s?.mean;
    match seen.run.load.op {
        NetOp::Stream => {}
        NetOp::Request { .. } | NetOp::Connect => return Some(of_exchanges(seen, figures, readings)),
        NetOp::Udp { .. } => return Some(of_datagrams(seen, figures, readings, rate)),
        NetOp::Mtu => return None,
    }
    let found = link(seen, figures, readings)
        .or_else(|| member(seen, figures, readings, rate))
        .or_else(|| requested(seen, rate))
        .or_else(|| mostly_held(figures))
        .or_else(|| sender(figures, readings))
        .or_else(|| receiver(figures, readings))
        .or_else(|| held(figures))
        .or_else(|| Some(at_one_port(seen, figures, losses(figures, readings)?)));
    Some(found.unwrap_or_else(|| network(figures, readings)))
}

/// Requests and connections wait for each other, so that what is left once nothing is full is the time of each.
fn of_exchanges(seen: &NetSamples<'_>, figures: &NetPairFigures, readings: &PairReadings) -> NetLimit {
    let found = link(seen, figures, readings)
        .or_else(|| sender(figures, readings))
        .or_else(|| receiver(figures, readings))
        .or_else(|| losses(figures, readings));
    found.unwrap_or_else(|| {
        let what = if seen.run.load.op == NetOp::Connect { "connection" } else { "request" };
        let takes = figures.times.map_or(0.0, |times| times.p50_us);
        NetLimit {
            by: NetLimitedBy::RoundTrip,
            confidence: Confidence::Possible,
            evidence: format!("each stream has one {what} at a time, which takes {} at p50", duration_ns(1e3 * takes)),
            look_at: "more streams have more under way; the time itself is that of interrupts, of cores that wake up \
                      (cpu.governor) and of the switches between both"
                .to_owned(),
        }
    })
}

/// Datagrams come at the rate that was asked for, or the sender is too slow for it, or some are lost.
fn of_datagrams(seen: &NetSamples<'_>, figures: &NetPairFigures, readings: &PairReadings, rate: f64) -> NetLimit {
    let found = requested(seen, rate)
        .or_else(|| link(seen, figures, readings))
        .or_else(|| member(seen, figures, readings, rate))
        .or_else(|| socket_buffer(figures))
        .or_else(|| sender(figures, readings))
        .or_else(|| receiver(figures, readings))
        .or_else(|| lost_datagrams(figures, readings));
    found.unwrap_or_else(|| network(figures, readings))
}

/// Datagrams that came as far as the receiver's sockets, and were not read soon enough.
fn socket_buffer(figures: &NetPairFigures) -> Option<NetLimit> {
    let datagrams = figures.datagrams.filter(|of| of.socket_drops_share >= LOST)?;
    Some(NetLimit {
        by: NetLimitedBy::SocketBuffer,
        confidence: Confidence::Likely,
        evidence: format!(
            "the receiver's own sockets drop {} of datagrams, of {} that are lost",
            percent(datagrams.socket_drops_share),
            percent(datagrams.lost_share)
        ),
        look_at: "net.core.rmem_max of the receiver, more streams and more threads: it reads too slowly".to_owned(),
    })
}

fn lost_datagrams(figures: &NetPairFigures, readings: &PairReadings) -> Option<NetLimit> {
    let datagrams = figures.datagrams.filter(|of| of.lost_share >= LOST)?;
    Some(NetLimit {
        confidence: Confidence::Likely,
        ..lossy(format!("{} of datagrams are lost", percent(datagrams.lost_share)), readings)
    })
}

fn link(seen: &NetSamples<'_>, figures: &NetPairFigures, readings: &PairReadings) -> Option<NetLimit> {
    let share = figures.link_share.filter(|share| *share >= LINK_FULL)?;
    let [sender, receiver] = readings.ports_share.map(|share| share.unwrap_or(0.0));
    let (node, does) = if sender >= receiver { (figures.from, "sends") } else { (figures.to, "receives") };
    let speed = seen.ports[node as usize].speed_bits_per_s.unwrap_or(0.0);
    let node_record = &seen.run.nodes[node as usize];
    Some(NetLimit {
        by: NetLimitedBy::Link,
        confidence: Confidence::Certain,
        evidence: format!(
            "{} of the {} of {} on {}, where it {does}, framing included",
            percent(share),
            bits_per_s(speed),
            node_record.interface,
            node_record.name
        ),
        look_at: "nothing on the machines gives more: a faster port, or more of them".to_owned(),
    })
}

fn member(seen: &NetSamples<'_>, figures: &NetPairFigures, readings: &PairReadings, rate: f64) -> Option<NetLimit> {
    let share = readings.member_share.filter(|share| (LINK_FULL..=MEMBER_MOST).contains(share))?;
    let ports = [figures.from, figures.to].map(|node| &seen.ports[node as usize]);
    let policy = ports.into_iter().map(|port| port.hash_policy.as_str()).find(|policy| !policy.is_empty());
    let look_at = match (figures.streams, policy) {
        (1, _) => "more streams: one stream uses one member of a bond".to_owned(),
        (_, Some(policy)) => {
            format!("bond.xmit_hash_policy ({policy} now) and the hash of the switch: see what they mix")
        }
        (_, None) => "bond.xmit_hash_policy and the hash of the switch: see what they mix".to_owned(),
    };
    Some(NetLimit {
        by: NetLimitedBy::BondMember,
        confidence: if figures.streams == 1 { Confidence::Likely } else { Confidence::Possible },
        evidence: format!(
            "{} is {} of one member of the bond, framing included",
            bits_per_s(8.0 * rate),
            percent(share)
        ),
        look_at,
    })
}

fn requested(seen: &NetSamples<'_>, rate: f64) -> Option<NetLimit> {
    let requested = seen.run.load.max_bytes_per_s.filter(|requested| rate >= REQUESTED_REACHED * requested)?;
    Some(NetLimit {
        by: NetLimitedBy::RequestedRate,
        confidence: Confidence::Certain,
        evidence: format!("{} of the {} that were asked for", percent(rate / requested), bits_per_s(8.0 * requested)),
        look_at: "a higher rate, or none, finds the limit of the link".to_owned(),
    })
}

fn sender(figures: &NetPairFigures, readings: &PairReadings) -> Option<NetLimit> {
    let of_thread = figures.sender_busiest_share.filter(|share| *share >= PROCESSOR_FULL);
    let look_at = if figures.streams == 1 {
        "more streams use more cores; else nic.tso, nic.gso, nic.mtu and the frequency of cores (cpu.governor)"
    } else {
        "nic.tso, nic.gso, nic.mtu, nic.channels and the frequency of cores (cpu.governor)"
    };
    processor(NetLimitedBy::SenderProcessor, "sends", look_at, of_thread, readings, 0)
}

fn receiver(figures: &NetPairFigures, readings: &PairReadings) -> Option<NetLimit> {
    let of_thread = figures.receiver_busiest_share.filter(|share| *share >= PROCESSOR_FULL);
    let look_at = if figures.streams == 1 {
        "more streams use more cores; else nic.gro, nic.mtu, nic.channels, nic.interrupts and the frequency of cores"
    } else {
        "nic.gro, nic.mtu, nic.channels, nic.interrupts, nic.rps_cpus and the frequency of cores (cpu.governor)"
    };
    processor(NetLimitedBy::ReceiverProcessor, "receives", look_at, of_thread, readings, 1)
}

/// A full thread, or a full core where cores work for interrupts.
fn processor(
    by: NetLimitedBy,
    does: &str,
    look_at: &str,
    of_thread: Option<f64>,
    readings: &PairReadings,
    end: usize,
) -> Option<NetLimit> {
    let of_core = || {
        let busiest = readings.busiest_core[end].filter(|share| *share >= PROCESSOR_FULL)?;
        let cores = readings.softirq_cores[end].filter(|cores| *cores >= SOFTIRQ_CORES)?;
        Some((busiest, cores))
    };
    let (confidence, evidence) = match of_thread {
        Some(share) => {
            (Confidence::Likely, format!("the busiest thread that {does} runs {} of the time", percent(share)))
        }
        None => {
            let (busiest, cores) = of_core()?;
            let evidence = format!(
                "the busiest core of the machine that {does} is busy for {} of the time, and {} cores work for \
                 interrupts",
                percent(busiest),
                count(cores)
            );
            (Confidence::Possible, evidence)
        }
    };
    Some(NetLimit { by, confidence, evidence, look_at: look_at.to_owned() })
}

/// The same, where sockets waited for it most of the time: a core that is busy meanwhile works for something else. A
/// receiver whose own thread is busy fills its window by that.
fn mostly_held(figures: &NetPairFigures) -> Option<NetLimit> {
    let reads_slowly = figures.receiver_busiest_share.is_some_and(|share| share >= PROCESSOR_FULL);
    held(figures).filter(|held| !reads_slowly && held.confidence == Confidence::Likely)
}

/// The receiver's window or the send buffer, whichever was the limit for longer.
fn held(figures: &NetPairFigures) -> Option<NetLimit> {
    let [window, buffer] = [figures.window_share, figures.buffer_share].map(|share| share.unwrap_or(0.0));
    let share = window.max(buffer);
    if share < HELD {
        return None;
    }
    let (by, what, look_at) = if window >= buffer {
        let look_at = "net.ipv4.tcp_rmem (its last value) and net.core.rmem_max of the receiver; else it reads slowly";
        (NetLimitedBy::ReceiveWindow, "receiver's window", look_at)
    } else {
        (
            NetLimitedBy::SendBuffer,
            "send buffer",
            "net.ipv4.tcp_wmem (its last value) and net.core.wmem_max of the sender",
        )
    };
    Some(NetLimit {
        by,
        confidence: if share >= HELD_MOSTLY { Confidence::Likely } else { Confidence::Possible },
        evidence: format!("the {what} is the limit for {} of the time with something to send", percent(share)),
        look_at: look_at.to_owned(),
    })
}

fn losses(figures: &NetPairFigures, readings: &PairReadings) -> Option<NetLimit> {
    let share = figures.retransmitted_share.filter(|share| *share >= LOST)?;
    Some(lossy(format!("{} of segments are sent again", percent(share)), readings))
}

/// Where all send to one at once, the port to it is what they share.
fn at_one_port(seen: &NetSamples<'_>, figures: &NetPairFigures, lossy: NetLimit) -> NetLimit {
    if seen.run.load.way != NetWay::Incast {
        return lossy;
    }
    let to = &seen.run.nodes[figures.to as usize].name;
    let look_at =
        format!("the drops and the buffer of the switch's port to {to}, at which all senders meet; nic.ring.rx");
    NetLimit { look_at, ..lossy }
}

/// Losses that were counted, and those of them that the receiver counts itself.
fn lossy(counted: String, readings: &PairReadings) -> NetLimit {
    let ends = [(&readings.sender_drops, "sender"), (&readings.receiver_drops, "receiver")];
    let found = ends.into_iter().filter_map(|(drops, end)| Some((drops.as_ref()?, end)));
    let most = found.max_by(|a, b| a.0.1.total_cmp(&b.0.1)).filter(|((_, per_s), _)| *per_s >= DROPS_LEAST_PER_S);
    let (drops, look_at) = match most {
        Some(((of, per_s), end)) => {
            (format!("; the {end} drops {} packets a second itself, {}", count(*per_s), of.place()), of.look_at(end))
        }
        None => (String::new(), LOOK_AT_PORTS.to_owned()),
    };
    NetLimit {
        by: NetLimitedBy::Losses,
        // A queue that overflows is also how congestion control finds the speed of a link that is full elsewhere.
        confidence: Confidence::Possible,
        evidence: counted + &drops,
        look_at,
    }
}

fn network(figures: &NetPairFigures, readings: &PairReadings) -> NetLimit {
    let mut said = vec!["neither a port, a processor, a window nor a buffer is full, and little is lost".to_owned()];
    if figures.link_share.is_none() {
        said[0] = "no processor, window or buffer is full, and little is lost; the speed of the ports is not known"
            .to_owned();
    }
    if let Some(trip_us) = figures.round_trip_us {
        let window = readings.congestion_window_bytes;
        let window =
            if window > 0.0 { format!(", congestion window {} a stream", bytes_iec(window)) } else { String::new() };
        said.push(format!("round trip {}{window}", duration_ns(1e3 * trip_us)));
    }
    if let Some(busy) = figures.busy_share.filter(|busy| *busy < BUSY_LEAST) {
        said.push(format!("streams had something to send for {} of the time only", percent(busy)));
    }
    let held = readings.held_back.as_ref().filter(|(.., per_s)| *per_s >= HELD_BACK_LEAST_PER_S);
    if let Some((discipline, interface, per_s)) = held {
        let times = count(*per_s);
        said.insert(
            0,
            format!("the sender's own queue, {discipline} of {interface}, held packets back {times} times a second"),
        );
    }
    NetLimit {
        by: NetLimitedBy::Network,
        confidence: Confidence::Possible,
        evidence: said.join("; "),
        look_at: match held {
            Some((_, interface, _)) => format!("the limit of rates on the sender: tc -s qdisc show dev {interface}"),
            None => LOOK_AT_SWITCHES.to_owned(),
        },
    }
}
