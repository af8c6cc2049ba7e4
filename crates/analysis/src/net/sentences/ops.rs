//! What is said of loads that are no streams.

use linerate_record::finding::{Confidence, Severity};
use linerate_record::units::{duration_ns, percent};

use super::{LOST, pair_name, plural};
use crate::median::median;
use crate::net::view::{NetDatagramFigures, NetFinding, NetFindingKind, NetPairFigures, NetTimes, NetView};

fn us(us: f64) -> String {
    duration_ns(1e3 * us)
}

/// By so much more than the median pair, as a share, the worst one is named.
const STANDS_OUT: f64 = 0.1;

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
        let [p50_us, p99_us] = [|of: &NetTimes| of.p50_us, |of: &NetTimes| of.p99_us]
            .map(|field| middle(times.iter().map(field).collect()));
        let longest = most(view, p99_us, us, |pair| Some(pair.times?.p99_us));
        return format!("p50 {}, p99 {} at the median (longest p99 {longest})", us(p50_us), us(p99_us));
    }
    if !datagrams.is_empty() {
        let lost = middle(datagrams.iter().map(|of| of.lost_share).collect());
        let jitter = middle(datagrams.iter().map(|of| of.jitter_us).collect());
        let most = most(view, lost, percent, |pair| Some(pair.datagrams?.lost_share));
        return format!("{} lost at the median (most {most}), jitter {}", percent(lost), us(jitter));
    }
    String::new()
}

/// The pair of which a figure is the largest, with the figure; without its name where others have about as much.
fn most(view: &NetView, median: f64, shown: fn(f64) -> String, extract: fn(&NetPairFigures) -> Option<f64>) -> String {
    let known = view.compared().filter_map(|pair| Some((pair, extract(pair)?)));
    let Some((pair, most)) = known.max_by(|a, b| a.1.total_cmp(&b.1)) else { return shown(0.0) };
    if most > (1.0 + STANDS_OUT) * median {
        format!("{} {}", pair_name(view, pair.from, pair.to), shown(most))
    } else {
        shown(most)
    }
}

/// Share of sends without a copy from which what they cost is that of copies.
const COPIED: f64 = 0.5;

/// Pairs whose kernels copied what was sent without a copy.
pub(super) fn copied(view: &NetView) -> Option<NetFinding> {
    let shares = || view.compared().filter_map(|pair| Some((pair, pair.offloads?.copied_share?)));
    let is_copied = |(_, share): &(&NetPairFigures, f64)| *share >= COPIED;
    let (worst, share) = shares().filter(is_copied).max_by(|a, b| a.1.total_cmp(&b.1))?;
    let (count, all) = (shares().filter(is_copied).count(), shares().count());
    Some(NetFinding {
        kind: NetFindingKind::CopiedSends,
        severity: Severity::Note,
        confidence: Confidence::Certain,
        nodes: Vec::new(),
        claim: format!("kernels copied what {count} of {} were to send without a copy", plural(all, "pair")),
        evidence: format!(
            "the kernel copied {} of the sends of {}; loopback and veth always do",
            percent(share),
            pair_name(view, worst.from, worst.to)
        ),
        remedy: "measure between two machines, or leave --zerocopy out: what they cost is a copy and its notes"
            .to_owned(),
    })
}

/// The worst of pairs that lose datagrams.
pub(super) fn lost(view: &NetView) -> Option<NetFinding> {
    let lossy_datagrams = |pair: &'_ NetPairFigures| pair.datagrams.filter(|of| of.lost_share >= LOST);
    let lossy = || view.compared().filter_map(|pair| Some((pair, lossy_datagrams(pair)?)));
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
