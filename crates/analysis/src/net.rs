//! Links between machines: in which rounds pairs are measured, and what their flows say.
//!
//! `rounds.rs` has the schedule, `splits.rs` that of racks against each other. [`view()`] turns visits into figures of
//! pairs (`pairs.rs`), says what limited each (`limits.rs` with `ports.rs` and `drops.rs`), how long requests took and
//! what became of datagrams (`ops.rs`), what kernels took off programs' hands (`offloads.rs`), how long packets may be
//! (`paths.rs`), which members of bonds carried them (`members.rs`), from which number of streams on more give no more
//! (`streams.rs`), which machines and pairs are slow beyond chance (`slow.rs`), what classes of pairs give beside each
//! other (`classes.rs` with `framing.rs`), what racks carry at once (`bisection.rs`), and all of it in sentences
//! (`answer.rs`). `stray_search.rs` finds streams that strayed, by what to send again, `comparison.rs` holds runs
//! against each other, and `thresholds.rs` one against thresholds. How: `docs/method/net.md`.

mod bisection;
mod classes;
pub mod comparison;
mod drops;
mod framing;
mod limits;
mod members;
mod offloads;
mod ops;
mod pairs;
mod paths;
mod ports;
pub mod rounds;
mod sentences;
mod slow;
pub mod splits;
pub mod stray_search;
mod streams;
#[cfg(test)]
mod tests;
pub mod thresholds;
pub mod view;

use std::collections::BTreeMap;

use linerate_record::net::{NetLoad, NetOp, NetRoute, NetRun, NetVisit, NetWay};
use linerate_record::units::bits_per_s;

pub use ports::bond_under;
pub use rounds::{NetVisitPlan, rounds, rounds_of_hosts, sampled, sampled_of_hosts, turns};
pub use splits::{NetSplits, splits};
pub use streams::searched_on;

use crate::median::median;
use pairs::NetSamples;
use slow::NetCompared;
use view::{
    NET_VIEW_SCHEMA, NetBisection, NetLimitCount, NetLimitedBy, NetNodeFigures, NetPairFigures, NetStreamsFigures,
    NetView,
};

/// What a run and its visits say.
#[must_use]
pub fn view(run: &NetRun, visits: &[NetVisit]) -> NetView {
    let (all, visits) = (visits, classes::of_way(visits, NetRoute::Direct));
    let seen = pairs::seen(run, &visits);
    let pairs: Vec<NetPairFigures> = seen
        .pairs
        .iter()
        .map(|(key, of)| {
            let (figures, readings) = pairs::figures(&seen, *key, of);
            let limit = limits::limit(&seen, &figures, &readings);
            let class = run.class_of((key.0, key.1), NetRoute::Direct);
            NetPairFigures { class, limit, ..figures }
        })
        .collect();
    let classed = classes::classed(all, &seen, &pairs);
    let streams = streams::whole(&seen, &pairs);
    let bisection = bisection::bisection(&seen);
    let compared_streams = match run.load.op {
        // Each probes: the most say the most.
        NetOp::Mtu => pairs.iter().filter(|pair| pair.visits > 0).map(|pair| pair.streams).max(),
        _ => carrying_streams(&bisection).or_else(|| compared_streams(&streams)),
    };
    let counts: Vec<u32> = streams.iter().map(|of| of.streams).collect();
    let (enough, enough_of_pairs) = streams::over_streams(&seen, &pairs, &counts);
    // Steps of a search are of different times, so that the fastest number may be that of the fastest time.
    let found = enough.streams.filter(|_| run.load.is_searched);
    let compared_streams = found.or(compared_streams);
    let of_one: Vec<&NetPairFigures> = pairs.iter().filter(|pair| Some(pair.streams) == compared_streams).collect();
    let mut compared = judged(&seen, &of_one, classes::direct_classes(&classed));
    let members = members::members(&seen);
    let bonds_by_model = members::by_model(&seen, &members, compared_streams);
    let mut view = NetView {
        schema: NET_VIEW_SCHEMA,
        linerate: run.linerate.clone(),
        began_unix_ms: run.began_unix_ms,
        command: run.command.clone(),
        seed: run.seed,
        load: run.load.clone(),
        visits: u32::try_from(all.len()).unwrap_or(u32::MAX),
        answer: String::new(),
        warnings: Vec::new(),
        remarks: remarks(&seen),
        findings: Vec::new(),
        compared_streams,
        nodes: nodes(&seen, &of_one, &compared),
        limits: limit_counts(&of_one),
        streams,
        enough,
        enough_of_pairs,
        search_ended: streams::search_ended(run, all),
        slow: std::mem::take(&mut compared.slow),
        pairs,
        bonds_by_model,
        members,
        classes: classes::classes(run, &classed),
        against: classes::against(run, &classed),
        bisection,
    };
    view.against.iter_mut().for_each(|of| of.said = sentences::against(of));
    view.bisection.iter_mut().for_each(|of| of.said = sentences::bisected(of));
    view.answer = sentences::answer(&view);
    view.warnings = sentences::warnings(&view, &seen);
    view.findings = sentences::findings(&view, &seen, &compared);
    view
}

/// Which machines and pairs are slow, where pairs are peers of each other.
fn judged(seen: &NetSamples<'_>, pairs: &[&NetPairFigures], kinds: usize) -> NetCompared {
    let nodes = seen.run.nodes.len();
    let mut compared = if seen.run.load.way == NetWay::Bisection {
        slow::nothing(nodes, "pairs share the uplinks of racks on purpose: none is called slow".to_owned())
    } else if kinds > 1 {
        slow::nothing(nodes, format!("pairs of {kinds} classes are no peers of each other: none is called slow"))
    } else {
        slow::compare(seen, pairs)
    };
    if seen.run.load.op == NetOp::Mtu {
        compared.slow.lacking = "lengths of packets are no rates: none is slow".to_owned();
    }
    compared
}

/// The number of streams with which racks carry most; `None` where that was not measured.
fn carrying_streams(all: &[NetBisection]) -> Option<u32> {
    let carried = all.iter().filter_map(|of| Some((of.streams, of.across_per_s?.mean)));
    carried.max_by(|a, b| a.1.total_cmp(&b.1)).map(|(streams, _)| streams)
}

/// The rate of the median pair of a visit; `None` where no pair has figures.
#[must_use]
pub fn median_per_s(load: &NetLoad, visit: &NetVisit) -> Option<f64> {
    if load.op == NetOp::Mtu {
        return None;
    }
    median(visit.pairs.iter().filter_map(|pair| pairs::rate(pair, load).ok()).collect())
}

/// The number of streams with which the median pair is fastest; of equal ones the larger.
fn compared_streams(streams: &[NetStreamsFigures]) -> Option<u32> {
    let fastest = streams.iter().max_by(|a, b| a.median_per_s.total_cmp(&b.median_per_s));
    fastest.map(|of| of.streams)
}

fn remarks(seen: &NetSamples<'_>) -> Vec<String> {
    let beyond = seen.beyond.iter().map(|node| {
        let node_record = &seen.run.nodes[*node as usize];
        let nic = node_record.machine.nics.iter().find(|nic| nic.name == node_record.interface);
        let stated = nic.and_then(|nic| nic.speed_bits_per_s).map_or(0.0, |speed| speed as f64);
        let stated = bits_per_s(stated);
        format!(
            "{} of {} carried more than the {stated} that it states: that is no limit",
            node_record.interface, node_record.name
        )
    });
    seen.run.remarks.iter().cloned().chain(beyond).chain(offloads::remarks(seen)).collect()
}

fn nodes(seen: &NetSamples<'_>, pairs: &[&NetPairFigures], compared: &NetCompared) -> Vec<NetNodeFigures> {
    let count = seen.run.nodes.len();
    let (mut sends, mut receives) = (vec![Vec::new(); count], vec![Vec::new(); count]);
    let (mut sends_to, mut receives_from) = (vec![0_u32; count], vec![0_u32; count]);
    for pair in pairs.iter().filter(|pair| pair.visits > 0) {
        sends_to[pair.from as usize] += 1;
        receives_from[pair.to as usize] += 1;
        if let Some(rate) = pair.per_s {
            sends[pair.from as usize].push(rate.mean);
            receives[pair.to as usize].push(rate.mean);
        }
    }
    let mut tried = vec![(0_u32, 0_u32); count];
    for ((from, to, _), of) in &seen.pairs {
        for node in [*from, *to] {
            let (tries, failed) = &mut tried[node as usize];
            *tries += u32::try_from(of.visits.len() + of.failed.len()).unwrap_or(u32::MAX);
            *failed += u32::try_from(of.failed.len()).unwrap_or(u32::MAX);
        }
    }
    let node_figures = |(place, node): (usize, &linerate_record::net::NetNode)| NetNodeFigures {
        name: node.name.clone(),
        address: node.address.clone(),
        interface: node.interface.clone(),
        rack: node.rack.clone(),
        speed_bits_per_s: seen.ports[place].speed_bits_per_s.map(|speed| speed as u64),
        mtu_bytes: seen.ports[place].mtu_bytes,
        sends_to: sends_to[place],
        receives_from: receives_from[place],
        sent_per_s: median(sends[place].clone()),
        received_per_s: median(receives[place].clone()),
        sends_share: compared.sends_share[place],
        receives_share: compared.receives_share[place],
        tries: tried[place].0,
        failed: tried[place].1,
    };
    seen.run.nodes.iter().enumerate().map(node_figures).collect()
}

/// What limited how many pairs, the most frequent first, with the readings of the median one.
fn limit_counts(pairs: &[&NetPairFigures]) -> Vec<NetLimitCount> {
    let mut count_by_limit: BTreeMap<NetLimitedBy, Vec<&NetPairFigures>> = BTreeMap::new();
    for pair in pairs {
        if let Some(limit) = &pair.limit {
            count_by_limit.entry(limit.by).or_default().push(pair);
        }
    }
    let mean = |pair: &&NetPairFigures| pair.per_s.map_or(0.0, |rate| rate.mean);
    let counted = count_by_limit.into_iter().filter_map(|(by, mut pairs)| {
        pairs.sort_by(|a, b| mean(a).total_cmp(&mean(b)));
        let limit = pairs[pairs.len() / 2].limit.as_ref()?;
        let count = u32::try_from(pairs.len()).unwrap_or(u32::MAX);
        Some(NetLimitCount { by, pairs: count, evidence: limit.evidence.clone(), look_at: limit.look_at.clone() })
    });
    let mut counts: Vec<NetLimitCount> = counted.collect();
    counts.sort_by(|a, b| b.pairs.cmp(&a.pairs).then(a.by.cmp(&b.by)));
    counts
}
