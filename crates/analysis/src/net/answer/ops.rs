//! What is said of loads that are no streams.

use linerate_record::finding::{Confidence, Severity};
use linerate_record::units::{duration_ns, percent};

use super::{LOST, pair_name, plural};
use crate::median::median;
use crate::net::view::{NetDatagramFigures, NetFinding, NetFindingKind, NetPairFigures, NetTimes, NetView};

fn us(us: f64) -> String {
    duration_ns(1e3 * us)
}

/// How long requests took, or what was lost of datagrams; empty for streams.
pub(super) fn in_short(view: &NetView) -> String {
    let times: Vec<NetTimes> = view.compared().filter_map(|pair| pair.times).collect();
    let datagrams: Vec<NetDatagramFigures> = view.compared().filter_map(|pair| pair.datagrams).collect();
    if let [of] = times.as_slice() {
        return format!("p50 {}, p99 {}, longest {}", us(of.p50_us), us(of.p99_us), us(of.max_us));
    }
    if let [of] = datagrams.as_slice() {
        return format!("{} lost, jitter {}", percent(of.lost_share), us(of.jitter_us));
    }
    let middle = |values: Vec<f64>| median(values).unwrap_or(0.0);
    if !times.is_empty() {
        let longest = times.iter().map(|of| of.p99_us).fold(0.0, f64::max);
        let [p50_us, p99_us] = [|of: &NetTimes| of.p50_us, |of: &NetTimes| of.p99_us]
            .map(|field| middle(times.iter().map(field).collect()));
        return format!("p50 {}, p99 {} at the median (longest p99 {})", us(p50_us), us(p99_us), us(longest));
    }
    if !datagrams.is_empty() {
        let most = datagrams.iter().map(|of| of.lost_share).fold(0.0, f64::max);
        let lost = middle(datagrams.iter().map(|of| of.lost_share).collect());
        let jitter = middle(datagrams.iter().map(|of| of.jitter_us).collect());
        return format!("{} lost at the median (most {}), jitter {}", percent(lost), percent(most), us(jitter));
    }
    String::new()
}

/// The worst of pairs that lose datagrams.
pub(super) fn lost(view: &NetView) -> Option<NetFinding> {
    let of = |pair: &'_ NetPairFigures| pair.datagrams.filter(|of| of.lost_share >= LOST);
    let lossy = || view.compared().filter_map(|pair| Some((pair, of(pair)?)));
    let (worst, figures) = lossy().max_by(|a, b| a.1.lost_share.total_cmp(&b.1.lost_share))?;
    let (count, all) = (lossy().count(), view.compared().count());
    Some(NetFinding {
        kind: NetFindingKind::Losses,
        severity: Severity::Note,
        confidence: Confidence::Certain,
        nodes: Vec::new(),
        claim: format!("{count} of {} lose {} or more of their datagrams", plural(all, "pair"), percent(LOST)),
        evidence: format!(
            "most {}: {}, of which the receiver's own sockets drop {}",
            pair_name(view, worst.from, worst.to),
            percent(figures.lost_share),
            percent(figures.socket_drops_share)
        ),
        remedy: "a rate beyond that of the link drops the rest; else look at drops of the switch's ports and of rings \
                 (nic.ring.rx), and of sockets at net.core.rmem_max"
            .to_owned(),
    })
}
