//! Links between machines as OpenMetrics: what a run measured, or has measured so far. Tests: `tests/nets.rs`.

use linerate_analysis::net::view::{NetBisection, NetInterval, NetPairFigures, NetRackSide, NetView};
use linerate_record::net::NetOp;

use super::{build, family, number, sample};
use crate::phrases::net::side;

/// A gauge of each pair with each number of streams: its name without the unit, its unit, what it says, and the figure.
struct PairGauge {
    name: &'static str,
    unit: &'static str,
    help: &'static str,
    extract: fn(&NetPairFigures) -> Option<f64>,
}

const fn gauge(
    name: &'static str,
    unit: &'static str,
    help: &'static str,
    extract: fn(&NetPairFigures) -> Option<f64>,
) -> PairGauge {
    PairGauge { name, unit, help, extract }
}

const OF_STREAMS: &[PairGauge] = &[
    gauge("retransmitted", "ratio", "Share of segments that were sent again.", |pair| pair.retransmitted_share),
    gauge("round_trip", "seconds", "Smoothed round-trip time under load.", |pair| pair.round_trip_us.map(seconds)),
    gauge("window", "ratio", "Share of the time to send in which the receiver's window was the limit.", |pair| {
        pair.window_share
    }),
    gauge("buffer", "ratio", "Share of the time to send in which the send buffer was the limit.", |pair| {
        pair.buffer_share
    }),
];

const OF_EXCHANGES: &[PairGauge] = &[
    gauge("p50", "seconds", "Median of the time that each took.", |pair| pair.times.map(|of| seconds(of.p50_us))),
    gauge("p90", "seconds", "90th percentile of it.", |pair| pair.times.map(|of| seconds(of.p90_us))),
    gauge("p99", "seconds", "99th percentile of it.", |pair| pair.times.map(|of| seconds(of.p99_us))),
    gauge("p999", "seconds", "99.9th percentile of it.", |pair| pair.times.map(|of| seconds(of.p999_us))),
    gauge("longest", "seconds", "The longest.", |pair| pair.times.map(|of| seconds(of.max_us))),
];

const OF_DATAGRAMS: &[PairGauge] = &[
    gauge("lost", "ratio", "Share of datagrams that did not come.", |pair| pair.datagrams.map(|of| of.lost_share)),
    gauge("socket_drops", "ratio", "Share of datagrams that the receiver's own sockets dropped.", |pair| {
        pair.datagrams.map(|of| of.socket_drops_share)
    }),
    gauge("reordered", "ratio", "Share of datagrams that came after a later one.", |pair| {
        pair.datagrams.map(|of| of.reordered_share)
    }),
    gauge("duplicated", "ratio", "Share of datagrams that came once more.", |pair| {
        pair.datagrams.map(|of| of.duplicated_share)
    }),
    gauge("jitter", "seconds", "Jitter of arrivals by RFC 3550.", |pair| {
        pair.datagrams.map(|of| seconds(of.jitter_us))
    }),
];

const OF_PATHS: &[PairGauge] = &[
    gauge("path_carried", "bytes", "The largest packet that came, headers included.", |pair| {
        pair.path.as_ref().and_then(|path| path.carried_bytes).map(f64::from)
    }),
    gauge("path_interface", "bytes", "The MTU of the interface by which the sender sends there.", |pair| {
        pair.path.as_ref().map(|path| f64::from(path.interface_bytes))
    }),
];

fn seconds(us: f64) -> f64 {
    us / 1e6
}

/// The text of a run by this version of linerate, or of one of which nothing is known yet.
#[must_use]
pub fn net(version: &str, view: Option<&NetView>) -> String {
    let mut text = String::with_capacity(8_192);
    build(&mut text, version);
    if let Some(view) = view {
        of_run(&mut text, view);
        rates(&mut text, view);
        let help = "Visits of a pair without figures.";
        each(&mut text, view, "linerate_net_failed_visits", "", help, |pair| Some(f64::from(pair.failed)));
        let own = match view.load.op {
            NetOp::Stream => OF_STREAMS,
            NetOp::Request { .. } | NetOp::Connect => OF_EXCHANGES,
            NetOp::Udp { .. } => OF_DATAGRAMS,
            NetOp::Mtu => OF_PATHS,
        };
        own.iter().for_each(|gauge| of_pairs(&mut text, view, gauge));
        let help = "What the fuller port carries of its speed, framing included.";
        of_pairs(&mut text, view, &self::gauge("link", "ratio", help, |pair| pair.link_share));
        limits(&mut text, view);
        slow(&mut text, view);
        racks(&mut text, view);
    }
    text.push_str("# EOF\n");
    text
}

fn of_run(text: &mut String, view: &NetView) {
    let count = |text: &mut String, name: &str, help: &str, value: usize| {
        family(text, name, "gauge", "", help);
        sample(text, name, &[], &value.to_string());
    };
    family(text, "linerate_net_began_seconds", "gauge", "seconds", "When the run began, since 1970.");
    sample(text, "linerate_net_began_seconds", &[], &number(view.began_unix_ms as f64 / 1e3));
    count(text, "linerate_net_machines", "Machines of the run.", view.nodes.len());
    count(text, "linerate_net_visits", "Visits that were made.", view.visits as usize);
    count(text, "linerate_net_warnings", "Warnings of the report.", view.warnings.len());
}

/// Rates of what each stream does, with the ends of their intervals.
fn rates(text: &mut String, view: &NetView) {
    let (of, unit) = match view.load.op {
        NetOp::Stream | NetOp::Udp { .. } => ("goodput", "bytes_per_second"),
        NetOp::Request { .. } => ("answered", "requests_per_second"),
        NetOp::Connect => ("made", "connections_per_second"),
        // Probes have no rate that says anything.
        NetOp::Mtu => return,
    };
    type End = fn(NetInterval) -> Option<f64>;
    let ends: [(&str, &str, End); 3] = [
        ("", "Mean over the visits of a pair.", |rate| Some(rate.mean)),
        ("_low", "Lower end of the 95 % interval of that mean.", |rate| rate.low),
        ("_high", "Upper end of the 95 % interval of that mean.", |rate| rate.high),
    ];
    for (end, help, value) in ends {
        let name = format!("linerate_net_{of}{end}_{unit}");
        each(text, view, &name, unit, help, |pair| pair.per_s.and_then(value));
    }
}

fn of_pairs(text: &mut String, view: &NetView, gauge: &PairGauge) {
    let name = format!("linerate_net_{}_{}", gauge.name, gauge.unit);
    each(text, view, &name, gauge.unit, gauge.help, gauge.extract);
}

/// A family with a sample of each pair and number of streams that has the figure.
fn each(
    text: &mut String,
    view: &NetView,
    name: &str,
    unit: &str,
    help: &str,
    extract: impl Fn(&NetPairFigures) -> Option<f64>,
) {
    family(text, name, "gauge", unit, help);
    for pair in &view.pairs {
        if let Some(value) = extract(pair) {
            with_labels(view, pair, |labels| sample(text, name, labels, &number(value)));
        }
    }
}

/// Names of a pair, and its streams.
fn with_labels(view: &NetView, pair: &NetPairFigures, then: impl FnOnce(&[(&str, &str)])) {
    let streams = pair.streams.to_string();
    then(&[("from", view.name(pair.from)), ("to", view.name(pair.to)), ("streams", &streams)]);
}

fn limits(text: &mut String, view: &NetView) {
    family(text, "linerate_net_limit", "info", "", "What limits a pair.");
    for pair in &view.pairs {
        if let Some(limit) = &pair.limit {
            with_labels(view, pair, |labels| {
                let labels: Vec<(&str, &str)> = labels.iter().copied().chain([("by", limit.by.key())]).collect();
                sample(text, "linerate_net_limit_info", &labels, "1");
            });
        }
    }
}

/// What is slow beyond chance: nothing is a family without samples.
fn slow(text: &mut String, view: &NetView) {
    let name = "linerate_net_slow_machine_ratio";
    family(text, name, "gauge", "ratio", "How much less than others a machine that is slow beyond chance gives.");
    for slow in &view.slow.nodes {
        let labels = [("machine", view.name(slow.node)), ("does", side(slow.side))];
        sample(text, name, &labels, &number(slow.less_share));
    }
    let name = "linerate_net_slow_pair_ratio";
    let help = "How much less than its machines do with others a pair that is slow beyond chance gives; of two \
                machines alone, than the other way.";
    family(text, name, "gauge", "ratio", help);
    for slow in &view.slow.pairs {
        sample(text, name, &[("from", view.name(slow.from)), ("to", view.name(slow.to))], &number(slow.less_share));
    }
}

/// What racks carry at once; nothing where that was not measured.
fn racks(text: &mut String, view: &NetView) {
    if view.bisection.is_empty() {
        return;
    }
    let mean = |of: Option<NetInterval>| of.map(|of| of.mean);
    let name = "linerate_net_oversubscription_ratio";
    let help = "What machines send within racks, by what the same machines send across racks at once.";
    family(text, name, "gauge", "ratio", help);
    for of in &view.bisection {
        if let Some(over) = mean(of.oversubscription) {
            sample(text, name, &[("streams", &of.streams.to_string())], &number(over));
        }
    }
    let help = "What a rack carries across racks with all of its machines at once.";
    let name = "linerate_net_rack_across_bytes_per_second";
    of_sides(text, &view.bisection, name, "bytes_per_second", help, |side| mean(side.across_per_s));
    let help = "What its machines reach within the rack.";
    let name = "linerate_net_rack_within_bytes_per_second";
    of_sides(text, &view.bisection, name, "bytes_per_second", help, |side| mean(side.within_per_s));
    let help = "What a rack carries across racks, by what its machines reach within.";
    let name = "linerate_net_rack_carried_ratio";
    of_sides(text, &view.bisection, name, "ratio", help, |side| side.ratio.map(|of| of.ratio.mean));
}

/// A family with a sample of each rack, direction and number of streams that has the figure.
fn of_sides(
    text: &mut String,
    all: &[NetBisection],
    name: &str,
    unit: &str,
    help: &str,
    extract: impl Fn(&NetRackSide) -> Option<f64>,
) {
    family(text, name, "gauge", unit, help);
    for (bisection, rack) in all.iter().flat_map(|of| of.racks.iter().map(move |rack| (of, rack))) {
        let streams = bisection.streams.to_string();
        for (does, side) in [("sends", &rack.sends), ("receives", &rack.receives)] {
            if let Some(value) = extract(side) {
                let labels = [("rack", rack.name.as_str()), ("does", does), ("streams", streams.as_str())];
                sample(text, name, &labels, &number(value));
            }
        }
    }
}
