//! Figures of loads that are no streams: how long requests and connections took, and what became of datagrams.

use linerate_record::histogram::{add_encoded, empty};
use linerate_record::net::{NetDatagrams, NetLoad, NetOp};

use super::pairs::{PairSamples, share};
use super::view::{NetDatagramFigures, NetTimes};
use crate::median::median;

/// How long requests or connections of a pair took, over all of its visits.
pub(super) fn times(of: &PairSamples<'_>) -> Option<NetTimes> {
    let mut all = empty();
    for exchanges in of.visits.iter().filter_map(|visit| visit.pair.exchanges.as_ref()) {
        // Folders and agents are checked before: what is no histogram does not come here.
        let _ = add_encoded(&mut all, &exchanges.times);
    }
    let us = |ns: u64| ns as f64 / 1e3;
    let at = |quantile: f64| us(all.value_at_quantile(quantile));
    (!all.is_empty()).then(|| NetTimes {
        count: all.len(),
        p50_us: at(0.5),
        p90_us: at(0.9),
        p99_us: at(0.99),
        p999_us: at(0.999),
        max_us: us(all.max()),
    })
}

/// What became of the datagrams of a pair, over all of its visits.
pub(super) fn datagrams(load: &NetLoad, of: &PairSamples<'_>) -> Option<NetDatagramFigures> {
    let NetOp::Udp { datagram_bytes } = load.op else { return None };
    let all: Vec<&NetDatagrams> = of.visits.iter().filter_map(|visit| visit.pair.datagrams.as_ref()).collect();
    let sum = |field: fn(&NetDatagrams) -> u64| all.iter().map(|of| field(of) as f64).sum::<f64>();
    let sent = sum(|of| of.sent);
    let of_sent = |count: f64| share(count, sent).unwrap_or(0.0);
    let over_s = all.len() as f64 * load.duration_ms as f64 / 1e3;
    Some(NetDatagramFigures {
        sent: all.iter().map(|of| of.sent).sum(),
        sent_per_s: share(sent * f64::from(datagram_bytes), over_s)?,
        lost_share: of_sent(sum(|of| of.sent.saturating_sub(of.received))),
        socket_drops_share: of_sent(sum(|of| of.socket_drops)).min(1.0),
        reordered_share: of_sent(sum(|of| of.reordered)),
        duplicated_share: of_sent(sum(|of| of.duplicates)),
        jitter_us: median(all.iter().map(|of| of.jitter_ns as f64 / 1e3).collect())?,
    })
}
