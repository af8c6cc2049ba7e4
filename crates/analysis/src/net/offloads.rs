//! What kernels took off programs' hands: datagrams at once, sends without a copy; and what they refused.

use std::collections::{BTreeMap, BTreeSet};

use linerate_record::lines::listed;
use linerate_record::net::{NetBursts, NetDatagrams, NetPair, NetZeroCopy};
use linerate_record::units::percent;

use super::pairs::{NetSamples, PairSamples, share};
use super::view::NetOffloadFigures;

/// Names that a remark has at the most.
const NAMED: usize = 4;

/// What kernels of a pair did, over all of its visits; none where nothing was asked of them.
pub(super) fn figures(of: &PairSamples<'_>) -> Option<NetOffloadFigures> {
    let pairs = || of.visits.iter().map(|visit| visit.pair);
    let each = |bursts: fn(&NetPair) -> Option<NetBursts>, datagrams: fn(&NetDatagrams) -> u64| {
        let both = pairs().filter_map(|pair| Some((bursts(pair)?.calls as f64, datagrams(pair.datagrams.as_ref()?))));
        let (calls, datagrams) =
            both.fold((0.0, 0.0), |(calls, sum), (more, datagrams)| (calls + more, sum + datagrams as f64));
        share(datagrams, calls)
    };
    let zerocopy = NetZeroCopy::sum(pairs().filter_map(|pair| pair.zerocopy));
    let figures = NetOffloadFigures {
        datagrams_per_send: each(|pair| pair.gso, |of| of.sent),
        datagrams_per_read: each(|pair| pair.gro, |of| of.received),
        uncopied_sends: zerocopy.map(|of| of.sends),
        copied_share: zerocopy.and_then(|of| of.copied_share()),
    };
    (figures != NetOffloadFigures::default()).then_some(figures)
}

/// What kernels refused, in sentences, with the machines of each.
pub(super) fn remarks(seen: &NetSamples<'_>) -> Vec<String> {
    let mut refused: BTreeMap<(&str, u16), BTreeSet<u32>> = BTreeMap::new();
    let mut unkept: BTreeSet<u32> = BTreeSet::new();
    for pair in seen.pairs.values().flat_map(|of| &of.visits).map(|visit| visit.pair) {
        let requested = [
            (
                pair.from,
                "does not cut datagrams that are sent at once (UDP_SEGMENT)",
                pair.gso.and_then(|of| of.refused),
            ),
            (pair.to, "does not join datagrams (UDP_GRO)", pair.gro.and_then(|of| of.refused)),
            (pair.from, "does not send without a copy (SO_ZEROCOPY)", pair.zerocopy.and_then(|of| of.refused)),
        ];
        for (node, what, why) in requested {
            if let Some(why) = why {
                refused.entry((what, why)).or_default().insert(node);
            }
        }
        if pair.zerocopy.is_some_and(|of| of.unkept > 0) {
            unkept.insert(pair.from);
        }
    }
    let names = |nodes: &BTreeSet<u32>| {
        let names: Vec<&str> = nodes.iter().map(|node| seen.run.nodes[*node as usize].name.as_str()).collect();
        listed(&names, NAMED)
    };
    let refusals = refused.iter().map(|((what, why), nodes)| {
        format!("the kernel of {} {what}, by {}: it was done without", names(nodes), error(*why))
    });
    let kept = (!unkept.is_empty()).then(|| unkept_said(seen, &names(&unkept)));
    refusals.chain(kept).collect()
}

fn unkept_said(seen: &NetSamples<'_>, names: &str) -> String {
    let all = seen.pairs.values().flat_map(|of| &of.visits).filter_map(|visit| visit.pair.zerocopy);
    let zerocopy = NetZeroCopy::sum(all).unwrap_or_default();
    let part = share(zerocopy.unkept as f64, zerocopy.sends as f64).unwrap_or(0.0);
    format!(
        "{} of all sends without a copy were copied, as the kernel of {names} may keep no more memory where it is: \
         net.core.optmem_max, and the limit of locked memory (ulimit -l) of who is not root",
        percent(part)
    )
}

/// What an error of Linux is called.
fn error(number: u16) -> String {
    match number {
        5 => "EIO".to_owned(),
        22 => "EINVAL".to_owned(),
        90 => "EMSGSIZE (one of them is longer than the path carries whole)".to_owned(),
        92 => "ENOPROTOOPT (its kernel is older than that)".to_owned(),
        95 => "EOPNOTSUPP".to_owned(),
        other => format!("error {other}"),
    }
}
