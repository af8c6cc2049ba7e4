//! Sentences that the text and the page share.

use linerate_analysis::net::view::{
    NetInterval, NetLimitCount, NetOffloadFigures, NetPairFigures, NetSaturation, NetSaturationOutcome, NetSearchEnd,
    NetSide, NetSlowNode, NetStreamsFigures, NetView,
};
use linerate_record::net::{NetOp, NetWay};
use linerate_record::units::{Bytes, bits_per_s, duration_ns, grouped};

use super::{ABSENT, change, percent, plural};

/// A rate as short as a table has it: as links are sold, or of requests and connections.
pub(crate) fn rate(view: &NetView, per_s: f64) -> String {
    if view.load.op.is_of_bytes() { view.rate(per_s) } else { format!("{}/s", grouped(per_s.round() as u64)) }
}

/// What rates are of.
pub(crate) const fn counted(view: &NetView) -> &'static str {
    match view.load.op {
        NetOp::Stream | NetOp::Udp { .. } => "goodput",
        NetOp::Request { .. } => "requests",
        NetOp::Connect => "connections",
        NetOp::Mtu => "largest packet",
    }
}

/// The same at the begin of a title.
pub(crate) const fn counted_title(view: &NetView) -> &'static str {
    match view.load.op {
        NetOp::Stream | NetOp::Udp { .. } => "Goodput",
        NetOp::Request { .. } => "Requests",
        NetOp::Connect => "Connections",
        NetOp::Mtu => "Largest packet",
    }
}

/// The mean of a figure over the pairs that are compared and have it.
fn mean(view: &NetView, extract: fn(&NetOffloadFigures) -> Option<f64>) -> Option<f64> {
    let known: Vec<f64> = view.compared().filter_map(|pair| extract(pair.offloads.as_ref()?)).collect();
    (!known.is_empty()).then(|| known.iter().sum::<f64>() / known.len() as f64)
}

/// How datagrams go through kernels.
fn at_once(view: &NetView) -> String {
    let sent = mean(view, |of| of.datagrams_per_send).filter(|count| *count > 1.0);
    let read = mean(view, |of| of.datagrams_per_read).filter(|count| *count > 1.0);
    match (sent, read) {
        (None, None) => "one by one".to_owned(),
        (Some(sent), None) => format!("{sent:.1} sent at once (GSO), one by one read"),
        (None, Some(read)) => format!("one by one sent, {read:.1} read at once (GRO)"),
        (Some(sent), Some(read)) => format!("{sent:.1} sent at once (GSO), {read:.1} read at once (GRO)"),
    }
}

/// What was asked of the kernel for a stream, and what came of it; nothing where that is nothing.
fn uncopied(view: &NetView) -> String {
    if !view.load.offloads.zerocopy {
        return String::new();
    }
    match mean(view, |of| of.copied_share) {
        Some(share) => format!(" without a copy (MSG_ZEROCOPY), of which {} was copied", percent(share)),
        None => " without a copy (MSG_ZEROCOPY), of which no kernel said what it copied".to_owned(),
    }
}

/// What each stream does.
fn op(view: &NetView) -> String {
    let load = &view.load;
    let bytes = |bytes: u32| Bytes(u64::from(bytes));
    match load.op {
        NetOp::Stream => {
            let read = if load.offloads.reads { ", read by receivers" } else { "" };
            format!("{} at once{}{read}", bytes(load.send_bytes), uncopied(view))
        }
        NetOp::Request { request_bytes, answer_bytes } => {
            format!("requests of {} with answers of {}", bytes(request_bytes), bytes(answer_bytes))
        }
        NetOp::Connect => "connections that are proven and closed".to_owned(),
        NetOp::Udp { datagram_bytes } => format!("datagrams of {datagram_bytes} B over UDP, {}", at_once(view)),
        NetOp::Mtu => "probes that nobody may fragment".to_owned(),
    }
}

/// A time in microseconds.
pub(crate) fn micros(us: f64) -> String {
    duration_ns(1e3 * us)
}

/// A pair's rate; none is more than any.
pub(crate) fn pair_rate(pair: &NetPairFigures) -> f64 {
    pair.per_s.map_or(f64::INFINITY, |rate| rate.mean)
}

/// How pairs of a round were chosen.
pub(crate) const fn way(way: NetWay) -> &'static str {
    match way {
        NetWay::Ring => "each machine sends to one and receives from another",
        NetWay::OneWay => "each machine sends or receives",
        NetWay::BothWays => "two machines send to each other",
        NetWay::Incast => "all others send to one machine",
        NetWay::Bisection => "half of the racks and the other half send to each other, then machines within racks",
    }
}

/// How many ways to halve the racks there are, by their rounds: those across and within. More are not counted.
pub(crate) fn halves(all_rounds: u32) -> String {
    let more = if all_rounds >= u32::MAX - 1 { " or more" } else { "" };
    format!("{}{more}", grouped(u64::from(all_rounds / 2)))
}

/// What was measured, and how.
pub(crate) fn measured(view: &NetView) -> String {
    let load = &view.load;
    let ms = |ms: u64| duration_ns(ms as f64 * 1e6);
    let probed = view.compared().filter(|pair| pair.path.is_some()).count() as u64;
    let pairs = view.whole().map_or(probed, |whole| u64::from(whole.pairs));
    let all = (view.nodes.len() as u64) * (view.nodes.len() as u64).saturating_sub(1);
    let sample = match load.sampled_of_rounds {
        Some(rounds) => format!(" (a sample of {})", plural(u64::from(rounds), "round")),
        None => String::new(),
    };
    let most =
        load.max_bytes_per_s.map_or_else(String::new, |most| format!(", at {} at the most", bits_per_s(8.0 * most)));
    format!(
        "{} of {all} pairs of {}{sample}; {}; {} of {} after {} of warm-up, {}{most}",
        grouped(pairs),
        plural(view.nodes.len() as u64, "machine"),
        way(load.way),
        plural(u64::from(view.visits), "visit"),
        ms(load.duration_ms),
        ms(load.warmup_ms),
        op(view)
    )
}

/// Half the interval as a share of the mean.
pub(crate) fn plus_minus(rate: NetInterval) -> String {
    match rate.high {
        Some(high) if rate.mean > 0.0 => format!("± {:.1} %", 100.0 * (high - rate.mean) / rate.mean),
        _ => ABSENT.to_owned(),
    }
}

/// Goodput over the number of streams, and from which on more give no more.
pub(crate) fn over_streams(view: &NetView) -> String {
    let one = |of: &NetStreamsFigures| {
        let around = of.per_s.high.map_or_else(String::new, |_| format!(" {}", plus_minus(of.per_s)));
        format!("{}: {}{around}", of.streams, rate(view, of.per_s.mean))
    };
    let each: Vec<String> = view.streams.iter().map(one).collect();
    format!("{}; {}", each.join(", "), enough_of_all(view))
}

/// From which number of streams on more give no more, over all pairs, and why a search for it ended.
pub(crate) fn enough_of_all(view: &NetView) -> String {
    enough(&view.enough) + &searched(view)
}

/// How far a search for the number of streams went, and why no further; nothing where there was none.
fn searched(view: &NetView) -> String {
    let (Some(ended), Some(last)) = (view.search_ended, view.load.streams.last()) else { return String::new() };
    let last = plural(u64::from(*last), "stream");
    let most = view.load.max_bytes_per_s.map_or_else(String::new, |most| format!(" of {}", bits_per_s(8.0 * most)));
    match ended {
        NetSearchEnd::NoMore => format!("; a search ended at {last}: its last steps show no more"),
        NetSearchEnd::MaxRate => {
            format!("; a search ended at {last}, where pairs have the --max-rate{most}: without it, more may give more")
        }
        NetSearchEnd::MostStreams => format!("; a search ended at {last}, the most that a pair may have"),
        NetSearchEnd::NoFigures => format!("; a search ended at {last}, which brought no figures"),
        NetSearchEnd::CutShort => format!("; a search was cut short at {last}"),
    }
}

/// From which number of streams on more give no more.
fn enough(of: &NetSaturation) -> String {
    match (of.outcome, of.streams, of.perhaps_from) {
        (NetSaturationOutcome::Found, Some(streams), Some(perhaps)) if perhaps < streams => {
            format!("from {streams} on more give no more, perhaps from {perhaps} on")
        }
        (NetSaturationOutcome::Found, Some(streams), _) => format!("from {streams} on more give no more"),
        (NetSaturationOutcome::StillRising, ..) => {
            "the most give more than all others: even more may give more".to_owned()
        }
        (NetSaturationOutcome::Untold | NetSaturationOutcome::Found, ..) => {
            "from which number on more give no more cannot be told: the intervals are too wide (more --visits)"
                .to_owned()
        }
        (NetSaturationOutcome::Single, ..) => "one number of streams was measured".to_owned(),
    }
}

/// How many pairs something limited, with the readings of one.
pub(crate) fn limit_count(limit: &NetLimitCount) -> String {
    let such_as = if limit.pairs > 1 { ", such as" } else { "" };
    format!("{} ({}{such_as}): {}", limit.by.name(), plural(u64::from(limit.pairs), "pair"), limit.evidence)
}

/// How much more or less than others, where it is anything.
pub(crate) fn against(share: f64) -> String {
    if share.abs() < 0.000_5 { "0 %".to_owned() } else { change(share) }
}

/// What the comparison rests on.
pub(crate) fn chance(view: &NetView) -> String {
    let slow = &view.slow;
    let scatter = slow.scatter_share.map_or_else(String::new, |share| format!("; pairs scatter by {}", percent(share)));
    let lacking = if slow.lacking.is_empty() { String::new() } else { format!("; {}", slow.lacking) };
    format!(
        "{} comparisons; of healthy fleets, at most {} have anything that is called slow; what is slower by less than \
         {} is not{scatter}{lacking}",
        grouped(u64::from(slow.comparisons)),
        percent(slow.false_alarm_share),
        percent(slow.least_share)
    )
}

/// Whether a pair is slow beyond what its machines are.
fn is_slow_pair(view: &NetView, from: u32, to: u32) -> bool {
    view.slow.pairs.iter().any(|pair| (pair.from, pair.to) == (from, to))
}

/// Whether a pair is slow, or one of its machines on the side that counts.
pub(crate) fn is_slow(view: &NetView, from: u32, to: u32) -> bool {
    is_slow_pair(view, from, to) || view.slow.nodes.iter().any(|slow| does_slowly(slow, from, to))
}

fn does_slowly(slow: &NetSlowNode, from: u32, to: u32) -> bool {
    (slow.node == from && slow.side != NetSide::Receives) || (slow.node == to && slow.side != NetSide::Sends)
}

/// The slow machine that a pair is slow by, where the pair itself is not.
pub(crate) fn slow_machine(view: &NetView, from: u32, to: u32) -> Option<u32> {
    let slow =
        view.slow.nodes.iter().find(|slow| does_slowly(slow, from, to)).filter(|_| !is_slow_pair(view, from, to));
    slow.map(|slow| slow.node)
}

/// What a machine does slowly.
pub(crate) const fn side(side: NetSide) -> &'static str {
    match side {
        NetSide::Sends => "sends",
        NetSide::Receives => "receives",
        NetSide::Both => "sends and receives",
    }
}

/// The unit that a matrix is in, and how many of what is counted per second it is.
pub(crate) fn unit(view: &NetView) -> (&'static str, f64) {
    let fastest = view.whole().map_or(0.0, |whole| whole.fastest_per_s);
    let (units, least): (&[(&str, f64)], _) = match view.load.op {
        NetOp::Stream | NetOp::Udp { .. } => (&[("Gb/s", 0.125e9), ("Mb/s", 0.125e6)], ("kb/s", 0.125e3)),
        NetOp::Mtu => (&[], ("bytes", 1.0)),
        NetOp::Request { .. } => (&[("thousand requests/s", 1e3)], ("requests/s", 1.0)),
        NetOp::Connect => (&[("thousand connections/s", 1e3)], ("connections/s", 1.0)),
    };
    units.iter().copied().find(|(_, scale)| fastest >= *scale).unwrap_or(least)
}

/// A number with three digits, as long as that makes sense.
pub(crate) fn three_digits(value: f64) -> String {
    let decimals = match value {
        v if v >= 99.95 => 0,
        v if v >= 9.995 => 1,
        _ => 2,
    };
    format!("{value:.decimals$}")
}
